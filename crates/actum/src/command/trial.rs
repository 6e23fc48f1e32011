//! A trial: a command runs, and nothing of what it does is there until it goes through the gates.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use actum_core::RunId;
use actum_gate::{CommandLine, GateDecision, GateName, Ground, Policy, Verdict};
use actum_record::command::{CommandEnd, CommandRecord, SandboxRecord};
use actum_sandbox::{Outcome, Output, Stdin};
use actum_workspace::{Capture, LinuxDisk};

use super::cache::{Caches, passed, possible};
use super::capture::{Part, changes};
use super::{Accepted, Captured, CommandError, Runner, Seen, StagedView, record};
use crate::error::{Error, Result};
use crate::request::{Commands, Request};

/// A command that runs.
#[must_use = "who drops it ends the command"]
pub struct Trial<'r> {
    runner: &'r Runner,
    line: CommandLine,
    child: actum_sandbox::Child,
    passed: Vec<PathBuf>,
    /// Caches of which what is done there is forgotten.
    forgotten: Vec<PathBuf>,
    /// Capture for the changes, and its path.
    capture: Option<(RunId, PathBuf)>,
}

/// A command that has ended, and what it changed in its view. That is there as long as this is held.
#[derive(Debug)]
pub struct Tried {
    /// How it ended.
    pub record: CommandRecord,
    /// All that is known of how it ran.
    pub outcome: Outcome,
    sandbox: SandboxRecord,
    root: PathBuf,
    forgotten: Vec<PathBuf>,
    /// Capture for the changes, and its path.
    capture: Option<(RunId, PathBuf)>,
}

impl<'r> Trial<'r> {
    /// Starts a command, unless a rule of the policy denies it.
    ///
    /// # Errors
    /// `Denied` where a rule denies it, which is not recorded, since nothing was done; `Command` where it cannot run.
    /// Nothing was started then.
    pub fn start(
        runner: &'r Runner,
        policy: &Policy,
        words: &[impl AsRef<OsStr>],
        stdin: Stdin,
        caches: Caches,
    ) -> Result<Self> {
        Self::begin(runner, policy, words, (Seen::default(), stdin, caches))
    }

    /// As [`start`](Self::start), with a capture in the workspace for the changes of the command.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn start_captured(
        runner: &'r Runner,
        policy: &Policy,
        words: &[impl AsRef<OsStr>],
        (stdin, caches): (Stdin, Caches),
        capture: Option<&Capture<LinuxDisk>>,
    ) -> Result<Self> {
        let upper = capture.map(|capture| runner.root.join(capture.path()));
        let seen = Seen { upper: upper.clone(), ..Seen::default() };
        let trial = Self::begin(runner, policy, words, (seen, stdin, caches))?;
        let capture = capture.map(Capture::id).zip(upper);
        Ok(Self { capture, ..trial })
    }

    /// The same on the workspace with what a transaction has staged, as `staged` holds it. What the command
    /// changes there are operations that go on from what is staged: they can be done in the same transaction.
    /// What it does in caches is forgotten, since it is made from a change that may never come.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_over(
        runner: &'r Runner,
        policy: &Policy,
        words: &[impl AsRef<OsStr>],
        stdin: Stdin,
        staged: &StagedView,
    ) -> Result<Self> {
        let seen = Seen { staged: Some(staged), ..Seen::default() };
        Self::begin(runner, policy, words, (seen, stdin, Caches::Forgotten))
    }

    fn begin(
        runner: &'r Runner,
        policy: &Policy,
        words: &[impl AsRef<OsStr>],
        (seen, stdin, caches): (Seen<'_>, Stdin, Caches),
    ) -> Result<Self> {
        let line = permitted_line(policy, words)?;
        let (passed, forgotten) = match caches {
            Caches::Passed => (passed(&runner.root, &runner.caches), Vec::new()),
            Caches::Forgotten => (Vec::new(), possible(&runner.root, &runner.caches)),
        };
        let seen = Seen { caches: passed.clone(), ..seen };
        let child = runner.start(&line, seen, stdin)?;
        Ok(Self { runner, line, child, passed, forgotten, capture: None })
    }

    /// Starts a command on the workspace itself, which it can only read.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn start_outside(
        runner: &'r Runner,
        policy: &Policy,
        words: &[impl AsRef<OsStr>],
    ) -> Result<Self> {
        let line = permitted_line(policy, words)?;
        let child = runner.start_outside(&line)?;
        let (passed, forgotten) = (Vec::new(), Vec::new());
        Ok(Self { runner, line, child, passed, forgotten, capture: None })
    }

    /// Waits until it has ended. What it writes is told as it comes; where `sink` breaks off, that output is
    /// closed.
    ///
    /// # Errors
    /// `Command`
    pub fn wait(self, sink: impl FnMut(Output, &[u8]) -> ControlFlow<()>) -> Result<Tried> {
        let Self { runner, line, child, passed, forgotten, capture } = self;
        let outcome = child.wait_with(sink).map_err(CommandError::from)?;
        let sandbox = runner.record(&outcome.in_force, &passed);
        let (record, root) = (record(&line, &outcome), runner.root.clone());
        Ok(Tried { record, outcome, sandbox, root, forgotten, capture })
    }
}

