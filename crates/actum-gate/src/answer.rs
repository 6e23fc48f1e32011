//! What a person answered of a plan in the queue, signed by an approval key (AA-5).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::PlanAnswered;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// An answer that an approval key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedAnswer {
    /// What it says.
    pub answered: PlanAnswered,
    /// The key that signed it.
    pub key: KeyId,
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerProblem {
    /// It is no envelope.
    #[error("the answer cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// Nobody is known to have signed it.
    #[error("the answer proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Those who signed it may not, or not then.
    #[error("the answer does not count: {0}")]
    Key(#[from] KeyProblem),
    /// What was signed is something else.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl AnswerProblem {
    /// The permanent name.
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

/// Checks a `PLAN_ANSWERED` entry: an approval key of the keyring signed it, which counted when it was
/// given. Whether it is about the plan that it names is for who holds the ledger to say.
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
