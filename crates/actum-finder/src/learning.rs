//! Learning table: a bonus for each simulation, computed from `succeeded` chains and signed by an operator.
//!
//! The caller counts the chains and verifies the signature (`actum_gate::verify_learning`). The Finder uses the bonus
//! only to decide a tie.

use std::collections::BTreeMap;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{ActionName, Digest};
use actum_record::ledger::TenantId;
use serde::{Deserialize, Serialize};

use crate::limits::{BONUS_MAX, LEARNING_BYTES_MAX, SIMULATIONS_MAX};

/// Learning table, read from its canonical bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningTable {
    document: LearningDocument,
    reference: Digest,
}

/// Document of a learning table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningDocument {
    /// [`LearningTable::FORMAT`].
    pub format: String,
    /// Tenant of the counted chains.
    pub tenant_id: TenantId,
    /// Bonus of each simulation, from 0 to [`BONUS_MAX`].
    pub bonuses: BTreeMap<ActionName, u32>,
}

/// Error of bytes that are not a learning table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearningError {
    /// The table is too large.
    #[error("the learning table has {bytes} bytes, more than {LEARNING_BYTES_MAX}")]
    Size {
        /// Size of the table.
        bytes: usize,
    },
    /// The table is not canonical JSON.
    #[error("the learning table is not canonical JSON")]
    NotCanonical,
    /// A member is missing, unknown or of another type.
    #[error("the learning table has another form: {message}")]
    Form {
        /// Error.
        message: String,
    },
    /// The document has another format.
    #[error("the learning table has the format `{found}` instead of `{}`", LearningTable::FORMAT)]
    Format {
        /// Format of the document.
        found: String,
    },
    /// The table has too many simulations.
    #[error("the learning table has more than {SIMULATIONS_MAX} simulations")]
    TooMany,
    /// A bonus is too high.
    #[error("the bonus of `{simulation}` is {bonus}, more than {BONUS_MAX}")]
    Bonus {
        /// Simulation.
        simulation: ActionName,
        /// Bonus of the simulation.
        bonus: u32,
    },
}

impl LearningTable {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.finder-learning/1";

    /// Reads a table strictly.
    ///
    /// # Errors
    /// [`LearningError`]
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

    /// Returns the digest of the bytes (`learning_table_ref`).
    pub fn reference(&self) -> Digest {
        self.reference
    }

    /// Returns the tenant of the counted chains.
    pub fn tenant(&self) -> &TenantId {
        &self.document.tenant_id
    }

    /// Returns the bonus of a simulation, or 0 if the table has none.
    pub fn bonus(&self, simulation: &ActionName) -> u32 {
        self.document.bonuses.get(simulation).copied().unwrap_or(0)
    }
}

impl LearningDocument {
    /// Creates the document of a tenant from the number of successes of each simulation.
    ///
    /// The bonus of a simulation is `BONUS_MAX * count / most`, rounded down, where `most` is the highest count. The
    /// order of the successes does not matter.
    pub fn from_counts(tenant_id: TenantId, counts: &BTreeMap<ActionName, u64>) -> Self {
        let most = counts.values().copied().max().unwrap_or_default().max(1);
        let bonus = |count: u64| {
            let bonus = u128::from(BONUS_MAX) * u128::from(count) / u128::from(most);
            u32::try_from(bonus).unwrap_or(BONUS_MAX)
        };
        let bonuses = counts.iter().map(|(name, count)| (name.clone(), bonus(*count)));
        Self { format: LearningTable::FORMAT.to_owned(), tenant_id, bonuses: bonuses.collect() }
    }

    /// Returns the canonical bytes, whose digest names the table.
    ///
    /// # Errors
    /// [`CanonicalError`]
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }
}
