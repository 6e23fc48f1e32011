//! Rollback of a run in the same epoch in which it was published. Because nothing was lost since then, the inodes
//! themselves show how far the run got.
//!
//! Every decision follows from the current state of the paths, never from a log of completed steps. The same code
//! therefore handles a conflict in a live run and recovery after a kill, and it can itself be killed and restarted. The
//! staged name of an entry shows whether the entry was published. Before publishing, it refers to the new inode;
//! afterwards, it refers to the displaced inode or does not exist.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io;

use actum_core::Digest;

use crate::attributes::{Attributes, PLACE, make_directory, set_attributes};
use crate::disk::{Barrier, Disk, Kind, Rename, Stat, Xattr};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::history::images::Images;
use crate::home::Home;
use crate::journal::record::{Body, Entry, FileImage, Image, Intent, Side, stage_name};
use crate::run::moved::reversed;
use crate::run::publish::{Step, exchanged_name, gone_name, set_directory_back, set_in_place};
use crate::tree::{Parent, Tree, digest_of, open_content};

/// Entries that a rollback could not restore, identified by their index in the intent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LeftEntries {
    /// Entries whose path was changed by another process.
    pub(crate) foreign: Vec<usize>,
    /// Entries that the operating system refused to change, each with the reason.
    pub(crate) refused: Vec<(usize, String)>,
}

impl LeftEntries {
    /// Returns the indices of all entries that were not restored, in ascending order.
    pub(crate) fn indices(&self) -> Vec<usize> {
        let refused = self.refused.iter().map(|(index, _)| *index);
        let mut indices: Vec<_> = self.foreign.iter().copied().chain(refused).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}

/// Rolls back the published part of `intent`. Every step is tried, so that an unwritable directory affects only its own
/// entries. Returns the entries that were not restored.
///
/// # Errors
/// Any error that a retry may resolve, such as a full disk.
pub(crate) fn roll_back<D: Disk>(
    tree: &Tree<'_, D>,
    home: &Home<D::Handle>,
    intent: &Intent,
) -> Result<LeftEntries> {
    let mut left = LeftEntries::default();
    let mut failure = None;
    let mut rolled_back = BTreeSet::new();
    let moves = intent.moves();
    let gives_way = RefCell::default();
    let mut kept = BTreeSet::new();
    for (step, index) in reversed(intent, &moves) {
        let Some(entry) = intent.entries.get(index).filter(|_| !kept.contains(&index)) else {
            continue;
        };
        let moved_to = moves.get(&index).copied().filter(|to| rolled_back.contains(to));
        rolled_back.insert(index);
        let (stage, gives_way) = (&home.stage, &gives_way);
        let back = RollBack { tree, home, stage, intent, entry, index, moved_to, gives_way };
        let verdict = match step {
            Step::Remove => back.restore_removed(),
            Step::RemoveDirectory => back.recreate_directory(),
            Step::MakeDirectory => back.take_directory_away(),
            Step::Replace => back.exchange_back(),
            Step::Place => back.take_away(),
            Step::OpenDirectory | Step::CloseDirectory | Step::SetAttributes => {
                back.restore_attributes()
            }
        };
        match verdict.and_then(|verdict| back.check_exchanged(verdict)) {
            Ok(Verdict::Before) => continue,
            Ok(Verdict::Foreign) => left.foreign.push(index),
            Err(error) => match error.refusal() {
                Some(reason) => left.refused.push((index, reason)),
                None => {
                    failure = failure.or(Some(error));
                    continue;
                }
            },
        }
        match back.give_back_moved() {
            Ok(given_back) => left.foreign.extend(given_back),
            Err(error) => match (error.refusal(), back.moved_to) {
                (Some(reason), Some(to)) => left.refused.push((to, reason)),
                _ => failure = failure.or(Some(error)),
            },
        }
        match back.keep_cycle(&moves) {
            Ok(cycle) => {
                for (index, refusal) in cycle {
                    kept.insert(index);
                    match refusal {
                        Some(reason) => left.refused.push((index, reason)),
                        None => left.foreign.push(index),
                    }
                }
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(left), Err)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The path has no remaining effect of this run.
    Before,
    /// The path has content of another program, which the rollback must not overwrite.
    Foreign,
}

pub(super) struct RollBack<'a, D: Disk> {
    pub(super) tree: &'a Tree<'a, D>,
    pub(super) home: &'a Home<D::Handle>,
    pub(super) stage: &'a D::Handle,
    pub(super) intent: &'a Intent,
    pub(super) entry: &'a Entry,
    pub(super) index: usize,
    /// Index of the entry to which the run moved this entry's file, if that move was already rolled back.
    pub(super) moved_to: Option<usize>,
    /// Cached decisions by entry index: true if the file that the run moved to the entry's path returns to its old
    /// path.
    pub(super) gives_way: &'a RefCell<HashMap<usize, bool>>,
}

impl<D: Disk> RollBack<'_, D> {
    pub(super) fn doing(&self) -> String {
        format!("restore `{}`", self.entry.path)
    }

    pub(super) fn name(&self) -> &[u8] {
        self.entry.path.name()
    }

    /// Returns the parent directory of the path, or `None` if another process replaced it by something else.
    pub(super) fn parent(&self) -> Result<Option<Parent<'_, D::Handle>>> {
        match self.tree.parent(&self.entry.path) {
            Err(error) if error.is_in_the_way() => Ok(None),
            parent => parent,
        }
    }

