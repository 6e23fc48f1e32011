//! Runs commands in a sandbox with resource limits, and reports which confinement was in force.
//!
//! A [`SandboxPolicy`] defines what a command may do. A [`HostReport`] describes what the kernel of this
//! host can enforce, determined by trying it. [`SandboxPolicy::plan`] combines the two into a [`Plan`], or
//! returns every requirement that the host cannot meet. No command ever runs with less confinement
//! than its policy requires.
//!
//! `Plan::spawn` starts the command through a [`Helper`]: a second instance of the program, whose `main`
//! must call `inside::enter` first. The resulting `Outcome` contains how the command ended, its resource
//! usage, the confinement in force and, if it ran on a [`View`], its changes.
//!
//! Only Linux is supported so far. On other systems, no tier is available and planning always fails.

mod host;
mod limits;
mod plan;
mod policy;
mod program;

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
pub mod inside;
#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod layer;
#[cfg(target_os = "linux")]
mod outcome;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod spawn;
#[cfg(target_os = "linux")]
mod spawn_error;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod stop;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
pub mod worker;

// Also compiled for tests on Linux, so that these modules keep compiling.
#[cfg(any(target_os = "macos", test))]
mod macos;
#[cfg(any(target_os = "windows", test))]
mod windows;

pub use host::{Controllers, HostReport, Missing};
pub use limits::{Enforcement, Limit, Limits, Resource};
pub use plan::{InForce, Plan, Unmet, Unsatisfiable};
pub use policy::{Net, PolicyError, SandboxPolicy, Stdin, Tier, View};
pub use program::{Helper, NoProgram};

#[cfg(target_os = "linux")]
pub use child::{Child, WaitError};
#[cfg(target_os = "linux")]
pub use layer::{Change, Layer, LayerError, Node, StagedLayer};
#[cfg(target_os = "linux")]
pub use outcome::{Ended, Outcome, Usage, Violation};
#[cfg(target_os = "linux")]
pub use scratch::remove_left_scratch;
#[cfg(target_os = "linux")]
pub use spawn_error::SpawnError;
#[cfg(target_os = "linux")]
pub use start::StartError;
#[cfg(target_os = "linux")]
pub use stop::Stop;
#[cfg(target_os = "linux")]
pub use streams::Output;
#[cfg(target_os = "linux")]
pub use sys::inherited_for_writing;

/// Path of the scratch directory inside the sandbox in tier N.
pub(crate) const SCRATCH: &str = "/tmp";
