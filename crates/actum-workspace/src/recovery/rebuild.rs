//! Recovery after the file system may have lost something: nothing about the tree can be assumed, so every path of the
//! journal is compared with the image it should hold.
//!
//! The wanted image of a path is its post-image where its last run is committed, otherwise its pre-image. Recovery
//! touches a path only in two cases: it is missing, or its file is actum's own. A file is actum's own if a run recorded
//! its inode, no process wrote to it since (its stamps prove it), and a power cut can leave its content. Without a
//! journal ext4 writes sizes before bytes and names before inodes. So that content may be old blocks of the disk, or an
//! inode as it was before it was reused. Replaced content that was recorded nowhere goes to the lost directory.
//! Everything else is the work of another program and remains.

mod index;
mod install;
mod judge;
mod unrecorded;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};

use actum_core::RelPath;

use self::index::{DirectoryRun, InodeRecord, PathRecord, directory_runs, inode_records};
use self::install::Installed;
use crate::disk::Disk;
use crate::error::{Result, State};
use crate::home::{RebuildNote, RebuildTime};
use crate::journal::record::Image;
use crate::journal::runs::LoggedRun;
use crate::run::publish::{is_open, set_in_place};
use crate::tree::{Found, Tree};
use crate::workspace::Workspace;

/// Result of a rebuild.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) rewritten: Vec<RelPath>,
    /// Run and entry, as indices, of paths that hold the work of another program.
    pub(crate) foreign: Vec<(usize, usize)>,
    /// Run and entry of paths that the operating system refused to show or to change, with its reason.
    pub(crate) refused: Vec<((usize, usize), String)>,
    /// Displaced content that was recorded nowhere, by its name in the lost directory.
    pub(crate) saved: Vec<String>,
}

/// Task at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Right,
    Install,
    /// Only the attributes differ from the wanted ones.
    Adjust,
    /// The work of another program, which blocks nothing.
    LaterEdit,
    Foreign,
}

