//! Documents about the ledger: entries, proofs, checkpoints, verification and export.

use actum_core::{Digest, RunId, Status, Timestamp};
use actum_record::ledger::TenantId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{Document, DocumentType};
use crate::key::TrustedKeyring;
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<Ledger>(),
    DocumentType::new::<Entry>(),
    DocumentType::new::<Proof>(),
    DocumentType::new::<Checkpoint>(),
    DocumentType::new::<Audit>(),
    DocumentType::new::<Export>(),
];

/// Result of `actum ledger show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Name of the log.
    pub origin: String,
    /// Total number of entries in the ledger.
    pub size: u64,
    /// Most recent entries, newest first.
    pub entries: Vec<EntryLine>,
}

/// Summary of a ledger entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryLine {
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Kind of the entry, such as `EFFECT_DONE`. Future versions may add more.
    pub kind: String,
    /// Time at which the entry was recorded.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Run or plan that the entry is about. Absent for other entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Status of the run, if the entry records the end of a run. Absent for other entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Status>")]
    pub status: Option<Status>,
    /// Hash of the entry as a leaf of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
    /// Recorded hash of an entry that was modified, which no longer matches the hash of its bytes. Absent for an intact entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub recorded_leaf: Option<Digest>,
}

/// Result of `actum ledger show ENTRY`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Summary of the entry.
    #[serde(flatten)]
    pub line: EntryLine,
    /// Digests of the documents that the entry refers to.
    #[schemars(with = "Vec<value::Digest>")]
    pub documents: Vec<Digest>,
    /// Body of the entry as stored in the ledger. It has its own `format` field.
    pub body: Value,
    /// Signed content, if the body is a signed envelope. Absent for other entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

/// Result of `actum ledger prove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Name of the log.
    pub origin: String,
    /// Index of the entry, counted from 0.
    pub index: u64,
    /// Hash of the entry as a leaf of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
    /// Number of entries covered by the checkpoint.
    pub size: u64,
    /// Hashes on the path from the entry to the root of the Merkle tree (RFC 6962).
    #[schemars(with = "Vec<value::Digest>")]
    pub hashes: Vec<Digest>,
    /// Signed note (C2SP checkpoint) that contains the root.
    pub checkpoint: String,
}

/// Result of `actum ledger checkpoint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// Name of the log.
    pub origin: String,
    /// Number of entries covered by the checkpoint.
    pub size: u64,
    /// Root of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub root: Digest,
    /// Signed note (C2SP checkpoint) that contains the origin, the size and the root.
    pub checkpoint: String,
}

/// Result of `actum ledger verify`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Whether the ledger passed all checks. If `false`, the command exits with code 4.
    pub sound: bool,
    /// Name of the log, or `null` if it has none.
    pub origin: Option<String>,
    /// Number of entries.
    pub entries: u64,
    /// Root of the Merkle tree over all entries.
    #[schemars(with = "value::Digest")]
    pub root: Digest,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs whose end is not recorded.
    pub open_runs: u64,
    /// Number of documents that entries refer to.
    pub documents: u64,
    /// Number of signed checkpoints.
    pub checkpoints: u64,
    /// Number of entries covered by the newest valid checkpoint.
    pub covered: u64,
    /// Number of entries whose time is more than one minute before that of the preceding entry.
    pub steps_back: u64,
    /// Number of receipts whose signature was verified individually: all receipts with `--receipts`, and otherwise those that no
    /// checkpoint covers.
    pub receipts: u64,
    /// Problems found in the ledger, up to a limit.
    pub findings: Vec<Finding>,
    /// Number of further problems that are not listed.
    pub findings_left_out: u64,
    /// Number of entries covered by the checkpoint passed with `--checkpoint`. Absent without that option, or if no key in the
    /// keyring signed that checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<u64>,
    /// Keyring that was used for the verification.
    pub keyring: TrustedKeyring,
}

/// Problem found in a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Subject of the problem.
    pub what: FindingSubject,
    /// Index, id or digest of the subject. Absent for `log` and `database`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub which: Option<String>,
    /// Description of the problem as a sentence.
    pub message: String,
}

words! {
    /// Subject of a problem found in a ledger.
    FindingSubject {
        /// The entire log.
        Log = "log",
        /// Database of the ledger.
        Database = "database",
        /// Entry of the ledger.
        Entry = "entry",
        /// Run recorded in the ledger.
        Run = "run",
        /// Plan in the queue.
        Plan = "plan",
        /// Block of a lease.
        Lease = "lease",
        /// File task.
        FileTask = "file_task",
        /// Row in a table of the agent core.
        Agent = "agent",
        /// Document that an entry refers to.
        Document = "document",
        /// Signed checkpoint.
        Checkpoint = "checkpoint",
        /// Line of an exported ledger.
        Line = "line",
    }
}

/// Result of `actum ledger export --output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// Path of the file, as given on the command line. Escaped if it is not UTF-8.
    pub file: String,
    /// Number of exported entries.
    pub entries: u64,
    /// Number of exported documents.
    pub documents: u64,
    /// Number of exported signed checkpoints.
    pub checkpoints: u64,
}

impl Document for Ledger {
    const FORMAT: &'static str = "actum.ledger/1";
}

impl Document for Entry {
    const FORMAT: &'static str = "actum.entry/1";
}

impl Document for Proof {
    const FORMAT: &'static str = "actum.proof/1";
}

impl Document for Checkpoint {
    const FORMAT: &'static str = "actum.checkpoint/1";
}

impl Document for Audit {
    const FORMAT: &'static str = "actum.audit/1";
}

impl Document for Export {
    const FORMAT: &'static str = "actum.export/1";
}
