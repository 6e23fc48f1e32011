//! Capabilities of this host, found by trying.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Report of what the kernel of this host, with the rights of this process, really does. Tiers and
/// mounts were tried. A version alone decides where trying would show nothing (Landlock) or could
/// do harm (`kernel.pid_max`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// The version of Landlock's interface, if there is one (landlock(7)).
    pub landlock: Option<u32>,
    /// Result of entering tier N.
    pub tier_n: Result<(), Missing>,
    /// Result of entering tier L.
    pub tier_l: Result<(), Missing>,
    /// Result of raising the loopback of a private network.
    pub loopback: Result<(), Missing>,
    /// Result of laying a directory over another, with the upper layer in memory.
    pub overlay: Result<(), Missing>,
    /// Remedy that would give tier N, if it could not be entered and the remedy is known.
    pub remedy: Option<String>,
    /// True if the number of processes can be limited for a PID namespace (`kernel.pid_max`).
    pub namespace_pid_max: bool,
    /// True if this process is root, whose processes RLIMIT_NPROC does not count (setrlimit(2)).
    pub is_root: bool,
    /// Limits that a control group of our own can hold.
    pub cgroup: Controllers,
    /// File that it was read from, if it was not made just now.
    #[serde(skip)]
    pub kept_in: Option<PathBuf>,
}

/// The controllers of a control group (version 2) that was delegated to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Controllers {
    /// Memory of the whole group.
    pub memory: bool,
    /// Processes of the whole group.
    pub processes: bool,
    /// True if the whole group can be killed at once (`cgroup.kill`).
    pub kill: bool,
}

/// A step that failed when it was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The step that failed, such as `mount a root of its own`.
    pub step: String,
    /// Reason, in the words of the kernel.
    pub why: String,
    /// True if this process, and not the host, lacks something: descriptors, processes or memory.
    /// The host may well do it.
    #[serde(default)]
    pub is_scarce: bool,
}

impl Missing {
    /// Describes a step that failed.
    pub(crate) fn new(step: String, error: &(dyn std::error::Error + 'static)) -> Self {
        Self { step, why: error.to_string(), is_scarce: is_scarce(error) }
    }

    /// Describes a step that the host cannot do.
    pub fn of_host(step: String, why: String) -> Self {
        Self { step, why, is_scarce: false }
    }
}

/// Returns true if an error, or a cause of it, is about limits of this process (errno(3)). A caller
/// sets those.
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

/// The version of Landlock's interface that can refuse truncation, without which a read-only file
/// could be emptied.
pub(crate) const LANDLOCK_LEAST: u32 = 3;
/// The version from which on signals and abstract sockets are confined too.
pub(crate) const LANDLOCK_SCOPES: u32 = 6;

impl HostReport {
    /// Describes why Landlock of this version is of no use.
    pub(crate) fn missing_landlock(version: Option<u32>) -> Missing {
        let why = match version {
            None => "the kernel has none, or it is switched off".to_owned(),
            Some(abi) => format!(
                "its interface has version {abi}, and less than {LANDLOCK_LEAST} cannot keep a file \
                 from being emptied"
            ),
        };
        Missing::of_host("use Landlock".to_owned(), why)
    }

    /// The report of a system that this version has no sandbox for. No command is run there.
    #[cfg(any(not(target_os = "linux"), test))]
    pub(crate) fn unsupported(system: &str, would_be: &str) -> Self {
        let missing = Missing::of_host(
            format!("make a sandbox on {system}"),
            format!("this version has none for it; {would_be}"),
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
