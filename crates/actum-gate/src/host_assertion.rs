//! Assertions of hosts about the user of a goal, signed by a host key (AEC-5, AEC-6).

use actum_core::{Digest, Timestamp};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::TenantId;
use actum_record::signer::{KeyId, KeyRole};
use serde::{Deserialize, Serialize};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Assertion of a host about tenant and user of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostAssertion {
    /// Format, always [`HostAssertion::FORMAT`].
    pub format: String,
    /// Goal.
    pub correlation: CorrelationId,
    /// Tenant.
    pub tenant: TenantId,
    /// User.
    pub user: UserId,
    /// Conversation.
    pub thread: ThreadId,
    /// Fingerprint of the goal.
    pub goal: Digest,
}

impl HostAssertion {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.host-assertion/1";
    /// Payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.host-assertion+json";
}

/// Reason why an assertion does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostAssertionProblem {
    /// Not an envelope.
    #[error("the host assertion cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the host assertion proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the host assertion does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies an assertion: a host key of the keyring signed it and is valid at the time `at`. Returns it, and the key.
///
/// # Errors
/// [`HostAssertionProblem`]
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
