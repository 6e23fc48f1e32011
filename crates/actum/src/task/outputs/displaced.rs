//! Restores displaced files, which a rollback script had moved aside before it was killed (EX-16).

use std::io;

use actum_core::{Digest, RelPath};
use actum_task::report::{ManifestCheckpoint, RollbackManifest, displaced_name};
use actum_workspace::digest_of_file;
use actum_workspace::disk::{Disk, Kind, Rename, Stat};

use super::{OutputError, Outputs, ReportDirectory, failed};

/// Path from which the rollback script moves a file aside, with the digests needed to decide what to do with it.
struct Place<'m> {
    path: &'m RelPath,
    /// Digest of the file that the run left at the path.
    left: Option<Digest>,
    /// Original path of a renamed file, if no backup contains its content.
    from: Option<&'m RelPath>,
    /// Digest of the file before the run, if its backup is a delta that must be applied to the file that the run left.
    delta_to: Option<Digest>,
}

impl<'m> Place<'m> {
    fn new(checkpoint: &'m ManifestCheckpoint) -> Self {
        let (path, left) = (&checkpoint.file_path.0, checkpoint.left_hash);
        match &checkpoint.new_path {
            Some(to) => {
                let from = checkpoint.backup_location.is_none().then_some(path);
                Self { path: &to.0, left, from, delta_to: None }
            }
            None => {
                let delta_to = checkpoint.backup_format.and(checkpoint.original_hash);
                Self { path, left, from: None, delta_to }
            }
        }
    }
}

/// Result of handling the files that a killed rollback script had moved aside.
#[derive(Debug, Default)]
pub(in crate::task) struct Settled {
    /// Paths to which a displaced file was restored.
    pub(in crate::task) restored: Vec<RelPath>,
    /// Names of displaced files whose content also exists in another place. They are removed after the rollback is done.
    replaced: Vec<String>,
    /// Notes about displaced files that could not be restored. They are kept, because their content exists nowhere else.
    pub(in crate::task) kept: Vec<String>,
}

/// Result of handling one displaced file.
enum Found {
    Nothing,
    PutBack,
    Replaced,
    Kept,
}

impl ReportDirectory {
    /// Returns whether a killed rollback script left any displaced file.
    pub(in crate::task) fn has_displaced(
        &self,
        manifest: &RollbackManifest,
    ) -> Result<bool, OutputError> {
        for place in manifest.checkpoints().iter().map(Place::new) {
            let name = displaced_name(place.path);
            let found = self.disk.stat_at(&self.handle, name.as_bytes());
            if found.map_err(failed("look for", &self.name.file(&name)))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Restores the files that a killed rollback script had moved aside. Does not remove any displaced file, because an
    /// undo may still need it.
    pub(in crate::task) fn restore_displaced(
        &self,
        outputs: &Outputs,
        manifest: &RollbackManifest,
    ) -> Result<Settled, OutputError> {
        let mut settled = Settled::default();
        for place in manifest.checkpoints().iter().map(Place::new) {
            let name = displaced_name(place.path);
            let found = self.settle(outputs, &place, name.as_bytes());
            match found.map_err(failed("restore", &place.path.to_string()))? {
                Found::Nothing => {}
                Found::PutBack => settled.restored.push(place.path.clone()),
                Found::Replaced => settled.replaced.push(name),
                Found::Kept => settled.kept.push(format!(
                    "`{}` changed after a rollback script had moved it aside; the moved file is kept as `{}`",
                    place.path,
                    self.name.file(&name)
                )),
            }
        }
        Ok(settled)
    }

    /// Removes the displaced files whose content also exists in another place. Returns a note for each file that could not
    /// be removed.
    pub(in crate::task) fn remove_replaced(&self, settled: &Settled) -> Vec<String> {
        let notes = settled.replaced.iter().filter_map(|name| {
            let error = self.disk.unlink(&self.handle, name.as_bytes()).err()?;
            Some(format!("cannot remove `{}`: {error}", self.name.file(name)))
        });
        notes.collect()
    }

    fn settle(&self, outputs: &Outputs, place: &Place<'_>, aside: &[u8]) -> io::Result<Found> {
        let Some(stat) = self.disk.stat_at(&self.handle, aside)? else {
            return Ok(Found::Nothing);
        };
        let held = self.digest_of(&stat, aside);
        let there = digest_at(outputs, place.path);
        let from = place.from.and_then(|from| digest_at(outputs, from));
        let is_replaced = place.from.is_none()
            && there.is_some()
            && held == place.left
            && place.delta_to.is_none_or(|kept| there == Some(kept));
        if held.is_some() && (held == there || held == from || is_replaced) {
            return Ok(Found::Replaced);
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
            Ok(()) => Ok(Found::PutBack),
            Err(error) if is_taken_or_gone(error.kind()) => Ok(Found::Kept),
            Err(error) => Err(error),
        }
    }

    /// Returns the digest of a displaced file. Returns `None` if it is not a readable regular file.
    fn digest_of(&self, stat: &Stat, aside: &[u8]) -> Option<Digest> {
        if stat.kind != Kind::File {
            return None;
        }
        let file = self.disk.open_file(&self.handle, aside).ok()?;
        digest_of_file(&self.disk, &file).ok()
    }
}

/// Returns whether a file cannot be restored because its path is taken or its directory no longer exists.
fn is_taken_or_gone(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the digest of the file at a path, or `None` if it cannot be read.
fn digest_at(outputs: &Outputs, path: &RelPath) -> Option<Digest> {
    outputs.digest(path).ok()?
}
