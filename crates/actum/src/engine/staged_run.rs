//! Runs whose change is made by the caller, directly on the transaction.

use std::ops::ControlFlow;

use actum_core::RunId;
use actum_ledger::NewEntry;
use actum_record::receipt::PathEffect;
use actum_workspace::Transaction;
use actum_workspace::disk::Disk;

use crate::engine::Engine;
use crate::engine::admit::Admitted;
use crate::engine::observer::Observer;
use crate::engine::settle::Done;
use crate::engine::stage::{Begun, options};
use crate::engine::verify::Verified;
use crate::error::Error;
use crate::request::Request;

impl<D: Disk> Engine<D> {
    /// Carries out a request like [`run_with`](Self::run_with), but lets `make` make the change on the transaction. The
    /// work of the request describes this change, and the request's digest covers its documents.
    ///
    /// # Errors
    /// Same as [`run_with`](Self::run_with), plus errors of `make`, after which the change is discarded.
    pub fn run_staged<O: Observer<D>>(
        &mut self,
        request: Request,
        observer: &mut O,
        make: impl FnOnce(&mut Transaction<'_, D>, &mut O) -> Result<(), O::Stop>,
    ) -> Result<Done, O::Stop> {
        let Admitted { request, plan, signer } = self.admit(request)?;
        let begun = self.begin_with(options(&request), signer, None)?;
        let attempt = match begun.attempt(request.key.as_ref(), plan)? {
            ControlFlow::Continue(attempt) => attempt,
            ControlFlow::Break(receipt) => return Ok(Done::before(*receipt)),
        };
        let mut begun: Begun<'_, D> = begun.under_umask(request.umask);
        make(&mut begun.transaction, observer)?;
        begun.done(request, attempt)?.carry_out(observer)
    }
}

impl<D: Disk> Verified<'_, D> {
    /// Returns the id of the run.
    pub fn run(&self) -> RunId {
        self.cleared.staged.begun.transaction.run()
    }

    /// Returns the effect of the change on each path.
    pub fn effects(&self) -> &[PathEffect] {
        &self.cleared.paths
    }

    /// Adds an entry that is appended to the ledger together with the intent of the run. Either both are recorded, or
    /// neither.
    pub fn append_with_intent(&mut self, entry: NewEntry) {
        self.cleared.staged.accompanying.push(entry);
    }
}

/// Creates the error for a change that needs an approval at an entry point that cannot queue it (D-3).
pub(crate) fn approval_required(judged: &crate::engine::clear::Judgement) -> Error {
    let mut gates = judged.gates_with(actum_gate::Verdict::NeedsApproval);
    gates.retain(|gate| gate.gate != actum_gate::GateName::Approval);
    Error::ApprovalRequired { tier: judged.decision.tier, gates }
}
