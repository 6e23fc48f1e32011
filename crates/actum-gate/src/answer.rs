//! Verifies answers to queued plans, which an approval key signs (AA-5).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::PlanAnswered;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Answer to a queued plan that was signed by an approval key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedAnswer {
    /// Content of the answer.
    pub answered: PlanAnswered,
    /// Key that signed the answer.
    pub key: KeyId,
}

/// Reason why an answer to a plan is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerProblem {
    /// The answer is not a signed envelope.
    #[error("cannot read the answer to the plan: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the answer could not be determined.
    #[error("cannot verify the answer to the plan: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid at the time of the answer.
    #[error("cannot accept the answer to the plan: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid answer to a plan.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl AnswerProblem {
    /// Returns the permanent reason code of the problem.
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

/// Verifies a `PLAN_ANSWERED` entry. An approval key of the keyring must have signed it and must have been valid at the
/// time of the answer. The reader of the ledger must check that the answer belongs to the plan that it names.
///
/// # Errors
/// Returns [`AnswerProblem`] if the entry is not valid.
pub fn verify_answer(envelope: &[u8], keyring: &Keyring) -> Result<VerifiedAnswer, AnswerProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let answered: PlanAnswered =
        payload(&envelope, "answer to a plan", PlanAnswered::PAYLOAD_TYPE, PlanAnswered::FORMAT)?;
    let key = counting(&signers, KeyRole::Approval, answered.time)?.id.clone();
    Ok(VerifiedAnswer { answered, key })
}
