//! Access to the directory `agent/agent_outputs` of a workspace, which contains the reports, the active plan, and the
//! archive of earlier plans (EX-6, EX-13).
//!
//! Symbolic links are never followed, whether to these files or to files that are backed up.

mod backups;
mod displaced;
mod report;

use std::io;
use std::path::Path;

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, RelPath, Timestamp};
use actum_ledger::ActivityMark;
use actum_task::report::{REPORTS_DIRECTORY, ReportName, archive_directory};
use actum_workspace::disk::{Barrier, Disk, Kind, Rename, Stat, nothing_there};
use actum_workspace::{LinuxDisk, digest_of_file};

pub use crate::error::OutputError;
pub(super) use backups::BackupError;
pub(super) use displaced::Settled;
pub(super) use report::{EndReports, ReportDirectory};

/// Directory of the active plan, relative to the root of the workspace.
pub const ACTIVE_DIRECTORY: &str = "agent/agent_outputs/plans/plan_active";

const DIRECTORY: FileMode = FileMode::EXECUTABLE;
/// Maximum number of names to try for a new directory before giving up.
const ATTEMPTS_MAX: u32 = 1000;

type Handle = <LinuxDisk as Disk>::Handle;

/// Handle to the files that tasks read and write in a workspace.
pub(super) struct Outputs {
    disk: LinuxDisk,
    root: Handle,
}

/// Reads a document in `directory` or one of its subdirectories. The document must be a regular file of at most `max`
/// bytes, and symbolic links are not followed.
///
/// # Errors
/// `NotFound`, `FileTooLarge`, `InvalidInput` if it is not a regular file, or another error of the system.
pub fn read_document(directory: &Path, file: &RelPath, max: usize) -> io::Result<Vec<u8>> {
    let outputs = Outputs::new(directory).map_err(|error| error.source)?;
    match outputs.stat(file)?.map(|stat| stat.kind) {
        None => return Err(nothing_there()),
        Some(Kind::File) => {}
        Some(Kind::Directory | Kind::Symlink | Kind::Special) => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
    }
    let read = outputs.read(file, u64::try_from(max).unwrap_or(u64::MAX))?;
    read.ok_or_else(nothing_there)
}

impl Outputs {
    /// Opens the workspace at `root` to access the outputs of its tasks.
    pub(super) fn new(root: &Path) -> Result<Self, OutputError> {
        let disk = LinuxDisk;
        let root = disk.open_root(root).map_err(failed("open the root of the workspace", "."))?;
        Ok(Self { disk, root })
    }

    /// Returns the file status of a path, or `None` if nothing exists there. Fails if a parent directory is a symbolic
    /// link.
    pub(super) fn stat(&self, path: &RelPath) -> io::Result<Option<Stat>> {
        let found = match path.parent() {
            Some(parent) => match self.disk.open_parent(&self.root, &parent) {
                Ok(parent) => self.disk.stat_at(&parent, path.name()),
                Err(error) => Err(error),
            },
            None => self.disk.stat_at(&self.root, path.name()),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found,
        }
    }

    /// Returns the outermost symbolic link among a path and its parent directories, if any of them is a link.
    pub(super) fn link_to(&self, path: &RelPath) -> Option<RelPath> {
        let is_link = |stat: &Stat| stat.kind == Kind::Symlink;
        match self.stat(path) {
            Ok(found) => found.as_ref().is_some_and(is_link).then(|| path.clone()),
            // The status of a path below a link cannot be read, but the status of the link itself can.
            Err(_) => path.parent().and_then(|above| self.link_to(&above)),
        }
    }

    /// Returns the modification time of a file, if it can be read.
    pub(super) fn modified(&self, path: &RelPath) -> Option<Timestamp> {
        let stat = self.stat(path).ok()??;
        Some(Timestamp::from_micros(stat.modified.0 / 1000))
    }

    /// Reads a file of at most `max` bytes without following symbolic links. Returns `None` if it does not exist.
    pub(super) fn read(&self, path: &RelPath, max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.open(path)?;
        file.map(|file| read_whole(self.disk, &file, max)).transpose()
    }

    /// Computes the digest of a file in constant memory, without following symbolic links. Returns `None` if it does not
    /// exist.
    pub(super) fn digest(&self, path: &RelPath) -> io::Result<Option<Digest>> {
        let file = self.open(path)?;
        file.map(|file| digest_of_file(&self.disk, &file)).transpose()
    }

