//! Vectors of inclusion proofs, consistency proofs and checkpoints.

use actum_core::Digest;
use actum_gate::{check_consistency, check_inclusion, verify_checkpoint};
use actum_record::checkpoint::Checkpoint;
use actum_record::merkle::{empty_root, leaf_hash};
use actum_record::note::Note;
use actum_record::signer::KeyRole;
use serde_json::{Map, Value, json};

use super::receipts::{keyring_named, keyrings};
use super::{Case, Vectors, accepted, refused};
use crate::material::{Log, ORIGIN, OTHER_ORIGIN, TestKey, checkpoint_key, note, result_key};

fn digest(value: &Value) -> Digest {
    value.as_str().unwrap().parse().unwrap()
}

fn digests(value: &Value) -> Vec<Digest> {
    value.as_array().unwrap().iter().map(digest).collect()
}

fn leaf(index: u64) -> Digest {
    leaf_hash(index.to_string().as_bytes())
}

pub(super) fn inclusion() -> Vectors {
    let log = Log::of_size(13);
    let of = |index, size| {
        json!({
            "leaf": leaf(index),
            "index": index,
            "size": size,
            "root": log.root_of(size),
            "hashes": log.inclusion(size, index),
        })
    };
    let mut cases: Vec<Case> = (1..=13u64)
        .flat_map(|size| [0, size / 2, size - 1].map(|index| (index, size)))
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|(index, size)| accepted(&format!("entry {index} of {size}"), of(index, size)))
        .collect();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut input = of(5, 13);
        change(&mut input);
        input
    };
    let hashes = log.inclusion(13, 5);
    let swapped = [&[hashes[1], hashes[0]], &hashes[2..]].concat();
    let longer = [&hashes[..], &[log.root()]].concat();
    cases.extend([
        refused("no such entry", "PROOF_NO_ENTRY", with(&|input| input["index"] = json!(13))),
        refused("a log without entries", "PROOF_NO_ENTRY", with(&|input| input["size"] = json!(0))),
        refused("a neighbour", "PROOF_OTHER_ROOT", with(&|input| input["index"] = json!(4))),
        refused("another leaf", "PROOF_OTHER_ROOT", with(&|input| input["leaf"] = json!(leaf(6)))),
        refused(
            "another root",
            "PROOF_OTHER_ROOT",
            with(&|input| input["root"] = json!(log.root_of(12))),
        ),
        refused("a smaller log", "PROOF_LENGTH", with(&|input| input["size"] = json!(8))),
        refused("a larger log", "PROOF_LENGTH", with(&|input| input["size"] = json!(17))),
        refused(
            "in another order",
            "PROOF_OTHER_ROOT",
            with(&|input| input["hashes"] = json!(swapped)),
        ),
        refused("a hash too many", "PROOF_LENGTH", with(&|input| input["hashes"] = json!(longer))),
        refused(
            "a hash too few",
            "PROOF_LENGTH",
            with(&|input| input["hashes"] = json!(hashes[..hashes.len() - 1])),
        ),
        refused("no hash", "PROOF_LENGTH", with(&|input| input["hashes"] = json!([]))),
    ]);
    Vectors {
        name: "inclusion",
        about: "Inclusion proofs (RFC 6962, section 2.1.1). Entry N of the log is the number N as \
                a text.",
        keyrings: Map::new(),
        cases,
        judge: |input, _| {
            let (index, size) = (input["index"].as_u64().unwrap(), input["size"].as_u64().unwrap());
            let (leaf, root) = (digest(&input["leaf"]), digest(&input["root"]));
            check_inclusion(&leaf, index, size, &digests(&input["hashes"]), &root)
                .map(|()| json!({}))
                .map_err(|problem| problem.reason())
        },
    }
}

