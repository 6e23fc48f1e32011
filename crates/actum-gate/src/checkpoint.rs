//! Verifies signed checkpoints of a log (C2SP `tlog-checkpoint` in a `signed-note`).

use actum_core::path::Cut;
use actum_record::checkpoint::{Checkpoint, CheckpointError};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::merkle::empty_root;
use actum_record::note::{Note, NoteError, NoteKey};
use actum_record::signer::{KeyId, KeyRole};

use crate::signature;

/// Checkpoint that was signed by a checkpoint key of the keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedCheckpoint {
    /// Content of the checkpoint.
    pub checkpoint: Checkpoint,
    /// First valid key that signed the checkpoint.
    pub key: KeyId,
}

/// Reason why a checkpoint is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointProblem {
    /// The bytes are not a signed note.
    #[error("the checkpoint is not a signed note: {0}")]
    Note(#[from] NoteError),
    /// The text of the signed note is not a checkpoint.
    #[error("the signed note does not contain a checkpoint: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint is for an empty log, but has a different root than an empty Merkle tree.
    #[error("the checkpoint states that the log is empty, but has the root of a log with entries")]
    EmptyRoot,
    /// No signature was made by a checkpoint key in the keyring.
    #[error(
        "the checkpoint of `{}` is not signed by a checkpoint key in the keyring",
        Cut(origin.as_bytes(), 80)
    )]
    NoKnownKey {
        /// Name of the checkpoint's log.
        origin: String,
    },
    /// A signature does not match the key that it names.
    #[error(
        "the signature on the checkpoint of `{}` does not match the key `{key}` and the signed bytes: one \
         of them was changed",
        Cut(origin.as_bytes(), 80)
    )]
    Wrong {
        /// Name of the checkpoint's log.
        origin: String,
        /// Key that the signature names.
        key: KeyId,
    },
    /// The checkpoint was signed only by revoked keys.
    #[error("cannot accept the checkpoint: {0}")]
    Key(#[from] KeyProblem),
}

impl CheckpointProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Note(_) | Self::Checkpoint(_) | Self::EmptyRoot => "CHECKPOINT_MALFORMED",
            Self::NoKnownKey { .. } => "SIGNER_UNKNOWN",
            Self::Wrong { .. } => "SIGNATURE_WRONG",
            Self::Key(problem) => crate::key_reason(problem),
        }
    }
}

/// Verifies a signed checkpoint with the checkpoint keys of a keyring.
///
/// Only signature lines with the name of the log are checked, and those of unknown keys are ignored. If the line of a
/// known key is invalid, the entire note is rejected. A note does not state when it was signed, so the validity period
/// of a key is ignored, but a revoked key is not accepted.
///
/// # Errors
/// Returns [`CheckpointProblem`] if the checkpoint is not valid.
pub fn verify_checkpoint(
    note: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedCheckpoint, CheckpointProblem> {
    let note = Note::read(note)?;
    let checkpoint = Checkpoint::read(&note.text)?;
    if checkpoint.size == 0 && checkpoint.root != empty_root() {
        return Err(CheckpointProblem::EmptyRoot);
    }
    let origin = &checkpoint.origin;
    let ours = keyring.keys().iter().filter(|key| key.role == KeyRole::Checkpoint);
    let hashed = |key| NoteKey { name: origin.clone(), key }.hash();
    let ours: Vec<([u8; 4], &KeyEntry)> = ours.map(|key| (hashed(key.public), key)).collect();
    let mut signer = None;
    let mut revoked = None;
    for line in note.signatures.iter().filter(|line| line.name == *origin) {
        let mut named = ours.iter().filter(|(hash, _)| *hash == line.key_hash).peekable();
        let Some((_, first)) = named.peek().copied() else { continue };
        let is_of = |key: &KeyEntry| {
            signature::verify(&key.public, note.text.as_bytes(), &line.signature).is_ok()
        };
        let Some((_, key)) = named.find(|(_, key)| is_of(key)) else {
            let (origin, key) = (origin.clone(), first.id.clone());
            return Err(CheckpointProblem::Wrong { origin, key });
        };
        match key.revoked {
            Some(since) => revoked = revoked.or(Some((key, since))),
            None => signer = signer.or(Some(key)),
        }
    }
    match (signer, revoked) {
        (Some(key), _) => Ok(VerifiedCheckpoint { checkpoint, key: key.id.clone() }),
        (None, Some((key, since))) => Err(KeyProblem::Revoked { id: key.id.clone(), since }.into()),
        (None, None) => Err(CheckpointProblem::NoKnownKey { origin: origin.clone() }),
    }
}
