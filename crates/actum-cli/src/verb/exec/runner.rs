//! Creates the runner that executes commands in the sandbox and captures their changes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::{PolicyInForce, Runner};
use actum_sandbox::Helper;

use crate::failure::Failure;
use crate::output::Screen;
use crate::verb::sandbox::{Confinement, SandboxFailure, known_host, policy};

/// Creates a runner for the workspace at `root`, whose commands start in the directory `start`. Prints a note for each hidden
/// directory that resembles an actum home.
pub(crate) fn new(
    confinement: &Confinement,
    in_force: &PolicyInForce,
    root: &Path,
    start: &Path,
    screen: &Screen,
) -> Result<Runner, Failure> {
    let helper = Helper::this_program();
    let sandbox = policy::for_captured(confinement, &in_force.sandbox, start);
    let failed = |error| Failure::from(SandboxFailure::Policy(error));
    let sandbox = sandbox.map_err(failed)?;
    for note in policy::notes_of_look_alikes(&sandbox, root) {
        screen.note(note);
    }
    // A cache inside a hidden directory is ignored, because commands cannot see it anyway.
    let hidden: Vec<PathBuf> = policy::hidden_look_alikes(&sandbox, root).cloned().collect();
    let mut allowance = in_force.sandbox.clone();
    allowance.caches.retain(|cache| {
        let cache = root.join(OsStr::from_bytes(cache.as_bytes()));
        !hidden.iter().any(|hidden| cache.starts_with(hidden))
    });
    let host = known_host(&helper);
    Ok(Runner::new(helper, host, sandbox, root, &allowance))
}
