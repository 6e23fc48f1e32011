//! Verify: declared checks see the staged state before anyone else does.

use actum_workspace::disk::Disk;

use crate::engine::clear::Cleared;
use crate::error::Result;

/// A cleared change that passed its checks.
#[must_use = "what is verified is not published"]
pub struct Verified<'e, D: Disk> {
    pub(crate) cleared: Cleared<'e, D>,
}

impl<'e, D: Disk> Cleared<'e, D> {
    /// Runs the checks that the request declares. None of the requests there are now can declare
    /// any: digests that files must have are checked while a change is staged, and once more when it
    /// is published.
    ///
    /// # Errors
    /// None yet.
    pub fn verify(self) -> Result<Verified<'e, D>> {
        Ok(Verified { cleared: self })
    }
}
