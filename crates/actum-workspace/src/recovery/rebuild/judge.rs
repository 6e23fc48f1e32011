//! Decides which program owns the object at a path, and what the recovery must do there.

use actum_core::{Digest, RelPath};

use super::index::{FoundDirectory, InodeRecord, PathRecord};
use super::unrecorded::BLOCK;
use super::{Rebuilder, Task};
use crate::attributes::Attributes;
use crate::disk::{Disk, Stat, Time};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::journal::record::{Body, FileImage, Image};
use crate::tree::{Found, digest_of};

impl<D: Disk> Rebuilder<'_, D> {
    /// Returns the object at a path. If the path leads through something that is not a directory, nothing exists at it.
    pub(super) fn find(&self, path: &RelPath) -> Result<Found<D::Handle>> {
        match self.tree.find(path) {
            Err(error) if error.is_in_the_way() => Ok(Found::Nothing),
            found => found,
        }
    }

    pub(super) fn judge(&self, path: &RelPath, record: &PathRecord) -> Result<Task> {
        let Some(wanted) = self.image(record.wanted) else { return Ok(Task::Right) };
        let found = match self.find(path) {
            Err(Error { kind: ErrorKind::OtherFileSystem { .. }, .. }) => {
                return Ok(self.not_ours(record));
            }
            found => found?,
        };
        Ok(match (wanted, found) {
            (Image::Directory(wanted), Found::Directory) => {
                self.judge_directory(path, record, wanted)?
            }
            (Image::Absent, Found::Nothing) => Task::Right,
            (Image::File(_) | Image::Directory(_), Found::Nothing)
                if self.was_changed_around(path, record)? =>
            {
                Task::LaterEdit
            }
            (Image::File(file), Found::Nothing) => match file.body {
                // The run only changed attributes, so it did not remove the file.
                Body::Untouched if self.bytes(&record.known, record.wanted)?.is_none() => {
                    Task::LaterEdit
                }
                Body::Inline(_)
                | Body::Kept
                | Body::Taken(..)
                | Body::Back
                | Body::Moved(_)
                | Body::Untouched
                | Body::Unrecorded => Task::Install,
            },
            (Image::Directory(_), Found::Nothing) => Task::Install,
            (_, Found::Other(_)) => self.not_ours(record),
            (Image::Absent | Image::File(_), Found::Directory) => {
                let mut known = record.known.iter().filter_map(|&known| self.image(known));
                let ours = known.any(Image::is_directory) || self.was_a_directory(path)?;
                if ours && !self.was_changed_around(path, record)? {
                    Task::Install
                } else {
                    self.not_ours(record)
                }
            }
            (wanted, Found::File(stat, file)) => {
                self.judge_file(path, record, wanted, &stat, &file)?
            }
        })
    }

    /// Determines the task for a directory that should exist. Its new attributes may be lost, or may not have been
    /// rolled back. Any other attributes were set by another program.
    fn judge_directory(
        &self,
        path: &RelPath,
        record: &PathRecord,
        wanted: &Attributes,
    ) -> Result<Task> {
        let Some(entry) = self.entry(record.wanted).filter(|it| it.changes_directory()) else {
            return Ok(Task::Right);
        };
        let other = if record.is_committed { &entry.pre } else { &entry.post };
        let doing = || format!("look at the directory `{path}`");
        let parent = self.tree.existing_parent(path)?;
        let disk = &self.workspace.disk;
        let seen = disk.stat_at(&parent, path.name()).doing(doing)?;
        // A directory that is closed to its owner cannot be opened, so compare the metadata first.
        let is_as_wanted =
            |it: Stat| (it.mode, it.user, it.group) == (wanted.mode, wanted.user, wanted.group);
        if seen.is_some_and(is_as_wanted) {
            return Ok(Task::Right);
        }
        let directory = disk.open_directory(&parent, path.name()).doing(doing)?;
        let stat = disk.stat(&directory).doing(doing)?;
        let now = self.tree.attributes(&directory, &stat).doing(doing)?;
        // If another program restored the old attributes after the run, the change time is newer than the run.
        let is_lost = !self.is_later(record.ended, stat.changed, 0);
        let is_other = matches!(other, Image::Directory(other) if now == *other);
        Ok(if now != *wanted && is_other && is_lost { Task::Adjust } else { Task::Right })
    }

    /// Returns true if the object at a path is the earlier content of an inode that a run later used for one of its
    /// files. This happens if a power cut lost the later content.
    pub(super) fn was_a_directory(&self, path: &RelPath) -> Result<bool> {
        let parent = self.tree.existing_parent(path)?;
        let stat = self.workspace.disk.stat_at(&parent, path.name());
        let stat = stat.doing(|| format!("look at `{path}`"))?;
        Ok(stat.is_some_and(|stat| {
            let recorded = self.recorded.get(&stat.inode);
            recorded.is_some_and(|recorded| stat.last_change() <= recorded.announced)
        }))
    }

    /// Returns the record of an inode, if its content has not been modified since the INTENT of the last run that
    /// recorded it.
    pub(super) fn recorded_before(&self, stat: &Stat) -> Option<&InodeRecord> {
        let recorded = self.recorded.get(&stat.inode)?;
        (stat.modified <= recorded.announced).then_some(recorded)
    }

    fn is_of_a_recorded_size(&self, recorded: &InodeRecord, stat: &Stat) -> bool {
        self.files(recorded).any(|file| file.size == stat.size)
    }

    pub(super) fn is_an_image(&self, recorded: &InodeRecord, stat: &Stat, digest: &Digest) -> bool {
        let content = (*digest, stat.mode.is_link());
        self.files(recorded).any(|it| (it.digest, it.attributes.mode.is_link()) == content)
    }

    fn files<'s>(&'s self, recorded: &'s InodeRecord) -> impl Iterator<Item = &'s FileImage> {
        recorded.images.iter().filter_map(|&image| self.image(image).and_then(Image::file))
    }

    /// Returns the task for the work of another program. It is a later edit if the run has ended. If the run must still
    /// be rolled back, the user must resolve the path.
    fn not_ours(&self, record: &PathRecord) -> Task {
        if record.ended.is_some() { Task::LaterEdit } else { Task::Foreign }
    }

    /// Returns true if another program set this timestamp after the end of a run. A timestamp within the period of a
    /// recovery is never considered later, because the recovery may have set it.
    fn is_later(&self, ended: Option<Time>, stamp: Time, slack: i64) -> bool {
        ended.is_some_and(|ended| stamp.0 > ended.0.saturating_add(slack))
            && !self.changed.borrow().iter().any(|recovery| recovery.holds(stamp))
    }

    /// Returns true if another program changed names in any directory above a path after the last run on the path. In
    /// that case, a missing file was removed instead of lost, and an old file that is back was put there. File systems
    /// with a journal write changes of names in order, so the earlier changes of the run are durable.
    fn was_changed_around(&self, path: &RelPath, record: &PathRecord) -> Result<bool> {
        let parent = match self.tree.parent(path) {
            Ok(parent) => parent,
            // Another object is in the place of a parent directory.
            Err(error) if error.is_in_the_way() => return Ok(false),
            Err(error) => return Err(error),
        };
        if self.was_directory_changed(path, parent.as_deref(), record)? {
            return Ok(true);
        }
        path.parent().map_or(Ok(false), |directory| self.was_changed_around(&directory, record))
    }

    /// Returns true if another program moved `directory`, the parent of `path`, or changed names in it after the last
    /// run of `record`. Later runs recorded the time of the last change that they found. Changes are therefore detected
    /// even if the directory no longer exists.
    fn was_directory_changed(
        &self,
        path: &RelPath,
        directory: Option<&D::Handle>,
        record: &PathRecord,
    ) -> Result<bool> {
        let mut ended = record.ended;
        let runs = self.directory_runs.get(&path.parent()).into_iter().flatten();
        for later in runs.filter(|it| it.run > record.wanted.run) {
            match later.found {
                FoundDirectory::ChangedAt(found) if self.is_later(ended, found, 0) => {
                    return Ok(true);
                }
                FoundDirectory::Unknown => return Ok(true),
                FoundDirectory::ChangedAt(_) | FoundDirectory::RemovedByRun => ended = later.ended,
            }
        }
        let Some(directory) = directory else { return Ok(false) };
        let stat = self.workspace.disk.stat(directory);
        let stat = stat.doing(|| format!("look at the directory of `{path}`"))?;
        Ok(self.is_later(ended, stat.last_change(), 0))
    }

    /// Determines the task for a file. The file is actum's own if a run recorded its inode at this path, no program has
    /// written to it since, and a power cut can leave its content.
    fn judge_file(
        &self,
        path: &RelPath,
        record: &PathRecord,
        wanted: &Image,
        stat: &Stat,
        file: &D::Handle,
    ) -> Result<Task> {
        let doing = || "compare a file with the journal".to_owned();
        let digest = digest_of(&self.workspace.disk, file).doing(doing)?;
        let attributes = self.tree.attributes(file, stat).doing(doing)?;
        let known = || self.known_files(record).filter(|(_, known)| known.inode == stat.inode);
        let is_wanted = |wanted: &&FileImage| {
            wanted.digest == digest && wanted.attributes.mode.is_link() == stat.mode.is_link()
        };
        if let Some(wanted) = wanted.file().filter(is_wanted) {
            let lost = match record.ended {
                // A committed run set the attributes before its INTENT, or its later change of them was lost. A newer
                // change time comes from another program, even if it changed the file while the run was publishing.
                Some(_) if record.is_committed => stat.changed <= record.announced,
                // Attributes that were restored before the end may be lost. Later ones are an edit.
                Some(ended) => stat.changed <= ended,
                None => {
                    stat.changed <= record.announced
                        || self.known_files(record).any(|(_, known)| known.attributes == attributes)
                }
            };
            return Ok(if wanted.attributes == attributes || known().next().is_none() || !lost {
                Task::Right
            } else {
                Task::Adjust
            });
        }
        let Some(recorded) = self.recorded_before(stat).filter(|_| known().next().is_some()) else {
            return Ok(self.not_ours(record));
        };
        let touched = self.is_later(recorded.ended, stat.changed, recorded.slack);
        // A power cut can leave the inode with the content from before the run or a part of the new content. It can
        // also leave the right size, but old blocks of the disk. Any other content was written by another program,
        // however old its timestamp is. The same applies to a complete image that was last changed after the run, or
        // that was put there by a later change of names. A power cut may also follow a change of the attributes, and it
        // truncates a file at a block boundary.
        let is_recorded_size = self.is_of_a_recorded_size(recorded, stat);
        let ours = if self.is_an_image(recorded, stat, &digest) {
            !touched && !self.was_changed_around(path, record)?
        } else {
            stat.changed <= recorded.announced
                || (!touched && is_recorded_size)
                || (!touched || is_recorded_size || stat.size.is_multiple_of(BLOCK as u64))
                    && self.is_torn(stat, file)?
        };
        Ok(if ours { Task::Install } else { self.not_ours(record) })
    }
}
