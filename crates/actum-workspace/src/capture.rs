//! Captures: directories below `.actum/captures` that take the changes of commands, on the file system of the
//! workspace. A run takes files from there by hard links, so no content is copied or held in memory.
//!
//! ```text
//! captures/ID/lock    held as long as the command runs and its change is made; has a note about the command
//! captures/ID/plans   ids of the queued plans that need the content
//! captures/ID/upper/  changes of the command, in the form of overlayfs
//! captures/ID/work/   work directory of overlayfs
//! ```
//!
//! A capture is synced only when a plan needs it: without a plan, the capture of a killed process is removed.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use actum_core::{FileMode, RelPath, RunId};

use crate::STATE_DIRECTORY;
use crate::disk::{Barrier, Disk, Kind, Stat, Time};
use crate::error::{Error, Result, ResultExt};
use crate::file_by_path::OpenedDirectory;
use crate::tree::read_whole;
use crate::workspace::Workspace;

const DIRECTORY: &[u8] = b"captures";
const LOCK: &[u8] = b"lock";
const PLANS: &[u8] = b"plans";
const UPPER: &[u8] = b"upper";
/// Size limit of the file with the ids of plans, in bytes. This program never writes a larger one.
const PLANS_BYTES_MAX: u64 = 1 << 20;
/// Size limit of the note about a running command, which has its arguments, in bytes.
const NOTE_BYTES_MAX: u64 = 16 << 20;
/// Age in nanoseconds from which a capture without a lock is stale: its process would have locked it.
const UNLOCKED_AGE: i64 = 60_000_000_000;
/// Depth to which directories are removed. Captured changes are at most 128 deep.
const DEPTH_MAX: u32 = 256;

/// Directory that takes the changes of one command. A drop removes it, unless a queued plan needs it.
pub struct Capture<D: Disk> {
    disk: D,
    captures: D::Handle,
    id: RunId,
    _lock: D::Handle,
}

impl<D: Disk> Capture<D> {
    /// Returns its id.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Returns the path below the root of the workspace.
    pub fn path(&self) -> PathBuf {
        [STATE_DIRECTORY, "captures", &self.id.to_string()].iter().collect()
    }
}

impl<D: Disk> Drop for Capture<D> {
    fn drop(&mut self) {
        let name = self.id.to_string().into_bytes();
        let plans = self.disk.open_directory(&self.captures, &name);
        let plans = plans.and_then(|capture| self.disk.stat_at(&capture, PLANS));
        // Leftovers are swept later.
        if !matches!(plans, Ok(Some(_))) {
            remove_below(&self.disk, &self.captures, &name, DEPTH_MAX);
        }
    }
}

/// Capture of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCapture {
    /// Note about the command.
    pub note: Vec<u8>,
    /// Paths that the command changed so far, and directories that lead to them.
    pub paths: u64,
    /// Bytes of the files that it left so far.
    pub bytes: u64,
}

impl<D: Disk> Workspace<D> {
    /// Makes an empty capture with a note about the command. It is locked until it is dropped. The command's view makes
    /// `upper` and `work` in it.
    ///
    /// # Errors
    /// `Io`
    pub fn make_capture(&self, note: &[u8]) -> Result<Capture<D>>
    where
        D: Clone,
    {
        let doing = || "make a capture".to_owned();
        let captures = self.made_captures().doing(doing)?;
        loop {
            let id = RunId::from_random(self.disk.random().doing(doing)?);
            let name = id.to_string().into_bytes();
            let disk = &self.disk;
            disk.make_directory(&captures, &name, FileMode::PRIVATE_DIRECTORY).doing(doing)?;
            let directory = disk.open_directory(&captures, &name).doing(doing)?;
            let lock = disk.create(&directory, LOCK, FileMode::PRIVATE).doing(doing)?;
            // Another process that took it for a stale capture holds the lock, and removes it.
            if disk.lock(&lock, false).doing(doing)? {
                disk.write_at(&lock, note, 0).doing(doing)?;
                let disk = disk.clone();
                return Ok(Capture { disk, captures, id, _lock: lock });
            }
        }
    }

