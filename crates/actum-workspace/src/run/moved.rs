//! Rollback of moves. A file that a run moved returns to its old path as the same inode, including everything that was
//! written to it since.
//!
//! The file only returns if the old path is free of other programs' work. If another moved file occupies the old path,
//! that file must be able to return first. Otherwise, the file remains at its new path, because a program that has it
//! open continues to write to it.

use std::collections::{BTreeSet, HashMap};
use std::io;

use crate::disk::{Disk, Kind, Rename, Stat};
use crate::error::{Result, ResultExt};
use crate::home::lost_names::DISPLACED_ENDINGS;
use crate::journal::record::{Body, FileImage, Image, Intent, Side, keep_name, stage_name};
use crate::run::publish::{Step, exchanged_name, gone_name, steps};
use crate::run::rollback::RollBack;

/// Returns the steps in rollback order. If a file was moved away and another one took its place, the move is rolled
/// back first, except where moves form a cycle.
pub(super) fn reversed(intent: &Intent, moves: &HashMap<usize, usize>) -> Vec<(Step, usize)> {
    let steps = steps(&intent.entries);
    let replaced: BTreeSet<usize> =
        steps.iter().filter(|(step, _)| *step == Step::Replace).map(|(_, index)| *index).collect();
    let mut ordered = Vec::with_capacity(steps.len());
    let mut taken = BTreeSet::new();
    for (step, index) in steps.into_iter().rev() {
        if step != Step::Replace {
            ordered.push((step, index));
            continue;
        }
        let mut chain = Vec::new();
        let mut next = Some(index);
        while let Some(at) = next.filter(|at| replaced.contains(at) && taken.insert(*at)) {
            chain.push((step, at));
            next = moves.get(&at).copied();
        }
        ordered.extend(chain.into_iter().rev());
    }
    ordered
}

/// State of the path from which a file was moved.
enum Source {
    /// True if a rollback can move the file back to this path.
    Gets(bool),
    /// A rollback can move the file back once the file of this entry, which occupies the path, has returned to its own
    /// source. The source is given as the index of its entry and the inode of the file.
    GetsAfter(usize, (u32, u64)),
}

