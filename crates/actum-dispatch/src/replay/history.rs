//! Checks that the history in a bundle matches an earlier state of the ledger.

use actum_agent::bundle::{AgentBundle, ConfirmationFacts};
use actum_core::Digest;
use actum_gate::{ConfirmationProblem, verify_confirmation};
use actum_ledger::{LedgerError, Log};
use actum_record::agent::StepId;
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::{AgentConfirmation, AgentEvent};

use super::{Problem, ReplayCode, problem};
use crate::history::{ChainEvent, History, relaying_key};

/// History of a goal after each of its events.
///
/// Several processes can work on a goal at the same time and decide on the same facts. Therefore, a bundle is accepted
/// if it matches the history at any earlier point.
#[derive(Default)]
pub(super) struct Histories {
    /// The only step of the goal. In phase 1, a goal has a single step.
    step: Option<StepId>,
    now: History,
    before: Vec<History>,
}

impl Histories {
    /// Adds the next event of the goal.
    pub(super) fn push(
        &mut self,
        (log, keyring): (&dyn Log, &Keyring),
        event: &ChainEvent,
    ) -> Result<(), LedgerError> {
        if let AgentEvent::Execution(execution) = &event.event {
            self.step.get_or_insert_with(|| execution.step.clone());
        }
        let Some(step) = &self.step else { return Ok(()) };
        self.before.push(self.now.clone());
        self.now.push(log, (event, step), &|answer| signing_key((log, keyring), answer))
    }

    /// Checks the history in a bundle. `plan` is the fingerprint of the plan that was decided on.
    pub(super) fn check(
        &self,
        log: &dyn Log,
        (bundle, step): (&AgentBundle, &StepId),
        plan: Option<Digest>,
    ) -> Result<Problem, LedgerError> {
        let message = |what: &str| format!("{what} of the step {step} do not match the ledger");
        let wrong = |what: &str| Ok(Some(problem(ReplayCode::HistoryMismatch, message(what))));
        if let Some(request) = &bundle.history.request
            && log.agent_goal_of_request(&bundle.goal.request_key)?.as_ref() != Some(request)
        {
            return wrong("the facts about the request");
        }
        let moments = std::iter::once(&self.now).chain(self.before.iter().rev());
        match moments.into_iter().any(|moment| is_same(moment.clone(), (bundle, plan))) {
            true => Ok(None),
            false => wrong("the facts about earlier events"),
        }
    }
}

/// Returns the key that signed an answer, including a key that has been revoked since, because it was valid at that
/// time.
fn signing_key(
    (log, keyring): (&dyn Log, &Keyring),
    answer: &AgentConfirmation,
) -> Result<Option<String>, LedgerError> {
    let proof = log.blob(&answer.proof)?.unwrap_or_default();
    match verify_confirmation(&proof, keyring, answer.time) {
        Err(ConfirmationProblem::Key(KeyProblem::Revoked { .. })) => Ok(answer.relayed_by.clone()),
        _ => relaying_key((log, keyring), answer),
    }
}

fn is_same(mut history: History, (bundle, plan): (&AgentBundle, Option<Digest>)) -> bool {
    if let Some(plan) = plan {
        history.use_answers_to(plan);
    }
    let mut facts = history.facts;
    facts.request.clone_from(&bundle.history.request);
    let mut answer = history.confirmation.map(|answer| answer.facts);
    if let (Some(answer), Some(ConfirmationFacts { relayed_by: None, .. })) =
        (&mut answer, &bundle.confirmation)
    {
        answer.relayed_by = None;
    }
    facts == bundle.history && answer == bundle.confirmation
}
