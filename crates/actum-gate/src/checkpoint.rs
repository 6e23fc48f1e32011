//! Signed checkpoints of a log (C2SP `tlog-checkpoint` in a `signed-note`).

use actum_core::path::Cut;
use actum_record::checkpoint::{Checkpoint, CheckpointError};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::merkle::empty_root;
use actum_record::note::{Note, NoteError, NoteKey};
use actum_record::signer::{KeyId, KeyRole};

use crate::signature;

/// Checkpoint signed by a key of the keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedCheckpoint {
    /// Signed checkpoint.
    pub checkpoint: Checkpoint,
    /// First key that signed it.
    pub key: KeyId,
}

/// Reason why a checkpoint proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointProblem {
    /// Not a signed note.
    #[error("the checkpoint is not a signed note: {0}")]
    Note(#[from] NoteError),
    /// Signed note without a checkpoint.
    #[error("the signed note does not contain a checkpoint: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// Wrong root for a log without entries.
    #[error(
        "the checkpoint states that the log is empty, but its root is that of a log with entries"
    )]
    EmptyRoot,
    /// No signature by a checkpoint key of the keyring.
    #[error(
        "the checkpoint of `{}` is signed by no checkpoint key of the keyring",
        Cut(origin.as_bytes(), 80)
    )]
    NoKnownKey {
        /// Name of the log.
        origin: String,
    },
    /// Signature that does not match the key that it names.
    #[error(
        "the signature of the checkpoint of `{}` is not one of the key `{key}` over it: one of them \
         was changed",
        Cut(origin.as_bytes(), 80)
    )]
    Wrong {
        /// Name of the log.
        origin: String,
        /// Key.
        key: KeyId,
    },
    /// Signatures only by invalid keys.
    #[error("the checkpoint does not count: {0}")]
    Key(#[from] KeyProblem),
}

impl CheckpointProblem {
    /// Returns the permanent name of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Note(_) | Self::Checkpoint(_) | Self::EmptyRoot => "CHECKPOINT_MALFORMED",
            Self::NoKnownKey { .. } => "SIGNER_UNKNOWN",
            Self::Wrong { .. } => "SIGNATURE_WRONG",
            Self::Key(problem) => crate::key_reason(problem),
        }
    }
}

/// Verifies a signed checkpoint with the checkpoint keys of a keyring, under the name of the log.
///
/// A note has no signing time, so a key is valid regardless of its validity period, unless it was revoked.
/// Lines of unknown keys are ignored. A line of a known key must be valid, or the whole note is rejected.
///
/// # Errors
/// [`CheckpointProblem`].
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
