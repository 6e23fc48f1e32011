//! Dispatcher of the Agent Execution Core (PH1.X in seed 004).
//!
//! [`Dispatcher::dispatch`] runs one cycle: it gathers facts, lets the core decide, and records the decision. A
//! decision to dispatch runs through the action entry point, the `SimulationExecutor`. Every decision is a row of the
//! ledger.
//!
//! The core is independent of this crate: `actum-agent` does not depend on the engine.

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

/// Program in records.
const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));
