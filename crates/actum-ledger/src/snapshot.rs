//! Snapshot of a log at one moment, for readers and verification.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use actum_core::{Digest, RunId, Status};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryFacts, EntryKind, WorkspaceId};

use crate::error::LedgerError;
use crate::finding::Finding;
use crate::log::{LeaseRow, Log};
use crate::projection::agent::AgentProjection;
use crate::projection::{Known, KnownFileTask, KnownPlan};

/// Opens a snapshot of one log as it is now, on any thread.
pub type OpenSnapshot = Arc<dyn Fn() -> Result<Box<dyn Snapshot>, LedgerError> + Send + Sync>;

/// A log as it was at one moment. No writer waits for it.
///
/// Beside the queries it returns what [`verify`](crate::verify::verify) reads: every entry and
/// document with all that is stored beside its bytes. The tables and indexes are private to a
/// store, so it compares these itself with what follows from the entries.
pub trait Snapshot: Log + Send {
    /// Returns a function that opens other snapshots of the same log, so that several threads can
    /// read. Each may be of a later moment.
    fn opener(&self) -> OpenSnapshot;

    /// Counts the entries. The count is that of [`size`](Log::size), unless some are missing.
    ///
    /// # Errors
    /// [`LedgerError`] if the store cannot be read, as of everything here.
    fn count_entries(&self) -> Result<u64, LedgerError>;

    /// Calls `visit` with the stored entries of a range of indexes, in their order. Missing ones are left out.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn scan_entries(
        &self,
        range: Range<u64>,
        visit: &mut dyn FnMut(StoredEntry<'_>),
    ) -> Result<(), LedgerError>;

    /// Calls `visit` with the stored documents of a range of numbers, in their order. A store
    /// counts its documents from 0 in the order in which they came.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn scan_documents(
        &self,
        numbers: RangeInclusive<i64>,
        visit: &mut dyn FnMut(StoredDocument<'_>),
    ) -> Result<(), LedgerError>;

    /// Finds deviations of the tables, indexes and rules of the store from those that this version
    /// of the store makes.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn check_structure(&self) -> Result<Vec<Finding>, LedgerError>;

    /// Finds deviations of the stored runs, plans, leases, file tasks, rows of the agent core and
    /// indexes of entries from what follows from the entries.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn check_projection(&self, expected: &Projection<'_>) -> Result<Vec<Finding>, LedgerError>;

    /// Finds deviations of the index of documents by digest from the documents themselves, `kept`,
    /// which are all that [`scan_documents`](Self::scan_documents) returned.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn check_document_index(&self, kept: &[KeptDocument]) -> Result<Vec<Finding>, LedgerError>;
}

/// An entry with all that a store keeps beside its bytes. All of it follows from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry<'a> {
    /// Its place, counted from 0.
    pub index: u64,
    /// Name of its kind; `None` if it is not text.
    pub kind: Option<&'a str>,
    /// Its fields, in the order of [`StoredEntry::FIELDS`].
    pub fields: [Field<'a>; 6],
    /// Hashes of the subtrees that it completes, side by side, its own first; `None` if they are
    /// not bytes.
    pub nodes: Option<&'a [u8]>,
    /// Its exact bytes.
    pub body: StoredBytes<'a>,
}

impl StoredEntry<'_> {
    /// Names of the fields that a store keeps of an entry.
    pub const FIELDS: [&'static str; 6] =
        ["time", "run", "workspace", "request", "attempt", "status"];

    /// Returns the fields that a store must keep of an entry with these `facts`.
    pub fn fields_of(facts: &EntryFacts) -> [Field<'_>; 6] {
        let number = |bits: Option<u64>| {
            bits.map_or(Field::Missing, |bits| Field::Integer(bits.cast_signed()))
        };
        let (request, attempt) = facts.request.as_ref().map(|(key, n)| (key.as_str(), *n)).unzip();
        [
            Field::Integer(facts.time.micros()),
            number(facts.run.map(RunId::bits)),
            number(facts.workspace.map(WorkspaceId::bits)),
            text(request),
            number(attempt.map(u64::from)),
            text(facts.status.map(Status::as_str)),
        ]
    }
}

fn text(text: Option<&str>) -> Field<'_> {
    text.map_or(Field::Missing, |text| Field::Text(text.as_bytes()))
}

/// A field of a stored entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// The node has no value.
    Missing,
    /// A number. Ids are stored as their bits.
    Integer(i64),
    /// A text, as its bytes.
    Text(&'a [u8]),
    /// A value of another type, which no field of an entry has.
    Other,
}

/// Bytes that a store keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredBytes<'a> {
    /// The bytes, unpacked.
    Whole(&'a [u8]),
    /// The stored value is not bytes.
    Missing,
    /// The stored bytes cannot be unpacked, for this reason.
    Unreadable(String),
}

/// A document as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument<'a> {
    /// Its number, counted from 0.
    pub number: i64,
    /// The bytes of its name, which should be its digest.
    pub name: &'a [u8],
    /// Its bytes.
    pub bytes: StoredBytes<'a>,
}

/// Number and name of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDocument {
    /// Its number, counted from 0.
    pub number: i64,
    /// Its name.
    pub name: DocumentName,
}

/// Name under which a document is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentName {
    /// A digest.
    Digest(Digest),
    /// Bytes that are not a digest, or no bytes.
    Other(Vec<u8>),
}

impl DocumentName {
    /// Reads a name as it is stored.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let digest = bytes.try_into().map(Digest::from_bytes);
        digest.map_or_else(|_| Self::Other(bytes.to_owned()), Self::Digest)
    }

    /// The stored bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Digest(digest) => digest.as_bytes(),
            Self::Other(bytes) => bytes,
        }
    }
}

/// Runs, plans, leases, file tasks, the agent core and kinds of entries as they follow from all entries of a log.
#[derive(Debug, Clone, Copy)]
pub struct Projection<'a> {
    /// Each run.
    pub runs: &'a HashMap<RunId, Known>,
    /// Each plan.
    pub plans: &'a HashMap<RunId, KnownPlan>,
    /// Each lease block that an entry names.
    pub leases: &'a HashMap<LeaseId, LeaseRow>,
    /// Each file task.
    pub file_tasks: &'a HashMap<TaskName, KnownFileTask>,
    /// Steps, decisions and counters of the agent core.
    pub agent: &'a AgentProjection,
    /// Entries of the kinds that [`newest_of_kind`](Log::newest_of_kind) finds at once, in the order of the log.
    pub indexed: &'a [(EntryKind, u64)],
}
