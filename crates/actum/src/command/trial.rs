//! Runs a command on trial: its changes do not affect the workspace until they pass the gates.

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

/// Command that is running on a view of the workspace.
#[must_use = "dropping it ends the command"]
pub struct Trial<'r> {
    runner: &'r Runner,
    line: CommandLine,
    child: actum_sandbox::Child,
    passed: Vec<PathBuf>,
    /// Cache directories in which the command's changes are dropped.
    forgotten: Vec<PathBuf>,
    /// Id and path of the on-disk capture for the changes, if there is one.
    capture: Option<(RunId, PathBuf)>,
}

/// Finished command, with the changes that it made in its view. The changes are discarded when this is dropped.
#[derive(Debug)]
pub struct Tried {
    /// Record of the command for the ledger.
    pub record: CommandRecord,
    /// Outcome of the process, including its output.
    pub outcome: Outcome,
    sandbox: SandboxRecord,
    root: PathBuf,
    forgotten: Vec<PathBuf>,
    /// Id and path of the on-disk capture for the changes, if there is one.
    capture: Option<(RunId, PathBuf)>,
}

impl<'r> Trial<'r> {
    /// Starts a command, unless a command rule of the policy denies it.
    ///
    /// # Errors
    /// `Denied` if a rule denies the command; this is not recorded, because nothing was done. `Command` if it cannot be
    /// started.
    pub fn start(
        runner: &'r Runner,
        policy: &Policy,
        words: &[impl AsRef<OsStr>],
        stdin: Stdin,
        caches: Caches,
    ) -> Result<Self> {
        Self::begin(runner, policy, words, (Seen::default(), stdin, caches))
    }

    /// Starts a command like [`start`](Self::start), and stores its changes in an on-disk capture, if one is given.
    ///
    /// # Errors
    /// Same as [`start`](Self::start).
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

    /// Starts a command like [`start`](Self::start), on the workspace with the changes in `staged`.
    ///
    /// The captured operations apply on top of the staged changes, so the same transaction can make them. Changes in
    /// caches are dropped, because they depend on a change that may never be published.
    ///
    /// # Errors
    /// Same as [`start`](Self::start).
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

    /// Starts a command on the workspace itself, without a view. The command can only read it.
    ///
    /// # Errors
    /// Same as [`start`](Self::start).
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

    /// Waits for the command to end, and passes its output to `sink` as it arrives. If `sink` returns `Break`, that
    /// output stream is closed.
    ///
    /// # Errors
    /// `Command` if waiting fails.
    pub fn wait(self, sink: impl FnMut(Output, &[u8]) -> ControlFlow<()>) -> Result<Tried> {
        let Self { runner, line, child, passed, forgotten, capture } = self;
        let outcome = child.wait_with(sink).map_err(CommandError::from)?;
        let sandbox = runner.record(&outcome.in_force, &passed);
        let (record, root) = (record(&line, &outcome), runner.root.clone());
        Ok(Tried { record, outcome, sandbox, root, forgotten, capture })
    }
}

/// Parses `words` as a command line, unless a command rule of the policy denies it.
///
/// # Errors
/// `Denied` if a rule denies the command; `Command` if the words are not UTF-8 or not a valid command line.
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
    /// Returns whether the command exited by itself with code 0 or one of the accepted codes.
    pub fn succeeded(&self, accepted: &Accepted) -> bool {
        match &self.record.ended {
            CommandEnd::Code(code) => *code == 0 || accepted.contains(code),
            CommandEnd::Signal(_) | CommandEnd::Stopped(_) => false,
        }
    }

    /// Returns the changes of the command as operations, and lists those that cannot be part of a run.
    ///
    /// # Errors
    /// `Command` if the changes cannot be read.
    pub fn captured(&self) -> Result<Captured> {
        self.captured_part(Part::default())
    }

    /// Returns the selected part of the changes, like [`captured`](Self::captured).
    ///
    /// # Errors
    /// Same as [`captured`](Self::captured).
    pub(crate) fn captured_part(&self, part: Part<'_>) -> Result<Captured> {
        match &self.outcome.captured {
            Some(layer) => {
                // The changes are in memory instead if the kernel could not use the capture's directory.
                let is_there = |(_, path): &&(RunId, PathBuf)| layer.is_at(&path.join("upper"));
                let capture = self.capture.as_ref().filter(is_there).map(|(id, _)| *id);
                let captured = Captured::new(layer, &self.forgotten(), (capture, part));
                Ok(captured.map_err(CommandError::from)?)
            }
            None => Ok(Captured::default()),
        }
    }

    /// Counts the changed paths without reading their contents.
    ///
    /// # Errors
    /// `Command` if the changes cannot be listed.
    pub fn changed_paths(&self) -> Result<usize> {
        match &self.outcome.captured {
            Some(layer) => Ok(changes(layer, &self.forgotten()).map_err(CommandError::from)?.len()),
            None => Ok(0),
        }
    }

    /// Returns the caches whose changes are dropped, relative to the workspace root like the paths of a layer.
    fn forgotten(&self) -> Vec<&Path> {
        let forgotten = self.forgotten.iter();
        forgotten.filter_map(|cache| cache.strip_prefix(&self.root).ok()).collect()
    }

    /// Returns the confinement under which the command ran.
    pub(crate) fn sandbox(&self) -> &SandboxRecord {
        &self.sandbox
    }

    /// Returns the cache directories in which the command's changes are permanent.
    pub fn passed(&self) -> &[String] {
        &self.sandbox.caches
    }

    /// Creates a request for the captured changes. The caller adds the actor and the limits.
    ///
    /// Before the changes are published, even after an approval, `checks` must pass on the staged files, confined by
    /// the sandbox policy of `runner`.
    ///
    /// # Errors
    /// `Command` if any of the changes cannot be part of a run.
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
