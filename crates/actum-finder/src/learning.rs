//! Learning table, which gives each simulation a bonus. The bonuses are computed from `succeeded` chains, and an
//! operator signs the table.
//!
//! The caller must count the chains and verify the signature (`actum_gate::verify_learning`). The Finder uses the
//! bonuses only to break ties.

use std::collections::BTreeMap;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{ActionName, Digest};
use actum_record::ledger::TenantId;
use serde::{Deserialize, Serialize};

use crate::limits::{BONUS_MAX, LEARNING_BYTES_MAX, SIMULATIONS_MAX};

/// Learning table that was read from its canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningTable {
    document: LearningDocument,
    reference: Digest,
}

/// Content of a learning table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningDocument {
    /// Format of the document, which is always [`LearningTable::FORMAT`].
    pub format: String,
    /// Tenant whose chains were counted.
    pub tenant_id: TenantId,
    /// Bonus of each simulation, between 0 and [`BONUS_MAX`].
    pub bonuses: BTreeMap<ActionName, u32>,
}

/// Reason why bytes are not a valid learning table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearningError {
    /// The learning table exceeds its maximum size.
    #[error("the learning table has {bytes} bytes, but the limit is {LEARNING_BYTES_MAX}")]
    Size {
        /// Size of the learning table, in bytes.
        bytes: usize,
    },
    /// The learning table is not canonical JSON (RFC 8785).
    #[error("the learning table is not canonical JSON")]
    NotCanonical,
    /// A member of the document is missing, unknown or of the wrong type.
    #[error("the learning table is invalid: {message}")]
    Form {
        /// Description of the invalid member.
        message: String,
    },
    /// The `format` of the document differs from [`LearningTable::FORMAT`].
    #[error("the learning table has the format `{found}` instead of `{}`", LearningTable::FORMAT)]
    Format {
        /// Format that the document has.
        found: String,
    },
    /// The learning table has bonuses for too many simulations.
    #[error("the learning table has more than {SIMULATIONS_MAX} simulations")]
    TooMany,
    /// A bonus is higher than [`BONUS_MAX`].
    #[error("the bonus of `{simulation}` is {bonus}, but the limit is {BONUS_MAX}")]
    Bonus {
        /// Name of the simulation.
        simulation: ActionName,
        /// Bonus of the simulation.
        bonus: u32,
    },
}

impl LearningTable {
    /// Required value of `format`.
    pub const FORMAT: &str = "actum.finder-learning/1";

    /// Reads a learning table from its canonical JSON, without verifying a signature.
    ///
    /// # Errors
    /// Returns [`LearningError`] if the bytes are not a valid learning table in exactly this format.
    pub fn read(bytes: &[u8]) -> Result<Self, LearningError> {
        if bytes.len() > LEARNING_BYTES_MAX {
            return Err(LearningError::Size { bytes: bytes.len() });
        }
        if !canonical::is_canonical(bytes) {
            return Err(LearningError::NotCanonical);
        }
        let document: LearningDocument = serde_json::from_slice(bytes)
            .map_err(|error| LearningError::Form { message: canonical::describe(&error) })?;
        if document.format != Self::FORMAT {
            return Err(LearningError::Format { found: document.format });
        }
        if document.bonuses.len() > SIMULATIONS_MAX {
            return Err(LearningError::TooMany);
        }
        if let Some((simulation, bonus)) = document.bonuses.iter().find(|(_, it)| **it > BONUS_MAX)
        {
            return Err(LearningError::Bonus { simulation: simulation.clone(), bonus: *bonus });
        }
        Ok(Self { document, reference: Digest::of(bytes) })
    }

    /// Returns the digest of the table's bytes, which packets contain as `learning_table_ref`.
    pub fn reference(&self) -> Digest {
        self.reference
    }

    /// Returns the tenant whose chains were counted.
    pub fn tenant(&self) -> &TenantId {
        &self.document.tenant_id
    }

    /// Returns the bonus of a simulation, or 0 if the table has none.
    pub fn bonus(&self, simulation: &ActionName) -> u32 {
        self.document.bonuses.get(simulation).copied().unwrap_or(0)
    }
}

impl LearningDocument {
    /// Creates the document from the number of successes of each simulation.
    ///
    /// The bonus of a simulation is `BONUS_MAX * count / most`, rounded down, where `most` is the highest count. The
    /// order of the successes has no influence.
    pub fn from_counts(tenant_id: TenantId, counts: &BTreeMap<ActionName, u64>) -> Self {
        let most = counts.values().copied().max().unwrap_or_default().max(1);
        let bonus = |count: u64| {
            let bonus = u128::from(BONUS_MAX) * u128::from(count) / u128::from(most);
            u32::try_from(bonus).unwrap_or(BONUS_MAX)
        };
        let bonuses = counts.iter().map(|(name, count)| (name.clone(), bonus(*count)));
        Self { format: LearningTable::FORMAT.to_owned(), tenant_id, bonuses: bonuses.collect() }
    }

    /// Serialises the document as canonical JSON, whose digest identifies the table.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if a value has no canonical form.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }
}
