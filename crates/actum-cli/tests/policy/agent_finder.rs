//! Finder of `actum agent find`: learning tables, evidence, and the phrases of packages.

use std::fs;
use std::path::{Path, PathBuf};

use actum_core::Digest;
use actum_testkit::TestDir;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::agent_goal;
use crate::program::{Ended, actum, approval_key};

/// Utterance that matches `file_create` and `file_modify` equally.
const ALIKE: [&str; 3] = ["agent", "find", "write \"x\" to a.txt"];

/// Creates a workspace with an approval key, and returns its root and the path of the passphrase file.
fn workspace(directory: &TestDir) -> (PathBuf, String) {
    let root = directory.join("workspace");
    fs::create_dir(&root).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    let passphrase = approval_key(&root);
    (root, passphrase)
}

/// Completes one goal for `file_create` successfully.
fn succeed(root: &Path, passphrase: &str) {
    agent_goal::write(root);
    let dispatch = ["agent", "dispatch", "../goal.json"];
    assert_eq!(actum(root, &dispatch).code, 6, "it waits for an answer");
    let confirm = ["agent", "confirm", "goal", "ja", "--thread", "thread", "--language", "de"];
    let key = ["--passphrase-file", passphrase];
    assert_eq!(actum(root, &[&confirm[..], &key].concat()).code, 0);
    assert_eq!(actum(root, &dispatch).code, 0);
}

fn learn(root: &Path, passphrase: &str) -> Ended {
    let output = ["agent", "learn", "--json", "--output", "../learning.json"];
    actum(root, &[&output[..], &["--passphrase-file", passphrase]].concat())
}

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

fn packet(ended: &Ended) -> Value {
    assert_eq!(ended.code, 0, "{ended:?}");
    value(ended)["sim_finder_packet"].clone()
}

fn find_learned(root: &Path) -> Ended {
    actum(root, &[&ALIKE[..], &["--learning", "../learning.json"]].concat())
}

