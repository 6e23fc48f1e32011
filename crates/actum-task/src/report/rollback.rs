//! Rollback of a run: the state of each path before and after the run, and the steps that restore it.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath};

use super::names::ReportName;
use super::script;

/// Net change of a run to one file, with the data that a rollback needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Id of the checkpoint.
    pub id: PlainId,
    /// Path of the file. For a renamed file, its old path.
    pub path: RelPath,
    /// Net change of the run to the file.
    pub change: FileChange,
}

/// Net change of a run to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The run created the file.
    Created {
        /// State of the file after the run.
        left: FileState,
    },
    /// The run changed the content of the file, its mode, or both.
    Modified {
        /// State of the file before the run.
        kept: FileState,
        /// State of the file after the run.
        left: FileState,
    },
    /// The run deleted the file.
    Deleted {
        /// State of the file before the run.
        kept: FileState,
    },
    /// The run moved the file to a different path and may have changed it as well.
    Renamed {
        /// Path of the file after the run.
        to: RelPath,
        /// State of the file before the run.
        kept: FileState,
        /// State of the file after the run.
        left: FileState,
    },
}

/// Directory that a run created or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryChange {
    /// The run created the directory.
    Created(RelPath),
    /// The run removed the directory, which had this mode.
    Removed(RelPath, FileMode),
}

/// Backup that contains only the blocks in which a file changed. Applied to the file after the run, it restores the original file.
///
/// The backup starts with the blocks, each of 4096 bytes. They are followed by one line for each sequence of adjacent blocks, with
/// the number of its first block in the file and its number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupDelta {
    /// SHA-256 of the backup.
    pub sha256: Digest,
    /// Number of blocks in the backup.
    pub blocks: u64,
}

/// Plan for rolling back a run: what is restored, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    checkpoints: Vec<Checkpoint>,
    /// Backups that are block deltas, by the path of the file.
    deltas: BTreeMap<RelPath, BackupDelta>,
    created: Vec<RelPath>,
    removed: Vec<(RelPath, FileMode)>,
    states: BTreeMap<RelPath, (There, There)>,
}

/// Content of a path: nothing, a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    File(FileState),
    /// A directory, with its mode if a rollback has to restore the mode.
    Directory(Option<FileMode>),
}

/// Contradictory data about a run, from which no rollback can be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RollbackError {
    /// Two changes are recorded for the same path. A run has only one net change per path.
    #[error("cannot plan the rollback: two changes are recorded for the path `{path}`")]
    Twice {
        /// Path that both changes have.
        path: RelPath,
    },
    /// Two checkpoints have the same id.
    #[error("cannot plan the rollback: two checkpoints have the id `{id}`")]
    SameId {
        /// Id that both checkpoints have.
        id: PlainId,
    },
}

/// Step of a rollback. Before and after each step, every path is either in its original state or as the run left it.
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
    /// A backup is copied to a path at which no file exists.
    Backup,
    /// A backup replaces the file that the run left.
    BackupOver(FileState),
    /// A block delta is applied to the file that the run left.
    Delta(BackupDelta, FileState),
}

