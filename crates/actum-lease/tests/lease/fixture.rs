//! Keys, terms and hand-signed tokens for the tests.

use std::collections::BTreeSet;

use actum_core::{PathRule, Scope, Timestamp};
use actum_lease::{LeaseError, Token, VerifiedLease, grant, verify};
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::lease::{Capability, LeaseTerms, Quotas};
use actum_record::signer::{KeyId, KeyRole, PublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use biscuit_auth::builder::Algorithm;
use biscuit_auth::format::schema;
use biscuit_auth::{KeyPair, PrivateKey};
use ed25519_dalek::{Signer as _, SigningKey};
use prost::Message;

/// Secret half of the lease key.
pub(crate) const SECRET: [u8; 32] = [7; 32];
/// Secret half of the next key after each block that a test signs by hand.
pub(crate) const NEXT: [u8; 32] = [9; 32];

pub(crate) fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// Returns a time at which [`terms`] and every [`key`] are valid.
pub(crate) fn now() -> Timestamp {
    seconds(1_800_000_000)
}

pub(crate) fn key(secret: [u8; 32]) -> KeyEntry {
    let public = PublicKey(SigningKey::from_bytes(&secret).verifying_key().to_bytes());
    KeyEntry {
        id: KeyId::new(KeyRole::Lease, &public),
        role: KeyRole::Lease,
        public,
        not_before: seconds(1_700_000_000),
        not_after: None,
        revoked: None,
        unproven: false,
    }
}

pub(crate) fn keyring() -> Keyring {
    Keyring::new(vec![key([1; 32]), key(SECRET), key([2; 32])])
}

/// Returns the key hint that a token contains for the lease key.
pub(crate) fn hint(key: &KeyEntry) -> u32 {
    u32::from_str_radix(&key.id.as_str()[..8], 16).unwrap()
}

pub(crate) fn biscuit_key(secret: [u8; 32]) -> KeyPair {
    KeyPair::from(&PrivateKey::from_bytes(&secret, Algorithm::Ed25519).unwrap())
}

/// Returns the minimal terms of a first block.
pub(crate) fn least() -> LeaseTerms {
    LeaseTerms {
        tenant: Some("default".parse().unwrap()),
        capabilities: Some(BTreeSet::from([Capability::FileCopy])),
        base_directories: Some(BTreeSet::from(["/a".parse().unwrap()])),
        expires: Some(seconds(1_900_000_000)),
        ..LeaseTerms::default()
    }
}

/// Returns terms in which every field is set.
pub(crate) fn terms() -> LeaseTerms {
    let rules = |texts: &[&str]| texts.iter().map(|text| PathRule::new(text).unwrap()).collect();
    LeaseTerms {
        agent: Some("planner".parse().unwrap()),
        base_directories: Some(["/a", "/b c/é"].iter().map(|it| it.parse().unwrap()).collect()),
        capabilities: Some(BTreeSet::from([
            Capability::FileCopy,
            Capability::FileMove,
            Capability::Action("send_mail".parse().unwrap()),
        ])),
        expires: Some(seconds(1_900_000_000)),
        not_before: Some(seconds(1_700_000_000)),
        quotas: Quotas {
            files: Some(10),
            memory_bytes: Some(1 << 30),
            space_bytes: Some(0),
            storage_bytes: Some((1 << 53) - 1),
            wall_ms: Some(10_000),
        },
        scope: Some(Scope {
            allow: Some(rules(&["docs/", "src/**/*.rs"])),
            deny: rules(&["src/secret"]),
        }),
        task: Some("task-1".parse().unwrap()),
        tenant: Some("default".parse().unwrap()),
        uses: Some(3),
    }
}

pub(crate) fn granted(terms: &LeaseTerms) -> Token {
    grant(&SECRET, terms).unwrap()
}

pub(crate) fn bytes(token: &Token) -> Vec<u8> {
    URL_SAFE.decode(token.to_text().as_bytes()).unwrap()
}

pub(crate) fn decoded(token: &Token) -> schema::Biscuit {
    schema::Biscuit::decode(bytes(token).as_slice()).unwrap()
}

pub(crate) fn read(bytes: &[u8]) -> Result<Token, LeaseError> {
    Token::read(URL_SAFE.encode(bytes).as_bytes())
}

/// Parses and verifies a token as an executor does.
pub(crate) fn accept(bytes: &[u8]) -> Result<VerifiedLease, LeaseError> {
    verify(&read(bytes)?, &keyring(), now())
}

pub(crate) fn encode(token: &schema::Biscuit) -> Vec<u8> {
    token.encode_to_vec()
}

/// Creates a correctly signed token from these blocks, whatever their content.
pub(crate) fn sign(blocks: &[schema::Block]) -> schema::Biscuit {
    let blocks: Vec<Vec<u8>> = blocks.iter().map(Message::encode_to_vec).collect();
    sign_bytes(&blocks, 1)
}

/// Signs serialised blocks, with this version of the signed payload.
pub(crate) fn sign_bytes(blocks: &[Vec<u8>], version: u32) -> schema::Biscuit {
    let next = SigningKey::from_bytes(&NEXT);
    let next_key = next.verifying_key().to_bytes();
    let mut before: Option<Vec<u8>> = None;
    let mut signed = Vec::new();
    for block in blocks {
        let signer = if before.is_none() { SigningKey::from_bytes(&SECRET) } else { next.clone() };
        let payload = if version == 0 {
            [block.as_slice(), &[0; 4], &next_key].concat()
        } else {
            let mut payload = b"\0BLOCK\0\0VERSION\0".to_vec();
            payload.extend(version.to_le_bytes());
            payload.extend(b"\0PAYLOAD\0");
            payload.extend(block);
            payload.extend(b"\0ALGORITHM\0\0\0\0\0\0NEXTKEY\0");
            payload.extend(next_key);
            if let Some(before) = &before {
                payload.extend(b"\0PREVSIG\0");
                payload.extend(before);
            }
            payload
        };
        let signature = signer.sign(&payload).to_bytes().to_vec();
        before = Some(signature.clone());
        signed.push(schema::SignedBlock {
            block: block.clone(),
            next_key: schema::PublicKey { algorithm: 0, key: next_key.to_vec() },
            signature,
            external_signature: None,
            version: (version > 0).then_some(version),
        });
    }
    let authority = signed.remove(0);
    let proof = schema::proof::Content::NextSecret(NEXT.to_vec());
    schema::Biscuit {
        root_key_id: Some(hint(&key(SECRET))),
        authority,
        blocks: signed,
        proof: schema::Proof { content: Some(proof) },
    }
}

/// Returns the first block of a granted token, to be modified by a test.
pub(crate) fn first_block(terms: &LeaseTerms) -> schema::Block {
    schema::Block::decode(decoded(&granted(terms)).authority.block.as_slice()).unwrap()
}

/// Deterministic random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns true in `part` out of `of` cases.
    pub(crate) fn happens(&mut self, part: u64, of: u64) -> bool {
        self.below(of) < part
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    /// Returns a random selection of at least one of the values.
    pub(crate) fn some<'a, T>(&mut self, from: &'a [T]) -> Vec<&'a T> {
        let mut some: Vec<&T> = from.iter().filter(|_| self.happens(1, 2)).collect();
        if some.is_empty() {
            some.push(self.pick(from));
        }
        some
    }
}
