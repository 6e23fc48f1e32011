//! Operations: one step of a change on one path; the richer form a [`ChangeSet`] converts into
//! (FO-10).
//!
//! [`ChangeSet`]: crate::ChangeSet

mod digest;
mod summary;

use actum_core::{Digest, FileMode, RelPath, RunId};
use serde::{Deserialize, Serialize};

use crate::{Edit, LineHunk};

/// Permission bits that a step requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ModeChange {
    /// Exactly these bits.
    Exact(FileMode),
    /// Executable for all users who may read it, or for none; the other bits stay.
    Executable(bool),
}

impl ModeChange {
    /// Returns the new `mode`.
    pub fn apply(self, mode: FileMode) -> FileMode {
        match self {
            Self::Exact(exact) => exact,
            Self::Executable(executable) => mode.with_executable(executable),
        }
    }
}

/// Treatment of the directories that a deletion leaves empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EmptyParents {
    /// They stay.
    Keep,
    /// They are removed, as git does, and come back on undo.
    Remove,
}

/// One step of a change. Steps are computed in order, each against the result of those before it;
/// all of them become visible together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Edits the lines of an existing file. A missing file is created when the only hunk is
    /// at line 0 and nothing may follow it.
    Patch {
        /// The file.
        path: RelPath,
        /// Changes in ascending order.
        hunks: Vec<LineHunk>,
        /// The digest the file must have before this step.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Edits an existing file at a place that is found in its content, or as a whole.
    Edit {
        /// The file.
        path: RelPath,
        /// Change of the content.
        edit: Edit,
        /// The digest the file must have before this step.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Replaces the whole content of an existing file.
    Write {
        /// The file.
        path: RelPath,
        /// Its new content.
        #[serde(with = "crate::byte_text")]
        content: Vec<u8>,
        /// The digest the file must have before this step.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Makes a file where nothing is, and the directories that lead to it.
    Create {
        /// The file.
        path: RelPath,
        /// Its content.
        #[serde(with = "crate::byte_text")]
        content: Vec<u8>,
        /// Its mode; the process's umask is applied to the default of `rw-rw-rw-` when absent.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<ModeChange>,
    },
    /// Makes a file where nothing is, and the directories that lead to it, or replaces the whole content of an existing file.
    /// The content is the file at the same path of a capture (`.actum/captures` of the workspace).
    Take {
        /// The file.
        path: RelPath,
        /// The capture that has the content.
        capture: RunId,
        /// Digest of the content.
        sha256: Digest,
        /// Size of the content in bytes.
        size: u64,
        /// Mode of a new file; that of any new file when absent.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<ModeChange>,
        /// The digest that an existing file must have before this step; none for a new file.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Removes a file or a symbolic link.
    Delete {
        /// The file or link.
        path: RelPath,
        /// The digest the file must have before this step.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
        /// Treatment of directories left empty.
        parents: EmptyParents,
    },
    /// Moves a file or a symbolic link to where nothing is.
    Rename {
        /// The file or link.
        from: RelPath,
        /// Its new path.
        to: RelPath,
        /// Treatment of directories left empty.
        parents: EmptyParents,
    },
    /// Copies a file, its mode and its extended attributes to where nothing is.
    Copy {
        /// The file.
        from: RelPath,
        /// The path of the copy.
        to: RelPath,
    },
    /// Changes the permission bits of a file or directory.
    Chmod {
        /// The file.
        path: RelPath,
        /// The bits.
        mode: ModeChange,
    },
    /// Changes the permission bits of a directory that has those that are expected.
    ChmodDirectory {
        /// The directory.
        path: RelPath,
        /// The bits.
        mode: FileMode,
        /// The bits that it must have before this step.
        expected: FileMode,
    },
    /// Makes an empty directory where nothing is, and those that lead to it.
    MakeDirectory {
        /// The directory.
        path: RelPath,
        /// Its mode; as any new directory's when absent.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<FileMode>,
    },
    /// Removes an empty directory.
    RemoveDirectory {
        /// The directory.
        path: RelPath,
    },
    /// Makes a symbolic link where nothing is, and the directories that lead to it, or retargets an existing one.
    Link {
        /// The link.
        path: RelPath,
        /// Its target, of 1 to 4095 bytes without NUL.
        #[serde(with = "crate::byte_text")]
        target: Vec<u8>,
        /// The digest of the target that the link has before this step; none for a new link.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
}

impl Operation {
    /// The capture that it takes a file from.
    pub fn capture(&self) -> Option<RunId> {
        match self {
            Self::Take { capture, .. } => Some(*capture),
            Self::Patch { .. }
            | Self::Edit { .. }
            | Self::Write { .. }
            | Self::Create { .. }
            | Self::Delete { .. }
            | Self::Rename { .. }
            | Self::Copy { .. }
            | Self::Chmod { .. }
            | Self::ChmodDirectory { .. }
            | Self::MakeDirectory { .. }
            | Self::RemoveDirectory { .. }
            | Self::Link { .. } => None,
        }
    }

    /// Returns the paths that it names.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        let (path, other) = match self {
            Self::Patch { path, .. }
            | Self::Edit { path, .. }
            | Self::Write { path, .. }
            | Self::Create { path, .. }
            | Self::Take { path, .. }
            | Self::Delete { path, .. }
            | Self::Chmod { path, .. }
            | Self::ChmodDirectory { path, .. }
            | Self::MakeDirectory { path, .. }
            | Self::RemoveDirectory { path }
            | Self::Link { path, .. } => (path, None),
            Self::Rename { from, to, .. } | Self::Copy { from, to } => (from, Some(to)),
        };
        std::iter::once(path).chain(other)
    }
}
