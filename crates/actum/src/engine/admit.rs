//! Admit: checks of a request before the workspace is read.

use actum_core::Digest;
use actum_ledger::SigningKey;
use actum_workspace::disk::Disk;

use crate::engine::Engine;
use crate::error::Result;
use crate::request::Request;

/// Admitted request.
#[must_use = "what is admitted is not staged"]
pub(crate) struct Admitted {
    pub(crate) request: Request,
    /// Digest of the request.
    pub(crate) plan: Digest,
    /// Key that will sign the receipt.
    pub(crate) signer: SigningKey,
}

impl<D: Disk> Engine<D> {
    /// Admits a request. The key that will sign its receipt must be usable now: no effect may lack a receipt.
    ///
    /// # Errors
    /// `Key`.
    pub(crate) fn admit(&self, request: Request) -> Result<Admitted> {
        let signer = self.records.signer()?;
        let plan = request.digest()?;
        Ok(Admitted { request, plan, signer })
    }
}
