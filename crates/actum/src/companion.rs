//! Entries of another log that go with those of an action, in the same append.

use actum_action::ResultEnvelope;
use actum_core::Digest;
use actum_core::canonical::CanonicalError;
use actum_gate::Policy;
use actum_ledger::NewEntry;
use actum_record::ledger::{ActionEnded, ActionStarted};

use crate::error::Error;
use crate::reason::Reason;
use crate::records::Records;

/// Keeps a log of its own about one action. Its entries are durable together with those of the action, or not at all.
///
/// The `SimulationExecutor` of the Agent Execution Core is one: it claims the idempotency key of a step with the start of the
/// action, and records the outcome with its end.
pub trait ActionCompanion {
    /// Returns the entries that go with the start. It is called with the workspace locked, after the gates, and before
    /// anything of the action runs or has an effect: what it refuses has none.
    ///
    /// # Errors
    /// [`ActionRefusal`]
    fn start(&mut self, start: &ActionStart<'_>) -> Result<Vec<NewEntry>, ActionRefusal>;

    /// Checks policy and catalog again, after commands or checks have run and before the change is published. The workspace
    /// is locked.
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
    /// What is in force.
    pub in_force: InForce<'s>,
    /// What the entry of the start says.
    pub started: &'s ActionStarted,
    /// Hash of that entry.
    pub leaf: Digest,
}

/// End of an action.
pub struct ActionEnd<'s> {
    /// What the entry of the end says.
    pub ended: &'s ActionEnded,
    /// Hash of that entry.
    pub leaf: Digest,
    /// Result, without the place of that entry.
    pub envelope: &'s ResultEnvelope,
    /// Time in commands, steps and checks of the action, in milliseconds.
    pub command_ms: u64,
}

/// Reason why an action does not start.
#[derive(Debug)]
pub enum ActionRefusal {
    /// The companion refuses it.
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
