//! Lease tokens. A token alone is enough to use the lease, so its bytes are never printed and are wiped from memory after use.

use std::fmt;

use actum_core::Timestamp;
use actum_record::lease::{LEASE_BLOCKS_MAX, LeaseTerms};
use actum_record::signer::{KeyId, KeyRole, PublicKey};
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use biscuit_auth::builder::{Algorithm, BiscuitBuilder, BlockBuilder};
use biscuit_auth::error::Token as BiscuitError;
use biscuit_auth::format::schema::{self, proof::Content};
use biscuit_auth::{KeyPair, PrivateKey, UnverifiedBiscuit};
use prost::Message;
use zeroize::{Zeroize, Zeroizing};

use crate::block::{ChainBlock, SignedBlock, read_blocks};
use crate::chain::key_hint;
use crate::error::{GrantError, LeaseError};
use crate::limits::{TOKEN_BYTES_MAX, TOKEN_TEXT_BYTES_MAX};
use crate::source::{SECOND_MICROS, write_checks};

/// Base64 engine for tokens. It writes padding, as Biscuit does, but also accepts input without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Lease token with a valid form. Its signatures may be wrong until [`crate::verify`] has checked them.
///
/// The token contains the secret that is needed to use or attenuate the lease. The secret is wiped from memory when the
/// token is dropped.
pub struct Token {
    bytes: Zeroizing<Vec<u8>>,
    hint: Option<u32>,
    signed: Vec<SignedBlock>,
    blocks: Vec<ChainBlock>,
    is_sealed: bool,
}

/// Creates a lease with the given terms, and signs it with the secret half of a lease key.
///
/// # Errors
/// Returns [`GrantError`] if the terms exceed a limit or lack a field that the first block requires.
pub fn grant(secret: &[u8; 32], terms: &LeaseTerms) -> Result<Token, GrantError> {
    terms.check_complete()?;
    check_terms(terms)?;
    let secret = PrivateKey::from_bytes(secret, Algorithm::Ed25519);
    let key = KeyPair::from(&secret.map_err(|error| describe(&BiscuitError::Format(error)))?);
    let public = key.public().to_bytes().try_into().map(PublicKey);
    let id = public.map(|public| KeyId::new(KeyRole::Lease, &public)).ok();
    let builder = BiscuitBuilder::new().code(write_checks(terms)).map_err(|e| describe(&e))?;
    let builder = match id.as_ref().and_then(key_hint) {
        Some(hint) => builder.root_key_id(hint),
        None => builder,
    };
    let biscuit = builder.build(&key).map_err(|error| describe(&error))?;
    Token::from_written(biscuit.to_vec())
}

impl Token {
    /// Parses the text of a token, ignoring ASCII whitespace around it. Checks the form of the token, but not its
    /// signatures.
    ///
    /// # Errors
    /// Returns [`LeaseError`] if the text is too large or not a Biscuit token, or if a block does not have the form that
    /// `docs/lease-format.md` defines.
    pub fn read(text: &[u8]) -> Result<Self, LeaseError> {
        let text = text.trim_ascii();
        if text.len() > TOKEN_TEXT_BYTES_MAX {
            return Err(LeaseError::TextTooLong { given: text.len() });
        }
        // Decode into a buffer of sufficient size, because a growing buffer would leave copies of the secret in memory.
        let mut bytes = Zeroizing::new(vec![0; text.len()]);
        let decoded = BASE64.decode_slice(text, &mut bytes).map_err(|_| LeaseError::NotBase64)?;
        bytes.truncate(decoded);
        Self::from_bytes(bytes)
    }

