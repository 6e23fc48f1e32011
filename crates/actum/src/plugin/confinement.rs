//! Confinement of the steps of a package: stricter than that of commands that the user names (AA-10).

use std::path::{Path, PathBuf};

use actum_action::Filesystem;
use actum_sandbox::{Net, SandboxPolicy, Stdin};

/// Path at which steps see the files as they were before; no system has a directory of this name.
pub(super) const BEFORE: &str = "/actum-before";
/// Default size of the scratch directory of a step: room for a package and more.
const SCRATCH_BYTES: u64 = 1 << 30;
/// Only variable that steps get, besides those that name the scratch directory.
const PASSED: &str = "PATH";

/// Returns the policy of a step, derived from that of commands. A step has no network and none of the user's variables.
/// In addition to the paths of commands it may read its own files. A step without access to the workspace reads nothing
/// there.
pub(super) fn of(
    commands: &SandboxPolicy,
    (sees, workspace): (Filesystem, &Path),
    (start, own): (&Path, Vec<PathBuf>),
) -> SandboxPolicy {
    let is_kept = |path: &&PathBuf| match sees {
        Filesystem::None => !path.starts_with(workspace) && !workspace.starts_with(path),
        Filesystem::Read | Filesystem::Workspace => true,
    };
    let kept = |paths: &[PathBuf]| paths.iter().filter(is_kept).cloned().collect::<Vec<_>>();
    let env = commands.env.get_key_value(PASSED);
    SandboxPolicy {
        read: kept(&commands.read).into_iter().chain(own).collect(),
        write: Vec::new(),
        exec: kept(&commands.exec),
        deny_write: Vec::new(),
        net: Net::None,
        env: env.map(|(name, value)| (name.clone(), value.clone())).into_iter().collect(),
        scratch: commands.scratch.or(Some(SCRATCH_BYTES)),
        cwd: start.to_owned(),
        stdin: Stdin::Empty,
        ..commands.clone()
    }
}
