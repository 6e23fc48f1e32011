//! Recovery after the file system may have lost something: nothing about the tree can be assumed,
//! so every path of the journal is compared with the image it should hold.
//!
//! The wanted image of a path is its post-image where its last run is committed, else its
//! pre-image. Only what is ours is touched: the path is missing, or its inode is one that a run
//! recorded and nobody wrote to it since. Such a file may hold anything: without a journal ext4
//! writes sizes before bytes and names before inodes, so that a file shows old blocks of the disk
//! and a name leads to an inode that was given away. What is put right then and was recorded
//! nowhere goes to the lost directory. Everything else is someone's work and stays.

mod install;
mod judge;
mod told;
mod unrecorded;

use std::collections::HashMap;

use actum_core::RelPath;

use self::install::Installed;
use self::told::{Fold, Recorded, changed_directories, recorded};
use crate::disk::{Disk, Time};
use crate::error::Result;
use crate::recovery::Told;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// What a rebuild did.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) rewritten: Vec<RelPath>,
    /// Run and entry, as indices, of paths that hold someone else's work.
    pub(crate) foreign: Vec<(usize, usize)>,
}

/// What must be done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Install,
    /// Only the attributes are not as wanted.
    Adjust,
    /// Someone else's work, which does not stand in the way of anything.
    LaterEdit,
    Foreign,
}

impl<D: Disk> Workspace<D> {
    /// Makes the tree hold what the journal says.
    pub(crate) fn rebuild(&self, told: &[Told]) -> Result<Rebuilt> {
        let rebuilder = Rebuilder {
            workspace: self,
            tree: Tree::new(&self.disk, &self.home.root),
            told,
            recorded: recorded(told),
            changed: changed_directories(told),
            began: self.home.rebuild_began(&self.disk)?,
        };
        rebuilder.run()
    }
}

struct Rebuilder<'a, D: Disk> {
    workspace: &'a Workspace<D>,
    tree: Tree<'a, D>,
    told: &'a [Told],
    recorded: HashMap<u64, Recorded>,
    /// The directories in which runs changed names, `None` being the root, each with the time when
    /// the last of these runs ended, or `None` where nobody ended it.
    changed: HashMap<Option<RelPath>, Option<Time>>,
    /// When a recovery that was cut off had begun to change things.
    began: Option<Time>,
}

impl<D: Disk> Rebuilder<'_, D> {
    fn run(&self) -> Result<Rebuilt> {
        let folds = self.fold();
        let mut rebuilt = Rebuilt::default();
        let mut work: Vec<(&RelPath, &Fold, Verdict)> = Vec::new();
        for (path, fold) in &folds {
            match self.judge(path, fold)? {
                Verdict::Right | Verdict::LaterEdit => {}
                verdict @ (Verdict::Install | Verdict::Adjust) => work.push((path, fold, verdict)),
                Verdict::Foreign => rebuilt.foreign.push((fold.wanted.run, fold.wanted.entry)),
            }
        }
        if !work.is_empty() {
            // From here on stamps may be recovery's own.
            self.workspace.home.begin_rebuild(&self.workspace.disk)?;
        }
        // First whatever is in the way, deepest first; then what is missing, shallowest first.
        let mut blocked = Vec::new();
        for &(path, fold, verdict) in work.iter().rev() {
            if verdict == Verdict::Install && !self.clear_the_way(path, fold)? {
                blocked.push(path);
            }
        }
        for &(path, fold, verdict) in &work {
            let done = !blocked.contains(&path)
                && match verdict {
                    Verdict::Install => match self.install(path, fold)? {
                        // The directory it was in has become something else since.
                        Installed::InTheWay if fold.ended.is_some() => continue,
                        Installed::InTheWay | Installed::NoBytes => false,
                        Installed::Done => true,
                    },
                    Verdict::Adjust => self.adjust(fold)?,
                    Verdict::Right | Verdict::LaterEdit | Verdict::Foreign => true,
                };
            if done {
                rebuilt.rewritten.push(path.clone());
            } else {
                rebuilt.foreign.push((fold.wanted.run, fold.wanted.entry));
            }
        }
        Ok(rebuilt)
    }
}
