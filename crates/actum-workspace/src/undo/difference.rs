//! Comparison of paths with their state before or after a run.

use crate::disk::Disk;
use crate::error::{Difference, Error, ErrorKind, NotAFile, Result};
use crate::journal::record::{Entry, Image, Intent};
use crate::run::publish::is_under_its_own;
use crate::transaction::Transaction;
use crate::transaction::node::Pre;

impl<D: Disk> Transaction<'_, D> {
    /// Returns how the path of `entry` differs from its state after the run, or `None` if it does not.
    pub(super) fn difference(
        &mut self,
        intent: &Intent,
        entry: &Entry,
    ) -> Result<Option<Difference>> {
        let pre = match self.node(&entry.path) {
            Ok(node) => &node.pre,
            Err(Error { kind: ErrorKind::NotAFile { found, .. }, .. }) => {
                return Ok(Some(Difference::NotAFile(found)));
            }
            // This run replaced the parent directory by a file or a link, whose own entry is checked separately.
            Err(error)
                if matches!(entry.post, Image::Absent)
                    && is_under_its_own(&error, &intent.entries) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Ok(match (&entry.post, pre) {
            (Image::Absent, Pre::Absent) => None,
            (Image::Absent, Pre::File(_)) => Some(Difference::FileThere),
            (Image::Absent, Pre::Directory(now)) => match &entry.pre {
                // If the directory is now open to more users, the undo would expose the restored files to them.
                Image::Directory(before) => {
                    now.is_more_open_than(before).then_some(Difference::Attributes)
                }
                Image::Absent | Image::File(_) => Some(Difference::DirectoryThere),
            },
            (Image::Directory(left), Pre::Directory(now)) if entry.changes_directory() => {
                (left != now).then_some(Difference::Attributes)
            }
            (Image::Directory(_), Pre::Absent) if entry.changes_directory() => {
                Some(Difference::Gone)
            }
            (Image::Directory(_), Pre::Directory(_) | Pre::Absent) => None,
            (Image::Directory(_), Pre::File(_)) => Some(Difference::FileThere),
            (Image::File(_), Pre::Absent) => Some(Difference::Gone),
            (Image::File(_), Pre::Directory(_)) => Some(Difference::DirectoryThere),
            (Image::File(post), Pre::File(file))
                if post.attributes.mode.is_link() != file.attributes.mode.is_link() =>
            {
                Some(match file.attributes.mode.is_link() {
                    true => Difference::NotAFile(NotAFile::Symlink),
                    false => Difference::FileThere,
                })
            }
            (Image::File(post), Pre::File(file)) if post.digest != file.digest => {
                Some(Difference::Content)
            }
            (Image::File(post), Pre::File(file)) => {
                (post.attributes != file.attributes).then_some(Difference::Attributes)
            }
        })
    }

    /// Returns true if every path is in its state from before the run.
    pub(super) fn is_as_before(&mut self, intent: &Intent) -> Result<bool> {
        Ok(intent.entries.iter().all(|entry| self.entry_is_as_before(entry)))
    }

    /// Returns true if the path of `entry` is in its state from before the run.
    pub(super) fn entry_is_as_before(&mut self, entry: &Entry) -> bool {
        match (&entry.pre, self.node(&entry.path).map(|node| &node.pre)) {
            (Image::Directory(before), Ok(Pre::Directory(now))) if entry.changes_directory() => {
                before == now
            }
            (Image::Directory(before), Ok(Pre::Directory(now))) => !now.is_more_open_than(before),
            (Image::Absent, Ok(Pre::Absent)) => true,
            (Image::File(pre), Ok(Pre::File(file))) => {
                pre.digest == file.digest && pre.attributes == file.attributes
            }
            (Image::Absent | Image::Directory(_) | Image::File(_), _) => false,
        }
    }
}