    /// Returns true if the path still has the new file of this run, unmodified. A file that the run moved may have been
    /// edited since, as long as it can return to its old path together with the edits.
    pub(super) fn is_ours(
        &self,
        parent: &D::Handle,
        there: &Stat,
        post: &FileImage,
    ) -> Result<bool> {
        if !there.kind.has_content() || there.inode != post.inode {
            return Ok(false);
        }
        if let Body::Moved(from) = post.body {
            return self.source_gets(from, post.inode);
        }
        let attributes = &post.attributes;
        Ok((there.mode, there.user, there.group)
            == (attributes.mode, attributes.user, attributes.group)
            && self.has_attributes(parent, &attributes.xattrs)?
            && self.holds(parent, self.name(), post)?)
    }

    /// Returns true if the file at the path has exactly these extended attributes. Labels set by a security module are
    /// ignored, because the module manages them itself (xattr(7)).
    fn has_attributes(&self, parent: &D::Handle, wanted: &[Xattr]) -> Result<bool> {
        let file = open_content(self.tree.disk, parent, self.name()).doing(|| self.doing())?;
        let present = self.tree.disk.xattrs(&file).doing(|| self.doing())?;
        let is_shown =
            |(name, _): &&Xattr| !name.starts_with(b"security.") || name == b"security.capability";
        Ok(present.iter().filter(is_shown).eq(wanted.iter().filter(is_shown)))
    }

    pub(super) fn at_stage(&self, name: &[u8]) -> Result<Option<Stat>> {
        self.tree.disk.stat_at(self.stage, name).doing(|| self.doing())
    }

    /// Returns true if a file or symbolic link still has the content and the file type of `image`.
    pub(super) fn holds(
        &self,
        directory: &D::Handle,
        name: &[u8],
        image: &FileImage,
    ) -> Result<bool> {
        Ok(self.content(directory, name)? == (image.digest, image.attributes.mode.is_link()))
    }

    /// Returns the digest of a file or symbolic link, and true if it is a link.
    fn content(&self, directory: &D::Handle, name: &[u8]) -> Result<(Digest, bool)> {
        let file = open_content(self.tree.disk, directory, name).doing(|| self.doing())?;
        let stat = self.tree.disk.stat(&file).doing(|| self.doing())?;
        let digest = digest_of(self.tree.disk, &file).doing(|| self.doing())?;
        Ok((digest, stat.mode.is_link()))
    }

