//! Reads and writes the documents in the report directory of a task (EX-13).

use std::io;

use actum_core::{FileMode, Timestamp};
use actum_task::report::{
    CHANGE_LOG_FILE, ChangeLog, ERROR_REPORT_FILE, EXECUTION_REPORT_FILE, ErrorReport,
    ExecutionReport, ManifestEvent, ROLLBACK_MANIFEST_FILE, ReportError, ReportName,
    RollbackManifest, TEMPORARY_PREFIX,
};
use actum_workspace::LinuxDisk;
use actum_workspace::disk::{Barrier, Disk, Rename};
use serde::{Deserialize, Serialize};

use super::{Handle, OutputError, failed, read_whole, write_new};

/// Suffix of the temporary file to which a document is written before it replaces the previous version.
const UNFINISHED_SUFFIX: &str = ".new";
/// Maximum size of a report document that can be read, in bytes.
const BYTES_MAX: u64 = 64 << 20;

/// Open report directory of one task.
pub(in crate::task) struct ReportDirectory {
    pub(super) disk: LinuxDisk,
    pub(super) handle: Handle,
    /// Name of the report directory.
    pub(in crate::task) name: ReportName,
}

/// Final documents of a task that has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::task) struct EndReports {
    /// True if the workspace is as it was before the task, so the rollback manifest is no longer needed.
    pub(in crate::task) is_as_before: bool,
    pub(in crate::task) report: Option<ExecutionReport>,
    pub(in crate::task) log: Option<ChangeLog>,
    pub(in crate::task) error: Option<ErrorReport>,
}

impl ReportDirectory {
    /// Writes a new file, which must not exist yet.
    pub(in crate::task) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        self.write_as(name, bytes, FileMode::REGULAR)
    }

    /// Writes a new file that only its owner can read.
    pub(in crate::task) fn write_private(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), OutputError> {
        self.write_as(name, bytes, FileMode::PRIVATE)
    }

    fn write_as(&self, name: &str, bytes: &[u8], mode: FileMode) -> Result<(), OutputError> {
        write_new(self.disk, &self.handle, name, bytes, mode)
            .map_err(failed("write", &self.name.file(name)))
    }

    /// Writes the final documents of a task. The execution report is written last, so its presence shows that the documents
    /// are complete.
    pub(in crate::task) fn write_end(&self, ended: &EndReports) -> Result<(), OutputError> {
        let EndReports { is_as_before, report, log, error } = ended;
        if *is_as_before {
            self.end_manifest(ManifestEvent::RolledBack)?;
        }
        self.put(CHANGE_LOG_FILE, log.as_ref().map(ChangeLog::write))?;
        self.put(ERROR_REPORT_FILE, error.as_ref().map(ErrorReport::write))?;
        self.put(EXECUTION_REPORT_FILE, report.as_ref().map(ExecutionReport::write))
    }

    /// Writes a document and replaces its previous version. Does nothing if `document` is `None`.
    pub(in crate::task) fn put(
        &self,
        name: &str,
        document: Option<Result<Vec<u8>, ReportError>>,
    ) -> Result<(), OutputError> {
        match document {
            None => Ok(()),
            Some(Ok(bytes)) => self.replace(name, &bytes),
            Some(Err(error)) => Err(OutputError {
                doing: "serialize",
                path: self.name.file(name),
                source: io::Error::other(error),
            }),
        }
    }

    /// Reads the rollback manifest. Returns `None` if it does not exist or cannot be parsed.
    pub(in crate::task) fn manifest(&self) -> Result<Option<RollbackManifest>, OutputError> {
        let bytes = self.read(ROLLBACK_MANIFEST_FILE)?;
        Ok(bytes.and_then(|bytes| RollbackManifest::read(&bytes).ok()))
    }

    /// Updates the rollback manifest after an event and returns the new version. Returns `None` if there is no readable
    /// manifest.
    pub(in crate::task) fn end_manifest(
        &self,
        event: ManifestEvent,
    ) -> Result<Option<RollbackManifest>, OutputError> {
        let Some(manifest) = self.manifest()? else { return Ok(None) };
        let manifest = manifest.after(event);
        self.put(ROLLBACK_MANIFEST_FILE, Some(manifest.write()))?;
        Ok(Some(manifest))
    }

    /// Marks an active rollback manifest as expired if it has reached its expiry time, and returns the current version.
    pub(in crate::task) fn expire_manifest(
        &self,
        manifest: &RollbackManifest,
        now: Timestamp,
    ) -> Result<RollbackManifest, OutputError> {
        let reached = manifest.clone().after(ManifestEvent::Reached(now));
        if reached.status() != manifest.status() {
            self.put(ROLLBACK_MANIFEST_FILE, Some(reached.write()))?;
        }
        Ok(reached)
    }

    /// Replaces a file atomically, or creates it if it does not exist.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        let new = format!(".{name}{UNFINISHED_SUFFIX}");
        let replaced = match self.disk.unlink(&self.handle, new.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _gone => {
                write_new(self.disk, &self.handle, &new, bytes, FileMode::REGULAR).and_then(|()| {
                    let (new, name) = (new.as_bytes(), name.as_bytes());
                    if self.disk.stat_at(&self.handle, name)?.is_some() {
                        // The new version must be durable before it replaces the previous one.
                        let file = self.disk.open_file(&self.handle, new)?;
                        self.disk.sync_data(&file, Barrier::Report)?;
                    }
                    self.disk.rename(&self.handle, new, &self.handle, name, Rename::Replace)
                })
            }
        };
        replaced.map_err(failed("write", &self.name.file(name)))
    }

    /// Removes the temporary files of a killed process, which are unfinished documents and copies of backups.
    pub(in crate::task) fn remove_unfinished(&self) -> Result<(), OutputError> {
        let names = self.disk.list(&self.handle);
        for name in names.map_err(failed("list", &self.name.directory()))? {
            let is_document =
                name.starts_with(b".") && name.ends_with(UNFINISHED_SUFFIX.as_bytes());
            if !is_document && !name.starts_with(TEMPORARY_PREFIX.as_bytes()) {
                continue;
            }
            match self.disk.unlink(&self.handle, &name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("remove unfinished files in", &self.name.directory())(
                        error,
                    ));
                }
                _gone => {}
            }
        }
        Ok(())
    }

    /// Reads a file in the report directory. Returns `None` if it does not exist.
    pub(in crate::task) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, OutputError> {
        let read = match self.disk.open_file(&self.handle, name.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.and_then(|file| read_whole(self.disk, &file, BYTES_MAX)),
        };
        read.map(Some).map_err(failed("read", &self.name.file(name)))
    }
}
