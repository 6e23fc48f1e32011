//! What runs the commands whose effects are captured.

use std::path::Path;

use actum::{PolicyInForce, Runner};
use actum_sandbox::Helper;

use crate::failure::Failure;
use crate::verb::sandbox::{Confinement, SandboxFailure, known_host, policy};

/// What runs commands that start in `start`, in the workspace at `root`.
pub(crate) fn of(
    confinement: &Confinement,
    in_force: &PolicyInForce,
    root: &Path,
    start: &Path,
) -> Result<Runner, Failure> {
    let helper = Helper::this_program();
    let sandbox = policy::for_captured(confinement, &in_force.sandbox, start);
    let failed = |error| Failure::Sandbox { source: Box::new(SandboxFailure::Policy(error)) };
    let sandbox = sandbox.map_err(failed)?;
    let host = known_host(&helper);
    Ok(Runner::new(helper, host, sandbox, root, &in_force.sandbox))
}
