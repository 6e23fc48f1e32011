//! Entry point for actions: takes a plan envelope, executes it as a transaction, and returns a result envelope (AA-1,
//! AA-2, AA-6).
//!
//! [`Engine::act`] checks the policy and the scope, runs the action in a staged view, runs its checks, publishes or
//! drops the change, and records the result. The start of an action is recorded in the ledger before it has any effect,
//! so that the next process can record the end of an interrupted action.

mod action_error;
mod action_report;
mod begin;
mod built_in;
mod core_action;
mod keep;
mod package;
mod propose;
mod scope;

use std::any::Any;

use actum_action::{MalformedPlan, PlanEnvelope, ResultEnvelope};
use actum_core::Timestamp;
use actum_ledger::ActivityMark;
use actum_record::ledger::{Actor, RequestKey, WorkspaceId};
use actum_workspace::disk::Disk;
use actum_workspace::{RunOptions, State};
use serde_json::json;

use crate::command::Runner;
use crate::companion::ActionCompanion;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::reason::Reason;
use crate::request::Request;

use action_error::ActionError;
use action_report::ActionReport;
use propose::Proposed;

/// Action that an actor proposes, as input of [`Engine::act`].
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Plan envelope of the action.
    pub plan: PlanEnvelope,
    /// Actor who proposes the action.
    pub actor: Actor,
    /// Idempotency key of the request. If the action was already executed under this key, it is not executed again.
    pub key: Option<RequestKey>,
    /// Whether to wait for the workspace lock if another process holds it, instead of failing.
    pub wait: bool,
}

/// Plan envelope that is malformed, but names its action, so that its rejection can be recorded.
#[derive(Debug, Clone)]
pub struct MalformedProposal {
    /// Fields of the envelope that could be parsed.
    pub plan: MalformedPlan,
    /// Description of the problem. It is recorded in the ledger, so it must not contain secrets.
    pub message: String,
    /// Actor who submitted the envelope.
    pub actor: Actor,
    /// Whether to wait for the workspace lock if another process holds it, instead of failing.
    pub wait: bool,
}

/// Outcome of an action that has ended with any status.
#[derive(Debug)]
pub struct ActionOutcome {
    /// Result envelope to return to the caller.
    pub envelope: ResultEnvelope,
    /// Index of the ledger entry that records this result (AA-13).
    pub entry: u64,
    /// Engine error that ended the action, if any, such as [`Error::Queued`] for an action that needs approval.
    pub error: Option<Box<Error>>,
    /// Guard created by the function that was passed to [`Engine::holding`].
    pub held: Option<Box<dyn Any>>,
}

impl<D: Disk> Engine<D> {
    /// Executes an action completely or not at all, and records its outcome in the ledger.
    ///
    /// # Errors
    /// Fails only if the outcome could not be recorded, in which case there is no result. All other errors are reported
    /// in the result envelope.
    pub fn act(&mut self, proposal: &Proposal) -> Result<ActionOutcome> {
        self.act_with(proposal, None)
    }

    /// Executes an action like [`act`](Self::act), and appends the entries of a companion log together with its own.
    ///
    /// # Errors
    /// Same as [`Self::act`].
    pub fn act_with(
        &mut self,
        proposal: &Proposal,
        companion: Option<Box<dyn ActionCompanion>>,
    ) -> Result<ActionOutcome> {
        let mut report = self.new_report(&proposal.plan, proposal.wait)?;
        report.companion = companion;
        let end = self
            .propose(proposal, &mut report)
            .and_then(|proposed| self.perform(proposed, &mut report));
        self.record_outcome(report, end, &proposal.actor)
    }

