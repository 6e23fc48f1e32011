//! Answer to a plan in the queue, signed by an approval key (AA-5).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::PlanAnswered;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Answer signed by an approval key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedAnswer {
    /// Content of the answer.
    pub answered: PlanAnswered,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerProblem {
    /// Not an envelope.
    #[error("the answer cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the answer proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the answer does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl AnswerProblem {
    /// Returns the permanent name of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope(_)
            | Self::Payload(PayloadProblem::Json { .. } | PayloadProblem::Schema { .. }) => {
                "ANSWER_MALFORMED"
            }
            Self::Signer(problem) => problem.reason(),
            Self::Key(problem) => crate::key_reason(problem),
            Self::Payload(PayloadProblem::Type { .. }) => "ANSWER_OF_ANOTHER_TYPE",
        }
    }
}

/// Verifies a `PLAN_ANSWERED` entry: an approval key of the keyring signed it and was valid at that time. The
/// reader of the ledger checks that it is for the plan it names.
///
/// # Errors
/// [`AnswerProblem`].
pub fn verify_answer(envelope: &[u8], keyring: &Keyring) -> Result<VerifiedAnswer, AnswerProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let answered: PlanAnswered =
        payload(&envelope, "answer to a plan", PlanAnswered::PAYLOAD_TYPE, PlanAnswered::FORMAT)?;
    let key = counting(&signers, KeyRole::Approval, answered.time)?.id.clone();
    Ok(VerifiedAnswer { answered, key })
}
