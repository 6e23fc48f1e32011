//! Directory `agent/agent_outputs` of a workspace: the reports, the plan in force, and the archive of earlier plans
//! (EX-6, EX-13).
//!
//! Links are never followed, neither to these files nor to files that are backed up.

mod backups;
mod displaced;
mod report;

use std::io;
use std::path::Path;

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, RelPath, Timestamp};
use actum_ledger::UnderWay;
use actum_task::report::{REPORTS_DIRECTORY, ReportName, archive_directory};
use actum_workspace::disk::{Barrier, Disk, Kind, Rename, Stat, nothing_there};
use actum_workspace::{LinuxDisk, digest_of_file};

pub use crate::error::OutputError;
pub(super) use backups::BackupError;
pub(super) use displaced::Settled;
pub(super) use report::{EndReports, ReportDirectory};

/// Directory of the plan in force, relative to the root of the workspace.
pub const ACTIVE_DIRECTORY: &str = "agent/agent_outputs/plans/plan_active";

const DIRECTORY: FileMode = FileMode::EXECUTABLE;
/// Maximum number of names that are tried for a new directory.
const ATTEMPTS_MAX: u32 = 1000;

type Handle = <LinuxDisk as Disk>::Handle;

/// Outputs of the tasks of a workspace.
pub(super) struct Outputs {
    disk: LinuxDisk,
    root: Handle,
}

/// Returns the bytes of a document in a directory, or below it: a regular file of at most `max` bytes, reached without
/// links.
///
/// # Errors
/// Error of the system; `NotFound`, `FileTooLarge`.
pub fn read_document(directory: &Path, file: &RelPath, max: usize) -> io::Result<Vec<u8>> {
    let outputs = Outputs::new(directory).map_err(|error| error.source)?;
    match outputs.stat(file)?.map(|stat| stat.kind) {
        None => return Err(nothing_there()),
        Some(Kind::File) => {}
        Some(Kind::Directory | Kind::Symlink | Kind::Special) => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
    }
    let read = outputs.read(file, u64::try_from(max).unwrap_or(u64::MAX))?;
    read.ok_or_else(nothing_there)
}

impl Outputs {
    /// Opens the outputs of the workspace at `root`.
    pub(super) fn new(root: &Path) -> Result<Self, OutputError> {
        let disk = LinuxDisk;
        let root = disk.open_root(root).map_err(failed("open the root of the workspace", "."))?;
        Ok(Self { disk, root })
    }

    /// Returns the file status of a path, if it exists and no link leads there.
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

    /// Returns the outermost symbolic link on the way to a path, or the path itself if it is one.
    pub(super) fn link_to(&self, path: &RelPath) -> Option<RelPath> {
        let is_link = |stat: &Stat| stat.kind == Kind::Symlink;
        match self.stat(path) {
            Ok(found) => found.as_ref().is_some_and(is_link).then(|| path.clone()),
            // Nothing below a link can be reached, but the link itself can.
            Err(_) => path.parent().and_then(|above| self.link_to(&above)),
        }
    }

    /// Returns the modification time of a path.
    pub(super) fn modified(&self, path: &RelPath) -> Option<Timestamp> {
        let stat = self.stat(path).ok()??;
        Some(Timestamp::from_micros(stat.modified.0 / 1000))
    }

    /// Returns the bytes of a file, if it exists, no link leads there, and it has at most `max`.
    pub(super) fn read(&self, path: &RelPath, max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.open(path)?;
        file.map(|file| read_whole(self.disk, &file, max)).transpose()
    }

    /// Returns the digest of a file, if it exists and no link leads there. Memory use does not grow with the file.
    pub(super) fn digest(&self, path: &RelPath) -> io::Result<Option<Digest>> {
        let file = self.open(path)?;
        file.map(|file| digest_of_file(&self.disk, &file)).transpose()
    }

    /// Returns true if a path is a file with this digest and size, in bytes, and no link leads there.
    pub(super) fn has_content(
        &self,
        path: &RelPath,
        (sha256, size): (Digest, u64),
    ) -> io::Result<bool> {
        let Some(file) = self.open(path)? else { return Ok(false) };
        Ok(self.disk.stat(&file)?.size == size && digest_of_file(&self.disk, &file)? == sha256)
    }

    /// Opens a file, if it exists and no link leads there.
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

