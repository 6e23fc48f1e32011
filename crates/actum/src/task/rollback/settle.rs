//! Restores files that an interrupted rollback script had moved aside, before the run itself is undone.

use actum_task::report::RollbackManifest;
use actum_workspace::RunOptions;

use super::RollbackRefused;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::task::outputs::{Outputs, ReportDirectory, Settled};

/// Restores the files that an interrupted rollback script had moved aside. Holds the workspace lock, so that no run
/// changes the workspace in the meantime.
pub(super) fn restore_displaced(
    engine: &mut Engine,
    outputs: &Outputs,
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
) -> Result<Settled> {
    if !directory.has_displaced(manifest)? {
        return Ok(Settled::default());
    }
    let label = "restore files that a rollback script moved aside".to_owned();
    let held = engine.workspace.begin(RunOptions { label, wait: true, ..RunOptions::default() })?;
    let settled = directory.restore_displaced(outputs, manifest);
    held.abort();
    Ok(settled?)
}

impl Settled {
    /// Adds the list of restored files to the error of a rollback that failed afterwards.
    pub(super) fn explain(&self, source: Error) -> Error {
        if self.restored.is_empty() {
            return source;
        }
        let restored = self.restored.iter().map(ToString::to_string).collect();
        RollbackRefused::PutBack { restored, source: Box::new(source) }.into()
    }
}
