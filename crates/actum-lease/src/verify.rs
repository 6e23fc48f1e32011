//! Verifies tokens. This is the only way to obtain a valid lease from a token.

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

/// Lease whose signatures were verified with a valid key. Its terms have not been evaluated yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLease {
    /// Blocks of the lease in order. The lease key signed the first one. A request must satisfy the terms of every block.
    pub blocks: Vec<ChainBlock>,
    /// Chain document of the lease (`actum.lease-chain/1`).
    pub document: Vec<u8>,
    /// Id of the key that signed the first block.
    pub key: KeyId,
}

/// Verifies every signature of a token and the proof at its end, using the lease keys in the keyring. The key that signed
/// the token must be valid at `now`.
///
/// The hint in the token is unsigned and only selects the keys to try, because several keys can have the same hint.
///
/// # Errors
/// Returns `KeyUnknown` if no lease key matches the hint, `Signature` if no such key verifies the token, and `Key` if the
/// signing key is revoked, expired or not yet valid.
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

/// Returns true if the Biscuit library accepts the signatures and the proof of a token for the given key. It verifies
/// signatures strictly, like [`crate::verify_chain`].
fn is_signed_by(token: &Token, key: &KeyEntry) -> bool {
    PublicKey::from_bytes(&key.public.0, Algorithm::Ed25519)
        .is_ok_and(|public| SerializedBiscuit::from_slice(token.bytes(), public).is_ok())
}
