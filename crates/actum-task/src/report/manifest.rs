//! The rollback manifest: what is kept to take a run back, and whether that was done (EX-16).

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

/// What is kept to take a run back.
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

/// What is known of a manifest besides what it takes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFacts {
    /// Its id.
    pub manifest_id: PlainId,
    /// The plan.
    pub plan_id: PlainId,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it can be used; without end where absent.
    pub expires_at: Option<Timestamp>,
    /// What a person should know who takes the run back.
    pub notes: CleanText,
    /// The run in the workspace and the ledger.
    pub run: Option<RunId>,
}

/// What is kept of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestCheckpoint {
    /// Its id.
    pub checkpoint_id: PlainId,
    /// The file; of one that was renamed where it was.
    #[serde(flatten)]
    pub file_path: FilePath,
    /// Where it is, if it was renamed.
    #[serde(flatten)]
    pub new_path: Option<NewPath>,
    /// Its backup, from the root of the workspace; `None` where none is needed.
    pub backup_location: Option<String>,
    /// Form of the backup; absent where that is the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_format: Option<BackupFormat>,
    /// SHA-256 of the backup where that is not the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_hash: Option<Digest>,
    /// SHA-256 of its bytes before the run; `None` where there was no file.
    pub original_hash: Option<Digest>,
    /// Its size before the run.
    pub original_size: Option<u64>,
    /// Its permission bits before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_mode: Option<FileMode>,
    /// SHA-256 of its bytes as the run left them; absent where it left no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_hash: Option<Digest>,
    /// Its permission bits as the run left them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_mode: Option<FileMode>,
    /// What is taken back.
    pub operation_to_reverse: ChangeWord,
    /// How, in words.
    pub restore_command: String,
}

/// Form of a backup that is not the file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupFormat {
    /// The blocks in which the file differed from what the run left.
    BlockDelta,
}

/// Whether a run can be taken back by its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ManifestStatus {
    /// It can.
    Active,
    /// It was.
    Executed,
    /// Its time is over.
    Expired,
}

/// What happens to a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestEvent {
    /// The run was taken back.
    RolledBack,
    /// It is this late.
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
    /// The manifest of what takes a run back, in the report directory of that run.
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

    /// Its id.
    pub fn id(&self) -> &PlainId {
        &self.manifest_id
    }

    /// The plan.
    pub fn plan_id(&self) -> &PlainId {
        &self.plan_id
    }

    /// Whether the run can be taken back by it.
    pub fn status(&self) -> ManifestStatus {
        self.status
    }

    /// What is kept, in the order in which it is restored.
    pub fn checkpoints(&self) -> &[ManifestCheckpoint] {
        &self.checkpoints
    }

    /// The run in the workspace and the ledger.
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// The manifest after something happened to it. Only an active one changes: a run is taken back
    /// once, and what has expired stays so.
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

    /// The digest of the manifest as it was written, before anything happened to it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn digest(&self) -> Result<Digest, ReportError> {
        let active = Self { status: ManifestStatus::Active, ..self.clone() };
        Ok(Digest::of(&active.write()?))
    }

    /// Whether its backups may be removed: never while it is active.
    pub fn may_be_collected(&self) -> bool {
        match self.status {
            ManifestStatus::Active => false,
            ManifestStatus::Executed | ManifestStatus::Expired => true,
        }
    }

    /// Reads a manifest. Members that are not known are passed over.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake: also where the order is not one of the checkpoints.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &ROLLBACK_MANIFEST)
    }

    /// Writes the manifest, as what [`read`](Self::read) takes it back from.
    ///
    /// # Errors
    /// [`ReportError`] when something is longer than the schema lets it be.
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
            "Put the blocks of the backup into the file, as `rollback.sh` does, and set its mode to {}.",
            kept.mode
        ),
        (FileChange::Modified { kept, .. }, Some(_)) => {
            format!("Replace the file by its backup and set its mode to {}.", kept.mode)
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
            return Err("`rollback_order` does not name each checkpoint once");
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
