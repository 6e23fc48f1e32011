//! Implements `exec`: runs one command on a view of the workspace, and turns its changes into one request (AA-6).

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

/// Maximum number of characters of the command line in the label of a run.
const LABEL_CHARS_MAX: usize = 200;

/// Command to execute, with options for its changes.
#[derive(Debug, Clone)]
pub struct Exec {
    /// Program to run, followed by its arguments.
    pub command: Vec<OsString>,
    /// Exit codes that count as success in addition to 0.
    pub accepted: Accepted,
    /// Handling of the changes if the command succeeds.
    pub ending: Ending,
    /// Whether to keep the changes even if the command exits with a code that counts as a failure.
    pub keeps_failed: bool,
    /// Rules that select the changed paths to keep. If there are none, all changes are kept.
    pub only: Vec<PathRule>,
    /// Whether to leave out pipes, sockets and devices, instead of rejecting the entire change because of them.
    pub drops_special: bool,
    /// Commands that must succeed on the staged change before it is kept.
    pub checks: Vec<CommandLine>,
    /// Scope, budget and other limits of the change.
    pub limits: Limits,
    /// Label of the run in the log. If `None`, the command line is used.
    pub label: Option<String>,
    /// Actor who requests the command.
    pub actor: Actor,
    /// Whether to wait for the workspace lock if another process holds it, instead of failing.
    pub wait: bool,
}

/// Handling of the changes of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Keep the changes if the gates allow them.
    Keep,
    /// Queue the changes for approval, even if the gates would allow them.
    Review,
    /// Show the changes and the decision of the gates, then drop the changes.
    Drop,
}

/// Outcome of a command that `exec` ran.
#[derive(Debug)]
pub enum Attempt {
    /// The command failed, and its changes were dropped.
    Failed {
        /// Number of changed paths, or 0 if they cannot be counted.
        dropped: u64,
    },
    /// The command changed nothing.
    Unchanged,
    /// The command changed this number of paths, and all of them were left out.
    LeftOut(usize),
    /// The command made changes to keep.
    Changed {
        /// Request to make the changes in the workspace.
        request: Box<Request>,
        /// Number of changed paths that were left out.
        left_out: usize,
    },
}

impl Exec {
    /// Checks that the programs of the checks exist. This is done before the command runs, because its work would be
    /// lost if a check could not be run afterwards.
    ///
    /// # Errors
    /// `Command` if a program is not found.
    pub fn find_checks(&self, runner: &Runner) -> Result<()> {
        for check in &self.checks {
            runner.program(check)?;
        }
        Ok(())
    }

    /// Checks that the lease could allow the changes of the command, as far as this can be decided before they are
    /// known. This is done before the command runs, because its work would be lost if the lease rejected every change.
    ///
    /// # Errors
    /// `Denied` if the lease cannot allow any change of the command; `Record` if the facts about it have no exact form.
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
            entry_point: EntryPoint::Exec,
            lease: lease.cloned(),
            ..Request::apply(Vec::new())
        };
        request.check_lease((policy, place), tenant, now)
    }

    /// Starts the command. Its changes are stored in `capture` until they are applied, or in memory if there is none.
    ///
    /// # Errors
    /// Same as [`Trial::start`].
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

    /// Turns the changes of the finished command into a request. The sandbox policy of `runner` confines its checks.
    ///
    /// # Errors
    /// `Command` if the changes cannot be read or kept.
    pub fn attempt(&self, tried: &Tried, runner: &Runner) -> Result<Attempt> {
        let is_kept = self.keeps_failed && matches!(tried.record.ended, CommandEnd::Code(_));
        if !(tried.succeeded(&self.accepted) || is_kept) {
            // The number is only informative, so ignore errors.
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
            entry_point: EntryPoint::Exec,
            // Declare a tier that always needs an approval.
            declared: (self.ending == Ending::Review).then_some(RiskTier::R3),
            wait: self.wait,
            ..request
        });
        Ok(Attempt::Changed { request, left_out })
    }
}

/// Returns the default label of a run, which consists of the command line.
fn label(tried: &Tried) -> String {
    let words = tried.record.argv.iter().map(|word| Harmless(word.as_bytes()).to_string());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LABEL_CHARS_MAX) {
        Some((end, _)) => format!("exec {}…", line.get(..end).unwrap_or_default()),
        None => format!("exec {line}"),
    }
}
