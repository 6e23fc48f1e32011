//! Copies a large file durably, as whole processes.

use std::fs::remove_file;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::executor::{Executor, finish};
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, Finish, race, time};
use crate::bench::rounds::sync;

const CP: &str = "`cp` + `sync FILE`";
const RUN: &str = "`actum file run`, FILE_COPY";
/// Limit of the time as a multiple of that of cp. It corresponds to 0.8 of cp's speed.
const TIMES_MAX: f64 = 1.25;
/// Pause before each round in which the disk can settle.
const REST: Duration = Duration::from_secs(1);

pub(super) fn contests(
    executor: &Executor,
    megabytes: usize,
    rounds: usize,
) -> Result<Vec<Contest>, Failure> {
    executor.put_text("small", 0)?;
    executor.put_binary("binary", megabytes)?;
    let binary = race_copies(executor, "binary", rounds)?;
    remove_file(executor.base.join("binary"))?;
    executor.put_text("text", megabytes)?;
    let text = race_copies(executor, "text", rounds.div_ceil(2))?;
    remove_file(executor.base.join("text"))?;
    let title = |kind: &str| format!("A file of {megabytes} MB {kind} is copied, whole processes");
    let bars = vec![Bar { who: RUN, limit: Limit::Times(TIMES_MAX) }];
    Ok(vec![
        Contest { title: title("that is binary"), finishes: binary, bars },
        Contest { title: title("of text"), finishes: text, bars: Vec::new() },
    ])
}

fn race_copies(
    executor: &Executor,
    from: &'static str,
    rounds: usize,
) -> Result<Vec<Finish>, Failure> {
    let base = &executor.base;
    let settle_disk = || {
        sync(base)?;
        sleep(REST);
        Ok::<(), Failure>(())
    };
    Ok(race(
        vec![
            Contestant::new(CP, || {
                settle_disk()?;
                let taken = time(|| {
                    for (program, arguments) in [("cp", &[from, "copy"][..]), ("sync", &["copy"])] {
                        let mut command = Command::new(program);
                        command.args(arguments).current_dir(base).stdin(Stdio::null());
                        finish(&mut command)?;
                    }
                    Ok(())
                })?;
                remove_file(base.join("copy"))?;
                Ok(taken)
            }),
            Contestant::new(RUN, || {
                executor.write_manifest("FILE_COPY", from, Some("copy"))?;
                settle_disk()?;
                let taken = executor.run_task()?;
                remove_file(base.join("copy"))?;
                // The next run removes the second link to the copy, which frees its space.
                executor.write_manifest("FILE_COPY", "small", Some("small-copy"))?;
                executor.run_task()?;
                remove_file(base.join("small-copy"))?;
                Ok(taken)
            }),
        ],
        rounds,
    ))
}
