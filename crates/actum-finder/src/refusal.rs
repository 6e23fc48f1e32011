//! Kinds of goals that the Finder refuses (AEC-20).

use serde::{Deserialize, Serialize};

/// Reason for a refuse packet. The set of reasons is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RefusalCode {
    /// The goal would move money.
    MoneyTransfer,
    /// The goal would grant permissions.
    PermissionGrant,
    /// The goal would change the schema of a database.
    SchemaChange,
    /// The goal would promote an artifact or activate a simulation.
    ArtifactPromotion,
    /// The goal would evade a gate, a rule or an approval.
    GateBypass,
    /// The goal has used all its attempts.
    AttemptsExhausted,
}

impl RefusalCode {
    /// All reasons for a refusal, in the order in which they are checked.
    pub const ALL: [Self; 6] = [
        Self::MoneyTransfer,
        Self::PermissionGrant,
        Self::SchemaChange,
        Self::ArtifactPromotion,
        Self::GateBypass,
        Self::AttemptsExhausted,
    ];

    /// Returns true if a simulation may declare that it handles this kind of goal. Such a goal is still subject to access
    /// policies and confirmation.
    pub(crate) fn can_be_declared(self) -> bool {
        match self {
            Self::MoneyTransfer => true,
            Self::PermissionGrant
            | Self::SchemaChange
            | Self::ArtifactPromotion
            | Self::GateBypass
            | Self::AttemptsExhausted => false,
        }
    }

    /// Returns the permanent name of the refusal, as used in packets.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MoneyTransfer => "MONEY_TRANSFER",
            Self::PermissionGrant => "PERMISSION_GRANT",
            Self::SchemaChange => "SCHEMA_CHANGE",
            Self::ArtifactPromotion => "ARTIFACT_PROMOTION",
            Self::GateBypass => "GATE_BYPASS",
            Self::AttemptsExhausted => "ATTEMPTS_EXHAUSTED",
        }
    }
}
