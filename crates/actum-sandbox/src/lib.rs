//! Runs a command confined and limited, and reports its confinement and outcome.
//!
//! A [`SandboxPolicy`] states what a command may do. A [`HostReport`] states what the kernel of
//! this host can hold, found by trying. [`SandboxPolicy::plan`] puts the two together: a [`Plan`],
//! or each demand that this host cannot meet. Nothing is ever run with less than was demanded.
//!
//! `Plan::spawn` starts the command by way of a [`Helper`], which is the program itself once more:
//! its `main` calls `inside::enter` first of all. The `Outcome` states how the command ended, what
//! it used, what was in force, and, if it ran on a [`View`], what it changed.
//!
//! On systems other than Linux there is no tier yet, and every plan is refused.

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

// Built in tests too, so that they stay right.
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

/// Path of the scratch directory of tier N, as the command sees it.
pub(crate) const SCRATCH: &str = "/tmp";
