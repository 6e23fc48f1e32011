//! Snapshot of a log at a single point in time, for readers and verification.

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

/// Function that opens a snapshot of the current state of a log. It can be called on any thread.
pub type OpenSnapshot = Arc<dyn Fn() -> Result<Box<dyn Snapshot>, LedgerError> + Send + Sync>;

/// State of a log at a single point in time. An open snapshot never blocks a writer.
///
/// In addition to the queries of [`Log`], a snapshot provides the data that [`verify`](crate::verify::verify) reads, which
/// is every entry and document with its stored metadata. The tables and indexes are private to the store. Each store
/// therefore checks them itself against the state that was computed from the entries.
pub trait Snapshot: Log + Send {
    /// Returns a function that opens further snapshots of the same log, so that several threads can read it. They may
    /// show a later state of the log.
    fn opener(&self) -> OpenSnapshot;

    /// Counts the stored entries. The count is equal to [`size`](Log::size), unless entries are missing.
    ///
    /// # Errors
    /// Like all methods of this trait, returns [`LedgerError`] if the store cannot be read.
    fn count_entries(&self) -> Result<u64, LedgerError>;

    /// Calls `visit` with the stored entries in a range of indexes, in ascending order. Missing entries are skipped.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn scan_entries(
        &self,
        range: Range<u64>,
        visit: &mut dyn FnMut(StoredEntry<'_>),
    ) -> Result<(), LedgerError>;

    /// Calls `visit` with the stored documents in a range of numbers, in ascending order. A store numbers its documents
    /// from 0, in the order in which they were added.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn scan_documents(
        &self,
        numbers: RangeInclusive<i64>,
        visit: &mut dyn FnMut(StoredDocument<'_>),
    ) -> Result<(), LedgerError>;

    /// Checks that the tables, indexes and triggers of the store are defined as this version of actum creates them, and
    /// returns the differences.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn check_structure(&self) -> Result<Vec<Finding>, LedgerError>;

    /// Checks the stored runs, plans, leases, file tasks, agent rows and entry indexes against the state that was computed
    /// from the entries, and returns the differences.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn check_projection(&self, expected: &Projection<'_>) -> Result<Vec<Finding>, LedgerError>;

    /// Checks the index that finds documents by their digest, and returns the differences. `kept` must contain all
    /// documents that [`scan_documents`](Self::scan_documents) has returned.
    ///
    /// # Errors
    /// See [`Snapshot::count_entries`].
    fn check_document_index(&self, kept: &[KeptDocument]) -> Result<Vec<Finding>, LedgerError>;
}

/// Entry in the form in which it is stored, with metadata that a store derives from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry<'a> {
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Name of the entry's kind, or `None` if the stored value is not text.
    pub kind: Option<&'a str>,
    /// Stored fields of the entry, in the order of [`StoredEntry::FIELDS`].
    pub fields: [Field<'a>; 6],
    /// Concatenated hashes of the Merkle subtrees that the entry completes, starting with its own hash. `None` if the
    /// stored value is not a byte string.
    pub nodes: Option<&'a [u8]>,
    /// Exact bytes of the entry.
    pub body: StoredBytes<'a>,
}

impl StoredEntry<'_> {
    /// Names of the fields that a store saves for every entry.
    pub const FIELDS: [&'static str; 6] =
        ["time", "run", "workspace", "request", "attempt", "status"];

    /// Returns the field values that a store must save for an entry with these facts.
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

/// Value of a field of a stored entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// The field has no value.
    Missing,
    /// Integer. The ids of runs and workspaces are stored as their bits.
    Integer(i64),
    /// Text, as bytes that may not be valid UTF-8.
    Text(&'a [u8]),
    /// Value of a type that is invalid for every field of an entry.
    Other,
}

/// Stored bytes of an entry or document, or the reason why they cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredBytes<'a> {
    /// Complete bytes after decompression.
    Whole(&'a [u8]),
    /// The stored value is not a byte string.
    Missing,
    /// The stored bytes cannot be decompressed. Contains the error message.
    Unreadable(String),
}

/// Document in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument<'a> {
    /// Number of the document, counted from 0.
    pub number: i64,
    /// Name under which the document is stored. Should be the bytes of its digest.
    pub name: &'a [u8],
    /// Bytes of the document.
    pub bytes: StoredBytes<'a>,
}

/// Number and name of a stored document, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDocument {
    /// Number of the document, counted from 0.
    pub number: i64,
    /// Name under which the document is stored.
    pub name: DocumentName,
}

/// Name under which a document is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentName {
    /// Name that has the length of a digest.
    Digest(Digest),
    /// Name of any other length, including an empty one. It is always invalid.
    Other(Vec<u8>),
}

impl DocumentName {
    /// Parses the stored name of a document.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let digest = bytes.try_into().map(Digest::from_bytes);
        digest.map_or_else(|_| Self::Other(bytes.to_owned()), Self::Digest)
    }

    /// Returns the bytes of the name as they are stored.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Digest(digest) => digest.as_bytes(),
            Self::Other(bytes) => bytes,
        }
    }
}

/// State of a log as computed from all of its entries, to be compared with the state that a store has saved.
#[derive(Debug, Clone, Copy)]
pub struct Projection<'a> {
    /// State of each run.
    pub runs: &'a HashMap<RunId, Known>,
    /// State of each plan.
    pub plans: &'a HashMap<RunId, KnownPlan>,
    /// State of each lease block that an entry refers to.
    pub leases: &'a HashMap<LeaseId, LeaseRow>,
    /// State of each file task.
    pub file_tasks: &'a HashMap<TaskName, KnownFileTask>,
    /// Steps, decisions and counters of the Agent Execution Core.
    pub agent: &'a AgentProjection,
    /// Kind and index of all entries that [`newest_of_kind`](Log::newest_of_kind) finds by an index, in the order of the
    /// log.
    pub indexed: &'a [(EntryKind, u64)],
}
