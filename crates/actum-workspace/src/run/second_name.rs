//! Detection of extra hard links: a run that moves a file gives it an additional name in the stage directory.

use std::collections::HashMap;

use crate::disk::{Disk, Stat};
use crate::error::{Result, ResultExt};
use crate::journal::record::{Body, Entry, Intent};
use crate::tree::Tree;

/// File moves of a run.
pub(crate) struct Moves<'i> {
    intent: &'i Intent,
    /// Maps the index of the entry from which a file was moved to the index of the entry to which it was moved.
    to: HashMap<usize, usize>,
}

impl<'i> Moves<'i> {
    pub(crate) fn new(intent: &'i Intent) -> Self {
        Self { intent, to: intent.moves() }
    }

    /// Returns true if the run moves no files.
    pub(crate) fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns true if `stat` describes the file that the run moved away from the path of the entry `index`.
    pub(crate) fn moved(&self, index: usize, stat: &Stat) -> bool {
        let pre = self.intent.entries.get(index).and_then(|entry| entry.pre.file());
        self.to.contains_key(&index) && pre.is_some_and(|pre| pre.inode == stat.inode)
    }

    /// Returns true if a staged file is the same inode as the file at the source or target path of its move. The staged
    /// name is then only an additional hard link. Nothing was displaced, and saving the file under that name would not
    /// protect it from later edits.
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
                // A path that cannot be read is assumed to be a different file.
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