    fn made_captures(&self) -> io::Result<D::Handle> {
        match self.disk.make_directory(&self.home.state, DIRECTORY, FileMode::PRIVATE_DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        self.disk.open_directory(&self.home.state, DIRECTORY)
    }

    /// Opens the directory of captures; `None` if it is missing.
    fn captures(&self) -> Result<Option<D::Handle>> {
        match self.disk.open_directory(&self.home.state, DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open `.actum/captures`".to_owned()).map(Some),
        }
    }

    /// Makes the content of a capture durable, and keeps it until the plan is carried out or leaves the queue.
    ///
    /// # Errors
    /// `Io`, also if the capture is missing.
    pub(crate) fn keep_capture(&self, id: RunId, plan: RunId) -> Result<()> {
        let doing = || "keep the capture for the queued plan".to_owned();
        let disk = &self.disk;
        let captures = self.made_captures().doing(doing)?;
        let capture = disk.open_directory(&captures, id.to_string().as_bytes()).doing(doing)?;
        let plans = match disk.create(&capture, PLANS, FileMode::PRIVATE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk.open_own(&capture, PLANS).doing(doing)?
            }
            created => created.doing(doing)?,
        };
        let end = disk.stat(&plans).doing(doing)?.size;
        disk.write_at(&plans, plan.to_string().as_bytes(), end).doing(doing)?;
        disk.sync_all(&capture, Barrier::Lost).doing(doing)
    }

