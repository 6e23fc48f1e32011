//! Identity of a workspace, which does not depend on its path: an id in `.actum/id`, stored with the inode of `.actum`
//! and the time at which that inode was created.
//!
//! A workspace that is moved keeps its id. A copy has a different inode for `.actum`, so it gets an id of its own, and
//! records about the runs of the original do not apply to it. A copy of an entire disk cannot be distinguished from the
//! original.

use actum_core::{FileMode, RunId};
use actum_record::ledger::WorkspaceId;

use crate::disk::{Barrier, Disk, Rename};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::history::view::View;
use crate::home::Home;
use crate::transaction::Transaction;
use crate::workspace::Workspace;

const ID: &[u8] = b"id";
const ID_NEW: &[u8] = b"id.new";
/// Size of the buffer for reading the id file in bytes, which is larger than any valid file.
const ID_BYTES_MAX: usize = 80;

impl<D: Disk> Transaction<'_, D> {
    /// Returns the id of the workspace. If there is no id yet, creates one and makes it durable first.
    ///
    /// # Errors
    /// `Io`; `State` if the id file was modified.
    pub fn workspace_id(&self) -> Result<WorkspaceId> {
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        let doing = || "assign an id to the workspace (`.actum/id`)".to_owned();
        let own = Mark::from_disk(disk, home).doing(doing)?;
        match read(disk, home)? {
            Some((id, mark)) if mark == own => Ok(id),
            Some(_) | None => {
                let id = WorkspaceId::from_random(disk.random().doing(doing)?);
                write(disk, home, id, &own).doing(doing)?;
                Ok(id)
            }
        }
    }
}

impl<D: Disk> View<D> {
    /// Returns the id of the workspace, if it has one.
    ///
    /// # Errors
    /// `Io`; `State` if the id file was modified.
    pub fn workspace_id(&self) -> Result<Option<WorkspaceId>> {
        own_id(&self.disk, &self.home)
    }
}

impl<D: Disk> Workspace<D> {
    /// Returns the id of the workspace, if it has one. A transaction creates the id when it first needs it.
    ///
    /// # Errors
    /// `Io`; `State` if the id file was modified.
    pub fn id(&self) -> Result<Option<WorkspaceId>> {
        own_id(&self.disk, &self.home)
    }

    /// Returns a new unique id for an object that belongs to runs of this workspace but is not a run itself.
    ///
    /// # Errors
    /// `Io`.
    pub fn new_id(&self) -> Result<RunId> {
        let random = self.disk.random().doing(|| "generate an id".to_owned())?;
        Ok(RunId::from_random(random))
    }
}

fn own_id<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Result<Option<WorkspaceId>> {
    let own =
        Mark::from_disk(disk, home).doing(|| "read the workspace id (`.actum/id`)".to_owned())?;
    Ok(read(disk, home)?.filter(|(_, mark)| *mark == own).map(|(id, _)| id))
}

/// Properties of `.actum` that no copy of it shares: its inode number and, if the file system records it, the time at
/// which it was created.
#[derive(PartialEq, Eq)]
struct Mark(String);

impl Mark {
    fn from_disk<D: Disk>(disk: &D, home: &Home<D::Handle>) -> std::io::Result<Self> {
        let inode = disk.stat(&home.state)?.inode;
        let born = disk.born(&home.state)?.map_or("-".to_owned(), |born| born.0.to_string());
        Ok(Self(format!("{inode} {born}")))
    }
}

/// Reads the id and the mark for which it was created. The file is always written atomically, so an unreadable one was
/// changed by another process. That is an error, because with a new id, earlier requests would look like new ones.
fn read<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Result<Option<(WorkspaceId, Mark)>> {
    let doing = || "read the workspace id (`.actum/id`)".to_owned();
    let file = match disk.open_file(&home.state, ID) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.doing(doing)?,
    };
    let mut bytes = [0; ID_BYTES_MAX];
    let read = disk.read_at(&file, &mut bytes, 0).doing(doing)?;
    let text = bytes.get(..read).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let parts = text.and_then(|text| text.strip_suffix('\n')?.split_once(' '));
    let named = parts.and_then(|(id, mark)| Some((id.parse().ok()?, Mark(mark.to_owned()))));
    named.map(Some).ok_or_else(|| {
        let what = "its file `id`, which identifies the workspace in ledgers, was modified; restore \
                    it, or remove it so that ledgers treat this as a new workspace";
        ErrorKind::State { what: what.to_owned() }.into()
    })
}

fn write<D: Disk>(
    disk: &D,
    home: &Home<D::Handle>,
    id: WorkspaceId,
    own: &Mark,
) -> std::io::Result<()> {
    if disk.stat_at(&home.state, ID_NEW)?.is_some() {
        disk.unlink(&home.state, ID_NEW)?; // left by an earlier attempt
    }
    let file = disk.create(&home.state, ID_NEW, FileMode::PRIVATE)?;
    disk.write_at(&file, format!("{id} {}\n", own.0).as_bytes(), 0)?;
    disk.sync(&file, Barrier::Birth)?;
    disk.rename(&home.state, ID_NEW, &home.state, ID, Rename::Replace)?;
    disk.sync(&home.state, Barrier::Birth)
}
