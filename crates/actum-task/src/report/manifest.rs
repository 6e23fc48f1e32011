//! Rollback manifest of a task: which files are kept for a rollback, and whether it has been performed (EX-16).

use actum_core::path::Quoted;
use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::change_log::ChangeWord;
use super::clean_text::CleanText;
use super::file_path::{FilePath, NewPath};
use super::names::{ROLLBACK_SCRIPT_FILE, ReportName};
use super::rollback::{Checkpoint, FileChange, Rollback};
use super::schemas::ROLLBACK_MANIFEST;
use super::{ReportError, document};

/// Record of the data that is kept for rolling back a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Read")]
pub struct RollbackManifest {
    manifest_id: PlainId,
    plan_id: PlainId,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    status: ManifestStatus,
    checkpoints: Vec<ManifestCheckpoint>,
    rollback_order: Vec<PlainId>,
    auto_rollback_script: String,
    notes: CleanText,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    created_directories: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
}

/// Facts about a rollback manifest, without its checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFacts {
    /// Id of the rollback manifest.
    pub manifest_id: PlainId,
    /// Id of the plan that was executed.
    pub plan_id: PlainId,
    /// Time at which the manifest was created.
    pub created_at: Timestamp,
    /// Time at which the manifest expires. `None` if it never expires.
    pub expires_at: Option<Timestamp>,
    /// Notes for the user who rolls back the run.
    pub notes: CleanText,
    /// Id of the run in the workspace and the ledger.
    pub run: Option<RunId>,
}

/// Data that is kept for rolling back the changes to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestCheckpoint {
    /// Id of the checkpoint.
    pub checkpoint_id: PlainId,
    /// Path of the file. For a renamed file, its old path.
    #[serde(flatten)]
    pub file_path: FilePath,
    /// New path, if the file was renamed.
    #[serde(flatten)]
    pub new_path: Option<NewPath>,
    /// Path of the backup, relative to the workspace root. `None` if no backup is needed.
    pub backup_location: Option<String>,
    /// Format of the backup. Absent if the backup is a copy of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_format: Option<BackupFormat>,
    /// SHA-256 of the backup. Absent if the backup is a copy of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_hash: Option<Digest>,
    /// SHA-256 of the file before the run. `None` if there was no file.
    pub original_hash: Option<Digest>,
    /// Size of the file before the run, in bytes. `None` if there was no file.
    pub original_size: Option<u64>,
    /// Permission bits of the file before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_mode: Option<FileMode>,
    /// SHA-256 of the file after the run. Absent if the run deleted the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_hash: Option<Digest>,
    /// Permission bits of the file after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_mode: Option<FileMode>,
    /// Kind of change that the rollback reverts.
    pub operation_to_reverse: ChangeWord,
    /// Instructions for restoring the file by hand.
    pub restore_command: String,
}

/// Format of a backup that is not a copy of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupFormat {
    /// Only the blocks that differ between the original file and the file after the run.
    BlockDelta,
}

/// State of a rollback manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ManifestStatus {
    /// The run can be rolled back.
    Active,
    /// The run was rolled back.
    Executed,
    /// The manifest has expired, so the run can no longer be rolled back.
    Expired,
}

/// Event that may change the state of a rollback manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestEvent {
    /// The run was rolled back.
    RolledBack,
    /// The clock reached this time.
    Reached(Timestamp),
}

#[derive(Deserialize)]
struct Read {
    manifest_id: PlainId,
    plan_id: PlainId,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    status: ManifestStatus,
    checkpoints: Vec<ManifestCheckpoint>,
    rollback_order: Vec<PlainId>,
    auto_rollback_script: String,
    notes: CleanText,
    #[serde(default)]
    created_directories: Vec<String>,
    run: Option<RunId>,
}

impl RollbackManifest {
    /// Creates the manifest for a rollback whose backups are stored in the report directory of the run.
    pub fn new(facts: ManifestFacts, rollback: &Rollback, report: &ReportName) -> Self {
        let checkpoints = rollback.checkpoints().iter();
        let checkpoints: Vec<ManifestCheckpoint> = checkpoints
            .map(|checkpoint| manifest_checkpoint(checkpoint, rollback, report))
            .collect();
        let shown = |path: &actum_core::RelPath| Quoted(path.as_bytes()).to_string();
        Self {
            manifest_id: facts.manifest_id,
            plan_id: facts.plan_id,
            created_at: facts.created_at,
            expires_at: facts.expires_at,
            status: ManifestStatus::Active,
            rollback_order: checkpoints.iter().map(|it| it.checkpoint_id.clone()).collect(),
            checkpoints,
            auto_rollback_script: report.file(ROLLBACK_SCRIPT_FILE),
            notes: facts.notes,
            created_directories: rollback.created_directories().iter().map(shown).collect(),
            run: facts.run,
        }
    }

    /// Returns the id of the manifest.
    pub fn id(&self) -> &PlainId {
        &self.manifest_id
    }

    /// Returns the id of the plan that was executed.
    pub fn plan_id(&self) -> &PlainId {
        &self.plan_id
    }

    /// Returns the state of the manifest.
    pub fn status(&self) -> ManifestStatus {
        self.status
    }

    /// Returns the checkpoints in the order in which they are restored.
    pub fn checkpoints(&self) -> &[ManifestCheckpoint] {
        &self.checkpoints
    }

