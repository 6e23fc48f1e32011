//! Identity of the ledger in use, and the check if that ledger recorded a workspace.

use std::sync::Arc;

use actum_ledger::Keys;

use super::witness::Witness;
use crate::error::Result;

/// Identity of the ledger in use, which consists of the name of its log and the keys that sign for it.
#[derive(Debug, Clone)]
pub struct OwnLedger {
    pub(crate) origin: String,
    keys: Arc<Keys>,
}

impl OwnLedger {
    /// Creates the identity from the name of the log and its keys.
    pub fn new(origin: String, keys: Arc<Keys>) -> Self {
        Self { origin, keys }
    }

    /// Returns true if this ledger wrote the witness.
    ///
    /// The name of the log alone proves nothing, because every receipt and export contains it. The proof is the private
    /// part of a signing key that the witness names. One such key suffices, because a lost key may have been replaced.
    pub(crate) fn wrote(&self, witness: &Witness) -> Result<bool> {
        if witness.origin() != self.origin {
            return Ok(false);
        }
        for key in witness.signing_keys() {
            if self.keys.holds(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Relation of a workspace to the ledger in use, according to the witnesses in the workspace.
pub(crate) enum Standing {
    /// No ledger has recorded the workspace.
    Unrecorded,
    /// The ledger in use recorded the workspace.
    Own,
    /// Only a different ledger, whose log has this name, recorded the workspace.
    Elsewhere(String),
}

impl Standing {
    pub(crate) fn read(notes: Vec<String>, ledger: Option<&OwnLedger>) -> Result<Self> {
        let mut standing = Self::Unrecorded;
        for note in notes {
            let Some(witness) = Witness::read(Some(note))? else { continue };
            if ledger.map_or(Ok(false), |ledger| ledger.wrote(&witness))? {
                return Ok(Self::Own);
            }
            standing = Self::Elsewhere(witness.origin().to_owned());
        }
        Ok(standing)
    }
}