    /// Returns the token as text in base64url with padding, which other Biscuit programs can read.
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE64.encode(&*self.bytes))
    }

    /// Returns the token with an additional block that has the given terms. No key is needed, because the new token can
    /// never allow more than the old one.
    ///
    /// # Errors
    /// Returns [`GrantError`] if the token is sealed, if the terms are empty or exceed a limit, or if the new token would
    /// be too large.
    pub fn attenuate(&self, terms: &LeaseTerms) -> Result<Self, GrantError> {
        if *terms == LeaseTerms::default() {
            return Err(GrantError::Empty);
        }
        check_terms(terms)?;
        let biscuit = self.to_unsealed()?;
        if self.blocks.len() >= LEASE_BLOCKS_MAX {
            let source = LeaseError::TooManyBlocks { given: self.blocks.len() + 1 };
            return Err(GrantError::Unreadable { source });
        }
        let block = BlockBuilder::new().code(write_checks(terms)).map_err(|e| describe(&e))?;
        let biscuit = biscuit.append(block).map_err(|error| describe(&error))?;
        Self::from_written(biscuit.to_vec())
    }

    /// Returns a sealed copy of the token, which can be used but not attenuated any further.
    ///
    /// # Errors
    /// Returns [`GrantError`] if the token is already sealed.
    pub fn seal(&self) -> Result<Self, GrantError> {
        let sealed = self.to_unsealed()?.seal().map_err(|error| describe(&error))?;
        Self::from_written(sealed.to_vec())
    }

    /// Returns true if the token is sealed, so that it can no longer be attenuated.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// Returns the blocks of the token, whose signatures have not been verified. Use them only for display, never for a
    /// decision.
    pub fn blocks(&self) -> &[ChainBlock] {
        &self.blocks
    }

    /// Returns the unsigned hint at the key that signed the first block.
    pub(crate) fn hint(&self) -> Option<u32> {
        self.hint
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn signed(&self) -> &[SignedBlock] {
        &self.signed
    }

    /// Parses a token that the Biscuit library wrote. This ensures that no token is returned that actum would reject.
    fn from_written(written: Result<Vec<u8>, BiscuitError>) -> Result<Self, GrantError> {
        let bytes = Zeroizing::new(written.map_err(|error| describe(&error))?);
        Self::from_bytes(bytes).map_err(|source| GrantError::Unreadable { source })
    }

    fn from_bytes(bytes: Zeroizing<Vec<u8>>) -> Result<Self, LeaseError> {
        if bytes.len() > TOKEN_BYTES_MAX {
            return Err(LeaseError::TooLarge { given: bytes.len() });
        }
        let mut decoded =
            schema::Biscuit::decode(bytes.as_slice()).map_err(|_| LeaseError::NotBiscuit)?;
        // Detect unknown fields, and encodings that another reader might decode to a different token.
        let is_usual = *Zeroizing::new(decoded.encode_to_vec()) == *bytes;
        let proof = decoded.proof.content.take();
        let is_sealed = match proof {
            Some(Content::NextSecret(mut secret)) => {
                secret.zeroize();
                false
            }
            Some(Content::FinalSignature(_)) => true,
            None => return Err(LeaseError::NotBiscuit),
        };
        if !is_usual {
            return Err(LeaseError::NotBiscuit);
        }
        let given = decoded.blocks.len() + 1;
        if given > LEASE_BLOCKS_MAX {
            return Err(LeaseError::TooManyBlocks { given });
        }
        let signed = std::iter::once(decoded.authority).chain(decoded.blocks).enumerate();
        let signed: Result<Vec<SignedBlock>, LeaseError> = signed
            .map(|(index, block)| {
                let block_number = index + 1;
                SignedBlock::from_biscuit(block)
                    .map_err(|problem| LeaseError::Form { block: block_number, problem })
            })
            .collect();
        let signed = signed?;
        let blocks = read_blocks(&signed)?;
        Ok(Self { bytes, hint: decoded.root_key_id, signed, blocks, is_sealed })
    }

    fn to_unsealed(&self) -> Result<UnverifiedBiscuit, GrantError> {
        if self.is_sealed {
            return Err(GrantError::Sealed);
        }
        UnverifiedBiscuit::from(self.bytes()).map_err(|error| describe(&error))
    }
}

impl fmt::Debug for Token {
    /// Prints only the id of the last block, which is not sufficient to use the lease.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.blocks.last() {
            Some(block) => write!(f, "Token({})", block.id),
            None => f.write_str("Token"),
        }
    }
}

/// Checks that the terms are within their limits, and that their times can be represented in a Biscuit token.
fn check_terms(terms: &LeaseTerms) -> Result<(), GrantError> {
    terms.check_limits()?;
    let times = [("expires", terms.expires), ("not_before", terms.not_before)];
    let is_held =
        |time: Timestamp| time.micros() >= 0 && time.micros().rem_euclid(SECOND_MICROS) == 0;
    let wrong = times.into_iter().find_map(|(field, time)| {
        time.filter(|&time| !is_held(time)).map(|given| GrantError::Time { field, given })
    });
    wrong.map_or(Ok(()), Err)
}

fn describe(error: &BiscuitError) -> GrantError {
    GrantError::Biscuit { message: error.to_string() }
}
