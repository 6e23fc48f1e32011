//! Changes of paths and diffs, which several documents list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::WorkspacePath;
use crate::word::words;

words! {
    /// Kind of a change of a path.
    ChangeKind {
        /// A new file.
        Created = "created",
        /// A file with other content.
        Modified = "modified",
        /// A file that was moved, edited or not.
        Renamed = "renamed",
        /// A file whose permission bits alone change.
        Mode = "mode",
        /// A file whose owner or extended attributes change.
        Attributes = "attributes",
        /// A file that is removed.
        Deleted = "deleted",
        /// A new directory.
        DirectoryCreated = "directory_created",
        /// A directory that is removed.
        DirectoryRemoved = "directory_removed",
    }
}

impl ChangeKind {
    /// Returns true if the path is a directory.
    pub fn is_of_directory(&self) -> bool {
        matches!(self, Self::DirectoryCreated | Self::DirectoryRemoved)
    }
}

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The path; of a renamed file where it is afterwards.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Path of a renamed file before. Absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WorkspacePath")]
    pub renamed_from: Option<WorkspacePath>,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Number of added lines; 0 for binary content.
    pub added: u64,
    /// Number of removed lines; 0 for binary content.
    pub removed: u64,
    /// Sizes of a file in bytes. Only where binary content changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sides<u64>")]
    pub bytes: Option<Sides<u64>>,
    /// Permission bits in octal. Only where they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sides<crate::value::Mode>")]
    pub mode: Option<Sides<String>>,
}

/// A value before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides<T> {
    /// Value before.
    pub before: T,
    /// Value afterwards.
    pub after: T,
}

/// Changes of a run, path by path, and their totals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changes {
    /// Number of changed files, without directories.
    pub files: u64,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// Changed paths, in order.
    pub changes: Vec<Change>,
}

/// Diffs of files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diffs {
    /// One diff for each file, ordered by path.
    pub changes: Vec<FileDiff>,
}

/// Diff of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// The path; of a renamed file where it is afterwards.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Path of a renamed file before. Absent for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WorkspacePath")]
    pub renamed_from: Option<WorkspacePath>,
    /// Section of a git diff; `null` where the content is too large, is no longer known or is not UTF-8.
    pub diff: Option<String>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}
