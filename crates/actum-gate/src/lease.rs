//! Verifies grants and revocations of leases, which a lease key signs (FE-17, D-7).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::{LeaseGranted, LeaseRevoked};
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Lease grant that was signed by a lease key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLeaseGrant {
    /// Content of the grant.
    pub granted: LeaseGranted,
    /// Key that signed the grant.
    pub key: KeyId,
}

/// Lease revocation that was signed by a lease key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLeaseRevocation {
    /// Content of the revocation.
    pub revoked: LeaseRevoked,
    /// Key that signed the revocation.
    pub key: KeyId,
}

/// Reason why a lease grant or revocation is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseEntryProblem {
    /// The entry is not a signed envelope.
    #[error("cannot read the {noun}: {source}")]
    Envelope {
        /// Kind of entry that was expected.
        noun: &'static str,
        /// Cause of the error.
        source: EnvelopeError,
    },
    /// The signers of the entry could not be determined.
    #[error("cannot verify the {noun}: {source}")]
    Signer {
        /// Kind of entry that was expected.
        noun: &'static str,
        /// Cause of the error.
        source: SignerProblem,
    },
    /// The signing key has another role, or was not valid at the time of the entry.
    #[error("cannot accept the {noun}: {source}")]
    Key {
        /// Kind of entry that was expected.
        noun: &'static str,
        /// Cause of the error.
        source: KeyProblem,
    },
    /// The signed payload is not a valid grant or revocation.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl LeaseEntryProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope { .. }
            | Self::Payload(PayloadProblem::Json { .. } | PayloadProblem::Schema { .. }) => {
                "LEASE_ENTRY_MALFORMED"
            }
            Self::Signer { source, .. } => source.reason(),
            Self::Key { source, .. } => crate::key_reason(source),
            Self::Payload(PayloadProblem::Type { .. }) => "LEASE_ENTRY_OF_ANOTHER_TYPE",
        }
    }
}

const GRANT: &str = "lease grant";
const REVOCATION: &str = "lease revocation";

/// Verifies a `LEASE_GRANTED` entry. A lease key of the keyring must have signed it and must have been valid
/// when the lease was granted. The entry contains the signed terms, but the caller must check that the lease
/// has these terms.
///
/// # Errors
/// Returns [`LeaseEntryProblem`] if the entry is not valid.
pub fn verify_lease_granted(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedLeaseGrant, LeaseEntryProblem> {
    let envelope = read(GRANT, envelope)?;
    let signers = signers(&envelope, keyring).map_err(|source| signer(GRANT, source))?;
    let granted: LeaseGranted =
        payload(&envelope, GRANT, LeaseGranted::PAYLOAD_TYPE, LeaseGranted::FORMAT)?;
    let key = counting(&signers, KeyRole::Lease, granted.time);
    let key = key.map_err(|source| LeaseEntryProblem::Key { noun: GRANT, source })?.id.clone();
    Ok(VerifiedLeaseGrant { granted, key })
}

/// Verifies a `LEASE_REVOKED` entry. A lease key of the keyring must have signed it and must have been valid
/// when the lease was revoked.
///
/// # Errors
/// Returns [`LeaseEntryProblem`] if the entry is not valid.
pub fn verify_lease_revoked(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedLeaseRevocation, LeaseEntryProblem> {
    let envelope = read(REVOCATION, envelope)?;
    let signers = signers(&envelope, keyring).map_err(|source| signer(REVOCATION, source))?;
    let revoked: LeaseRevoked =
        payload(&envelope, REVOCATION, LeaseRevoked::PAYLOAD_TYPE, LeaseRevoked::FORMAT)?;
    let key = counting(&signers, KeyRole::Lease, revoked.time);
    let key = key.map_err(|source| LeaseEntryProblem::Key { noun: REVOCATION, source })?;
    Ok(VerifiedLeaseRevocation { revoked, key: key.id.clone() })
}

fn read(noun: &'static str, envelope: &[u8]) -> Result<Envelope, LeaseEntryProblem> {
    Envelope::read(envelope).map_err(|source| LeaseEntryProblem::Envelope { noun, source })
}

fn signer(noun: &'static str, source: SignerProblem) -> LeaseEntryProblem {
    LeaseEntryProblem::Signer { noun, source }
}
