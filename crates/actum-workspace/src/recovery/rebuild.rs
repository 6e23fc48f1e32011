//! Recovery after the file system may have lost writes. Nothing about the tree can be assumed, so every path in the
//! journal is compared with the image that it should have.
//!
//! The wanted image of a path is its post-image if the last run on it was committed, and otherwise its pre-image.
//! Recovery only touches a path if it is missing, or if its file is actum's own. A file is actum's own if a run
//! recorded its inode, no process has written to it since, and a power cut can leave its content. The timestamps of the
//! file prove that no process wrote to it. Without a journal, ext4 writes sizes before bytes and names before inodes.
//! The content can therefore be old blocks of the disk, or belong to an earlier use of the inode. Replaced content that
//! was recorded nowhere is moved to the lost directory. Everything else is the work of another program and is left
//! unchanged.

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

/// Result of restoring the tree to the state that the journal records.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) rewritten: Vec<RelPath>,
    /// Paths that contain the work of another program, as indices of the run and the entry.
    pub(crate) foreign: Vec<(usize, usize)>,
    /// Paths that the operating system refused to read or to change, as indices of the run and the entry, with the
    /// reason.
    pub(crate) refused: Vec<((usize, usize), String)>,
    /// Names in the lost directory of displaced content that was recorded nowhere.
    pub(crate) saved: Vec<String>,
}

/// Task of the recovery at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Do nothing, because the path has the wanted image.
    Right,
    /// Install the wanted image.
    Install,
    /// Set the attributes, because only they differ from the wanted image.
    Adjust,
    /// Do nothing, because another program changed the path after the run. The path does not become blocked.
    LaterEdit,
    /// Leave another program's work at the path unchanged, and block the path until the user resolves it.
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
    /// Runs that changed names in each directory; the key of the root is `None`.
    directory_runs: HashMap<Option<RelPath>, Vec<DirectoryRun>>,
    /// Periods in which recoveries changed the tree: earlier ones that did not finish, and this one once it changes
    /// something.
    changed: RefCell<Vec<RebuildTime>>,
    /// Note of this recovery, which is written once it changes something.
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
            // From here on, timestamps may have been set by this recovery.
            self.begin()?;
        }
        // First remove objects that block a path, deepest first. Then install missing ones, shallowest first.
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
        // Attributes of directories are set last, because they may deny access to the owner.
        let closed = opened.into_iter().map(|(path, record)| (path, record, Task::Adjust));
        let mut directories: Vec<_> = directories.into_iter().chain(closed).collect();
        directories.sort_by(|one, other| other.0.cmp(one.0));
        directories.dedup_by_key(|(path, ..)| *path);
        for (path, record, task) in others.into_iter().chain(directories) {
            let done = self.restore_path(path, record, task);
            match rebuilt.or_note_refusal(record, done)? {
                Some(Installed::Done) => rebuilt.rewritten.push(path.clone()),
                // Another object has replaced the parent directory of the path since.
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
    /// Makes directories accessible that a run closed to their owner, so that recovery can read them. Each gets the
    /// attributes from before or after the run that allow access. Returns the directories that were changed.
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
            // Any other attributes were set by another program. A path that cannot be reached is reported when it is
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

    /// Durably records that this recovery starts to change the tree.
    fn begin(&self) -> Result<()> {
        let Workspace { home, disk, journal, .. } = self.workspace;
        let note = home.begin_rebuild(disk, journal.first_sequence(), &self.changed.borrow())?;
        self.changed.borrow_mut().push(RebuildTime { began: note.began, ended: None });
        drop(self.note.set(note)); // not set yet, since a recovery begins only once
        Ok(())
    }

    fn touch(&self) -> Result<()> {
        self.note.get().map_or(Ok(()), |note| note.touch(&self.workspace.disk))
    }

    /// Removes an object that blocks the path, unless another program has changed the path since it was judged. Returns
    /// false if the object cannot be removed.
    fn clear_if_unchanged(&self, path: &RelPath, record: &PathRecord) -> Result<bool> {
        self.touch()?;
        match self.judge(path, record)? {
            Task::Install => self.clear_the_way(path, record),
            Task::Right | Task::Adjust | Task::LaterEdit | Task::Foreign => Ok(true),
        }
    }

    /// Installs or adjusts a path, unless another program has changed it since it was judged.
    fn restore_path(&self, path: &RelPath, record: &PathRecord, task: Task) -> Result<Installed> {
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
    /// Returns the result of a step, or `None` if the operating system refused it. The refusal is recorded, so that the
    /// other paths are still restored.
    fn or_note_refusal<T>(&mut self, record: &PathRecord, step: Result<T>) -> Result<Option<T>> {
        match step {
            Ok(done) => Ok(Some(done)),
            Err(error) => match error.refusal() {
                // In any other state, a displaced file is not saved yet. The recovery fails, and the next attempt saves
                // the file.
                Some(reason) if error.state == State::Unchanged => {
                    self.refused.push((record.place(), reason));
                    Ok(None)
                }
                Some(_) | None => Err(error),
            },
        }
    }
}
