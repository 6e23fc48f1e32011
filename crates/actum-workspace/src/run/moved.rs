//! Takes moves back: a file that a run moved goes back to its old path by its inode, with what was written to it since.
//!
//! Its old path gets it only if nothing of another program is there, and before what was moved away from its new path.
//! Else it stays where it is: a program that has it open goes on writing to it.

use std::collections::{BTreeSet, HashMap};

use crate::disk::{Disk, Kind, Rename, Stat};
use crate::error::{Doing, Result};
use crate::journal::record::{Body, FileImage, Image, Intent, stage_name};
use crate::run::publish::{Step, exchanged_name, gone_name, steps};
use crate::run::rollback::RollBack;

/// The steps in the order in which they are taken back: a move before what it moved away, but where moves are a cycle.
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

/// What is at the path from which a file was moved.
enum Source {
    /// Whether the path gets the file.
    Gets(bool),
    /// The path gets it if the file of this entry, which is there, goes back to where it was moved from: an entry, and the
    /// inode of the file.
    GetsAfter(usize, (u32, u64)),
}

impl<D: Disk> RollBack<'_, D> {
    /// Whether the file of this path, which has the staged name `displaced`, still has the name that the run gave it by a move,
    /// wherever that is now. A second name at the old path would change with it. Of the first in a cycle of moves it is not
    /// known, since its move is taken back later.
    pub(super) fn is_where_it_was_moved(&self, displaced: &[u8]) -> Result<bool> {
        let Some(moved) = self.moved_to else { return Ok(false) };
        let Some(pre) = self.entry.pre.file() else { return Ok(false) };
        // Another program's work is not the file that was moved.
        let is_it = |found: &Stat| found.kind == Kind::File && found.inode == pre.inode;
        let Some(displaced) = self.at_stage(displaced)?.filter(is_it) else { return Ok(false) };
        // The name that it gets there is at hand until the move is published, and again once it is taken back.
        let run = self.intent.run;
        for name in [stage_name(run, moved), exchanged_name(run, moved)] {
            if self.at_stage(&name)?.is_some_and(|other| other.inode == displaced.inode) {
                return Ok(false);
            }
        }
        Ok(displaced.links > 1)
    }

    /// Whether the path from which a file was moved has that file, or gets it from the stage directory since nothing of
    /// another program is there. Else the name that the move gave the file is its only one, and stays.
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

    /// Looks at the path from which a file was moved. Those of `walked` give way: moves may be a cycle.
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
            // A directory that the run removed is put back first.
            return Ok(Source::Gets(is_removed && source.has_removed_directory()));
        };
        let there = self.tree.disk.stat_at(&parent, source.name()).doing(|| self.doing())?;
        let gets = match (there, entry.post.file()) {
            (Some(there), _) if there.inode == inode => true,
            // A directory that the run made there is taken away first.
            (Some(there), _) if is_removed => {
                there.kind == Kind::Directory && entry.post.is_directory()
            }
            (None, _) if is_removed => true,
            (Some(_), Some(_)) if is_replaced && walked.contains(&index) => true,
            (Some(there), Some(post)) if is_replaced => {
                if let Body::Moved(from) = post.body
                    && (there.kind, there.inode) == (Kind::File, post.inode)
                {
                    return Ok(Source::GetsAfter(index, (from, post.inode)));
                }
                source.is_ours(&parent, &there, post)?
            }
            (Some(_) | None, _) => false,
        };
        Ok(Source::Gets(gets))
    }

    /// Whether the run removed the directory of the path.
    fn has_removed_directory(&self) -> bool {
        let Some(directory) = self.entry.path.parent() else { return false };
        let at = self.intent.entries.binary_search_by(|entry| entry.path.cmp(&directory));
        let entry = at.ok().and_then(|index| self.intent.entries.get(index));
        entry.is_some_and(|entry| entry.pre.is_directory() && !entry.post.is_directory())
    }

    /// Whether a staged name is one more name of a file that the run did not move yet, or that is back: a user who
    /// replaced, moved or removed that file since meant it so. A user's edit of which it is the last name is none.
    pub(super) fn is_extra_name(&self, staged: &[u8], post: &FileImage) -> Result<bool> {
        let Body::Moved(from) = post.body else { return Ok(false) };
        let Some(index) = usize::try_from(from).ok() else { return Ok(false) };
        let Some(found) = self.at_stage(staged)? else { return Ok(false) };
        if found.kind != Kind::File || found.inode != post.inode {
            return Ok(false);
        }
        for name in [gone_name(self.intent.run, index), stage_name(self.intent.run, index)] {
            if self.at_stage(&name)?.is_some_and(|source| source.inode == post.inode) {
                return Ok(false);
            }
        }
        Ok(found.links > 1 || self.holds(self.stage, staged, post)?)
    }

    /// Gives a moved file back to the path to which the run moved it, where its old path does not get it: another program was
    /// faster, or the operating system refused. Returns the entry of that path.
    pub(super) fn give_back_moved(&self) -> Result<Option<usize>> {
        self.gives_way.borrow_mut().insert(self.index, false);
        let (Some(index), Some(pre)) = (self.moved_to, self.entry.pre.file()) else {
            return Ok(None);
        };
        let Some(entry) = self.intent.entries.get(index) else { return Ok(None) };
        let destination = RollBack { entry, index, moved_to: None, ..*self };
        let staged = stage_name(self.intent.run, index);
        let is_it = |found: Option<Stat>| found.is_some_and(|found| found.inode == pre.inode);
        let is_taken = matches!(entry.pre, Image::Absent) && is_it(self.at_stage(&staged)?);
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

    /// Keeps a cycle of moves of which this one cannot be taken back as the run made it: with the others taken back one file
    /// would have two paths, and another none. Returns the others.
    pub(super) fn keep_cycle(&self, moves: &HashMap<usize, usize>) -> Result<Vec<usize>> {
        let is_at = |name: &[u8], image: Option<&FileImage>| -> Result<bool> {
            let found = self.at_stage(name)?;
            Ok(found.is_some_and(|found| image.is_some_and(|image| image.inode == found.inode)))
        };
        let others = self.others_in_cycle(moves);
        let is_published = is_at(&stage_name(self.intent.run, self.index), self.entry.pre.file())?;
        if !is_published {
            return Ok(Vec::new());
        }
        for &index in &others {
            let Some(entry) = self.intent.entries.get(index) else { continue };
            let staged = stage_name(self.intent.run, index);
            if !is_at(&staged, entry.post.file())? {
                continue; // it is as the run made it
            }
            let other = RollBack { entry, index, moved_to: None, ..*self };
            if let Some(parent) = other.parent()? {
                let (disk, name) = (self.tree.disk, other.name());
                disk.rename(self.stage, &staged, &parent, name, Rename::Exchange)
                    .doing(|| other.doing())?;
            }
        }
        Ok(others)
    }

    /// The other entries of the cycle of moves that this one is in.
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
