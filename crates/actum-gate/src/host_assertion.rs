//! Verifies assertions of hosts about the user of a goal, which a host key signs (AEC-5, AEC-6).

use actum_core::{Digest, Timestamp};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::TenantId;
use actum_record::signer::{KeyId, KeyRole};
use serde::{Deserialize, Serialize};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Assertion of a host about the tenant and user of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostAssertion {
    /// Format of the document, which is always [`HostAssertion::FORMAT`].
    pub format: String,
    /// Correlation id of the goal.
    pub correlation: CorrelationId,
    /// Tenant that the goal belongs to.
    pub tenant: TenantId,
    /// User who stated the goal.
    pub user: UserId,
    /// Conversation in which the goal was stated.
    pub thread: ThreadId,
    /// Fingerprint of the goal.
    pub goal: Digest,
}

impl HostAssertion {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.host-assertion/1";
    /// Payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.host-assertion+json";
}

/// Reason why a host assertion is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostAssertionProblem {
    /// The assertion is not a signed envelope.
    #[error("cannot read the host assertion: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the assertion could not be determined.
    #[error("cannot verify the host assertion: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or is not valid at the given time.
    #[error("cannot accept the host assertion: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid host assertion.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a host assertion, and returns it with the key that signed it. The key must be a host key of the
/// keyring that is valid at the time `at`.
///
/// # Errors
/// Returns [`HostAssertionProblem`] if the assertion is not valid.
pub fn verify_host_assertion(
    envelope: &[u8],
    keyring: &Keyring,
    at: Timestamp,
) -> Result<(HostAssertion, KeyId), HostAssertionProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let noun = "host assertion";
    let assertion = payload(&envelope, noun, HostAssertion::PAYLOAD_TYPE, HostAssertion::FORMAT)?;
    let key = counting(&signers, KeyRole::Host, at)?.id.clone();
    Ok((assertion, key))
}
