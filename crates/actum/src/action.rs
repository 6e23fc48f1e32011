//! Entry point of actions: takes a plan envelope, carries it out as a transaction, and returns a result envelope
//! (AA-1, AA-2, AA-6).
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

/// An action that is proposed, and by whom.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// What is asked for.
    pub plan: PlanEnvelope,
    /// Who asks.
    pub actor: Actor,
    /// The key under which it is asked for, so that asking again does not do it again.
    pub key: Option<RequestKey>,
    /// Whether to wait for another process that is at work in the workspace.
    pub wait: bool,
}

/// A malformed plan envelope that names its action, and who handed it over.
#[derive(Debug, Clone)]
pub struct MalformedProposal {
    /// What could be read of it.
    pub plan: MalformedPlan,
    /// What is wrong with it. It goes into the ledger, so it quotes nothing secret.
    pub message: String,
    /// Who asks.
    pub actor: Actor,
    /// Whether to wait for another process that is at work in the workspace.
    pub wait: bool,
}

/// An action that ended, one way or the other.
#[derive(Debug)]
pub struct ActionOutcome {
    /// The result.
    pub envelope: ResultEnvelope,
    /// The place in the ledger of the entry that says the same (AA-13).
    pub entry: u64,
    /// The error of the engine with which it ended, if it was one: that it waits for a person, for example.
    pub error: Option<Box<Error>>,
    /// What [`Engine::holding`] gave.
    pub held: Option<Box<dyn Any>>,
}

impl<D: Disk> Engine<D> {
    /// Carries out an action: all of it, or nothing; and records how it ended.
    ///
    /// # Errors
    /// Where how it ended could not be recorded, so that there is no result. All else is in the result.
    pub fn act(&mut self, proposal: &Proposal) -> Result<ActionOutcome> {
        self.act_with(proposal, None)
    }

    /// Carries out an action as [`act`](Self::act) does, with a companion that keeps a log of its own.
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

    /// Rejects a malformed plan envelope: records that, and gives the result. Nothing of it is carried out.
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

    /// The same for the request of a plan in the queue, to which a person agreed: exactly that is done.
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
        // What was retired since, or is other than it was, is not carried out.
        let end = self
            .propose(&proposal, &mut story)
            .and_then(|proposed| self.perform(Proposed { request, ..proposed }, &mut story));
        self.tell(story, end, &actor)
    }

    fn story(&mut self, plan: &PlanEnvelope, wait: bool) -> Result<ActionReport> {
        // Whatever could not be told later is found out before anything is done.
        let (workspace, id) = (self.workspace_id(wait)?, self.workspace.new_id()?);
        ActionReport::of(plan, id, workspace, self.now())
    }

    /// Records how it ended, and gives the result.
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
        // Where the mark stays, whoever finds it finds the entry, too.
        drop(acting.map(UnderWay::end));
        Ok(ActionOutcome { envelope, entry, error, held })
    }

    /// The name of the workspace. It gets one where it has none yet.
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

/// What an action is in the log: its type, and what it is for.
fn label(plan: &PlanEnvelope) -> String {
    match &plan.reason {
        Some(reason) => format!("action {}: {reason}", plan.action_type),
        None => format!("action {}", plan.action_type),
    }
}
