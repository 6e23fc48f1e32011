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

/// What a rebuild did.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) rewritten: Vec<RelPath>,
    /// Run and entry, as indices, of paths that hold someone else's work.
    pub(crate) foreign: Vec<(usize, usize)>,
    /// Run and entry of paths that the operating system refused to show or to change, with its reason.
    pub(crate) refused: Vec<((usize, usize), String)>,
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
    /// The runs that changed names in each directory, `None` being the root.
    directory_runs: HashMap<Option<RelPath>, Vec<DirectoryRun>>,
    /// The periods in which recoveries changed the tree: an earlier one that was killed, and this one once it starts.
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
            // From here on stamps may be recovery's own.
            self.begin()?;
        }
        // First whatever is in the way, deepest first; then what is missing, shallowest first.
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
        // A directory may be closed to its owner by its attributes, so it gets them last.
        let closed = opened.into_iter().map(|(path, record)| (path, record, Task::Adjust));
        let mut directories: Vec<_> = directories.into_iter().chain(closed).collect();
        directories.sort_by(|one, other| other.0.cmp(one.0));
        directories.dedup_by_key(|(path, ..)| *path);
        for (path, record, task) in others.into_iter().chain(directories) {
            let done = self.put_right(path, record, task);
            match rebuilt.or_note_refusal(record, done)? {
                Some(Installed::Done) => rebuilt.rewritten.push(path.clone()),
                // The directory it was in has become something else since.
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
    /// Opens directories that a run closed to their owner, so that recovery can read them. Each gets the attributes that it had before
    /// or after the run. Returns the opened directories.
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
            // Any other attributes are those of another program. A path that cannot be reached is reported when it is judged.
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

    /// Notes that this recovery starts to change the tree.
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

    /// Removes what is in the way, unless another program changed it since all paths were judged.
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
    /// Returns the result of a step, or `None` if the operating system refused it. Notes the refusal, so that the other
    /// paths are still put right.
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
