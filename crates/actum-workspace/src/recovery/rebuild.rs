//! Recovery after the file system may have lost something: nothing about the tree can be assumed,
//! so every path of the journal is compared with the image it should hold.
//!
//! The wanted image of a path is its post-image where its last run is committed, else its
//! pre-image. Only what is ours is touched: the path is missing, or its inode is one that a run
//! recorded, its stamps say that nobody wrote to it since, and it holds what a cut can leave there.
//! Without a journal ext4 writes sizes before bytes and names before inodes, so that may be old
//! blocks of the disk, or an inode as it was before it was given away. What is put right and was
//! recorded nowhere goes to the lost directory. Everything else is someone's work and stays.

mod index;
mod install;
mod judge;
mod unrecorded;

use std::cell::RefCell;
use std::collections::HashMap;

use actum_core::RelPath;

use self::index::{DirectoryRun, InodeRecord, PathRecord, directory_runs, inode_records};
use self::install::Installed;
use crate::disk::{Disk, Time};
use crate::error::Result;
use crate::journal::runs::LoggedRun;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// What a rebuild did.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) rewritten: Vec<RelPath>,
    /// Run and entry, as indices, of paths that hold someone else's work.
    pub(crate) foreign: Vec<(usize, usize)>,
    /// What was displaced and recorded nowhere, by its name in the lost directory.
    pub(crate) saved: Vec<String>,
}

/// What must be done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
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
    pub(crate) fn rebuild(&self, runs: &[LoggedRun]) -> Result<Rebuilt> {
        let rebuilder = Rebuilder {
            workspace: self,
            tree: Tree::new(&self.disk, &self.home.root),
            runs,
            recorded: inode_records(runs),
            directory_runs: directory_runs(runs),
            began: self.home.rebuild_began(&self.disk)?,
            saved: RefCell::default(),
        };
        rebuilder.run()
    }
}

struct Rebuilder<'a, D: Disk> {
    workspace: &'a Workspace<D>,
    tree: Tree<'a, D>,
    runs: &'a [LoggedRun],
    recorded: HashMap<u64, InodeRecord>,
    /// The runs that changed names in each directory, `None` being the root.
    directory_runs: HashMap<Option<RelPath>, Vec<DirectoryRun>>,
    /// When a recovery that was cut off had begun to change things.
    began: Option<Time>,
    saved: RefCell<Vec<String>>,
}

impl<D: Disk> Rebuilder<'_, D> {
    fn run(&self) -> Result<Rebuilt> {
        let records = self.path_records();
        let mut rebuilt = Rebuilt::default();
        let mut work: Vec<(&RelPath, &PathRecord, Task)> = Vec::new();
        for (path, record) in &records {
            match self.judge(path, record)? {
                Task::Right | Task::LaterEdit => {}
                task @ (Task::Install | Task::Adjust) => work.push((path, record, task)),
                Task::Foreign => rebuilt.foreign.push((record.wanted.run, record.wanted.entry)),
            }
        }
        if !work.is_empty() {
            // From here on stamps may be recovery's own.
            self.workspace.home.begin_rebuild(&self.workspace.disk)?;
        }
        // First whatever is in the way, deepest first; then what is missing, shallowest first.
        let mut blocked = Vec::new();
        for &(path, record, task) in work.iter().rev() {
            if task == Task::Install && !self.clear_the_way(path, record)? {
                blocked.push(path);
            }
        }
        for &(path, record, task) in &work {
            let done = !blocked.contains(&path)
                && match task {
                    Task::Install => match self.install(path, record)? {
                        // The directory it was in has become something else since.
                        Installed::InTheWay if record.ended.is_some() => continue,
                        Installed::InTheWay | Installed::NoBytes => false,
                        Installed::Done => true,
                    },
                    Task::Adjust => self.adjust(record)?,
                    Task::Right | Task::LaterEdit | Task::Foreign => true,
                };
            if done {
                rebuilt.rewritten.push(path.clone());
            } else {
                rebuilt.foreign.push((record.wanted.run, record.wanted.entry));
            }
        }
        rebuilt.saved = self.saved.take();
        Ok(rebuilt)
    }
}
