//! View of the workspace in which commands see the staged changes of a transaction, as a layer over the files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::RelPath;
use actum_record::receipt::{EffectKind, PathEffect};
use actum_sandbox::{Layer, LayerError, Node, StagedLayer};
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use super::{CommandError, Runner};
use crate::error::{Error, Result, Unkept, WhyUnkept};

/// View of the workspace with the staged changes of a transaction, for commands that inspect or extend them.
///
/// The view contains the changes that were staged when it was created, and is removed when it is dropped.
#[derive(Debug)]
pub struct StagedView {
    layer: StagedLayer,
}

impl StagedView {
    /// Creates a view of the staged changes of `transaction` over the workspace of `runner`.
    ///
    /// # Errors
    /// `Command` if the layer cannot be written; `Workspace` if the staged changes cannot be read.
    pub fn new<D: Disk>(runner: &Runner, transaction: &mut Transaction<'_, D>) -> Result<Self> {
        let change = transaction.effects();
        Self::of_change(runner, transaction, &change)
    }

    /// Creates a view like [`new`](Self::new), from effects of the transaction that the caller has already computed.
    pub(crate) fn of_change<D: Disk>(
        runner: &Runner,
        transaction: &mut Transaction<'_, D>,
        change: &[PathEffect],
    ) -> Result<Self> {
        let layer = StagedLayer::temporary(&runner.root).map_err(failed)?;
        take_away(&layer, change)?;
        // Effects are ordered by path, so a directory is created before its content.
        for effect in change {
            let at = place(&effect.path.0);
            let Some(mode) = transaction.mode_of(&effect.path.0) else { continue };
            if effect.effect == EffectKind::DirectoryCreated {
                layer.directory(at, mode.bits()).map_err(failed)?;
            } else if matches!(effect.effect, EffectKind::Mode | EffectKind::Attributes)
                && effect.after.is_none()
            {
                layer.permissions(at, mode.bits()).map_err(failed)?;
            } else if mode.is_link() {
                let target = transaction.link_target(&effect.path.0)?;
                layer.symlink(at, Path::new(OsStr::from_bytes(&target))).map_err(failed)?;
            } else if effect.after.is_some() {
                let content = transaction.read(&effect.path.0)?;
                layer.file(at, content.as_slice(), mode.bits()).map_err(failed)?;
            }
        }
        Ok(Self { layer })
    }

    /// Adds the changes that a command made on this view, so that later commands see them.
    ///
    /// # Errors
    /// `Command` if the changes cannot be read or written, or if one of them cannot be part of a run.
    pub(crate) fn add(&self, layer: &Layer) -> Result<()> {
        for change in layer.changes().map_err(failed)? {
            match (&change.before, &change.after) {
                (_, Some(Node::File { mode, .. })) => {
                    let content = layer.open(&change.path).map_err(failed)?;
                    self.layer.file(&change.path, content, *mode).map_err(failed)?;
                }
                (Some(Node::Directory { .. }), Some(Node::Directory { mode })) => {
                    self.layer.permissions(&change.path, *mode).map_err(failed)?;
                }
                (_, Some(Node::Directory { mode })) => {
                    self.layer.directory(&change.path, *mode).map_err(failed)?;
                }
                (_, None) => self.layer.delete(&change.path).map_err(failed)?,
                (_, Some(Node::Symlink { target })) => {
                    self.layer.symlink(&change.path, target).map_err(failed)?;
                }
                (_, Some(Node::Special { .. })) => {
                    let unkept = Unkept { path: change.path, why: WhyUnkept::Special };
                    return Err(CommandError::Unkept(vec![unkept]).into());
                }
            }
        }
        Ok(())
    }

    /// Returns the path of the layer's directory, which exists until the view is dropped.
    pub fn path(&self) -> &Path {
        self.layer.path()
    }
}

fn failed(error: LayerError) -> Error {
    CommandError::Staged(error).into()
}

fn place(path: &RelPath) -> &Path {
    Path::new(OsStr::from_bytes(path.as_bytes()))
}

/// Marks the removed paths as deleted in the layer, so that other files can take their place. Skips paths below a
/// removed directory, because they are removed with it.
fn take_away(layer: &StagedLayer, change: &[PathEffect]) -> Result<()> {
    let removed = |effect: &&PathEffect| effect.effect == EffectKind::DirectoryRemoved;
    let removed: BTreeSet<&RelPath> =
        change.iter().filter(removed).map(|effect| &effect.path.0).collect();
    let lies_in_one = |path: &RelPath| {
        std::iter::successors(path.parent(), RelPath::parent).any(|above| removed.contains(&above))
    };
    let files = change.iter().filter_map(|effect| match effect.effect {
        EffectKind::Deleted => Some(&effect.path.0),
        EffectKind::Renamed => effect.from.as_ref().map(|from| &from.0),
        EffectKind::Created
        | EffectKind::Modified
        | EffectKind::Mode
        | EffectKind::Attributes
        | EffectKind::DirectoryCreated
        | EffectKind::DirectoryRemoved => None,
    });
    for gone in removed.iter().copied().chain(files).filter(|path| !lies_in_one(path)) {
        layer.delete(place(gone)).map_err(failed)?;
    }
    Ok(())
}
