//! Newest acknowledgements of ledgers about this workspace, in `.actum/recorded/`: a witness beside each ledger, so
//! that one that lost its newest entries cannot continue as if it had not.
//!
//! Each log has one note, which is written in place, in one sector, and never synced. After a power cut it may be an
//! older one, which is as true and proves less. The code that keeps the ledger interprets its content.

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

/// Request to bind the workspace to another ledger, until it is decided.
const ADOPTION: &[u8] = b"adoption";
/// Number of characters of a digest that name the note about a log.
const NAME_BYTES: usize = 16;
/// Size of the longest note, in bytes, with the newline behind it: a disk writes it whole or not at all.
const WITNESS_BYTES_MAX: usize = 512;

impl<D: Disk> Transaction<'_, D> {
    /// Returns the last note about a log, if it exists.
    ///
    /// # Errors
    /// `State` where the notes cannot be read.
    pub fn witness(&self, log: &str) -> Result<Option<String>> {
        witness(&self.workspace.disk, &self.workspace.home, &name(log))
    }

    /// Returns one of the notes about other logs, if it exists.
    ///
    /// # Errors
    /// `State` where the notes cannot be read.
    pub fn witness_of_another_log(&self, log: &str) -> Result<Option<String>> {
        another(&self.workspace.disk, &self.workspace.home, Some(log))
    }

    /// Keeps one line of text about a log, of at most 511 bytes, in the place of the last one. If that fails, the old
    /// one remains.
    pub fn keep_witness(&self, log: &str, line: &str) {
        drop(keep(&self.workspace.disk, &self.workspace.home, &name(log), line));
    }

    /// Finds the workspaces and repositories inside this one that a changed path leads into. `rules` is the name of a
    /// file of rules.
    ///
    /// # Errors
    /// `State` where notes cannot be read; `Io`.
    pub fn roots_within(&self, rules: &str) -> Result<Vec<RootWithin>> {
        let disk = &self.workspace.disk;
        let tree = Tree::sharing(disk, &self.workspace.home.root, &self.parents);
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        let changed = self.nodes.iter().filter(|(_, node)| node.changes());
        for (path, _) in changed {
            let mut below = path.clone();
            while let Some(directory) = below.parent().filter(|it| !seen.contains(it)) {
                let handle = match tree.parent(&below) {
                    // A path that is no directory yet holds no workspace.
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

    /// Reads the request to bind the workspace to another ledger, if it is pending.
    ///
    /// # Errors
    /// `State` where it cannot be read.
    pub fn adoption(&self) -> Result<Option<String>> {
        read(&self.workspace.disk, &self.workspace.home.state, ADOPTION)
    }

    /// Writes that request, one line of at most 511 bytes; an empty line removes it. Durable when this returns:
    /// otherwise a cancelled request would be pending again after a power cut.
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
    /// Keeps a line about a log, as [`Transaction::keep_witness`] does.
    pub fn keep_witness(&self, log: &str, line: &str) {
        self.transaction.keep_witness(log, line);
    }
}

impl<D: Disk> View<D> {
    /// Returns the last note about a log, as [`Transaction::witness`] does.
    ///
    /// # Errors
    /// `State` where the notes cannot be read.
    pub fn witness(&self, log: &str) -> Result<Option<String>> {
        witness(&self.disk, &self.home, &name(log))
    }

    /// Returns one of the notes about any log, if it exists.
    ///
    /// # Errors
    /// `State` where the notes cannot be read.
    pub fn witness_of_any_log(&self) -> Result<Option<String>> {
        another(&self.disk, &self.home, None)
    }

    /// Reads the pending request, as [`Transaction::adoption`] does.
    ///
    /// # Errors
    /// `State` where it cannot be read.
    pub fn adoption(&self) -> Result<Option<String>> {
        read(&self.disk, &self.home.state, ADOPTION)
    }
}

/// Reads the notes in the state directory of `root`, without opening the workspace. The result is empty if there is no
/// workspace, or if it belongs to another user, whose notes are not trusted.
///
/// # Errors
/// `State` where the notes cannot be read; `Io`.
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

/// Root of a workspace or a repository inside a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootWithin {
    /// Its path.
    pub path: RelPath,
    /// Notes of ledgers that recorded a workspace there.
    pub notes: Vec<String>,
    /// True if it is a repository.
    pub is_repository: bool,
    /// True if the repository has a file of rules.
    pub has_rules: bool,
}

/// Entry that makes a directory the root of a repository.
const GIT: &str = ".git";

fn is_there<D: Disk>(disk: &D, directory: &D::Handle, name: &str) -> Result<bool> {
    let found = disk.stat_at(directory, name.as_bytes());
    Ok(found.doing(|| "look for a repository inside this workspace".to_owned())?.is_some())
}

/// Reads the notes in the state directory below `directory`.
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
        return Ok(None); // the power was cut before it was written
    }
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    match std::str::from_utf8(line) {
        Ok(line) => Ok(Some(line.to_owned())),
        Err(error) => Err(unusable_witness(&error)),
    }
}

/// Returns the error of notes that cannot be read. Treated as empty notes they would stop nothing.
pub fn unusable_witness(why: &dyn std::fmt::Display) -> Error {
    let what = format!(
        "its directory `recorded`, of what ledgers acknowledged, cannot be used: {why}; remove it to go \
         on, and a ledger that lost entries is no longer noticed here"
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

/// Writes one line in place, in one sector; an empty line leaves no readable note.
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
