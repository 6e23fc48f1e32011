//! Running worker as seen by the process that started it: its messages and their times.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::Failure;
use super::options::Job;
use super::worker::Word;

/// A running worker.
pub(super) struct RunningWorker {
    process: Child,
    reader: JoinHandle<()>,
    heard: Receiver<(Instant, Word)>,
}

/// Last acknowledged step. The tree must be at this step or at the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Acknowledged(pub(super) usize);

impl Acknowledged {
    pub(super) fn allows(self, step: usize) -> bool {
        step == self.0 || step == self.0 + 1
    }
}

impl RunningWorker {
    pub(super) fn start(job: &Job) -> Result<Self, Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(job.arguments())
            .arg(&job.root)
            .current_dir(Path::new("/"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // After the cut, the worker prints an error about every call. Earlier errors are reported on standard output.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("starting the worker: {error}"))?;
        let out = process.stdout.take().ok_or("the worker has no standard output")?;
        let (sender, heard) = channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let Some(word) = Word::parse(&line) {
                    // The receiver is gone only after a failure of the entire run.
                    drop(sender.send((Instant::now(), word)));
                }
            }
        });
        Ok(Self { process, reader, heard })
    }

    /// Kills the worker and reads its last messages. Errors it reported before `blameless` are its own failures.
    pub(super) fn end(
        mut self,
        acknowledged: &mut Acknowledged,
        blameless: Instant,
    ) -> Result<Vec<String>, Failure> {
        self.process.kill()?;
        let ended = self.process.wait()?;
        self.reader.join().map_err(|_| "the thread that listens to the worker panicked")?;
        let mut violations = Vec::new();
        let mut has_complained = false;
        for (when, word) in self.heard.try_iter() {
            match word {
                Word::At(step) if !acknowledged.allows(step) => violations.push(format!(
                    "opened at step {step} after step {} was acknowledged",
                    acknowledged.0
                )),
                Word::At(step) | Word::Did(step) => acknowledged.0 = step,
                Word::Failed(why) => {
                    has_complained = true;
                    if when < blameless {
                        violations.push(format!("the worker failed before the cut: {why}"));
                    }
                }
            }
        }
        // A worker that was killed has no exit code. A worker that panicked has one, but sent no message.
        if ended.code().is_some() && !has_complained {
            violations.push(format!("the worker ended by itself ({ended})"));
        }
        Ok(violations)
    }
}