/// AEC-20
#[test]
fn signed_learning_table_breaks_a_tie() {
    let directory = TestDir::new();
    let (root, passphrase) = workspace(&directory);
    assert_eq!(value(&actum(&root, &["agent", "learn", "--json"]))["simulations"], json!([]));
    succeed(&root, &passphrase);

    assert_eq!(actum(&root, &["agent", "dispatch", "../goal.json"]).code, 0, "once more");

    let shown = value(&actum(&root, &["agent", "learn", "--json"]));
    let counted = json!([{ "simulation": "file_create", "succeeded": 1, "bonus": 50 }]);
    assert_eq!(shown["simulations"], counted);
    assert_eq!(shown["key"], Value::Null);
    let signed = learn(&root, &passphrase);
    assert_eq!(signed.code, 0, "{signed:?}");
    assert_eq!(value(&signed)["table"], shown["table"]);
    assert!(value(&signed)["key"].is_string());
    let again = learn(&root, &passphrase);
    assert_eq!((again.code, &value(&again)["reason"]), (1, &json!("OUTPUT_REFUSED")), "{again:?}");

    let question = actum(&root, &ALIKE);
    assert_eq!(packet(&question)["packet_type"], "ClarifyPacket");
    let asked = packet(&question)["question"].as_str().unwrap().to_owned();
    assert!(question.stderr.contains(&asked), "it is not hidden in the file: {question:?}");
    let packet = packet(&find_learned(&root));
    assert_eq!(packet["packet_type"], "SimulationMatchPacket", "{packet}");
    assert_eq!(packet["candidates"][0]["simulation_id"], "file_create");
    assert_eq!(packet["learning_table_ref"], shown["table"]);
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AEC-20
#[test]
fn invalid_learning_table_is_refused() {
    let directory = TestDir::new();
    let (root, passphrase) = workspace(&directory);
    succeed(&root, &passphrase);
    assert_eq!(learn(&root, &passphrase).code, 0);
    let file = root.with_file_name("learning.json");
    let signed: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let table = STANDARD.decode(signed["payload"].as_str().unwrap()).unwrap();
    let table: Value = serde_json::from_slice(&table).unwrap();
    let refused = |ended: &Ended, what: &str| {
        assert_eq!((ended.code, &*ended.stdout), (1, ""), "{ended:?}");
        let text = "cannot use the learning table in `../learning.json`";
        assert!(ended.stderr.contains(text), "{ended:?}");
        assert!(ended.stderr.contains(what), "{what}: {ended:?}");
        assert!(ended.stderr.contains("nothing was searched"), "{ended:?}");
        assert!(ended.stderr.contains("LEARNING_TABLE_INVALID"), "{ended:?}");
    };

    let other = [&ALIKE[..], &["--learning", "../learning.json", "--tenant", "other"]].concat();
    refused(
        &actum(&root, &other),
        "it belongs to the tenant `default`, but the goal belongs to `other`",
    );

    let payload = |value: &Value| {
        let payload = STANDARD.encode(value.to_string());
        let mut altered = signed.clone();
        altered["payload"] = Value::from(payload);
        altered
    };
    let mut raised = table.clone();
    raised["bonuses"]["file_delete"] = json!(50);
    let mut type_of_another = signed.clone();
    type_of_another["payloadType"] = json!("application/vnd.actum.confirmation-proof+json");
    let mut unsigned = signed.clone();
    unsigned["signatures"] = json!([]);
    let mut unknown = signed.clone();
    unknown["signatures"][0]["keyid"] = json!("0000000000000000");
    for (document, what) in [
        (payload(&raised), "one of them was changed"),
        (type_of_another, "one of them was changed"),
        (unsigned, "none of its signatures is by a key in the keyring"),
        (unknown, "none of its signatures is by a key in the keyring"),
        (table, "not a signed envelope"),
        (json!(" ".repeat(600_000)), "it is larger than 524288 bytes"),
    ] {
        fs::write(&file, document.to_string()).unwrap();
        refused(&find_learned(&root), what);
    }

    fs::write(&file, signed.to_string()).unwrap();
    assert_eq!(find_learned(&root).code, 0);
    let rotate = ["key", "rotate", "approval", "--passphrase-file", &passphrase];
    let old = ["--old-passphrase-file", &passphrase];
    let rotated = actum(&root, &[&rotate[..], &old].concat());
    assert_eq!(rotated.code, 0, "{rotated:?}");
    refused(&find_learned(&root), "which has been replaced");
    fs::remove_file(&file).unwrap();
    assert_eq!(learn(&root, &passphrase).code, 0);
    assert_eq!(find_learned(&root).code, 0, "signed by the new key");
}

/// AEC-1
#[test]
fn search_evidence_is_written_to_a_new_file() {
    let directory = TestDir::new();
    let (root, _) = workspace(&directory);
    let find = ["agent", "find", "delete a.txt", "--evidence", "../evidence.json"];
    let found = actum(&root, &find);
    let proof = packet(&found)["finder_proof_ref"].clone();
    let evidence = fs::read(root.with_file_name("evidence.json")).unwrap();
    assert_eq!(proof, Digest::of(&evidence).to_string());
    let evidence: Value = serde_json::from_slice(&evidence).unwrap();
    assert_eq!(evidence["format"], "actum.finder-evidence/1");
    assert_eq!(evidence["readings"][0]["simulation"], "file_delete");
    assert!(!evidence.to_string().contains("a.txt"), "it holds no values");

    let again = actum(&root, &find);
    assert_eq!((again.code, &*again.stdout), (1, ""), "{again:?}");
    assert!(again.stderr.contains("OUTPUT_REFUSED"), "{again:?}");
    let untouched = fs::read(root.with_file_name("evidence.json")).unwrap();
    assert_eq!(proof, Digest::of(&untouched).to_string());
}

/// AEC-2: the Finder uses the phrases that the operator registered, not those in the package files.
#[test]
fn package_phrases_are_those_registered_by_the_operator() {
    let directory = TestDir::new();
    let (root, passphrase) = workspace(&directory);
    let package = directory.join("tidy_lines");
    fs::create_dir(&package).unwrap();
    let write = |phrases: Value| {
        let manifest = json!({
            "name": "tidy_lines", "riskTier": "R2", "version": "1.0.0", "outputSchema": {},
            "inputSchema": {
                "type": "object", "required": ["file"],
                "properties": { "file": { "type": "string" } },
            },
            "permissions": { "commands": [], "filesystem": "workspace" },
            "verification": { "required": true, "commands": [] },
            "rollback": { "required": true }, "phrases": phrases,
        });
        fs::write(package.join("action.json"), manifest.to_string()).unwrap();
    };
    for name in ["execute", "verify", "rollback"] {
        fs::write(package.join(format!("{name}.js")), "module.exports = () => ({});\n").unwrap();
    }
    let activate = || {
        let adopt = ["catalog", "activate", "tidy_lines", "--package", "../tidy_lines"];
        actum(&root, &[&adopt[..], &["--passphrase-file", &passphrase]].concat())
    };
    let found = |utterance: &str| {
        let found = actum(&root, &["agent", "find", utterance, "--language", "en"]);
        let packet = packet(&found);
        packet["candidates"][0]["simulation_id"].as_str().map(str::to_owned)
    };

    write(json!({ "en": ["trim lines", "trim|cut lines"] }));
    let refused = activate();
    assert_eq!(refused.code, 1, "{refused:?}");
    let text = "its `en` phrase `trim|cut lines` can never match";
    assert!(refused.stderr.contains(text), "{refused:?}");
    assert!(refused.stderr.contains("PLUGIN_UNUSABLE"), "{refused:?}");
    let lint = actum(&root, &["catalog", "lint", "../tidy_lines"]);
    assert_eq!(lint.code, 4, "{lint:?}");
    assert!(lint.stdout.contains(text), "{lint:?}");

    write(json!({ "en": ["trim lines"] }));
    let adopted = activate();
    assert_eq!(adopted.code, 0, "{adopted:?}");
    assert!(adopted.stderr.contains("phrases\nen   trim lines"), "it is shown: {adopted:?}");
    assert_eq!(found("please trim the lines in a.txt").as_deref(), Some("tidy_lines"));
    let shown = value(&actum(&root, &["catalog", "show", "tidy_lines", "--json"]));
    assert_eq!(shown["actions"][0]["phrases"], json!({ "en": ["trim lines"] }));

    write(json!({ "en": ["delete"] }));
    assert_eq!(found("delete a.txt").as_deref(), Some("file_delete"));
    assert_eq!(found("trim lines in a.txt").as_deref(), Some("tidy_lines"));
    assert_eq!(activate().code, 0, "the operator signs the other phrases");
    let asked = actum(&root, &["agent", "find", "delete file a.txt", "--language", "en"]);
    assert_eq!(packet(&asked)["packet_type"], "ClarifyPacket", "both claim the phrase");
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}
