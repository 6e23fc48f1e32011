//! Permit: an action of which something is to run may begin, or waits until a person agreed (AA-5).

use actum_core::RunId;
use actum_core::ledger::ActionStarted;
use actum_workspace::disk::Disk;

use crate::engine::stage::Staged;
use crate::error::{Error, Result};

/// An action may begin.
#[derive(Debug, Clone, Copy)]
#[must_use = "what may begin has not begun"]
pub(crate) struct Permit {
    /// The plan in the queue with which a person agreed. That approval is used up.
    pub(crate) agreed: Option<RunId>,
}

impl<D: Disk> Staged<'_, D> {
    /// Lets the gates judge the action `id`, of which nothing has run yet: who asks, how much is at stake, and the
    /// commands that would be run. The caller lets the lock go before anything runs, since nobody is kept out by that.
    ///
    /// # Errors
    /// As [`Self::clear`].
    pub(crate) fn permit(&mut self, id: RunId) -> Result<Permit> {
        let judged = self.let_pass()?;
        let Some(approved) = judged.bundle.approved() else { return Ok(Permit { agreed: None }) };
        let action = self.request.action.as_ref().ok_or(Error::NoAction)?;
        let started = ActionStarted {
            format: ActionStarted::FORMAT.to_owned(),
            time: self.records.clock.now(),
            tenant: self.records.tenant.clone(),
            workspace: self.workspace,
            root: self.root.to_owned(),
            id,
            action_type: action.plan.action_type.clone(),
            label: self.transaction.label().to_owned(),
            actor: self.request.actor.clone(),
            door: self.request.door.clone(),
            bound: judged.bundle.bound()?,
            approval: approved.approval.clone(),
            engine: super::ENGINE.to_owned(),
        };
        let agreed = approved.approval.plan;
        self.records.append_action_started(&started)?;
        self.records.forget_input(agreed);
        Ok(Permit { agreed: Some(agreed) })
    }
}
