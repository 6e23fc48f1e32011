//! Captures, which are directories below `.actum/captures` that collect the changes of commands. They are on the file
//! system of the workspace, so a run can hard-link files from a capture instead of copying them or loading them into
//! memory.
//!
//! ```text
//! captures/ID/lock    locked while the command runs and its changes are applied; contains a note about the command
//! captures/ID/plans   IDs of the queued plans that need the capture
//! captures/ID/upper/  changes of the command, in the format of overlayfs
//! captures/ID/work/   work directory of overlayfs
//! ```
//!
//! A capture is synced only if a plan needs it. Without a plan, the capture of a killed process is removed.

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
/// Maximum size in bytes of the file with the plan IDs. actum never writes a larger file.
const PLANS_BYTES_MAX: u64 = 1 << 20;
/// Maximum size in bytes of the note about a running command, which includes the arguments of the command.
const NOTE_BYTES_MAX: u64 = 16 << 20;
/// Age in nanoseconds after which a capture without a lock file is stale, because its process would have created the
/// file by then.
const UNLOCKED_AGE: i64 = 60_000_000_000;
/// Maximum depth to which directories are removed. Captured changes have a depth of at most 128.
const DEPTH_MAX: u32 = 256;

/// Directory that collects the changes of a single command. It is removed on drop, unless a queued plan needs it.
pub struct Capture<D: Disk> {
    disk: D,
    captures: D::Handle,
    id: RunId,
    _lock: D::Handle,
}

impl<D: Disk> Capture<D> {
    /// Returns the ID of the capture.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Returns the path of the capture, relative to the root of the workspace.
    pub fn path(&self) -> PathBuf {
        [STATE_DIRECTORY, "captures", &self.id.to_string()].iter().collect()
    }
}

impl<D: Disk> Drop for Capture<D> {
    fn drop(&mut self) {
        let name = self.id.to_string().into_bytes();
        let plans = self.disk.open_directory(&self.captures, &name);
        let plans = plans.and_then(|capture| self.disk.stat_at(&capture, PLANS));
        // Ignore errors: `sweep_captures` removes anything left behind.
        if !matches!(plans, Ok(Some(_))) {
            remove_below(&self.disk, &self.captures, &name, DEPTH_MAX);
        }
    }
}

/// Capture of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCapture {
    /// Note about the command, as passed to [`Workspace::make_capture`].
    pub note: Vec<u8>,
    /// Number of paths that the command has changed so far, including their parent directories.
    pub paths: u64,
    /// Total size in bytes of the files that the command has written so far.
    pub bytes: u64,
}

