//! Admits a request: the checks that are possible before the workspace is read.

use actum_core::Digest;
use actum_ledger::SigningKey;
use actum_workspace::disk::Disk;

use crate::engine::Engine;
use crate::error::Result;
use crate::request::Request;

/// Request that may be staged, with the key that will sign its receipt.
#[must_use = "an admitted request has no effect until it is staged"]
pub(crate) struct Admitted {
    pub(crate) request: Request,
    /// Digest of the request, which identifies the plan.
    pub(crate) plan: Digest,
    /// Key that will sign the receipt of the run.
    pub(crate) signer: SigningKey,
}

impl<D: Disk> Engine<D> {
    /// Admits a request. Loads the key that will sign its receipt now, so that no run has an effect without a receipt.
    ///
    /// # Errors
    /// `Key` if the key cannot be used.
    pub(crate) fn admit(&self, request: Request) -> Result<Admitted> {
        let signer = self.records.signer()?;
        let plan = request.digest()?;
        Ok(Admitted { request, plan, signer })
    }
}
