//! Plans and starts a command in one step, and retries once with a new host report.

use std::ffi::OsString;

use crate::child::Child;
use crate::host::HostReport;
use crate::plan::Unsatisfiable;
use crate::policy::SandboxPolicy;
use crate::program::Helper;
use crate::spawn_error::SpawnError;

/// Error while planning or starting a command. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The host cannot enforce the policy.
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    /// The command could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl SandboxPolicy {
    /// Plans and starts a command. If setting up the sandbox fails although a cached report says that the
    /// host supports it, probes the host again and retries with the new report.
    ///
    /// # Errors
    /// Returns [`StartError`] if the command cannot be planned or started.
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
