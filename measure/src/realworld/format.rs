//! Formats in which a change can be written.

mod base64;
mod change_set;
mod codex;
mod edits;
mod places;
mod whole_files;

use std::collections::BTreeSet;

use super::Failure;
use super::change::Change;
use super::git::Found;
use super::tree::Tree;

/// Format in which a change can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Git,
    GitNoRenames,
    ChangeSet,
    Edits,
    WholeFiles,
    Codex,
}

/// Input from which a change is written in a format.
pub(super) struct Material {
    pub(super) old: Tree,
    pub(super) new: Tree,
    pub(super) changes: Vec<Change>,
    pub(super) found: Found,
    /// Git's diff with renames, and the one without.
    pub(super) diff: Vec<u8>,
    pub(super) diff_no_renames: Vec<u8>,
}

/// Written change, and the paths whose changes it contains.
pub(super) struct Written {
    pub(super) text: Vec<u8>,
    pub(super) paths: BTreeSet<Vec<u8>>,
}

impl Format {
    pub(super) const ALL: [Self; 6] = [
        Self::Git,
        Self::GitNoRenames,
        Self::ChangeSet,
        Self::Edits,
        Self::WholeFiles,
        Self::Codex,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::GitNoRenames => "git, no renames",
            Self::ChangeSet => "change set",
            Self::Edits => "edits",
            Self::WholeFiles => "whole files",
            Self::Codex => "codex",
        }
    }

    /// Writes as much of the change as the format can express.
    pub(super) fn write(self, material: &Material) -> Result<Written, Failure> {
        let all = |text: &[u8]| Written {
            text: text.to_vec(),
            paths: material.changes.iter().map(|change| change.path.clone()).collect(),
        };
        Ok(match self {
            Self::Git => all(&material.diff),
            Self::GitNoRenames => all(&material.diff_no_renames),
            Self::ChangeSet => change_set::write(material)?,
            Self::Edits => edits::write(material)?,
            Self::WholeFiles => whole_files::write(material)?,
            Self::Codex => codex::write(material),
        })
    }
}

impl Written {
    /// Returns the old tree with only the written changes applied.
    pub(super) fn result(&self, material: &Material) -> Tree {
        let mut tree = material.old.clone();
        let carried = material.changes.iter().filter(|change| self.paths.contains(&change.path));
        carried.for_each(|change| change.make_in(&mut tree));
        tree
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::change::changes;
    use super::super::git::Moved;
    use super::*;

    /// Returns the change between two trees, without git's diffs.
    pub(in super::super) fn material(
        old: &[(&str, &[u8], u32)],
        new: &[(&str, &[u8], u32)],
        moved: &[(&str, &str)],
    ) -> Material {
        let [old, new] = [old, new].map(Tree::new);
        let changes = changes(&old, &new);
        let moved = moved.iter().map(|(from, to)| Moved { from: (*from).into(), to: (*to).into() });
        let found = Found { moved: moved.collect(), copied: 0 };
        Material { old, new, changes, found, diff: Vec::new(), diff_no_renames: Vec::new() }
    }

    impl Written {
        pub(super) fn text(&self) -> &str {
            std::str::from_utf8(&self.text).unwrap()
        }

        pub(super) fn paths(&self) -> Vec<&str> {
            self.paths.iter().map(|path| std::str::from_utf8(path).unwrap()).collect()
        }
    }
}
