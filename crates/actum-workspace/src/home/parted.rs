//! Files of its own for a workspace that shares those in `.actum` with a copy by hard links (cp(1), `--link`).

use super::{JOURNAL, LOCK};
use crate::disk::{Barrier, Disk, Kind, Rename};
use crate::error::{Doing, Result};
use crate::home::{Home, PRIVATE};
use crate::witness::RECORDED;

const PARTED_NEW: &[u8] = b"parted.new";
/// How much of a file is copied at a time, in bytes.
const COPY_BYTES: usize = 1 << 20;

impl<H> Home<H> {
    /// Gives the workspace files of its own for those that it shares with a copy by hard links (cp(1), `--link`): what
    /// one of the two wrote in place would be read by the other. The journal is the last, so that whoever is killed
    /// begins again. The lock stays shared; the two wait for each other. The lock is held.
    pub(crate) fn part_shared_files<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "part the state directory `.actum` from a copy by hard links".to_owned();
        match disk.open_directory(&self.state, RECORDED) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            opened => self.part_files(disk, &opened.doing(doing)?, &[]).doing(doing)?,
        }
        self.part_files(disk, &self.state, &[LOCK, JOURNAL]).doing(doing)?;
        self.part(disk, &self.state, JOURNAL).doing(doing)
    }

    /// Parts the files in `directory` that have other names, but those of the names in `but`.
    fn part_files<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        directory: &H,
        but: &[&[u8]],
    ) -> std::io::Result<()> {
        for name in disk.list(directory)? {
            let found = disk.stat_at(directory, &name)?;
            let is_shared = found.is_some_and(|found| found.kind == Kind::File && found.links > 1);
            if is_shared && !but.contains(&name.as_slice()) {
                self.part(disk, directory, &name)?;
            }
        }
        Ok(())
    }

    /// Puts a copy of the file `name` in its place, which no other name leads to.
    fn part<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        directory: &H,
        name: &[u8],
    ) -> std::io::Result<()> {
        self.remove_parted(disk)?;
        let from = disk.open_file(directory, name)?;
        let to = disk.create(&self.state, PARTED_NEW, PRIVATE)?;
        let replaced = copy(disk, &from, &to)
            .and_then(|()| disk.sync(&to, Barrier::Birth))
            .and_then(|()| disk.rename(&self.state, PARTED_NEW, directory, name, Rename::Replace));
        if replaced.is_err() {
            drop(disk.unlink(&self.state, PARTED_NEW)); // a full disk has better uses for it
        }
        replaced?;
        disk.sync(directory, Barrier::Birth)
    }

    /// Removes what a parting left that was cut off.
    pub(crate) fn remove_parted<D: Disk<Handle = H>>(&self, disk: &D) -> std::io::Result<()> {
        match disk.stat_at(&self.state, PARTED_NEW)? {
            Some(_) => disk.unlink(&self.state, PARTED_NEW),
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
