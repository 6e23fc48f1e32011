//! Rollback of a run: the state of each path before and after, and the steps in order.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath};

use super::names::ReportName;
use super::script;

/// Net change of the run to one file, with the data needed to roll it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Id of the checkpoint.
    pub id: PlainId,
    /// Path of the file; for a renamed file, the old path.
    pub path: RelPath,
    /// Change to the file.
    pub change: FileChange,
}

/// Net change of a run to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// File was created.
    Created {
        /// State after the run.
        left: FileState,
    },
    /// Bytes or mode of the file changed, or both.
    Modified {
        /// State before the run.
        kept: FileState,
        /// State after the run.
        left: FileState,
    },
    /// File was deleted.
    Deleted {
        /// State before the run.
        kept: FileState,
    },
    /// File moved to another path, edited or not.
    Renamed {
        /// New path.
        to: RelPath,
        /// State before the run.
        kept: FileState,
        /// State after the run.
        left: FileState,
    },
}

/// Directory that the run created or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryChange {
    /// Directory was created.
    Created(RelPath),
    /// Directory was removed; it had this mode.
    Removed(RelPath, FileMode),
}

/// Block delta as the backup of a file: applied to the file that the run left, it restores the original. It
/// begins with whole blocks of 4096 bytes. Then comes a line for each sequence of them: the number of its
/// first block in the file, and the block count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupDelta {
    /// SHA-256 of the delta.
    pub sha256: Digest,
    /// Number of blocks in the delta.
    pub blocks: u64,
}

/// Data and order for rolling a run back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    checkpoints: Vec<Checkpoint>,
    /// Backups in the form of deltas.
    deltas: BTreeMap<RelPath, BackupDelta>,
    created: Vec<RelPath>,
    removed: Vec<(RelPath, FileMode)>,
    states: BTreeMap<RelPath, (There, There)>,
}

/// Content of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    File(FileState),
    /// Directory, with its mode if that matters.
    Directory(Option<FileMode>),
}

/// Contradiction between the facts of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RollbackError {
    /// Two changes to one path. A run as a whole makes one change to a path.
    #[error("no rollback can be written: two changes are recorded for the path `{path}`")]
    Twice {
        /// Path of both changes.
        path: RelPath,
    },
    /// Two checkpoints with one id.
    #[error("no rollback can be written: two checkpoints have the id `{id}`")]
    SameId {
        /// Shared id.
        id: PlainId,
    },
}

/// Step of a rollback. Between any two steps, each path is as before the run or as after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    RemoveFile { path: RelPath, left: FileState },
    MakeDirectory { path: RelPath },
    MoveBack { path: RelPath, to: RelPath, kept: FileState },
    RemoveDirectory { path: RelPath },
    RestoreFile { path: RelPath, kept: FileState, from: RestoredFrom },
    RestoreMode { path: RelPath, kept: FileState, left: FileMode },
    RestoreDirectoryMode { path: RelPath, mode: FileMode },
}

/// Source from which a file is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestoredFrom {
    /// Backup, to a path where no file exists.
    Backup,
    /// Backup, in place of the file that the run left.
    BackupOver(FileState),
    /// Delta, applied to the file that the run left.
    Delta(BackupDelta, FileState),
}

impl Rollback {
    /// Plans the rollback of a run and sorts the checkpoints into the order in which they are restored.
    ///
    /// # Errors
    /// [`RollbackError`] if two facts concern one path, other than a file and a directory that replaced each
    /// other. If a file was deleted and another was renamed to its path, the caller records the first as
    /// modified and the second as deleted. So each path is restored in one step.
    pub fn new(
        mut checkpoints: Vec<Checkpoint>,
        directories: Vec<DirectoryChange>,
    ) -> Result<Self, RollbackError> {
        let mut states = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for Checkpoint { id, path, change } in &checkpoints {
            if !ids.insert(id) {
                return Err(RollbackError::SameId { id: id.clone() });
            }
            let (was, is) = change.here();
            put(&mut states, path, was, is)?;
            if let FileChange::Renamed { to, left, .. } = change {
                put(&mut states, to, There::Nothing, There::File(*left))?;
            }
        }
        let (mut created, mut removed) = (Vec::new(), Vec::new());
        for directory in directories {
            match directory {
                DirectoryChange::Created(path) => {
                    put(&mut states, &path, There::Nothing, There::Directory(None))?;
                    created.push(path);
                }
                DirectoryChange::Removed(path, mode) => {
                    put(&mut states, &path, There::Directory(Some(mode)), There::Nothing)?;
                    removed.push((path, mode));
                }
            }
        }
        // Create parents first; remove them last.
        created.sort_by(|a, b| b.cmp(a));
        removed.sort();
        let mut rollback =
            Self { checkpoints: Vec::new(), deltas: BTreeMap::new(), created, removed, states };
        checkpoints.sort_by_key(|checkpoint| (rollback.turn(checkpoint), checkpoint.path.clone()));
        rollback.checkpoints = checkpoints;
        Ok(rollback)
    }

