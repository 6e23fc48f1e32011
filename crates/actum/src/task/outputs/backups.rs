//! Backs up the files that a task changes (EX-13, EX-21), as a block delta if that is smaller and otherwise as a copy.

use std::collections::BTreeMap;
use std::io;

use actum_core::{Digest, FileMode, FileState, RelPath, count};
use actum_task::limits::FILE_BYTES_MAX;
use actum_task::report::{
    BACKUPS_DIRECTORY, BackupDelta, ManifestCheckpoint, Rollback, RollbackManifest, backup_name,
};
use actum_workspace::disk::Disk;
use actum_workspace::{LinuxDisk, Transaction, apply_delta, copy_file, digest_of_file};

use super::{Handle, OutputError, Outputs, ReportDirectory, failed, read_whole};

/// Reason why a task's files could not be backed up. Backups that were already written have been removed.
#[derive(Debug)]
pub(in crate::task) enum BackupError {
    /// The backups would take this many bytes, which exceeds the limit.
    TooLarge(u64),
    Output(OutputError),
}

impl From<OutputError> for BackupError {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

impl Outputs {
    /// Backs up the content of each file that a rollback needs, and records in `rollback` which backups are deltas.
    ///
    /// Each file must be unchanged since the rehearsal of the plan. All backups together may take at most `bytes_max` bytes.
    pub(in crate::task) fn back_up(
        &self,
        report: &ReportDirectory,
        rollback: &mut Rollback,
        transaction: Option<&mut Transaction<'_, LinuxDisk>>,
        bytes_max: u64,
    ) -> Result<(), BackupError> {
        if rollback.backups().next().is_none() {
            return Ok(());
        }
        let backups = report.make_backups()?;
        let kept = self.keep_backups((report, &backups), rollback, transaction, bytes_max);
        if kept.is_err() {
            // Errors are ignored, because the report states why the backups are missing and a leftover backup does no harm.
            drop(report.remove_backups(self));
        }
        kept
    }

    fn keep_backups(
        &self,
        (report, backups): (&ReportDirectory, &Handle),
        rollback: &mut Rollback,
        transaction: Option<&mut Transaction<'_, LinuxDisk>>,
        bytes_max: u64,
    ) -> Result<(), BackupError> {
        let mut bytes = 0u64;
        if let Some(transaction) = transaction {
            let paths: Vec<_> = rollback.backups_in_place().map(|(path, _)| path.clone()).collect();
            for path in paths {
                let target = (backups, &*backup_name(&path));
                let written = transaction.write_delta(&path, target);
                if let Some(delta) = written.map_err(failed("write", &report.name.backup(&path)))? {
                    bytes = bytes.saturating_add(delta.size);
                    let (sha256, blocks) = (delta.sha256, delta.blocks);
                    rollback.keep_delta(path, BackupDelta { sha256, blocks });
                }
            }
        }
        let whole = rollback.whole_backups().map(|(_, kept)| kept.size);
        let bytes = whole.fold(bytes, u64::saturating_add);
        if bytes > bytes_max {
            return Err(BackupError::TooLarge(bytes));
        }
        for (path, kept) in rollback.whole_backups() {
            self.copy_backup((report, backups), path, kept)?;
        }
        Ok(())
    }

    /// Copies a file to the backups. Fails if its content differs from the state recorded in `kept`.
    fn copy_backup(
        &self,
        (report, backups): (&ReportDirectory, &Handle),
        path: &RelPath,
        kept: &FileState,
    ) -> Result<(), OutputError> {
        let backing_up = failed("back up", &path.to_string());
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "it changed in the meantime");
        let file =
            self.open(path).and_then(|file| file.ok_or_else(changed)).map_err(&backing_up)?;
        if self.disk.stat(&file).map_err(&backing_up)?.size != kept.size {
            return Err(backing_up(changed()));
        }
        let name = backup_name(path);
        let copy = || {
            let copy = self.disk.create(backups, name.as_bytes(), FileMode::PRIVATE)?;
            match self.disk.clone_content(&file, &copy)? {
                true => digest_of_file(&self.disk, &copy),
                false => copy_file(&self.disk, &file, &copy),
            }
        };
        match copy().map_err(failed("write", &report.name.backup(path)))? {
            digest if digest == kept.sha256 => Ok(()),
            _other => Err(backing_up(changed())),
        }
    }
}

