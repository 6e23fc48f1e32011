//! Grants and revocations of leases, signed by a lease key (FE-17, D-7).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::{LeaseGranted, LeaseRevoked};
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Grant signed by a lease key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLeaseGrant {
    /// Grant.
    pub granted: LeaseGranted,
    /// Key that signed it.
    pub key: KeyId,
}

/// Revocation signed by a lease key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLeaseRevocation {
    /// Revocation.
    pub revoked: LeaseRevoked,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why a grant or a revocation does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseEntryProblem {
    /// Not an envelope.
    #[error("the {noun} cannot be read: {source}")]
    Envelope {
        /// Expected kind of entry.
        noun: &'static str,
        /// Cause.
        source: EnvelopeError,
    },
    /// No known signer.
    #[error("the {noun} proves nothing: {source}")]
    Signer {
        /// Expected kind of entry.
        noun: &'static str,
        /// Cause.
        source: SignerProblem,
    },
    /// Signer without the right role, or outside the validity of the key.
    #[error("the {noun} does not count: {source}")]
    Key {
        /// Expected kind of entry.
        noun: &'static str,
        /// Cause.
        source: KeyProblem,
    },
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl LeaseEntryProblem {
    /// Returns the permanent name of the problem.
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

const GRANT: &str = "grant of a lease";
const REVOCATION: &str = "revocation of a lease";

/// Verifies a `LEASE_GRANTED` entry: a lease key of the keyring signed it and was valid when the lease was
/// granted. The key signed the terms; the reader of a lease checks that the lease has them.
///
/// # Errors
/// [`LeaseEntryProblem`].
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

/// Verifies a `LEASE_REVOKED` entry: a lease key of the keyring signed it and was valid when the lease was revoked.
///
/// # Errors
/// [`LeaseEntryProblem`].
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
