//! `actum.log/1`, `actum.run/1` and `actum.diff/1`: past runs.

use actum_core::{Digest, RunId, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brief_parts::BriefParts;
use crate::change::{Change, Diffs, FileDiff};
use crate::document::{Document, DocumentType};
use crate::record::RunRecord;
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Log>(), DocumentType::new::<Run>(), DocumentType::new::<Diff>()];

words! {
    /// Kind of a run.
    RunKind {
        /// The run made a new change.
        Apply = "apply",
        /// The run undid an earlier run. A redo is the undo of an undo.
        Undo = "undo",
    }

    /// Type of the object that a run found or left at a path.
    ImageType {
        /// Nothing exists at the path.
        Absent = "absent",
        /// Directory.
        Directory = "directory",
        /// Regular file.
        File = "file",
    }
}

/// Result of `actum log`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    /// Runs, newest first.
    pub runs: Vec<LoggedRun>,
    /// Total number of runs in the history, including runs that are not listed.
    pub total: u64,
    /// Run that has begun but not ended, or `null` if all runs have ended.
    #[schemars(with = "Option<value::RunId>")]
    pub unfinished: Option<RunId>,
}

impl Document for Log {
    const FORMAT: &'static str = "actum.log/1";
}

/// Run as listed by `actum log`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedRun {
    /// Id of the run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Kind of the run.
    pub kind: RunKind,
    /// Run that this one undoes. Present only for an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::RunId")]
    pub undoes: Option<RunId>,
    /// Outcome of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Details from the history. Absent if the history's record of the run is damaged.
    #[serde(flatten)]
    pub facts: Option<RunFacts>,
    /// Changed paths. Present only with `--stat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Change>")]
    pub changes: Option<Vec<Change>>,
    /// Whether the record of the run in the history is damaged.
    pub damaged: bool,
    /// Record of the run in the ledger, or `null` if it is missing or could not be proven.
    pub record: Option<RunRecord>,
    /// Reason why the record in the ledger could not be proven. Absent if it was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub record_problem: Option<String>,
}

/// Details of a run, taken from the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// Time of the run.
    #[schemars(with = "value::Time")]
    pub time: String,
    /// Label that describes the purpose of the run.
    pub label: String,
    /// Number of changed files, without directories.
    pub files: u64,
    /// Total number of added lines.
    pub added: u64,
    /// Total number of removed lines.
    pub removed: u64,
    /// Run that undid this one, or `null` if it was not undone.
    #[schemars(with = "Option<value::RunId>")]
    pub undone_by: Option<RunId>,
}

/// Result of `actum show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Id of the run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Kind of the run.
    pub kind: RunKind,
    /// Run that this one undoes. Present only for an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::RunId")]
    pub undoes: Option<RunId>,
    /// Outcome of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Run that undid this one, or `null` if it was not undone.
    #[schemars(with = "Option<value::RunId>")]
    pub undone_by: Option<RunId>,
    /// Time of the run.
    #[schemars(with = "value::Time")]
    pub time: String,
    /// Label that describes the purpose of the run.
    pub label: String,
    /// Number of changed files, without directories.
    pub files: u64,
    /// Total number of added lines.
    pub added: u64,
    /// Total number of removed lines.
    pub removed: u64,
    /// Changed paths, in order.
    pub changes: Vec<ImageChange>,
    /// Record of the run in the ledger, or `null` if it is missing or could not be proven.
    pub record: Option<RunRecord>,
    /// Reason why the record in the ledger could not be proven. Absent if it was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub record_problem: Option<String>,
    /// Diffs of all changed files. Absent with `--no-diff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Diffs")]
    pub diff: Option<Diffs>,
}

impl Document for Run {
    const FORMAT: &'static str = "actum.run/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// Change to a single path, with the object at the path before and after the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageChange {
    /// Change to the path.
    #[serde(flatten)]
    pub change: Change,
    /// Object at the path before the run.
    pub before: Image,
    /// Object at the path after the run.
    pub after: Image,
}

/// File or directory that a run found or left at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Type of the object.
    pub r#type: ImageType,
    /// SHA-256 of the content. Present only for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Digest")]
    pub sha256: Option<Digest>,
    /// Size in bytes. Present only for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub size: Option<u64>,
    /// Mode, owner and extended attributes. Absent if nothing exists at the path.
    #[serde(flatten)]
    pub attributes: Option<ImageAttributes>,
}

/// Mode, owner and extended attributes of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageAttributes {
    /// Permission bits in octal.
    #[schemars(with = "value::Mode")]
    pub mode: String,
    /// User id of the owner.
    pub user: u32,
    /// Group id of the owner.
    pub group: u32,
    /// Names of the extended attributes.
    pub xattrs: Vec<String>,
}

/// Result of `actum diff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// Run before the first run of the range, or `null` if the diff is of a single run.
    #[schemars(with = "Option<value::RunId>")]
    pub from: Option<RunId>,
    /// Run that the diff shows, or the last run of the range.
    #[schemars(with = "value::RunId")]
    pub to: RunId,
    /// Diff of each file, sorted by path.
    pub changes: Vec<FileDiff>,
}

impl Document for Diff {
    const FORMAT: &'static str = "actum.diff/1";
}
