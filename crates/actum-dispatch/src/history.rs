//! Events of a goal, from the ledger.

use std::collections::BTreeMap;

use actum_agent::bundle::{ClaimFacts, ConfirmationFacts, GoalFacts, HistoryFacts};
use actum_agent::confirmation::ParseProof;
use actum_agent::limits::AMBIGUOUS_ANSWERS_MAX;
use actum_agent::prompt::ConfirmationPrompt;
use actum_core::canonical::describe;
use actum_core::{Digest, Timestamp};
use actum_gate::verify_confirmation;
use actum_ledger::{LedgerError, Log};
use actum_record::agent::{CorrelationId, StepId};
use actum_record::keyring::Keyring;
use actum_record::ledger::{
    AgentConfirmation, AgentEvent, AgentEventKind, AgentExecution, AgentState, ConfirmationOutcome,
    EntryFacts,
};
use actum_record::merkle::leaf_hash;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// All events of a goal, in the order of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Goal.
    pub correlation: CorrelationId,
    /// Events.
    pub events: Vec<ChainEvent>,
}

/// Event of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEvent {
    /// Index of the entry.
    pub index: u64,
    /// Hash of the entry.
    pub leaf: Digest,
    /// Content of the entry.
    pub event: AgentEvent,
}

/// History of a step, folded from the events of its goal.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) facts: HistoryFacts,
    /// Effective answer to the plan given to [`History::use_answers_to`]; before, to the plan that was answered last.
    pub(crate) confirmation: Option<KnownConfirmation>,
    /// Newest start whose effect has no outcome.
    pub(crate) open: Option<(u64, AgentExecution)>,
    /// Number of entries in the ledger when the history was read.
    pub(crate) entries: u64,
    /// Newest outcome: index and hash of its entry, and its content.
    pub(crate) outcome: Option<(u64, Digest, AgentExecution)>,
    /// Answers to each plan.
    answers: BTreeMap<Digest, Answers>,
}

/// Answers to prompts of one plan.
#[derive(Debug, Clone, Default)]
struct Answers {
    ambiguous: u32,
    /// Effective answer: the newest, or the final one.
    effective: Option<KnownConfirmation>,
    /// Later answers are ignored.
    is_final: bool,
}

/// Answer, with the hash of its entry.
#[derive(Debug, Clone)]
pub(crate) struct KnownConfirmation {
    pub(crate) leaf: Digest,
    pub(crate) facts: ConfirmationFacts,
}

/// Fields of a bundle that a history needs.
#[derive(Deserialize)]
struct BundleOfGoal {
    goal: GoalFacts,
}

impl Chain {
    /// Reads the events of a goal.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` if an entry has changed.
    pub fn read(log: &dyn Log, correlation: &CorrelationId) -> Result<Self, LedgerError> {
        let read = |index| {
            let entry = log.sound_entry(index)?;
            let facts = EntryFacts::parse(entry.kind, &entry.body);
            let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
            let event = facts.agent;
            let event = event.ok_or_else(|| LedgerError::entry(index, &"it is of no goal"))?;
            Ok(ChainEvent { index, leaf: leaf_hash(&entry.body), event })
        };
        let events = log.agent_entries(correlation)?.into_iter().map(read);
        Ok(Self {
            correlation: correlation.clone(),
            events: events.collect::<Result<_, LedgerError>>()?,
        })
    }

    /// Returns the events of steps.
    pub fn executions(&self) -> impl DoubleEndedIterator<Item = (&ChainEvent, &AgentExecution)> {
        self.events.iter().filter_map(|event| match &event.event {
            AgentEvent::Execution(execution) => Some((event, &**execution)),
            AgentEvent::Access(_) | AgentEvent::Confirmation(_) | AgentEvent::IntakeResolved(_) => {
                None
            }
        })
    }

