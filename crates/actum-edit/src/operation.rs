//! Operations, the internal representation of a change (FO-10). Every input format is parsed into operations, each of which is
//! one step of the change.

mod digest;
mod summary;

use actum_core::{Digest, FileMode, RelPath, RunId};
use serde::{Deserialize, Serialize};

use crate::{Edit, LineHunk};

/// Change to the permission bits of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ModeChange {
    /// Sets exactly these permission bits.
    Exact(FileMode),
    /// Makes the file executable for every user who may read it, or for no user. All other bits stay the same.
    Executable(bool),
}

impl ModeChange {
    /// Returns the mode that results from applying this change to `mode`.
    pub fn apply(self, mode: FileMode) -> FileMode {
        match self {
            Self::Exact(exact) => exact,
            Self::Executable(executable) => mode.with_executable(executable),
        }
    }
}

/// Whether directories that become empty after a deletion or rename are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EmptyParents {
    /// Empty directories are kept.
    Keep,
    /// Empty directories are removed, like in git. Undo restores them.
    Remove,
}

/// Single step of a change. Steps are computed in order, each on the result of the previous ones, but all of them become visible
/// in the workspace together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Applies hunks to an existing file. If the only hunk is at line 0 and must end the content, it creates a missing file.
    Patch {
        /// Path of the file.
        path: RelPath,
        /// Hunks in ascending order of their lines.
        hunks: Vec<LineHunk>,
        /// Digest that the file must have before this step, if it is checked.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Applies an edit to an existing file. The position of the edit is found from the content of the file.
    Edit {
        /// Path of the file.
        path: RelPath,
        /// Edit of the content.
        edit: Edit,
        /// Digest that the file must have before this step, if it is checked.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Replaces the whole content of an existing file.
    Write {
        /// Path of the file.
        path: RelPath,
        /// New content of the file.
        #[serde(with = "crate::byte_text")]
        content: Vec<u8>,
        /// Digest that the file must have before this step, if it is checked.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Creates a file, along with any missing parent directories. The path must not exist.
    Create {
        /// Path of the file.
        path: RelPath,
        /// Content of the new file.
        #[serde(with = "crate::byte_text")]
        content: Vec<u8>,
        /// Mode of the new file. If absent, it is `rw-rw-rw-` with the umask of the process applied.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<ModeChange>,
    },
    /// Creates a file, along with any missing parent directories, or replaces the whole content of an existing file. The content
    /// is taken from the same path in a capture, in the directory `.actum/captures` of the workspace.
    Take {
        /// Path of the file.
        path: RelPath,
        /// Identifier of the capture that contains the content.
        capture: RunId,
        /// SHA-256 digest of the content.
        sha256: Digest,
        /// Size of the content in bytes.
        size: u64,
        /// Mode of the file. If absent, an existing file keeps its mode, and a new file gets the default mode.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<ModeChange>,
        /// Digest that an existing file must have before this step, or `None` for a new file.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
    /// Deletes a file or a symbolic link.
    Delete {
        /// Path of the file or link.
        path: RelPath,
        /// Digest that the file must have before this step, if it is checked.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
        /// Whether parent directories that become empty are removed.
        parents: EmptyParents,
    },
    /// Renames a file or a symbolic link. The new path must not exist.
    Rename {
        /// Path of the file or link.
        from: RelPath,
        /// New path of the file or link.
        to: RelPath,
        /// Whether parent directories that become empty are removed.
        parents: EmptyParents,
    },
    /// Copies a file, including its mode and its extended attributes. The new path must not exist.
    Copy {
        /// Path of the file.
        from: RelPath,
        /// Path of the copy.
        to: RelPath,
    },
    /// Changes the permission bits of a file or directory.
    Chmod {
        /// Path of the file.
        path: RelPath,
        /// Change to the permission bits.
        mode: ModeChange,
    },
    /// Changes the permission bits of a directory, if it has the expected bits before.
    ChmodDirectory {
        /// Path of the directory.
        path: RelPath,
        /// New permission bits.
        mode: FileMode,
        /// Permission bits that the directory must have before this step.
        expected: FileMode,
    },
    /// Creates an empty directory, along with any missing parent directories. The path must not exist.
    MakeDirectory {
        /// Path of the directory.
        path: RelPath,
        /// Mode of the directory. If absent, it is the default mode for new directories.
        #[serde(deserialize_with = "Option::deserialize")]
        mode: Option<FileMode>,
    },
    /// Removes an empty directory.
    RemoveDirectory {
        /// Path of the directory.
        path: RelPath,
    },
    /// Creates a symbolic link, along with any missing parent directories, or changes the target of an existing link.
    Link {
        /// Path of the link.
        path: RelPath,
        /// Target of the link: 1 to 4095 bytes, without NUL bytes.
        #[serde(with = "crate::byte_text")]
        target: Vec<u8>,
        /// Digest of the target that the link must have before this step, or `None` for a new link.
        #[serde(deserialize_with = "Option::deserialize")]
        expected: Option<Digest>,
    },
}

impl Operation {
    /// Returns the run whose capture contains the new content, if the operation is [`Take`](Self::Take).
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

    /// Returns the paths that the operation names.
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
