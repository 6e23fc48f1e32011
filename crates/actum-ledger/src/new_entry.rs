//! Entries to append to a log, and the checks that can be made without the log.

use actum_core::Digest;
use actum_record::ledger::{AgentEvent, AgentEventKind, EntryFacts, EntryKind};
use actum_record::merkle::leaf_hash;

use crate::error::Refusal;
use crate::limits::{BODY_BYTES_MAX, REQUEST_ENTRIES_MAX};

/// Entry that has not been checked or appended yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Exact bytes of the entry.
    pub body: Vec<u8>,
    /// Documents that the entry refers to and that may not be in the ledger yet.
    pub blobs: Vec<Vec<u8>>,
}

/// Entry whose bytes have been checked, so that it is ready to be appended.
///
/// A store saves its body, its documents and its [`facts`](Self::facts), which are derived from the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    body: Vec<u8>,
    facts: EntryFacts,
    leaf: Digest,
    documents: Vec<(Digest, Vec<u8>)>,
}

/// Entries that are appended either all or not at all.
pub type Request = Vec<Prepared>;

/// Position and hash of an entry after it was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Hash of the entry as a leaf of the Merkle tree.
    pub leaf: Digest,
}

/// Returns whether an event of a step starts or decides something, as opposed to ending a dispatch or a replay.
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
    /// Returns the exact bytes of the entry.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the facts that were parsed from the entry, such as its kind and the run, workspace, plan, request and
    /// documents that it refers to.
    pub fn facts(&self) -> &EntryFacts {
        &self.facts
    }

    /// Returns the hash of the entry as a leaf of the Merkle tree.
    pub fn leaf(&self) -> Digest {
        self.leaf
    }

    /// Returns the documents that were supplied with the entry, with their digests. A store saves those that it does not
    /// have yet.
    pub fn documents(&self) -> impl Iterator<Item = (Digest, &[u8])> {
        self.documents.iter().map(|(digest, bytes)| (*digest, &**bytes))
    }

    /// Returns whether the entry starts something, as opposed to ending or answering it. A full store rejects only entries
    /// that start something.
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
            // The result of a task that was never started does not end anything, just like a refused plan.
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

    /// Checks the bytes and the documents of an entry.
    ///
    /// # Errors
    /// Returns `NoEntry` if the body is invalid, `TooLarge` if the body or a document is too long, and `BlobUnnamed` if the
    /// entry does not refer to one of the documents.
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

    /// Checks entries that are appended either all or not at all.
    ///
    /// # Errors
    /// Returns `TooMany` if there are too many entries, and otherwise the errors of [`Prepared::new`].
    pub fn all(entries: Vec<NewEntry>) -> Result<Request, Refusal> {
        if entries.len() > REQUEST_ENTRIES_MAX {
            return Err(Refusal::TooMany { entries: entries.len() });
        }
        entries.into_iter().map(Self::new).collect()
    }
}
