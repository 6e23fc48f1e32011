//! Test vectors published by others, included as data.

use actum_core::Digest;
use actum_gate::envelope::{SignerProblem, signers};
use actum_gate::{
    CheckpointProblem, ProofError, SignatureError, check_consistency, check_inclusion, verify,
    verify_checkpoint,
};
use actum_record::checkpoint::Checkpoint;
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::merkle::leaf_hash;
use actum_record::note::{Note, NoteKey};
use actum_record::signer::{KeyId, KeyRole, PublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::material::at;

fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2));
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn public(text: &str) -> PublicKey {
    PublicKey(hex(text).try_into().unwrap())
}

/// RFC 8032, section 7.1, TEST 1, TEST 2 and TEST 3: public key, message, signature.
const RFC_8032: [(&str, &str, &str); 3] = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
];

/// RFC 8032, section 7.1 (FE-14).
#[test]
fn published_signatures_verify_only_unchanged() {
    for (key, message, signature) in RFC_8032 {
        let (key, message, signature) = (public(key), hex(message), hex(signature));
        assert_eq!(verify(&key, &message, &signature), Ok(()));
        for bit in 0..512 {
            let mut changed = signature.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&key, &message, &changed).is_err(), "bit {bit} of the signature");
        }
        for bit in 0..message.len() * 8 {
            let mut changed = message.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(&key, &changed, &signature), Err(SignatureError::Wrong));
        }
        for length in [0, 63, 65] {
            let mut changed = signature.clone();
            changed.resize(length, 0);
            assert_eq!(verify(&key, &message, &changed), Err(SignatureError::Length));
        }
        let other = public(
            RFC_8032.map(|(key, ..)| key).into_iter().rev().find(|k| public(k) != key).unwrap(),
        );
        assert_eq!(verify(&other, &message, &signature), Err(SignatureError::Wrong));
    }
}

/// If the key is the neutral element, any process can forge signatures: R = B·S for any S.
#[test]
fn key_that_allows_forged_signatures_is_rejected() {
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let mut signature = [0; 64];
    signature[0] = 1;
    assert_eq!(verify(&PublicKey(neutral), b"any", &signature), Err(SignatureError::Key));
    let no_point = PublicKey([2; 32]);
    assert!(verify(&no_point, b"any", &signature).is_err());
}

const STATEMENT: &str = "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==";
const IN_TOTO: &str = "application/vnd.in-toto+json";
const STATEMENT_PAE: &str = "445353457631203238206170706c69636174696f6e2f766e642e696e2d746f746f2b6a736f6e203433207b225f74797065223a2268747470733a2f2f696e2d746f746f2e696f2f53746174656d656e742f7631227d";
const BY_A: &str =
    "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA==";
const BY_B: &str =
    "c1+67/aT0yqEpwx8PsVY3MLHsj9D0CZ014/Fv/QlG59P+9CobUZ7xECJ/V3USG0Ob9CiE5LjReEZUzNF2l7eBw==";

/// Test vector of DSSE.
struct Dsse {
    id: &'static str,
    payload: &'static str,
    payload_type: &'static str,
    /// Key ids in the envelope, each with its signature.
    signatures: &'static [(&'static str, &'static str)],
    trusted: &'static [&'static str],
    threshold: usize,
    supported: &'static [&'static str],
    pae: &'static str,
    is_accepted: bool,
}

