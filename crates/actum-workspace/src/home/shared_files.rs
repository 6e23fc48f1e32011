//! Replaces files in `.actum` that a workspace shares with a hard-linked copy of itself (`cp --link`, cp(1)) by private
//! copies.

use super::{JOURNAL, LOCK, RECORDED};
use crate::disk::{Barrier, Disk, Kind, Rename};
use crate::error::{Result, ResultExt};
use crate::home::{Home, PRIVATE};

const COPY_NEW: &[u8] = b"copy.new";
/// Number of bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

impl<H> Home<H> {
    /// Replaces each file in `.actum` that has other hard links by a private copy. Otherwise, one workspace would read
    /// what the other one writes in place. The journal is replaced last, so that the next run starts over if this
    /// process is killed. The lock remains shared, so the two workspaces wait for each other. The caller must hold the
    /// lock.
    pub(crate) fn copy_shared_files<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "copy the files in `.actum` that have other hard links".to_owned();
        match disk.open_directory(&self.state, RECORDED) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => {
                self.copy_files_with_other_names(disk, &opened.doing(doing)?, &[]).doing(doing)?
            }
        }
        self.copy_files_with_other_names(disk, &self.state, &[LOCK, JOURNAL]).doing(doing)?;
        self.replace_by_copy(disk, &self.state, JOURNAL).doing(doing)
    }

    /// Replaces the files in `directory` that have other hard links by private copies, except for the names in `but`.
    fn copy_files_with_other_names<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        directory: &H,
        but: &[&[u8]],
    ) -> std::io::Result<()> {
        for name in disk.list(directory)? {
            let found = disk.stat_at(directory, &name)?;
            let is_shared = found.is_some_and(|found| found.kind == Kind::File && found.links > 1);
            if is_shared && !but.contains(&name.as_slice()) {
                self.replace_by_copy(disk, directory, &name)?;
            }
        }
        Ok(())
    }

    /// Replaces the file `name` by a copy that has only one hard link.
    fn replace_by_copy<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        directory: &H,
        name: &[u8],
    ) -> std::io::Result<()> {
        self.remove_unfinished_copy(disk)?;
        let from = disk.open_file(directory, name)?;
        let to = disk.create(&self.state, COPY_NEW, PRIVATE)?;
        let replaced = copy(disk, &from, &to)
            .and_then(|()| disk.sync(&to, Barrier::Birth))
            .and_then(|()| disk.rename(&self.state, COPY_NEW, directory, name, Rename::Replace));
        if replaced.is_err() {
            drop(disk.unlink(&self.state, COPY_NEW)); // free the space again in case the disk is full
        }
        replaced?;
        disk.sync(directory, Barrier::Birth)
    }

    /// Removes an unfinished copy that a killed process left behind.
    pub(crate) fn remove_unfinished_copy<D: Disk<Handle = H>>(
        &self,
        disk: &D,
    ) -> std::io::Result<()> {
        match disk.stat_at(&self.state, COPY_NEW)? {
            Some(_) => disk.unlink(&self.state, COPY_NEW),
            None => Ok(()),
        }
    }
}

fn copy<D: Disk>(disk: &D, from: &D::Handle, to: &D::Handle) -> std::io::Result<()> {
    let (mut buffer, mut offset) = (vec![0; COPY_BYTES], 0);
    loop {
        let read = disk.read_at(from, &mut buffer, offset)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        disk.write_at(to, bytes, offset)?;
        offset += read as u64;
    }
}
