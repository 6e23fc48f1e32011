//! Chain document of a lease (`actum.lease-chain/1`), which contains the signed blocks of a token without its proof.
//!
//! An auditor can verify the signatures and read the terms. A chain document cannot be used as a token, because it lacks
//! the final secret or seal.

use actum_core::Timestamp;
use actum_core::canonical;
use actum_core::path::Cut;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::block::{ChainBlock, SIGNATURE_VERSION, SignedBlock, read_blocks};
use crate::error::LeaseError;
use crate::limits::{CHAIN_BYTES_MAX, CHAIN_FORMAT};

/// Lease as read from a chain document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseChain {
    /// Blocks of the lease in order. The lease key signed the first one.
    pub blocks: Vec<ChainBlock>,
    /// Id of the key that signed the first block.
    pub key: KeyId,
}

/// JSON form of a chain document. The fields are sorted by name, as canonical JSON requires.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenChain {
    blocks: Vec<WrittenBlock>,
    format: String,
    key: KeyId,
}

/// JSON form of a signed block, with byte strings in base64.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBlock {
    block: String,
    next_key: String,
    signature: String,
    /// Version of the signed payload, always [`SIGNATURE_VERSION`].
    version: u32,
}

/// Reads a chain document without verifying its signatures.
///
/// # Errors
/// Returns [`LeaseError`] if the document is too large or not in canonical form, or if a block does not have the form of
/// a lease block.
pub fn read_chain(bytes: &[u8]) -> Result<LeaseChain, LeaseError> {
    let (blocks, key) = decode_chain(bytes)?;
    Ok(LeaseChain { blocks: read_blocks(&blocks)?, key })
}

/// Reads a chain document, and verifies its signatures and that the signing key was valid at `at`.
///
/// # Errors
/// Returns the errors of [`read_chain`], `Signature` if a signature is wrong, `KeyUnknown` if the keyring does not
/// contain the key, and `Key` if the key was not valid at that time.
pub fn verify_chain(
    bytes: &[u8],
    keyring: &Keyring,
    at: Timestamp,
) -> Result<LeaseChain, LeaseError> {
    let (signed, id) = decode_chain(bytes)?;
    let blocks = read_blocks(&signed)?;
    let is_key = |key: &&KeyEntry| key.id == id && key.role == KeyRole::Lease;
    let key = keyring.keys().iter().find(is_key);
    let key = key.ok_or(LeaseError::KeyUnknown { hint: key_hint(&id) })?;
    verify_signatures(&signed, key.public.0).ok_or(LeaseError::Signature)?;
    key.check(KeyRole::Lease, at).map_err(|source| LeaseError::Key { source })?;
    Ok(LeaseChain { blocks, key: id })
}

/// Serializes blocks as a chain document in canonical form.
pub(crate) fn write_chain(blocks: &[SignedBlock], key: &KeyId) -> Result<Vec<u8>, LeaseError> {
    let write = |signed: &SignedBlock| WrittenBlock {
        block: STANDARD.encode(&signed.block),
        next_key: STANDARD.encode(signed.next_key),
        signature: STANDARD.encode(signed.signature),
        version: SIGNATURE_VERSION,
    };
    let chain = WrittenChain {
        blocks: blocks.iter().map(write).collect(),
        format: CHAIN_FORMAT.to_owned(),
        key: key.clone(),
    };
    let bytes = canonical::ordered_to_vec(&chain);
    bytes.map_err(|error| LeaseError::NotChain { message: error.to_string() })
}

/// Returns the hint that a Biscuit token carries for its lease key, which is the first half of the key id.
pub(crate) fn key_hint(key: &KeyId) -> Option<u32> {
    u32::from_str_radix(key.as_str().get(..8)?, 16).ok()
}

fn decode_chain(bytes: &[u8]) -> Result<(Vec<SignedBlock>, KeyId), LeaseError> {
    if bytes.len() > CHAIN_BYTES_MAX {
        return Err(LeaseError::ChainTooLarge { given: bytes.len() });
    }
    let wrong = |message: &str| LeaseError::NotChain { message: message.to_owned() };
    let value = canonical::read(bytes).map_err(|error| wrong(&error.to_string()))?;
    match value.get("format").and_then(serde_json::Value::as_str) {
        Some(CHAIN_FORMAT) => {}
        Some(other) => {
            return Err(wrong(&format!("its format is `{}`", Cut(other.as_bytes(), 80))));
        }
        None => return Err(wrong("it has no `format` field")),
    }
    let WrittenChain { blocks, format: _, key } =
        serde_json::from_value(value).map_err(|error| wrong(&canonical::describe(&error)))?;
    let blocks: Option<Vec<SignedBlock>> = blocks.iter().map(decode_block).collect();
    let blocks = blocks.filter(|blocks| !blocks.is_empty());
    let blocks = blocks.ok_or_else(|| wrong("it has no blocks, or a block cannot be decoded"))?;
    // Each lease must have exactly one document, so that the document's digest identifies the lease.
    if write_chain(&blocks, &key)? != bytes {
        return Err(wrong("it is not in canonical form"));
    }
    Ok((blocks, key))
}

fn decode_block(written: &WrittenBlock) -> Option<SignedBlock> {
    let WrittenBlock { block, next_key, signature, version } = written;
    let decode = |text: &str| STANDARD.decode(text).ok();
    (*version == SIGNATURE_VERSION).then_some(())?;
    Some(SignedBlock {
        block: decode(block)?,
        next_key: decode(next_key)?.try_into().ok()?,
        signature: decode(signature)?.try_into().ok()?,
    })
}

/// Verifies the first block with `root`, and each later block with the key in the block before it. Returns `None` if a
/// signature is wrong.
fn verify_signatures(blocks: &[SignedBlock], root: [u8; 32]) -> Option<()> {
    let mut key = root;
    let mut before: Option<&[u8; 64]> = None;
    for signed in blocks {
        let payload = signed_payload(signed, before);
        let signature = Signature::from_bytes(&signed.signature);
        VerifyingKey::from_bytes(&key).ok()?.verify_strict(&payload, &signature).ok()?;
        key = signed.next_key;
        before = Some(&signed.signature);
    }
    Some(())
}

/// Returns the bytes that a block's signature covers (Biscuit specification, "Signature payload version 1").
fn signed_payload(signed: &SignedBlock, before: Option<&[u8; 64]>) -> Vec<u8> {
    let algorithm = 0_i32.to_le_bytes();
    let version = SIGNATURE_VERSION.to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![
        b"\0BLOCK\0",
        b"\0VERSION\0",
        &version,
        b"\0PAYLOAD\0",
        &signed.block,
        b"\0ALGORITHM\0",
        &algorithm,
        b"\0NEXTKEY\0",
        &signed.next_key,
    ];
    if let Some(before) = before {
        parts.extend([&b"\0PREVSIG\0"[..], before]);
    }
    parts.concat()
}