/// `testvectors/vectors.json` of secure-systems-lab/dsse, with the keys of RFC 8032.
const DSSE: [Dsse; 9] = [
    Dsse {
        id: "single-signature",
        payload: STATEMENT,
        payload_type: IN_TOTO,
        signatures: &[("A", BY_A)],
        trusted: &["A"],
        threshold: 1,
        supported: &[IN_TOTO],
        pae: STATEMENT_PAE,
        is_accepted: true,
    },
    Dsse {
        id: "url-safe-base64",
        payload: "-_-_Pj8=",
        payload_type: IN_TOTO,
        signatures: &[(
            "A",
            "P-_KHICeR7tI6S_YyejJTRtrXhcQyQ2LYPaL8h90KjC9qN8HU_svOQ6TuDOT1HIrsGW886DbWNWcCmX5twLrAw==",
        )],
        trusted: &["A"],
        threshold: 1,
        supported: &[IN_TOTO],
        pae: "445353457631203238206170706c69636174696f6e2f766e642e696e2d746f746f2b6a736f6e203520fbffbf3e3f",
        is_accepted: true,
    },
    Dsse {
        id: "payload-type-swapped",
        payload: STATEMENT,
        payload_type: "application/vnd.example.other+json",
        signatures: &[("A", BY_A)],
        trusted: &["A"],
        threshold: 1,
        supported: &[IN_TOTO, "application/vnd.example.other+json"],
        pae: STATEMENT_PAE,
        is_accepted: false,
    },
    Dsse {
        id: "non-ascii-payload-type",
        payload: STATEMENT,
        payload_type: "application/vnd.exämple+json",
        signatures: &[(
            "A",
            "xmSk/ug66ysT7ayhkCIjhAq42zgZXSsEWuzUaNL7w2eGAdF/NU6/fRXPtmfN+5DNSAs5/i2lUnHjbbjPsu0tAw==",
        )],
        trusted: &["A"],
        threshold: 1,
        supported: &["application/vnd.exämple+json"],
        pae: "445353457631203239206170706c69636174696f6e2f766e642e6578c3a46d706c652b6a736f6e203433207b225f74797065223a2268747470733a2f2f696e2d746f746f2e696f2f53746174656d656e742f7631227d",
        is_accepted: true,
    },
    Dsse {
        id: "empty-payload",
        payload: "",
        payload_type: IN_TOTO,
        signatures: &[(
            "A",
            "gSggCAaTLTYyRH6FIDBem6meyIynsYy8RTHVzwx9tnTb7Bg/1jMWnuVgI/gffqmbsC2VX5/jHfkkDqsj7CDbDg==",
        )],
        trusted: &["A"],
        threshold: 1,
        supported: &[IN_TOTO],
        pae: "445353457631203238206170706c69636174696f6e2f766e642e696e2d746f746f2b6a736f6e203020",
        is_accepted: true,
    },
    Dsse {
        id: "empty-payload-type",
        payload: STATEMENT,
        payload_type: "",
        signatures: &[(
            "A",
            "iC3q/+3Rm0+lpAJRueDmDh15PnwCfxKmS0NAfKsbv+zgulXQC/WM9trc+j1XEqlwDIg/vf/uNfebeD6sxInrDg==",
        )],
        trusted: &["A"],
        threshold: 1,
        supported: &[IN_TOTO],
        pae: "445353457631203020203433207b225f74797065223a2268747470733a2f2f696e2d746f746f2e696f2f53746174656d656e742f7631227d",
        is_accepted: false,
    },
    Dsse {
        id: "threshold-two-distinct-keys",
        payload: STATEMENT,
        payload_type: IN_TOTO,
        signatures: &[("A", BY_A), ("B", BY_B)],
        trusted: &["A", "B"],
        threshold: 2,
        supported: &[IN_TOTO],
        pae: STATEMENT_PAE,
        is_accepted: true,
    },
    Dsse {
        id: "threshold-two-one-key-twice",
        payload: STATEMENT,
        payload_type: IN_TOTO,
        signatures: &[("A", BY_A), ("A", BY_A)],
        trusted: &["A", "B"],
        threshold: 2,
        supported: &[IN_TOTO],
        pae: STATEMENT_PAE,
        is_accepted: false,
    },
    Dsse {
        id: "threshold-two-without-keyids",
        payload: STATEMENT,
        payload_type: IN_TOTO,
        signatures: &[("", BY_A), ("", BY_B)],
        trusted: &["A", "B"],
        threshold: 2,
        supported: &[IN_TOTO],
        pae: STATEMENT_PAE,
        is_accepted: true,
    },
];

