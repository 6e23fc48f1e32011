//! Which workspace it is, wherever it lies: a name in `.actum/id`, with the inode of the root.
//!
//! A workspace that was moved keeps its name. A copy has another root, and gets a name of its own: what
//! is told elsewhere of the runs of the one is not true of the other.

use actum_core::FileMode;
use actum_core::ledger::WorkspaceId;

use crate::disk::{Barrier, Disk, Rename};
use crate::error::{Doing, Result};
use crate::home::Home;
use crate::transaction::Transaction;

const ID: &[u8] = b"id";
const ID_NEW: &[u8] = b"id.new";
/// More than the file ever has.
const ID_BYTES_MAX: usize = 64;

impl<D: Disk> Transaction<'_, D> {
    /// The name of the workspace. It is made, and durable, before it is given for the first time.
    ///
    /// # Errors
    /// `Io`.
    pub fn workspace_id(&self) -> Result<WorkspaceId> {
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        let doing = || "name the workspace (`.actum/id`)".to_owned();
        let root = disk.stat(&home.root).doing(doing)?.inode;
        match read(disk, home).doing(doing)? {
            Some((id, inode)) if inode == root => Ok(id),
            Some(_) | None => {
                let id = WorkspaceId::from_random(disk.random().doing(doing)?);
                write(disk, home, id, root).doing(doing)?;
                Ok(id)
            }
        }
    }
}

/// The name in the file, and the inode of the root that it was made for. What cannot be read as that
/// is taken for nothing: a new name is never wrong.
fn read<D: Disk>(disk: &D, home: &Home<D::Handle>) -> std::io::Result<Option<(WorkspaceId, u64)>> {
    let file = match disk.open_file(&home.state, ID) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = [0; ID_BYTES_MAX];
    let read = disk.read_at(&file, &mut bytes, 0)?;
    let text = bytes.get(..read).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let parts = text.and_then(|text| text.strip_suffix('\n')?.split_once(' '));
    Ok(parts.and_then(|(id, inode)| Some((id.parse().ok()?, inode.parse().ok()?))))
}

fn write<D: Disk>(
    disk: &D,
    home: &Home<D::Handle>,
    id: WorkspaceId,
    root: u64,
) -> std::io::Result<()> {
    if disk.stat_at(&home.state, ID_NEW)?.is_some() {
        disk.unlink(&home.state, ID_NEW)?; // of an earlier try, maybe cut off
    }
    let file = disk.create(&home.state, ID_NEW, FileMode::PRIVATE)?;
    disk.write_at(&file, format!("{id} {root}\n").as_bytes(), 0)?;
    disk.sync(&file, Barrier::Birth)?;
    disk.rename(&home.state, ID_NEW, &home.state, ID, Rename::Replace)?;
    disk.sync(&home.state, Barrier::Birth)
}
