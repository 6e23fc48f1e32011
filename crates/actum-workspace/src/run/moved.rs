//! Rollback of moves: a file that a run moved goes back to its old path by its inode, with what was written to it
//! since.
//!
//! Its old path gets it only if nothing of another program is there, and before the object that was moved away from its
//! new path. Otherwise it remains at its new path: a program that has it open continues to write to it.

use std::collections::{BTreeSet, HashMap};
use std::io;

use crate::disk::{Disk, Kind, Rename, Stat};
use crate::error::{Result, ResultExt};
use crate::home::lost_names::DISPLACED_ENDINGS;
use crate::journal::record::{Body, FileImage, Image, Intent, Side, keep_name, stage_name};
use crate::run::publish::{Step, exchanged_name, gone_name, steps};
use crate::run::rollback::RollBack;

/// Returns the steps in rollback order: a move before the move that it displaced, except where moves are a cycle.
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
    /// True if a rollback moves the file back there.
    Gets(bool),
    /// A rollback does so if it first moves the file of this entry, which occupies the path, back to its source: an
    /// entry, and the inode of the file.
    GetsAfter(usize, (u32, u64)),
}

impl<D: Disk> RollBack<'_, D> {
    /// Returns true if the file of this path, which has the staged name `displaced`, still has the name that the run
    /// gave it by a move, wherever that is now. A second name at the old path would change with it. Of the first move
    /// in a cycle this is unknown, since that move is rolled back later.
    pub(super) fn is_where_it_was_moved(&self, displaced: &[u8]) -> Result<bool> {
        let Some(moved) = self.moved_to else { return Ok(false) };
        let Some(pre) = self.entry.pre.file() else { return Ok(false) };
        // Another program's work is not the file that was moved.
        let is_it = |found: &Stat| found.kind.has_content() && found.inode == pre.inode;
        let Some(displaced) = self.at_stage(displaced)?.filter(is_it) else { return Ok(false) };
        // The new name is staged until the move is published, and again once the move is rolled back.
        let run = self.intent.run;
        for name in [stage_name(run, moved), exchanged_name(run, moved)] {
            if self.at_stage(&name)?.is_some_and(|other| other.inode == displaced.inode) {
                return Ok(false);
            }
        }
        Ok(displaced.links > 1 + self.count_kept_names(displaced.inode)?)
    }

    /// Counts the names that a file of the path has in the keep and lost directories.
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

    /// Returns true if the path from which a file was moved has that file, or gets it from the stage directory since
    /// nothing of another program is there. Otherwise the name that the move gave the file is its only one, and
    /// remains.
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
        // A chain of moves is walked once.
        walked.remove(&self.index);
        self.gives_way.borrow_mut().extend(walked.into_iter().map(|index| (index, gets)));
        Ok(gets)
    }

    /// Examines the path from which a file was moved. The files of the entries in `walked` move away: moves may be a
    /// cycle.
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
            // A directory that the run made there is removed first.
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

    /// Returns true if the run removed the directory of the path.
    fn has_removed_directory(&self) -> bool {
        let Some(directory) = self.entry.path.parent() else { return false };
        let at = self.intent.entries.binary_search_by(|entry| entry.path.cmp(&directory));
        let entry = at.ok().and_then(|index| self.intent.entries.get(index));
        entry.is_some_and(|entry| entry.pre.is_directory() && !entry.post.is_directory())
    }

    /// Returns true if the run displaced this file from the path of an entry, and it is still in the stage directory.
    fn is_displaced(&self, index: usize, inode: u64) -> Result<bool> {
        for name in [gone_name(self.intent.run, index), stage_name(self.intent.run, index)] {
            if self.at_stage(&name)?.is_some_and(|found| found.inode == inode) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if a staged name is an extra name of a file that the run did not move yet, or that is back. If a
    /// user replaced, moved or removed that file since, this was intended. A staged name that is the last one of a
    /// user's edit is not extra.
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

    /// Moves a file again to the path to which the run moved it, if its old path does not get it. Either another
    /// program was faster, or the operating system refused. Returns the entry of that path.
    pub(super) fn give_back_moved(&self) -> Result<Option<usize>> {
        self.gives_way.borrow_mut().insert(self.index, false);
        let (Some(index), Some(pre)) = (self.moved_to, self.entry.pre.file()) else {
            return Ok(None);
        };
        let Some(entry) = self.intent.entries.get(index) else { return Ok(None) };
        let destination = RollBack { entry, index, moved_to: None, ..*self };
        let staged = stage_name(self.intent.run, index);
        let is_it = |found: Option<Stat>| found.is_some_and(|found| found.inode == pre.inode);
        // The run never moved the file, or it is back, unless it is displaced.
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
            // What the operating system refuses to show was not put there.
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

    /// Keeps a cycle of moves if this one cannot be rolled back: with the others rolled back one file would have two
    /// paths, and another none. Returns the others, each with the reason of the operating system if it refused.
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

    /// Reads the facts about the object at the path.
    fn look(&self) -> Result<Option<Stat>> {
        let Some(parent) = self.parent()? else { return Ok(None) };
        self.tree.disk.stat_at(&parent, self.name()).doing(|| self.doing())
    }

    /// Returns true if the file that the run put at the path is still there, as far as the operating system shows it.
    fn stays_moved(&self) -> Result<bool> {
        let post = self.entry.post.file().map(|post| post.inode);
        match self.look() {
            Err(error) if error.refusal().is_some() => Ok(true),
            there => Ok(there?.is_some_and(|there| Some(there.inode) == post)),
        }
    }

    /// Moves the file to its new path again, if the file from before is there.
    fn keep(&self) -> Result<()> {
        let (disk, staged) = (self.tree.disk, stage_name(self.intent.run, self.index));
        if !self.is_staged(self.index, self.entry.post.file())? {
            return Ok(()); // it is as the run made it
        }
        let Some(parent) = self.parent()? else { return Ok(()) };
        let there = disk.stat_at(&parent, self.name()).doing(|| self.doing())?;
        let pre = self.entry.pre.file().map(|pre| pre.inode);
        if there.is_none() || there.map(|there| there.inode) != pre {
            return Ok(()); // what another program did stays
        }
        let exchange = || {
            let exchanged =
                disk.rename(self.stage, &staged, &parent, self.name(), Rename::Exchange);
            match exchanged {
                // Another program was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                exchanged => exchanged.doing(|| self.doing()),
            }
        };
        exchange()?;
        let is_it = self.is_staged(self.index, self.entry.pre.file())?;
        if !is_it && !self.is_staged(self.index, self.entry.post.file())? {
            exchange()?; // another program was faster: its file stays
        }
        Ok(())
    }

    /// Returns true if the staged name of an entry refers to this file.
    fn is_staged(&self, index: usize, image: Option<&FileImage>) -> Result<bool> {
        let found = self.at_stage(&stage_name(self.intent.run, index))?;
        Ok(found.is_some_and(|found| image.is_some_and(|image| image.inode == found.inode)))
    }

    /// Returns the other entries of the cycle of moves that this one is in.
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