    /// Returns true if a staged name refers to the new file of this entry. The inode number alone is not enough,
    /// because it can be reused once another process has removed the run's file. For a moved file the number is
    /// reliable as long as the file is at its old path or will return there. Such a file may have been edited by the
    /// user.
    fn is_new(&self, staged: &[u8], post: &FileImage) -> Result<bool> {
        match self.at_stage(staged)? {
            Some(found) if found.inode == post.inode && found.kind.has_content() => {
                match post.body {
                    Body::Moved(from) => self.source_gets(from, post.inode),
                    Body::Inline(_)
                    | Body::Kept
                    | Body::Taken(..)
                    | Body::Back
                    | Body::Untouched
                    | Body::Unrecorded => self.holds(self.stage, staged, post),
                }
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Returns true if a staged name refers to another program's file, which the run or an interrupted rollback
    /// displaced. Any file whose content is neither that from before nor that from after the run is considered foreign.
    fn is_foreign(&self, name: &[u8]) -> Result<bool> {
        match self.at_stage(name)? {
            Some(found) => Ok(!self.is_known(name, &found)?),
            None => Ok(false),
        }
    }

    /// Returns `verdict`, or `Foreign` if an interrupted rollback displaced another program's file and did not return
    /// it.
    fn check_exchanged(&self, verdict: Verdict) -> Result<Verdict> {
        let is_foreign = self.is_foreign(&exchanged_name(self.intent.run, self.index))?;
        Ok(if is_foreign { Verdict::Foreign } else { verdict })
    }

    fn exchange_back(&self) -> Result<Verdict> {
        let staged = stage_name(self.intent.run, self.index);
        let (Some(pre), Some(post)) = (self.entry.pre.file(), self.entry.post.file()) else {
            return Ok(Verdict::Before);
        };
        if self.is_new(&staged, post)? || self.is_extra_name(&staged, post)? {
            return Ok(Verdict::Before); // never published, or already rolled back
        }
        let Some(parent) = self.parent()? else {
            return Ok(Verdict::Foreign);
        };
        let disk = self.tree.disk;
        let there = disk.stat_at(&parent, self.name()).doing(|| self.doing())?;
        let ours = match there {
            Some(there) => self.is_ours(&parent, &there, post)?,
            None => false,
        };
        if !ours {
            let is_as_before = self.is_before(&parent, pre)? && !self.is_foreign(&staged)?;
            return Ok(if is_as_before { Verdict::Before } else { Verdict::Foreign });
        }
        if self.at_stage(&staged)?.is_none() || self.is_where_it_was_moved(&staged)? {
            return self.bring_back(&parent);
        }
        let exchange = || disk.rename(self.stage, &staged, &parent, self.name(), Rename::Exchange);
        exchange().doing(|| self.doing())?;
        if !self.is_new(&staged, post)? {
            exchange().doing(|| self.doing())?; // another process was faster, so its file stays
            return Ok(Verdict::Foreign);
        }
        Ok(Verdict::Before)
    }

    /// Returns true if the file at the path has the content and attributes from before the run.
    fn is_before(&self, parent: &D::Handle, pre: &FileImage) -> Result<bool> {
        let there = self.tree.disk.stat_at(parent, self.name()).doing(|| self.doing())?;
        if there.is_none_or(|there| !there.kind.has_content()) {
            return Ok(false);
        }
        let file = open_content(self.tree.disk, parent, self.name()).doing(|| self.doing())?;
        let stat = self.tree.disk.stat(&file).doing(|| self.doing())?;
        let attributes = self.tree.attributes(&file, &stat).doing(|| self.doing())?;
        let digest = digest_of(self.tree.disk, &file).doing(|| self.doing())?;
        Ok(digest == pre.digest && attributes == pre.attributes)
    }

    /// Rebuilds the old file from its recorded image, because the displaced file is no longer in the stage directory.
    fn bring_back(&self, parent: &D::Handle) -> Result<Verdict> {
        let Some(pre) = self.entry.pre.file() else { return Ok(Verdict::Before) };
        let disk = self.tree.disk;
        let images = Images { disk, home: self.home };
        let Some(bytes) = images.bytes(self.intent, self.index, Side::Pre, None)? else {
            return Ok(Verdict::Foreign);
        };
        // A separate name, used from the exchange onwards, identifies the displaced file.
        let built = [stage_name(self.intent.run, self.index), b".back".to_vec()].concat();
        let name = exchanged_name(self.intent.run, self.index);
        for left in [&built, &name] {
            // Remove files left by an earlier attempt.
            let Some(found) = self.at_stage(left)? else { continue };
            if left == &name && !self.is_known(&name, &found)? {
                return Ok(Verdict::Foreign);
            }
            disk.unlink(self.stage, left).doing(|| self.doing())?;
        }
        let wanted = (pre.attributes.mode, pre.digest);
        let made = images.make((self.stage, &built), wanted, &bytes).doing(|| self.doing())?;
        let Some(file) = made else { return Ok(Verdict::Foreign) };
        set_attributes(disk, &file, &pre.attributes)
            .map_err(|error| self.attribute_error(error))?;
        images.sync_made(&file, pre.attributes.mode, Barrier::Rebuilt).doing(|| self.doing())?;
        let there = disk.stat_at(parent, self.name()).doing(|| self.doing())?;
        // If the run leaves no file at the path, any file there belongs to another program.
        let (Some(before), Some(post)) = (there, self.entry.post.file()) else {
            return self.place(&built, parent);
        };
        disk.rename(self.stage, &built, self.stage, &name, Rename::NoReplace)
            .doing(|| self.doing())?;
        let exchange = || disk.rename(self.stage, &name, parent, self.name(), Rename::Exchange);
        exchange().doing(|| self.doing())?;
        let displaced = self.at_stage(&name)?.filter(|displaced| displaced.inode == before.inode);
        if displaced.is_none() || !self.holds(self.stage, &name, post)? {
            exchange().doing(|| self.doing())?; // another program was faster, so its file stays
            return Ok(Verdict::Foreign);
        }
        Ok(Verdict::Before)
    }

    /// Returns true if a staged file has the content that the path had before or after the run.
    fn is_known(&self, name: &[u8], found: &Stat) -> Result<bool> {
        Ok(found.kind.has_content() && self.entry.has_image_of(self.content(self.stage, name)?))
    }

    fn take_away(&self) -> Result<Verdict> {
        let staged = stage_name(self.intent.run, self.index);
        let Some(post) = self.entry.post.file() else { return Ok(Verdict::Before) };
        if self.is_new(&staged, post)? || self.is_extra_name(&staged, post)? {
            return Ok(Verdict::Before); // never published, or already rolled back
        }
        let is_staged = self.at_stage(&staged)?.is_some();
        let Some(parent) = self.parent()? else {
            return Ok(if is_staged { Verdict::Foreign } else { Verdict::Before });
        };
        if is_staged {
            return self.give_back(&staged, &parent); // an interrupted rollback had taken it
        }
        let disk = self.tree.disk;
        match disk.stat_at(&parent, self.name()).doing(|| self.doing())? {
            None => return Ok(Verdict::Before),
            Some(there) if !self.is_ours(&parent, &there, post)? => return Ok(Verdict::Foreign),
            Some(_) => {}
        }
        disk.rename(&parent, self.name(), self.stage, &staged, Rename::NoReplace)
            .doing(|| self.doing())?;
        if !self.is_new(&staged, post)? {
            return self.give_back(&staged, &parent);
        }
        Ok(Verdict::Before)
    }

    /// Returns another program's file or directory to the path from which it was taken. If the path is in use by now,
    /// the object remains in the stage directory.
    fn give_back(&self, taken: &[u8], parent: &D::Handle) -> Result<Verdict> {
        self.place(taken, parent).map(|_| Verdict::Foreign)
    }

    /// Moves a staged file to the path, unless the path is in use.
    pub(super) fn place(&self, staged: &[u8], parent: &D::Handle) -> Result<Verdict> {
        match self.tree.disk.rename(self.stage, staged, parent, self.name(), Rename::NoReplace) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Verdict::Foreign),
            renamed => renamed.doing(|| self.doing()).map(|()| Verdict::Before),
        }
    }

    fn take_directory_away(&self) -> Result<Verdict> {
        if self.at_stage(&stage_name(self.intent.run, self.index))?.is_some() {
            return Ok(Verdict::Before);
        }
        let Some(parent) = self.parent()? else {
            return Ok(Verdict::Before);
        };
        self.tree.forget(&self.entry.path);
        let Err(error) = self.tree.disk.remove_directory(&parent, self.name()) else {
            return Ok(Verdict::Before);
        };
        let theirs = match self.entry.pre {
            Image::Absent => Verdict::Before,
            Image::File(_) | Image::Directory(_) => Verdict::Foreign,
        };
        if error.kind() == io::ErrorKind::NotFound {
            Ok(Verdict::Before)
        } else if error.kind() == io::ErrorKind::DirectoryNotEmpty {
            Ok(theirs) // another process created a file in it
        } else if error.kind() == io::ErrorKind::NotADirectory {
            let there = self.tree.disk.stat_at(&parent, self.name());
            let there = there.doing(|| self.doing())?.map(|stat| stat.inode);
            // The file that was at this path before the run may already be restored.
            let back = self.entry.pre.file().is_some_and(|pre| there == Some(pre.inode));
            Ok(if back { Verdict::Before } else { theirs })
        } else {
            Err(error).doing(|| self.doing())
        }
    }

    fn recreate_directory(&self) -> Result<Verdict> {
        let Image::Directory(attributes) = &self.entry.pre else { return Ok(Verdict::Before) };
        let Some(parent) = self.parent()? else {
            return Ok(Verdict::Foreign);
        };
        let disk = self.tree.disk;
        let verdict_of = |there: Stat| match there.kind {
            Kind::Directory => Verdict::Before,
            Kind::File | Kind::Symlink | Kind::Special => Verdict::Foreign,
        };
        let there = || disk.stat_at(&parent, self.name()).doing(|| self.doing());
        if let Some(there) = there()? {
            return Ok(verdict_of(there));
        }
        let name = [stage_name(self.intent.run, self.index), b".dir".to_vec()].concat();
        make_directory(disk, self.stage, &name, attributes)
            .map_err(|error| self.attribute_error(error))?;
        match disk.rename(self.stage, &name, &parent, self.name(), Rename::NoReplace) {
            // Another program was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(there()?.map_or(Verdict::Foreign, verdict_of))
            }
            renamed => renamed.doing(|| self.doing()).map(|()| Verdict::Before),
        }
    }