    /// Rejects a malformed plan envelope without executing any of it, and records the rejection.
    ///
    /// # Errors
    /// Same as [`Self::act`].
    pub fn reject(&mut self, proposal: &MalformedProposal) -> Result<ActionOutcome> {
        let MalformedProposal { plan, message, actor, wait } = proposal;
        let (workspace, id) = (self.workspace_id(*wait)?, self.workspace.new_id()?);
        let report = ActionReport::of_malformed(plan, id, workspace, self.now());
        let end = Err(ActionError::rejected(Reason::PlanEnvelopeInvalid, message));
        self.record_outcome(report, end, actor)
    }

    /// Executes the request of a queued plan exactly as it was approved, otherwise like [`act_with`](Self::act_with).
    ///
    /// # Errors
    /// `NoAction` if the request does not belong to an action; otherwise the same as [`Self::act`].
    pub fn act_as_approved(
        &mut self,
        request: Request,
        companion: Option<Box<dyn ActionCompanion>>,
    ) -> Result<ActionOutcome> {
        let Some(action) = &request.action else { return Err(Error::NoAction) };
        let mut report = self.new_report(&action.plan, request.wait)?;
        report.companion = companion;
        let actor = request.actor.clone();
        let proposal = Proposal {
            plan: action.plan.clone(),
            actor: actor.clone(),
            key: request.key.clone(),
            wait: request.wait,
        };
        // Propose the action again, because it may have been retired or changed since the approval.
        let end = self
            .propose(&proposal, &mut report)
            .and_then(|proposed| self.perform(Proposed { request, ..proposed }, &mut report));
        self.record_outcome(report, end, &actor)
    }

    fn new_report(&mut self, plan: &PlanEnvelope, wait: bool) -> Result<ActionReport> {
        // Do everything that could fail to produce a report now, before the action has any effect.
        let (workspace, id) = (self.workspace_id(wait)?, self.workspace.new_id()?);
        ActionReport::from_action(plan, id, workspace, self.now())
    }

    /// Records the outcome of an action in the ledger, and returns its result.
    fn record_outcome(
        &mut self,
        mut report: ActionReport,
        end: std::result::Result<(), ActionError>,
        actor: &Actor,
    ) -> Result<ActionOutcome> {
        let held = report.held.take();
        let is_stopped = self.runner.as_ref().is_some_and(Runner::is_stopped);
        let ending = report.ending(end, is_stopped)?;
        let now = self.now();
        let ended = report.entry(&ending, (&self.records.tenant, &self.root), actor, now);
        let state = match (&report.error, ended.run) {
            (Some(error), _) => error.workspace(),
            (None, Some(_)) => State::Published,
            (None, None) => State::Unchanged,
        };
        let not_recorded = |source| Error::OutcomeNotRecorded {
            status: ended.status,
            run: ended.run,
            state,
            source,
        };
        let command_ms = report.command_ms();
        let (mut envelope, error, acting, companion) = report.into_result(&ending, now);
        let companion = companion.map(|companion| (companion, command_ms));
        let entry = self.records.append_end(&ended, &envelope, companion).map_err(not_recorded)?;
        envelope.feedback.insert("entry".to_owned(), json!(entry));
        // An error is harmless: a process that finds a leftover mark also finds the entry for the end of the action.
        drop(acting.map(ActivityMark::end));
        Ok(ActionOutcome { envelope, entry, error, held })
    }

    /// Returns the id of the workspace, assigning one if it does not have an id yet.
    fn workspace_id(&mut self, wait: bool) -> Result<WorkspaceId> {
        if let Some(id) = self.workspace.id()? {
            return Ok(id);
        }
        let label = "name the workspace".to_owned();
        let options = RunOptions { wait, label, ..RunOptions::default() };
        Ok(self.workspace.begin(options)?.workspace_id()?)
    }

    fn now(&self) -> Timestamp {
        self.records.clock.now()
    }
}

/// Returns the label under which an action appears in the log, which consists of its type and its reason.
fn label(plan: &PlanEnvelope) -> String {
    match &plan.reason {
        Some(reason) => format!("action {}: {reason}", plan.action_type),
        None => format!("action {}", plan.action_type),
    }
}
