//! Events of a goal, from the ledger.

use actum_agent::bundle::{AgentBundle, ClaimFacts, ConfirmationFacts, HistoryFacts};
use actum_agent::confirmation::ParseProof;
use actum_agent::prompt::ConfirmationPrompt;
use actum_core::canonical::plainly;
use actum_core::{Digest, Timestamp};
use actum_gate::verify_confirmation;
use actum_ledger::{LedgerError, Log};
use actum_record::agent::{CorrelationId, StepId};
use actum_record::keyring::Keyring;
use actum_record::ledger::{
    AgentConfirmation, AgentEvent, AgentExecution, AgentState, ConfirmationOutcome, EntryFacts,
};
use actum_record::merkle::leaf_hash;
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
    /// What it says.
    pub event: AgentEvent,
}

/// What the facts of a decision need of the events.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) facts: HistoryFacts,
    pub(crate) confirmation: Option<KnownConfirmation>,
    /// Newest start whose effect has no outcome.
    pub(crate) open: Option<(u64, AgentExecution)>,
    /// Newest outcome.
    pub(crate) outcome: Option<(Digest, AgentExecution)>,
}

/// Newest answer, and the hash of its entry.
#[derive(Debug, Clone)]
pub(crate) struct KnownConfirmation {
    pub(crate) leaf: Digest,
    pub(crate) facts: ConfirmationFacts,
}

impl Chain {
    /// Reads the events of a goal.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` where an entry is not what it was.
    pub fn read(log: &dyn Log, correlation: &CorrelationId) -> Result<Self, LedgerError> {
        let read = |index| {
            let entry = log.sound_entry(index)?;
            let facts = EntryFacts::of(entry.kind, &entry.body);
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

    /// Events of steps.
    pub fn executions(&self) -> impl DoubleEndedIterator<Item = (&ChainEvent, &AgentExecution)> {
        self.events.iter().filter_map(|event| match &event.event {
            AgentEvent::Execution(execution) => Some((event, &**execution)),
            AgentEvent::Access(_) | AgentEvent::Confirmation(_) | AgentEvent::IntakeResolved(_) => {
                None
            }
        })
    }

    fn confirmations(&self) -> impl DoubleEndedIterator<Item = (&ChainEvent, &AgentConfirmation)> {
        self.events.iter().filter_map(|event| match &event.event {
            AgentEvent::Confirmation(confirmation) => Some((event, &**confirmation)),
            AgentEvent::Execution(_) | AgentEvent::Access(_) | AgentEvent::IntakeResolved(_) => {
                None
            }
        })
    }

    /// The newest prompt that a decision emitted.
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

    /// Facts for the next decision on a step.
    ///
    /// A key counts as relaying an answer only where it signed the proof.
    pub(crate) fn facts(
        &self,
        (log, keyring): (&dyn Log, &Keyring),
        step: &StepId,
    ) -> Result<History, LedgerError> {
        let mut history = History::default();
        for (event, execution) in self.executions() {
            let AgentExecution { time, state, key, refs, .. } = execution;
            let last = history.facts.last.unwrap_or(*time);
            history.facts.last = Some(last.max(*time));
            history.facts.is_replay_failed |= *state == AgentState::ReplayFailed;
            if history.facts.goal.is_none() {
                let bundle: AgentBundle = document(log, event.index, refs.bundle)?;
                history.facts.goal = Some(bundle.goal.fingerprint);
            }
            if execution.step != *step {
                continue;
            }
            if execution.event.starts_effect() {
                history.open = Some((event.index, execution.clone()));
            }
            match (&mut history.facts.claim, key) {
                (Some(claim), _) => {
                    claim.state = *state;
                    claim.starts += u32::from(execution.event.starts_effect());
                }
                (None, Some(key)) if execution.event.starts_effect() => {
                    history.facts.claim = Some(ClaimFacts {
                        key: *key,
                        policy_snapshot: refs.policy_snapshot,
                        state: *state,
                        starts: 1,
                    });
                }
                (None, _) => {}
            }
            if execution.duration.is_some() {
                history.open = None;
                history.outcome = Some((event.leaf, execution.clone()));
            }
        }
        let Some((event, newest)) = self.confirmations().rev().find(|(_, it)| it.step == *step)
        else {
            return Ok(history);
        };
        let prompt: ConfirmationPrompt = document(log, event.index, newest.prompt)?;
        let mut facts = confirmation_facts(newest, prompt.expires);
        facts.relayed_by = relaying_key((log, keyring), newest)?;
        let is_ambiguous = |it: &AgentConfirmation| {
            it.plan_fingerprint == newest.plan_fingerprint
                && it.outcome == ConfirmationOutcome::Ambiguous
        };
        let ambiguous = self.confirmations().filter(|(_, it)| is_ambiguous(it)).count();
        history.facts.ambiguous_answers = u32::try_from(ambiguous).unwrap_or(u32::MAX);
        history.confirmation = Some(KnownConfirmation { leaf: event.leaf, facts });
        Ok(history)
    }
}

/// Key that signed the proof of an answer.
fn relaying_key(
    (log, keyring): (&dyn Log, &Keyring),
    answer: &AgentConfirmation,
) -> Result<Option<String>, LedgerError> {
    let Some(named) = &answer.relayed_by else { return Ok(None) };
    let proof = log.blob(&answer.proof)?.unwrap_or_default();
    let verified = verify_confirmation(&proof, keyring, answer.time).ok();
    let verified = verified.filter(|(proof, key)| {
        key.as_str() == named
            && ParseProof::read(proof).is_ok_and(|proof| {
                proof.outcome == answer.outcome
                    && proof.prompt == answer.prompt
                    && proof.plan_fingerprint == answer.plan_fingerprint
                    && proof.lexicon == answer.lexicon
            })
    });
    Ok(verified.map(|(_, key)| key.to_string()))
}

/// Facts of an answer.
pub(crate) fn confirmation_facts(
    answer: &AgentConfirmation,
    expires: Timestamp,
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
        relayed_by: None,
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
    serde_json::from_slice(&bytes).map_err(|error| wrong(&plainly(&error)))
}
