//! Verifies receipt bundles. A bundle is a file with a receipt and its inclusion proof, which can be verified with a
//! keyring and nothing else.

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use actum_record::dsse::{ENVELOPE_BYTES_MAX, Envelope, EnvelopeError};
use actum_record::keyring::Keyring;
use actum_record::note::NOTE_BYTES_MAX;
use actum_record::signer::KeyId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::{CheckpointProblem, verify_checkpoint};
use crate::merkle::{ProofError, check_inclusion};
use crate::receipt::{ReceiptProblem, VerifiedReceipt, verify_envelope};

/// Maximum size of a receipt bundle, in bytes. It is enough for an envelope, a checkpoint and a proof.
pub const BUNDLE_BYTES_MAX: usize = ENVELOPE_BYTES_MAX + 2 * NOTE_BYTES_MAX;

/// Receipt with its inclusion proof, before verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptBundle {
    /// Signed envelope of the receipt.
    pub receipt: Envelope,
    /// Index of the receipt in the log, starting at 0.
    pub index: u64,
    /// Number of entries in the log according to the proof. It must equal the size in the checkpoint.
    pub size: u64,
    /// Hashes of the proof, from the receipt to the root of the Merkle tree.
    pub hashes: Vec<Digest>,
    /// Text of the signed checkpoint.
    pub checkpoint: String,
}

/// Verified receipt, with proof that its log contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedBundle {
    /// Receipt with a verified signature.
    pub receipt: VerifiedReceipt,
    /// Position of the receipt in the log.
    pub inclusion: Inclusion,
}

/// Position of an entry in a log, proven by a signed checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inclusion {
    /// Name of the log.
    pub origin: String,
    /// Index of the entry, starting at 0.
    pub index: u64,
    /// Number of entries in the log at the checkpoint.
    pub size: u64,
    /// Root of the log's Merkle tree at the checkpoint.
    pub root: Digest,
    /// Key that signed the checkpoint.
    pub key: KeyId,
}

/// Reason why a receipt bundle is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleProblem {
    /// The bundle is larger than [`BUNDLE_BYTES_MAX`].
    #[error("a receipt with its proof may be at most {BUNDLE_BYTES_MAX} bytes")]
    TooLarge,
    /// The bundle is not JSON, or is JSON that parsers interpret differently.
    #[error("cannot read the receipt with its proof: {0}")]
    Json(#[from] CanonicalError),
    /// A field of the bundle is missing or of the wrong type.
    #[error("cannot read the receipt with its proof: {message}")]
    Schema {
        /// Description of the invalid field.
        message: String,
    },
    /// The document has a different format, for example that of a later version of this program.
    #[error(
        "its format is `{}`, but this program reads `{}`",
        Cut(found.as_bytes(), 80),
        ReceiptBundle::FORMAT
    )]
    Format {
        /// Format that the document has.
        found: String,
    },
    /// The receipt is not valid.
    #[error(transparent)]
    Receipt(#[from] ReceiptProblem),
    /// The checkpoint is not valid.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointProblem),
    /// The receipt and the checkpoint belong to different logs.
    #[error(
        "the receipt belongs to the log `{}`, but the checkpoint to `{}`",
        Cut(receipt.as_bytes(), 80),
        Cut(checkpoint.as_bytes(), 80)
    )]
    OtherLog {
        /// Name of the receipt's log.
        receipt: String,
        /// Name of the checkpoint's log.
        checkpoint: String,
    },
    /// The proof and the checkpoint state different sizes of the log.
    #[error("the proof is for a log of {proof} entries, but the checkpoint is for {checkpoint}")]
    OtherSize {
        /// Number of entries according to the proof.
        proof: u64,
        /// Number of entries according to the checkpoint.
        checkpoint: u64,
    },
    /// The receipt comes before the intent that it refers to.
    #[error(
        "the receipt is entry {index} of the log, but its intent comes later, as entry {intent}"
    )]
    BeforeIntent {
        /// Index of the receipt in the log.
        index: u64,
        /// Index of the intent in the log.
        intent: u64,
    },
    /// The inclusion proof is not valid.
    #[error("cannot prove that the log contains the receipt: {0}")]
    Proof(#[from] ProofError),
}

