//! Admit: what can be said of a request before anything is looked at.

use actum_core::Digest;
use actum_ledger::SigningKey;
use actum_workspace::disk::Disk;

use crate::engine::Engine;
use crate::error::Result;
use crate::request::Request;

/// A request that may be looked at.
#[must_use = "what is admitted is not staged"]
pub(crate) struct Admitted {
    pub(crate) request: Request,
    /// The digest of what is asked for.
    pub(crate) plan: Digest,
    /// What will sign the receipt.
    pub(crate) signer: SigningKey,
}

impl<D: Disk> Engine<D> {
    /// Admits a request. The key that will sign its receipt must be fit to sign now: an effect
    /// without a receipt is none that we want.
    ///
    /// # Errors
    /// `Key`.
    pub(crate) fn admit(&self, request: Request) -> Result<Admitted> {
        let signer = self.records.signer()?;
        let plan = request.digest()?;
        Ok(Admitted { request, plan, signer })
    }
}
