//! Dispatcher of the Agent Execution Core (PH1.X in seed 004).
//!
//! [`Dispatcher::dispatch`] runs one cycle: it gathers the facts about a goal, has the core decide on them, and records
//! the decision in the ledger. If the decision is to dispatch, a `SimulationExecutor` carries it out through the action
//! entry point.
//!
//! The core does not depend on this crate or on the engine; it is implemented in `actum-agent`.

mod confirm;
mod dispatcher;
mod entries;
mod error;
mod executor;
mod facts;
mod gather;
mod history;
mod intake;
mod learning;
mod outcome;
mod replay;
mod settings;
mod settle;
mod slo;
mod step_log;

pub use confirm::{Confirmed, Reply};
pub use dispatcher::{Dispatched, Dispatcher};
pub use error::{ConfirmError, DispatchError, WaiveError};
pub use history::{Chain, ChainEvent};
pub use intake::IntakeGoal;
pub use learning::count_successes;
pub use replay::{ReplayCode, ReplayReport, ReplayedDecision};
pub use settings::{Caller, Settings};
pub use slo::{SloReport, SloTarget};

/// Name and version of this program, as recorded in the ledger.
const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));
