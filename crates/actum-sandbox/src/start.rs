//! Planning and starting a command in one step, with one retry on a fresh report of the host.

use std::ffi::OsString;

use crate::child::Child;
use crate::host::HostReport;
use crate::plan::Unsatisfiable;
use crate::policy::SandboxPolicy;
use crate::program::Helper;
use crate::spawn_error::SpawnError;

/// Reason why nothing was started, or could be.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The host cannot hold the policy.
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    /// The command was not started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl SandboxPolicy {
    /// Plans and starts a command. If the sandbox cannot be made as a kept report of the host
    /// states, the host is probed again, and the command planned by the new report.
    ///
    /// # Errors
    /// [`StartError`]; nothing was started then.
    pub fn start(
        &self,
        host: &HostReport,
        helper: &Helper,
        command: &[OsString],
    ) -> Result<Child, StartError> {
        match self.plan(host)?.spawn(helper, command) {
            Err(SpawnError::Sandbox(missing)) => match host.renewed(helper) {
                Some(found) => Ok(self.plan(&found)?.spawn(helper, command)?),
                None => Err(SpawnError::Sandbox(missing).into()),
            },
            started => Ok(started?),
        }
    }
}
