//! Examination of a workspace and of the file system below it: are they fit for use?
//!
//! Each ability is actually tried, on files made for it in the stage directory, which are removed again. No file of the
//! user is touched, and nothing is recovered.

use std::io;
use std::path::Path;

use actum_core::FileMode;

use crate::disk::{Barrier, Disk, LinuxDisk, Rename};
use crate::error::Error;
use crate::history::view::View;
use crate::home::{Home, IfMissing};

/// Finding about one examined subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Subject of the examination.
    pub what: &'static str,
    /// Verdict on it.
    pub verdict: Verdict,
    /// Result of the examination.
    pub detail: String,
}

/// Verdict on an examined subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No problem was found.
    Good,
    /// Some changes will be refused, or something is pending.
    Limited,
    /// Nothing can be changed until the problem is fixed.
    Bad,
}

/// Number of files that a process may open, below which large changes can fail.
const HANDLES_WANTED: usize = 256;

/// Examines the workspace at `root`.
pub fn examine(root: &Path) -> Vec<Finding> {
    examine_on(&LinuxDisk, root)
}

/// Examines the workspace on another disk, as [`examine`] does.
pub(crate) fn examine_on<D: Disk + Clone>(disk: &D, root: &Path) -> Vec<Finding> {
    let home = match Home::open(disk, root, IfMissing::Tolerate) {
        Ok(home) => home,
        Err(error) => return vec![bad("workspace", &error)],
    };
    let mut findings = vec![good("workspace", "its state directory is sound".to_owned())];
    findings.extend(records(disk, root));
    findings.extend(abilities(disk, &home));
    findings.push(match disk.handles_max() {
        max if max < HANDLES_WANTED => Finding {
            what: "open files",
            verdict: Verdict::Limited,
            detail: format!(
                "this process may open {max}; large changes want {HANDLES_WANTED} (`ulimit -n`)"
            ),
        },
        max => good("open files", format!("this process may open {max}")),
    });
    findings.push(match disk.identity() {
        (0, _) => good("owner", "root can keep the owner of every file".to_owned()),
        (user, _) => good(
            "owner",
            format!("user {user} can change files of their own; those of others are refused"),
        ),
    });
    findings
}

/// Examines the journal: can it be read, and is anything pending?
fn records<D: Disk + Clone>(disk: &D, root: &Path) -> Vec<Finding> {
    let status = View::open_on(disk.clone(), root).and_then(|view| view.status());
    let status = match status {
        Ok(status) => status,
        Err(error) => return vec![bad("journal", &error)],
    };
    let mut findings = vec![good("journal", "it can be read".to_owned())];
    if status.recovery_due {
        let detail = match status.unfinished {
            Some(run) => format!("run {run} has begun and not ended; `actum recover`"),
            None => "a power cut or a restart is to be checked for; `actum recover`".to_owned(),
        };
        findings.push(Finding { what: "recovery", verdict: Verdict::Limited, detail });
    }
    if let Some(path) = status.blocked.keys().next() {
        let detail = format!(
            "{} wait for a person, `{path}` among them; `actum status`",
            status.blocked.len()
        );
        findings.push(Finding { what: "blocked paths", verdict: Verdict::Limited, detail });
    }
    findings
}

/// Tests the abilities of the file system.
fn abilities<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Vec<Finding> {
    let stage = &home.stage;
    // The names are unique, since another examination or a collection may be running.
    let mark = disk.random().unwrap_or_else(|_| u64::from(disk.process()));
    let names = ["a", "b", "c"].map(|name| format!("examined-{mark:x}.{name}").into_bytes());
    let [a, b, c] = &names;
    let clean = || {
        for name in &names {
            // A missing file need not be removed.
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
        tried("writing", written, Verdict::Bad, "files can be made and written"),
        tried("durability", synced, Verdict::Bad, "fdatasync is accepted"),
        tried("exchange", exchanged, Verdict::Bad, "files can be exchanged (RENAME_EXCHANGE)"),
        tried(
            "hard links",
            linked,
            Verdict::Limited,
            "files can have a second name, as renames and large files need",
        ),
        tried(
            "extended attributes",
            marked,
            Verdict::Limited,
            "they can be set, so they can be kept",
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
