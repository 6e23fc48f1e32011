//! The receipt of a run: first its signature, then what it says, from the signed bytes alone.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use actum_core::{Digest, RunId, Status, Timestamp};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::{
    EntryRef, PAYLOAD_TYPE, PREDICATE_TYPE, RunResult, STATEMENT_TYPE, Statement, change_digest,
};
use actum_record::signer::{KeyId, KeyRole};
use serde::Deserialize;
use serde_json::Value;

use crate::decision::Verdict;
use crate::envelope::{SignerProblem, counting, signers};

/// A receipt that a result key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedReceipt {
    /// What it says.
    pub statement: Statement,
    /// The key that signed it.
    pub key: KeyId,
    /// Its hash as a leaf of the log that it is in.
    pub leaf: Digest,
}

/// Why a receipt proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptProblem {
    /// It is no envelope.
    #[error("the receipt cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// Nobody is known to have signed it.
    #[error("the receipt proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Those who signed it may not, or not then.
    #[error("the receipt does not count: {0}")]
    Key(#[from] KeyProblem),
    /// What was signed is something else.
    #[error(
        "what was signed is no receipt: its {what} is `{}` and not `{wanted}`",
        Cut(found.as_bytes(), 80)
    )]
    Type {
        /// Which of its types.
        what: &'static str,
        /// The type.
        found: String,
        /// What a receipt has.
        wanted: &'static str,
    },
    /// What was signed is not JSON of which every reader has the same idea.
    #[error("the statement in the receipt cannot be read: {0}")]
    Json(#[source] CanonicalError),
    /// Fields of it are missing, or of another kind.
    #[error("the statement in the receipt cannot be read: {message}")]
    Schema {
        /// Which, and how.
        message: String,
    },
    /// Its subjects are not what its predicate says that the run left.
    #[error("the subjects of the receipt are not the files that the run left, as it tells them")]
    Subjects,
    /// Its digest of the change is not that of the paths that it tells.
    #[error("the digest of the change in the receipt is not that of the paths that it tells")]
    Change,
    /// The run would have had an effect that its gates did not let it have.
    #[error("the receipt says that the run succeeded, and that its gates did not allow it")]
    NotAllowed,
    /// The run would have ended before it began.
    #[error("the receipt says that the run began at {started} and ended before that, at {ended}")]
    Times {
        /// The beginning.
        started: Timestamp,
        /// The end.
        ended: Timestamp,
    },
}

impl ReceiptProblem {
    /// The permanent name.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope(_) | Self::Json(_) | Self::Schema { .. } => "RECEIPT_MALFORMED",
            Self::Signer(problem) => problem.reason(),
            Self::Key(problem) => crate::key_reason(problem),
            Self::Type { .. } => "RECEIPT_OF_ANOTHER_TYPE",
            Self::Subjects | Self::Change | Self::NotAllowed | Self::Times { .. } => {
                "RECEIPT_INCONSISTENT"
            }
        }
    }
}

/// Checks a receipt (FE-14): a result key signed it, which counted when it was settled, and what
/// it says fits together.
///
/// Whoever holds a key can write any time into a receipt. That it is not older than it says is
/// proven by its place in the log alone: [`crate::verify_bundle`].
///
/// # Errors
/// [`ReceiptProblem`].
pub fn verify_receipt(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedReceipt, ReceiptProblem> {
    verify_envelope(&Envelope::read(envelope)?, keyring)
}

pub(crate) fn verify_envelope(
    envelope: &Envelope,
    keyring: &Keyring,
) -> Result<VerifiedReceipt, ReceiptProblem> {
    let signers = signers(envelope, keyring)?;
    let statement = read(&envelope.payload_type, &envelope.payload)?;
    let key = counting(&signers, KeyRole::Result, statement.predicate.settled)?.id.clone();
    let canonical = envelope.to_vec().map_err(EnvelopeError::from)?;
    Ok(VerifiedReceipt { statement, key, leaf: leaf_hash(&canonical) })
}

/// The run and the intent that a signed receipt names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIntent {
    /// The run.
    pub run: RunId,
    /// Its intent.
    pub intent: EntryRef,
}

/// Verifies the signature of a receipt, as [`verify_receipt`] does, and reads its run and intent. The paths of the change are
/// neither parsed nor compared.
///
/// # Errors
/// [`ReceiptProblem`] about the envelope, its types, its signature and these fields.
pub fn signed_intent(envelope: &[u8], keyring: &Keyring) -> Result<SignedIntent, ReceiptProblem> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Part {
        #[serde(rename = "_type")]
        statement_type: String,
        predicate_type: String,
        predicate: PredicatePart,
    }
    #[derive(Deserialize)]
    struct PredicatePart {
        run: RunId,
        settled: Timestamp,
        intent: EntryRef,
    }
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    is_of_type("payload type", &envelope.payload_type, PAYLOAD_TYPE)?;
    let shape = |error| ReceiptProblem::Schema { message: canonical::describe(&error) };
    let part: Part = serde_json::from_slice(&envelope.payload).map_err(shape)?;
    is_of_type("statement type", &part.statement_type, STATEMENT_TYPE)?;
    is_of_type("predicate type", &part.predicate_type, PREDICATE_TYPE)?;
    let PredicatePart { run, settled, intent } = part.predicate;
    counting(&signers, KeyRole::Result, settled)?;
    Ok(SignedIntent { run, intent })
}

fn is_of_type(what: &'static str, found: &str, wanted: &'static str) -> Result<(), ReceiptProblem> {
    match found == wanted {
        true => Ok(()),
        false => Err(ReceiptProblem::Type { what, found: found.to_owned(), wanted }),
    }
}

/// The statement in a payload whose signature was found sound.
fn read(payload_type: &str, payload: &[u8]) -> Result<Statement, ReceiptProblem> {
    is_of_type("payload type", payload_type, PAYLOAD_TYPE)?;
    let value = canonical::read(payload).map_err(ReceiptProblem::Json)?;
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default();
    is_of_type("statement type", text("_type"), STATEMENT_TYPE)?;
    is_of_type("predicate type", text("predicateType"), PREDICATE_TYPE)?;
    let shape = |error| ReceiptProblem::Schema { message: canonical::describe(&error) };
    // As they stand there: a later version may say more of each path, and all of it is bound.
    let paths = value.get("predicate").and_then(|predicate| predicate.get("paths"));
    let change = change_digest(paths.unwrap_or(&Value::Null)).map_err(ReceiptProblem::Json)?;
    let statement: Statement = serde_json::from_value(value).map_err(shape)?;
    // It may have been settled at any time: by recovery, with a clock that was put back since.
    let RunResult { started, ended, .. } = statement.predicate;
    if ended < started {
        return Err(ReceiptProblem::Times { started, ended });
    }
    let RunResult { status, ref decision, .. } = statement.predicate;
    if status == Status::Succeeded && Verdict::together(&decision.gates) != Verdict::Allow {
        return Err(ReceiptProblem::NotAllowed);
    }
    if statement.predicate.change != change {
        return Err(ReceiptProblem::Change);
    }
    let told = Statement::of(statement.predicate);
    if told.subject != statement.subject {
        return Err(ReceiptProblem::Subjects);
    }
    Ok(told)
}