impl<D: Disk> Workspace<D> {
    /// Creates an empty capture with a note about the command, and locks it until it is dropped. The sandbox of the
    /// command later creates `upper` and `work` in the capture.
    ///
    /// # Errors
    /// `Io` if the capture cannot be created.
    pub fn make_capture(&self, note: &[u8]) -> Result<Capture<D>>
    where
        D: Clone,
    {
        let doing = || "create a capture".to_owned();
        let captures = self.made_captures().doing(doing)?;
        loop {
            let id = RunId::from_random(self.disk.random().doing(doing)?);
            let name = id.to_string().into_bytes();
            let disk = &self.disk;
            disk.make_directory(&captures, &name, FileMode::PRIVATE_DIRECTORY).doing(doing)?;
            let directory = disk.open_directory(&captures, &name).doing(doing)?;
            let lock = disk.create(&directory, LOCK, FileMode::PRIVATE).doing(doing)?;
            // If the lock is taken, another process considers the capture stale and is about to remove it.
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

    /// Opens the directory `.actum/captures`, or returns `None` if it does not exist.
    fn captures(&self) -> Result<Option<D::Handle>> {
        match self.disk.open_directory(&self.home.state, DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open `.actum/captures`".to_owned()).map(Some),
        }
    }

    /// Makes a capture durable and keeps it until the plan is carried out or removed from the queue.
    ///
    /// # Errors
    /// `Io`, including when the capture does not exist.
    pub(crate) fn keep_capture(&self, id: RunId, plan: RunId) -> Result<()> {
        let doing = || "keep the capture for a queued plan".to_owned();
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

    /// Opens a capture to take files from it, optionally for a queued plan. Returns `None` if it does not exist. While it
    /// is open, no other process removes it.
    pub(crate) fn open_capture(
        &self,
        id: RunId,
        plan: Option<RunId>,
    ) -> Result<Option<OpenedCapture<D::Handle>>> {
        let Some(captures) = self.captures()? else { return Ok(None) };
        let open = || -> io::Result<_> {
            let directory = self.disk.open_directory(&captures, id.to_string().as_bytes())?;
            let lock = self.disk.open_own(&directory, LOCK)?;
            // If the lock is taken, its holder is the process that ran the command, which waits for this run.
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

    /// Removes the files that a run took from a capture, and then the capture itself, unless a plan needs it. Anything
    /// that cannot be removed is left to [`Self::sweep_captures`].
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

    /// Removes all captures that no process uses and that no plan in `open_plans` needs, and returns their number.
    /// `open_plans` is called only if a capture lists a plan.
    ///
    /// # Errors
    /// Errors of `open_plans`, or `Io` if the captures cannot be listed.
    pub fn sweep_captures<E: From<Error>>(
        &self,
        open_plans: impl FnOnce() -> std::result::Result<BTreeSet<RunId>, E>,
    ) -> std::result::Result<usize, E> {
        let Some(captures) = self.captures()? else { return Ok(0) };
        let mut left = Vec::new();
        for capture in self.unused_captures(&captures)? {
            // Keep a capture whose list of plans cannot be read, because a plan may need it.
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

    /// Lists the captures of commands that are running or whose changes are being applied.
    ///
    /// # Errors
    /// `Io` if the captures cannot be listed.
    pub fn running_captures(&self) -> Result<Vec<RunningCapture>> {
        let doing = || "list the running captures".to_owned();
        let Some(captures) = self.captures()? else { return Ok(Vec::new()) };
        let mut running = Vec::new();
        for name in self.disk.list(&captures).doing(doing)? {
            // A capture that is missing or cannot be opened does not belong to a running command.
            let Ok(directory) = self.disk.open_directory(&captures, &name) else { continue };
            let Ok(lock) = self.disk.open_own(&directory, LOCK) else { continue };
            if !matches!(self.disk.lock(&lock, false), Ok(false)) {
                continue;
            }
            let size = self.disk.stat(&lock).doing(doing)?.size;
            if size > NOTE_BYTES_MAX {
                continue; // too large for a note of a command
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

    /// Counts the changes below a directory of a capture. Entries that cannot be read are skipped, because the command is
    /// still running.
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

    /// Removes files from captures if a run has already published them but was killed before it removed them. Such a file
    /// has another hard link outside of its capture. A file without one is kept.
    pub(crate) fn sweep_taken_files(&self) {
        let Ok(Some(captures)) = self.captures() else { return };
        for left in self.unused_captures(&captures).unwrap_or_default() {
            let Ok(upper) = self.disk.open_directory(&left.directory, UPPER) else { continue };
            let mut names = HashMap::new();
            self.names_with_others(Arc::new(upper), DEPTH_MAX, &mut names);
            for (links, names) in names.into_values() {
                if u64::try_from(names.len()).is_ok_and(|own| own < links) {
                    for (directory, name) in names {
                        drop(self.disk.unlink(&directory, &name)); // on failure, a later sweep finds it again
                    }
                }
            }
        }
    }

    /// Finds all files below a directory that have several hard links. For each inode, collects the total number of links
    /// and the names below the directory.
    #[expect(clippy::type_complexity, reason = "the type is used only once")]
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

    /// Lists the captures that no process uses. Each of them stays locked until it is dropped.
    fn unused_captures(&self, captures: &D::Handle) -> Result<Vec<Unused<D>>> {
        let doing = || "list stale captures".to_owned();
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

    /// Reads the IDs of the plans that need a capture.
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

/// Capture that is open so that a transaction can take files from it.
pub(crate) struct OpenedCapture<H> {
    /// Directory with the captured files.
    pub(crate) upper: Arc<OpenedDirectory<H>>,
    /// True if another plan also needs the capture, so its files must not be removed.
    pub(crate) is_shared: bool,
    _lock: Option<H>,
}

/// Capture that no process uses. If it has a lock file, the file is locked by this process.
struct Unused<D: Disk> {
    name: Vec<u8>,
    directory: D::Handle,
    _lock: Option<D::Handle>,
}

fn is_old(changed: Time, now: Time) -> bool {
    now.0.saturating_sub(changed.0) > UNLOCKED_AGE
}

/// Removes a name and everything below it, and returns true on success. The lock file of a capture is removed last. If a
/// command has removed the permissions of a directory, they are restored first.
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
