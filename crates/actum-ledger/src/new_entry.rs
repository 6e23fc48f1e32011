//! Entries to append, and the checks that need no log.

use actum_core::Digest;
use actum_record::ledger::{AgentEvent, AgentEventKind, EntryFacts, EntryKind};
use actum_record::merkle::leaf_hash;

use crate::error::Refusal;
use crate::limits::{BODY_BYTES_MAX, REQUEST_ENTRIES_MAX};

/// Entry to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Its exact bytes.
    pub body: Vec<u8>,
    /// The documents that it names and that the ledger may not hold yet.
    pub blobs: Vec<Vec<u8>>,
}

/// An entry whose bytes were checked, ready to be appended. A store keeps its body, its documents
/// and its [`facts`](Self::facts), which follow from the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    body: Vec<u8>,
    facts: EntryFacts,
    leaf: Digest,
    documents: Vec<(Digest, Vec<u8>)>,
}

/// Entries that are appended all or none.
pub type Request = Vec<Prepared>;

/// Index and hash of an appended entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its place, counted from 0.
    pub index: u64,
    /// Its hash as a leaf of the Merkle tree.
    pub leaf: Digest,
}

/// Tests whether an event of a step starts or decides something, rather than ends a dispatch or a replay.
fn starts_step(event: Option<&AgentEvent>) -> bool {
    match event {
        Some(AgentEvent::Execution(entry)) => match entry.event {
            AgentEventKind::NoDispatch
            | AgentEventKind::DispatchStarted
            | AgentEventKind::RetryStarted => true,
            AgentEventKind::NoEffect | AgentEventKind::Outcome | AgentEventKind::ReplayMismatch => {
                false
            }
        },
        Some(
            AgentEvent::Access(_) | AgentEvent::Confirmation(_) | AgentEvent::IntakeResolved(_),
        )
        | None => true,
    }
}

impl Prepared {
    /// Its exact bytes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Facts from its bytes: its kind, and the run, workspace, plan, request and documents that it
    /// names.
    pub fn facts(&self) -> &EntryFacts {
        &self.facts
    }

    /// Its hash as a leaf of the Merkle tree.
    pub fn leaf(&self) -> Digest {
        self.leaf
    }

    /// The documents that came with it, each with its digest. A store keeps those that it does not have yet.
    pub fn documents(&self) -> impl Iterator<Item = (Digest, &[u8])> {
        self.documents.iter().map(|(digest, bytes)| (*digest, &**bytes))
    }

    /// Returns true if it starts something, rather than ends or answers it. A full store rejects
    /// only such entries.
    pub fn starts_something(&self) -> bool {
        match self.facts.kind {
            EntryKind::EffectStarted
            | EntryKind::ActionStarted
            | EntryKind::PlanQueued
            | EntryKind::PlanRefused
            | EntryKind::LeaseGranted
            | EntryKind::FileTaskStarted
            | EntryKind::AgentAccessDecided
            | EntryKind::AgentConfirmation => true,
            EntryKind::AgentExecution => starts_step(self.facts.agent.as_ref()),
            // As a refused plan, the result of a task that was never started ends nothing.
            EntryKind::FileTaskEnded => self.facts.follows.is_none(),
            EntryKind::LogStarted
            | EntryKind::EffectDone
            | EntryKind::KeyRotated
            | EntryKind::PlanAnswered
            | EntryKind::ActionEnded
            | EntryKind::CatalogChanged
            | EntryKind::AlertRaised
            | EntryKind::AlertSeen
            | EntryKind::HistoryForgotten
            | EntryKind::LeaseRevoked
            | EntryKind::IntakeResolved
            | EntryKind::SloWaived => false,
        }
    }

    /// Checks an entry.
    ///
    /// # Errors
    /// `NoEntry`, `TooLarge`, and `BlobUnnamed` for a document that the entry does not name.
    pub fn new(entry: NewEntry) -> Result<Self, Refusal> {
        let NewEntry { kind, body, blobs } = entry;
        let longest = blobs.iter().map(Vec::len).chain([body.len()]).max().unwrap_or(0);
        if longest > BODY_BYTES_MAX {
            return Err(Refusal::TooLarge { bytes: longest });
        }
        let facts = EntryFacts::parse(kind, &body)?;
        let named = |bytes: Vec<u8>| {
            let digest = Digest::of(&bytes);
            match facts.blobs.contains(&digest) {
                true => Ok((digest, bytes)),
                false => Err(Refusal::BlobUnnamed { digest }),
            }
        };
        let documents = blobs.into_iter().map(named).collect::<Result<_, _>>()?;
        Ok(Self { leaf: leaf_hash(&body), body, facts, documents })
    }

    /// Checks entries that are appended all or none.
    ///
    /// # Errors
    /// See [`Prepared::new`]; `TooMany`.
    pub fn all(entries: Vec<NewEntry>) -> Result<Request, Refusal> {
        if entries.len() > REQUEST_ENTRIES_MAX {
            return Err(Refusal::TooMany { entries: entries.len() });
        }
        entries.into_iter().map(Self::new).collect()
    }
}