    /// Returns the checkpoints, in the order in which they are restored.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Returns the directories that the run created, innermost first.
    pub fn created_directories(&self) -> &[RelPath] {
        &self.created
    }

    /// Records that the backup of a file is a delta. Only applies to [`backups_in_place`](Self::backups_in_place).
    pub fn keep_delta(&mut self, path: RelPath, delta: BackupDelta) {
        self.deltas.insert(path, delta);
    }

    /// Returns the backups of files whose content changed in place. A delta can replace each of them.
    pub fn backups_in_place(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints.iter().filter_map(|checkpoint| match &checkpoint.change {
            FileChange::Modified { .. } => Some((&checkpoint.path, self.backup(checkpoint)?)),
            FileChange::Created { .. }
            | FileChange::Deleted { .. }
            | FileChange::Renamed { .. } => None,
        })
    }

    /// Returns the backups that are whole files.
    pub fn whole_backups(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints.iter().filter_map(|checkpoint| {
            let kept = self.backup(checkpoint)?;
            self.delta(checkpoint).is_none().then_some((&checkpoint.path, kept))
        })
    }

    /// Returns the delta that is the backup of a checkpoint, if it is one.
    pub(super) fn delta(&self, checkpoint: &Checkpoint) -> Option<BackupDelta> {
        self.backup(checkpoint)?;
        match &checkpoint.change {
            FileChange::Modified { .. } => self.deltas.get(&checkpoint.path).copied(),
            FileChange::Created { .. }
            | FileChange::Deleted { .. }
            | FileChange::Renamed { .. } => None,
        }
    }

    /// Returns the files that need a backup, each with its state before the run.
    pub fn backups(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints
            .iter()
            .filter_map(|checkpoint| Some((&checkpoint.path, self.backup(checkpoint)?)))
    }

    /// Returns the rollback script (EX-16) for the report directory `report` of the run.
    pub fn script(&self, manifest: &PlainId, report: &ReportName) -> Vec<u8> {
        script::script(self, manifest, report)
    }

