//! Grants and revocations of leases, signed by a lease key (FE-17, D-7).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::{LeaseGranted, LeaseRevoked};
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// A grant that a lease key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLeaseGrant {
    /// The grant.
    pub granted: LeaseGranted,
    /// Key that signed it.
    pub key: KeyId,
}

/// A revocation that a lease key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLeaseRevocation {
    /// The revocation.
    pub revoked: LeaseRevoked,
    /// Key that signed it.
    pub key: KeyId,
}

/// Why a grant or a revocation does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseEntryProblem {
    /// It is no envelope.
    #[error("the {noun} cannot be read: {source}")]
    Envelope {
        /// What it was taken for.
        noun: &'static str,
        /// Why.
        source: EnvelopeError,
    },
    /// No known key signed it.
    #[error("the {noun} proves nothing: {source}")]
    Signer {
        /// What it was taken for.
        noun: &'static str,
        /// Why.
        source: SignerProblem,
    },
    /// The keys that signed it may not, or not at its time.
    #[error("the {noun} does not count: {source}")]
    Key {
        /// What it was taken for.
        noun: &'static str,
        /// Why.
        source: KeyProblem,
    },
    /// Another document was signed.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl LeaseEntryProblem {
    /// The permanent name.
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

/// Checks a `LEASE_GRANTED` entry: a lease key of the keyring signed it, which counted when the lease was granted. Its
/// terms are what the key signed; whether a lease has them is for the reader of the lease to check.
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

/// Checks a `LEASE_REVOKED` entry: a lease key of the keyring signed it, which counted when the lease was revoked.
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
