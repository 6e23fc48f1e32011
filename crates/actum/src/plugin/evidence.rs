//! Rollback evidence, obtained by comparing the files after `rollback.js` with those before the change (AA-11).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use actum_core::path_name::PathName;
use actum_core::{Digest, FileState, Hasher};
use actum_record::receipt::{EffectKind, PathEffect};
use actum_sandbox::{Change, Layer, LayerError, Node};

use super::error::{Difference, PluginError};
use crate::command::CommandError;

/// Evidence that `rollback.js` restored all changes and changed nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackEvidence {
    /// Number of compared paths, which are all paths of the change.
    pub files: usize,
    /// Digest of the existence, content and permissions of the compared paths before the change.
    pub digest_before: Digest,
    /// Digest of the compared paths after the rollback, which is always equal to `digest_before`.
    pub digest_restored: Digest,
}

/// State of a path before the change or after the rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Absent,
    File {
        mode: u32,
        digest: Digest,
    },
    Directory {
        mode: u32,
    },
    /// A symbolic link or special file, or a path that could not be read. Two such states never count as equal.
    Other,
}

/// Mask for the permission bits of a file mode.
const MODE_BITS: u32 = 0o7777;

/// Compares the files that a rollback left in a view of the staged change with the files before the change.
///
/// Returns `NotRestored` if a changed path was not restored, or if the rollback changed any other path.
pub(super) fn compare(
    layer: Option<&Layer>,
    change: &[PathEffect],
    root: &Path,
) -> Result<RollbackEvidence, PluginError> {
    let (before, after) = sides(change, root);
    let mut left = after;
    let mut differing: Vec<(PathBuf, Difference)> = Vec::new();
    if let Some(layer) = layer {
        for changed in layer.changes().map_err(CommandError::from)? {
            let state = state(layer, &changed)?;
            if before.contains_key(&changed.path) {
                left.insert(changed.path, state);
            } else if is_other(layer, &changed, &state)? {
                differing.push((changed.path, Difference::Untouched));
            }
        }
    }
    for (path, was) in &before {
        let is = left.get(path).unwrap_or(&State::Absent);
        differing.extend(difference(was, is).map(|how| (path.clone(), how)));
    }
    differing.sort_by(|(one, _), (other, _)| one.cmp(other));
    let more = differing.len().saturating_sub(1);
    match differing.into_iter().next() {
        Some((path, how)) => Err(PluginError::NotRestored { path, how, more }),
        None => Ok(RollbackEvidence {
            files: before.len(),
            digest_before: digest(&before),
            digest_restored: digest(&left),
        }),
    }
}

/// Returns the states of all changed paths before the change, and their states as staged.
fn sides(
    change: &[PathEffect],
    root: &Path,
) -> (BTreeMap<PathBuf, State>, BTreeMap<PathBuf, State>) {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    let place = |name: &PathName| PathBuf::from(OsStr::from_bytes(name.0.as_bytes()));
    let file = |state: &Option<FileState>| match state {
        Some(state) => State::File { mode: state.mode.bits(), digest: state.sha256 },
        None => State::Absent,
    };
    for effect in change {
        let path = place(&effect.path);
        let (was, is) = match effect.effect {
            EffectKind::Created
            | EffectKind::Modified
            | EffectKind::Mode
            | EffectKind::Attributes
            | EffectKind::Deleted => (file(&effect.before), file(&effect.after)),
            EffectKind::Renamed => {
                if let Some(from) = &effect.from {
                    before.insert(place(from), file(&effect.before));
                    after.entry(place(from)).or_insert(State::Absent);
                }
                (State::Absent, file(&effect.after))
            }
            EffectKind::DirectoryCreated => {
                // The mode is irrelevant here, because the rollback must remove the directory.
                (State::Absent, State::Directory { mode: 0 })
            }
            EffectKind::DirectoryRemoved => (directory(&root.join(&path)), State::Absent),
        };
        before.entry(path.clone()).or_insert(was);
        after.insert(path, is);
    }
    (before, after)
}

/// Returns the state of a directory in the workspace, where the change has not been published yet.
fn directory(path: &Path) -> State {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            State::Directory { mode: found.permissions().mode() & MODE_BITS }
        }
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => State::Absent,
        // A path that cannot be read must not pass as restored.
        Ok(_) | Err(_) => State::Other,
    }
}

/// Returns the state of a path that the rollback changed.
fn state(layer: &Layer, changed: &Change) -> Result<State, PluginError> {
    Ok(match &changed.after {
        None => State::Absent,
        Some(Node::File { mode, .. }) => {
            let file = layer.open(&changed.path).map_err(CommandError::from)?;
            State::File { mode: *mode, digest: content(file, &changed.path)? }
        }
        Some(Node::Directory { mode }) => State::Directory { mode: *mode },
        Some(Node::Symlink { .. } | Node::Special { .. }) => State::Other,
    })
}

/// Returns true if the content or mode of a path actually changed. This check is needed because a layer also lists
/// large files that were only opened.
fn is_other(layer: &Layer, changed: &Change, state: &State) -> Result<bool, PluginError> {
    let (State::File { mode, digest }, Some(Node::File { mode: was, .. })) =
        (state, &changed.before)
    else {
        return Ok(true);
    };
    let old = layer.open_before(&changed.path).map_err(CommandError::from)?;
    Ok(mode != was || *digest != content(old, &changed.path)?)
}

fn content(mut file: impl Read, path: &Path) -> Result<Digest, PluginError> {
    crate::command::digest(&mut file).map_err(|why| {
        let error = LayerError::Io { step: "read", path: path.to_owned(), why };
        CommandError::from(error).into()
    })
}

fn difference(was: &State, is: &State) -> Option<Difference> {
    match (was, is) {
        _ if was == is && *was != State::Other => None,
        (State::Absent, _) => Some(Difference::Added),
        (_, State::Absent) => Some(Difference::Missing),
        (State::File { digest, .. }, State::File { digest: other, .. }) if digest != other => {
            Some(Difference::Content)
        }
        (State::File { .. }, State::File { .. })
        | (State::Directory { .. }, State::Directory { .. }) => Some(Difference::Mode),
        (State::File { .. } | State::Directory { .. } | State::Other, _) => Some(Difference::Kind),
    }
}

fn digest(states: &BTreeMap<PathBuf, State>) -> Digest {
    let mut hasher = Hasher::tagged("actum/rollback-evidence/v1");
    for (path, state) in states {
        hasher.part(path.as_os_str().as_bytes());
        let text = match state {
            State::Absent => "absent".to_owned(),
            State::File { mode, digest } => format!("file {mode:04o} {digest}"),
            State::Directory { mode } => format!("directory {mode:04o}"),
            State::Other => "other".to_owned(),
        };
        hasher.part(text.as_bytes());
    }
    hasher.finish()
}