    /// Returns the newest prompt that a decision emitted.
    ///
    /// # Errors
    /// [`LedgerError`]
    pub fn prompt(
        &self,
        log: &dyn Log,
    ) -> Result<Option<(Digest, ConfirmationPrompt)>, LedgerError> {
        let newest = self.executions().rev().find_map(|(event, it)| Some((event, it.refs.prompt?)));
        let Some((event, digest)) = newest else { return Ok(None) };
        Ok(Some((digest, document(log, event.index, digest)?)))
    }

    /// Returns the outcome of the newest answer to a prompt.
    pub(crate) fn answer_to(&self, prompt: Digest) -> Option<ConfirmationOutcome> {
        self.events.iter().rev().find_map(|event| match &event.event {
            AgentEvent::Confirmation(answer) => (answer.prompt == prompt).then_some(answer.outcome),
            AgentEvent::Execution(_) | AgentEvent::Access(_) | AgentEvent::IntakeResolved(_) => {
                None
            }
        })
    }

    /// Folds the history of a step.
    ///
    /// An answer counts as relayed only if the named key signed its proof.
    pub(crate) fn history(
        &self,
        (log, keyring): (&dyn Log, &Keyring),
        step: &StepId,
    ) -> Result<History, LedgerError> {
        let relaying = |answer: &AgentConfirmation| relaying_key((log, keyring), answer);
        let mut history = History::default();
        for event in &self.events {
            history.push(log, (event, step), &relaying)?;
        }
        Ok(history)
    }
}

impl History {
    /// Adds the next event of a goal. `relaying` returns the key that relayed an answer.
    pub(crate) fn push(
        &mut self,
        log: &dyn Log,
        (event, step): (&ChainEvent, &StepId),
        relaying: &dyn Fn(&AgentConfirmation) -> Result<Option<String>, LedgerError>,
    ) -> Result<(), LedgerError> {
        match &event.event {
            AgentEvent::Execution(execution) => self.push_execution(log, (event, execution), step),
            AgentEvent::Confirmation(answer) if answer.step == *step => {
                let prompt: ConfirmationPrompt = document(log, event.index, answer.prompt)?;
                let relayed_by = relaying(answer)?;
                let facts = confirmation_facts(answer, prompt.expires, relayed_by);
                self.push_answer(KnownConfirmation { leaf: event.leaf, facts });
                Ok(())
            }
            AgentEvent::Confirmation(_) | AgentEvent::Access(_) | AgentEvent::IntakeResolved(_) => {
                Ok(())
            }
        }
    }

    fn push_execution(
        &mut self,
        log: &dyn Log,
        (event, execution): (&ChainEvent, &AgentExecution),
        step: &StepId,
    ) -> Result<(), LedgerError> {
        let AgentExecution { time, state, key, refs, .. } = execution;
        let last = self.facts.last.unwrap_or(*time);
        self.facts.last = Some(last.max(*time));
        self.facts.is_replay_failed |=
            *state == AgentState::ReplayFailed || execution.event == AgentEventKind::ReplayMismatch;
        if *state == AgentState::AwaitingClarify {
            // The user answers the question, so the next attempt has other words.
            self.facts.goal = None;
        } else if self.facts.goal.is_none() {
            let bundle: BundleOfGoal = document(log, event.index, refs.bundle)?;
            self.facts.goal = Some(bundle.goal.fingerprint);
        }
        if execution.step != *step {
            return Ok(());
        }
        if execution.event.starts_effect() {
            self.open = Some((event.index, execution.clone()));
        }
        match (&mut self.facts.claim, key) {
            (Some(claim), _) => {
                claim.state = *state;
                claim.starts += u32::from(execution.event.starts_effect());
            }
            (None, Some(key)) if execution.event.starts_effect() => {
                self.facts.claim = Some(ClaimFacts {
                    key: *key,
                    policy_snapshot: refs.policy_snapshot,
                    state: *state,
                    starts: 1,
                });
            }
            (None, _) => {}
        }
        if execution.duration.is_some() {
            self.open = None;
            self.outcome = Some((event.index, event.leaf, execution.clone()));
        }
        Ok(())
    }

