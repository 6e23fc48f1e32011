//! Companion log: its entries go with those of an action, in the same append.

use actum_action::ResultEnvelope;
use actum_core::Digest;
use actum_core::canonical::CanonicalError;
use actum_gate::Policy;
use actum_ledger::NewEntry;
use actum_record::ledger::{ActionEnded, ActionStarted};

use crate::error::Error;
use crate::reason::Reason;
use crate::records::Records;

/// Companion log of an action. Its entries are durable together with those of the action, or not at all.
///
/// The `SimulationExecutor` of the Agent Execution Core implements it: it claims the idempotency key of a step with
/// the start of the action, and records the outcome with its end.
pub trait ActionCompanion {
    /// Returns the entries that go with the start. It is called with the workspace locked, after the gates, and
    /// before anything of the action runs. A rejected action has no effect.
    ///
    /// # Errors
    /// [`ActionRefusal`]
    fn start(&mut self, start: &ActionStart<'_>) -> Result<Vec<NewEntry>, ActionRefusal>;

    /// Checks policy and catalog again, after commands or checks have run and before the change is published. The
    /// workspace is locked.
    ///
    /// # Errors
    /// [`ActionRefusal`]: the change is dropped.
    fn check_in_force(&mut self, in_force: &InForce<'_>) -> Result<(), ActionRefusal>;

    /// Returns the entries that go with the end. An action that was refused, or queued, has an end and no start.
    ///
    /// # Errors
    /// [`CanonicalError`]
    fn end(&mut self, end: &ActionEnd<'_>) -> Result<Vec<NewEntry>, CanonicalError>;
}

/// Records and policy in force.
#[derive(Clone, Copy)]
pub struct InForce<'s> {
    /// Ledger and keys.
    pub records: &'s Records,
    /// Policy, read with the workspace locked.
    pub policy: &'s Policy,
}

/// Start of an action.
pub struct ActionStart<'s> {
    /// Records and policy in force.
    pub in_force: InForce<'s>,
    /// Content of the start entry.
    pub started: &'s ActionStarted,
    /// Hash of that entry.
    pub leaf: Digest,
}

/// End of an action.
pub struct ActionEnd<'s> {
    /// Content of the end entry.
    pub ended: &'s ActionEnded,
    /// Hash of that entry.
    pub leaf: Digest,
    /// Result, without the index of that entry.
    pub envelope: &'s ResultEnvelope,
    /// Time in commands, steps and checks of the action, in milliseconds.
    pub command_ms: u64,
}

/// Reason why an action does not start.
#[derive(Debug)]
pub enum ActionRefusal {
    /// The companion rejects the action.
    Refused {
        /// Reason.
        reason: Reason,
        /// Sentence, without the state of the workspace.
        message: String,
    },
    /// The engine failed.
    Engine(Error),
}

impl<E: Into<Error>> From<E> for ActionRefusal {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}
