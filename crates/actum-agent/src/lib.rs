//! Agent Execution Core (seed 004): from one packet of a Finder to one decision.
//!
//! The core plans and decides. It has no effects: no files, processes, clock, randomness or environment (`no_std`), and
//! it depends only on crates that have none either. Effects have one way out, the port [`SimulationExecutor`].
//!
//! 1. A host reads an [`AgentGoalRequest`] with exactly one [`FinderPacket`].
//! 2. It gathers refs and facts in an [`AgentBundle`], from which [`decide`] makes an [`AgentDecision`].
//! 3. A decision to dispatch leads to a [`DispatchEnvelope`], and [`dispatch`] to an [`AgentExecutionOutcome`].
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bundle;
pub mod confirmation;
pub mod decide;
pub mod envelope;
pub mod executor;
pub mod goal;
pub mod limits;
pub mod packet;
pub mod plan;
pub mod prompt;
pub mod reason;
mod schemas;
mod seal;
mod shape;

pub use bundle::AgentBundle;
pub use decide::{AGENT_SEMANTICS, AgentDecision, AgentVerdict, decide};
pub use envelope::DispatchEnvelope;
pub use executor::{AgentExecutionOutcome, SimulationExecutor, SimulationReturn, dispatch};
pub use goal::{AgentGoalRequest, GoalError};
pub use packet::{FinderPacket, PacketError};
pub use plan::{AgentExecutionPlan, AgentStep, PlanError};
pub use prompt::ConfirmationPrompt;
pub use reason::ReasonCode;
pub use schemas::schemas;
pub use seal::{seal_fields, seal_packet, seal_packet_wholly};