pub(super) fn consistency() -> Vectors {
    let log = Log::of_size(13);
    let of = |old, size| {
        json!({
            "old_size": old,
            "old_root": log.root_of(old),
            "size": size,
            "root": log.root_of(size),
            "hashes": if old == 0 { Vec::new() } else { log.consistency(size, old) },
        })
    };
    let mut cases: Vec<Case> = (0..=13u64)
        .flat_map(|old| [old, 8, 12, 13].map(|size| (old, size)))
        .filter(|(old, size)| old <= size)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|(old, size)| accepted(&format!("{old} of {size}"), of(old, size)))
        .collect();
    let with = |(old, size), change: &dyn Fn(&mut Value)| {
        let mut input = of(old, size);
        change(&mut input);
        input
    };
    let other = json!(leaf(0));
    let hashes = log.consistency(13, 6);
    let longer = [&hashes[..], &[log.root()]].concat();
    cases.extend([
        refused(
            "the later log is shorter",
            "PROOF_LOG_SHORTER",
            with((6, 13), &|input| input["size"] = json!(5)),
        ),
        refused(
            "another old root",
            "PROOF_OTHER_OLD_ROOT",
            with((6, 13), &|input| input["old_root"] = other.clone()),
        ),
        refused(
            "another root",
            "PROOF_OTHER_ROOT",
            with((6, 13), &|input| input["root"] = other.clone()),
        ),
        refused(
            "another root where the old log is one subtree",
            "PROOF_OTHER_ROOT",
            with((8, 13), &|input| input["root"] = other.clone()),
        ),
        refused(
            "another log of the same size",
            "PROOF_OTHER_OLD_ROOT",
            with((6, 6), &|input| input["root"] = other.clone()),
        ),
        refused(
            "an empty log with another root",
            "PROOF_OTHER_OLD_ROOT",
            with((0, 13), &|input| input["old_root"] = other.clone()),
        ),
        refused(
            "two empty logs with another root",
            "PROOF_OTHER_ROOT",
            with((0, 0), &|input| {
                input["old_root"] = other.clone();
                input["root"] = other.clone();
            }),
        ),
        refused(
            "another old size",
            "PROOF_LENGTH",
            with((6, 13), &|input| input["old_size"] = json!(5)),
        ),
        refused("no hash", "PROOF_LENGTH", with((6, 13), &|input| input["hashes"] = json!([]))),
        refused(
            "a hash too many",
            "PROOF_LENGTH",
            with((6, 13), &|input| input["hashes"] = json!(longer)),
        ),
        refused(
            "a hash where none belongs",
            "PROOF_LENGTH",
            with((6, 6), &|input| input["hashes"] = json!([empty_root()])),
        ),
    ]);
    Vectors {
        name: "consistency",
        about: "Consistency proofs (RFC 6962, section 2.1.2). Entry N of the log is the number N \
                as a text. The empty log is the beginning of every log.",
        keyrings: Map::new(),
        cases,
        judge: |input, _| {
            let size = |name| input[name].as_u64().unwrap();
            let (old_root, root) = (digest(&input["old_root"]), digest(&input["root"]));
            let hashes = digests(&input["hashes"]);
            check_consistency(size("old_size"), &old_root, size("size"), &root, &hashes)
                .map(|()| json!({}))
                .map_err(|problem| problem.reason())
        },
    }
}

pub(super) fn checkpoints() -> Vectors {
    Vectors {
        name: "checkpoints",
        about: "Signed checkpoints (C2SP tlog-checkpoint in a signed-note), each with the keyring \
                to judge it by. The name of a key is the name of the log.",
        keyrings: keyrings(),
        cases: checkpoint_cases(),
        judge: |input, keyrings| {
            let keyring = keyring_named(input, keyrings);
            let note = input["note"].as_str().unwrap();
            let verified = verify_checkpoint(note.as_bytes(), &keyring);
            let verified = verified.map_err(|problem| problem.reason())?;
            let Checkpoint { origin, size, root } = verified.checkpoint;
            Ok(json!({ "origin": origin, "size": size, "root": root, "key": verified.key }))
        },
    }
}

fn checkpoint_cases() -> Vec<Case> {
    let of = |keyring: &str, note: &str| json!({ "keyring": keyring, "note": note });
    let checkpoint = Log::of_size(5).checkpoint(ORIGIN);
    let (ours, stranger) = (checkpoint_key(), TestKey::new(KeyRole::Checkpoint, 99));
    let sound = note(&checkpoint, &[&ours]);
    let two = note(&checkpoint, &[&stranger, &ours]);
    let mut exchanged = Note::read(two.as_bytes()).unwrap();
    exchanged.signatures[0].key_hash = exchanged.signatures[1].key_hash;
    let renamed = sound.replace(&format!("\u{2014} {ORIGIN}"), &format!("\u{2014} {OTHER_ORIGIN}"));
    let not_empty = Checkpoint { size: 0, ..checkpoint.clone() };
    let extended = {
        let mut note = Note::new(format!("{}more\n", checkpoint.text())).unwrap();
        note.signatures = Note::read(sound.as_bytes()).unwrap().signatures;
        note.to_text()
    };
    let malformed = "CHECKPOINT_MALFORMED";
    vec![
        accepted("signed by the checkpoint key", of("now", &sound)),
        accepted("a line of an unknown key before", of("now", &two)),
        accepted(
            "of the empty log",
            of("now", &note(&Log::of_size(0).checkpoint(ORIGIN), &[&ours])),
        ),
        accepted("the key has expired", of("expired", &sound)),
        refused("the key is revoked", "KEY_REVOKED", of("revoked", &sound)),
        refused(
            "signed by an unknown key",
            "SIGNER_UNKNOWN",
            of("now", &note(&checkpoint, &[&stranger])),
        ),
        refused(
            "signed by a key of another role",
            "SIGNER_UNKNOWN",
            of("now", &note(&checkpoint, &[&result_key()])),
        ),
        refused("under another name", "SIGNER_UNKNOWN", of("now", &renamed)),
        refused("another size", "SIGNATURE_WRONG", of("now", &sound.replacen("\n5\n", "\n6\n", 1))),
        refused(
            "a wrong line of a known key before a sound one",
            "SIGNATURE_WRONG",
            of("now", &exchanged.to_text()),
        ),
        refused(
            "the root of a log without entries is another",
            malformed,
            of("now", &note(&not_empty, &[&ours])),
        ),
        refused("an extension line", malformed, of("now", &extended)),
        refused(
            "a size with a zero before it",
            malformed,
            of("now", &sound.replacen("\n5\n", "\n05\n", 1)),
        ),
        refused("no signature", malformed, of("now", &checkpoint.text())),
        refused("no line feed at the end", malformed, of("now", sound.trim_end())),
        refused("a carriage return", malformed, of("now", &sound.replacen('\n', "\r\n", 1))),
        refused("a hyphen for the dash", malformed, of("now", &sound.replace('\u{2014}', "-"))),
    ]
}
