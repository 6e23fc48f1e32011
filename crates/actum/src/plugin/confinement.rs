//! Sandbox policy for the steps of a plugin package. It is stricter than the policy for commands that the user runs
//! (AA-10).

use std::path::{Path, PathBuf};

use actum_action::Filesystem;
use actum_sandbox::{Net, SandboxPolicy, Stdin};

/// Mount path of the workspace files as they were before the change. The name is unusual enough not to exist on any
/// system.
pub(super) const BEFORE: &str = "/actum-before";
/// Default size of a step's scratch directory in bytes, which is much larger than any package.
const SCRATCH_BYTES: u64 = 1 << 30;
/// Name of the only environment variable that steps inherit. The variables that name the scratch directory are set
/// separately.
const PASSED: &str = "PATH";

/// Derives the sandbox policy of a step from the policy for commands.
///
/// A step has no network access and inherits no environment variable except `PATH`. It can read the same paths as
/// commands, plus its own files in `own`. Without permission for the workspace, every path that overlaps with the
/// workspace is removed.
pub(super) fn derive_policy(
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
