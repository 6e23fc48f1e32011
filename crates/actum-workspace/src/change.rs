//! Reported effects of a run on each path.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use actum_core::path_name::PathName;
use actum_core::{Digest, FileMode, FileState, RelPath};
use actum_record::receipt::{EffectKind, PathEffect};

use crate::attributes::Attributes;

/// Effect of a run on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Affected path. For a renamed file, this is the new path.
    pub path: RelPath,
    /// Kind of the effect.
    pub kind: ChangeKind,
    /// Amount of changed content.
    pub extent: Extent,
    /// Old and new permission bits, if the object exists before and after the run and the bits differ.
    pub modes: Option<Modes>,
}

/// Kind of the effect of a run on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// A file is created.
    Created,
    /// The content of a file changes.
    Modified,
    /// A file is renamed to this path. Its content may change as well.
    Renamed {
        /// Path of the file before the run.
        from: RelPath,
    },
    /// Only the permission bits of a file or directory change.
    Mode,
    /// The owner or extended attributes of a file or directory change, possibly with its permission bits, but not the
    /// content.
    Attributes,
    /// A file is deleted.
    Deleted,
    /// A directory is created.
    DirectoryCreated,
    /// An empty directory is removed.
    DirectoryRemoved,
}

/// Amount by which the content of a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Number of lines added and removed in a text file.
    Lines(Lines),
    /// Sizes of a file that is binary before or after the change, so that its lines cannot be counted.
    Bytes {
        /// Size in bytes before the change, or 0 if the file did not exist.
        before: u64,
        /// Size in bytes after the change, or 0 if the file no longer exists.
        after: u64,
    },
}

/// Numbers of added and removed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Permission bits before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// Permission bits before the change.
    pub before: FileMode,
    /// Permission bits after the change.
    pub after: FileMode,
}

/// Returns the state of a file in the form in which receipts record it.
pub(crate) fn facts(digest: Digest, size: u64, attributes: &Attributes) -> FileState {
    FileState { sha256: digest, size, mode: attributes.mode }
}

impl Change {
    /// Returns every path that the change affects: two for a renamed file, otherwise one.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        let old = match &self.kind {
            ChangeKind::Renamed { from } => Some(from),
            ChangeKind::Created
            | ChangeKind::Modified
            | ChangeKind::Mode
            | ChangeKind::Attributes
            | ChangeKind::Deleted
            | ChangeKind::DirectoryCreated
            | ChangeKind::DirectoryRemoved => None,
        };
        iter::once(&self.path).chain(old)
    }
}

impl ChangeKind {
    /// Returns false for the creation or removal of a directory, and true for all other effects.
    pub fn is_of_file(&self) -> bool {
        match self {
            Self::Created
            | Self::Modified
            | Self::Renamed { .. }
            | Self::Mode
            | Self::Attributes
            | Self::Deleted => true,
            Self::DirectoryCreated | Self::DirectoryRemoved => false,
        }
    }
}

impl Extent {
    /// Extent of an effect that does not change any content.
    pub(crate) const NOTHING: Self = Self::Lines(Lines { added: 0, removed: 0 });

    /// Returns the numbers of added and removed lines, which are 0 for binary content.
    pub fn lines(self) -> Lines {
        match self {
            Self::Lines(lines) => lines,
            Self::Bytes { .. } => Lines::default(),
        }
    }
}

impl Lines {
    pub(crate) fn new((added, removed): (u64, u64)) -> Self {
        Self { added, removed }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            added: self.added.saturating_add(other.added),
            removed: self.removed.saturating_add(other.removed),
        }
    }

    /// Returns the line counts of the inverse change.
    pub(crate) fn reversed(self) -> Self {
        Self { added: self.removed, removed: self.added }
    }
}

