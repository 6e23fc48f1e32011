//! Runs a command confined and limited, and tells how it really ran.
//!
//! A [`SandboxPolicy`] says what a command may do. A [`HostReport`] says what the kernel of this host
//! can hold, found out by trying. [`SandboxPolicy::plan`] puts the two together: a [`Plan`], or each
//! demand that this host cannot meet. Nothing is ever run with less than was demanded.
//!
//! Not there yet: tier L, which is refused when it comes to it; the probe that makes the host report;
//! limits of memory, storage and processes of the whole tree; staged views.

mod channel;
mod filter;
mod host;
pub mod inside;
mod limits;
mod plan;
mod policy;
mod spawn;
mod sys;

pub use channel::Ended;
pub use host::{Controllers, HostReport, Missing};
pub use limits::{Enforcement, Limit, Limits, Resource};
pub use plan::{Plan, Unmet, Unsatisfiable};
pub use policy::{Net, PolicyError, SandboxPolicy, Stdin, Tier};
pub use spawn::{Child, Helper, Outcome, SpawnError};
