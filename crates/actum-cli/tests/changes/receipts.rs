//! Receipts, proofs and ledgers, as the command line writes and verifies them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, home_of, workspace};
use actum_core::{Digest, Timestamp};
use actum_gate::{GateName, check_inclusion, verify_checkpoint};
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::merkle::leaf_hash;
use actum_record::note::NoteKey;
use actum_record::signer::KeyRole;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs a command and parses the single JSON document that it prints.
fn document(root: &Path, arguments: &[&str]) -> Value {
    let ended = actum(root, &[&["--json"], arguments].concat());
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Creates a workspace with one run, and writes its receipt and the keyring next to it.
fn recorded() -> (TempDir, PathBuf) {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["receipt", "-o", "../receipt.json"]).code, 0);
    assert_eq!(actum(&root, &["key", "export", "-o", "../keyring.json"]).code, 0);
    (directory, root)
}

/// Runs the program in a different directory and without environment variables.
fn elsewhere(directory: &Path, arguments: &[&str]) -> Value {
    let mut command = command(directory, &[&["--json"], arguments].concat());
    let ended =
        Ended::from(command.env_clear().env("XDG_CONFIG_HOME", "/nonexistent").output().unwrap());
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

const SIGNED: &str = "a result key of the keyring signed the receipt while the key was valid";
const CONSISTENT: &str = "the content of the receipt is consistent";
const LOGGED: &str = "the log contains the receipt, as a signed checkpoint proves";
const BEHIND: &str =
    "the receipt comes after the entry that it names as its intent; that entry is not in the file";
const NO_PROOF: &str =
    "whether the log contains the receipt: the file has no proof (`actum receipt RUN` writes one)";
const ONE_LOG: &str =
    "whether other readers see a different log: compare the checkpoint with one that you kept";
const NAMES: &str =
    "whether the names are right: user and agent are recorded as the signing program stated them";
const FILES_NOW: &str =
    "whether the files are still the same: the receipt describes them as the run left them";

/// FE-14
#[test]
fn receipt_is_verified_with_public_keys_alone() {
    let (directory, root) = recorded();
    let alone = tempfile::tempdir().unwrap();
    for name in ["receipt.json", "keyring.json"] {
        fs::copy(directory.path().join(name), alone.path().join(name)).unwrap();
    }
    let log = document(&root, &["ledger", "show"]);
    let keys = document(&root, &["key", "list"])["keys"].clone();
    let bundle: Value =
        serde_json::from_slice(&fs::read(directory.path().join("receipt.json")).unwrap()).unwrap();
    assert_eq!(bundle["format"], "actum.receipt/1");
    let verified =
        elsewhere(alone.path(), &["verify", "receipt.json", "--keyring", "keyring.json"]);
    let entry = &log["entries"][0];
    let predicate = document(&root, &["ledger", "show", "#2"])["payload"]["predicate"].clone();
    assert!(predicate["paths"].as_array().is_some_and(|paths| !paths.is_empty()));
    let gates = verified["gates"].as_array().unwrap();
    let names: Vec<_> = gates.iter().map(|gate| &gate["gate"]).collect();
    let all: Vec<_> = GateName::ALL.iter().map(|gate| gate.as_str()).collect();
    assert_eq!(names, all);
    for expected in [
        allowed("protected", &json!({ "kind": "not_protected" }), "no protected path is changed"),
        allowed("scope", &json!({ "kind": "in_scope" }), "every path is in scope"),
        allowed(
            "budget",
            &json!({ "kind": "budget", "files": 2, "loc": 4 }),
            "files: 2 (no limit); changed lines: 4 (no limit)",
        ),
        allowed("commands", &json!({ "kind": "no_command" }), "no command would be run"),
        allowed(
            "credentials",
            &json!({ "kind": "no_credential" }),
            "no new content looks like a credential",
        ),
        allowed(
            "tier",
            &json!({ "kind": "tier", "tier": "R2", "reason": { "kind": "reversible" } }),
            "R2: every change can be undone",
        ),
        allowed(
            "access",
            &json!({ "kind": "no_access_policies" }),
            "no access policies are in force",
        ),
        allowed(
            "approval",
            &json!({ "kind": "no_approval_needed" }),
            "no gate requires a user's approval",
        ),
    ] {
        assert!(gates.contains(&expected), "{expected}: {gates:?}");
    }
    assert_eq!(
        verified,
        json!({
            "format": "actum.verification/1",
            "run": entry["run"],
            "tenant": "default",
            "workspace": document(&root, &["ledger", "show", "1"])["body"]["workspace"],
            "status": "succeeded",
            "actor": predicate["actor"],
            "door": predicate["door"],
            "label": "apply change.diff",
            "ended": predicate["ended"],
            "gates": verified["gates"],
            "paths": predicate["paths"],
            "key": keys[0]["id"],
            "leaf": entry["leaf"],
            "keyring": { "file": "keyring.json", "source": "argument" },
            "log": {
                "origin": log["origin"],
                "index": 2,
                "size": 3,
                "root": document(&root, &["ledger", "checkpoint"])["root"],
                "key": keys[1]["id"],
            },
            "verified": [SIGNED, CONSISTENT, LOGGED, BEHIND],
            "not_verified": [ONE_LOG, FILES_NOW, NAMES],
        })
    );
    // Repeat this with the receipt on standard input and the user's own keys.
    let mut verify = command(&root, &["verify", "--json", "-"]);
    let mut child = verify.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let receipt = fs::read(directory.path().join("receipt.json")).unwrap();
    child.stdin.take().unwrap().write_all(&receipt).unwrap();
    let own: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    let file = home_of(&root).join("keys/keyring.json");
    let mut expected = verified;
    expected["keyring"] = json!({ "file": file, "source": "home" });
    assert_eq!(own, expected);
}

/// FE-14
#[test]
fn receipt_without_proof_lists_what_is_not_verified() {
    let (_directory, root) = recorded();
    assert_eq!(actum(&root, &["receipt", "--no-proof", "-o", "../bare.json"]).code, 0);
    let verified = document(&root, &["verify", "../bare.json"]);
    assert_eq!(verified["log"], Value::Null);
    assert_eq!(verified["verified"], json!([SIGNED, CONSISTENT]));
    assert_eq!(verified["not_verified"], json!([NO_PROOF, FILES_NOW, NAMES]));
}

/// FE-14, D-4: members from a later version or another author are listed as not verified.
#[test]
fn receipt_with_unchecked_members_or_signatures_verifies_with_a_warning() {
    let (directory, root) = recorded();
    let path = directory.path().join("receipt.json");
    let mut bundle: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(document(&root, &["verify", "../receipt.json"]).get("unread").is_none());
    bundle["approved\u{1b}[1m by"] = json!("everybody");
    bundle["proof"]["hint"] = json!(1);
    let signatures = bundle["receipt"]["signatures"].as_array_mut().unwrap();
    let signature = signatures[0]["sig"].clone();
    signatures.push(json!({ "keyid": "an auditor\nyes", "sig": signature, "note": "x" }));
    signatures.push(json!({ "sig": "AAAA" }));
    fs::write(&path, bundle.to_string()).unwrap();
    let expected = [
        "the unknown member `approved\\033[1m by`",
        "the unknown member `proof.hint`",
        "the unknown member `receipt.signatures.note`",
        "a signature by the key `an auditor\\nyes`, which is not in the keyring",
        "a signature without a key id that no key in the keyring made",
    ];
    // The receipt hash covers its signatures, so the log has no entry for a receipt with an additional signature.
    assert_eq!(actum(&root, &["verify", "../receipt.json"]).code, 1);
    fs::write(directory.path().join("bare.json"), bundle["receipt"].to_string()).unwrap();
    let bare = document(&root, &["verify", "../bare.json"]);
    let of_bare = ["the unknown member `signatures.note`"];
    let of_bare: Vec<_> = of_bare.iter().chain(&expected[3..]).collect();
    assert_eq!(bare["unread"], json!(of_bare));
    bundle["receipt"]["signatures"].as_array_mut().unwrap().truncate(1);
    fs::write(&path, bundle.to_string()).unwrap();
    let verified = actum(&root, &["verify", "../receipt.json"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    for unread in &expected[..2] {
        let line = format!("\nwarning   not checked: {unread}\n");
        assert!(verified.stdout.contains(&line), "{verified:?}");
    }
}

/// FE-14
#[test]
fn receipt_with_any_byte_changed_is_not_verified() {
    let (directory, root) = recorded();
    let sound = fs::read(directory.path().join("receipt.json")).unwrap();
    let end = sound.len() - 1;
    for place in (0..end).step_by(41) {
        let mut changed = sound.clone();
        changed[place] ^= 1;
        fs::write(directory.path().join("changed.json"), &changed).unwrap();
        let ended = actum(&root, &["verify", "../changed.json"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "byte {place}: {ended:?}");
    }
    for cut in [0, 1, end / 2, end - 1] {
        fs::write(directory.path().join("changed.json"), &sound[..cut]).unwrap();
        assert_eq!(actum(&root, &["verify", "../changed.json"]).code, 1, "{cut}");
    }
}

/// FE-14
#[test]
fn every_receipt_verification_failure_has_a_reason_name() {
    let (directory, root) = recorded();
    let path = |name: &str| directory.path().join(name);
    let sound = Keyring::read(&fs::read(path("keyring.json")).unwrap()).unwrap();
    let with = |edit: &dyn Fn(&mut KeyEntry)| {
        let mut keys = sound.keys().to_vec();
        keys.iter_mut().filter(|key| key.role == KeyRole::Result).for_each(edit);
        fs::write(path("edited.json"), Keyring::new(keys).to_vec().unwrap()).unwrap();
        document(&root, &["verify", "../receipt.json", "--keyring", "../edited.json"])
    };
    let at = |micros| Some(Timestamp::from_micros(micros));
    assert_eq!(with(&|_| {})["format"], "actum.verification/1");
    assert_eq!(with(&|key| key.not_after = at(0))["reason"], "KEY_EXPIRED");
    assert_eq!(with(&|key| key.revoked = at(0))["reason"], "KEY_REVOKED");
    let late = Timestamp::from_micros(i64::MAX);
    assert_eq!(with(&|key| key.not_before = late)["reason"], "KEY_NOT_YET_VALID");
    let checkpoint_alone = Keyring::new(vec![sound.newest(KeyRole::Checkpoint).unwrap().clone()]);
    fs::write(path("edited.json"), checkpoint_alone.to_vec().unwrap()).unwrap();
    let named = |arguments: &[&str]| {
        let error = document(&root, arguments);
        assert_eq!(
            (&error["status"], &error["workspace"]),
            (&json!("rejected"), &json!("unchanged"))
        );
        error["reason"].as_str().unwrap().to_owned()
    };
    let with_edited = ["verify", "../receipt.json", "--keyring", "../edited.json"];
    assert_eq!(named(&with_edited), "SIGNER_UNKNOWN");
    fs::write(path("edited.json"), "{}").unwrap();
    assert_eq!(named(&with_edited), "KEYRING_INVALID");
    fs::write(path("edited.json"), r#"{"format":"actum.keyring/2","keys":[]}"#).unwrap();
    assert_eq!(named(&with_edited), "NEWER_FORMAT");
    fs::remove_file(path("edited.json")).unwrap();
    assert_eq!(named(&with_edited), "INPUT_UNREADABLE");
    assert_eq!(named(&["verify", "../change.diff"]), "RECEIPT_MALFORMED");
    assert_eq!(named(&["verify", "../keyring.json"]), "BUNDLE_OF_ANOTHER_FORMAT");
    let none = elsewhere(directory.path(), &["verify", "receipt.json"]);
    assert_eq!(none["reason"], "LEDGER_HOME_UNKNOWN");
    let (_other, nothing) = workspace();
    crate::program::without_ledger(&nothing);
    assert_eq!(document(&nothing, &["verify", "../change.diff"])["reason"], "KEYS_MISSING");
    assert_eq!(document(&nothing, &["receipt", "0123456789ab"])["reason"], "LEDGER_MISSING");
}

/// FE-14: a signature made before the key was rotated verifies with both the old and the new keyring.
#[test]
fn receipts_from_before_and_after_key_rotation_are_verified() {
    let (_directory, root) = recorded();
    for role in ["result", "checkpoint"] {
        assert_eq!(actum(&root, &["key", "rotate", role]).code, 0);
    }
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(actum(&root, &["receipt", "-o", "../later.json"]).code, 0);
    for receipt in ["../receipt.json", "../later.json"] {
        let verified = actum(&root, &["verify", receipt]);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
    let old = ["--keyring", "../keyring.json"];
    assert_eq!(actum(&root, &[&["verify", "../receipt.json"][..], &old].concat()).code, 0);
    let later = document(&root, &[&["verify", "../later.json"][..], &old].concat());
    assert_eq!(later["reason"], "SIGNER_UNKNOWN");
    let log = document(&root, &["ledger", "show"]);
    let kinds: Vec<&str> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "EFFECT_DONE",
            "EFFECT_STARTED",
            "KEY_ROTATED",
            "KEY_ROTATED",
            "EFFECT_DONE",
            "EFFECT_STARTED",
            "LOG_STARTED"
        ]
    );
    assert_eq!(actum(&root, &["ledger", "verify", "--receipts"]).code, 0);
}

/// AEC-11
#[test]
fn ledger_prove_proves_that_a_run_is_recorded() {
    let (_directory, root) = recorded();
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let proof = document(&root, &["ledger", "prove"]);
    let note = proof["checkpoint"].as_str().unwrap();
    let keyring = fs::read(home_of(&root).join("keys/keyring.json")).unwrap();
    let signed = verify_checkpoint(note.as_bytes(), &Keyring::read(&keyring).unwrap()).unwrap();
    let digest = |value: &Value| value.as_str().unwrap().parse::<Digest>().unwrap();
    let hashes: Vec<Digest> = proof["hashes"].as_array().unwrap().iter().map(digest).collect();
    let (index, size) = (proof["index"].as_u64().unwrap(), proof["size"].as_u64().unwrap());
    assert_eq!((index, size), (4, 5));
    let leaf = digest(&proof["leaf"]);
    check_inclusion(&leaf, index, size, &hashes, &signed.checkpoint.root).unwrap();
    assert_eq!(proof["origin"], signed.checkpoint.origin);
    assert_eq!(document(&root, &["ledger", "prove", "--entry", "5"])["reason"], "UNKNOWN_ENTRY");
    let vkey = document(&root, &["key", "export", "--vkey"]);
    let vkey = NoteKey::read(vkey["vkey"].as_str().unwrap().trim()).unwrap();
    assert_eq!(vkey.name, signed.checkpoint.origin);
    assert!(note.contains(&format!("\n\u{2014} {} ", vkey.name)));
}

/// AEC-11
#[test]
fn ledger_is_verified_in_place_and_as_an_exported_file() {
    let (directory, root) = recorded();
    let here = document(&root, &["ledger", "verify", "--receipts"]);
    let expected = json!({
        "format": "actum.audit/1",
        "sound": true,
        "origin": document(&root, &["ledger", "show"])["origin"],
        "entries": 3,
        "root": document(&root, &["ledger", "checkpoint"])["root"],
        "runs": 1,
        "open_runs": 0,
        "documents": here["documents"],
        "checkpoints": 1,
        "covered": 3,
        "steps_back": 0,
        "receipts": 1,
        "findings": [],
        "findings_left_out": 0,
        "keyring": { "file": home_of(&root).join("keys/keyring.json"), "source": "home" },
    });
    assert_eq!(here, expected);
    let written = document(&root, &["ledger", "export", "-o", "../ledger.jsonl"]);
    assert_eq!(
        written,
        json!({
            "format": "actum.export/1",
            "file": "../ledger.jsonl",
            "entries": 3,
            "documents": here["documents"],
            "checkpoints": 1,
        })
    );
    let export = fs::read_to_string(directory.path().join("ledger.jsonl")).unwrap();
    assert_eq!(actum(&root, &["ledger", "export"]).stdout, export);
    let verify = ["ledger", "verify", "ledger.jsonl", "--keyring", "keyring.json"];
    let there = elsewhere(directory.path(), &verify);
    let mut expected = expected;
    expected["receipts"] = json!(0);
    expected["keyring"] = json!({ "file": "keyring.json", "source": "argument" });
    assert_eq!(there, expected);

    let changed = export.replace("apply change.diff", "apply chance.diff");
    assert_ne!(changed, export);
    fs::write(directory.path().join("ledger.jsonl"), changed).unwrap();
    let mut command = command(directory.path(), &verify);
    let ended =
        Ended::from(command.env_clear().env("XDG_CONFIG_HOME", "/nonexistent").output().unwrap());
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(ended.stdout.starts_with("wrong     the ledger "), "{ended:?}");
    assert_eq!(elsewhere(directory.path(), &verify)["sound"], false);
}

/// AEC-11: a receipt after the newest checkpoint is protected only by its own signature.
#[test]
fn forged_receipt_not_covered_by_a_checkpoint_is_detected() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(document(&root, &["ledger", "verify"])["receipts"], 1);
    let export = actum(&root, &["ledger", "export"]).stdout;
    let mut frontier = actum_record::merkle::Frontier::default();
    let mut lines: Vec<Value> =
        export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in lines.iter_mut().filter(|line| line.get("entry").is_some()) {
        let mut text = line["text"].as_str().unwrap().to_owned();
        if line["kind"] == "EFFECT_DONE" {
            let mut receipt: Value = serde_json::from_str(&text).unwrap();
            let signature = receipt["signatures"][0]["sig"].as_str().unwrap();
            let first = if signature.starts_with('A') { "B" } else { "A" };
            receipt["signatures"][0]["sig"] = json!([first, &signature[1..]].concat());
            text = serde_json::to_string(&receipt).unwrap();
            line["text"] = json!(text);
        }
        frontier.push(actum_record::merkle::leaf_hash(text.as_bytes()), |_: Digest| {});
    }
    // A forger would remove the entries that contradict the forgery.
    lines.retain(|line| line.get("checkpoint").is_none());
    lines[0]["checkpoints"] = json!(0);
    lines[0]["root"] = json!(frontier.root().to_string());
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(directory.path().join("forged.jsonl"), lines.concat()).unwrap();
    let found = document(&root, &["ledger", "verify", "../forged.jsonl"]);
    assert_eq!((&found["sound"], &found["receipts"]), (&json!(false), &json!(0)), "{found}");
    assert_eq!(
        (&found["findings"][0]["which"], found["findings"].as_array().unwrap().len()),
        (&json!("2"), 1),
        "{found}"
    );
}

/// A file that a command does not accept is reported with its kind and the command that accepts it.
#[test]
fn files_given_to_the_wrong_verb_are_reported_by_kind() {
    let (directory, root) = recorded();
    assert_eq!(actum(&root, &["ledger", "export", "-o", "../ledger.jsonl"]).code, 0);
    let proof = actum(&root, &["--json", "ledger", "prove", "--entry", "2"]).stdout;
    fs::write(directory.path().join("proof.json"), proof).unwrap();
    let refused = |arguments: &[&str], reason: &str, hint: &str| {
        let ended = actum(&root, arguments);
        assert_eq!(ended.code, 1, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(hint), "{arguments:?}: {ended:?}");
        assert_eq!(document(&root, arguments)["reason"], reason, "{arguments:?}");
    };
    let other = "BUNDLE_OF_ANOTHER_FORMAT";
    refused(&["verify", "../keyring.json"], other, "it is a keyring");
    refused(&["verify", "../proof.json"], other, "it is a proof");
    refused(&["verify", "../ledger.jsonl"], other, "it is a whole ledger");
    let ledger = |file| ["ledger", "verify", file];
    refused(&ledger("../keyring.json"), "INPUT_UNRECOGNISED", "it is a keyring");
    refused(&ledger("../receipt.json"), "INPUT_UNRECOGNISED", "it is a receipt");
    refused(&ledger("../change.diff"), "INPUT_UNRECOGNISED", "`actum ledger export -o FILE`");
    let with = |file| ["verify", "../receipt.json", "--keyring", file];
    refused(&with("../receipt.json"), "KEYRING_INVALID", "it is a receipt");
    refused(&with("../none.json"), "INPUT_UNREADABLE", "nothing was changed");
    let shown = actum(&root, &["ledger", "show", "foo"]);
    assert!(shown.stderr.contains("expected the number of an entry"), "{shown:?}");
    let export = fs::read(directory.path().join("ledger.jsonl")).unwrap();
    fs::write(directory.path().join("cut.jsonl"), &export[..export.len() - 9]).unwrap();
    let found = document(&root, &ledger("../cut.jsonl"));
    assert_eq!(
        found["findings"],
        json!([{ "what": "log", "message": "the export was cut off after entry 2" }])
    );
}

/// An empty ledger is reported as missing, even if the keys do not match.
#[test]
fn ledger_is_reported_missing_before_the_first_run() {
    let (_directory, root) = workspace();
    crate::program::without_ledger(&root);
    assert_eq!(document(&root, &["ledger", "verify"])["reason"], "LEDGER_MISSING");
}

/// AEC-11: a process with write access to the disk can restore an older ledger, but a checkpoint stored on another system reveals
/// it.
#[test]
fn truncated_ledger_is_detected_by_a_saved_checkpoint() {
    let (directory, root) = recorded();
    let (home, older) = (home_of(&root), directory.path().join("older"));
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("/bin/cp").arg("-a").args([from, to]).status().unwrap();
        assert!(copied.success());
    };
    copy(&home, &older);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(actum(&root, &["ledger", "checkpoint", "-o", "../kept.txt"]).code, 0);
    let verify = ["ledger", "verify", "--checkpoint", "../kept.txt"];
    assert_eq!(document(&root, &verify)["findings"], json!([]));
    assert_eq!(actum(&root, &["redo"]).code, 0);
    assert_eq!(actum(&root, &verify).code, 0);
    fs::rename(&home, directory.path().join("newer")).unwrap();
    fs::rename(&older, &home).unwrap();
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
    let cut_off =
        "mismatch with the saved checkpoint: it covers 5 entries, but the last 2 are missing";
    let findings = json!([{ "what": "log", "message": cut_off }]);
    assert_eq!(document(&root, &verify)["findings"], findings);
    assert_eq!(actum(&root, &verify).code, 4);
    // The workspace of the latest run detects it too.
    let refused = actum(&root, &["redo"]);
    assert_eq!(refused.code, 4);
    assert!(refused.stderr.contains("no longer contains entry 6"), "{refused:?}");
    assert!(actum(&root, &["doctor"]).stdout.contains("no longer contains entry 6"));
    assert_eq!(document(&root, &["redo"])["reason"], "LEDGER_DAMAGED");
    // Different entries in their place are rejected as well.
    fs::remove_dir_all(root.join(".actum/recorded")).unwrap();
    for verb in ["redo", "undo"] {
        assert_ne!(actum(&root, &[verb]).code, 4);
    }
    let other = "mismatch with the saved checkpoint: the first 5 entries have changed";
    let findings = json!([{ "what": "log", "message": other }]);
    assert_eq!(document(&root, &verify)["findings"], findings);
}

/// FE-14, AEC-11: an entry that a process edits together with the log tree is not shown as signed.
#[test]
fn tampered_ledger_entry_is_not_shown_as_signed() {
    for entry in [1, 2] {
        for is_in_the_tree in [false, true] {
            let (_directory, root) = recorded();
            let path = home_of(&root).join("tenants/default/ledger.db");
            let ledger = rusqlite::Connection::open(path).unwrap();
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let sql = "SELECT body, nodes FROM entry WHERE seq = ?";
            let (body, mut nodes): (Vec<u8>, Vec<u8>) =
                ledger.query_row(sql, [entry], read).unwrap();
            let (old, new) = match entry {
                1 => ("\"label\":\"apply", "\"label\":\"APPLY"),
                _ => ("\"sig\":\"", "\"sig\":\"AAAA"),
            };
            let at = body.windows(old.len()).position(|it| it == old.as_bytes()).unwrap();
            let mut forged = body.clone();
            forged[at..at + new.len()].copy_from_slice(new.as_bytes());
            assert_ne!(forged, body);
            if is_in_the_tree {
                nodes[..32].copy_from_slice(leaf_hash(&forged).as_bytes());
            }
            ledger.execute_batch("DROP TRIGGER entry_update").unwrap();
            let sql = "UPDATE entry SET body = ?, nodes = ? WHERE seq = ?";
            ledger.execute(sql, (forged, nodes, entry)).unwrap();
            let trigger = "CREATE TRIGGER entry_update BEFORE UPDATE ON entry \
                           BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END";
            ledger.execute_batch(trigger).unwrap();
            drop(ledger);

            let shown = actum(&root, &["show"]);
            assert_eq!(shown.code, 4, "{shown:?}");
            assert!(
                shown.stdout.contains("the ledger's record of the run is not proven"),
                "{shown:?}"
            );
            let reporting_entry = if is_in_the_tree { 2 } else { entry };
            assert!(shown.stderr.contains(&format!("entry {reporting_entry}: ")), "{shown:?}");
            let log = actum(&root, &["log"]);
            assert!(log.code == 4 && log.stdout.contains("  wrong  "), "{log:?}");
            for arguments in [&["replay"][..], &["receipt"], &["receipt", "--no-proof"]] {
                let refused = document(&root, arguments);
                let is_about_another = arguments[0] == "receipt" && entry == 1;
                assert_eq!(refused["reason"] == "LEDGER_DAMAGED", !is_about_another, "{refused}");
            }
            let shown = document(&root, &["ledger", "show", &entry.to_string()]);
            assert_eq!(shown["recorded_leaf"].is_string(), !is_in_the_tree);
            assert_eq!(actum(&root, &["ledger", "verify"]).code, 4);
        }
    }
}

/// AEC-11
#[test]
fn replay_reproduces_the_decision_about_a_run() {
    let (_directory, root) = recorded();
    let mut replayed = document(&root, &["replay"]);
    for gate in replayed["gates"].as_array_mut().unwrap() {
        // Compare only the recorded members.
        assert!(gate.as_object_mut().unwrap().remove("message").unwrap().is_string());
    }
    let started = document(&root, &["ledger", "show", "1"]);
    let decision = &started["body"]["decision"];
    assert_eq!(
        replayed,
        json!({
            "format": "actum.replay/1",
            "run": started["run"],
            "semantics": decision["semantics"],
            "bundle": decision["bundle"],
            "digest": decision["digest"],
            "policy": started["body"]["policy"],
            "tier": "R2",
            "gates": decision["gates"],
            "receipt": 2,
        })
    );
    assert_eq!(document(&root, &["replay", "0123456789ab"])["reason"], "RUN_NOT_RECORDED");
}

/// AEC-11
#[test]
fn ledger_show_prints_an_entry_with_its_signed_payload() {
    let (_directory, root) = recorded();
    let entry = document(&root, &["ledger", "show", "2"]);
    assert_eq!((&entry["kind"], &entry["index"]), (&json!("EFFECT_DONE"), &json!(2)));
    assert_eq!(entry["payload"]["predicate"]["run"], entry["run"]);
    assert_eq!(entry["body"]["payloadType"], "application/vnd.in-toto+json");
    assert_eq!(document(&root, &["ledger", "show", "3"])["reason"], "UNKNOWN_ENTRY");
    let lines = actum(&root, &["ledger", "show", "-n", "1"]).stdout;
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

/// Returns the JSON of a gate that allowed the change.
fn allowed(gate: &str, ground: &Value, message: &str) -> Value {
    json!({ "gate": gate, "verdict": "allow", "ground": ground, "message": message })
}
