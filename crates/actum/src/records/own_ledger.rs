//! Ledger in use, and which workspaces it recorded.

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
    /// Names a ledger and its keys.
    pub fn new(origin: String, keys: Arc<Keys>) -> Self {
        Self { origin, keys }
    }

    /// Whether a witness is of this ledger. Its name proves nothing, since each receipt and export holds it; the private
    /// half of a key that signed does. One of them is enough: a key that is lost can be replaced.
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
    /// No ledger recorded it.
    Unrecorded,
    /// The ledger recorded it.
    Own,
    /// Another one did, of this name.
    Elsewhere(String),
}

impl Standing {
    pub(crate) fn of(notes: Vec<String>, ledger: Option<&OwnLedger>) -> Result<Self> {
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
