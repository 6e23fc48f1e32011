//! Displaced files, which a killed rollback script had moved aside, are restored before the run is undone.

use actum_task::report::RollbackManifest;
use actum_workspace::RunOptions;

use super::RollbackRefused;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::task::outputs::{Outputs, ReportDirectory, Settled};

/// Restores the displaced files of a killed script, while no run changes the workspace.
pub(super) fn put_back_displaced(
    engine: &mut Engine,
    outputs: &Outputs,
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
) -> Result<Settled> {
    if !directory.has_displaced(manifest)? {
        return Ok(Settled::default());
    }
    let label = "put back what a rollback script moved aside".to_owned();
    let held = engine.workspace.begin(RunOptions { label, wait: true, ..RunOptions::default() })?;
    let settled = directory.put_back_displaced(outputs, manifest);
    held.abort();
    Ok(settled?)
}

impl Settled {
    /// Adds the restored files to the error of a rejected rollback.
    pub(super) fn explain(&self, source: Error) -> Error {
        if self.put_back.is_empty() {
            return source;
        }
        let put_back = self.put_back.iter().map(ToString::to_string).collect();
        RollbackRefused::PutBack { put_back, source: Box::new(source) }.into()
    }
}
