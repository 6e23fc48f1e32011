//! Files that a killed rollback script had moved aside (EX-16).

use std::io;

use actum_core::report::{ManifestCheckpoint, RollbackManifest, displaced_name};
use actum_core::task::limits::FILE_BYTES_MAX;
use actum_core::{Digest, RelPath};
use actum_workspace::disk::{Disk, Kind, Rename, Stat};

use super::{OutputError, Outputs, ReportDirectory, failed, read_whole};

/// A path from which the script moves a file aside.
struct Place<'m> {
    path: &'m RelPath,
    /// The digest of the file that the run left there.
    left: Option<Digest>,
    /// The path that the file is moved back to, where no backup has its content.
    from: Option<&'m RelPath>,
}

impl<'m> Place<'m> {
    fn new(checkpoint: &'m ManifestCheckpoint) -> Self {
        let (path, left) = (&checkpoint.file_path.0, checkpoint.left_hash);
        match &checkpoint.new_path {
            Some(to) => {
                let from = checkpoint.backup_location.is_none().then_some(path);
                Self { path: &to.0, left, from }
            }
            None => Self { path, left, from: None },
        }
    }
}

impl ReportDirectory {
    /// Puts back each file that a killed script had moved aside, or removes it where another file took its place and its
    /// content is known. Returns a note on each file that stays aside, as its content is nowhere else.
    pub(in crate::task) fn settle_displaced(
        &self,
        outputs: &Outputs,
        manifest: &RollbackManifest,
    ) -> Result<Vec<String>, OutputError> {
        let mut notes = Vec::new();
        for place in manifest.checkpoints().iter().map(Place::new) {
            let name = displaced_name(place.path);
            let settled = self.settle(outputs, &place, name.as_bytes());
            if !settled.map_err(failed("put back", &place.path.to_string()))? {
                notes.push(format!(
                    "`{}` changed while a rollback script had moved it aside; the file that was there is kept as `{}`",
                    place.path,
                    self.name.file(&name)
                ));
            }
        }
        Ok(notes)
    }

    /// Whether nothing is aside any more.
    fn settle(&self, outputs: &Outputs, place: &Place<'_>, aside: &[u8]) -> io::Result<bool> {
        let Some(stat) = self.disk.stat_at(&self.handle, aside)? else { return Ok(true) };
        let held = self.digest_of(&stat, aside);
        let there = digest_at(outputs, place.path);
        let from = place.from.and_then(|from| digest_at(outputs, from));
        let is_replaced = place.from.is_none() && there.is_some() && held == place.left;
        if held.is_some() && (held == there || held == from || is_replaced) {
            self.disk.unlink(&self.handle, aside)?;
            return Ok(true);
        }
        let (from, name) = (&self.handle, place.path.name());
        let rename = |to: &_| self.disk.rename(from, aside, to, name, Rename::NoReplace);
        let moved = match place.path.parent() {
            Some(parent) => {
                outputs.disk.open_parent(&outputs.root, &parent).and_then(|parent| rename(&parent))
            }
            None => rename(&outputs.root),
        };
        match moved {
            Ok(()) => Ok(true),
            Err(error) if is_taken_or_gone(error.kind()) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The digest of a file that was moved aside; none of what the run cannot have left there.
    fn digest_of(&self, stat: &Stat, aside: &[u8]) -> Option<Digest> {
        if stat.kind != Kind::File || stat.size > FILE_BYTES_MAX {
            return None;
        }
        let file = self.disk.open_file(&self.handle, aside).ok()?;
        Some(Digest::of(&read_whole(self.disk, &file, FILE_BYTES_MAX).ok()?))
    }
}

/// Whether nothing can be put back, since something else is at its path or its directory is gone.
fn is_taken_or_gone(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The digest of the file at a path, where one can be read.
fn digest_at(outputs: &Outputs, path: &RelPath) -> Option<Digest> {
    let bytes = outputs.read(path, FILE_BYTES_MAX).ok()??;
    Some(Digest::of(&bytes))
}
