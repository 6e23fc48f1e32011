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
        /// A change that was described.
        Apply = "apply",
        /// The undo of an earlier run. A redo is the undo of an undo.
        Undo = "undo",
    }

    /// Type of what is at a path.
    ImageType {
        /// Nothing.
        Absent = "absent",
        /// A directory.
        Directory = "directory",
        /// A regular file.
        File = "file",
    }
}

/// Result of `actum log`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    /// Runs, the newest first.
    pub runs: Vec<LoggedRun>,
    /// Number of all runs, shown or not.
    pub total: u64,
    /// Run that has begun and not ended; `null` without one.
    #[schemars(with = "Option<value::RunId>")]
    pub unfinished: Option<RunId>,
}

impl Document for Log {
    const FORMAT: &'static str = "actum.log/1";
}

/// Line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedRun {
    /// Id of the run.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
    /// Kind of the run.
    pub kind: RunKind,
    /// Run that this one undoes. Only for an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::RunId")]
    pub undoes: Option<RunId>,
    /// Outcome of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Facts from the history. Absent where its record of the run is damaged.
    #[serde(flatten)]
    pub facts: Option<RunFacts>,
    /// True if the record of the run in the history is damaged.
    pub damaged: bool,
    /// Record of the run in the ledger; `null` where it is missing or not proven.
    pub record: Option<RunRecord>,
    /// Reason why the record in the ledger is not proven. Absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub record_problem: Option<String>,
}

/// Facts of a run from the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// Time of the run.
    #[schemars(with = "value::Time")]
    pub time: String,
    /// Purpose of the run.
    pub label: String,
    /// Number of changed files, without directories.
    pub files: u64,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// Run that took this one back; `null` where none did.
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
    /// Run that this one undoes. Only for an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::RunId")]
    pub undoes: Option<RunId>,
    /// Outcome of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Run that took this one back; `null` where none did.
    #[schemars(with = "Option<value::RunId>")]
    pub undone_by: Option<RunId>,
    /// Time of the run.
    #[schemars(with = "value::Time")]
    pub time: String,
    /// Purpose of the run.
    pub label: String,
    /// Number of changed files, without directories.
    pub files: u64,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// Changed paths, in order.
    pub changes: Vec<ImageChange>,
    /// Record of the run in the ledger; `null` where it is missing or not proven.
    pub record: Option<RunRecord>,
    /// Reason why the record in the ledger is not proven. Absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub record_problem: Option<String>,
    /// The change as diffs. Absent with `--no-diff`.
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

/// Change of one path, with its image before and afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageChange {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Image before the run.
    pub before: Image,
    /// Image after the run.
    pub after: Image,
}

/// File or directory at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Type of the object.
    pub r#type: ImageType,
    /// SHA-256 of the content. Only for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Digest")]
    pub sha256: Option<Digest>,
    /// Size in bytes. Only for a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub size: Option<u64>,
    /// Mode and owner. Absent where nothing is there.
    #[serde(flatten)]
    pub attributes: Option<ImageAttributes>,
}

/// Mode, owner and extended attributes of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageAttributes {
    /// Permission bits in octal.
    #[schemars(with = "value::Mode")]
    pub mode: String,
    /// Number of the user who owns it.
    pub user: u32,
    /// Number of the group that owns it.
    pub group: u32,
    /// Names of its extended attributes.
    pub xattrs: Vec<String>,
}

/// Result of `actum diff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    /// Run after which the range begins; `null` for a single run.
    #[schemars(with = "Option<value::RunId>")]
    pub from: Option<RunId>,
    /// The run, or the last one of the range.
    #[schemars(with = "value::RunId")]
    pub to: RunId,
    /// One diff for each file, ordered by path.
    pub changes: Vec<FileDiff>,
}

impl Document for Diff {
    const FORMAT: &'static str = "actum.diff/1";
}
