//! Verifies receipts of runs. The signature is checked first, and the content is then read only from the signed
//! bytes.

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

/// Receipt that was signed by a result key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedReceipt {
    /// Content of the receipt.
    pub statement: Statement,
    /// Key that signed the receipt.
    pub key: KeyId,
    /// Leaf hash of the receipt in the Merkle log.
    pub leaf: Digest,
}

/// Reason why a receipt is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptProblem {
    /// The receipt is not a signed envelope.
    #[error("cannot read the receipt: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the receipt could not be determined.
    #[error("cannot verify the receipt: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid when the run was settled.
    #[error("cannot accept the receipt: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a receipt.
    #[error(
        "the signed document is not a receipt: its {what} is `{}`, not `{wanted}`",
        Cut(found.as_bytes(), 80)
    )]
    Type {
        /// Name of the field that states the type.
        what: &'static str,
        /// Type that the payload states.
        found: String,
        /// Type that was expected.
        wanted: &'static str,
    },
    /// The signed payload is not JSON, or is JSON that parsers interpret differently.
    #[error("cannot read the statement in the receipt: {0}")]
    Json(#[source] CanonicalError),
    /// A field is missing or has the wrong type.
    #[error("cannot read the statement in the receipt: {message}")]
    Schema {
        /// Description of the problem.
        message: String,
    },
    /// The subjects do not match the files that the run left according to the predicate.
    #[error("the subjects of the receipt do not match the files that it lists as left by the run")]
    Subjects,
    /// The digest of the change does not match the listed paths.
    #[error("the change digest in the receipt does not match the paths that it lists")]
    Change,
    /// The run succeeded even though its gates did not allow it.
    #[error("the receipt states that the run succeeded although its gates did not allow it")]
    NotAllowed,
    /// The run ended before it started.
    #[error("the receipt states that the run started at {started} but ended earlier, at {ended}")]
    Times {
        /// Time at which the run started.
        started: Timestamp,
        /// Time at which the run ended.
        ended: Timestamp,
    },
}

impl ReceiptProblem {
    /// Returns the permanent reason code of the problem.
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

/// Verifies a receipt (FE-14). A result key must have signed it and must have been valid when the run was
/// settled, and the content must be consistent.
///
/// The holder of a key can write any time into a receipt. Only its position in the log proves that it is not
/// older than it states (see [`crate::verify_bundle`]).
///
/// # Errors
/// Returns [`ReceiptProblem`] if the receipt is not valid.
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

/// Run and intent that a signed receipt names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIntent {
    /// Id of the run.
    pub run: RunId,
    /// Ledger entry of the run's intent.
    pub intent: EntryRef,
}

/// Verifies the signature of a receipt like [`verify_receipt`], and reads only its run and intent. The paths of
/// the change are neither parsed nor checked.
///
/// # Errors
/// Returns [`ReceiptProblem`] if the envelope, its types, its signature or these fields are invalid.
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

/// Reads the statement from a payload whose signature was already verified.
fn read(payload_type: &str, payload: &[u8]) -> Result<Statement, ReceiptProblem> {
    is_of_type("payload type", payload_type, PAYLOAD_TYPE)?;
    let value = canonical::read(payload).map_err(ReceiptProblem::Json)?;
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default();
    is_of_type("statement type", text("_type"), STATEMENT_TYPE)?;
    is_of_type("predicate type", text("predicateType"), PREDICATE_TYPE)?;
    let shape = |error| ReceiptProblem::Schema { message: canonical::describe(&error) };
    // Hash the paths as written, because a later version may add members to a path, and the digest covers all
    // of them.
    let paths = value.get("predicate").and_then(|predicate| predicate.get("paths"));
    let change = change_digest(paths.unwrap_or(&Value::Null)).map_err(ReceiptProblem::Json)?;
    let statement: Statement = serde_json::from_value(value).map_err(shape)?;
    // The settling time is not checked, because recovery may settle a run after the clock was set back.
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
    let expected = Statement::new(statement.predicate);
    if expected.subject != statement.subject {
        return Err(ReceiptProblem::Subjects);
    }
    Ok(expected)
}
