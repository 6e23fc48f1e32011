//! Verification of tokens, the only way from a token to a lease that counts.

use actum_core::Timestamp;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use biscuit_auth::PublicKey;
use biscuit_auth::builder::Algorithm;
use biscuit_auth::format::SerializedBiscuit;

use crate::block::ChainBlock;
use crate::chain::{key_hint, write_chain};
use crate::error::LeaseError;
use crate::token::Token;

/// Lease with valid signatures by a key that counts. Its terms are not judged here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLease {
    /// Blocks. The lease key signed the first one. A request must meet the terms of all of them.
    pub blocks: Vec<ChainBlock>,
    /// Chain document of the lease (`actum.lease-chain/1`).
    pub document: Vec<u8>,
    /// Key that signed the first block.
    pub key: KeyId,
}

/// Verifies a token: each signature of its chain and the proof at its end, by a lease key of the keyring that counts
/// at `now`.
///
/// The hint in the token is not signed and only limits which keys are tried; several keys can have the same hint.
///
/// # Errors
/// `Signature`, `KeyUnknown`; `Key` if the right key is revoked, expired or not yet valid.
pub fn verify(
    token: &Token,
    keyring: &Keyring,
    now: Timestamp,
) -> Result<VerifiedLease, LeaseError> {
    let hint = token.hint();
    let may_have_signed =
        |key: &&KeyEntry| key.role == KeyRole::Lease && hint.is_some() && key_hint(&key.id) == hint;
    let mut candidates = keyring.keys().iter().filter(may_have_signed).peekable();
    if candidates.peek().is_none() {
        return Err(LeaseError::KeyUnknown { hint });
    }
    let key = candidates.find(|key| is_signed_by(token, key)).ok_or(LeaseError::Signature)?;
    key.check(KeyRole::Lease, now).map_err(|source| LeaseError::Key { source })?;
    let document = write_chain(token.signed(), &key.id)?;
    Ok(VerifiedLease { blocks: token.blocks().to_vec(), document, key: key.id.clone() })
}

/// Returns true if Biscuit accepts the signatures and the proof. It verifies strictly, like [`crate::verify_chain`].
/// The content of the blocks was read before.
fn is_signed_by(token: &Token, key: &KeyEntry) -> bool {
    PublicKey::from_bytes(&key.public.0, Algorithm::Ed25519)
        .is_ok_and(|public| SerializedBiscuit::from_slice(token.bytes(), public).is_ok())
}
