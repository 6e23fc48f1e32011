//! Applies a change in one format with actum, undoes it, applies it again, and compares the results.

use std::path::Path;
use std::time::{Duration, Instant};

use actum_core::RunId;
use actum_edit::Operation;
use actum_edit::format::{Reading, parse};
use actum_workspace::{RunOptions, Workspace};

use super::Failure;
use super::download::fresh;
use super::format::{Format, Material, Written};
use super::tree::{Modes, Tree};

/// Result of one format for one pair.
pub(super) struct Trial {
    pub(super) format: Format,
    /// Number of changed paths that the format could express.
    pub(super) carried: usize,
    pub(super) verdict: Verdict,
}

#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// Every tree was as expected. The value is the time of the first application.
    Same(Duration),
    /// A tree was different, as described.
    Differs(String),
    /// The format can express no part of this change.
    Nothing,
}

/// Tries one format below `place`, which is emptied first.
pub(super) fn run(format: Format, material: &Material, place: &Path) -> Trial {
    let (carried, verdict) = match format.write(material) {
        Ok(written) => (written.paths.len(), verdict(material, &written, place)),
        Err(failure) => (0, Verdict::Differs(format!("writing it failed: {failure}"))),
    };
    Trial { format, carried, verdict }
}

fn verdict(material: &Material, written: &Written, place: &Path) -> Verdict {
    if written.paths.is_empty() {
        return Verdict::Nothing;
    }
    match there_and_back(material, written, place) {
        Ok(time) => Verdict::Same(time),
        Err(failure) => Verdict::Differs(failure.to_string()),
    }
}

fn there_and_back(
    material: &Material,
    written: &Written,
    place: &Path,
) -> Result<Duration, Failure> {
    fresh(place)?;
    let root = place.join("root");
    material.old.write(&root)?;
    let before = Tree::read(&root)?;
    let after = written.result(material);
    let check = |when: &str, wanted: &Tree, modes: Modes| -> Result<(), Failure> {
        let compared = Tree::read(&root)?.check_same(wanted, modes);
        Ok(compared.map_err(|differences| format!("{when}: {differences}"))?)
    };

    let begun = Instant::now();
    let operations =
        parse(&written.text, &Reading::default()).map_err(|error| format!("parsing: {error}"))?;
    let parsed = begun.elapsed();
    let mut workspace = Workspace::open(&root)?;
    let begun = Instant::now();
    let applied = apply(&mut workspace, &operations);
    let time = parsed + begun.elapsed();
    let run = match applied {
        Ok(run) => run,
        Err(error) => {
            check("after a refusal", &before, Modes::All)?;
            return Err(format!("applying: {error}").into());
        }
    };
    check("after applying", &after, Modes::Executable)?;
    undo_run(&mut workspace, run).map_err(|error| format!("taking back: {error}"))?;
    check("after taking back", &before, Modes::All)?;
    apply(&mut workspace, &operations).map_err(|error| format!("applying again: {error}"))?;
    check("after applying again", &after, Modes::Executable)?;
    Ok(time)
}

/// Returns options that wait for the workspace lock, because a process forked by another thread shares the lock until it calls
/// exec.
pub(super) fn waiting() -> RunOptions {
    RunOptions { wait: true, ..RunOptions::default() }
}

fn apply(workspace: &mut Workspace, operations: &[Operation]) -> actum_workspace::Result<RunId> {
    let mut transaction = workspace.begin(waiting())?;
    transaction.operate_all(operations)?;
    Ok(transaction.commit()?.run)
}

/// Like `Workspace::revert`, but waits for the workspace lock.
fn undo_run(workspace: &mut Workspace, run: RunId) -> actum_workspace::Result<RunId> {
    Ok(workspace.begin_undo(run, waiting())?.commit()?.run)
}

#[cfg(test)]
mod tests {
    use super::super::format::testing::material;
    use super::*;

    const DIFF: &[u8] = b"--- a/d/a\n+++ b/d/a\n@@ -1 +1 @@\n-1\n+2\n";

    /// Returns the verdict on a diff that should change `1` to `2`.
    fn verdict(diff: &[u8]) -> Verdict {
        let place = tempfile::tempdir().unwrap();
        let (old, new): (&[u8], &[u8]) = (b"1\n", b"2\n");
        let mut material = material(&[("d/a", old, 0o640)], &[("d/a", new, 0o640)], &[]);
        material.diff = diff.to_vec();
        run(Format::Git, &material, &place.path().join("place")).verdict
    }

    #[test]
    fn change_that_matches_after_apply_undo_and_redo_passes() {
        assert!(matches!(verdict(DIFF), Verdict::Same(_)));
    }

    #[test]
    fn rejections_and_wrong_results_are_distinguished() {
        let with = |from: &str, to: &str| {
            verdict(String::from_utf8_lossy(DIFF).replace(from, to).as_bytes())
        };
        let Verdict::Differs(why) = with("-1", "-0") else { panic!() };
        assert!(why.starts_with("applying: cannot patch `d/a`: "), "{why}");
        assert_eq!(
            with("+2", "+3"),
            Verdict::Differs("after applying: `d/a` differs from byte 0 on".to_owned())
        );
        let Verdict::Differs(why) = with("@@ -1 +1 @@", "@@") else { panic!() };
        assert!(why.starts_with("parsing: "), "{why}");
    }
}
