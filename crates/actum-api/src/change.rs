//! Changed paths and diffs, which are part of several documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::WorkspacePath;
use crate::word::words;

words! {
    /// Kind of change to a path.
    ChangeKind {
        /// A file was created.
        Created = "created",
        /// The content of a file was modified.
        Modified = "modified",
        /// A file was moved, with or without changes to its content.
        Renamed = "renamed",
        /// Only the permission bits of a file changed.
        Mode = "mode",
        /// The owner or the extended attributes of a file changed.
        Attributes = "attributes",
        /// A file was deleted.
        Deleted = "deleted",
        /// A directory was created.
        DirectoryCreated = "directory_created",
        /// A directory was removed.
        DirectoryRemoved = "directory_removed",
    }
}

impl ChangeKind {
    /// Whether the changed path is a directory.
    pub fn is_of_directory(&self) -> bool {
        matches!(self, Self::DirectoryCreated | Self::DirectoryRemoved)
    }
}

/// Change to a single path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Changed path. For a renamed file, this is the new path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Old path of a renamed file. Absent for other kinds of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WorkspacePath")]
    pub renamed_from: Option<WorkspacePath>,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Number of added lines, or 0 for binary content.
    pub added: u64,
    /// Number of removed lines, or 0 for binary content.
    pub removed: u64,
    /// Size of the file in bytes before and after the change. Present only if its content is binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sides<u64>")]
    pub bytes: Option<Sides<u64>>,
    /// Permission bits before and after the change, in octal. Present only if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sides<crate::value::Mode>")]
    pub mode: Option<Sides<String>>,
}

/// Value before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides<T> {
    /// Value before the change.
    pub before: T,
    /// Value after the change.
    pub after: T,
}

/// Changed paths of a run and their totals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changes {
    /// Number of changed files, without directories.
    pub files: u64,
    /// Total number of added lines.
    pub added: u64,
    /// Total number of removed lines.
    pub removed: u64,
    /// Changed paths, in order.
    pub changes: Vec<Change>,
}

/// Diffs of several files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diffs {
    /// Diff of each file, sorted by path.
    pub changes: Vec<FileDiff>,
}

/// Diff of a single file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// Path of the file. For a renamed file, this is the new path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Old path of a renamed file. Absent if the file was not renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WorkspacePath")]
    pub renamed_from: Option<WorkspacePath>,
    /// Diff of the file in git format, or `null` if its content is too large, not UTF-8 or no longer available.
    pub diff: Option<String>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}
