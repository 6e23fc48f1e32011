//! What a ledger is kept in: the port, and the values that go through it.
//!
//! A store in another crate implements [`Log`] and [`Store`], decides by
//! [`ProjectionUpdate`](crate::projection::ProjectionUpdate) what it takes, and passes the suite in
//! [`conformance`](crate::conformance). Two do: SQLite, and one in memory, in the tests of this crate.

use actum_core::{Digest, RunId, Status, canonical};
use actum_record::ledger::{Answer, EntryFacts, EntryKind, LogStarted, RequestKey, WorkspaceId};
use actum_record::lifecycle::State;
use actum_record::merkle::{Frontier, Node, leaf_hash};

use crate::error::{LedgerError, Refusal};
use crate::snapshot::OpenSnapshot;

/// The longest body of an entry and the longest document, in bytes: 256 MiB.
pub const BODY_BYTES_MAX: usize = 256 << 20;
/// The most bytes of a log where nobody sets another limit: 8 GiB, which hold some millions of runs.
pub const LOG_BYTES_MAX: u64 = 8 << 30;
/// The most entries that are appended all or none.
pub const REQUEST_ENTRIES_MAX: usize = 256;
/// When so many entries came since the last checkpoint, the next one is signed.
pub(crate) const CHECKPOINT_ENTRIES: u64 = 64;

/// Something to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// What it records.
    pub kind: EntryKind,
    /// Its exact bytes.
    pub body: Vec<u8>,
    /// The documents that it names and that the ledger may not hold yet.
    pub blobs: Vec<Vec<u8>>,
}

/// An entry whose bytes were checked, ready to be appended. A store keeps its body, its documents and what
/// [`facts`](Self::facts) says, which follows from the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    body: Vec<u8>,
    facts: EntryFacts,
    leaf: Digest,
    documents: Vec<(Digest, Vec<u8>)>,
}

/// Entries that are appended all or none.
pub type Request = Vec<Prepared>;

/// Where an entry came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its place, counted from 0.
    pub index: u64,
    /// Its hash as a leaf of the Merkle tree.
    pub leaf: Digest,
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place, counted from 0.
    pub index: u64,
    /// What it records.
    pub kind: EntryKind,
    /// Its exact bytes.
    pub body: Vec<u8>,
}

/// One run, as its entries tell. All of it follows from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Where it was made.
    pub workspace: WorkspaceId,
    /// The key of the request, where the caller gave one.
    pub request: Option<RequestKey>,
    /// Which attempt at the request it is; 1 where there is no key.
    pub attempt: u32,
    /// The index of its `EFFECT_STARTED`.
    pub started: u64,
    /// The index of its `EFFECT_DONE`.
    pub done: Option<u64>,
    /// How it ended.
    pub status: Option<Status>,
}

impl RunRow {
    /// Where the run is in its life: the ledger knows of none before its intent.
    pub fn state(&self) -> State {
        self.status.map_or(State::Changing, State::Recorded)
    }
}

/// One plan that was queued, as its entries tell. All of it follows from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// The plan.
    pub plan: RunId,
    /// For which workspace.
    pub workspace: WorkspaceId,
    /// The index of its `PLAN_QUEUED`.
    pub queued: u64,
    /// What was said of it last, and the index of that `PLAN_ANSWERED`.
    pub answered: Option<(Answer, u64)>,
    /// The index of the `EFFECT_STARTED` or `ACTION_STARTED` that its approval let go.
    pub started: Option<u64>,
}

impl PlanRow {
    /// Whether something can still come of it, as far as its entries tell; it may have expired.
    pub fn is_open(&self) -> bool {
        let is_refused = matches!(self.answered, Some((Answer::Denied | Answer::Revoked, _)));
        self.started.is_none() && !is_refused
    }
}

/// A signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// How many entries it covers.
    pub size: u64,
    /// The signed note.
    pub note: String,
}

/// A log that can be read.
pub trait Log {
    /// How many entries there are.
    ///
    /// # Errors
    /// [`LedgerError`], as of everything here, where the store cannot be read.
    fn size(&self) -> Result<u64, LedgerError>;

    /// One entry.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError>;

    /// One entry that must be there, with the hash that was recorded with it: what stands in the file of a
    /// ledger can be changed by whoever owns that.
    ///
    /// # Errors
    /// See [`Log::size`]; `Damaged` where it is missing, or not what it was.
    fn sound_entry(&self, index: u64) -> Result<Entry, LedgerError> {
        let damaged = |message: &str| LedgerError::entry(index, &message);
        let entry = self.entry(index)?.ok_or_else(|| damaged("it is missing"))?;
        match self.node(Node { level: 0, index })? == leaf_hash(&entry.body) {
            true => Ok(entry),
            false => {
                Err(damaged("its bytes do not have the hash that was recorded: it was changed"))
            }
        }
    }

