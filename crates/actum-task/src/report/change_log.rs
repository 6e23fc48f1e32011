//! Change log of a task: what each action changed in which file (EX-15).

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::diff_summary::DiffSummary;
use super::file_path::{FilePath, NewPath};
use super::schemas::CHANGE_LOG;
use super::{ReportError, document};

/// Changes that the actions of a plan made to files, in order. A run that was rolled back still lists the changes that it had made.
///
/// The totals in the document are computed from the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct ChangeLog {
    /// Id of the change log.
    pub log_id: PlainId,
    /// Id of the plan that was executed.
    pub plan_id: PlainId,
    /// Id of the execution report of the same run.
    pub execution_report_id: PlainId,
    /// Time at which the log was created.
    pub created_at: Timestamp,
    /// Changes that the actions made, in order.
    pub changes: Vec<Change>,
}

/// Change that an action made to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Id of the change.
    pub change_id: PlainId,
    /// Id of the action that made the change.
    pub action_id: CleanText,
    /// Path of the changed file. For a renamed file, its old path.
    #[serde(flatten)]
    pub file_path: FilePath,
    /// New path, if the file was renamed.
    #[serde(flatten)]
    pub new_path: Option<NewPath>,
    /// Kind of the change.
    pub operation: ChangeWord,
    /// State of the file before the action.
    pub before_state: FileAt,
    /// State of the file after the action. For a renamed file, the state at its new path.
    pub after_state: FileAt,
    /// Summary of the difference between the old and the new content.
    pub diff_summary: DiffSummary,
    /// Time at which the change was made.
    pub timestamp: Timestamp,
}

/// Kind of a change to a file. An update of a schema is a modification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeWord {
    /// The file was created.
    Create,
    /// The content or the mode of the file changed.
    Modify,
    /// The file was deleted.
    Delete,
    /// The file was moved to a different path. Its content may have changed as well.
    Rename,
}

/// State of a path at one moment. `None` if there was no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenState", try_from = "WrittenState")]
pub struct FileAt(pub Option<PresentFile>);

/// State of an existing file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentFile {
    /// SHA-256 of the content.
    pub sha256: Digest,
    /// Size of the file, in bytes.
    pub size: u64,
    /// Time of the last modification.
    pub modified: Timestamp,
    /// Permission bits of the file, if known.
    pub mode: Option<FileMode>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    log_id: PlainId,
    plan_id: PlainId,
    execution_report_id: PlainId,
    created_at: Timestamp,
    changes: Vec<Change>,
    files_affected_count: u64,
    total_lines_changed: u64,
}

#[derive(Serialize, Deserialize)]
struct WrittenState {
    exists: bool,
    hash: Option<Digest>,
    size_bytes: Option<u64>,
    last_modified: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<FileMode>,
}

impl ChangeLog {
    /// Returns the number of changed files. A file that was both renamed and modified counts once.
    pub fn files_affected_count(&self) -> u64 {
        let mut names: BTreeMap<&RelPath, &RelPath> = BTreeMap::new();
        let mut files = BTreeSet::new();
        for change in &self.changes {
            let path = &change.file_path.0;
            let first = names.get(path).copied().unwrap_or(path);
            files.insert(first);
            if let Some(new) = &change.new_path {
                names.remove(path);
                names.insert(&new.0, first);
            }
        }
        actum_core::count(files.len())
    }

    /// Returns the total number of added and removed lines.
    pub fn total_lines_changed(&self) -> u64 {
        let lines = self.changes.iter().map(|change| &change.diff_summary);
        lines.fold(0, |sum: u64, diff| {
            sum.saturating_add(diff.lines_added()).saturating_add(diff.lines_removed())
        })
    }

    /// Parses a change log. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns [`ReportError`] with the first problem, for example a total that does not match the changes.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &CHANGE_LOG)
    }

    /// Serializes the log in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a value is longer than the schema allows.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl FileAt {
    /// State of a path at which no file exists.
    pub const ABSENT: Self = Self(None);

    /// Returns the state of an existing file that was last modified at `modified`.
    pub fn present(state: FileState, modified: Timestamp) -> Self {
        let FileState { sha256, size, mode } = state;
        Self(Some(PresentFile { sha256, size, modified, mode: Some(mode) }))
    }
}

impl From<FileAt> for WrittenState {
    fn from(FileAt(file): FileAt) -> Self {
        Self {
            exists: file.is_some(),
            hash: file.map(|file| file.sha256),
            size_bytes: file.map(|file| file.size),
            last_modified: file.map(|file| file.modified),
            mode: file.and_then(|file| file.mode),
        }
    }
}

impl TryFrom<WrittenState> for FileAt {
    type Error = &'static str;

    fn try_from(written: WrittenState) -> Result<Self, &'static str> {
        let WrittenState { exists, hash, size_bytes, last_modified, mode } = written;
        match (exists, hash, size_bytes, last_modified) {
            (true, Some(sha256), Some(size), Some(modified)) => {
                Ok(Self(Some(PresentFile { sha256, size, modified, mode })))
            }
            (false, None, None, None) => Ok(Self::ABSENT),
            (true | false, _, _, _) => Err(
                "`hash`, `size_bytes` and `last_modified` must be set if and only if `exists` is true",
            ),
        }
    }
}

impl From<ChangeLog> for Written {
    fn from(log: ChangeLog) -> Self {
        Self {
            files_affected_count: log.files_affected_count(),
            total_lines_changed: log.total_lines_changed(),
            log_id: log.log_id,
            plan_id: log.plan_id,
            execution_report_id: log.execution_report_id,
            created_at: log.created_at,
            changes: log.changes,
        }
    }
}

impl TryFrom<Written> for ChangeLog {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, &'static str> {
        let log = Self {
            log_id: written.log_id,
            plan_id: written.plan_id,
            execution_report_id: written.execution_report_id,
            created_at: written.created_at,
            changes: written.changes,
        };
        if log.files_affected_count() != written.files_affected_count {
            return Err("`files_affected_count` does not match the listed files");
        }
        if log.total_lines_changed() != written.total_lines_changed {
            return Err("`total_lines_changed` does not match the lines of the listed changes");
        }
        Ok(log)
    }
}