impl ReportDirectory {
    fn make_backups(&self) -> Result<Handle, OutputError> {
        let name = BACKUPS_DIRECTORY.as_bytes();
        let made = self.disk.make_plain_directory(&self.handle, name, FileMode::PRIVATE_DIRECTORY);
        let opened = made.and_then(|()| self.disk.open_directory(&self.handle, name));
        opened.map_err(failed("create the directory", &self.name.file(BACKUPS_DIRECTORY)))
    }

    /// Returns the original file contents that the backups contain, by digest. A backup stored as a delta is applied to the
    /// file that the run left, and is omitted if that file is missing. Contents that exceed the size limit of files that
    /// tasks may change are omitted as well.
    pub(in crate::task) fn backups(
        &self,
        outputs: &Outputs,
        manifest: &RollbackManifest,
    ) -> Result<BTreeMap<Digest, Vec<u8>>, OutputError> {
        let directory = self.name.file(BACKUPS_DIRECTORY);
        let Some(handle) = outputs.existing(&directory)? else { return Ok(BTreeMap::new()) };
        let mut contents = BTreeMap::new();
        for checkpoint in manifest.checkpoints() {
            let content = self.content_of(outputs, &handle, checkpoint);
            contents.extend(content.map_err(failed("read", &directory))?);
        }
        Ok(contents)
    }

    /// Returns the content of a file before the run, with its digest. Returns `None` if there is no backup or the backup
    /// does not yield the recorded digest.
    fn content_of(
        &self,
        outputs: &Outputs,
        backups: &Handle,
        checkpoint: &ManifestCheckpoint,
    ) -> io::Result<Option<(Digest, Vec<u8>)>> {
        let path = &checkpoint.file_path.0;
        let size = checkpoint.original_size.unwrap_or(0);
        if checkpoint.backup_location.is_none() || size > FILE_BYTES_MAX {
            return Ok(None);
        }
        let file = match self.disk.open_file(backups, backup_name(path).as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let content = match checkpoint.backup_format {
            None => read_whole(self.disk, &file, FILE_BYTES_MAX)?,
            Some(_) => {
                let is_small = |found: actum_workspace::disk::Stat| found.size <= FILE_BYTES_MAX;
                if !outputs.stat(path)?.is_some_and(is_small) {
                    return Ok(None);
                }
                let Some(mut content) = outputs.read(path, FILE_BYTES_MAX)? else {
                    return Ok(None);
                };
                match apply_delta(&self.disk, &file, &mut content, size)? {
                    true => content,
                    false => return Ok(None),
                }
            }
        };
        let digest = Digest::of(&content);
        Ok((checkpoint.original_hash == Some(digest)).then_some((digest, content)))
    }

    /// Removes the backups and their directory, and returns the number of removed backups.
    pub(in crate::task) fn remove_backups(&self, outputs: &Outputs) -> Result<u64, OutputError> {
        let directory = self.name.file(BACKUPS_DIRECTORY);
        let Some(handle) = outputs.existing(&directory)? else { return Ok(0) };
        let names = self.disk.list(&handle).map_err(failed("list", &directory))?;
        let removed = names.iter().try_for_each(|name| self.disk.unlink(&handle, name));
        let removed = removed
            .and_then(|()| self.disk.remove_directory(&self.handle, BACKUPS_DIRECTORY.as_bytes()));
        removed.map_err(failed("remove the backups in", &directory))?;
        Ok(count(names.len()))
    }
}
