//! The change log: what each action did to its file (EX-15).

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath, Timestamp};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::diff_summary::DiffSummary;
use super::file_path::{FilePath, NewPath};
use super::schemas::CHANGE_LOG;
use super::{ReportError, document};

/// What the actions did to files, in the order in which they did it. A run that was taken back lists
/// what it had done. The two totals follow from the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct ChangeLog {
    /// The id of the log.
    pub log_id: PlainId,
    /// The plan.
    pub plan_id: PlainId,
    /// The execution report.
    pub execution_report_id: PlainId,
    /// When it was made.
    pub created_at: Timestamp,
    /// What the actions did.
    pub changes: Vec<Change>,
}

/// What an action did to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its id.
    pub change_id: PlainId,
    /// The action.
    pub action_id: CleanText,
    /// The file; of one that was renamed where it was.
    #[serde(flatten)]
    pub file_path: FilePath,
    /// Where it is, if it was renamed.
    #[serde(flatten)]
    pub new_path: Option<NewPath>,
    /// What was done.
    pub operation: ChangeWord,
    /// The file before.
    pub before_state: FileAt,
    /// The file after; of one that was renamed at its new path.
    pub after_state: FileAt,
    /// What differs in it.
    pub diff_summary: DiffSummary,
    /// When.
    pub timestamp: Timestamp,
}

/// What is done to a file. An update of a schema modifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeWord {
    /// It appears.
    Create,
    /// Its bytes change, or its mode.
    Modify,
    /// It disappears.
    Delete,
    /// It goes to another path; its bytes may change as well.
    Rename,
}

/// A file at a moment, or that there was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenState", try_from = "WrittenState")]
pub struct FileAt(pub Option<PresentFile>);

/// A file at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentFile {
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed.
    pub modified: Timestamp,
    /// Its permission bits.
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
    /// How many files were changed. A file that was renamed and changed is one.
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

    /// Lines added and lines removed, together.
    pub fn total_lines_changed(&self) -> u64 {
        let lines = self.changes.iter().map(|change| &change.diff_summary);
        lines.fold(0, |sum: u64, diff| {
            sum.saturating_add(diff.lines_added()).saturating_add(diff.lines_removed())
        })
    }

    /// Reads a log. Members that are not known are passed over.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake: also where a total is not that of the changes.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &CHANGE_LOG)
    }

    /// Writes the log, as what [`read`](Self::read) takes it back from.
    ///
    /// # Errors
    /// [`ReportError`] when something is longer than the schema lets it be.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl FileAt {
    /// There was none.
    pub const ABSENT: Self = Self(None);

    /// This file, as it was at this time.
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
