//! A large file is copied, as whole processes, durably.

use std::fs::remove_file;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::executor::{Executor, finish};
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};
use crate::bench::rounds::sync;

const CP: &str = "`cp` + `sync FILE`";
const RUN: &str = "`actum file run`, FILE_COPY";
/// The longest that it may take, as a multiple of cp: at least 0.8 of its speed.
const TIMES_MAX: f64 = 1.25;
/// How long the disk is left alone after a large file was removed.
const REST: Duration = Duration::from_secs(1);

pub(super) fn contests(
    executor: &Executor,
    megabytes: usize,
    rounds: usize,
) -> Result<Vec<Contest>, Failure> {
    executor.put_text("small", 0)?;
    executor.put_binary("binary", megabytes)?;
    let binary = contest(executor, "binary", rounds)?;
    remove_file(executor.base.join("binary"))?;
    executor.put_text("text", megabytes)?;
    let text = contest(executor, "text", rounds.div_ceil(2))?;
    remove_file(executor.base.join("text"))?;
    let title = |kind: &str| format!("A file of {megabytes} MB {kind} is copied, whole processes");
    let bars = vec![Bar { who: RUN, limit: Limit::Times(TIMES_MAX) }];
    Ok(vec![
        Contest { title: title("that is binary"), finishes: binary, bars },
        Contest { title: title("of text"), finishes: text, bars: Vec::new() },
    ])
}

fn contest(
    executor: &Executor,
    from: &'static str,
    rounds: usize,
) -> Result<Vec<crate::bench::race::Finish>, Failure> {
    let base = &executor.base;
    let rest = || {
        sync(base)?;
        sleep(REST);
        Ok::<(), Failure>(())
    };
    Ok(race(
        vec![
            Contestant::new(CP, || {
                rest()?;
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
                executor.ask("FILE_COPY", from, Some("copy"))?;
                rest()?;
                let taken = executor.run()?;
                remove_file(base.join("copy"))?;
                // The next run removes the second name of what this one made, and so frees it.
                executor.ask("FILE_COPY", "small", Some("small-copy"))?;
                executor.run()?;
                remove_file(base.join("small-copy"))?;
                Ok(taken)
            }),
        ],
        rounds,
    ))
}
