//! The catalog of actions, from the point of view of operators.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::program::{Ended, actum, home_of, workspace};
use actum_core::CORE_ACTIONS;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Creates a workspace and an approval key that is protected by a passphrase.
fn operated() -> (TempDir, PathBuf) {
    let (directory, root) = workspace();
    let file = directory.path().join("passphrase");
    fs::write(&file, "open sesame\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let made = actum(&root, &["key", "make", "approval", "--passphrase-file", "../passphrase"]);
    assert_eq!(made.code, 0, "{made:?}");
    (directory, root)
}

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

fn signed(root: &Path, arguments: &[&str]) -> Ended {
    actum(root, &[&["catalog"], arguments, &["--passphrase-file", "../passphrase"]].concat())
}

/// Returns the state of each action.
fn states(root: &Path) -> Vec<(String, String)> {
    let catalog = value(&actum(root, &["catalog", "list", "--json"]));
    let name_and_state = |action: &Value| {
        let text = |name: &str| action[name].as_str().unwrap().to_owned();
        (text("name"), text("state"))
    };
    catalog["actions"].as_array().unwrap().iter().map(name_and_state).collect()
}

/// AA-9, AA-13
#[test]
fn core_actions_are_listed_before_anything_is_recorded() {
    let (_directory, root) = workspace();
    crate::program::without_ledger(&root);
    let mut names = CORE_ACTIONS.to_vec();
    names.sort_unstable();
    let expected = names.iter().map(|name| ((*name).to_owned(), "ACTIVE".to_owned()));
    assert_eq!(states(&root), expected.collect::<Vec<_>>());
    let listed = actum(&root, &["catalog", "list"]);
    assert_eq!((listed.code, listed.stdout.lines().count()), (0, names.len()));
    let shown = actum(&root, &["catalog", "show", "file_modify"]);
    for part in ["state     ACTIVE", "tier      at least R2", "\"expectedSha256\": {"] {
        assert!(shown.stdout.contains(part), "{shown:?}");
    }
    let shown = value(&actum(&root, &["catalog", "show", "diagnose_error", "--json"]));
    let action = &shown["actions"][0];
    assert_eq!((&action["tier"], &action["writes"]), (&json!("R0"), &json!(false)));
    assert_eq!(action["input_schema"]["additionalProperties"], false);
    let linted = actum(&root, &["catalog", "lint"]);
    assert_eq!((linted.code, &*linted.stdout), (0, "sound  9 actions\n"));
    // Listing creates nothing.
    assert!(!home_of(&root).exists());
}

/// AA-13
#[test]
fn an_operator_retires_an_action_and_activates_it_again() {
    let (_directory, root) = operated();
    let all = value(&actum(&root, &["catalog", "list", "--json"]));
    let retired = signed(&root, &["retire", "run_command", "--reason", "not here", "--json"]);
    assert_eq!(retired.code, 0, "{retired:?}");
    assert_eq!(value(&retired)["actions"][0]["state"], "RETIRED");
    assert!(states(&root).contains(&("run_command".to_owned(), "RETIRED".to_owned())));
    assert_eq!(states(&root).iter().filter(|(_, state)| state == "ACTIVE").count(), 8);
    // The ledger records the signed change with the operator and the reason.
    let entry = value(&actum(&root, &["ledger", "show", "1", "--json"]));
    assert_eq!(entry["kind"], "CATALOG_CHANGED");
    assert_eq!(entry["payload"]["action"], "run_command");
    assert_eq!(entry["payload"]["reason"], "not here");
    assert_eq!(entry["payload"]["isolation"], "passphrase");
    assert_eq!(entry["payload"]["snapshot"], value(&retired)["digest"]);
    let verified = value(&actum(&root, &["ledger", "verify", "--json"]));
    assert_eq!((&verified["sound"], &verified["documents"]), (&json!(true), &json!(1)));
    let again = signed(&root, &["retire", "run_command"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("actum explain CATALOG_STEP_REFUSED"), "{again:?}");
    let active = signed(&root, &["activate", "run_command"]);
    assert_eq!(active.code, 0, "{active:?}");
    assert_eq!(value(&actum(&root, &["catalog", "list", "--json"])), all);
    let unknown = signed(&root, &["activate", "file_edit"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("actum explain UNKNOWN_ACTION"), "{unknown:?}");
}

/// AA-13: an agent cannot change the catalog, because it has neither the operator's terminal nor the passphrase.
#[test]
fn catalog_changes_need_a_terminal_or_the_passphrase() {
    let (directory, root) = operated();
    let ended = actum(&root, &["catalog", "retire", "run_command"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("actum explain PASSPHRASE_NEEDED"), "{ended:?}");
    fs::write(directory.path().join("passphrase"), "open barley\n").unwrap();
    let ended = signed(&root, &["retire", "run_command"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("actum explain PASSPHRASE_WRONG"), "{ended:?}");
    assert!(states(&root).iter().all(|(_, state)| state == "ACTIVE"));
    let (_directory, root) = workspace();
    let ended = actum(&root, &["catalog", "retire", "run_command"]);
    assert_eq!(ended.code, 1, "{ended:?}");
}

/// AA-13: a process that edits the ledger file cannot change the catalog unnoticed.
#[test]
fn tampered_catalog_changes_have_no_effect() {
    let (_directory, root) = operated();
    assert_eq!(signed(&root, &["retire", "run_command"]).code, 0);
    assert_eq!(signed(&root, &["activate", "run_command"]).code, 0);
    let database = home_of(&root).join("tenants/default/ledger.db");
    let foreign = rusqlite::Connection::open(&database).unwrap();
    // A copy of the older change placed after the newer one is validly signed but at the wrong position.
    let replay = "INSERT INTO entry SELECT 3, kind, time, run, workspace, request, attempt, status, \
                  CAST(substr(nodes, 1, 32) AS BLOB), body FROM entry WHERE seq = 1";
    foreign.execute_batch(replay).unwrap();
    drop(foreign);
    for arguments in
        [&["catalog", "list"][..], &["catalog", "show", "run_command"], &["catalog", "lint"]]
    {
        let ended = actum(&root, arguments);
        assert_eq!(ended.code, 4, "{ended:?}");
        assert!(ended.stderr.contains("actum explain CATALOG_UNPROVEN"), "{ended:?}");
        assert!(ended.stderr.contains("signed for another position"), "{ended:?}");
    }
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 4);
}

/// AA-8, AA-13
#[test]
fn catalog_lint_reports_package_problems() {
    let (directory, root) = workspace();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../actions/bump_version");
    let linted = actum(&root, &["catalog", "lint", shipped]);
    assert_eq!((linted.code, &*linted.stdout), (0, "sound  1 action\n"), "{linted:?}");
    let package = directory.path().join("careless");
    fs::create_dir(&package).unwrap();
    let manifest = json!({
        "name": "careless",
        "riskTier": "R1",
        "inputSchema": { "type": "thing" },
        "outputSchema": { "$ref": "https://example.com/schema" },
        "permissions": { "commands": [], "filesystem": "workspace" },
        "verification": { "required": true, "commands": [] },
        "rollback": { "required": true },
    });
    fs::write(package.join("action.json"), manifest.to_string()).unwrap();
    let linted = actum(&root, &["catalog", "lint", "../careless", "--json"]);
    assert_eq!(linted.code, 4, "{linted:?}");
    let findings = value(&linted)["findings"].clone();
    assert_eq!(findings.as_array().unwrap().len(), 3, "{findings}");
    fs::write(package.join("action.json"), "{}").unwrap();
    let linted = actum(&root, &["catalog", "lint", "../careless"]);
    assert_eq!(linted.code, 4);
    assert!(linted.stdout.contains("`action.json` cannot be used"), "{linted:?}");
    assert_eq!(actum(&root, &["catalog", "lint", "../nowhere"]).code, 1);
}