impl<D: Disk> Workspace<D> {
    /// Restores the tree to the state that the journal records.
    pub(crate) fn rebuild(&self, runs: &[LoggedRun]) -> Result<Rebuilt> {
        let rebuilder = Rebuilder {
            workspace: self,
            tree: Tree::new(&self.disk, &self.home.root),
            runs,
            recorded: inode_records(runs),
            directory_runs: directory_runs(runs),
            changed: RefCell::new(
                self.home.rebuild_times(&self.disk, self.journal.first_sequence())?,
            ),
            note: OnceCell::new(),
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
    /// Runs that changed names in each directory, `None` being the root.
    directory_runs: HashMap<Option<RelPath>, Vec<DirectoryRun>>,
    /// Periods in which recoveries changed the tree: an earlier one that was killed, and this one once it starts.
    changed: RefCell<Vec<RebuildTime>>,
    /// The note of this recovery, once it changes something.
    note: OnceCell<RebuildNote<D::Handle>>,
    saved: RefCell<Vec<String>>,
}

impl<D: Disk> Rebuilder<'_, D> {
    fn run(&self) -> Result<Rebuilt> {
        self.rescue_displaced()?;
        let records = self.path_records();
        let mut rebuilt = Rebuilt::default();
        let opened = self.open_directories(&records)?;
        let mut work: Vec<(&RelPath, &PathRecord, Task)> = Vec::new();
        for (path, record) in &records {
            match rebuilt.or_note_refusal(record, self.judge(path, record))? {
                Some(Task::Right | Task::LaterEdit) | None => {}
                Some(task @ (Task::Install | Task::Adjust)) => work.push((path, record, task)),
                Some(Task::Foreign) => rebuilt.foreign.push(record.place()),
            }
        }
        if !work.is_empty() && self.note.get().is_none() {
            // From here on stamps may be the recovery's own.
            self.begin()?;
        }
        // First remove whatever blocks a path, deepest first; then install what is missing, shallowest first.
        let mut blocked = Vec::new();
        for &(path, record, task) in work.iter().rev() {
            if task == Task::Install {
                match rebuilt.or_note_refusal(record, self.clear_if_unchanged(path, record))? {
                    Some(true) => {}
                    Some(false) => {
                        rebuilt.foreign.push(record.place());
                        blocked.push(path);
                    }
                    None => blocked.push(path),
                }
            }
        }
        let is_directory =
            |record: &PathRecord| self.image(record.wanted).is_some_and(Image::is_directory);
        let (directories, others): (Vec<_>, Vec<_>) = work
            .iter()
            .filter(|(path, ..)| !blocked.contains(path))
            .copied()
            .partition(|(_, record, task)| *task == Task::Adjust && is_directory(record));
        // Attributes may close a directory to its owner, so they are set last.
        let closed = opened.into_iter().map(|(path, record)| (path, record, Task::Adjust));
        let mut directories: Vec<_> = directories.into_iter().chain(closed).collect();
        directories.sort_by(|one, other| other.0.cmp(one.0));
        directories.dedup_by_key(|(path, ..)| *path);
        for (path, record, task) in others.into_iter().chain(directories) {
            let done = self.put_right(path, record, task);
            match rebuilt.or_note_refusal(record, done)? {
                Some(Installed::Done) => rebuilt.rewritten.push(path.clone()),
                // The directory of the path has been replaced by another object since.
                Some(Installed::InTheWay) if record.ended.is_some() => {}
                Some(Installed::NotEmpty) | None => {}
                Some(Installed::InTheWay | Installed::NoBytes) => {
                    rebuilt.foreign.push(record.place());
                }
            }
        }
        self.drop_displaced()?;
        rebuilt.saved = self.saved.take();
        Ok(rebuilt)
    }
}

impl<D: Disk> Rebuilder<'_, D> {
    /// Opens directories that a run closed to their owner, so that recovery can read them. Each gets the attributes
    /// that it had before or after the run. Returns the opened directories.
    fn open_directories<'r>(
        &self,
        records: &'r BTreeMap<RelPath, PathRecord>,
    ) -> Result<Vec<(&'r RelPath, &'r PathRecord)>> {
        let mut opened = Vec::new();
        for (path, record) in records {
            let Some(entry) = self.entry(record.wanted).filter(|it| it.changes_directory()) else {
                continue;
            };
            let images = [&entry.pre, &entry.post];
            let open = images.iter().find(|it| matches!(it, Image::Directory(it) if is_open(it)));
            let has_more = records.keys().any(|other| other != path && other.starts_with(path));
            let (Some(open), true) = (open, has_more) else { continue };
            let now = match self.find(path) {
                Ok(Found::Directory) => self.tree.directory_attributes(path),
                Ok(Found::Nothing | Found::File(..) | Found::Other(_)) | Err(_) => continue,
            };
            // Any other attributes are those of another program. A path that cannot be reached is reported when it is
            // judged.
            let Ok(now) = now else { continue };
            let is_closed = !is_open(&now)
                && images.iter().any(|it| matches!(it, Image::Directory(it) if *it == now));
            if !is_closed {
                continue;
            }
            if self.note.get().is_none() {
                self.begin()?;
            }
            self.touch()?;
            set_in_place(&self.tree, entry, open)?;
            opened.push((path, record));
        }
        Ok(opened)
    }

    /// Records that this recovery starts to change the tree.
    fn begin(&self) -> Result<()> {
        let Workspace { home, disk, journal, .. } = self.workspace;
        let note = home.begin_rebuild(disk, journal.first_sequence(), &self.changed.borrow())?;
        self.changed.borrow_mut().push(RebuildTime { began: note.began, ended: None });
        drop(self.note.set(note)); // it begins once
        Ok(())
    }

    fn touch(&self) -> Result<()> {
        self.note.get().map_or(Ok(()), |note| note.touch(&self.workspace.disk))
    }

    /// Removes an object that blocks the path, unless another program changed it since all paths were judged.
    fn clear_if_unchanged(&self, path: &RelPath, record: &PathRecord) -> Result<bool> {
        self.touch()?;
        match self.judge(path, record)? {
            Task::Install => self.clear_the_way(path, record),
            Task::Right | Task::Adjust | Task::LaterEdit | Task::Foreign => Ok(true),
        }
    }

    /// Installs or adjusts a path, unless another program changed it since all paths were judged.
    fn put_right(&self, path: &RelPath, record: &PathRecord, task: Task) -> Result<Installed> {
        self.touch()?;
        match (task, self.judge(path, record)?) {
            (Task::Install, Task::Install) => self.install(path, record),
            (_, Task::Adjust) => self.adjust(record).map(|()| Installed::Done),
            (_, Task::Right) => Ok(Installed::Done),
            (_, Task::Install | Task::LaterEdit | Task::Foreign) => Ok(Installed::InTheWay),
        }
    }
}

impl Rebuilt {
    /// Returns the result of a step, or `None` if the operating system refused it. Records the refusal, so that the
    /// other paths are still restored.
    fn or_note_refusal<T>(&mut self, record: &PathRecord, step: Result<T>) -> Result<Option<T>> {
        match step {
            Ok(done) => Ok(Some(done)),
            Err(error) => match error.refusal() {
                // A displaced file that is not kept yet is kept by the next attempt.
                Some(reason) if error.state == State::Unchanged => {
                    self.refused.push((record.place(), reason));
                    Ok(None)
                }
                Some(_) | None => Err(error),
            },
        }
    }
}