    /// Moves the directory of the plan in force to the archive, unless it is empty. Returns its new path.
    pub(super) fn archive(&self, time: Timestamp) -> Result<Option<String>, OutputError> {
        let (above, name) = split(ACTIVE_DIRECTORY);
        let Some(plans) = self.existing(above)? else { return Ok(None) };
        let looked = failed("look into", ACTIVE_DIRECTORY);
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
                        .map_err(failed("move the plan that was in force to", &to));
                }
            }
        }
        Err(no_name("move the plan that was in force to", ACTIVE_DIRECTORY))
    }

    /// Writes files to the directory of the plan in force, which must be empty.
    pub(super) fn activate(&self, files: &[(&str, &[u8])]) -> Result<(), OutputError> {
        let active = self.made(ACTIVE_DIRECTORY)?;
        for (name, bytes) in files {
            write_new(self.disk, &active, name, bytes, FileMode::PRIVATE)
                .map_err(failed("write", &format!("{ACTIVE_DIRECTORY}/{name}")))?;
        }
        Ok(())
    }

    /// Returns an unused name for the report directory of a task.
    pub(super) fn report_name(
        &self,
        time: Timestamp,
        task: &PlainId,
    ) -> Result<ReportName, OutputError> {
        let reports = self.made(REPORTS_DIRECTORY)?;
        for attempt in 1..=ATTEMPTS_MAX {
            let name = ReportName::new(time, task, attempt);
            let stat = self.disk.stat_at(&reports, name.as_str().as_bytes());
            if stat.map_err(failed("look at", &name.directory()))?.is_none() {
                return Ok(name);
            }
        }
        Err(no_name("make a directory for the task in", REPORTS_DIRECTORY))
    }

    /// Creates the report directory of that name, which must be missing.
    pub(super) fn report(&self, name: ReportName) -> Result<ReportDirectory, OutputError> {
        let reports = self.made(REPORTS_DIRECTORY)?;
        let bytes = name.as_str().as_bytes();
        let made = self.disk.make_plain_directory(&reports, bytes, DIRECTORY);
        let opened = made.and_then(|()| self.disk.open_directory(&reports, bytes));
        let handle = opened.map_err(failed("make the directory", &name.directory()))?;
        Ok(ReportDirectory { disk: self.disk, handle, name })
    }

    /// Returns the report directory of that name, if it exists.
    pub(super) fn reports_named(
        &self,
        name: ReportName,
    ) -> Result<Option<ReportDirectory>, OutputError> {
        let handle = self.existing(&name.directory())?;
        Ok(handle.map(|handle| ReportDirectory { disk: self.disk, handle, name }))
    }

    /// Returns the names of all report directories, the oldest first.
    pub(super) fn reports(&self) -> Result<Vec<ReportName>, OutputError> {
        let Some(reports) = self.existing(REPORTS_DIRECTORY)? else { return Ok(Vec::new()) };
        let names = self.disk.list(&reports).map_err(failed("list", REPORTS_DIRECTORY))?;
        let mut names: Vec<_> = names.iter().filter_map(|name| ReportName::read(name)).collect();
        names.sort();
        Ok(names)
    }

    /// Makes all written files durable.
    pub(super) fn sync(&self) -> Result<(), OutputError> {
        self.disk
            .sync_all(&self.root, Barrier::Report)
            .map_err(failed("make durable what is in", REPORTS_DIRECTORY))
    }

    /// Makes all written files durable, and the notes on the task.
    pub(super) fn sync_with(&self, mark: &UnderWay) -> Result<(), OutputError> {
        self.sync()?;
        let device = self.disk.stat(&self.root).map(|stat| stat.device);
        // The sync above covers a whole file system.
        let noted = mark.device().and_then(|of_mark| match device {
            Ok(device) if device == of_mark => Ok(()),
            _ => mark.sync(),
        });
        noted.map_err(OutputError::of_home)
    }

    /// Returns the directory at a path, if it exists.
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

    /// Returns the directory at a path, and creates missing ones.
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
            at = Some(named.map_err(failed("make the directory", path))?);
        }
        at.ok_or_else(|| no_name("open", path))
    }

    /// Returns the error of a directory that could not be opened. If a file is in its place, the error names it.
    fn naming_file(&self, above: &Handle, here: &str, name: &str, error: io::Error) -> io::Error {
        let is_file = |stat: Stat| stat.kind == Kind::File;
        match self.disk.stat_at(above, name.as_bytes()) {
            Ok(found) if found.is_some_and(is_file) => io::Error::new(
                io::ErrorKind::NotADirectory,
                format!(
                    "`{here}` is a file, and task plans need a directory there; move it elsewhere"
                ),
            ),
            // The first error is more specific.
            Ok(_) | Err(_) => error,
        }
    }
}

fn failed(doing: &'static str, path: &str) -> impl Fn(io::Error) -> OutputError + use<> {
    let path = path.to_owned();
    move |source| OutputError { doing, path: path.clone(), source }
}

fn no_name(doing: &'static str, path: &str) -> OutputError {
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "every name for it is taken");
    OutputError { doing, path: path.to_owned(), source }
}

/// Returns each name of a path, with the path up to it.
fn steps(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| path.get(..end).unwrap_or(path)).zip(path.split('/'))
}

/// Splits a path of the outputs into the directories and the last name.
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
        // A partial file only fills the disk; the failed write is reported.
        disk.unlink(directory, name.as_bytes()).unwrap_or_default();
    }
    written
}

fn read_whole(disk: LinuxDisk, file: &Handle, max: u64) -> io::Result<Vec<u8>> {
    let size = disk.stat(file)?.size;
    let length = usize::try_from(size).ok().filter(|_| size <= max).ok_or_else(|| {
        io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max} bytes"))
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
