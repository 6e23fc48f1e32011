//! What takes a run back: the state of each path before and after, and the steps in their order.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath};

use super::names::ReportName;
use super::script;

/// What the run as a whole did to one file, and so what takes it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub id: PlainId,
    /// The file; of a renamed one where it was.
    pub path: RelPath,
    /// What happened to it.
    pub change: FileChange,
}

/// What the run as a whole did to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// It appeared.
    Created {
        /// As the run left it.
        left: FileState,
    },
    /// Its bytes changed, or its mode, or both.
    Modified {
        /// As it was.
        kept: FileState,
        /// As the run left it.
        left: FileState,
    },
    /// It disappeared.
    Deleted {
        /// As it was.
        kept: FileState,
    },
    /// It is at another path, edited or not.
    Renamed {
        /// Where it is.
        to: RelPath,
        /// As it was.
        kept: FileState,
        /// As the run left it.
        left: FileState,
    },
}

/// A directory that appeared or disappeared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryChange {
    /// It appeared.
    Created(RelPath),
    /// It disappeared.
    Removed(RelPath, FileMode),
}

/// Block delta that is the backup of a file: with what the run left there it gives the file as it was. It begins with whole blocks of
/// 4096 bytes; then comes a line for each run of them, with the number of its first block in the file and of how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupDelta {
    /// SHA-256 of the delta.
    pub sha256: Digest,
    /// Number of its blocks.
    pub blocks: u64,
}

/// What takes a run back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    checkpoints: Vec<Checkpoint>,
    /// Backups that are deltas.
    deltas: BTreeMap<RelPath, BackupDelta>,
    created: Vec<RelPath>,
    removed: Vec<(RelPath, FileMode)>,
    states: BTreeMap<RelPath, (There, There)>,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    File(FileState),
    /// Its mode is told where it matters.
    Directory(Option<FileMode>),
}

/// Facts that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RollbackError {
    /// A run as a whole does one thing to a path.
    #[error("no rollback can be written: two changes are told of the path `{path}`")]
    Twice {
        /// The path.
        path: RelPath,
    },
    /// Two checkpoints that nobody can tell apart.
    #[error("no rollback can be written: two checkpoints have the id `{id}`")]
    SameId {
        /// The id.
        id: PlainId,
    },
}

/// One step of a rollback. Between any two of them each path is as before the run or as after it.
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

/// What a file is restored from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestoredFrom {
    /// Its backup; nothing is at its path.
    Backup,
    /// Its backup, in the place of what the run left.
    BackupOver(FileState),
    /// A delta and what the run left.
    Delta(BackupDelta, FileState),
}

impl Rollback {
    /// Puts together what takes a run back. The checkpoints come into the order in which they are
    /// restored.
    ///
    /// # Errors
    /// [`RollbackError`] where two facts are about one path, other than a file and a directory that
    /// took each other's place. A file that was deleted while another was renamed to its path is told
    /// as modified, and that other as deleted; so each path goes back in one step.
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
        // Parents first where they are made, last where they are removed.
        created.sort_by(|a, b| b.cmp(a));
        removed.sort();
        let mut rollback =
            Self { checkpoints: Vec::new(), deltas: BTreeMap::new(), created, removed, states };
        checkpoints.sort_by_key(|checkpoint| (rollback.turn(checkpoint), checkpoint.path.clone()));
        rollback.checkpoints = checkpoints;
        Ok(rollback)
    }

    /// The checkpoints, in the order in which they are restored.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// The directories that the run made, the innermost first.
    pub fn created_directories(&self) -> &[RelPath] {
        &self.created
    }

    /// Notes that the backup of a file is a delta. It counts for [`backups_in_place`](Self::backups_in_place) alone.
    pub fn keep_delta(&mut self, path: RelPath, delta: BackupDelta) {
        self.deltas.insert(path, delta);
    }

    /// The backups of files that have other content at the same path: a delta can stand for each of them.
    pub fn backups_in_place(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints.iter().filter_map(|checkpoint| match &checkpoint.change {
            FileChange::Modified { .. } => Some((&checkpoint.path, self.backup(checkpoint)?)),
            FileChange::Created { .. }
            | FileChange::Deleted { .. }
            | FileChange::Renamed { .. } => None,
        })
    }

    /// The backups that are whole files.
    pub fn whole_backups(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints.iter().filter_map(|checkpoint| {
            let kept = self.backup(checkpoint)?;
            self.delta(checkpoint).is_none().then_some((&checkpoint.path, kept))
        })
    }

    /// The delta that is the backup of a checkpoint, where it is one.
    pub(super) fn delta(&self, checkpoint: &Checkpoint) -> Option<BackupDelta> {
        self.backup(checkpoint)?;
        match &checkpoint.change {
            FileChange::Modified { .. } => self.deltas.get(&checkpoint.path).copied(),
            FileChange::Created { .. }
            | FileChange::Deleted { .. }
            | FileChange::Renamed { .. } => None,
        }
    }

    /// The files of which a backup must be kept, each with its bytes as they were before the run.
    pub fn backups(&self) -> impl Iterator<Item = (&RelPath, &FileState)> {
        self.checkpoints
            .iter()
            .filter_map(|checkpoint| Some((&checkpoint.path, self.backup(checkpoint)?)))
    }

    /// The rollback script (EX-16), for the directory `report` of the run.
    pub fn script(&self, manifest: &PlainId, report: &ReportName) -> Vec<u8> {
        script::script(self, manifest, report)
    }

    /// The file of which a checkpoint needs a backup.
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

    /// Whether a renamed file is moved and not made anew: where nothing in it changed, and no
    /// directory took the place of either path.
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

    /// Each path with what was and what is there.
    pub(super) fn states(&self) -> impl Iterator<Item = (&RelPath, &There, &There)> {
        self.states.iter().map(|(path, (was, is))| (path, was, is))
    }

    /// Where files were that are moved back, and where they are.
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

    /// Directories of the run that stand where a file comes back, each with what the run made in it.
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

    /// Directories that a file comes back into, which the run neither made nor removed.
    pub(super) fn directories_on_the_way(&self) -> BTreeSet<RelPath> {
        let gone = self.states.iter().filter(|(_, (was, is))| {
            matches!((was, is), (There::File(_), There::Nothing | There::Directory(_)))
        });
        let above =
            gone.flat_map(|(path, _)| std::iter::successors(path.parent(), RelPath::parent));
        above.filter(|path| !self.states.contains_key(path)).collect()
    }

    /// Files that are made anew, which whoever runs them runs as their owner or as their group.
    pub(super) fn run_as_their_owner(&self) -> impl Iterator<Item = &RelPath> {
        let gone = self.checkpoints.iter().filter(|checkpoint| match &checkpoint.change {
            FileChange::Deleted { .. } | FileChange::Renamed { .. } => true,
            FileChange::Created { .. } | FileChange::Modified { .. } => false,
        });
        let is_meant = |kept: &FileState| kept.mode.bits() & 0o6000 != 0;
        let meant = gone.filter(move |checkpoint| self.backup(checkpoint).is_some_and(is_meant));
        meant.map(|checkpoint| &checkpoint.path)
    }

    /// What is done, in its order: room is made before anything is put there.
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
        // Last, as a directory may be one that nothing can be put into; the innermost first.
        let modes = self.removed.iter().rev().cloned();
        steps.extend(modes.map(|(path, mode)| Step::RestoreDirectoryMode { path, mode }));
        steps
    }
}

impl FileChange {
    /// What was and what is at the path of the checkpoint.
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

/// Takes in what was and is at a path. A file and a directory may have taken each other's place:
/// then one fact tells what was there, and the other what is.
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
