//! Ed25519 (RFC 8032), strictly: what two verifiers could judge differently is refused.

use actum_record::signer::PublicKey;
use ed25519_dalek::{Signature, VerifyingKey};

/// Why a signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The bytes of the key are no point of the curve, or one for which anybody can sign.
    #[error("the public key is no sound Ed25519 key")]
    Key,
    /// It has not 64 bytes.
    #[error("an Ed25519 signature has 64 bytes")]
    Length,
    /// It is not one of this key over these bytes.
    #[error("the signature is not one of this key over these bytes")]
    Wrong,
}

/// Checks a signature. Keys and signatures of small order and signatures that are not in their one
/// canonical form are refused.
///
/// # Errors
/// [`SignatureError`].
pub fn verify(key: &PublicKey, message: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
    let key = VerifyingKey::from_bytes(&key.0).map_err(|_| SignatureError::Key)?;
    if key.is_weak() {
        return Err(SignatureError::Key);
    }
    let signature = Signature::from_slice(signature).map_err(|_| SignatureError::Length)?;
    key.verify_strict(message, &signature).map_err(|_| SignatureError::Wrong)
}
