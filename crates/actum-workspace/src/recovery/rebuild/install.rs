//! Installs the wanted image at a path during a recovery.

use std::io;

use actum_core::{FileMode, RelPath};

use super::Rebuilder;
use super::index::PathRecord;
use super::unrecorded::DISPLACED;
use crate::attributes::{make_directory, set_attributes};
use crate::content::Bytes;
use crate::disk::{Barrier, Disk, Rename, Stat};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::history::images::Images;
use crate::journal::record::{FileImage, Image, stage_name};
use crate::run::publish::set_in_place;
use crate::tree::{Found, Parent};

/// Result of installing an image at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installed {
    Done,
    /// The work of another program occupies the path.
    InTheWay,
    /// The directory that should be removed contains files of another program, so it was left in place.
    NotEmpty,
    /// The bytes of the image are not recorded, or do not match its digest.
    NoBytes,
}

impl<D: Disk> Rebuilder<'_, D> {
    /// Removes an object from a path if the wanted image is of a different kind. Returns false if the object must stay.
    pub(super) fn clear_the_way(&self, path: &RelPath, record: &PathRecord) -> Result<bool> {
        let doing = || format!("restore `{path}`");
        let Some(wanted) = self.image(record.wanted) else { return Ok(true) };
        let disk = &self.workspace.disk;
        match (wanted, self.find(path)?) {
            (Image::Absent | Image::Directory(_), Found::File(stat, _)) => {
                if self.recorded_before(&stat).is_none() {
                    return Ok(false);
                }
                let parent = self.tree.existing_parent(path)?;
                let name = self.temporary(record, DISPLACED)?;
                let stage = &self.workspace.home.stage;
                disk.rename(&parent, path.name(), stage, &name, Rename::NoReplace).doing(doing)?;
                let taken = disk.stat_at(stage, &name).doing(doing)?;
                let Some(taken) = taken.filter(|taken| taken.inode == stat.inode) else {
                    let back = disk.rename(stage, &name, &parent, path.name(), Rename::NoReplace);
                    back.doing(doing)?;
                    return Ok(false);
                };
                if record.is_committed {
                    self.save_removed(path, &name, &taken)?;
                } else {
                    self.save_unknown(path, &name, &taken)?;
                }
                Ok(true)
            }
            (Image::Absent | Image::File(_), Found::Directory) => {
                let parent = self.tree.existing_parent(path)?;
                self.tree.forget(path);
                match disk.remove_directory(&parent, path.name()) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                        Err(error).doing(doing)
                    }
                    Err(_) if self.was_a_directory(path)? => {
                        self.displace_directory(path, record)?;
                        Ok(true)
                    }
                    // If the path should be absent, a directory that is not empty is left in place.
                    Err(_) => Ok(matches!(wanted, Image::Absent)),
                }
            }
            (Image::Absent | Image::Directory(_) | Image::File(_), _) => Ok(true),
        }
    }

    /// Moves a directory to the lost directory. It is the earlier content of an inode that a run used for one of its
    /// files. Files in it that have other names are not saved, because they still exist under those names.
    fn displace_directory(&self, path: &RelPath, record: &PathRecord) -> Result<()> {
        let doing = || format!("restore `{path}`");
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let parent = self.tree.existing_parent(path)?;
        let name = self.temporary(record, DISPLACED)?;
        disk.rename(&parent, path.name(), stage, &name, Rename::NoReplace).doing(doing)?;
        let directory = disk.open_directory(stage, &name).doing(doing)?;
        for inside in disk.list(&directory).doing(doing)? {
            let stat = disk.stat_at(&directory, &inside).doing(doing)?;
            if stat.is_some_and(|stat| stat.kind.has_content() && stat.links > 1) {
                disk.unlink(&directory, &inside).doing(doing)?;
            }
        }
        let stat = disk.stat(&directory).doing(doing)?;
        self.save_unknown(path, &name, &stat)
    }

    /// Installs the wanted image at a path, unless the work of another program is there.
    pub(super) fn install(&self, path: &RelPath, record: &PathRecord) -> Result<Installed> {
        let doing = || format!("restore `{path}`");
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let wrong = |(what, source)| -> Error {
            ErrorKind::Attributes { path: path.clone(), what, source }.into()
        };
        let Some(wanted) = self.image(record.wanted) else { return Ok(Installed::Done) };
        if matches!(wanted, Image::Absent) {
            let is_gone = matches!(self.find(path)?, Found::Nothing);
            return Ok(if is_gone { Installed::Done } else { Installed::NotEmpty });
        }
        let Some(parent) = self.parent_made(path)? else { return Ok(Installed::InTheWay) };
        let before = disk.stat_at(&parent, path.name()).doing(doing)?;
        let name = self.temporary(record, "new")?;
        match wanted {
            Image::Absent => return Ok(Installed::Done),
            Image::Directory(attributes) => {
                if before.is_some() {
                    return Ok(Installed::InTheWay);
                }
                make_directory(disk, stage, &name, attributes).map_err(wrong)?;
                let directory = disk.open_directory(stage, &name).doing(doing)?;
                disk.sync(&directory, Barrier::Rebuilt).doing(doing)?;
            }
            Image::File(file) => {
                let Some(bytes) = self.bytes(&record.known, record.wanted)? else {
                    return Ok(Installed::NoBytes);
                };
                if !self.build(&name, &bytes, file, path)? {
                    return Ok(Installed::NoBytes);
                }
            }
        }
        // Another program may have saved the file since it was judged.
        if before.is_some_and(|before| self.recorded_before(&before).is_none()) {
            return Ok(Installed::InTheWay);
        }
        let Some(before) = before else {
            return match disk.rename(stage, &name, &parent, path.name(), Rename::NoReplace) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Ok(Installed::InTheWay)
                }
                renamed => renamed.doing(doing).map(|()| Installed::Done),
            };
        };
        // Rename the staged file first. After the exchange, the new name identifies the displaced file.
        let built = name;
        let name = self.temporary(record, DISPLACED)?;
        disk.rename(stage, &built, stage, &name, Rename::NoReplace).doing(doing)?;
        let exchange =
            || disk.rename(stage, &name, &parent, path.name(), Rename::Exchange).doing(doing);
        exchange()?;
        let displaced = disk.stat_at(stage, &name).doing(doing)?;
        let seen = |stat: &Stat| (stat.inode, stat.size, stat.modified);
        let Some(displaced) = displaced.filter(|displaced| seen(displaced) == seen(&before)) else {
            exchange()?; // another process was faster, so its file stays
            // The second exchange may have displaced yet another version of the file.
            if let Some(stat) = disk.stat_at(stage, &name).doing(doing)? {
                self.save_unknown(path, &name, &stat)?;
            }
            return Ok(Installed::InTheWay);
        };
        self.save_unknown(path, &name, &displaced)?;
        Ok(Installed::Done)
    }

    /// Returns the parent directory of `path`, and creates it if it is missing. A power cut can lose a directory that
    /// existed when a run was committed. Returns `None` if another object is in its place.
    fn parent_made(&self, path: &RelPath) -> Result<Option<Parent<'_, D::Handle>>> {
        match self.tree.parent(path) {
            Ok(Some(parent)) => return Ok(Some(parent)),
            Ok(None) => {}
            Err(error @ Error { kind: ErrorKind::Io { .. }, .. }) => return Err(error),
            Err(_) => return Ok(None),
        }
        let Some(directory) = path.parent() else { return Ok(None) };
        let Some(above) = self.parent_made(&directory)? else { return Ok(None) };
        let mode = FileMode::new(0o777 & !self.workspace.disk.umask());
        let made = self.workspace.disk.make_directory(&above, directory.name(), mode);
        made.doing(|| format!("recreate the directory `{directory}`"))?;
        self.tree.parent(path)
    }

    /// Writes an image to the stage directory. Returns true if the written bytes match its digest.
    fn build(
        &self,
        name: &[u8],
        bytes: &Bytes<D::Handle>,
        FileImage { attributes, digest, .. }: &FileImage,
        path: &RelPath,
    ) -> Result<bool> {
        let doing = || format!("restore `{path}`");
        let workspace = self.workspace;
        let images = Images { disk: &workspace.disk, home: &workspace.home };
        let wanted = (attributes.mode, *digest);
        let made = images.make((&workspace.home.stage, name), wanted, bytes).doing(doing)?;
        let Some(file) = made else { return Ok(false) };
        set_attributes(&workspace.disk, &file, attributes).map_err(|(what, source)| {
            Error::from(ErrorKind::Attributes { path: path.clone(), what, source })
        })?;
        images.sync_made(&file, attributes.mode, Barrier::Rebuilt).doing(doing)?;
        Ok(true)
    }

    /// Sets the attributes of a path whose content is already as wanted.
    pub(super) fn adjust(&self, record: &PathRecord) -> Result<()> {
        let (Some(entry), Some(wanted)) = (self.entry(record.wanted), self.image(record.wanted))
        else {
            return Ok(());
        };
        let parent = self.tree.existing_parent(&entry.path)?;
        let stat = self.workspace.disk.stat_at(&parent, entry.path.name());
        let stat = stat.doing(|| format!("restore `{}`", entry.path))?;
        let mut there = entry.clone();
        if let (Image::File(file), Some(stat)) = (&mut there.pre, stat) {
            file.inode = stat.inode;
        } else if let (Some(file), Some(stat)) = (wanted.file(), stat) {
            there.pre = Image::File(FileImage { inode: stat.inode, ..file.clone() });
        }
        set_in_place(&self.tree, &there, wanted)
    }

    /// Returns an unused name in the stage directory.
    fn temporary(&self, record: &PathRecord, word: &str) -> Result<Vec<u8>> {
        let doing = || "restore a path".to_owned();
        let Some(logged) = self.runs.get(record.wanted.run) else { return Ok(Vec::new()) };
        let stem = stage_name(logged.intent.run, record.wanted.entry);
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        for attempt in 0u32.. {
            let name = [&stem, format!(".{word}{attempt}").as_bytes()].concat();
            if disk.stat_at(stage, &name).doing(doing)?.is_none() {
                return Ok(name);
            }
        }
        Ok(Vec::new())
    }
}