impl<D: Disk> RollBack<'_, D> {
    /// Returns true if the file of this path, staged as `displaced`, still has the name that the run gave it by a move,
    /// wherever that name is now. Restoring the staged name would then create a second name for that file. For the
    /// first move of a cycle this is unknown, because that move is rolled back later.
    pub(super) fn is_where_it_was_moved(&self, displaced: &[u8]) -> Result<bool> {
        let Some(moved) = self.moved_to else { return Ok(false) };
        let Some(pre) = self.entry.pre.file() else { return Ok(false) };
        // The work of another program is not the file that was moved.
        let is_it = |found: &Stat| found.kind.has_content() && found.inode == pre.inode;
        let Some(displaced) = self.at_stage(displaced)?.filter(is_it) else { return Ok(false) };
        // The new name is in the stage directory until the move is published, and again after it is rolled back.
        let run = self.intent.run;
        for name in [stage_name(run, moved), exchanged_name(run, moved)] {
            if self.at_stage(&name)?.is_some_and(|other| other.inode == displaced.inode) {
                return Ok(false);
            }
        }
        Ok(displaced.links > 1 + self.count_kept_names(displaced.inode)?)
    }

    /// Returns the number of names that a file of this path has in the keep and lost directories.
    fn count_kept_names(&self, inode: u64) -> Result<u64> {
        let (disk, home) = (self.tree.disk, self.home);
        let mut names = 0;
        let kept = keep_name(self.intent.run, self.index, Side::Pre);
        let mut count = |directory: &D::Handle, name: &[u8]| -> Result<()> {
            let found = disk.stat_at(directory, name).doing(|| self.doing())?;
            names += u64::from(found.is_some_and(|found| found.inode == inode));
            Ok(())
        };
        count(&home.keep, &kept)?;
        let lost = match disk.open_directory(&home.lost, self.intent.run.to_string().as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            lost => lost.doing(|| self.doing())?,
        };
        for word in DISPLACED_ENDINGS {
            count(&lost, format!("{}.{word}", self.index).as_bytes())?;
        }
        Ok(names)
    }

    /// Returns true if a moved file is at its old path, or can return there from the stage directory because no other
    /// program's work is there. Otherwise, its new name is its only one, and must remain.
    pub(super) fn source_gets(&self, from: u32, inode: u64) -> Result<bool> {
        let mut walked = BTreeSet::from([self.index]);
        let mut moved = (from, inode);
        let gets = loop {
            match self.look_at_source(moved, &walked)? {
                Source::Gets(gets) => break gets,
                Source::GetsAfter(index, before) => {
                    if let Some(&gets) = self.gives_way.borrow().get(&index) {
                        break gets;
                    }
                    walked.insert(index);
                    moved = before;
                }
            }
        };
        // Cache the result for the whole chain of moves, so that the chain is only walked once.
        walked.remove(&self.index);
        self.gives_way.borrow_mut().extend(walked.into_iter().map(|index| (index, gets)));
        Ok(gets)
    }

    /// Examines the path from which a file was moved. The files of the entries in `walked` are known to move away,
    /// since moves can form a cycle.
    fn look_at_source(
        &self,
        (from, inode): (u32, u64),
        walked: &BTreeSet<usize>,
    ) -> Result<Source> {
        let Some(index) = usize::try_from(from).ok() else { return Ok(Source::Gets(false)) };
        let Some(entry) = self.intent.entries.get(index) else { return Ok(Source::Gets(false)) };
        let source = RollBack { entry, index, moved_to: None, ..*self };
        let is_at = |name: &[u8]| -> Result<bool> {
            Ok(self.at_stage(name)?.is_some_and(|found| found.inode == inode))
        };
        let is_removed = is_at(&gone_name(self.intent.run, index))?;
        let is_replaced = is_at(&stage_name(self.intent.run, index))?;
        let Some(parent) = source.parent()? else {
            // A directory that the run removed is restored first.
            return Ok(Source::Gets(is_removed && source.has_removed_directory()));
        };
        let there = self.tree.disk.stat_at(&parent, source.name()).doing(|| self.doing())?;
        let gets = match (there, entry.post.file()) {
            (Some(there), _) if there.inode == inode => true,
            // A directory that the run created there is removed first.
            (Some(there), _) if is_removed => {
                there.kind == Kind::Directory && entry.post.is_directory()
            }
            (None, _) if is_removed => true,
            (Some(_), Some(_)) if is_replaced && walked.contains(&index) => true,
            (Some(there), Some(post)) if is_replaced => {
                if let Body::Moved(from) = post.body
                    && there.kind.has_content()
                    && there.inode == post.inode
                {
                    return Ok(Source::GetsAfter(index, (from, post.inode)));
                }
                source.is_ours(&parent, &there, post)?
            }
            (Some(_) | None, _) => false,
        };
        Ok(Source::Gets(gets))
    }

    /// Returns true if the run removed the parent directory of the path.
    fn has_removed_directory(&self) -> bool {
        let Some(directory) = self.entry.path.parent() else { return false };
        let at = self.intent.entries.binary_search_by(|entry| entry.path.cmp(&directory));
        let entry = at.ok().and_then(|index| self.intent.entries.get(index));
        entry.is_some_and(|entry| entry.pre.is_directory() && !entry.post.is_directory())
    }

    /// Returns true if the run displaced this file from the path of an entry, and the file is still in the stage
    /// directory.
    fn is_displaced(&self, index: usize, inode: u64) -> Result<bool> {
        for name in [gone_name(self.intent.run, index), stage_name(self.intent.run, index)] {
            if self.at_stage(&name)?.is_some_and(|found| found.inode == inode) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if a staged name is an extra name of a file that the run has not moved yet, or that has already
    /// returned. A user who has since replaced, moved or removed the file did so on purpose. A staged name that is the
    /// only one of a user's edit is not extra.
    pub(super) fn is_extra_name(&self, staged: &[u8], post: &FileImage) -> Result<bool> {
        let Body::Moved(from) = post.body else { return Ok(false) };
        let Some(index) = usize::try_from(from).ok() else { return Ok(false) };
        let Some(found) = self.at_stage(staged)? else { return Ok(false) };
        if !found.kind.has_content() || found.inode != post.inode {
            return Ok(false);
        }
        let is_undisplaced = !self.is_displaced(index, post.inode)?;
        Ok(is_undisplaced && (found.links > 1 || self.holds(self.stage, staged, post)?))
    }

    /// Moves a file to its new path again if it cannot return to its old one, because another program was faster or the
    /// operating system refused. Returns the index of the entry of the new path.
    pub(super) fn give_back_moved(&self) -> Result<Option<usize>> {
        self.gives_way.borrow_mut().insert(self.index, false);
        let (Some(index), Some(pre)) = (self.moved_to, self.entry.pre.file()) else {
            return Ok(None);
        };
        let Some(entry) = self.intent.entries.get(index) else { return Ok(None) };
        let destination = RollBack { entry, index, moved_to: None, ..*self };
        let staged = stage_name(self.intent.run, index);
        let is_it = |found: Option<Stat>| found.is_some_and(|found| found.inode == pre.inode);
        // If the file is not displaced, the run never moved it, or it has already returned.
        let is_displaced = self.is_displaced(self.index, pre.inode)?;
        let is_placed = matches!(entry.pre, Image::Absent);
        let is_taken = is_placed && is_displaced && is_it(self.at_stage(&staged)?);
        if !is_taken {
            return Ok(None);
        }
        let there = self.parent().and_then(|parent| match parent {
            Some(parent) => self.tree.disk.stat_at(&parent, self.name()).doing(|| self.doing()),
            None => Ok(None),
        });
        let is_back = match there {
            // The rollback cannot have put anything at a path that the operating system refuses to show.
            Err(error) if error.refusal().is_some() => false,
            there => is_it(there?),
        };
        if is_back {
            return Ok(None);
        }
        if let Some(parent) = destination.parent()? {
            destination.place(&staged, &parent)?;
        }
        Ok(Some(index))
    }

    /// Keeps a cycle of moves if this one cannot be rolled back. If the others were rolled back, one file would have
    /// two paths, and another one none. Returns the others, each with the reason if the operating system refused.
    pub(super) fn keep_cycle(
        &self,
        moves: &HashMap<usize, usize>,
    ) -> Result<Vec<(usize, Option<String>)>> {
        let others = self.others_in_cycle(moves);
        let is_published = self.is_staged(self.index, self.entry.pre.file())?;
        if others.is_empty() || !is_published || !self.stays_moved()? {
            return Ok(Vec::new());
        }
        let mut kept = Vec::with_capacity(others.len());
        for index in others {
            let Some(entry) = self.intent.entries.get(index) else { continue };
            let refusal = match (RollBack { entry, index, moved_to: None, ..*self }).keep() {
                Err(error) => Some(error.refusal().ok_or(error)?),
                Ok(()) => None,
            };
            kept.push((index, refusal));
        }
        Ok(kept)
    }

    /// Returns the metadata of the object at the path.
    fn look(&self) -> Result<Option<Stat>> {
        let Some(parent) = self.parent()? else { return Ok(None) };
        self.tree.disk.stat_at(&parent, self.name()).doing(|| self.doing())
    }

    /// Returns true if the file that the run put at the path is still there, or if the operating system refuses to show
    /// the path.
    fn stays_moved(&self) -> Result<bool> {
        let post = self.entry.post.file().map(|post| post.inode);
        match self.look() {
            Err(error) if error.refusal().is_some() => Ok(true),
            there => Ok(there?.is_some_and(|there| Some(there.inode) == post)),
        }
    }

    /// Moves the file to its new path again, if the path has the file from before the run.
    fn keep(&self) -> Result<()> {
        let (disk, staged) = (self.tree.disk, stage_name(self.intent.run, self.index));
        if !self.is_staged(self.index, self.entry.post.file())? {
            return Ok(()); // the path is as the run left it
        }
        let Some(parent) = self.parent()? else { return Ok(()) };
        let there = disk.stat_at(&parent, self.name()).doing(|| self.doing())?;
        let pre = self.entry.pre.file().map(|pre| pre.inode);
        if there.is_none() || there.map(|there| there.inode) != pre {
            return Ok(()); // the change of another program stays
        }
        let exchange = || {
            let exchanged =
                disk.rename(self.stage, &staged, &parent, self.name(), Rename::Exchange);
            match exchanged {
                // Another program has removed one of the two files in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                exchanged => exchanged.doing(|| self.doing()),
            }
        };
        exchange()?;
        let is_it = self.is_staged(self.index, self.entry.pre.file())?;
        if !is_it && !self.is_staged(self.index, self.entry.post.file())? {
            exchange()?; // another program was faster, so its file stays
        }
        Ok(())
    }

    /// Returns true if the staged name of an entry refers to the file of this image.
    fn is_staged(&self, index: usize, image: Option<&FileImage>) -> Result<bool> {
        let found = self.at_stage(&stage_name(self.intent.run, index))?;
        Ok(found.is_some_and(|found| image.is_some_and(|image| image.inode == found.inode)))
    }

    /// Returns the other entries of the cycle of moves that contains this entry.
    fn others_in_cycle(&self, moves: &HashMap<usize, usize>) -> Vec<usize> {
        let next = |index: &usize| moves.get(index).copied();
        let mut others = Vec::new();
        let mut at = next(&self.index);
        while let Some(index) = at.filter(|_| others.len() < moves.len()) {
            if index == self.index {
                return others;
            }
            others.push(index);
            at = next(&index);
        }
        Vec::new()
    }
}
