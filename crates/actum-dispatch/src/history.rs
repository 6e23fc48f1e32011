//! Reads the events of a goal from the ledger.

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
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Events of the goal.
    pub events: Vec<ChainEvent>,
}

/// Event of a goal, with its location in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEvent {
    /// Index of the ledger entry.
    pub index: u64,
    /// Leaf hash of the ledger entry.
    pub leaf: Digest,
    /// Content of the ledger entry.
    pub event: AgentEvent,
}

/// History of a step, derived from the events of its goal.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) facts: HistoryFacts,
    /// Effective answer to the plan that was passed to [`History::use_answers_to`]. Before that call, or if the plan
    /// has no answers, the answer to the plan that was answered last.
    pub(crate) confirmation: Option<KnownConfirmation>,
    /// Newest event that started an effect whose outcome is not recorded, with its index.
    pub(crate) open: Option<(u64, AgentExecution)>,
    /// Number of entries in the ledger when the history was read.
    pub(crate) entries: u64,
    /// Newest event with an outcome, preceded by the index and the leaf hash of its entry.
    pub(crate) outcome: Option<(u64, Digest, AgentExecution)>,
    /// Answers to each plan, by plan fingerprint.
    answers: BTreeMap<Digest, Answers>,
}

/// Answers to the prompts for a single plan.
#[derive(Debug, Clone, Default)]
struct Answers {
    ambiguous: u32,
    /// Answer that applies to the plan: the final one, or the newest one if none is final.
    effective: Option<KnownConfirmation>,
    /// Whether the effective answer is final, so that later answers are ignored.
    is_final: bool,
}

/// Recorded answer, with the leaf hash of its ledger entry.
#[derive(Debug, Clone)]
pub(crate) struct KnownConfirmation {
    pub(crate) leaf: Digest,
    pub(crate) facts: ConfirmationFacts,
}

/// Subset of the bundle's fields that is needed to derive a history.
#[derive(Deserialize)]
struct BundleOfGoal {
    goal: GoalFacts,
}

impl Chain {
    /// Reads the events of a goal.
    ///
    /// # Errors
    /// [`LedgerError`], in particular `Damaged` if an entry was modified.
    pub fn read(log: &dyn Log, correlation: &CorrelationId) -> Result<Self, LedgerError> {
        let read = |index| {
            let entry = log.sound_entry(index)?;
            let facts = EntryFacts::parse(entry.kind, &entry.body);
            let facts = facts.map_err(|error| LedgerError::entry(index, &error))?;
            let event = facts.agent;
            let event =
                event.ok_or_else(|| LedgerError::entry(index, &"it does not belong to a goal"))?;
            Ok(ChainEvent { index, leaf: leaf_hash(&entry.body), event })
        };
        let events = log.agent_entries(correlation)?.into_iter().map(read);
        Ok(Self {
            correlation: correlation.clone(),
            events: events.collect::<Result<_, LedgerError>>()?,
        })
    }

    /// Iterates over the events of the goal's steps.
    pub fn executions(&self) -> impl DoubleEndedIterator<Item = (&ChainEvent, &AgentExecution)> {
        self.events.iter().filter_map(|event| match &event.event {
            AgentEvent::Execution(execution) => Some((event, &**execution)),
            AgentEvent::Access(_) | AgentEvent::Confirmation(_) | AgentEvent::IntakeResolved(_) => {
                None
            }
        })
    }

    /// Returns the newest prompt of the goal, with its digest.
    ///
    /// # Errors
    /// [`LedgerError`] if the prompt cannot be read.
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

    /// Derives the history of a step.
    ///
    /// An answer is treated as relayed only if its proof was signed by the key that the answer names.
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
    /// Adds the next event of the goal. `relaying` returns the key that relayed an answer, if any.
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
            // The user is going to answer the question, so the wording of the goal may change in the next attempt.
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

    /// Adds an answer. An answer of "no" is final, and so is the last permitted ambiguous answer: later answers to the
    /// same plan are ignored.
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

    /// Selects the answers to a plan. Keeps the previous selection if the plan has no answers.
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

    /// Returns the outcome of the answer to a plan, if it is final.
    pub(crate) fn final_answer(&self, plan: Digest) -> Option<ConfirmationOutcome> {
        self.answers.get(&plan).filter(|answers| answers.is_final)?;
        self.answer_to(plan)
    }
}

/// Returns the key that relayed an answer, if it also signed the proof of the answer.
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

/// Returns whether an answer in the ledger agrees with its parse proof.
pub(crate) fn matches_proof(proof: &ParseProof, answer: &AgentConfirmation) -> bool {
    proof.outcome == answer.outcome
        && proof.prompt == answer.prompt
        && proof.plan_fingerprint == answer.plan_fingerprint
        && proof.lexicon == answer.lexicon
        && proof.language.as_str() == answer.language
        && (proof.token.as_ref() == answer.token.as_ref() || answer.token.is_none())
}

/// Returns the facts about an answer for the bundle of a decision.
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

/// Reads a document that a ledger entry refers to, and verifies its digest.
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
