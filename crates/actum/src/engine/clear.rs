//! Clear: the gates judge what would really change.

use actum_core::receipt::{DecisionRecord, GateRecord, PathEffect};
use actum_gate::decision::{Bundle, decide};
use actum_workspace::disk::Disk;

use crate::engine::stage::Staged;
use crate::error::{Error, Result};

/// A staged change that the gates let pass.
#[must_use = "what is cleared is not verified"]
pub struct Cleared<'e, D: Disk> {
    pub(crate) staged: Staged<'e, D>,
    /// What the decision was made from, in canonical JSON.
    pub(crate) bundle: Vec<u8>,
    /// What it does to each path.
    pub(crate) paths: Vec<PathEffect>,
    /// What the gates said.
    pub(crate) decision: DecisionRecord,
}

impl<'e, D: Disk> Staged<'e, D> {
    /// Lets the gates judge.
    ///
    /// # Errors
    /// `NothingToChange`; `Workspace` with the budget status; `Denied` with the ground of the first gate that refuses; `Record`.
    pub fn clear(mut self) -> Result<Cleared<'e, D>> {
        if self.transaction.changes().is_empty() {
            return Err(Error::NothingToChange);
        }
        // The workspace tells of a budget in more detail than a gate has to.
        self.transaction.check_budget()?;
        let limits = &self.request.limits;
        let bundle = Bundle::new(limits.scope.clone(), limits.budget, self.transaction.effects());
        let decision = decide(&bundle);
        if let Some(GateRecord { gate, ground, .. }) = decision.first_refusal().cloned() {
            return Err(Error::Denied { gate, ground });
        }
        let bytes = bundle.to_vec()?;
        let record = decision.record(&bytes)?;
        let paths = bundle.change().to_vec();
        Ok(Cleared { staged: self, bundle: bytes, paths, decision: record })
    }
}
