//! Companion log of an action, whose entries are appended to the ledger together with those of the action.

use actum_action::ResultEnvelope;
use actum_core::Digest;
use actum_core::canonical::CanonicalError;
use actum_gate::Policy;
use actum_ledger::NewEntry;
use actum_record::ledger::{ActionEnded, ActionStarted};

use crate::error::Error;
use crate::reason::Reason;
use crate::records::Records;

/// Companion log of an action. Either its entries are recorded together with those of the action, or neither is.
///
/// The `SimulationExecutor` of the Agent Execution Core implements this trait. It claims the idempotency key of a step
/// when the action starts, and records the outcome when the action ends.
pub trait ActionCompanion {
    /// Returns the entries to append together with the start of the action. Called with the workspace locked, after the
    /// gates have allowed the action and before any part of it runs.
    ///
    /// # Errors
    /// [`ActionRefusal`] to reject the action, which then has no effect.
    fn start(&mut self, start: &ActionStart<'_>) -> Result<Vec<NewEntry>, ActionRefusal>;

    /// Checks that the policy and the catalog still allow the action. Called with the workspace locked, after commands
    /// or checks have run and before the change is published.
    ///
    /// # Errors
    /// [`ActionRefusal`] to drop the change.
    fn check_in_force(&mut self, in_force: &InForce<'_>) -> Result<(), ActionRefusal>;

    /// Returns the entries to append together with the end of the action. An action that was rejected or queued has an
    /// end, but no start.
    ///
    /// # Errors
    /// [`CanonicalError`] if an entry cannot be written as canonical JSON.
    fn end(&mut self, end: &ActionEnd<'_>) -> Result<Vec<NewEntry>, CanonicalError>;
}

/// Records and policy that are in force while an action is checked.
#[derive(Clone, Copy)]
pub struct InForce<'s> {
    /// Ledger and keys of the installation.
    pub records: &'s Records,
    /// Policy that was read while the workspace was locked.
    pub policy: &'s Policy,
}

/// Facts about the start of an action, for [`ActionCompanion::start`].
pub struct ActionStart<'s> {
    /// Records and policy that are in force.
    pub in_force: InForce<'s>,
    /// Content of the ledger entry for the start.
    pub started: &'s ActionStarted,
    /// Merkle leaf hash of the ledger entry for the start.
    pub leaf: Digest,
}

/// Facts about the end of an action, for [`ActionCompanion::end`].
pub struct ActionEnd<'s> {
    /// Content of the ledger entry for the end.
    pub ended: &'s ActionEnded,
    /// Merkle leaf hash of the ledger entry for the end.
    pub leaf: Digest,
    /// Result envelope, which does not contain the index of the ledger entry yet.
    pub envelope: &'s ResultEnvelope,
    /// Wall time of the action's commands, steps and checks in milliseconds.
    pub command_ms: u64,
}

/// Reason why a companion does not let an action start or publish its change.
#[derive(Debug)]
pub enum ActionRefusal {
    /// The companion rejects the action.
    Refused {
        /// Permanent reason for the rejection.
        reason: Reason,
        /// Explanation of the rejection. The caller appends the state of the workspace.
        message: String,
    },
    /// The engine failed during the check.
    Engine(Error),
}

impl<E: Into<Error>> From<E> for ActionRefusal {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}