/// DSSE, `testvectors` (FE-14).
#[test]
fn dsse_test_vectors_have_the_expected_results() {
    let entry = |name: &&str| {
        let public = public(RFC_8032[usize::from(**name == *"B")].0);
        let id = KeyId::new(KeyRole::Result, &public);
        let (role, not_before) = (KeyRole::Result, at(0));
        KeyEntry { id, role, public, not_before, not_after: None, revoked: None, unproven: false }
    };
    for vector in DSSE {
        let signatures = vector.signatures.iter().map(|(name, sig)| match *name {
            "" => json!({ "sig": sig }),
            name => json!({ "sig": sig, "keyid": entry(&name).id }),
        });
        let envelope = json!({
            "payload": vector.payload,
            "payloadType": vector.payload_type,
            "signatures": signatures.collect::<Vec<_>>(),
        });
        let envelope = Envelope::read(envelope.to_string().as_bytes()).unwrap();
        if vector.is_accepted {
            assert_eq!(envelope.signed_bytes(), hex(vector.pae), "{}", vector.id);
        }
        let keyring = Keyring::new(vector.trusted.iter().map(entry).collect());
        let count = signers(&envelope, &keyring).map_or(0, |signers| signers.len());
        let is_accepted =
            count >= vector.threshold && vector.supported.contains(&vector.payload_type);
        assert_eq!(is_accepted, vector.is_accepted, "{}", vector.id);
    }
}

/// Actum distinguishes the causes of a failure: a signature over another payload type is wrong, not unknown.
#[test]
fn published_signature_over_another_type_is_wrong() {
    let public = public(RFC_8032[0].0);
    let id = KeyId::new(KeyRole::Result, &public);
    let entry = KeyEntry {
        id: id.clone(),
        role: KeyRole::Result,
        public,
        not_before: at(0),
        not_after: None,
        revoked: None,
        unproven: false,
    };
    let text = json!({
        "payload": STATEMENT,
        "payloadType": "application/vnd.example.other+json",
        "signatures": [{ "sig": BY_A, "keyid": id }],
    });
    let envelope = Envelope::read(text.to_string().as_bytes()).unwrap();
    let keyring = Keyring::new(vec![entry]);
    assert_eq!(signers(&envelope, &keyring).unwrap_err(), SignerProblem::Wrong { key: id });
}

/// Examples of C2SP `signed-note` and of Go's `sumdb/note`: a key, and a note signed with it.
const NOTES: [(&str, &str); 2] = [
    (
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "This is an example message.\n\n\u{2014} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n",
    ),
    (
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n",
    ),
];

#[test]
fn published_notes_verify_only_unchanged() {
    for (key, note) in NOTES {
        let (key, note) = (NoteKey::read(key).unwrap(), Note::read(note.as_bytes()).unwrap());
        let line = &note.signatures[0];
        assert_eq!((&line.name, line.key_hash), (&key.name, key.hash()));
        assert_eq!(verify(&key.key, note.text.as_bytes(), &line.signature), Ok(()));
        for at in 0..note.text.len() {
            let mut text = note.text.clone().into_bytes();
            text[at] ^= 1;
            let problem = verify(&key.key, &text, &line.signature);
            assert_eq!(problem, Err(SignatureError::Wrong), "byte {at}");
        }
    }
}

/// The key of this example of C2SP `tlog-checkpoint` is not published, so the checkpoint is parsed but its signer is unknown.
#[test]
fn published_checkpoint_parses_with_an_unknown_signer() {
    let text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";
    let note = Note::read(text.as_bytes()).unwrap();
    let checkpoint = Checkpoint::read(&note.text).unwrap();
    assert_eq!(checkpoint.size, 20_852_163);
    assert_eq!(note.to_text(), text);
    assert_eq!(
        verify_checkpoint(text.as_bytes(), &crate::material::keyring()),
        Err(CheckpointProblem::NoKnownKey { origin: "example.com/behind-the-sofa".to_owned() })
    );
}

