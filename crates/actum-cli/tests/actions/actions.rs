//! `actum action run` from the point of view of an agent: a plan envelope in, a result envelope out.

use std::fs;
use std::path::Path;

use crate::envelopes::{act, ended, passphrase, plan, result_of, status, with};
use crate::program::{actum, text, workspace};
use serde_json::{Value, json};

/// AA-1, AA-2: the example from the specification is accepted byte for byte.
#[test]
fn contract_example_gets_a_result_in_the_contract_format() {
    let (_directory, root) = workspace();
    let plan = r#"{"actionId":"action:example","actionType":"diagnose_error","riskTier":"R1","confidence":0.9,
        "reason":"why this action is proposed","input":{},"rollbackPlan":null,
        "verification":{"required":true,"commands":[]},
        "scope":{"allowedFiles":[],"allowedDirs":[],"forbiddenFiles":[]}}"#;
    let outcome = ended(&root, None, plan, &[]);
    let result = result_of(&outcome);
    assert_eq!(status(&result), ("succeeded", None));
    assert_eq!(
        (&result["actionType"], &result["riskTier"]),
        (&json!("diagnose_error"), &json!("R1"))
    );
    let begin = r#"{"status":"succeeded","actionType":"diagnose_error","riskTier":"R1","output":{"#;
    assert!(outcome.stdout.starts_with(begin), "{}", outcome.stdout);
    let rest = r#""repair":{"attempted":false,"ok":false},"rollback":{"attempted":false,"ok":false},"feedback":{"#;
    assert!(outcome.stdout.contains(rest), "{}", outcome.stdout);
    let note = result["output"]["note"].as_str().unwrap();
    assert!(note.starts_with("nothing was checked"), "{note}");
}

/// AA-2, FO-7: common mistakes in diffs by agents are corrected if the intent is unambiguous.
#[test]
fn change_set_action_recounts_lines_and_accepts_absolute_paths() {
    let (_directory, root) = workspace();
    let file = root.canonicalize().unwrap().join("sub/b.txt");
    let document = |file: &str| format!("--- {file}\n+++ {file}\n@@ -1,7 +1,9 @@\n-2\n+two\n");
    let ask = |document: String, recount: bool| {
        act(&root, &plan("apply_changeset", json!({ "document": document, "recount": recount })))
    };
    let uncounted = ask(document("sub/b.txt"), false);
    assert_eq!(status(&uncounted), ("rejected", Some("INPUT_MALFORMED")), "{uncounted}");
    let outside = ask(document("/etc/hostname"), true);
    assert_eq!(status(&outside), ("rejected", Some("PATH_REFUSED")), "{outside}");
    let done = ask(document(file.to_str().unwrap()), true);
    assert_eq!(status(&done), ("succeeded", None), "{done}");
    assert_eq!(text(&root, "sub/b.txt"), "two\n");
}

