//! Examines whether a workspace and the file system below it are fit for work.
//!
//! Each ability is tried for real, on files of its own in the stage directory, which are removed
//! again; no file of the user is touched, and nothing is recovered.

use std::io;
use std::path::Path;

use actum_core::FileMode;

use crate::disk::{Barrier, Disk, LinuxDisk, Rename};
use crate::error::Error;
use crate::history::view::View;
use crate::home::{Home, IfMissing};

/// One thing that was examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was examined.
    pub what: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
}

/// How something is that was examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Some changes will be refused, or something waits to be done.
    Limited,
    /// Nothing can be changed until it is put right.
    Bad,
}

/// How few files a process may open before large changes can fail.
const HANDLES_WANTED: usize = 256;

/// Examines the workspace at `root`.
pub fn examine(root: &Path) -> Vec<Finding> {
    examine_on(&LinuxDisk, root)
}

/// [`examine`] on another disk.
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

/// Whether the journal can be read, and whether anything waits.
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

/// What the file system offers, tried out.
fn abilities<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Vec<Finding> {
    let stage = &home.stage;
    // Names of its own, since another examination or a collection may be at work.
    let mark = disk.random().unwrap_or_else(|_| u64::from(disk.process()));
    let names = ["a", "b", "c"].map(|name| format!("examined-{mark:x}.{name}").into_bytes());
    let [a, b, c] = &names;
    let clean = || {
        for name in &names {
            // What is not there need not be removed.
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
