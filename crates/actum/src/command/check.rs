//! Checks: commands that look at a change where it is staged.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum_core::RelPath;
use actum_core::command::{CommandEnd, CommandRecord, SandboxRecord};
use actum_core::receipt::{EffectKind, PathEffect};
use actum_gate::CommandLine;
use actum_sandbox::{LayerError, StagedLayer, Stdin};
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use super::{CommandError, Runner, record};
use crate::error::{Error, Result};

/// Checks that found a change good.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) records: Vec<CommandRecord>,
    pub(crate) sandbox: Option<SandboxRecord>,
}

/// How much of what a check wrote an error tells, in bytes.
const TOLD_MAX: usize = 2000;

impl Checked {
    /// Runs all of them, one after the other. What they do in caches is forgotten, too: it is made from a change that
    /// may never come.
    ///
    /// # Errors
    /// `Unverified` about the first that does not end with 0; `Command`.
    pub(crate) fn all<D: Disk>(
        runner: &Runner,
        checks: &[CommandLine],
        transaction: &mut Transaction<'_, D>,
        change: &[PathEffect],
    ) -> Result<Self> {
        let layer = layer(&runner.root, transaction, change)?;
        let (mut records, mut sandbox) = (Vec::new(), None);
        for check in checks {
            let child = runner.start(check, Some(layer.path().to_owned()), Stdin::Empty, &[])?;
            let outcome = child.wait_with(|_, _| ControlFlow::Continue(()));
            let outcome = outcome.map_err(CommandError::from)?;
            let record = record(check, &outcome);
            if record.ended != CommandEnd::Code(0) {
                let output = match outcome.stderr.is_empty() {
                    true => &outcome.stdout,
                    false => &outcome.stderr,
                };
                let (check, output) = (check.clone(), last(output));
                return Err(Error::Unverified { check, record: Box::new(record), output });
            }
            sandbox = Some(runner.record(&outcome.in_force, &[]));
            records.push(record);
        }
        Ok(Self { records, sandbox })
    }
}

/// The end of a text.
fn last(output: &[u8]) -> String {
    let from = output.len().saturating_sub(TOLD_MAX);
    let end = String::from_utf8_lossy(output.get(from..).unwrap_or_default());
    end.trim_end().to_owned()
}

/// What is staged, as a layer over the workspace.
fn layer<D: Disk>(
    base: &Path,
    transaction: &mut Transaction<'_, D>,
    change: &[PathEffect],
) -> Result<StagedLayer> {
    let failed = |error: LayerError| Error::from(CommandError::Staged(error));
    let layer = StagedLayer::temporary(base).map_err(failed)?;
    let path = |path: &RelPath| Path::new(std::ffi::OsStr::from_bytes(path.as_bytes())).to_owned();
    let removed = |effect: &&PathEffect| effect.effect == EffectKind::DirectoryRemoved;
    let removed: BTreeSet<&RelPath> =
        change.iter().filter(removed).map(|effect| &effect.path.0).collect();
    let lies_in_one = |path: &RelPath| {
        std::iter::successors(path.parent(), RelPath::parent).any(|above| removed.contains(&above))
    };
    // First what goes, so that something else can be in its place; what a directory held goes with it.
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
        layer.delete(&path(gone)).map_err(failed)?;
    }
    // They are ordered by path, and so a directory comes before what is in it.
    for effect in change {
        let at = path(&effect.path.0);
        let Some(mode) = transaction.mode_of(&effect.path.0) else { continue };
        if effect.effect == EffectKind::DirectoryCreated {
            layer.directory(&at, mode.bits()).map_err(failed)?;
        } else if effect.after.is_some() {
            let content = transaction.read(&effect.path.0)?;
            layer.file(&at, content.as_slice(), mode.bits()).map_err(failed)?;
        }
    }
    Ok(layer)
}
