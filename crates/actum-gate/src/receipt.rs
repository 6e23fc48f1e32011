//! Receipt of a run: verifies its signature first, and then its content, from the signed bytes alone.

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

/// Receipt signed by a result key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedReceipt {
    /// Content of the receipt.
    pub statement: Statement,
    /// Key that signed it.
    pub key: KeyId,
    /// Leaf hash in the log of the receipt.
    pub leaf: Digest,
}

/// Reason why a receipt proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptProblem {
    /// Not an envelope.
    #[error("the receipt cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the receipt proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the receipt does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(
        "what was signed is no receipt: its {what} is `{}` and not `{wanted}`",
        Cut(found.as_bytes(), 80)
    )]
    Type {
        /// Name of the type field.
        what: &'static str,
        /// Type found.
        found: String,
        /// Expected type.
        wanted: &'static str,
    },
    /// Signed payload that is not JSON, or that readers interpret differently.
    #[error("the statement in the receipt cannot be read: {0}")]
    Json(#[source] CanonicalError),
    /// Fields that are missing or of another type.
    #[error("the statement in the receipt cannot be read: {message}")]
    Schema {
        /// Description of the fields.
        message: String,
    },
    /// Subjects that differ from the files that the run left according to the predicate.
    #[error("the subjects of the receipt differ from the files that it says the run left")]
    Subjects,
    /// Digest of the change that differs from that of the listed paths.
    #[error("the digest of the change in the receipt differs from that of the paths it lists")]
    Change,
    /// Effect of a run that its gates did not allow.
    #[error("the receipt says that the run succeeded, and that its gates did not allow it")]
    NotAllowed,
    /// End of the run before its start.
    #[error("the receipt says that the run began at {started} and ended before that, at {ended}")]
    Times {
        /// Start of the run.
        started: Timestamp,
        /// End of the run.
        ended: Timestamp,
    },
}

impl ReceiptProblem {
    /// Returns the permanent name of the problem.
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

/// Verifies a receipt (FE-14): a result key signed it and was valid when it was settled, and its content is
/// consistent.
///
/// The holder of a key can write any time into a receipt. Only its place in the log proves that it is not
/// older than it states: [`crate::verify_bundle`].
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

/// Run and intent named in a signed receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIntent {
    /// Run.
    pub run: RunId,
    /// Intent of the run.
    pub intent: EntryRef,
}

/// Verifies the signature of a receipt, as [`verify_receipt`] does, and reads its run and intent. It neither
/// parses nor compares the paths of the change.
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

/// Reads the statement from a payload whose signature was verified.
fn read(payload_type: &str, payload: &[u8]) -> Result<Statement, ReceiptProblem> {
    is_of_type("payload type", payload_type, PAYLOAD_TYPE)?;
    let value = canonical::read(payload).map_err(ReceiptProblem::Json)?;
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default();
    is_of_type("statement type", text("_type"), STATEMENT_TYPE)?;
    is_of_type("predicate type", text("predicateType"), PREDICATE_TYPE)?;
    let shape = |error| ReceiptProblem::Schema { message: canonical::describe(&error) };
    // Hash the paths as written: a later version may add members to a path, and all of them are bound.
    let paths = value.get("predicate").and_then(|predicate| predicate.get("paths"));
    let change = change_digest(paths.unwrap_or(&Value::Null)).map_err(ReceiptProblem::Json)?;
    let statement: Statement = serde_json::from_value(value).map_err(shape)?;
    // The time of settling is not checked: recovery may settle it later, after the clock was set back.
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
    let told = Statement::new(statement.predicate);
    if told.subject != statement.subject {
        return Err(ReceiptProblem::Subjects);
    }
    Ok(told)
}
