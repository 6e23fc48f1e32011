//! Second names: a run that moves a file gives it another name in the stage directory.

use crate::disk::{Disk, Stat};
use crate::error::{Doing, Result};
use crate::journal::record::{Body, Entry, Intent};
use crate::tree::Tree;

/// Whether a staged file of an entry is the one at a path of its move, so that the staged name is only its second one:
/// nothing was displaced, and a saved copy would change with the file.
///
/// # Errors
/// `Io`.
pub(crate) fn is_second_name<D: Disk>(
    tree: &Tree<'_, D>,
    intent: &Intent,
    index: usize,
    stat: &Stat,
) -> Result<bool> {
    let source = |entry: &Entry| {
        let Body::Moved(from) = &entry.post.file()?.body else { return None };
        usize::try_from(*from).ok()
    };
    let of = intent.entries.get(index).and_then(source);
    let is_of_move = |(at, entry): &(usize, &Entry)| {
        *at == index || Some(*at) == of || source(entry) == Some(index)
    };
    let moved = intent.entries.iter().enumerate().filter(is_of_move);
    if moved.clone().count() < 2 || stat.links < 2 {
        return Ok(false);
    }
    for (_, entry) in moved {
        let parent = match tree.parent(&entry.path) {
            Err(error) if error.is_in_the_way() => continue,
            parent => parent?,
        };
        let Some(parent) = parent else { continue };
        let there = tree.disk.stat_at(&parent, entry.path.name());
        let there = there.doing(|| "look for displaced files".to_owned())?;
        if there.is_some_and(|there| there.inode == stat.inode) {
            return Ok(true);
        }
    }
    Ok(false)
}