    /// Opens a capture to take files from it, possibly for a queued plan; `None` if it is missing. No other process
    /// removes it meanwhile.
    pub(crate) fn open_capture(
        &self,
        id: RunId,
        plan: Option<RunId>,
    ) -> Result<Option<OpenedCapture<D::Handle>>> {
        let Some(captures) = self.captures()? else { return Ok(None) };
        let open = || -> io::Result<_> {
            let directory = self.disk.open_directory(&captures, id.to_string().as_bytes())?;
            let lock = self.disk.open_own(&directory, LOCK)?;
            // If it is locked, the process that ran the command holds the lock, and waits for this run.
            let is_locked = self.disk.lock(&lock, false)?;
            let upper = self.disk.open_directory(&directory, UPPER)?;
            let lock = is_locked.then_some(lock);
            let is_shared = self.plans_of(&directory)?.into_iter().any(|it| Some(it) != plan);
            let upper = Arc::new(OpenedDirectory::new(upper));
            Ok(OpenedCapture { upper, is_shared, _lock: lock })
        };
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open a capture".to_owned()).map(Some),
        }
    }

    /// Removes files of a capture that a run took, and the capture, unless a plan needs it. Leftovers are swept later.
    pub(crate) fn remove_taken(
        &self,
        id: RunId,
        capture: &OpenedCapture<D::Handle>,
        taken: &[RelPath],
    ) {
        if capture.is_shared {
            return;
        }
        let tree = capture.upper.tree(&self.disk);
        for path in taken {
            if let Ok(Some(parent)) = tree.parent(path) {
                drop(self.disk.unlink(&parent, path.name()));
            }
        }
        let Ok(Some(captures)) = self.captures() else { return };
        let name = id.to_string().into_bytes();
        let plans = self.disk.open_directory(&captures, &name);
        if matches!(plans.and_then(|it| self.disk.stat_at(&it, PLANS)), Ok(None)) {
            remove_below(&self.disk, &captures, &name, DEPTH_MAX);
        }
    }

    /// Removes the captures that no process uses, except those that a plan in `open_plans` needs. `open_plans` is
    /// called only if a capture lists a plan. Returns the number of removed captures.
    ///
    /// # Errors
    /// Errors of `open_plans`; `Io` if the captures cannot be listed.
    pub fn sweep_captures<E: From<Error>>(
        &self,
        open_plans: impl FnOnce() -> std::result::Result<BTreeSet<RunId>, E>,
    ) -> std::result::Result<usize, E> {
        let Some(captures) = self.captures()? else { return Ok(0) };
        let mut left = Vec::new();
        for capture in self.unused_captures(&captures)? {
            // If its plans cannot be read, it may be needed.
            if let Ok(plans) = self.plans_of(&capture.directory) {
                left.push((plans, capture));
            }
        }
        let open_plans = match left.iter().any(|(plans, _)| !plans.is_empty()) {
            true => open_plans()?,
            false => BTreeSet::new(),
        };
        left.retain(|(plans, _)| plans.is_disjoint(&open_plans));
        let remove = |(_, Unused { name, .. }): &(_, Unused<D>)| {
            remove_below(&self.disk, &captures, name, DEPTH_MAX)
        };
        Ok(left.iter().filter(|left| remove(left)).count())
    }

    /// Lists the captures of commands that run, or whose change is being made.
    ///
    /// # Errors
    /// `Io` if the captures cannot be listed.
    pub fn running_captures(&self) -> Result<Vec<RunningCapture>> {
        let doing = || "look at the captures".to_owned();
        let Some(captures) = self.captures()? else { return Ok(Vec::new()) };
        let mut running = Vec::new();
        for name in self.disk.list(&captures).doing(doing)? {
            // The command of a capture that is missing or cannot be opened does not run.
            let Ok(directory) = self.disk.open_directory(&captures, &name) else { continue };
            let Ok(lock) = self.disk.open_own(&directory, LOCK) else { continue };
            if !matches!(self.disk.lock(&lock, false), Ok(false)) {
                continue;
            }
            let size = self.disk.stat(&lock).doing(doing)?.size;
            if size > NOTE_BYTES_MAX {
                continue; // of no command
            }
            let note = read_whole(&self.disk, &lock, size).doing(doing)?;
            let mut found = RunningCapture { note, paths: 0, bytes: 0 };
            if let Ok(upper) = self.disk.open_directory(&directory, UPPER) {
                self.count_below(&upper, DEPTH_MAX, &mut found);
            }
            running.push(found);
        }
        Ok(running)
    }

    /// Counts the changes of a command so far. It still runs, so entries that cannot be read are not counted.
    fn count_below(&self, directory: &D::Handle, depth: u32, found: &mut RunningCapture) {
        for name in self.disk.list(directory).unwrap_or_default() {
            let Ok(Some(stat)) = self.disk.stat_at(directory, &name) else { continue };
            found.paths = found.paths.saturating_add(1);
            match stat.kind {
                Kind::File => found.bytes = found.bytes.saturating_add(stat.size),
                Kind::Directory if depth > 0 => {
                    if let Ok(inside) = self.disk.open_directory(directory, &name) {
                        self.count_below(&inside, depth - 1, found);
                    }
                }
                Kind::Directory | Kind::Symlink | Kind::Special => {}
            }
        }
    }

    /// Removes names in captures of files that a run took: the run was published, but its process ended before it
    /// removed them. A file that has all its names in captures is needed.
    pub(crate) fn sweep_taken_files(&self) {
        let Ok(Some(captures)) = self.captures() else { return };
        for left in self.unused_captures(&captures).unwrap_or_default() {
            let Ok(upper) = self.disk.open_directory(&left.directory, UPPER) else { continue };
            let mut names = HashMap::new();
            self.names_with_others(Arc::new(upper), DEPTH_MAX, &mut names);
            for (links, names) in names.into_values() {
                if u64::try_from(names.len()).is_ok_and(|own| own < links) {
                    for (directory, name) in names {
                        drop(self.disk.unlink(&directory, &name)); // it is found again later
                    }
                }
            }
        }
    }

    /// Finds files with several names in and below a directory: by inode, the number of all names, and those below the
    /// directory.
    #[expect(clippy::type_complexity, reason = "it is named once")]
    fn names_with_others(
        &self,
        directory: Arc<D::Handle>,
        depth: u32,
        found: &mut HashMap<u64, (u64, Vec<(Arc<D::Handle>, Vec<u8>)>)>,
    ) {
        for name in self.disk.list(&directory).unwrap_or_default() {
            match self.disk.stat_at(&directory, &name) {
                Ok(Some(Stat { kind: Kind::File, links, inode, .. })) if links > 1 => {
                    let names = found.entry(inode).or_insert((links, Vec::new()));
                    names.1.push((Arc::clone(&directory), name));
                }
                Ok(Some(Stat { kind: Kind::Directory, .. })) if depth > 0 => {
                    if let Ok(inside) = self.disk.open_directory(&directory, &name) {
                        self.names_with_others(Arc::new(inside), depth - 1, found);
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Lists the captures that no process uses, each locked until it is dropped.
    fn unused_captures(&self, captures: &D::Handle) -> Result<Vec<Unused<D>>> {
        let doing = || "look for stale captures".to_owned();
        let mut unused = Vec::new();
        for name in self.disk.list(captures).doing(doing)? {
            let Ok(directory) = self.disk.open_directory(captures, &name) else { continue };
            let lock = match self.disk.open_own(&directory, LOCK) {
                Ok(lock) if matches!(self.disk.lock(&lock, false), Ok(true)) => Some(lock),
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => continue,
            };
            let stat = self.disk.stat(&directory).doing(doing)?;
            if lock.is_some() || is_old(stat.changed, self.disk.now()) {
                unused.push(Unused { name, directory, _lock: lock });
            }
        }
        Ok(unused)
    }

    /// Reads the plans that need a capture.
    fn plans_of(&self, capture: &D::Handle) -> io::Result<BTreeSet<RunId>> {
        let file = match self.disk.open_file(capture, PLANS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            opened => opened?,
        };
        let size = self.disk.stat(&file)?.size;
        if size > PLANS_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let text = read_whole(&self.disk, &file, size)?;
        Ok(text.chunks(RunId::CHARS).filter_map(RunId::from_text).collect())
    }
}

/// Capture that a transaction takes files from.
pub(crate) struct OpenedCapture<H> {
    /// Directory with its files.
    pub(crate) upper: Arc<OpenedDirectory<H>>,
    /// True if another plan needs it as well: then its files remain.
    pub(crate) is_shared: bool,
    _lock: Option<H>,
}

/// Capture that no process uses.
struct Unused<D: Disk> {
    name: Vec<u8>,
    directory: D::Handle,
    _lock: Option<D::Handle>,
}

fn is_old(changed: Time, now: Time) -> bool {
    now.0.saturating_sub(changed.0) > UNLOCKED_AGE
}

/// Removes a name and everything below it, the lock of a capture last. Directories that a command closed get access
/// first.
fn remove_below<D: Disk>(disk: &D, directory: &D::Handle, name: &[u8], depth: u32) -> bool {
    if disk.unlink(directory, name).is_ok() || disk.remove_directory(directory, name).is_ok() {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let open = || {
        let Ok(name) = RelPath::new(name) else { return disk.open_directory(directory, name) };
        disk.open_directory(directory, name.as_bytes()).or_else(|_| {
            let closed = disk.open_parent(directory, &name)?;
            disk.set_mode(&closed, FileMode::PRIVATE_DIRECTORY)?;
            disk.open_directory(directory, name.as_bytes())
        })
    };
    let Ok(inside) = open() else { return false };
    let mut names = disk.list(&inside).unwrap_or_default();
    names.sort_by_key(|name| name == LOCK);
    let mut is_open = false;
    for name in names {
        if !remove_below(disk, &inside, &name, depth) && !is_open {
            is_open = disk.set_mode(&inside, FileMode::PRIVATE_DIRECTORY).is_ok();
            remove_below(disk, &inside, &name, depth);
        }
    }
    disk.remove_directory(directory, name).is_ok()
}
