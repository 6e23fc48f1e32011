//! Receipt with its inclusion proof: one file that any holder of a keyring can verify.

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

/// Maximum size of a bundle, in bytes: an envelope, a checkpoint, and room for a proof.
pub const BUNDLE_BYTES_MAX: usize = ENVELOPE_BYTES_MAX + 2 * NOTE_BYTES_MAX;

/// Receipt and its place in the log, not verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptBundle {
    /// Receipt.
    pub receipt: Envelope,
    /// Index in the log, counted from 0.
    pub index: u64,
    /// Size of the log in the proof, which must be that of the checkpoint.
    pub size: u64,
    /// Hashes from the receipt to the root.
    pub hashes: Vec<Digest>,
    /// Text of the signed checkpoint.
    pub checkpoint: String,
}

/// Receipt that is proven to be in its log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedBundle {
    /// Receipt.
    pub receipt: VerifiedReceipt,
    /// Place in the log.
    pub inclusion: Inclusion,
}

/// Place in a log as of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inclusion {
    /// Name of the log.
    pub origin: String,
    /// Index, counted from 0.
    pub index: u64,
    /// Size of the log.
    pub size: u64,
    /// Root of the Merkle tree.
    pub root: Digest,
    /// Key that signed size and root.
    pub key: KeyId,
}

/// Reason why a bundle proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleProblem {
    /// Larger than [`BUNDLE_BYTES_MAX`].
    #[error("a receipt with its proof has {BUNDLE_BYTES_MAX} bytes at most")]
    TooLarge,
    /// Not JSON, or JSON that readers interpret differently.
    #[error("the receipt with its proof cannot be read: {0}")]
    Json(#[from] CanonicalError),
    /// Fields that are missing or of another type.
    #[error("the receipt with its proof cannot be read: {message}")]
    Schema {
        /// Description of the fields.
        message: String,
    },
    /// Another document, or one from a later version of this program.
    #[error(
        "its format is `{}`, and this program reads `{}`",
        Cut(found.as_bytes(), 80),
        ReceiptBundle::FORMAT
    )]
    Format {
        /// Format found.
        found: String,
    },
    /// Invalid receipt.
    #[error(transparent)]
    Receipt(#[from] ReceiptProblem),
    /// Invalid checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointProblem),
    /// Receipt and checkpoint of different logs.
    #[error(
        "the receipt is of the log `{}`, and the checkpoint of `{}`",
        Cut(receipt.as_bytes(), 80),
        Cut(checkpoint.as_bytes(), 80)
    )]
    OtherLog {
        /// Log of the receipt.
        receipt: String,
        /// Log of the checkpoint.
        checkpoint: String,
    },
    /// Proof and checkpoint for different log sizes.
    #[error("the proof is about a log of {proof} entries, and the checkpoint about {checkpoint}")]
    OtherSize {
        /// Size in the proof.
        proof: u64,
        /// Size in the checkpoint.
        checkpoint: u64,
    },
    /// Receipt at an index before its own intent.
    #[error("the receipt would be entry {index} of the log, before its intent, entry {intent}")]
    BeforeIntent {
        /// Index of the receipt.
        index: u64,
        /// Index of the intent.
        intent: u64,
    },
    /// Invalid proof.
    #[error("the receipt is not proven to be in the log: {0}")]
    Proof(#[from] ProofError),
}

impl BundleProblem {
    /// Returns the permanent name of the problem.
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
    /// Value of `format`.
    pub const FORMAT: &str = "actum.receipt/1";

    /// Serialises the bundle as canonical JSON.
    ///
    /// # Errors
    /// [`CanonicalError`] for a log of more than 2^53 entries.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        let receipt = canonical::read(&self.receipt.to_vec()?)?;
        let (index, size, hashes) = (self.index, self.size, self.hashes.clone());
        let proof = WrittenProof { index, size, hashes, checkpoint: self.checkpoint.clone() };
        canonical::to_vec(&Written { format: Self::FORMAT.to_owned(), receipt, proof })
    }

    /// Reads a bundle; ignores unknown fields (D-4).
    ///
    /// # Errors
    /// `TooLarge`, `Json`, `Schema`, `Format`, `Receipt`.
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

/// Verifies a receipt with its proof: the receipt, the checkpoint, that both are of the same log, and that
/// the receipt is in it after its intent.
///
/// # Errors
/// [`BundleProblem`].
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
