//! Entry point of actions: accepts a plan envelope, executes it as a transaction, and returns a result envelope (AA-1,
//! AA-2, AA-6).
//!
//! [`Engine::act`] runs the sequence: check policy and scope, run in a staged view, run the checks, publish or drop the
//! change, record the result. The ledger records the start before any effect, so that the next process can record the
//! end of an interrupted action.

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
use actum_ledger::UnderWay;
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

/// Proposed action, and the actor who proposes it.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Plan envelope of the action.
    pub plan: PlanEnvelope,
    /// Actor who proposes it.
    pub actor: Actor,
    /// Request key of the proposal. A second proposal under the same key does not repeat the action.
    pub key: Option<RequestKey>,
    /// True if the call waits for another process that is at work in the workspace.
    pub wait: bool,
}

/// Malformed plan envelope that names its action, and the actor who submitted it.
#[derive(Debug, Clone)]
pub struct MalformedProposal {
    /// Fields that could be read.
    pub plan: MalformedPlan,
    /// Description of the problem. It goes into the ledger, so it contains no secrets.
    pub message: String,
    /// Actor who submitted it.
    pub actor: Actor,
    /// True if the call waits for another process that is at work in the workspace.
    pub wait: bool,
}

/// Outcome of an action, whatever its status.
#[derive(Debug)]
pub struct ActionOutcome {
    /// Result envelope.
    pub envelope: ResultEnvelope,
    /// Index of the ledger entry that records the same result (AA-13).
    pub entry: u64,
    /// Engine error that ended the action, if any; for example, that it waits for approval.
    pub error: Option<Box<Error>>,
    /// Guard that [`Engine::holding`] returned.
    pub held: Option<Box<dyn Any>>,
}

impl<D: Disk> Engine<D> {
    /// Executes an action completely or not at all, and records its outcome.
    ///
    /// # Errors
    /// Fails only where the outcome could not be recorded, so that no result exists. The result reports all other
    /// errors.
    pub fn act(&mut self, proposal: &Proposal) -> Result<ActionOutcome> {
        self.act_with(proposal, None)
    }

    /// Executes an action as [`act`](Self::act) does, with a companion that keeps its own log.
    ///
    /// # Errors
    /// As [`Self::act`].
    pub fn act_with(
        &mut self,
        proposal: &Proposal,
        companion: Option<Box<dyn ActionCompanion>>,
    ) -> Result<ActionOutcome> {
        let mut story = self.story(&proposal.plan, proposal.wait)?;
        story.companion = companion;
        let end = self
            .propose(proposal, &mut story)
            .and_then(|proposed| self.perform(proposed, &mut story));
        self.tell(story, end, &proposal.actor)
    }

    /// Rejects a malformed plan envelope, records the rejection, and returns the result. Nothing of it is executed.
    ///
    /// # Errors
    /// As [`Self::act`].
    pub fn reject(&mut self, proposal: &MalformedProposal) -> Result<ActionOutcome> {
        let MalformedProposal { plan, message, actor, wait } = proposal;
        let (workspace, id) = (self.workspace_id(*wait)?, self.workspace.new_id()?);
        let story = ActionReport::of_malformed(plan, id, workspace, self.now());
        let end = Err(ActionError::rejected(Reason::PlanEnvelopeInvalid, message));
        self.tell(story, end, actor)
    }

    /// Executes the approved request of a queued plan as [`act_with`](Self::act_with) does, without any deviation.
    ///
    /// # Errors
    /// As [`Self::act`]; where the request belongs to no action, `NoAction`.
    pub fn act_as_approved(
        &mut self,
        request: Request,
        companion: Option<Box<dyn ActionCompanion>>,
    ) -> Result<ActionOutcome> {
        let Some(action) = &request.action else { return Err(Error::NoAction) };
        let mut story = self.story(&action.plan, request.wait)?;
        story.companion = companion;
        let actor = request.actor.clone();
        let proposal = Proposal {
            plan: action.plan.clone(),
            actor: actor.clone(),
            key: request.key.clone(),
            wait: request.wait,
        };
        // An action that was retired or changed since the approval is not executed.
        let end = self
            .propose(&proposal, &mut story)
            .and_then(|proposed| self.perform(Proposed { request, ..proposed }, &mut story));
        self.tell(story, end, &actor)
    }

    fn story(&mut self, plan: &PlanEnvelope, wait: bool) -> Result<ActionReport> {
        // Anything that could prevent the report is checked before the action has an effect.
        let (workspace, id) = (self.workspace_id(wait)?, self.workspace.new_id()?);
        ActionReport::from_action(plan, id, workspace, self.now())
    }

    /// Records the outcome, and returns the result.
    fn tell(
        &mut self,
        mut story: ActionReport,
        end: std::result::Result<(), ActionError>,
        actor: &Actor,
    ) -> Result<ActionOutcome> {
        let held = story.held.take();
        let is_stopped = self.runner.as_ref().is_some_and(Runner::is_stopped);
        let ending = story.ending(end, is_stopped)?;
        let now = self.now();
        let ended = story.entry(&ending, (&self.records.tenant, &self.root), actor, now);
        let state = match (&story.error, ended.run) {
            (Some(error), _) => error.workspace(),
            (None, Some(_)) => State::Published,
            (None, None) => State::Unchanged,
        };
        let untold = |source| Error::Untold { status: ended.status, run: ended.run, state, source };
        let command_ms = story.command_ms();
        let (mut envelope, error, acting, companion) = story.into_result(&ending, now);
        let companion = companion.map(|companion| (companion, command_ms));
        let entry = self.records.append_end(&ended, &envelope, companion).map_err(untold)?;
        envelope.feedback.insert("entry".to_owned(), json!(entry));
        // If the mark stays, the process that finds it finds the entry, too.
        drop(acting.map(UnderWay::end));
        Ok(ActionOutcome { envelope, entry, error, held })
    }

    /// Returns the id of the workspace, and assigns one first if it has none.
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

/// Returns the label of an action in the log: its type and its reason.
fn label(plan: &PlanEnvelope) -> String {
    match &plan.reason {
        Some(reason) => format!("action {}: {reason}", plan.action_type),
        None => format!("action {}", plan.action_type),
    }
}