    /// At most `count` entries from `from` on.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError>;

    /// The hash of a complete subtree.
    ///
    /// # Errors
    /// See [`Log::size`]; `Damaged` where there is none.
    fn node(&self, node: Node) -> Result<Digest, LedgerError>;

    /// A document by its digest; the caller compares.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError>;

    /// What is known of a run.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError>;

    /// The runs of a workspace that were started and have no end yet, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError>;

    /// All attempts at a request, oldest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError>;

    /// What is known of a plan that was queued.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError>;

    /// The plans of which something can still come, oldest first; also those that have expired.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError>;

    /// The plans of a workspace, at most `count`, the newest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_plans(&self, workspace: WorkspaceId, count: u64)
    -> Result<Vec<PlanRow>, LedgerError>;

    /// Where the newest entries of a kind are, at most `count` of those before the entry `before`, the newest
    /// first. Those of `ACTION_ENDED`, `CATALOG_CHANGED`, `ALERT_RAISED`, `ALERT_SEEN` and `HISTORY_FORGOTTEN` are found at once; for
    /// another kind the whole log may be looked through. Read them with [`Log::sound_entry`].
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError>;

    /// The checkpoint that covers the most.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError>;

    /// The checkpoints that cover at least `size` entries, at most `count`, the smallest first.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError>;

    /// The name of the log, which stands in its first entry.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn origin(&self) -> Result<String, LedgerError> {
        let damaged = |message: String| LedgerError::Damaged { message };
        let first = self.entry(0)?.ok_or_else(|| damaged("it has no first entry".to_owned()))?;
        let wrong = |error: &dyn std::fmt::Display| {
            damaged(format!("its first entry does not name the log: {error}"))
        };
        let value = canonical::read(&first.body).map_err(|error| wrong(&error))?;
        let started: LogStarted = serde_json::from_value(value).map_err(|error| wrong(&error))?;
        Ok(started.origin)
    }

    /// The right edge of the log as it was when it had `size` entries.
    ///
    /// # Errors
    /// See [`Log::node`].
    fn frontier(&self, size: u64) -> Result<Frontier, LedgerError> {
        Frontier::read(size, |node| self.node(node))
    }
}

/// A log that can be appended to.
pub trait Store: Log + Send {
    /// Appends in one durable transaction. Each request is taken or refused as a whole, and a refused
    /// one does not keep the others out.
    ///
    /// # Errors
    /// [`LedgerError`] where none of them was appended; `OutcomeUnknown` where that is not known.
    fn append(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError>;

    /// Keeps a signed checkpoint, which must cover more than the newest one and no more than there
    /// is.
    ///
    /// # Errors
    /// See [`Store::append`].
    fn put_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError>;

    /// Sets the most bytes that the log may have before it takes no new run, plan or action; what ends one that
    /// was started is taken all the same. A log in memory has no limit.
    fn limit(&mut self, _bytes_max: u64) {}

    /// Makes durable what can be read already: a process may have been ended before it did so itself.
    ///
    /// # Errors
    /// [`LedgerError`] where the system fails.
    fn make_durable(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Returns what opens snapshots of the same log beside this store, from any thread. `None` where readers of this process
    /// can only share the store with its writer.
    fn opener(&self) -> Option<OpenSnapshot> {
        None
    }

    /// Keeps all reads up to [`Store::end_snapshot`] at one moment. Nothing is appended in between.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn begin_snapshot(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Ends what [`Store::begin_snapshot`] began.
    ///
    /// # Errors
    /// See [`Log::size`]; the store is not used any more then.
    fn end_snapshot(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Gets ready what the next append will need, while nobody waits for an answer.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn warm(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Does what can wait until nobody waits for an answer.
    ///
    /// # Errors
    /// See [`Log::size`].
    fn tidy(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }
}

impl Prepared {
    /// Its exact bytes.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// What its bytes say: its kind, and the run, workspace, plan, request and documents that it names.
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

    /// Whether it starts something, rather than ends or answers what was started. A store that is full rejects only such
    /// entries.
    pub fn starts_something(&self) -> bool {
        match self.facts.kind {
            EntryKind::EffectStarted
            | EntryKind::ActionStarted
            | EntryKind::PlanQueued
            | EntryKind::PlanRefused => true,
            EntryKind::LogStarted
            | EntryKind::EffectDone
            | EntryKind::KeyRotated
            | EntryKind::PlanAnswered
            | EntryKind::ActionEnded
            | EntryKind::CatalogChanged
            | EntryKind::AlertRaised
            | EntryKind::AlertSeen
            | EntryKind::HistoryForgotten => false,
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
        let facts = EntryFacts::of(kind, &body)?;
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