    /// Returns the id of the run in the workspace and the ledger.
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// Updates the manifest after an event. Only an active manifest changes, because a run can be rolled back only once and an
    /// expired manifest stays expired.
    #[must_use]
    pub fn after(mut self, event: ManifestEvent) -> Self {
        self.status = match (self.status, event) {
            (ManifestStatus::Active, ManifestEvent::RolledBack) => ManifestStatus::Executed,
            (ManifestStatus::Active, ManifestEvent::Reached(now))
                if self.expires_at.is_some_and(|end| end <= now) =>
            {
                ManifestStatus::Expired
            }
            (status, ManifestEvent::RolledBack | ManifestEvent::Reached(_)) => status,
        };
        self
    }

    /// Returns the digest of the manifest as it was first written, before any event changed its state.
    ///
    /// # Errors
    /// Returns the same errors as [`write`](Self::write).
    pub fn digest(&self) -> Result<Digest, ReportError> {
        let active = Self { status: ManifestStatus::Active, ..self.clone() };
        Ok(Digest::of(&active.write()?))
    }

    /// Returns whether the backups may be removed. The backups of an active manifest must be kept.
    pub fn may_be_collected(&self) -> bool {
        match self.status {
            ManifestStatus::Active => false,
            ManifestStatus::Executed | ManifestStatus::Expired => true,
        }
    }

    /// Parses a rollback manifest. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns [`ReportError`] with the first problem, for example a rollback order that does not match the checkpoints.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &ROLLBACK_MANIFEST)
    }

    /// Serializes the manifest in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a value is longer than the schema allows.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

fn manifest_checkpoint(
    checkpoint: &Checkpoint,
    rollback: &Rollback,
    report: &ReportName,
) -> ManifestCheckpoint {
    let backup = rollback.backup(checkpoint);
    let delta = rollback.delta(checkpoint);
    let (kept, left, word): (Option<&FileState>, Option<&FileState>, ChangeWord) =
        match &checkpoint.change {
            FileChange::Created { left } => (None, Some(left), ChangeWord::Create),
            FileChange::Modified { kept, left } => (Some(kept), Some(left), ChangeWord::Modify),
            FileChange::Deleted { kept } => (Some(kept), None, ChangeWord::Delete),
            FileChange::Renamed { kept, left, .. } => (Some(kept), Some(left), ChangeWord::Rename),
        };
    let restore_command = match (&checkpoint.change, backup) {
        (FileChange::Created { .. }, _) => "Remove the file.".to_owned(),
        (FileChange::Modified { kept, .. }, None) => {
            format!("Set the mode of the file to {}.", kept.mode)
        }
        (FileChange::Modified { kept, .. }, Some(_)) if delta.is_some() => format!(
            "Write the blocks of the backup to the file, as `rollback.sh` does, and set its mode to {}.",
            kept.mode
        ),
        (FileChange::Modified { kept, .. }, Some(_)) => {
            format!("Replace the file with its backup and set its mode to {}.", kept.mode)
        }
        (FileChange::Deleted { kept }, _) => {
            format!("Copy the backup to the path and set its mode to {}.", kept.mode)
        }
        (FileChange::Renamed { .. }, None) => {
            "Move the file from `new_path` back to `file_path`.".to_owned()
        }
        (FileChange::Renamed { kept, .. }, Some(_)) => format!(
            "Copy the backup to `file_path`, set its mode to {:04o}, and remove the file at `new_path`.",
            kept.mode.bits()
        ),
    };
    let new_path = match &checkpoint.change {
        FileChange::Renamed { to, .. } => Some(NewPath(to.clone())),
        FileChange::Created { .. } | FileChange::Modified { .. } | FileChange::Deleted { .. } => {
            None
        }
    };
    ManifestCheckpoint {
        checkpoint_id: checkpoint.id.clone(),
        file_path: FilePath(checkpoint.path.clone()),
        new_path,
        backup_location: backup.map(|_| report.backup(&checkpoint.path)),
        backup_format: delta.map(|_| BackupFormat::BlockDelta),
        backup_hash: delta.map(|delta| delta.sha256),
        original_hash: kept.map(|kept| kept.sha256),
        original_size: kept.map(|kept| kept.size),
        original_mode: kept.map(|kept| kept.mode),
        left_hash: left.map(|left| left.sha256),
        left_mode: left.map(|left| left.mode),
        operation_to_reverse: word,
        restore_command,
    }
}

impl TryFrom<Read> for RollbackManifest {
    type Error = &'static str;

    fn try_from(read: Read) -> Result<Self, &'static str> {
        let mut order: Vec<&PlainId> = read.rollback_order.iter().collect();
        let mut ids: Vec<&PlainId> = read.checkpoints.iter().map(|it| &it.checkpoint_id).collect();
        order.sort();
        ids.sort();
        if order != ids {
            return Err("`rollback_order` must list each checkpoint exactly once");
        }
        let Read { manifest_id, plan_id, created_at, expires_at, status, .. } = read;
        let Read { checkpoints, rollback_order, auto_rollback_script, notes, .. } = read;
        let Read { created_directories, run, .. } = read;
        Ok(Self {
            manifest_id,
            plan_id,
            created_at,
            expires_at,
            status,
            checkpoints,
            rollback_order,
            auto_rollback_script,
            notes,
            created_directories,
            run,
        })
    }
}
