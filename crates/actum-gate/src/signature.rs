//! Verifies Ed25519 signatures (RFC 8032) strictly: every signature that verifiers could judge differently is
//! rejected.

use actum_record::signer::PublicKey;
use ed25519_dalek::{Signature, VerifyingKey};

/// Reason why a signature is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The key is not a point on the curve, or is a weak key for which signatures can be forged.
    #[error("the public key is not a valid Ed25519 key")]
    Key,
    /// The signature is not 64 bytes long.
    #[error("an Ed25519 signature must be 64 bytes long")]
    Length,
    /// The signature does not match the key and the signed bytes.
    #[error("the signature does not match this key and these bytes")]
    Wrong,
}

/// Verifies a signature. Keys and signatures of small order, and signatures that are not canonical, are
/// rejected.
///
/// # Errors
/// Returns [`SignatureError`] if the key or the signature is invalid.
pub fn verify(key: &PublicKey, message: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
    let key = VerifyingKey::from_bytes(&key.0).map_err(|_| SignatureError::Key)?;
    if key.is_weak() {
        return Err(SignatureError::Key);
    }
    let signature = Signature::from_slice(signature).map_err(|_| SignatureError::Length)?;
    key.verify_strict(message, &signature).map_err(|_| SignatureError::Wrong)
}