/// AA-2, AA-6
#[test]
fn each_core_action_works_and_can_be_undone() {
    let (_directory, root) = workspace();
    let sha = actum_core::Digest::of(b"1\n").to_string();
    let done = |plan: Value| {
        let result = act(&root, &plan);
        assert_eq!(status(&result), ("succeeded", None), "{result}");
        assert!(result["verification"]["ok"].as_bool().unwrap(), "{result}");
        result["feedback"]["run"].as_str().unwrap().to_owned()
    };
    done(plan(
        "file_create",
        json!({ "path": "n/new.sh", "content": "#!/bin/sh\n", "executable": true }),
    ));
    assert_eq!(text(&root, "n/new.sh"), "#!/bin/sh\n");
    done(plan("file_create", json!({ "path": "bytes", "contentBase64": "AP8=" })));
    assert_eq!(fs::read(root.join("bytes")).unwrap(), [0, 255]);
    done(plan(
        "file_modify",
        json!({ "path": "a.txt", "content": "one\n", "expectedSha256": sha }),
    ));
    let edits = json!([{ "find": "one", "replace": "two two" }, { "find": "two", "replace": "2", "all": true }]);
    done(plan("file_modify", json!({ "path": "a.txt", "edits": edits })));
    assert_eq!(text(&root, "a.txt"), "2 2\n");
    done(plan("file_copy", json!({ "from": "a.txt", "to": "c.txt" })));
    done(plan("file_rename", json!({ "from": "c.txt", "to": "d/c.txt" })));
    assert_eq!(text(&root, "d/c.txt"), "2 2\n");
    done(plan("file_delete", json!({ "path": "d/c.txt" })));
    assert!(!root.join("d").exists());
    let document = "--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-2\n+two\n";
    let run = done(plan("apply_changeset", json!({ "document": document })));
    assert_eq!(text(&root, "sub/b.txt"), "two\n");
    done(plan("undo_run", json!({ "run": run })));
    assert_eq!(text(&root, "sub/b.txt"), "2\n");
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AA-1, AA-5: a plan that declares no tier is treated as the highest tier.
#[test]
fn plan_without_a_tier_needs_approval() {
    let (_directory, root) = workspace();
    let mut without_tier = plan("file_create", json!({ "path": "x", "content": "x" }));
    without_tier.as_object_mut().unwrap().remove("riskTier");
    let result = act(&root, &without_tier);
    assert_eq!(status(&result), ("queued", Some("NEEDS_APPROVAL")));
    assert_eq!(result["riskTier"], "R4");
    assert!(!root.join("x").exists());
    let queue = actum(&root, &["queue"]);
    let plan = result["feedback"]["plan"].as_str().unwrap();
    assert!(queue.stdout.contains(plan), "{queue:?}");
}

/// AA-1, AA-2, AA-13: an invalid envelope that names a known action gets a result, whatever else is wrong with it.
#[test]
fn a_malformed_envelope_that_names_its_action_is_rejected_and_recorded() {
    let (_directory, root) = workspace();
    let create = || plan("file_create", json!({ "path": "x", "content": "x" }));
    let mut unverified = create();
    unverified.as_object_mut().unwrap().remove("verification");
    let doubled = format!("{{\"reason\":\"\",{}", create().to_string().strip_prefix('{').unwrap());
    for (malformed, tier, mistake) in [
        (with(create(), "riskTier", json!("R9")).to_string(), "R4", "`riskTier`: "),
        (with(create(), "input", json!([])).to_string(), "R2", "`input`: expected "),
        (with(create(), "later", json!(1)).to_string(), "R2", "`later`: "),
        (unverified.to_string(), "R2", "`verification`: missing field"),
        (doubled, "R2", "`reason`: duplicate field"),
    ] {
        let result = result_of(&ended(&root, None, &malformed, &[]));
        assert_eq!(status(&result), ("rejected", Some("PLAN_ENVELOPE_INVALID")), "{result}");
        assert_eq!(
            (&result["actionType"], &result["riskTier"]),
            (&json!("file_create"), &json!(tier))
        );
        let feedback = &result["feedback"];
        let message = feedback["message"].as_str().unwrap();
        assert!(
            message.starts_with("the plan envelope cannot be used: line 1, column "),
            "{message}"
        );
        assert!(message.contains(mistake), "{mistake}: {message}");
        assert!(message.ends_with("; nothing was changed"), "{message}");
        assert!(feedback["hints"][0].as_str().unwrap().contains("actum action schema plan"));
        let recorded = actum(&root, &["feedback", "--json", "--limit", "1"]);
        let recorded: Value = serde_json::from_str(&recorded.stdout).unwrap();
        let recorded = &recorded["actions"][0];
        assert_eq!((&recorded["id"], &recorded["entry"]), (&feedback["id"], &feedback["entry"]));
        assert_eq!(recorded["ground"], "PLAN_ENVELOPE_INVALID");
        assert_eq!(recorded["message"], feedback["message"]);
    }
    assert!(!root.join("x").exists());
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AA-2, EX-20: an error does not quote its line, which may contain a credential.
#[test]
fn a_rejected_envelope_quotes_no_credential() {
    let (_directory, root) = workspace();
    let secret = format!("AKIA{}", "Q3EGRIYOPQ5XM2ZT");
    let plan = format!("{{\"actionType\":\"file_create\",\n\"riskTier\":\"{secret}\"}}");
    let outcome = ended(&root, None, &plan, &[]);
    let result = result_of(&outcome);
    assert_eq!(
        result["feedback"]["message"],
        "line 2, column 12: it is not a valid plan envelope; its content is not shown because this line seems to \
         contain a credential; nothing was changed"
    );
    let recorded = actum(&root, &["feedback", "--json"]);
    assert!(![outcome.stdout, outcome.stderr, recorded.stdout].concat().contains(&secret));
}

/// AA-3
#[test]
fn r2_write_needs_verification_and_a_rollback_plan() {
    let (_directory, root) = workspace();
    let create = plan("file_create", json!({ "path": "x", "content": "x" }));
    for (member, value, reason) in [
        ("verification", json!({ "required": false, "commands": ["true"] }), "VERIFICATION_NEEDED"),
        ("rollbackPlan", Value::Null, "ROLLBACK_PLAN_NEEDED"),
        ("rollbackPlan", json!({}), "ROLLBACK_PLAN_NEEDED"),
        ("rollbackPlan", json!(" \n"), "ROLLBACK_PLAN_NEEDED"),
    ] {
        let result = act(&root, &with(create.clone(), member, value));
        assert_eq!(status(&result), ("rejected", Some(reason)));
    }
    // A command has no built-in check that could verify it.
    let result = act(&root, &plan("run_command", json!({ "command": "true" })));
    assert_eq!(status(&result), ("rejected", Some("VERIFICATION_NEEDED")));
    // Declaring a tier that is too low has no effect.
    let result =
        act(&root, &with(with(create, "riskTier", json!("R0")), "rollbackPlan", Value::Null));
    assert_eq!(status(&result), ("rejected", Some("ROLLBACK_PLAN_NEEDED")));
    assert!(!root.join("x").exists());
}

/// AA-4: the scope applies to the changes that the action actually makes.
#[test]
fn scope_limits_the_actual_changes_of_an_action() {
    let (_directory, root) = workspace();
    let create = |path: &str| plan("file_create", json!({ "path": path, "content": "x" }));
    let scope = |files: &[&str], dirs: &[&str], forbidden: &[&str]| json!({ "allowedFiles": files, "allowedDirs": dirs, "forbiddenFiles": forbidden });
    let tried = |path: &str, scope: Value| {
        let result = act(&root, &with(create(path), "scope", scope));
        (result["status"].as_str().unwrap().to_owned(), result["feedback"]["reason"].clone())
    };
    let outside = ("rejected".to_owned(), json!("OUTSIDE_SCOPE"));
    let unusable = ("rejected".to_owned(), json!("SCOPE_UNUSABLE"));
    let done = ("succeeded".to_owned(), Value::Null);
    // An empty allow list allows nothing.
    let mut bare = create("x");
    bare.as_object_mut().unwrap().remove("scope");
    assert_eq!(status(&act(&root, &bare)), ("rejected", Some("OUTSIDE_SCOPE")));
    assert_eq!(tried("x", scope(&[], &[], &[])), outside);
    assert_eq!(tried("x", scope(&["y"], &["src"], &[])), outside);
    // Allowing a file does not allow creating a directory at that path.
    assert_eq!(tried("dir/x", scope(&["dir"], &[], &[])), outside);
    assert_eq!(tried("dir", scope(&[], &["dir"], &[])), outside);
    // A forbidden path and everything below it is rejected even inside an allowed directory.
    assert_eq!(tried("dir/x", scope(&[], &["dir"], &["dir/x"])), outside);
    assert_eq!(tried("dir/x/y", scope(&[], &["dir"], &["dir/x"])), outside);
    assert_eq!(tried("dir/x", scope(&["dir/x"], &[], &["dir/x"])), outside);
    for odd in ["../x", "/x", "./x", "a//b", "a/../b"] {
        assert_eq!(tried("x", scope(&[odd], &["."], &[])), unusable, "{odd}");
        assert_eq!(tried("x", scope(&[], &["."], &[odd])), unusable, "{odd}");
    }
    assert_eq!(tried("dir/x", scope(&[], &["dir/"], &["dir/y"])), done);
    assert_eq!(tried("x*y", scope(&["x*y"], &[], &[])), done);
    assert_eq!(tried("xzy", scope(&["x*y"], &[], &[])), outside);
    assert_eq!(tried("dir/y", scope(&[], &["dir/"], &["dir/y"])), outside);
    assert!(!root.join("x").exists() && !root.join("dir/y").exists());
}

/// AA-5: an approved change is applied exactly as approved, and produces a result.
#[test]
fn r4_change_is_made_as_approved_and_returns_a_result() {
    let (directory, root) = workspace();
    let passphrase = passphrase(directory.path());
    let file = passphrase.to_str().unwrap();
    assert_eq!(actum(&root, &["key", "make", "approval", "--passphrase-file", file]).code, 0);
    let mut create = plan("file_create", json!({ "path": "x", "content": "x" }));
    create.as_object_mut().unwrap().remove("riskTier");
    let queued = act(&root, &create);
    let id = queued["feedback"]["plan"].as_str().unwrap();
    let approved = actum(&root, &["approve", id, "--passphrase-file", file]);
    let result = result_of(&approved);
    assert_eq!(status(&result), ("succeeded", None), "{approved:?}");
    assert_eq!(
        (&result["riskTier"], &result["feedback"]["approvedAs"]),
        (&json!("R4"), &json!(id))
    );
    assert_eq!(text(&root, "x"), "x");
}

/// AA-1, AA-2, D-4: no result is written if the action cannot be determined.
#[test]
fn envelope_without_a_readable_action_gets_an_error_and_no_result() {
    let (_directory, root) = workspace();
    for (plan, needle) in [
        ("", "line 1"),
        ("{}", "actionType"),
        (r#"{"actionType":"diagnose_error""#, "unexpected end of the text"),
        (r#"{"actionType":"a","actionType":"b"}"#, "duplicate field"),
        (r#"{"actionType":7,"input":{},"verification":{"required":true}}"#, "actionType"),
        (r#"{"actionType":"File","input":{},"verification":{"required":true}}"#, "actionType"),
    ] {
        let outcome = ended(&root, None, plan, &[]);
        assert_eq!((outcome.code, &*outcome.stdout), (1, ""), "{outcome:?}");
        for needle in [needle, "nothing was changed", "help: `actum explain PLAN_ENVELOPE_INVALID`"]
        {
            assert!(outcome.stderr.contains(needle), "{needle}: {outcome:?}");
        }
    }
}

/// AA-1
#[test]
fn unknown_actions_and_invalid_inputs_are_rejected_with_a_reason() {
    let (_directory, root) = workspace();
    let result = act(&root, &plan("make_coffee", json!({})));
    assert_eq!(status(&result), ("rejected", Some("UNKNOWN_ACTION")));
    for (action, input, needle) in [
        ("file_create", json!({ "path": "x", "contents": "x" }), "contents"),
        ("file_create", json!({}), "path"),
        ("file_create", json!({ "path": 7 }), "path"),
        ("file_modify", json!({ "path": "a.txt" }), "content"),
        ("file_modify", json!({ "path": "a.txt", "content": "x", "edits": [] }), "edits"),
        ("run_command", json!({ "command": "true", "argv": ["true"] }), "argv"),
        ("undo_run", json!({ "run": "no such run" }), "run"),
    ] {
        let result = act(&root, &plan(action, input));
        assert_eq!(status(&result), ("rejected", Some("ACTION_INPUT_INVALID")), "{result}");
        let message = result["feedback"]["message"].as_str().unwrap();
        assert!(message.contains(needle) && message.ends_with("nothing was changed"), "{message}");
    }
    let result = act(&root, &plan("file_create", json!({ "path": "../x", "content": "x" })));
    assert_eq!(status(&result), ("rejected", Some("PATH_REFUSED")));
    for (action, input, reason) in [
        ("file_create", json!({ "path": "a.txt", "content": "x" }), "PATH_EXISTS"),
        ("file_delete", json!({ "path": "nothing" }), "FILE_MISSING"),
        (
            "file_modify",
            json!({ "path": "a.txt", "edits": [{ "find": "9", "replace": "8" }] }),
            "EDIT_HAS_NO_PLACE",
        ),
    ] {
        let result = act(&root, &plan(action, input));
        assert_eq!(status(&result), ("reverted", Some(reason)), "{result}");
    }
}

/// AEC-7, AA-6
#[test]
fn request_key_runs_an_action_only_once() {
    let (_directory, root) = workspace();
    let create = plan("file_create", json!({ "path": "x", "content": "x" })).to_string();
    let first = result_of(&ended(&root, None, &create, &["--request-key", "k"]));
    let again = result_of(&ended(&root, None, &create, &["--request-key", "k"]));
    assert_eq!(status(&again), ("succeeded", None));
    assert_eq!(first["feedback"]["run"], again["feedback"]["run"]);
    assert_eq!(again["feedback"]["doneBefore"], true);
}

/// AA-3: the result of an undo is compared with the content that the receipt records.
#[test]
fn undo_action_can_be_undone() {
    let (_directory, root) = workspace();
    let rename = act(&root, &plan("file_rename", json!({ "from": "a.txt", "to": "n/a.txt" })));
    assert_eq!(status(&rename), ("succeeded", None));
    let undo = act(&root, &plan("undo_run", json!({ "run": rename["feedback"]["run"] })));
    assert_eq!(status(&undo), ("succeeded", None), "{undo}");
    assert_eq!(text(&root, "a.txt"), "1\n");
    let again = act(&root, &plan("undo_run", json!({ "run": undo["feedback"]["run"] })));
    assert_eq!(status(&again), ("succeeded", None), "{again}");
    assert_eq!(text(&root, "n/a.txt"), "1\n");
    let check = &again["verification"]["checks"][0];
    assert_eq!((&check["ok"], &check["message"]), (&json!(true), &json!("2 paths match")));
}

/// AA-12
#[test]
fn the_schemas_of_the_contract_are_printed() {
    let (_directory, root) = workspace();
    for (name, file) in
        [("plan", "action-plan"), ("result", "action-result"), ("package", "action-package")]
    {
        let printed = actum(&root, &["action", "schema", name]);
        let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        assert_eq!(printed.stdout, text(&schemas, format!("{file}.schema.json")));
    }
}
