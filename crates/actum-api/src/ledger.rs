//! The ledger: its entries, proofs, checkpoints, verification and export.

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
    /// Number of entries.
    pub size: u64,
    /// The newest entries, the newest first.
    pub entries: Vec<EntryLine>,
}

/// Facts about one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryLine {
    /// Number of the entry, counted from 0.
    pub index: u64,
    /// Kind of the entry, such as `EFFECT_DONE`. New kinds can be added.
    pub kind: String,
    /// Time of the entry.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Run or plan that the entry is about. Absent for other entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Status of the run, where the entry records its end, else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Status>")]
    pub status: Option<Status>,
    /// Hash of the entry as a leaf of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
    /// Recorded hash, where it differs from that of the bytes: the entry was changed. Absent for a sound entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<value::Digest>")]
    pub recorded_leaf: Option<Digest>,
}

/// Result of `actum ledger show ENTRY`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Facts about the entry.
    #[serde(flatten)]
    pub line: EntryLine,
    /// Digests of the documents that the entry names.
    #[schemars(with = "Vec<value::Digest>")]
    pub documents: Vec<Digest>,
    /// The entry as the ledger has it. Its own `format` names its form.
    pub body: Value,
    /// Signed content, where the body is a signed envelope, else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

/// Result of `actum ledger prove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Name of the log.
    pub origin: String,
    /// Number of the entry, counted from 0.
    pub index: u64,
    /// Hash of the entry as a leaf of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
    /// Number of entries that the checkpoint covers.
    pub size: u64,
    /// Hashes that lead from the entry to the root of the Merkle tree (RFC 6962).
    #[schemars(with = "Vec<value::Digest>")]
    pub hashes: Vec<Digest>,
    /// Signed note (C2SP checkpoint) with the root.
    pub checkpoint: String,
}

/// Result of `actum ledger checkpoint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// Name of the log.
    pub origin: String,
    /// Number of entries that the checkpoint covers.
    pub size: u64,
    /// Root of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub root: Digest,
    /// Signed note (C2SP checkpoint) with these three.
    pub checkpoint: String,
}

/// Result of `actum ledger verify`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// True if nothing is wrong. Where it is `false`, the command ends with code 4.
    pub sound: bool,
    /// Name of the log; `null` where the log has none.
    pub origin: Option<String>,
    /// Number of entries.
    pub entries: u64,
    /// Root of the Merkle tree of all entries.
    #[schemars(with = "value::Digest")]
    pub root: Digest,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs without an end.
    pub open_runs: u64,
    /// Number of documents that entries name.
    pub documents: u64,
    /// Number of signed checkpoints.
    pub checkpoints: u64,
    /// Number of entries that the newest sound checkpoint covers.
    pub covered: u64,
    /// Number of entries that are more than a minute older than the entry before.
    pub steps_back: u64,
    /// Number of receipts whose own signature was verified: those that no checkpoint covers, or all with `--receipts`.
    pub receipts: u64,
    /// Everything that is wrong, up to a limit.
    pub findings: Vec<Finding>,
    /// Number of findings beyond the limit.
    pub findings_left_out: u64,
    /// Number of entries that the checkpoint of `--checkpoint` covers. Absent without that option, and where no key of the
    /// keyring signed the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<u64>,
    /// Keyring that is trusted.
    pub keyring: TrustedKeyring,
}

/// One thing that is wrong with a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Subject of the finding.
    pub what: FindingSubject,
    /// Number, id or digest of the subject. Absent for `log` and `database`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub which: Option<String>,
    /// The finding as a sentence.
    pub message: String,
}

words! {
    /// Subject of a finding.
    FindingSubject {
        /// The log as a whole.
        Log = "log",
        /// The database of the ledger.
        Database = "database",
        /// An entry.
        Entry = "entry",
        /// A run.
        Run = "run",
        /// A plan in the queue.
        Plan = "plan",
        /// A block of a lease.
        Lease = "lease",
        /// A file task.
        FileTask = "file_task",
        /// A row of a table of the agent core.
        Agent = "agent",
        /// A document that an entry names.
        Document = "document",
        /// A signed checkpoint.
        Checkpoint = "checkpoint",
        /// A line of an export.
        Line = "line",
    }
}

/// Result of `actum ledger export --output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// The file, as the command named it. Escaped where its bytes are not UTF-8.
    pub file: String,
    /// Number of entries in the file.
    pub entries: u64,
    /// Number of documents in the file.
    pub documents: u64,
    /// Number of signed checkpoints in the file.
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
