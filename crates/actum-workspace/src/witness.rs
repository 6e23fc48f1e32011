//! Witness notes in `.actum/recorded/`: the newest acknowledgement that each ledger gave for this workspace. The notes
//! detect a ledger that has lost its newest entries, and prevent it from continuing unnoticed.
//!
//! Each log has a single note, which is overwritten in place within one disk sector and never synced. After a power cut
//! the note may be an older one, which is still true but proves less. Its content is interpreted by the code that
//! manages the ledger.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use actum_core::path::Quoted;
use actum_core::{Digest, FileMode, RelPath};

use crate::disk::{Barrier, Disk, Kind, LinuxDisk};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::history::view::View;
use crate::home::{Home, PRIVATE, RECORDED, STATE_DIRECTORY};
use crate::transaction::Transaction;
use crate::transaction::commit::Held;
use crate::tree::Tree;

/// File with the pending request to bind the workspace to another ledger.
const ADOPTION: &[u8] = b"adoption";
/// Number of digest characters in the file name of a note.
const NAME_BYTES: usize = 16;
/// Maximum size of a note in bytes, including the newline. This is one disk sector, which is written completely or not
/// at all.
const WITNESS_BYTES_MAX: usize = 512;

impl<D: Disk> Transaction<'_, D> {
    /// Returns the newest note about a log, or `None` if the log has no note.
    ///
    /// # Errors
    /// `State` if the notes cannot be read.
    pub fn witness(&self, log: &str) -> Result<Option<String>> {
        witness(&self.workspace.disk, &self.workspace.home, &name(log))
    }

    /// Returns a note about any log except this one, or `None` if no other log has a note.
    ///
    /// # Errors
    /// `State` if the notes cannot be read.
    pub fn witness_of_another_log(&self, log: &str) -> Result<Option<String>> {
        another(&self.workspace.disk, &self.workspace.home, Some(log))
    }

    /// Replaces the note about a log by one line of at most 511 bytes. If writing fails, the old note remains.
    pub fn keep_witness(&self, log: &str, line: &str) {
        drop(keep(&self.workspace.disk, &self.workspace.home, &name(log), line));
    }

    /// Finds workspaces and repositories inside this workspace that contain a changed path. `rules` is the name of the
    /// rules file that a repository may have.
    ///
    /// # Errors
    /// `State` if notes cannot be read; `Io`.
    pub fn roots_within(&self, rules: &str) -> Result<Vec<RootWithin>> {
        let disk = &self.workspace.disk;
        let tree = Tree::sharing(disk, &self.workspace.home.root, &self.parents);
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        let changed = self.nodes.iter().filter(|(_, node)| node.changes());
        for (path, _) in changed {
            let mut below = path.clone();
            while let Some(directory) = below.parent().filter(|it| !seen.contains(it)) {
                let handle = match tree.parent(&below) {
                    // A path below a file or symbolic link cannot be inside a workspace.
                    Err(error) if error.is_in_the_way() => None,
                    opened => opened?,
                };
                if let Some(handle) = handle {
                    let notes = notes_in(disk, &handle)?;
                    let is_repository = is_there(disk, &handle, GIT)?;
                    if is_repository || !notes.is_empty() {
                        let has_rules = is_repository && is_there(disk, &handle, rules)?;
                        let path = directory.clone();
                        found.push(RootWithin { path, notes, is_repository, has_rules });
                    }
                }
                seen.insert(directory.clone());
                below = directory;
            }
        }
        Ok(found)
    }

    /// Returns the pending request to bind the workspace to another ledger, or `None` if no request is pending.
    ///
    /// # Errors
    /// `State` if the request cannot be read.
    pub fn adoption(&self) -> Result<Option<String>> {
        read(&self.workspace.disk, &self.workspace.home.state, ADOPTION)
    }

    /// Writes the request to bind the workspace to another ledger, as one line of at most 511 bytes. An empty line
    /// removes the request. The request is durable when this returns, because otherwise a cancelled request could
    /// become pending again after a power cut.
    ///
    /// # Errors
    /// `Io`.
    pub fn set_adoption(&self, line: &str) -> Result<()> {
        let (disk, state) = (&self.workspace.disk, &self.workspace.home.state);
        let written = write(disk, state, ADOPTION, line).and_then(|file| {
            disk.sync(&file, Barrier::Adoption)?;
            disk.sync(state, Barrier::Adoption)
        });
        written.doing(|| "write `.actum/adoption`".to_owned())
    }
}

impl<D: Disk> Held<'_, D> {
    /// Replaces the note about a log, like [`Transaction::keep_witness`].
    pub fn keep_witness(&self, log: &str, line: &str) {
        self.transaction.keep_witness(log, line);
    }
}

impl<D: Disk> View<D> {
    /// Returns the newest note about a log, like [`Transaction::witness`].
    ///
    /// # Errors
    /// `State` if the notes cannot be read.
    pub fn witness(&self, log: &str) -> Result<Option<String>> {
        witness(&self.disk, &self.home, &name(log))
    }

    /// Returns a note about any log, or `None` if there are no notes.
    ///
    /// # Errors
    /// `State` if the notes cannot be read.
    pub fn witness_of_any_log(&self) -> Result<Option<String>> {
        another(&self.disk, &self.home, None)
    }

    /// Returns the pending request to bind the workspace to another ledger, like [`Transaction::adoption`].
    ///
    /// # Errors
    /// `State` if the request cannot be read.
    pub fn adoption(&self) -> Result<Option<String>> {
        read(&self.disk, &self.home.state, ADOPTION)
    }
}

