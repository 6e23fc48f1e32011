//! A receipt together with the proof that it is in its log: one file, for whoever has a keyring.

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

/// The longest bundle that is read, in bytes: an envelope, a checkpoint, and room for a proof.
pub const BUNDLE_BYTES_MAX: usize = ENVELOPE_BYTES_MAX + 2 * NOTE_BYTES_MAX;

/// A receipt and its place in the log, not checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptBundle {
    /// The receipt.
    pub receipt: Envelope,
    /// Its place in the log, counted from 0.
    pub index: u64,
    /// The size of the log that the proof is about, which is that of the checkpoint.
    pub size: u64,
    /// The hashes that lead from the receipt to the root.
    pub hashes: Vec<Digest>,
    /// The signed checkpoint, as a text.
    pub checkpoint: String,
}

/// A receipt that is proven to be in its log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedBundle {
    /// The receipt.
    pub receipt: VerifiedReceipt,
    /// Its place.
    pub inclusion: Inclusion,
}

/// A place in a log, as of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inclusion {
    /// The name of the log.
    pub origin: String,
    /// The place, counted from 0.
    pub index: u64,
    /// The size of the log.
    pub size: u64,
    /// The root of its Merkle tree.
    pub root: Digest,
    /// The key that signed size and root.
    pub key: KeyId,
}

/// Why a bundle proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleProblem {
    /// It is longer than [`BUNDLE_BYTES_MAX`].
    #[error("a receipt with its proof has {BUNDLE_BYTES_MAX} bytes at most")]
    TooLarge,
    /// It is not JSON of which every reader has the same idea.
    #[error("the receipt with its proof cannot be read: {0}")]
    Json(#[from] CanonicalError),
    /// Fields of it are missing, or of another kind.
    #[error("the receipt with its proof cannot be read: {message}")]
    Schema {
        /// Which, and how.
        message: String,
    },
    /// It is another document, or a later version of this program wrote it.
    #[error(
        "its format is `{}`, and this program reads `{}`",
        Cut(found.as_bytes(), 80),
        ReceiptBundle::FORMAT
    )]
    Format {
        /// Its format.
        found: String,
    },
    /// The receipt proves nothing.
    #[error(transparent)]
    Receipt(#[from] ReceiptProblem),
    /// The checkpoint proves nothing.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointProblem),
    /// Receipt and checkpoint are of two logs.
    #[error(
        "the receipt is of the log `{}`, and the checkpoint of `{}`",
        Cut(receipt.as_bytes(), 80),
        Cut(checkpoint.as_bytes(), 80)
    )]
    OtherLog {
        /// The log in the receipt.
        receipt: String,
        /// The log in the checkpoint.
        checkpoint: String,
    },
    /// Proof and checkpoint are about logs of two sizes.
    #[error("the proof is about a log of {proof} entries, and the checkpoint about {checkpoint}")]
    OtherSize {
        /// The size in the proof.
        proof: u64,
        /// The size in the checkpoint.
        checkpoint: u64,
    },
    /// The receipt would stand before its own intent.
    #[error("the receipt would be entry {index} of the log, before its intent, entry {intent}")]
    BeforeIntent {
        /// The place of the receipt.
        index: u64,
        /// The place of the intent.
        intent: u64,
    },
    /// The proof does not hold.
    #[error("the receipt is not proven to be in the log: {0}")]
    Proof(#[from] ProofError),
}

impl BundleProblem {
    /// The permanent name.
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
    /// The value of `format`.
    pub const FORMAT: &str = "actum.receipt/1";

    /// The canonical JSON of the bundle.
    ///
    /// # Errors
    /// [`CanonicalError`] for a log of more than 2^53 entries.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        let receipt = canonical::read(&self.receipt.to_vec()?)?;
        let (index, size, hashes) = (self.index, self.size, self.hashes.clone());
        let proof = WrittenProof { index, size, hashes, checkpoint: self.checkpoint.clone() };
        canonical::to_vec(&Written { format: Self::FORMAT.to_owned(), receipt, proof })
    }

    /// Reads a bundle; fields that are not known are passed over (D-4).
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

/// Checks a receipt with its proof: the receipt itself, the checkpoint, that both are of one log,
/// and that the receipt is in it, behind its intent.
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