/// Log of eight entries used by the tests of both Certificate Transparency and Trillian.
const LEAVES: [&str; 8] = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
];
const ROOTS: [&str; 8] = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];
/// Index, log size and hashes of published inclusion proofs.
const INCLUSIONS: [(u64, u64, &[&str]); 5] = [
    (0, 1, &[]),
    (
        0,
        8,
        &[
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        5,
        8,
        &[
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (2, 3, &["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    (
        1,
        5,
        &[
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
];
/// Old size, new size and hashes of published consistency proofs.
const CONSISTENCIES: [(u64, u64, &[&str]); 4] = [
    (1, 1, &[]),
    (
        1,
        8,
        &[
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    ),
    (
        6,
        8,
        &[
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    ),
    (
        2,
        5,
        &[
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    ),
];

fn digests(texts: &[&str]) -> Vec<Digest> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn root(size: u64) -> Digest {
    ROOTS[usize::try_from(size).unwrap() - 1].parse().unwrap()
}

/// RFC 6962, section 2.1.1.
#[test]
fn published_inclusion_proofs_hold_only_for_their_claim() {
    for (index, size, hashes) in INCLUSIONS {
        let leaf = leaf_hash(&hex(LEAVES[usize::try_from(index).unwrap()]));
        let proof = digests(hashes);
        let check = |leaf, index, size, proof: &[Digest], root| {
            check_inclusion(leaf, index, size, proof, root)
        };
        let sound = root(size);
        assert_eq!(check(&leaf, index, size, &proof, &sound), Ok(()), "{index} of {size}");
        for other in [index.wrapping_sub(1), index + 1, index ^ 2] {
            assert!(check(&leaf, other, size, &proof, &sound).is_err(), "{other} of {size}");
        }
        for other in [size * 2, size / 2] {
            assert!(check(&leaf, index, other, &proof, &sound).is_err(), "{index} of {other}");
        }
        let empty = Digest::of(b"");
        assert_eq!(check(&leaf, index, size, &proof, &empty), Err(ProofError::Root));
        assert_eq!(check(&empty, index, size, &proof, &sound), Err(ProofError::Root));
        for at in 0..proof.len() {
            let mut changed = proof.clone();
            changed[at] = empty;
            assert_eq!(check(&leaf, index, size, &changed, &sound), Err(ProofError::Root));
        }
        let longer = [&proof[..], &[sound]].concat();
        let before = [&[sound][..], &proof].concat();
        let mut all = vec![longer, before];
        all.extend(proof.split_last().map(|(_, shorter)| shorter.to_vec()));
        for changed in all {
            let found = changed.len();
            let error = check(&leaf, index, size, &changed, &sound);
            assert_eq!(error, Err(ProofError::Length { found }), "{index} of {size}");
        }
    }
}

/// RFC 6962, section 2.1.2.
#[test]
fn published_consistency_proofs_hold_only_for_their_claim() {
    for (old, size, hashes) in CONSISTENCIES {
        let proof = digests(hashes);
        let (first, second) = (root(old), root(size));
        let check =
            |old, size, proof: &[Digest]| check_consistency(old, &first, size, &second, proof);
        assert_eq!(check(old, size, &proof), Ok(()), "{old} of {size}");
        let longer = [&proof[..], &[second]].concat();
        assert!(check(old, size, &longer).is_err());
        if old == size {
            continue;
        }
        for other in [old - 1, old + 1, old ^ 2] {
            assert!(check(other, size, &proof).is_err(), "{other} of {size}");
        }
        for other in [size * 2, size / 2] {
            assert!(check(old, other, &proof).is_err(), "{old} of {other}");
        }
        let empty = Digest::of(b"");
        assert!(check_consistency(old, &empty, size, &second, &proof).is_err());
        assert!(check_consistency(old, &first, size, &empty, &proof).is_err());
        assert!(check_consistency(old, &second, size, &first, &proof).is_err());
        for at in 0..proof.len() {
            let mut changed = proof.clone();
            changed[at] = empty;
            assert!(check(old, size, &changed).is_err());
        }
        assert!(check(old, size, &proof[1..]).is_err());
        assert!(check(old, size, &proof[..proof.len() - 1]).is_err());
        assert!(check(old, size, &[]).is_err());
    }
}

/// Decodes the texts above with another library as well.
#[test]
fn published_payload_is_standard_base64() {
    assert_eq!(
        STANDARD.decode(STATEMENT).unwrap(),
        br#"{"_type":"https://in-toto.io/Statement/v1"}"#
    );
}
