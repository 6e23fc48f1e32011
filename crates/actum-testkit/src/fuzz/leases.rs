//! Fuzz target for lease tokens and chain documents. An input must be rejected, or parsed into terms that stay the same when they
//! are written and parsed again.
//!
//! The first byte of the input selects how the rest is parsed: as the text of a token, as its bytes, or as a chain document.

use actum_core::Timestamp;
use actum_lease::{
    LeaseError, TOKEN_TEXT_BYTES_MAX, Token, grant, read_chain, verify, verify_chain,
};
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::lease::LeaseTerms;
use actum_record::signer::{KeyId, KeyRole, PublicKey};

/// Secret key that signed the tokens in the corpus.
const SECRET: [u8; 32] = [7; 32];
/// Public key that belongs to [`SECRET`].
const PUBLIC: &str = "6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=";

pub(super) fn run(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind {
        b't' => token(rest),
        b'b' => token(write_base64(rest).as_bytes()),
        _ => chain(rest),
    }
}

fn token(text: &[u8]) {
    let token = match Token::read(text) {
        Err(error) => return sound(&error),
        Ok(token) => token,
    };
    let again = Token::read(token.to_text().as_bytes()).unwrap();
    assert_eq!(again.blocks(), token.blocks());
    assert!(token.to_text().len() <= TOKEN_TEXT_BYTES_MAX);
    for block in token.blocks() {
        block.terms.check_limits().unwrap();
        // Writing the terms and reading them again must neither add nor lose a check.
        let written = grant(&SECRET, &with_required(&block.terms)).unwrap();
        assert_eq!(written.blocks()[0].terms, with_required(&block.terms));
    }
    match verify(&token, &keyring(), now()) {
        Err(error) => sound(&error),
        Ok(lease) => {
            assert_eq!(lease.blocks, token.blocks());
            let chain = verify_chain(&lease.document, &keyring(), now()).unwrap();
            assert_eq!((chain.blocks, chain.key), (lease.blocks, lease.key));
        }
    }
}

fn chain(bytes: &[u8]) {
    let verified = verify_chain(bytes, &keyring(), now());
    match read_chain(bytes) {
        Err(error) => {
            sound(&error);
            assert_eq!(verified, Err(error));
        }
        Ok(chain) => {
            // A chain document must not be accepted as a token.
            assert!(Token::read(bytes).is_err());
            match verified {
                Err(error) => sound(&error),
                Ok(verified) => assert_eq!(verified, chain),
            }
        }
    }
}

/// Returns the terms with the fields added that the first block of a token requires.
fn with_required(terms: &LeaseTerms) -> LeaseTerms {
    let mut terms = terms.clone();
    terms.tenant.get_or_insert_with(|| "default".parse().unwrap());
    terms.capabilities.get_or_insert_with(|| ["APPLY".parse().unwrap()].into());
    terms.base_directories.get_or_insert_with(|| ["/".parse().unwrap()].into());
    terms.expires.get_or_insert_with(now);
    terms
}

fn keyring() -> Keyring {
    let public: PublicKey = PUBLIC.parse().unwrap();
    Keyring::new(vec![KeyEntry {
        id: KeyId::new(KeyRole::Lease, &public),
        role: KeyRole::Lease,
        public,
        not_before: Timestamp::from_micros(0),
        not_after: None,
        revoked: None,
        unproven: false,
    }])
}

fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

fn sound(error: &LeaseError) {
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(text.len() < 1_000, "{text}");
    assert!(!error.reason().is_empty());
}

/// Encodes bytes as base64url without padding.
fn write_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(DIGITS[number >> (18 - 6 * place) & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-17: the token in the corpus must have a valid signature, or the fuzzer would never reach the code after the signature
    /// check.
    #[test]
    fn corpus_token_is_verified_with_the_target_key() {
        let kept = include_bytes!("../../../../fuzz/corpus/leases/bytes-two-blocks");
        let token = Token::read(write_base64(&kept[1..]).as_bytes()).unwrap();
        assert_eq!(verify(&token, &keyring(), now()).unwrap().blocks.len(), 2);
    }
}