/// Returns the command line of `words`, unless a command rule of the policy denies it.
///
/// # Errors
/// `Denied` where a rule denies it; `Command` where the words are not text or no command.
pub fn permitted_line(policy: &Policy, words: &[impl AsRef<OsStr>]) -> Result<CommandLine> {
    let text = |word: &OsStr| {
        word.to_str().map(str::to_owned).ok_or_else(|| CommandError::NoText(word.to_owned()))
    };
    let argv = words.iter().map(|word| text(word.as_ref()));
    let line = CommandLine::new(argv.collect::<std::result::Result<_, _>>()?);
    let line = line.map_err(CommandError::from)?;
    match policy.restrain_command(&line) {
        Some(judged) if judged.verdict == Verdict::Deny => {
            let (verdict, ground) = (judged.verdict, Ground::of_command(&line, &judged).into());
            Err(Error::Denied {
                gates: vec![GateDecision { gate: GateName::Commands, verdict, ground }],
            })
        }
        Some(_) | None => Ok(line),
    }
}

impl Tried {
    /// Whether it did its work: it ended by itself, with 0 or one of these codes.
    pub fn succeeded(&self, accepted: &Accepted) -> bool {
        match &self.record.ended {
            CommandEnd::Code(code) => *code == 0 || accepted.contains(code),
            CommandEnd::Signal(_) | CommandEnd::Stopped(_) => false,
        }
    }

    /// What it changed, as operations; and what of it no run can do.
    ///
    /// # Errors
    /// `Command` where it cannot be read.
    pub fn captured(&self) -> Result<Captured> {
        self.captured_part(Part::default())
    }

    /// As [`captured`](Self::captured), for a part of the change.
    ///
    /// # Errors
    /// As [`captured`](Self::captured).
    pub(crate) fn captured_part(&self, part: Part<'_>) -> Result<Captured> {
        match &self.outcome.captured {
            Some(layer) => {
                // If the kernel cannot use the directory, the change is in memory.
                let is_there = |(_, path): &&(RunId, PathBuf)| layer.is_at(&path.join("upper"));
                let capture = self.capture.as_ref().filter(is_there).map(|(id, _)| *id);
                let captured = Captured::of(layer, &self.forgotten(), (capture, part));
                Ok(captured.map_err(CommandError::from)?)
            }
            None => Ok(Captured::default()),
        }
    }

    /// How many paths it changed; what is in them is not read.
    ///
    /// # Errors
    /// `Command` where that cannot be told.
    pub fn changed_paths(&self) -> Result<usize> {
        match &self.outcome.captured {
            Some(layer) => Ok(changes(layer, &self.forgotten()).map_err(CommandError::from)?.len()),
            None => Ok(0),
        }
    }

    /// Relative to the root, as a layer has its paths.
    fn forgotten(&self) -> Vec<&Path> {
        let forgotten = self.forgotten.iter();
        forgotten.filter_map(|cache| cache.strip_prefix(&self.root).ok()).collect()
    }

    /// What confined it.
    pub(crate) fn sandbox(&self) -> &SandboxRecord {
        &self.sandbox
    }

    /// The caches of which what it did there is there for good.
    pub fn passed(&self) -> &[String] {
        &self.sandbox.caches
    }

    /// The request to make that change, once `checks`, confined as by `runner`, find it good where it is
    /// staged, also when a person approves it. The caller says who asks, and within which limits.
    ///
    /// # Errors
    /// `Command` where something of it cannot be kept.
    pub fn request(
        &self,
        captured: Captured,
        checks: Vec<CommandLine>,
        runner: &Runner,
    ) -> Result<Request> {
        let Captured { operations, unkept, .. } = captured;
        if !unkept.is_empty() {
            return Err(CommandError::Unkept(unkept).into());
        }
        let commands = Commands {
            made: vec![self.record.clone()],
            sandbox: Some(self.sandbox.clone()),
            confinement: (!checks.is_empty()).then(|| runner.policy().clone()),
            checks,
            repair: None,
        };
        Ok(Request { commands, ..Request::apply(operations) })
    }
}