/// Object at a path before or after a change.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Held<'a> {
    Nothing,
    Directory(&'a Attributes),
    File(&'a Attributes, Digest),
}

impl Change {
    /// Converts the effect to the format of receipts, which can outlive the workspace.
    pub(crate) fn effect(&self, before: Option<FileState>, after: Option<FileState>) -> PathEffect {
        let from = match &self.kind {
            ChangeKind::Renamed { from } => Some(PathName(from.clone())),
            ChangeKind::Created
            | ChangeKind::Modified
            | ChangeKind::Mode
            | ChangeKind::Attributes
            | ChangeKind::Deleted
            | ChangeKind::DirectoryCreated
            | ChangeKind::DirectoryRemoved => None,
        };
        let effect = match &self.kind {
            ChangeKind::Created => EffectKind::Created,
            ChangeKind::Modified => EffectKind::Modified,
            ChangeKind::Renamed { .. } => EffectKind::Renamed,
            ChangeKind::Mode => EffectKind::Mode,
            ChangeKind::Attributes => EffectKind::Attributes,
            ChangeKind::Deleted => EffectKind::Deleted,
            ChangeKind::DirectoryCreated => EffectKind::DirectoryCreated,
            ChangeKind::DirectoryRemoved => EffectKind::DirectoryRemoved,
        };
        let Lines { added, removed } = self.extent.lines();
        PathEffect {
            path: PathName(self.path.clone()),
            effect,
            from,
            before,
            after,
            added,
            removed,
        }
    }

    /// Returns all reported effects on a path in order. If a file replaces a directory or vice versa, the removal and the
    /// creation are separate effects.
    pub(crate) fn all(
        path: &RelPath,
        from: Option<&RelPath>,
        sides: (Held<'_>, Held<'_>),
        extent: Extent,
    ) -> impl Iterator<Item = Self> {
        use Held::{Directory, File, Nothing};
        let of_directory = |kind| {
            let extent = Extent::Lines(Lines::default());
            Some(Self { path: path.clone(), kind, extent, modes: None })
        };
        let (first, last) = match sides {
            (Directory(_), File(..)) => (of_directory(ChangeKind::DirectoryRemoved), None),
            (File(..), Directory(_)) => (None, of_directory(ChangeKind::DirectoryCreated)),
            (Nothing | Directory(_) | File(..), _) => (None, None),
        };
        first.into_iter().chain(Self::new(path, from, sides, extent)).chain(last)
    }

    /// Returns the effect on a path, or `None` if nothing changed. For a renamed file, `from` is its old path and `before`
    /// is the object at that path.
    fn new(
        path: &RelPath,
        from: Option<&RelPath>,
        (before, after): (Held<'_>, Held<'_>),
        extent: Extent,
    ) -> Option<Self> {
        use Held::{Directory, File, Nothing};
        let modes = match (before, after) {
            (File(old, _), File(new, _)) | (Directory(old), Directory(new))
                if old.mode != new.mode =>
            {
                Some(Modes { before: old.mode, after: new.mode })
            }
            (Nothing | Directory(_) | File(..), _) => None,
        };
        let renamed = from.map(|from| ChangeKind::Renamed { from: from.clone() });
        let kind = match (before, after) {
            (File(_, old), File(_, new)) if old != new => ChangeKind::Modified,
            (File(old, _), File(new, _)) | (Directory(old), Directory(new)) if old != new => {
                let but_mode = Attributes { mode: old.mode, ..new.clone() };
                if but_mode == *old { ChangeKind::Mode } else { ChangeKind::Attributes }
            }
            (File(..), File(..)) if renamed.is_some() => ChangeKind::Modified,
            (Nothing | Directory(_), File(..)) => ChangeKind::Created,
            (File(..), Nothing | Directory(_)) => ChangeKind::Deleted,
            (Nothing, Directory(_)) => ChangeKind::DirectoryCreated,
            (Directory(_), Nothing) => ChangeKind::DirectoryRemoved,
            (Nothing, Nothing) | (File(..), File(..)) | (Directory(_), Directory(_)) => {
                return None;
            }
        };
        let kind = renamed.unwrap_or(kind);
        Some(Self { path: path.clone(), kind, extent, modes })
    }
}

/// Moved files that a run reports as renamed. If a moved file replaces another file, it is reported as a modification of
/// that file instead, unless the replaced file is itself reported as renamed.
pub(crate) struct Renames<K> {
    from: BTreeMap<K, K>,
    gone: BTreeSet<K>,
}

impl<K: Copy + Ord> Renames<K> {
    /// Computes the reported renames. `moves` maps the new path of each moved file to its old path.
    pub(crate) fn new(moves: &BTreeMap<K, K>, was_file: impl Fn(K) -> bool) -> Self {
        let mut renames = Self { from: BTreeMap::new(), gone: BTreeSet::new() };
        for free in moves.keys().copied().filter(|to| !was_file(*to)) {
            let mut to = free;
            while let Some(from) = moves.get(&to).copied() {
                if !renames.gone.insert(from) {
                    break; // two moves from the same path, which only an invalid record contains
                }
                renames.from.insert(to, from);
                to = from;
            }
        }
        renames
    }

    /// Returns the old path of the file that is reported as renamed to `to`.
    pub(crate) fn from(&self, to: K) -> Option<K> {
        self.from.get(&to).copied()
    }

    /// Returns true if the file that was at `from` is reported as renamed to another path.
    pub(crate) fn is_gone(&self, from: K) -> bool {
        self.gone.contains(&from)
    }

    /// Returns the path whose old object is compared with the current object at `key`, if there is one.
    pub(crate) fn before(&self, key: K) -> Option<K> {
        self.from(key).or_else(|| (!self.is_gone(key)).then_some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renames(moves: &[(char, char)], files: &str) -> Vec<(char, char)> {
        let moves = moves.iter().map(|&(from, to)| (to, from)).collect();
        let renames = Renames::new(&moves, |path| files.contains(path));
        renames.from.into_iter().map(|(to, from)| (from, to)).collect()
    }

    /// FO-10
    #[test]
    fn rename_is_reported_only_if_the_target_was_free_or_renamed() {
        assert_eq!(renames(&[('a', 'b')], "a"), [('a', 'b')]);
        assert_eq!(renames(&[('a', 'b')], "ab"), []);
        assert_eq!(renames(&[('a', 'b'), ('c', 'a')], "ac"), [('c', 'a'), ('a', 'b')]);
        assert_eq!(renames(&[('a', 'b'), ('b', 'a')], "ab"), [], "the files are swapped");
        assert_eq!(renames(&[('a', 'b'), ('a', 'c')], "a"), [('a', 'b')], "an invalid record");
    }
}
