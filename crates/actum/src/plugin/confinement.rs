//! How the steps of a package are confined: less than commands that the user names (AA-10).

use std::path::{Path, PathBuf};

use actum_action::Filesystem;
use actum_sandbox::{Net, SandboxPolicy, Stdin};

/// Where steps find the files as they were before; no directory of a system is called so.
pub(super) const BEFORE: &str = "/actum-before";
/// What a step may write in the scratch directory where nothing else is said: room for a package and more.
const SCRATCH_BYTES: u64 = 1 << 30;
/// The one variable that steps have, beside those that lead to the scratch directory.
const PASSED: &str = "PATH";

/// The policy of a step, from that of commands: no network and no variable of the user's, and besides what commands
/// may read its own files. One that sees nothing of the workspace reads nothing there.
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
