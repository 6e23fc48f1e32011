//! Names in the directory `.actum/lost`.

use crate::disk::Disk;
use crate::error::{Result, ResultExt};

/// Endings of the names that displaced files of an entry get in the lost directory: by an exchange, by a removal, and
/// by a rollback that was killed.
pub(crate) const DISPLACED_ENDINGS: [&str; 3] = ["displaced", "removed", "exchanged"];

/// End of the name of the directory with the images of a journal that was set aside.
pub(crate) const JOURNAL_IMAGES_ENDING: &str = ".images";

/// Lists the entries of the lost directory that a recovery displaced and attributed to no run, and the directories with
/// the images of journals that were set aside, sorted. The directory of a run has no dot in its name.
///
/// # Errors
/// `Io` if the directory cannot be listed.
pub(crate) fn list_saved<D: Disk>(disk: &D, lost: &D::Handle) -> Result<Vec<Vec<u8>>> {
    let mut names = disk.list(lost).doing(|| "list the saved files".to_owned())?;
    names.retain(|name| {
        let is_journal =
            name.starts_with(b"journal.") && !name.ends_with(JOURNAL_IMAGES_ENDING.as_bytes());
        name.contains(&b'.') && !is_journal
    });
    names.sort();
    Ok(names)
}