impl Rollback {
    /// Plans the rollback of a run, and sorts the checkpoints into the order in which they are restored.
    ///
    /// If the run deleted a file and renamed another file to its path, the caller must record the first file as modified and the
    /// second one as deleted. This ensures that each path is restored in a single step.
    ///
    /// # Errors
    /// Returns [`RollbackError`] if two changes affect the same path, unless a file and a directory replaced each other. Also
    /// returns it if two checkpoints have the same id.
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
        // Sort the directories so that parents are recreated first and removed last.
        created.sort_by(|a, b| b.cmp(a));
        removed.sort();
        let mut rollback =
            Self { checkpoints: Vec::new(), deltas: BTreeMap::new(), created, removed, states };
        checkpoints.sort_by_key(|checkpoint| (rollback.turn(checkpoint), checkpoint.path.clone()));
        rollback.checkpoints = checkpoints;
        Ok(rollback)
    }

    /// Returns the checkpoints in the order in which they are restored.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Returns the directories that the run created, innermost first.
    pub fn created_directories(&self) -> &[RelPath] {
        &self.created
    }

    /// Records that the backup of a file is a block delta. This is allowed only for the files that
    /// [`backups_in_place`](Self::backups_in_place) returns.
    pub fn keep_delta(&mut self, path: RelPath, delta: BackupDelta) {
        self.deltas.insert(path, delta);
    }

    /// Returns the files that were changed in place and need a backup, for which a block delta is sufficient.
    pub fn backups_in_place(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints.iter().filter_map(|checkpoint| match &checkpoint.change {
            FileChange::Modified { .. } => Some((&checkpoint.path, self.backup(checkpoint)?)),
            FileChange::Created { .. }
            | FileChange::Deleted { .. }
            | FileChange::Renamed { .. } => None,
        })
    }

    /// Returns the files whose backup is a complete copy.
    pub fn whole_backups(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints.iter().filter_map(|checkpoint| {
            let kept = self.backup(checkpoint)?;
            self.delta(checkpoint).is_none().then_some((&checkpoint.path, kept))
        })
    }

    /// Returns the block delta that is the backup for a checkpoint, if there is one.
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

    /// Returns the rollback script of the run (EX-16), which must be stored in the report directory `report`.
    pub fn script(&self, manifest: &PlainId, report: &ReportName) -> Vec<u8> {
        script::script(self, manifest, report)
    }

    /// Returns the file state for which a checkpoint needs a backup, if it needs one.
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

    /// Returns whether a renamed file can simply be moved back instead of being restored from a backup. This requires that its
    /// content and mode are unchanged and that neither path is now or was a directory.
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

    /// Returns each path that the run changed, with its state before and after the run.
    pub(super) fn states(&self) -> impl Iterator<Item = (&RelPath, &There, &There)> {
        self.states.iter().map(|(path, (was, is))| (path, was, is))
    }

    /// Returns the old and the new path of each file that can simply be moved back.
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

    /// Returns the directories that the run created at the paths of files to restore, each with the changed paths below it.
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

    /// Returns the directories that must exist for files to be restored, except those that the run created or removed.
    pub(super) fn directories_on_the_way(&self) -> BTreeSet<RelPath> {
        let gone = self.states.iter().filter(|(_, (was, is))| {
            matches!((was, is), (There::File(_), There::Nothing | There::Directory(_)))
        });
        let above =
            gone.flat_map(|(path, _)| std::iter::successors(path.parent(), RelPath::parent));
        above.filter(|path| !self.states.contains_key(path)).collect()
    }

    /// Returns the files to recreate that are setuid or setgid. Such a file must get its original owner or group, because it runs
    /// with their rights.
    pub(super) fn run_as_their_owner(&self) -> impl Iterator<Item = &RelPath> {
        let gone = self.checkpoints.iter().filter(|checkpoint| match &checkpoint.change {
            FileChange::Deleted { .. } | FileChange::Renamed { .. } => true,
            FileChange::Created { .. } | FileChange::Modified { .. } => false,
        });
        let has_set_id = |kept: &FileState| kept.mode.bits() & 0o6000 != 0;
        let with_set_id =
            gone.filter(move |checkpoint| self.backup(checkpoint).is_some_and(has_set_id));
        with_set_id.map(|checkpoint| &checkpoint.path)
    }

    /// Returns the steps of the rollback in order. Paths are cleared before files are restored there.
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
        // Restore directory modes last and innermost first, because a mode may forbid adding files to the directory.
        let modes = self.removed.iter().rev().cloned();
        steps.extend(modes.map(|(path, mode)| Step::RestoreDirectoryMode { path, mode }));
        steps
    }
}

impl FileChange {
    /// Returns what existed at the path of the checkpoint before and after the run.
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

/// Records what existed at a path before and after the run. If a file and a directory replaced each other, the facts about both are
/// combined into one entry.
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
