//! Signed checkpoints of a log (C2SP `tlog-checkpoint` in a `signed-note`).

use actum_core::path::Cut;
use actum_record::checkpoint::{Checkpoint, CheckpointError};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::merkle::empty_root;
use actum_record::note::{Note, NoteError, NoteKey};
use actum_record::signer::{KeyId, KeyRole};

use crate::signature;

/// A checkpoint that a key of the keyring signed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedCheckpoint {
    /// What was signed.
    pub checkpoint: Checkpoint,
    /// The first key that signed it.
    pub key: KeyId,
}

/// Why a checkpoint proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointProblem {
    /// It is no signed note.
    #[error("the checkpoint is no signed note: {0}")]
    Note(#[from] NoteError),
    /// What is signed is no checkpoint.
    #[error("the signed note holds no checkpoint: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// A log without entries has another root.
    #[error("the checkpoint says that the log is empty, and yet has entries")]
    EmptyRoot,
    /// No line is one of a checkpoint key in the keyring.
    #[error(
        "the checkpoint of `{}` is signed by no checkpoint key of the keyring",
        Cut(origin.as_bytes(), 80)
    )]
    NoKnownKey {
        /// The log.
        origin: String,
    },
    /// A line is not the signature of the key that it names.
    #[error(
        "the signature of the checkpoint of `{}` is not one of the key `{key}` over it: one of them \
         was changed",
        Cut(origin.as_bytes(), 80)
    )]
    Wrong {
        /// The log.
        origin: String,
        /// The key.
        key: KeyId,
    },
    /// All keys that signed it do not count.
    #[error("the checkpoint does not count: {0}")]
    Key(#[from] KeyProblem),
}

impl CheckpointProblem {
    /// The permanent name.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Note(_) | Self::Checkpoint(_) | Self::EmptyRoot => "CHECKPOINT_MALFORMED",
            Self::NoKnownKey { .. } => "SIGNER_UNKNOWN",
            Self::Wrong { .. } => "SIGNATURE_WRONG",
            Self::Key(problem) => crate::key_reason(problem),
        }
    }
}

/// Checks a signed checkpoint against the checkpoint keys of a keyring, under the name of the log.
///
/// A note says nothing about when it was signed, so a key counts whatever its time, but never once
/// it was revoked. Lines of unknown keys are passed over; one of a known key must be sound, or the
/// whole note is refused.
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
