//! Exec: one command runs on a view of the workspace, and its changes become one request (AA-6).

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

/// Maximum length of a command in a label, in characters.
const LABEL_CHARS_MAX: usize = 200;

/// Command to execute, and the treatment of its changes.
#[derive(Debug, Clone)]
pub struct Exec {
    /// Program and its arguments.
    pub command: Vec<OsString>,
    /// Exit codes that count as success, as 0 does.
    pub accepted: Accepted,
    /// Treatment of the change.
    pub ending: Ending,
    /// True if the run is made even if the exit code of the command counts as a failure.
    pub keeps_failed: bool,
    /// Rules for the paths that are kept; all paths without a rule. Other changes are left out.
    pub only: Vec<PathRule>,
    /// True if pipes, sockets and devices are left out, instead of keeping nothing.
    pub drops_special: bool,
    /// Commands that must succeed on the workspace with the change before it is kept.
    pub checks: Vec<CommandLine>,
    /// Limits of the change.
    pub limits: Limits,
    /// Label of the run in the log; `None` for the command.
    pub label: Option<String>,
    /// Actor who requests it.
    pub actor: Actor,
    /// True if the call waits for another process that holds the workspace.
    pub wait: bool,
}

/// Treatment of the change of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The gates decide.
    Keep,
    /// Waits for an approval.
    Review,
    /// Is judged and shown, and not kept.
    Drop,
}

/// Outcome of a command.
#[derive(Debug)]
pub enum Attempt {
    /// Failed command, whose changes are dropped.
    Failed {
        /// Number of changed paths; 0 if they cannot be counted.
        dropped: u64,
    },
    /// No change.
    Unchanged,
    /// Changes of this number of paths, all of which are left out.
    LeftOut(usize),
    /// Request to make the change.
    Changed {
        /// Request.
        request: Box<Request>,
        /// Number of changed paths that are left out.
        left_out: usize,
    },
}

impl Exec {
    /// Checks that the programs of the checks can run. Otherwise the work of the command would be lost.
    ///
    /// # Errors
    /// `Command`.
    pub fn find_checks(&self, runner: &Runner) -> Result<()> {
        for check in &self.checks {
            runner.program(check)?;
        }
        Ok(())
    }

    /// Checks that the lease allows the changes of a command, as far as that does not depend on the change. Otherwise
    /// the work of the command would be lost.
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

    /// Starts the command. `capture` holds the changes until they are made; without one they stay in memory.
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

    /// Turns the changes of the command into a request. Its checks are confined by the policy of `runner`.
    ///
    /// # Errors
    /// `Command` if the change cannot be read, or cannot be kept.
    pub fn attempt(&self, tried: &Tried, runner: &Runner) -> Result<Attempt> {
        let is_kept = self.keeps_failed && matches!(tried.record.ended, CommandEnd::Code(_));
        if !(tried.succeeded(&self.accepted) || is_kept) {
            // An error in counting dropped changes does not matter.
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
            // This tier needs an approval.
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