    fn restore_removed(&self) -> Result<Verdict> {
        let gone = gone_name(self.intent.run, self.index);
        let is_gone = self.at_stage(&gone)?.is_some();
        let Some(parent) = self.parent()? else {
            return Ok(Verdict::Foreign);
        };
        if !is_gone {
            let there = self.tree.disk.stat_at(&parent, self.name()).doing(|| self.doing())?;
            return match there {
                Some(_) => Ok(Verdict::Before), // never removed, or already restored
                None => self.bring_back(&parent),
            };
        }
        if self.is_where_it_was_moved(&gone)? {
            return match self.entry.pre.file() {
                Some(pre) if self.is_before(&parent, pre)? => Ok(Verdict::Before),
                Some(_) | None => self.bring_back(&parent),
            };
        }
        self.place(&gone, &parent)
    }

    fn restore_attributes(&self) -> Result<Verdict> {
        if self.entry.changes_directory() {
            return match set_directory_back(self.tree, self.entry) {
                // Keep changes by another program, including anything that it put in place of the directory.
                Err(error) if error.is_in_the_way() => Ok(Verdict::Before),
                Err(Error { kind: ErrorKind::Conflict { .. }, .. }) => Ok(Verdict::Before),
                Err(Error { kind: ErrorKind::Io { source, .. }, .. })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    Ok(Verdict::Before)
                }
                set => set.map(|()| Verdict::Before),
            };
        }
        let (Some(pre), Some(post)) = (self.entry.pre.file(), self.entry.post.file()) else {
            return Ok(Verdict::Before);
        };
        let Some(parent) = self.parent()? else {
            return Ok(Verdict::Before);
        };
        let there = self.tree.disk.stat_at(&parent, self.name()).doing(|| self.doing())?;
        match there {
            Some(there) if there.inode == pre.inode => {
                let known = [&pre.attributes, &post.attributes];
                let is_known = |it: &&Attributes| {
                    (it.mode, it.user, it.group) == (there.mode, there.user, there.group)
                };
                if !known.iter().any(is_known) {
                    return Ok(Verdict::Before); // keep mode and owner set by another program
                }
                for attributes in known {
                    if self.has_attributes(&parent, &attributes.xattrs)? {
                        set_in_place(self.tree, self.entry, &self.entry.pre)?;
                        return Ok(Verdict::Before);
                    }
                }
                Ok(Verdict::Foreign)
            }
            // Another process replaced the file, so the path has nothing left of this run.
            Some(_) | None => Ok(Verdict::Before),
        }
    }

    fn attribute_error(&self, (what, source): (&'static str, io::Error)) -> Error {
        if what == PLACE {
            return ErrorKind::Io { action: self.doing(), source }.into();
        }
        ErrorKind::Attributes { path: self.entry.path.clone(), what, source }.into()
    }
}