    /// Returns whether the file at a path has the given digest and size in bytes. Symbolic links are not followed.
    pub(super) fn has_content(
        &self,
        path: &RelPath,
        (sha256, size): (Digest, u64),
    ) -> io::Result<bool> {
        let Some(file) = self.open(path)? else { return Ok(false) };
        Ok(self.disk.stat(&file)?.size == size && digest_of_file(&self.disk, &file)? == sha256)
    }

    /// Opens a file without following symbolic links. Returns `None` if it does not exist.
    fn open(&self, path: &RelPath) -> io::Result<Option<Handle>> {
        let opened = match path.parent() {
            Some(parent) => self
                .disk
                .open_parent(&self.root, &parent)
                .and_then(|parent| self.disk.open_file(&parent, path.name())),
            None => self.disk.open_file(&self.root, path.name()),
        };
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Moves the directory of the active plan to the archive and returns its new path. Returns `None` if the directory is
    /// missing or empty.
    pub(super) fn archive(&self, time: Timestamp) -> Result<Option<String>, OutputError> {
        let (above, name) = split(ACTIVE_DIRECTORY);
        let Some(plans) = self.existing(above)? else { return Ok(None) };
        let looked = failed("read the directory", ACTIVE_DIRECTORY);
        let active = match self.disk.open_directory(&plans, name.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            active => active.map_err(&looked)?,
        };
        if self.disk.list(&active).map_err(&looked)?.is_empty() {
            return Ok(None);
        }
        for attempt in 1..=ATTEMPTS_MAX {
            let to = archive_directory(time, attempt);
            let (archive, new) = split(&to);
            let archive = self.made(archive)?;
            let moved = self.disk.rename(
                &plans,
                name.as_bytes(),
                &archive,
                new.as_bytes(),
                Rename::NoReplace,
            );
            match moved {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                moved => {
                    return moved
                        .map(|()| Some(to.clone()))
                        .map_err(failed("move the previously active plan to", &to));
                }
            }
        }
        Err(no_name("archive the previously active plan in", ACTIVE_DIRECTORY))
    }

    /// Writes the given files to the directory of the active plan, which must be empty or missing.
    pub(super) fn activate(&self, files: &[(&str, &[u8])]) -> Result<(), OutputError> {
        let active = self.made(ACTIVE_DIRECTORY)?;
        for (name, bytes) in files {
            write_new(self.disk, &active, name, bytes, FileMode::PRIVATE)
                .map_err(failed("write", &format!("{ACTIVE_DIRECTORY}/{name}")))?;
        }
        Ok(())
    }

    /// Finds an unused name for the report directory of a task.
    pub(super) fn report_name(
        &self,
        time: Timestamp,
        task: &PlainId,
    ) -> Result<ReportName, OutputError> {
        let reports = self.made(REPORTS_DIRECTORY)?;
        for attempt in 1..=ATTEMPTS_MAX {
            let name = ReportName::new(time, task, attempt);
            let stat = self.disk.stat_at(&reports, name.as_str().as_bytes());
            if stat.map_err(failed("inspect", &name.directory()))?.is_none() {
                return Ok(name);
            }
        }
        Err(no_name("create a directory for the task in", REPORTS_DIRECTORY))
    }

    /// Creates a report directory, which must not exist yet.
    pub(super) fn report(&self, name: ReportName) -> Result<ReportDirectory, OutputError> {
        let reports = self.made(REPORTS_DIRECTORY)?;
        let bytes = name.as_str().as_bytes();
        let made = self.disk.make_plain_directory(&reports, bytes, DIRECTORY);
        let opened = made.and_then(|()| self.disk.open_directory(&reports, bytes));
        let handle = opened.map_err(failed("create the directory", &name.directory()))?;
        Ok(ReportDirectory { disk: self.disk, handle, name })
    }

    /// Opens an existing report directory. Returns `None` if it does not exist.
    pub(super) fn reports_named(
        &self,
        name: ReportName,
    ) -> Result<Option<ReportDirectory>, OutputError> {
        let handle = self.existing(&name.directory())?;
        Ok(handle.map(|handle| ReportDirectory { disk: self.disk, handle, name }))
    }

    /// Returns the names of all report directories, starting with the oldest.
    pub(super) fn reports(&self) -> Result<Vec<ReportName>, OutputError> {
        let Some(reports) = self.existing(REPORTS_DIRECTORY)? else { return Ok(Vec::new()) };
        let names = self.disk.list(&reports).map_err(failed("list", REPORTS_DIRECTORY))?;
        let mut names: Vec<_> = names.iter().filter_map(|name| ReportName::read(name)).collect();
        names.sort();
        Ok(names)
    }

    /// Makes all files that tasks wrote to the workspace durable.
    pub(super) fn sync(&self) -> Result<(), OutputError> {
        self.disk
            .sync_all(&self.root, Barrier::Report)
            .map_err(failed("sync the files in", REPORTS_DIRECTORY))
    }

    /// Makes all files that tasks wrote to the workspace durable, and also the notes on the task in the ledger's home.
    pub(super) fn sync_with(&self, mark: &ActivityMark) -> Result<(), OutputError> {
        self.sync()?;
        let device = self.disk.stat(&self.root).map(|stat| stat.device);
        // The sync above covers an entire file system, so the notes need their own sync only if they are on another one.
        let noted = mark.device().and_then(|of_mark| match device {
            Ok(device) if device == of_mark => Ok(()),
            _ => mark.sync(),
        });
        noted.map_err(OutputError::of_home)
    }

    /// Opens the directory at a path without following symbolic links. Returns `None` if it does not exist.
    fn existing(&self, path: &str) -> Result<Option<Handle>, OutputError> {
        let mut at: Option<Handle> = None;
        for (here, name) in steps(path) {
            let above = at.as_ref().unwrap_or(&self.root);
            match self.disk.open_directory(above, name.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => {
                    let named = opened.map_err(|error| self.naming_file(above, here, name, error));
                    at = Some(named.map_err(failed("open", path))?);
                }
            }
        }
        Ok(at)
    }

    /// Opens the directory at a path without following symbolic links, and creates the missing directories of the path.
    fn made(&self, path: &str) -> Result<Handle, OutputError> {
        let mut at: Option<Handle> = None;
        for (here, name) in steps(path) {
            let above = at.as_ref().unwrap_or(&self.root);
            let opened = match self.disk.open_directory(above, name.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match self.disk.make_plain_directory(above, name.as_bytes(), DIRECTORY) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                        _made => self.disk.open_directory(above, name.as_bytes()),
                    }
                }
                opened => opened,
            };
            let named = opened.map_err(|error| self.naming_file(above, here, name, error));
            at = Some(named.map_err(failed("create the directory", path))?);
        }
        at.ok_or_else(|| no_name("open", path))
    }

    /// Returns the error for a directory that could not be opened. If a file exists at that path, the error names the file.
    fn naming_file(&self, above: &Handle, here: &str, name: &str, error: io::Error) -> io::Error {
        let is_file = |stat: Stat| stat.kind == Kind::File;
        match self.disk.stat_at(above, name.as_bytes()) {
            Ok(found) if found.is_some_and(is_file) => io::Error::new(
                io::ErrorKind::NotADirectory,
                format!(
                    "`{here}` is a file, but task plans need a directory there; move it elsewhere"
                ),
            ),
            // The original error is more specific than a generic one.
            Ok(_) | Err(_) => error,
        }
    }
}