impl BundleProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge | Self::Json(_) | Self::Schema { .. } => "BUNDLE_MALFORMED",
            Self::Format { .. } => "BUNDLE_OF_ANOTHER_FORMAT",
            Self::Receipt(problem) => problem.reason(),
            Self::Checkpoint(problem) => problem.reason(),
            Self::OtherLog { .. } => "PROOF_OF_ANOTHER_LOG",
            Self::OtherSize { .. } => "PROOF_OF_ANOTHER_SIZE",
            Self::BeforeIntent { .. } => "RECEIPT_BEFORE_INTENT",
            Self::Proof(problem) => problem.reason(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    receipt: Value,
    proof: WrittenProof,
}

#[derive(Serialize, Deserialize)]
struct WrittenProof {
    index: u64,
    size: u64,
    hashes: Vec<Digest>,
    checkpoint: String,
}

impl ReceiptBundle {
    /// Required value of `format` in a receipt bundle.
    pub const FORMAT: &str = "actum.receipt/1";

    /// Serialises the bundle as canonical JSON.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if the log has more than 2^53 entries.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        let receipt = canonical::read(&self.receipt.to_vec()?)?;
        let (index, size, hashes) = (self.index, self.size, self.hashes.clone());
        let proof = WrittenProof { index, size, hashes, checkpoint: self.checkpoint.clone() };
        canonical::to_vec(&Written { format: Self::FORMAT.to_owned(), receipt, proof })
    }

    /// Reads a receipt bundle without verifying it. Unknown fields are ignored (D-4).
    ///
    /// # Errors
    /// Returns `TooLarge`, `Json`, `Schema`, `Format` or `Receipt`.
    pub fn read(bytes: &[u8]) -> Result<Self, BundleProblem> {
        if bytes.len() > BUNDLE_BYTES_MAX {
            return Err(BundleProblem::TooLarge);
        }
        let value = canonical::read(bytes)?;
        let format = value.get("format").and_then(Value::as_str).unwrap_or_default();
        if format != Self::FORMAT {
            return Err(BundleProblem::Format { found: format.to_owned() });
        }
        let shape = |error| BundleProblem::Schema { message: canonical::describe(&error) };
        let Written { receipt, proof, .. } = serde_json::from_value(value).map_err(shape)?;
        let receipt = Envelope::read(&canonical::to_vec(&receipt)?);
        let receipt = receipt.map_err(|error: EnvelopeError| ReceiptProblem::from(error))?;
        let WrittenProof { index, size, hashes, checkpoint } = proof;
        Ok(Self { receipt, index, size, hashes, checkpoint })
    }
}

/// Verifies a receipt bundle. The receipt and the checkpoint must be valid and belong to the same log, and that log must
/// contain the receipt after its intent.
///
/// # Errors
/// Returns [`BundleProblem`] if the bundle is not valid.
pub fn verify_bundle(bytes: &[u8], keyring: &Keyring) -> Result<VerifiedBundle, BundleProblem> {
    let bundle = ReceiptBundle::read(bytes)?;
    let receipt = verify_envelope(&bundle.receipt, keyring)?;
    let signed = verify_checkpoint(bundle.checkpoint.as_bytes(), keyring)?;
    let (checkpoint, key) = (signed.checkpoint, signed.key);
    let intent = &receipt.statement.predicate.intent;
    if intent.origin != checkpoint.origin {
        let (receipt, checkpoint) = (intent.origin.clone(), checkpoint.origin);
        return Err(BundleProblem::OtherLog { receipt, checkpoint });
    }
    if bundle.size != checkpoint.size {
        let (proof, checkpoint) = (bundle.size, checkpoint.size);
        return Err(BundleProblem::OtherSize { proof, checkpoint });
    }
    let index = bundle.index;
    if index <= intent.index {
        return Err(BundleProblem::BeforeIntent { index, intent: intent.index });
    }
    let (size, root) = (checkpoint.size, checkpoint.root);
    check_inclusion(&receipt.leaf, index, size, &bundle.hashes, &root)?;
    let inclusion = Inclusion { origin: checkpoint.origin, index, size, root, key };
    Ok(VerifiedBundle { receipt, inclusion })
}
