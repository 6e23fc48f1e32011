//! Second names: a run that moves a file gives it another name in the stage directory.

use std::collections::HashMap;

use crate::disk::{Disk, Stat};
use crate::error::{Result, ResultExt};
use crate::journal::record::{Body, Entry, Intent};
use crate::tree::Tree;

/// Moves of a run.
pub(crate) struct Moves<'i> {
    intent: &'i Intent,
    /// The entry from which a file was moved, and the one to which.
    to: HashMap<usize, usize>,
}

impl<'i> Moves<'i> {
    pub(crate) fn new(intent: &'i Intent) -> Self {
        Self { intent, to: intent.moves() }
    }

    /// Returns true if the run moves no file.
    pub(crate) fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns true if the file is the one that the run moved away from the path of an entry.
    pub(crate) fn moved(&self, index: usize, stat: &Stat) -> bool {
        let pre = self.intent.entries.get(index).and_then(|entry| entry.pre.file());
        self.to.contains_key(&index) && pre.is_some_and(|pre| pre.inode == stat.inode)
    }

    /// Returns true if a staged file of an entry is the one at a path of its move. Then the staged name is only its
    /// second one: nothing was displaced, and a saved copy would change with the file.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn is_second_name<D: Disk>(
        &self,
        tree: &Tree<'_, D>,
        index: usize,
        stat: &Stat,
    ) -> Result<bool> {
        let entries = &self.intent.entries;
        let source = |entry: &Entry| {
            let Body::Moved(from) = &entry.post.file()?.body else { return None };
            usize::try_from(*from).ok()
        };
        let own = entries.get(index);
        let others = [own.and_then(source), self.to.get(&index).copied()];
        let others = others.into_iter().flatten().filter_map(|index| entries.get(index));
        if others.clone().next().is_none() || stat.links < 2 {
            return Ok(false);
        }
        for entry in own.into_iter().chain(others) {
            let parent = match tree.parent(&entry.path) {
                // A path that cannot be read is not taken for the file.
                Err(error) if error.is_in_the_way() || error.refusal().is_some() => continue,
                parent => parent?,
            };
            let Some(parent) = parent else { continue };
            let there = tree.disk.stat_at(&parent, entry.path.name());
            let there = match there.doing(|| "look for displaced files".to_owned()) {
                Err(error) if error.refusal().is_some() => continue,
                there => there?,
            };
            if there.is_some_and(|there| there.inode == stat.inode) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