    /// Adds an answer. A "no" and the last ambiguous answer to a plan are final: later answers to it are ignored.
    fn push_answer(&mut self, answer: KnownConfirmation) {
        let plan = answer.facts.plan_fingerprint;
        let answers = self.answers.entry(plan).or_default();
        if !answers.is_final {
            answers.ambiguous += u32::from(answer.facts.outcome == ConfirmationOutcome::Ambiguous);
            answers.is_final = answer.facts.outcome == ConfirmationOutcome::Rejected
                || answers.ambiguous >= AMBIGUOUS_ANSWERS_MAX;
            answers.effective = Some(answer);
        }
        self.use_answers_to(plan);
    }

    /// Selects the answers to a plan. Without any, those to the plan that was answered last stay selected.
    pub(crate) fn use_answers_to(&mut self, plan: Digest) {
        if let Some(answers) = self.answers.get(&plan) {
            self.facts.ambiguous_answers = answers.ambiguous;
            self.confirmation.clone_from(&answers.effective);
        }
    }

    /// Returns the outcome of the effective answer to a plan.
    pub(crate) fn answer_to(&self, plan: Digest) -> Option<ConfirmationOutcome> {
        self.answers.get(&plan)?.effective.as_ref().map(|answer| answer.facts.outcome)
    }

    /// Returns the outcome of the final answer to a plan.
    pub(crate) fn final_answer(&self, plan: Digest) -> Option<ConfirmationOutcome> {
        self.answers.get(&plan).filter(|answers| answers.is_final)?;
        self.answer_to(plan)
    }
}

/// Returns the key that signed the proof of an answer.
pub(crate) fn relaying_key(
    (log, keyring): (&dyn Log, &Keyring),
    answer: &AgentConfirmation,
) -> Result<Option<String>, LedgerError> {
    let Some(named) = &answer.relayed_by else { return Ok(None) };
    let proof = log.blob(&answer.proof)?.unwrap_or_default();
    let verified = verify_confirmation(&proof, keyring, answer.time).ok();
    let verified = verified.filter(|(proof, key)| {
        key.as_str() == named
            && ParseProof::read(proof).is_ok_and(|proof| matches_proof(&proof, answer))
    });
    Ok(verified.map(|(_, key)| key.to_string()))
}

/// Returns true if a proof and its recorded answer agree.
pub(crate) fn matches_proof(proof: &ParseProof, answer: &AgentConfirmation) -> bool {
    proof.outcome == answer.outcome
        && proof.prompt == answer.prompt
        && proof.plan_fingerprint == answer.plan_fingerprint
        && proof.lexicon == answer.lexicon
        && proof.language.as_str() == answer.language
        && (proof.token.as_ref() == answer.token.as_ref() || answer.token.is_none())
}

/// Returns the facts of an answer.
fn confirmation_facts(
    answer: &AgentConfirmation,
    expires: Timestamp,
    relayed_by: Option<String>,
) -> ConfirmationFacts {
    ConfirmationFacts {
        outcome: answer.outcome,
        proof: answer.proof,
        lexicon: answer.lexicon,
        thread: answer.thread.clone(),
        plan_fingerprint: answer.plan_fingerprint,
        time: answer.time,
        expires,
        by: answer.by.clone(),
        relayed_by,
    }
}

/// Reads a document that an entry names.
pub(crate) fn document<T: DeserializeOwned>(
    log: &dyn Log,
    index: u64,
    digest: Digest,
) -> Result<T, LedgerError> {
    let wrong = |what: &dyn std::fmt::Display| LedgerError::entry(index, what);
    let bytes = log.blob(&digest)?;
    let bytes = bytes.ok_or_else(|| wrong(&format_args!("the document {digest} is missing")))?;
    if Digest::of(&bytes) != digest {
        return Err(wrong(&format_args!("the document {digest} was changed")));
    }
    serde_json::from_slice(&bytes).map_err(|error| wrong(&describe(&error)))
}
