//! Checks whether a workspace and its file system are suitable for actum.
//!
//! Each required feature of the file system is actually tried, on temporary files in the stage directory. The
//! examination does not touch any file of the user and does not perform a recovery.

use std::io;
use std::path::Path;

use actum_core::FileMode;

use crate::disk::{Barrier, Disk, LinuxDisk, Rename};
use crate::error::Error;
use crate::history::view::View;
use crate::home::{Home, IfMissing};

/// Result of examining one subject, such as the journal or hard links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the examined subject.
    pub what: &'static str,
    /// Verdict on the subject.
    pub verdict: Verdict,
    /// Explanation of the verdict.
    pub detail: String,
}

/// Verdict on an examined subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No problem was found.
    Good,
    /// Some changes will be rejected, or something must be recovered or resolved first.
    Limited,
    /// No changes are possible until the problem is fixed.
    Bad,
}

/// Minimum number of files that a process should be able to open. With a lower limit, large changes can fail.
const HANDLES_WANTED: usize = 256;

/// Examines the workspace at `root` on the real file system.
pub fn examine(root: &Path) -> Vec<Finding> {
    examine_on(&LinuxDisk, root)
}

/// Examines the workspace at `root` like [`examine`], but on the given disk.
pub(crate) fn examine_on<D: Disk + Clone>(disk: &D, root: &Path) -> Vec<Finding> {
    let home = match Home::open(disk, root, IfMissing::Tolerate) {
        Ok(home) => home,
        Err(error) => return vec![bad("workspace", &error)],
    };
    let mut findings = vec![good("workspace", "the state directory is valid".to_owned())];
    findings.extend(records(disk, root));
    findings.extend(abilities(disk, &home));
    findings.push(match disk.handles_max() {
        max if max < HANDLES_WANTED => Finding {
            what: "open files",
            verdict: Verdict::Limited,
            detail: format!(
                "this process may open only {max} files; large changes need {HANDLES_WANTED} (see `ulimit -n`)"
            ),
        },
        max => good("open files", format!("this process may open {max} files")),
    });
    findings.push(match disk.identity() {
        (0, _) => good("owner", "root can preserve the owner of every file".to_owned()),
        (user, _) => good(
            "owner",
            format!("user {user} can change their own files; changes to files of other users are rejected"),
        ),
    });
    findings
}

/// Checks whether the journal can be read, and reports pending recoveries and blocked paths.
fn records<D: Disk + Clone>(disk: &D, root: &Path) -> Vec<Finding> {
    let status = View::open_on(disk.clone(), root).and_then(|view| view.status());
    let status = match status {
        Ok(status) => status,
        Err(error) => return vec![bad("journal", &error)],
    };
    let mut findings = vec![good("journal", "the journal can be read".to_owned())];
    if status.recovery_due {
        let detail = match status.unfinished {
            Some(run) => format!("run {run} is unfinished; run `actum recover`"),
            None => {
                "the workspace must be checked after a restart or power cut; run `actum recover`"
                    .to_owned()
            }
        };
        findings.push(Finding { what: "recovery", verdict: Verdict::Limited, detail });
    }
    if let Some(path) = status.blocked.keys().next() {
        let detail = format!(
            "{} must be resolved, including `{path}`; run `actum status`",
            status.blocked.len()
        );
        findings.push(Finding { what: "blocked paths", verdict: Verdict::Limited, detail });
    }
    findings
}

/// Tests the required features of the file system.
fn abilities<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Vec<Finding> {
    let stage = &home.stage;
    // The names must be unique because another examination or a garbage collection may run at the same time.
    let mark = disk.random().unwrap_or_else(|_| u64::from(disk.process()));
    let names = ["a", "b", "c"].map(|name| format!("examined-{mark:x}.{name}").into_bytes());
    let [a, b, c] = &names;
    let clean = || {
        for name in &names {
            // Ignore errors, because some of the files may not exist.
            drop(disk.unlink(stage, name));
        }
    };
    let file = match disk.create(stage, a, FileMode::PRIVATE) {
        Ok(file) => file,
        Err(error) => return vec![tried("writing", Err(error), Verdict::Bad, "")],
    };
    let other = disk.create(stage, b, FileMode::PRIVATE).map(drop);
    let written = disk.write_at(&file, b"actum", 0);
    let synced = disk.sync_data(&file, Barrier::KeptImage);
    let exchanged = other.and_then(|()| disk.rename(stage, a, stage, b, Rename::Exchange));
    let linked = disk.link(stage, b, stage, c);
    let marked = disk.set_xattr(&file, b"user.actum", b"1");
    clean();
    vec![
        tried("writing", written, Verdict::Bad, "files can be created and written"),
        tried("durability", synced, Verdict::Bad, "fdatasync succeeds"),
        tried(
            "exchange",
            exchanged,
            Verdict::Bad,
            "files can be swapped atomically (RENAME_EXCHANGE)",
        ),
        tried(
            "hard links",
            linked,
            Verdict::Limited,
            "hard links can be created, which renames and large files need",
        ),
        tried(
            "extended attributes",
            marked,
            Verdict::Limited,
            "extended attributes can be set, so they can be preserved",
        ),
    ]
}

fn good(what: &'static str, detail: String) -> Finding {
    Finding { what, verdict: Verdict::Good, detail }
}

fn bad(what: &'static str, error: &Error) -> Finding {
    Finding { what, verdict: Verdict::Bad, detail: error.kind.to_string() }
}

fn tried(what: &'static str, result: io::Result<()>, otherwise: Verdict, detail: &str) -> Finding {
    match result {
        Ok(()) => good(what, detail.to_owned()),
        Err(error) => Finding { what, verdict: otherwise, detail: error.to_string() },
    }
}
