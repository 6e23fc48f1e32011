//! Repeats the request for a completed task, as a whole process.

use std::fs::write;

use super::executor::Executor;
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race};

const VERSION: &str = "`actum --version`";
const AGAIN: &str = "`actum file run`, again";

pub(super) fn contest(executor: &Executor, rounds: usize) -> Result<Contest, Failure> {
    write(executor.base.join("again"), "content")?;
    executor.write_manifest("FILE_COPY", "again", Some("again-copy"))?;
    executor.run_task()?;
    let finishes = race(
        vec![
            Contestant::new(VERSION, || executor.run_actum(&["--version"])),
            Contestant::new(AGAIN, || executor.run_task()),
        ],
        rounds,
    );
    Ok(Contest {
        title: "A task that has its result, whole processes".to_owned(),
        finishes,
        bars: vec![Bar { who: AGAIN, limit: Limit::More(3.0) }],
    })
}
