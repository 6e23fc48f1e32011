//! Moves, copies and deletes one small file, as whole processes.

use std::fs::{remove_file, write};

use super::executor::Executor;
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race};
use crate::bench::rounds::sync;

const APPLY: &str = "`actum apply` of one file";
const MOVE: &str = "`actum file run`, FILE_MOVE";
const COPY: &str = "`actum file run`, FILE_COPY";
const DELETE: &str = "`actum file run`, FILE_DELETE";
const BYTES: usize = 4096;

pub(super) fn contest(executor: &Executor, rounds: usize) -> Result<Contest, Failure> {
    let base = &executor.base;
    let content = vec![b'a'; BYTES];
    let diff = executor.base.with_file_name("change.diff");
    write(base.join("edited"), "one\ntwo\nthree\n")?;
    write(base.join("moved"), &content)?;
    write(base.join("copied"), &content)?;
    let task = |capability: &'static str, from: &'static str, to: Option<&'static str>| {
        executor.write_manifest(capability, from, to)?;
        sync(base)?;
        executor.run_task()
    };
    let mut is_moved = false;
    let mut is_edited = false;
    let finishes = race(
        vec![
            Contestant::new(APPLY, || {
                let (old, new) = if is_edited { ("2", "two") } else { ("two", "2") };
                is_edited = !is_edited;
                let hunk = format!("@@ -1,3 +1,3 @@\n one\n-{old}\n+{new}\n three\n");
                write(&diff, format!("--- a/edited\n+++ b/edited\n{hunk}"))?;
                sync(base)?;
                executor.run_actum(&["apply", "../change.diff"])
            }),
            Contestant::new(MOVE, || {
                let (from, to) = if is_moved { ("there", "moved") } else { ("moved", "there") };
                is_moved = !is_moved;
                task("FILE_MOVE", from, Some(to))
            }),
            Contestant::new(COPY, || {
                let taken = task("FILE_COPY", "copied", Some("copy"))?;
                remove_file(base.join("copy"))?;
                Ok(taken)
            }),
            Contestant::new(DELETE, || {
                write(base.join("deleted"), &content)?;
                task("FILE_DELETE", "deleted", None)
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "A file of 4 KiB, whole processes".to_owned(),
        finishes,
        bars: vec![Bar { who: MOVE, limit: Limit::Times(2.5) }],
    })
}
