//! Signed envelopes (DSSE v1), which combine a payload, its media type and signatures over both. This module only reads and
//! writes envelopes; `actum-gate` verifies their signatures.

use actum_core::canonical::{self, CanonicalError};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};

use crate::signer::{SignError, Signer};

/// Maximum size of an envelope, in bytes (256 MiB).
pub const ENVELOPE_BYTES_MAX: usize = 256 << 20;

/// Signed envelope with a payload and its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Media type of the payload.
    pub payload_type: String,
    /// Payload, as raw bytes.
    pub payload: Vec<u8>,
    /// Signatures over the payload and its type.
    pub signatures: Vec<EnvelopeSignature>,
}

/// Signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeSignature {
    /// Id of the signing key. It is only a hint, because the signature does not cover it.
    pub key_id: String,
    /// Signature, as raw bytes.
    pub signature: Vec<u8>,
}

/// Error for bytes that are not a valid envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The envelope is longer than [`ENVELOPE_BYTES_MAX`].
    #[error("a signed envelope may be at most {ENVELOPE_BYTES_MAX} bytes")]
    TooLarge,
    /// The text is not JSON, or is JSON that parsers interpret differently.
    #[error(transparent)]
    Json(#[from] CanonicalError),
    /// A field is missing or of the wrong type.
    #[error("not a signed envelope (DSSE): {message}")]
    Schema {
        /// Description of the problem, including the name of the field.
        message: String,
    },
    /// The payload or a signature is not base64.
    #[error("the {what} of the envelope is not base64")]
    Base64 {
        /// Part of the envelope that is not base64.
        what: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    payload: String,
    payload_type: String,
    signatures: Vec<WrittenSignature>,
}

#[derive(Serialize, Deserialize)]
struct WrittenSignature {
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// Returns the bytes that a signature covers, which is the pre-authentication encoding of DSSE. It contains the lengths of
/// type and payload, so that neither can be mistaken for part of the other.
pub fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Envelope {
    /// Creates an envelope that is signed by a single key.
    ///
    /// # Errors
    /// Returns [`SignError`] if the key cannot sign.
    pub fn sign(
        payload_type: &str,
        payload: Vec<u8>,
        signer: &dyn Signer,
    ) -> Result<Self, SignError> {
        let signature = signer.sign(&signed_bytes(payload_type, &payload))?;
        let signature = EnvelopeSignature {
            key_id: signer.key_id().to_string(),
            signature: signature.0.to_vec(),
        };
        let payload_type = payload_type.to_owned();
        Ok(Self { payload_type, payload, signatures: vec![signature] })
    }

    /// Returns the bytes that each signature of the envelope covers.
    pub fn signed_bytes(&self) -> Vec<u8> {
        signed_bytes(&self.payload_type, &self.payload)
    }

    /// Serializes the envelope as canonical JSON.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if the envelope cannot be serialized. This never happens, because it contains only strings.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        let signatures = self.signatures.iter().map(|signature| WrittenSignature {
            keyid: signature.key_id.clone(),
            sig: STANDARD.encode(&signature.signature),
        });
        canonical::to_vec(&Written {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: signatures.collect(),
        })
    }

    /// Reads an envelope from strict JSON. Ignores unknown fields, as the standard requires, and accepts both alphabets of
    /// base64.
    ///
    /// # Errors
    /// Returns [`EnvelopeError`] if the bytes are not a valid envelope.
    pub fn read(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if bytes.len() > ENVELOPE_BYTES_MAX {
            return Err(EnvelopeError::TooLarge);
        }
        Self::new(serde_json::from_value(canonical::read(bytes)?))
    }

    /// Reads an envelope that actum wrote and looked up by its hash. Skips the checks for size and strict JSON.
    ///
    /// # Errors
    /// Returns [`EnvelopeError`] if the bytes are not a valid envelope.
    pub fn read_own(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        Self::new(serde_json::from_slice(bytes))
    }

    fn new(written: serde_json::Result<Written>) -> Result<Self, EnvelopeError> {
        let shape = |error| EnvelopeError::Schema { message: canonical::describe(&error) };
        let written = written.map_err(shape)?;
        let decode = |text: &str, what| {
            let decoded = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
            decoded.map_err(|_| EnvelopeError::Base64 { what })
        };
        let signatures = written.signatures.into_iter().map(|signature| {
            let bytes = decode(&signature.sig, "signature")?;
            Ok(EnvelopeSignature { key_id: signature.keyid, signature: bytes })
        });
        Ok(Self {
            payload: decode(&written.payload, "payload")?,
            payload_type: written.payload_type,
            signatures: signatures.collect::<Result<_, EnvelopeError>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example from the DSSE specification, `protocol.md`.
    #[test]
    fn pre_authentication_encoding_matches_the_dsse_example() {
        assert_eq!(
            signed_bytes("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(signed_bytes("é", b""), "DSSEv1 2 é 0 ".as_bytes());
    }

    #[test]
    fn envelope_round_trips() {
        let signature = EnvelopeSignature { key_id: "a".into(), signature: vec![0xff; 64] };
        let envelope = Envelope {
            payload_type: "text/plain".into(),
            payload: vec![0, 0xfb, 0xff],
            signatures: vec![signature],
        };
        let bytes = envelope.to_vec().unwrap();
        assert!(canonical::is_canonical(&bytes));
        assert_eq!(Envelope::read(&bytes), Ok(envelope.clone()));
        let other_alphabet = String::from_utf8(bytes).unwrap().replace("APv/", "APv_");
        assert_eq!(Envelope::read(other_alphabet.as_bytes()), Ok(envelope));
    }

    #[test]
    fn malformed_checkpoint_is_rejected() {
        let sound = r#"{"payload":"","payloadType":"","signatures":[{"keyid":"","sig":""}]}"#;
        assert!(Envelope::read(sound.as_bytes()).is_ok());
        for (from, to) in [
            ("{\"payload\":\"\",", "{"),
            ("\"payload\":\"\"", "\"payload\":1"),
            ("\"payload\":\"\"", "\"payload\":\"!\""),
            ("\"sig\":\"\"", "\"sig\":\"!\""),
            ("\"payload\":\"\"", "\"payload\":\"\",\"payload\":\"AA==\""),
            ("]}", "]"),
        ] {
            let text = sound.replace(from, to);
            assert_ne!(text, sound);
            assert!(Envelope::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