/// Reads the notes in the state directory of `root` without opening the workspace. Returns no notes if there is no
/// workspace, or if it belongs to another user and is therefore not trusted.
///
/// # Errors
/// `State` if the notes cannot be read; `Io`.
pub fn notes_at(root: &Path) -> Result<Vec<String>> {
    let (disk, state) = (LinuxDisk, root.join(STATE_DIRECTORY));
    let doing = || format!("look at `{}`", Quoted(state.as_os_str().as_bytes()));
    match state.symlink_metadata() {
        Ok(found) if found.is_dir() && found.uid() == disk.identity().0 => {}
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).doing(doing);
        }
        Ok(_) | Err(_) => return Ok(Vec::new()),
    }
    notes_of(&disk, &disk.open_root(&state).doing(doing)?)
}

/// Root of a workspace or repository that is inside another workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootWithin {
    /// Path of the root, relative to the outer workspace.
    pub path: RelPath,
    /// Notes of the ledgers that recorded a workspace at this root.
    pub notes: Vec<String>,
    /// Set if the root is a repository.
    pub is_repository: bool,
    /// Set if the repository has a rules file.
    pub has_rules: bool,
}

/// Directory entry that marks the root of a repository.
const GIT: &str = ".git";

fn is_there<D: Disk>(disk: &D, directory: &D::Handle, name: &str) -> Result<bool> {
    let found = disk.stat_at(directory, name.as_bytes());
    Ok(found.doing(|| "look for a repository inside this workspace".to_owned())?.is_some())
}

/// Reads the notes of the workspace at `directory`, if it is one.
fn notes_in<D: Disk>(disk: &D, directory: &D::Handle) -> Result<Vec<String>> {
    let name = STATE_DIRECTORY.as_bytes();
    let doing = || "look for a workspace inside this one".to_owned();
    match disk.stat_at(directory, name).doing(doing)?.map(|found| found.kind) {
        Some(Kind::Directory) => {
            notes_of(disk, &disk.open_directory(directory, name).doing(doing)?)
        }
        Some(Kind::File | Kind::Symlink | Kind::Special) | None => Ok(Vec::new()),
    }
}

fn notes_of<D: Disk>(disk: &D, state: &D::Handle) -> Result<Vec<String>> {
    let Some(recorded) = recorded(disk, state)? else { return Ok(Vec::new()) };
    let names = disk.list(&recorded).map_err(|error| unusable_witness(&error))?;
    let notes = names.iter().map(|name| read(disk, &recorded, name).transpose());
    notes.flatten().collect()
}

fn name(log: &str) -> Vec<u8> {
    let mut name = Digest::of(log.as_bytes()).to_string().into_bytes();
    name.truncate(NAME_BYTES);
    name
}

fn recorded<D: Disk>(disk: &D, state: &D::Handle) -> Result<Option<D::Handle>> {
    match disk.open_directory(state, RECORDED) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(|error| unusable_witness(&error)),
    }
}

fn witness<D: Disk>(disk: &D, home: &Home<D::Handle>, name: &[u8]) -> Result<Option<String>> {
    match recorded(disk, &home.state)? {
        None => Ok(None),
        Some(directory) => read(disk, &directory, name),
    }
}

fn another<D: Disk>(disk: &D, home: &Home<D::Handle>, but: Option<&str>) -> Result<Option<String>> {
    let Some(directory) = recorded(disk, &home.state)? else { return Ok(None) };
    let but = but.map(name);
    let names = disk.list(&directory).map_err(|error| unusable_witness(&error))?;
    let mut others = names.iter().filter(|&found| Some(found) != but.as_ref());
    others.find_map(|name| read(disk, &directory, name).transpose()).transpose()
}

fn read<D: Disk>(disk: &D, directory: &D::Handle, name: &[u8]) -> Result<Option<String>> {
    let file = match disk.open_file(directory, name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| unusable_witness(&error))?,
    };
    let mut bytes = [0; WITNESS_BYTES_MAX];
    let read = disk.read_at(&file, &mut bytes, 0).map_err(|error| unusable_witness(&error))?;
    let bytes = bytes.get(..read).unwrap_or_default();
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(None); // a power cut happened before the note was written
    }
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    match std::str::from_utf8(line) {
        Ok(line) => Ok(Some(line.to_owned())),
        Err(error) => Err(unusable_witness(&error)),
    }
}

/// Returns the error for notes that cannot be read. Treating them as missing would disable the check that they serve.
pub fn unusable_witness(why: &dyn std::fmt::Display) -> Error {
    let what = format!(
        "its directory `recorded` with the ledger acknowledgements is unusable: {why}; remove it to \
         continue, but this workspace then no longer detects a ledger that lost entries"
    );
    ErrorKind::State { what }.into()
}

fn keep<D: Disk>(disk: &D, home: &Home<D::Handle>, name: &[u8], line: &str) -> std::io::Result<()> {
    let directory = match disk.open_directory(&home.state, RECORDED) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            disk.make_directory(&home.state, RECORDED, FileMode::PRIVATE_DIRECTORY)?;
            disk.open_directory(&home.state, RECORDED)?
        }
        opened => opened?,
    };
    write(disk, &directory, name, line).map(drop)
}

/// Overwrites a note with one line, within a single disk sector. An empty line clears the note.
fn write<D: Disk>(
    disk: &D,
    directory: &D::Handle,
    name: &[u8],
    line: &str,
) -> std::io::Result<D::Handle> {
    let mut sector = [0; WITNESS_BYTES_MAX];
    if !line.is_empty() {
        let place = sector.get_mut(..=line.len()).ok_or(std::io::ErrorKind::InvalidInput)?;
        place.copy_from_slice(format!("{line}\n").as_bytes());
    }
    let own = disk.open_own(directory, name);
    let file = own.or_else(|_| disk.create(directory, name, PRIVATE))?;
    disk.write_at(&file, &sector, 0)?;
    Ok(file)
}
