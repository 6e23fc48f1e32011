//! Ledger in use, with the test which workspaces it recorded.

use std::sync::Arc;

use actum_ledger::Keys;

use super::witness::Witness;
use crate::error::Result;

/// Ledger in use: the name of its log, and the keys that sign for it.
#[derive(Debug, Clone)]
pub struct OwnLedger {
    pub(crate) origin: String,
    keys: Arc<Keys>,
}

impl OwnLedger {
    /// Creates the value from the name of the log and its keys.
    pub fn new(origin: String, keys: Arc<Keys>) -> Self {
        Self { origin, keys }
    }

    /// Returns true if a witness is of this ledger. Its name proves nothing, since each receipt and export has it. The
    /// private half of a signing key does. One key is enough, since a lost key can be replaced.
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

/// Relation of a workspace to a ledger, by the notes in the workspace.
pub(crate) enum Standing {
    /// The workspace has no record.
    Unrecorded,
    /// The ledger recorded the workspace.
    Own,
    /// Another ledger of this name recorded the workspace.
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
