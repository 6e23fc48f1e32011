//! Effects of a run on each path, as they are reported.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::path_name::PathName;
use actum_core::{Digest, FileMode, FileState, RelPath};
use actum_record::receipt::{EffectKind, PathEffect};

use crate::attributes::Attributes;

/// Effect of a run on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path; the new one of a renamed file.
    pub path: RelPath,
    /// Kind of the effect.
    pub kind: ChangeKind,
    /// By how much the content changes.
    pub extent: Extent,
    /// The permission bits of a file or directory that exists before and after, where they change.
    pub modes: Option<Modes>,
}

/// Kind of effect on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// A file appears.
    Created,
    /// A file's bytes change.
    Modified,
    /// A file comes from another path; its bytes may change as well.
    Renamed {
        /// Path of the file before.
        from: RelPath,
    },
    /// Only the permission bits of a file or directory change.
    Mode,
    /// Only owner or extended attributes of a file or directory change, perhaps with its permission bits.
    Attributes,
    /// A file disappears.
    Deleted,
    /// A directory appears.
    DirectoryCreated,
    /// An empty directory disappears.
    DirectoryRemoved,
}

/// Size of a change of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Lines are added and removed.
    Lines(Lines),
    /// The content is binary on one side at least, and has no lines.
    Bytes {
        /// The size before, in bytes; 0 where no file existed.
        before: u64,
        /// The size after.
        after: u64,
    },
}

/// Number of added and removed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// Permission bits before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// The bits before.
    pub before: FileMode,
    /// The bits after.
    pub after: FileMode,
}

/// Returns the recorded facts of a file.
pub(crate) fn facts(digest: Digest, size: u64, attributes: &Attributes) -> FileState {
    FileState { sha256: digest, size, mode: attributes.mode }
}

impl ChangeKind {
    /// Returns true if the effect is on a file, and not on a directory.
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
    /// Unchanged content.
    pub(crate) const NOTHING: Self = Self::Lines(Lines { added: 0, removed: 0 });

    /// Returns the lines; none where the content is binary.
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

    /// Returns the lines of the inverse change.
    pub(crate) fn reversed(self) -> Self {
        Self { added: self.removed, removed: self.added }
    }
}

/// Object at a path on one side of a change.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Held<'a> {
    Nothing,
    Directory(&'a Attributes),
    File(&'a Attributes, Digest),
}

impl Change {
    /// Converts the effect for a record that outlives the workspace.
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

    /// Returns all reported effects on a path, in order. Where a file replaces a directory, or the other way round,
    /// both are reported.
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

    /// Returns the effect on a path, if it changed. `from` is the old path of a renamed file, and `before` the object
    /// that was there.
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

/// Moved files that a run reports as renamed. A file that replaced another one is reported as its effect on that one,
/// unless the other is reported as renamed itself.
pub(crate) struct Renames<K> {
    from: BTreeMap<K, K>,
    gone: BTreeSet<K>,
}

impl<K: Copy + Ord> Renames<K> {
    /// Computes the renames from the old path of each moved file, keyed by its new path.
    pub(crate) fn new(moves: &BTreeMap<K, K>, was_file: impl Fn(K) -> bool) -> Self {
        let mut renames = Self { from: BTreeMap::new(), gone: BTreeSet::new() };
        for free in moves.keys().copied().filter(|to| !was_file(*to)) {
            let mut to = free;
            while let Some(from) = moves.get(&to).copied() {
                if !renames.gone.insert(from) {
                    break; // moved twice, which no sound record says
                }
                renames.from.insert(to, from);
                to = from;
            }
        }
        renames
    }

    /// Returns the old key of a file that is reported as renamed to `to`.
    pub(crate) fn from(&self, to: K) -> Option<K> {
        self.from.get(&to).copied()
    }

    /// Returns true if the file that was at `from` is reported as renamed to another path.
    pub(crate) fn is_gone(&self, from: K) -> bool {
        self.gone.contains(&from)
    }

    /// Returns the key whose old object is compared with the current object at `key`.
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
    fn a_file_is_told_as_renamed_where_no_other_was_or_that_one_was_renamed() {
        assert_eq!(renames(&[('a', 'b')], "a"), [('a', 'b')]);
        assert_eq!(renames(&[('a', 'b')], "ab"), []);
        assert_eq!(renames(&[('a', 'b'), ('c', 'a')], "ac"), [('c', 'a'), ('a', 'b')]);
        assert_eq!(renames(&[('a', 'b'), ('b', 'a')], "ab"), [], "they change places");
        assert_eq!(renames(&[('a', 'b'), ('a', 'c')], "a"), [('a', 'b')], "no sound record");
    }
}
