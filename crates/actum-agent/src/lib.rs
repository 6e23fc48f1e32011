//! Agent Execution Core (seed 004), which turns a packet of a Finder into a decision.
//!
//! The core plans and decides, but has no side effects. It does not use files, processes, clocks, randomness or the
//! environment (`no_std`), and depends only on crates that do not use them either. Effects are only possible through an
//! implementation of [`SimulationExecutor`].
//!
//! 1. A host reads an [`AgentGoalRequest`] with exactly one [`FinderPacket`].
//! 2. The host collects references and facts in an [`AgentBundle`], on which [`decide`] makes an [`AgentDecision`].
//! 3. To carry out a dispatch, [`dispatch`] executes a [`DispatchEnvelope`] and returns an [`AgentExecutionOutcome`].
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
