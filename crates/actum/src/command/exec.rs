//! Exec: one command runs on a view of the workspace, and what it changed becomes one request (AA-6).

use std::ffi::OsString;

use actum_core::path::Harmless;
use actum_core::{PathRule, RiskTier, Timestamp};
use actum_gate::{CommandLine, Policy};
use actum_record::command::CommandEnd;
use actum_record::ledger::{Actor, TenantId};
use actum_sandbox::Stdin;
use actum_workspace::{Capture, Limits, LinuxDisk};

use super::capture::Part;
use super::{Accepted, Caches, Runner, Trial, Tried};
use crate::error::Result;
use crate::path_selection::PathSelection;
use crate::place::Place;
use crate::request::{EntryPoint, Request, RequestLease};

/// The most characters of a command in a label.
const LABEL_CHARS_MAX: usize = 200;

/// A command, and what is to come of what it changes.
#[derive(Debug, Clone)]
pub struct Exec {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Exit codes that count as success, as 0 does.
    pub accepted: Accepted,
    /// What is to come of the change.
    pub ending: Ending,
    /// Whether the run is made even if the exit code of the command counts as a failure.
    pub keeps_failed: bool,
    /// Rules for the paths that are kept; all paths without a rule. Other changes are left out.
    pub only: Vec<PathRule>,
    /// Whether pipes, sockets and devices are left out, instead of keeping nothing.
    pub drops_special: bool,
    /// Commands that must succeed on the workspace with the change before it is kept.
    pub checks: Vec<CommandLine>,
    /// Limits of the change.
    pub limits: Limits,
    /// Label of the run in the log; `None` for the command.
    pub label: Option<String>,
    /// Who asks for it.
    pub actor: Actor,
    /// Whether to wait for another process that holds the workspace.
    pub wait: bool,
}

/// What is to come of the change of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The gates decide.
    Keep,
    /// It waits for a person.
    Review,
    /// It is judged and shown, and not kept.
    Drop,
}

/// What came of a command.
#[derive(Debug)]
pub enum Attempt {
    /// It failed, and so many changed paths are dropped.
    Failed {
        /// Changed paths; 0 where they cannot be counted.
        dropped: u64,
    },
    /// It changed nothing.
    Unchanged,
    /// It changed so many paths, and all of them are left out.
    LeftOut(usize),
    /// Request to make the change.
    Changed {
        /// The request.
        request: Box<Request>,
        /// Changed paths that are left out.
        left_out: usize,
    },
}

impl Exec {
    /// Checks that the programs of the checks can be run: one that cannot would make the work of the command worthless.
    ///
    /// # Errors
    /// `Command`.
    pub fn find_checks(&self, runner: &Runner) -> Result<()> {
        for check in &self.checks {
            runner.program(check)?;
        }
        Ok(())
    }

    /// Checks that what the command changes could be kept under the lease, as far as that does not depend on the change.
    /// Otherwise the work of the command would be worthless.
    ///
    /// # Errors
    /// `Denied`, `Record`.
    pub fn check_lease(
        &self,
        lease: Option<&RequestLease>,
        (policy, place): (&Policy, Place),
        tenant: &TenantId,
        now: Timestamp,
    ) -> Result<()> {
        if self.ending == Ending::Drop {
            return Ok(());
        }
        let request = Request {
            actor: self.actor.clone(),
            door: EntryPoint::Exec,
            lease: lease.cloned(),
            ..Request::apply(Vec::new())
        };
        request.check_lease((policy, place), tenant, now)
    }

    /// Starts the command. `capture` takes the changes, and is held until they are made; memory without one.
    ///
    /// # Errors
    /// As [`Trial::start`].
    pub fn start<'r>(
        &self,
        runner: &'r Runner,
        policy: &Policy,
        stdin: Stdin,
        capture: Option<&Capture<LinuxDisk>>,
    ) -> Result<Trial<'r>> {
        let caches = match self.ending {
            Ending::Keep | Ending::Review => Caches::Passed,
            Ending::Drop => Caches::Forgotten,
        };
        Trial::start_captured(runner, policy, &self.command, (stdin, caches), capture)
    }

    /// Turns what the command changed into a request. Its checks are confined as by `runner`.
    ///
    /// # Errors
    /// `Command` where the change cannot be read, or cannot be kept.
    pub fn attempt(&self, tried: &Tried, runner: &Runner) -> Result<Attempt> {
        let is_kept = self.keeps_failed && matches!(tried.record.ended, CommandEnd::Code(_));
        if !(tried.succeeded(&self.accepted) || is_kept) {
            // Of what is dropped anyway nobody has to know that it could not be looked at.
            let dropped = tried.changed_paths().map_or(0, |paths| paths as u64);
            return Ok(Attempt::Failed { dropped });
        }
        let paths = PathSelection { only: &self.only, without: &[] };
        let part = Part { paths, drops_special: self.drops_special };
        let captured = tried.captured_part(part)?;
        let left_out = captured.left_out;
        if captured.is_empty() && left_out == 0 {
            return Ok(Attempt::Unchanged);
        }
        if captured.is_empty() {
            return Ok(Attempt::LeftOut(left_out));
        }
        let request = tried.request(captured, self.checks.clone(), runner)?;
        let request = Box::new(Request {
            limits: self.limits.clone(),
            label: Some(self.label.clone().unwrap_or_else(|| label(tried))),
            actor: self.actor.clone(),
            door: EntryPoint::Exec,
            // A person looks at what is of this tier.
            declared: (self.ending == Ending::Review).then_some(RiskTier::R3),
            wait: self.wait,
            ..request
        });
        Ok(Attempt::Changed { request, left_out })
    }
}

/// Label of a run by its command.
fn label(tried: &Tried) -> String {
    let words = tried.record.argv.iter().map(|word| Harmless(word.as_bytes()).to_string());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LABEL_CHARS_MAX) {
        Some((end, _)) => format!("exec {}…", line.get(..end).unwrap_or_default()),
        None => format!("exec {line}"),
    }
}
