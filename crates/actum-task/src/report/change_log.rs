//! Change log: the changes of each action to its file (EX-15).

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::diff_summary::DiffSummary;
use super::file_path::{FilePath, NewPath};
use super::schemas::CHANGE_LOG;
use super::{ReportError, document};

/// Changes that the actions made to files, in order. A run that was rolled back lists the changes it had
/// made. The two totals follow from the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct ChangeLog {
    /// Id of the log.
    pub log_id: PlainId,
    /// Id of the plan.
    pub plan_id: PlainId,
    /// Id of the execution report.
    pub execution_report_id: PlainId,
    /// Creation time.
    pub created_at: Timestamp,
    /// Changes of the actions.
    pub changes: Vec<Change>,
}

/// Change that an action made to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Id of the change.
    pub change_id: PlainId,
    /// Id of the action.
    pub action_id: CleanText,
    /// Path of the file; for a renamed file, the old path.
    #[serde(flatten)]
    pub file_path: FilePath,
    /// New path of a renamed file.
    #[serde(flatten)]
    pub new_path: Option<NewPath>,
    /// Kind of change.
    pub operation: ChangeWord,
    /// State of the file before.
    pub before_state: FileAt,
    /// State of the file after; for a renamed file, at its new path.
    pub after_state: FileAt,
    /// Summary of the difference.
    pub diff_summary: DiffSummary,
    /// Time of the change.
    pub timestamp: Timestamp,
}

/// Kind of change to a file. An update of a schema counts as a modification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeWord {
    /// File is created.
    Create,
    /// Bytes or mode of the file change.
    Modify,
    /// File is deleted.
    Delete,
    /// File moves to another path; its bytes may change as well.
    Rename,
}

/// State of a path at a moment: a file, or no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenState", try_from = "WrittenState")]
pub struct FileAt(pub Option<PresentFile>);

/// State of a file at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentFile {
    /// SHA-256 of the bytes.
    pub sha256: Digest,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last modification.
    pub modified: Timestamp,
    /// Permission bits.
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

    /// Returns the number of added and removed lines together.
    pub fn total_lines_changed(&self) -> u64 {
        let lines = self.changes.iter().map(|change| &change.diff_summary);
        lines.fold(0, |sum: u64, diff| {
            sum.saturating_add(diff.lines_added()).saturating_add(diff.lines_removed())
        })
    }

    /// Reads a log. Ignores unknown members.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake, including one where a total is not that of the changes.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &CHANGE_LOG)
    }

    /// Writes the log in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// [`ReportError`] if a value is longer than the schema allows.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl FileAt {
    /// State of a path without a file.
    pub const ABSENT: Self = Self(None);

    /// Returns the state of this file, last modified at this time.
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
                "a file that exists has a hash, a size and a time, and one that does not has none",
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
            return Err("`files_affected_count` does not count the files that are listed");
        }
        if log.total_lines_changed() != written.total_lines_changed {
            return Err("`total_lines_changed` is not the sum of the lines that are listed");
        }
        Ok(log)
    }
}
