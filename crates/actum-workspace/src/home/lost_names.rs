//! Names of the entries of the directory `.actum/lost`.

use crate::disk::Disk;
use crate::error::{Result, ResultExt};

/// Endings of names in the lost directory of files that were displaced from the path of an entry. The ending shows
/// whether an exchange, a removal or an interrupted rollback displaced the file.
pub(crate) const DISPLACED_ENDINGS: [&str; 3] = ["displaced", "removed", "exchanged"];

/// Ending of the name of the directory that contains the images of a journal that was set aside.
pub(crate) const JOURNAL_IMAGES_ENDING: &str = ".images";

/// Lists the entries of the lost directory that a recovery displaced but attributed to no run, sorted by name. The list
/// includes the image directories of journals that were set aside. Directories of runs are left out; their names
/// contain no dot.
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