fn failed(doing: &'static str, path: &str) -> impl Fn(io::Error) -> OutputError + use<> {
    let path = path.to_owned();
    move |source| OutputError { doing, path: path.clone(), source }
}

fn no_name(doing: &'static str, path: &str) -> OutputError {
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "all candidate names are in use");
    OutputError { doing, path: path.to_owned(), source }
}

/// Returns each component of a path together with the path up to and including that component.
fn steps(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| path.get(..end).unwrap_or(path)).zip(path.split('/'))
}

/// Splits a path into its parent directory and its last component.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn write_new(
    disk: LinuxDisk,
    directory: &Handle,
    name: &str,
    bytes: &[u8],
    mode: FileMode,
) -> io::Result<()> {
    let file = disk.create(directory, name.as_bytes(), mode)?;
    let written = disk.write_at(&file, bytes, 0);
    if written.is_err() {
        // Errors are ignored, because a leftover partial file does no harm and the failed write is reported.
        disk.unlink(directory, name.as_bytes()).unwrap_or_default();
    }
    written
}

fn read_whole(disk: LinuxDisk, file: &Handle, max: u64) -> io::Result<Vec<u8>> {
    let size = disk.stat(file)?.size;
    let length = usize::try_from(size).ok().filter(|_| size <= max).ok_or_else(|| {
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {max} bytes"))
    })?;
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match disk.read_at(file, rest, u64::try_from(filled).unwrap_or(u64::MAX))? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
