//! Strict Ed25519 verification (RFC 8032), which rejects any signature that verifiers could judge differently.

use actum_record::signer::PublicKey;
use ed25519_dalek::{Signature, VerifyingKey};

/// Reason why a signature is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Key that is not a point of the curve, or for which any process can forge signatures.
    #[error("the public key is not a valid Ed25519 key")]
    Key,
    /// Length other than 64 bytes.
    #[error("an Ed25519 signature has 64 bytes")]
    Length,
    /// Signature that does not match this key and these bytes.
    #[error("the signature does not match this key and these bytes")]
    Wrong,
}

/// Verifies a signature. It rejects keys and signatures of small order, and signatures that are not canonical.
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
