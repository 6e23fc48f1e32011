//! Report of the sandbox features that this host supports, determined by trying them.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Sandbox features that the kernel of this host really provides to this process.
///
/// Tiers and mounts are determined by trying them. A version number decides only if a trial would
/// prove nothing (Landlock) or could do harm (`kernel.pid_max`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// ABI version of Landlock, or `None` if the kernel does not offer it (landlock(7)).
    pub landlock: Option<u32>,
    /// Result of trying to enter tier N.
    pub tier_n: Result<(), Missing>,
    /// Result of trying to enter tier L.
    pub tier_l: Result<(), Missing>,
    /// Result of trying to bring up the loopback interface in a private network.
    pub loopback: Result<(), Missing>,
    /// Result of trying to mount an overlay whose upper layer is in memory.
    pub overlay: Result<(), Missing>,
    /// Advice on how to enable tier N, if it could not be entered for a known reason.
    pub remedy: Option<String>,
    /// Whether each PID namespace has its own limit on process IDs (`kernel.pid_max`).
    pub namespace_pid_max: bool,
    /// Whether this process runs as root, whose processes RLIMIT_NPROC does not limit (setrlimit(2)).
    pub is_root: bool,
    /// Limits that a control group delegated to this process can enforce.
    pub cgroup: Controllers,
    /// Cache file that the report was read from, or `None` if the host was probed just now.
    #[serde(skip)]
    pub kept_in: Option<PathBuf>,
}

/// Controllers of the control group (version 2) that was delegated to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Controllers {
    /// Whether the group can limit the total memory of its processes.
    pub memory: bool,
    /// Whether the group can limit the number of its processes.
    pub processes: bool,
    /// Whether the kernel can kill all processes of the group in one step (`cgroup.kill`).
    pub kill: bool,
}

/// Step of the sandbox setup that failed, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Step that failed, as a phrase such as `mount a private root`.
    pub step: String,
    /// Reason for the failure, usually the kernel's error message.
    pub why: String,
    /// Whether the step failed because this process ran out of descriptors, processes or memory. The
    /// host itself may support it.
    #[serde(default)]
    pub is_scarce: bool,
}

impl Missing {
    /// Describes a step that failed with `error`.
    pub(crate) fn new(step: String, error: &(dyn std::error::Error + 'static)) -> Self {
        Self { step, why: error.to_string(), is_scarce: is_scarce(error) }
    }

    /// Describes a step that this host does not support.
    pub fn of_host(step: String, why: String) -> Self {
        Self { step, why, is_scarce: false }
    }
}

/// Returns whether an error or one of its causes reports that a limit of this process was reached
/// (errno(3)). Such limits are set by the caller, not by the host.
fn is_scarce(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let errno = cause.downcast_ref::<Errno>().copied();
        let errno = errno.or_else(|| Errno::from_io_error(cause.downcast_ref::<io::Error>()?));
        let scarce = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::INTR];
        errno.is_some_and(|errno| scarce.contains(&errno))
    })
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "could not {}: {}", self.step, self.why)
    }
}

/// Minimum Landlock ABI version. Older versions cannot prevent a command from truncating read-only files.
pub(crate) const LANDLOCK_LEAST: u32 = 3;
/// First Landlock ABI version that can restrict signals and abstract Unix sockets.
pub(crate) const LANDLOCK_SCOPES: u32 = 6;

impl HostReport {
    /// Describes why this version of Landlock cannot be used.
    pub(crate) fn missing_landlock(version: Option<u32>) -> Missing {
        let why = match version {
            None => "the kernel does not support it, or it is disabled".to_owned(),
            Some(abi) => format!(
                "the kernel has ABI version {abi}, but version {LANDLOCK_LEAST} or later is required \
                 to prevent truncation of read-only files"
            ),
        };
        Missing::of_host("use Landlock".to_owned(), why)
    }

    /// Returns the report for an operating system without a sandbox implementation, on which no command
    /// can be run.
    #[cfg(any(not(target_os = "linux"), test))]
    pub(crate) fn unsupported(system: &str, would_be: &str) -> Self {
        let missing = Missing::of_host(
            format!("create a sandbox on {system}"),
            format!("this operating system is not supported yet; {would_be}"),
        );
        Self {
            landlock: None,
            tier_n: Err(missing.clone()),
            tier_l: Err(missing.clone()),
            loopback: Err(missing.clone()),
            overlay: Err(missing),
            remedy: None,
            namespace_pid_max: false,
            is_root: false,
            cgroup: Controllers::default(),
            kept_in: None,
        }
    }
}
