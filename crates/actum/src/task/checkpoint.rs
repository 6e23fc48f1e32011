//! Computes the rollback of a run from its effects on files and directories (EX-7, EX-16).

use std::collections::BTreeMap;

use actum_core::plain_id::PlainId;
use actum_core::{FileMode, FileState, RelPath};
use actum_record::receipt::{EffectKind, PathEffect};
use actum_task::report::{Checkpoint, DirectoryChange, FileChange, Rollback, RollbackError};

/// Computes the rollback of a change with the given effects. `id` must return a new checkpoint id at each call.
///
/// # Errors
/// Returns [`RollbackError`] for contradictory effects, which a change to a workspace never has.
pub(super) fn rollback_from_effects(
    effects: &[PathEffect],
    mut id: impl FnMut() -> PlainId,
) -> Result<Rollback, RollbackError> {
    let directories = || {
        effects.iter().filter_map(|effect| match effect.effect {
            EffectKind::DirectoryCreated => Some(DirectoryChange::Created(effect.path.0.clone())),
            EffectKind::DirectoryRemoved => {
                let mode = FileMode::EXECUTABLE;
                Some(DirectoryChange::Removed(effect.path.0.clone(), mode))
            }
            EffectKind::Created
            | EffectKind::Modified
            | EffectKind::Renamed
            | EffectKind::Mode
            | EffectKind::Attributes
            | EffectKind::Deleted => None,
        })
    };
    let files = effects.iter().filter(|effect| effect.effect.is_of_file());
    let checkpoints = files.filter_map(|effect| {
        let (path, change) = listed_change(effect)?;
        Some(Checkpoint { id: id(), path, change })
    });
    match Rollback::new(checkpoints.collect(), directories().collect()) {
        // Files that swapped their paths cannot be listed as renames, so each path is restored separately.
        Err(RollbackError::Twice { .. }) => {
            let apart = apart(effects).into_iter().map(|(path, change)| {
                let id = id();
                Checkpoint { id, path, change }
            });
            Rollback::new(apart.collect(), directories().collect())
        }
        rollback => rollback,
    }
}

/// Returns the path and the change of a file in the form that the rollback manifest lists.
fn listed_change(effect: &PathEffect) -> Option<(RelPath, FileChange)> {
    let path = effect.path.0.clone();
    Some(match (&effect.from, effect.before, effect.after) {
        (Some(from), Some(kept), Some(left)) => {
            (from.0.clone(), FileChange::Renamed { to: path, kept, left })
        }
        (None, Some(kept), Some(left)) => (path, FileChange::Modified { kept, left }),
        (None, None, Some(left)) => (path, FileChange::Created { left }),
        (_, Some(kept), None) => (path, FileChange::Deleted { kept }),
        (_, None, _) => return None,
    })
}

/// Returns one change per path. A rename becomes a deletion of the old path and a creation of the new path.
pub(super) fn apart(effects: &[PathEffect]) -> Vec<(RelPath, FileChange)> {
    let mut sides: BTreeMap<&RelPath, (Option<FileState>, Option<FileState>)> = BTreeMap::new();
    for effect in effects.iter().filter(|effect| effect.effect.is_of_file()) {
        // Two effects can share a path if one file was moved away from it and another file was moved to it.
        let from = effect.from.as_ref().unwrap_or(&effect.path);
        if let Some(before) = effect.before {
            sides.entry(&from.0).or_default().0 = Some(before);
        }
        if let Some(after) = effect.after {
            sides.entry(&effect.path.0).or_default().1 = Some(after);
        }
    }
    let change = |(path, sides): (&RelPath, _)| {
        let change = match sides {
            (None, None) => return None,
            (None, Some(left)) => FileChange::Created { left },
            (Some(kept), None) => FileChange::Deleted { kept },
            (Some(kept), Some(left)) => FileChange::Modified { kept, left },
        };
        Some((path.clone(), change))
    };
    sides.into_iter().filter_map(change).collect()
}
