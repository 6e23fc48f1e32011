//! Identity of a workspace, independent of its path: a name in `.actum/id`, with the inode of `.actum` and the time
//! when that was made.
//!
//! A workspace that was moved keeps its name. A copy has another `.actum`, and gets a name of its own: records
//! elsewhere about the runs of the original do not hold for the copy. A copy of a whole disk cannot be distinguished
//! from the original.

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
/// Limit that the size of the file never reaches, in bytes.
const ID_BYTES_MAX: usize = 80;

impl<D: Disk> Transaction<'_, D> {
    /// Returns the name of the workspace. It is made, and durable, before it is first returned.
    ///
    /// # Errors
    /// `Io`; `State` if the file that holds it was changed.
    pub fn workspace_id(&self) -> Result<WorkspaceId> {
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        let doing = || "name the workspace (`.actum/id`)".to_owned();
        let own = Mark::of(disk, home).doing(doing)?;
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
    /// Returns the name of the workspace, if it has one.
    ///
    /// # Errors
    /// `Io`.
    pub fn workspace_id(&self) -> Result<Option<WorkspaceId>> {
        own_id(&self.disk, &self.home)
    }
}

impl<D: Disk> Workspace<D> {
    /// Returns the name of the workspace, if it has one. A transaction makes one if it is missing.
    ///
    /// # Errors
    /// `Io`.
    pub fn id(&self) -> Result<Option<WorkspaceId>> {
        own_id(&self.disk, &self.home)
    }

    /// Returns a unique id for an object that belongs to runs here and is not a run itself.
    ///
    /// # Errors
    /// `Io`.
    pub fn new_id(&self) -> Result<RunId> {
        let random = self.disk.random().doing(|| "make up an id".to_owned())?;
        Ok(RunId::from_random(random))
    }
}

fn own_id<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Result<Option<WorkspaceId>> {
    let own =
        Mark::of(disk, home).doing(|| "read the name of the workspace (`.actum/id`)".to_owned())?;
    Ok(read(disk, home)?.filter(|(_, mark)| *mark == own).map(|(id, _)| id))
}

/// Mark that no copy of `.actum` shares with it: its inode, and the time at which that was made, where the file system
/// knows it.
#[derive(PartialEq, Eq)]
struct Mark(String);

impl Mark {
    fn of<D: Disk>(disk: &D, home: &Home<D::Handle>) -> std::io::Result<Self> {
        let inode = disk.stat(&home.state)?.inode;
        let born = disk.born(&home.state)?.map_or("-".to_owned(), |born| born.0.to_string());
        Ok(Self(format!("{inode} {born}")))
    }
}

/// Reads the name in the file, and the mark for which it was made. It is never half written, so an unreadable one was
/// changed by another process. A new name in its place would turn earlier requests into new ones.
fn read<D: Disk>(disk: &D, home: &Home<D::Handle>) -> Result<Option<(WorkspaceId, Mark)>> {
    let doing = || "read the name of the workspace (`.actum/id`)".to_owned();
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
        let what = "its file `id`, the name by which ledgers know the workspace, was changed; bring \
                    it back, or remove it to have a new workspace to them";
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
        disk.unlink(&home.state, ID_NEW)?; // of an earlier try, maybe cut off
    }
    let file = disk.create(&home.state, ID_NEW, FileMode::PRIVATE)?;
    disk.write_at(&file, format!("{id} {}\n", own.0).as_bytes(), 0)?;
    disk.sync(&file, Barrier::Birth)?;
    disk.rename(&home.state, ID_NEW, &home.state, ID, Rename::Replace)?;
    disk.sync(&home.state, Barrier::Birth)
}