    /// Returns the file state that a checkpoint needs a backup of.
    pub(super) fn backup<'c>(&self, checkpoint: &'c Checkpoint) -> Option<&'c FileState> {
        match &checkpoint.change {
            FileChange::Created { .. } => None,
            FileChange::Modified { kept, left } => (kept.sha256 != left.sha256).then_some(kept),
            FileChange::Deleted { kept } => Some(kept),
            FileChange::Renamed { to, kept, left } => {
                (!self.is_moved_back(&checkpoint.path, to, kept, left)).then_some(kept)
            }
        }
    }

    /// Returns true if a renamed file can be moved rather than recreated. Its content and mode are unchanged,
    /// and no directory replaced either path.
    fn is_moved_back(
        &self,
        path: &RelPath,
        to: &RelPath,
        kept: &FileState,
        left: &FileState,
    ) -> bool {
        let is_file_alone = |path: &RelPath| {
            self.states.get(path).is_some_and(|(was, is)| {
                !matches!(was, There::Directory(_)) && !matches!(is, There::Directory(_))
            })
        };
        kept == left && is_file_alone(path) && is_file_alone(to)
    }

    fn turn(&self, checkpoint: &Checkpoint) -> u8 {
        match &checkpoint.change {
            FileChange::Created { .. } => 0,
            FileChange::Renamed { .. } if self.backup(checkpoint).is_none() => 1,
            FileChange::Modified { .. }
            | FileChange::Deleted { .. }
            | FileChange::Renamed { .. } => 2,
        }
    }

    /// Returns each path with its content before and after the run.
    pub(super) fn states(&self) -> impl Iterator<Item = (&RelPath, &There, &There)> {
        self.states.iter().map(|(path, (was, is))| (path, was, is))
    }

    /// Returns the old and new path of each file that is moved.
    pub(super) fn moves(&self) -> impl Iterator<Item = (&RelPath, &RelPath)> {
        self.checkpoints.iter().filter_map(|checkpoint| match &checkpoint.change {
            FileChange::Renamed { to, .. } if self.backup(checkpoint).is_none() => {
                Some((&checkpoint.path, to))
            }
            FileChange::Renamed { .. }
            | FileChange::Created { .. }
            | FileChange::Modified { .. }
            | FileChange::Deleted { .. } => None,
        })
    }

    /// Returns the directories that now block the path of a restored file, each with the content that the run
    /// created in it.
    pub(super) fn directories_in_the_way(&self) -> Vec<(&RelPath, Vec<&RelPath>)> {
        let in_the_way = self
            .states
            .iter()
            .filter(|(_, states)| matches!(states, (There::File(_), There::Directory(_))));
        let inside = |directory: &RelPath| {
            let below = self.states.keys().filter(|path| *path != directory);
            below.filter(|path| path.starts_with(directory)).collect()
        };
        in_the_way.map(|(path, _)| (path, inside(path))).collect()
    }

    /// Returns the parent directories of restored files that the run neither created nor removed.
    pub(super) fn directories_on_the_way(&self) -> BTreeSet<RelPath> {
        let gone = self.states.iter().filter(|(_, (was, is))| {
            matches!((was, is), (There::File(_), There::Nothing | There::Directory(_)))
        });
        let above =
            gone.flat_map(|(path, _)| std::iter::successors(path.parent(), RelPath::parent));
        above.filter(|path| !self.states.contains_key(path)).collect()
    }

    /// Returns recreated files that are setuid or setgid: they run as their owner or group, whichever user
    /// starts them.
    pub(super) fn run_as_their_owner(&self) -> impl Iterator<Item = &RelPath> {
        let gone = self.checkpoints.iter().filter(|checkpoint| match &checkpoint.change {
            FileChange::Deleted { .. } | FileChange::Renamed { .. } => true,
            FileChange::Created { .. } | FileChange::Modified { .. } => false,
        });
        let is_meant = |kept: &FileState| kept.mode.bits() & 0o6000 != 0;
        let meant = gone.filter(move |checkpoint| self.backup(checkpoint).is_some_and(is_meant));
        meant.map(|checkpoint| &checkpoint.path)
    }

    /// Returns the steps in order: space is cleared before any file is placed.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for checkpoint in &self.checkpoints {
            let needs_backup = self.backup(checkpoint).is_some();
            match &checkpoint.change {
                FileChange::Created { left } => {
                    steps.push(Step::RemoveFile { path: checkpoint.path.clone(), left: *left });
                }
                FileChange::Renamed { to, left, .. } if needs_backup => {
                    steps.push(Step::RemoveFile { path: to.clone(), left: *left });
                }
                FileChange::Renamed { .. }
                | FileChange::Modified { .. }
                | FileChange::Deleted { .. } => {}
            }
        }
        let made = self.removed.iter().map(|(path, _)| path.clone());
        steps.extend(made.map(|path| Step::MakeDirectory { path }));
        for Checkpoint { path, change, .. } in &self.checkpoints {
            if let FileChange::Renamed { to, kept, left } = change
                && self.is_moved_back(path, to, kept, left)
            {
                let (path, to) = (path.clone(), to.clone());
                steps.push(Step::MoveBack { path, to, kept: *kept });
            }
        }
        steps.extend(self.created.iter().cloned().map(|path| Step::RemoveDirectory { path }));
        for checkpoint in &self.checkpoints {
            let path = checkpoint.path.clone();
            let needs_backup = self.backup(checkpoint).is_some();
            steps.extend(match &checkpoint.change {
                FileChange::Created { .. } => None,
                FileChange::Modified { kept, left } if needs_backup => {
                    let from = match self.delta(checkpoint) {
                        Some(delta) => RestoredFrom::Delta(delta, *left),
                        None => RestoredFrom::BackupOver(*left),
                    };
                    Some(Step::RestoreFile { path, kept: *kept, from })
                }
                FileChange::Modified { kept, left } => {
                    Some(Step::RestoreMode { path, kept: *kept, left: left.mode })
                }
                FileChange::Deleted { kept } => {
                    Some(Step::RestoreFile { path, kept: *kept, from: RestoredFrom::Backup })
                }
                FileChange::Renamed { kept, .. } => {
                    let from = RestoredFrom::Backup;
                    needs_backup.then_some(Step::RestoreFile { path, kept: *kept, from })
                }
            });
        }
        // Modes come last, innermost first: a directory's mode may forbid adding files to it.
        let modes = self.removed.iter().rev().cloned();
        steps.extend(modes.map(|(path, mode)| Step::RestoreDirectoryMode { path, mode }));
        steps
    }
}

impl FileChange {
    /// Returns the content of the checkpoint's path before and after the run.
    fn here(&self) -> (There, There) {
        match self {
            Self::Created { left } => (There::Nothing, There::File(*left)),
            Self::Modified { kept, left } => (There::File(*kept), There::File(*left)),
            Self::Deleted { kept } | Self::Renamed { kept, .. } => {
                (There::File(*kept), There::Nothing)
            }
        }
    }
}

/// Records the content of a path before and after the run. A file and a directory may have replaced each
/// other: then one fact has the content before, and the other the content after.
fn put(
    states: &mut BTreeMap<RelPath, (There, There)>,
    path: &RelPath,
    was: There,
    is: There,
) -> Result<(), RollbackError> {
    let known = match states.get(path) {
        None => (was, is),
        Some((there @ There::File(_), There::Nothing)) if matches!(is, There::Directory(_)) => {
            (*there, is)
        }
        Some((There::Nothing, there @ There::File(_))) if matches!(was, There::Directory(_)) => {
            (was, *there)
        }
        Some(_) => return Err(RollbackError::Twice { path: path.clone() }),
    };
    states.insert(path.clone(), known);
    Ok(())
}
