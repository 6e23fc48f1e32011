//! Runs a command confined and limited, and tells how it really ran.
//!
//! A [`SandboxPolicy`] says what a command may do. A [`HostReport`] says what the kernel of this host
//! can hold, found out by trying. [`SandboxPolicy::plan`] puts the two together: a [`Plan`], or each
//! demand that this host cannot meet. Nothing is ever run with less than was demanded.
//!
//! [`Plan::spawn`] starts the command by way of a [`Helper`], which is the program itself once more:
//! its `main` calls [`inside::enter`] first of all. The [`Outcome`] says how the command ended, what it
//! used, what was in force, and, where it ran on a [`View`], what it changed.

mod channel;
mod filter;
mod host;
pub mod inside;
mod layer;
mod limits;
mod outcome;
mod plan;
mod policy;
mod probe;
mod spawn;
mod sys;

pub use host::{Controllers, HostReport, Missing};
pub use layer::{Change, Layer, LayerError, Node, StagedLayer};
pub use limits::{Enforcement, Limit, Limits, Resource};
pub use outcome::{Ended, Outcome, Usage, Violation};
pub use plan::{InForce, Plan, Unmet, Unsatisfiable};
pub use policy::{Net, PolicyError, SandboxPolicy, Stdin, Tier, View};
pub use spawn::{Child, Helper, Output, SpawnError};

/// Where the scratch directory of tier N is, as the command sees it.
pub(crate) const SCRATCH: &str = "/tmp";
