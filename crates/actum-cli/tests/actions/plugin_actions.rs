//! `actum action run` with actions from plugin packages, which run only if the operator activated them.

use std::fs;

use crate::program::text;
use crate::stage::{ALLOWED, Stage, manifest, plan, status};
use serde_json::{Value, json};

const WRITES: &str = "module.exports = async ({ context }) => { \
    require('fs').writeFileSync(context.workspace + '/a.txt', 'two\\n'); return { done: true }; };";
const HOLDS: &str = "module.exports = async () => ({ checks: [{ name: 'it_holds', ok: true }] });";
const RESTORES: &str = "module.exports = async ({ context }) => { const fs = require('fs'); \
    fs.writeFileSync(context.workspace + '/a.txt', fs.readFileSync(context.before + '/a.txt')); };";

/// AA-8, AA-11
#[test]
fn shipped_package_works_and_can_be_undone() {
    let stage = Stage::new(ALLOWED);
    stage.shipped("bump_version");
    fs::write(stage.root.join("package.json"), "{\n  \"version\": \"1.2.3\"\n}\n").unwrap();
    let activated = stage.activate("bump_version");
    assert_eq!(activated.code, 0, "{activated:?}");
    let result = stage.act(&plan("bump_version", json!({ "part": "minor" })));
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    assert_eq!(
        (&result["output"]["from"], &result["output"]["to"]),
        (&json!("1.2.3"), &json!("1.3.0"))
    );
    assert!(text(&stage.root, "package.json").contains("1.3.0"));
    let checks = result["verification"]["checks"].as_array().unwrap();
    assert!(checks.iter().all(|check| check["ok"] == true));
    let restores =
        |check: &&Value| check["name"].as_str().unwrap().contains("rollback.js restores");
    assert!(
        checks.iter().find(restores).unwrap()["message"]
            .as_str()
            .unwrap()
            .starts_with("1 path restored to digest ")
    );
    assert_eq!(stage.actum(&["undo"]).code, 0);
    assert!(text(&stage.root, "package.json").contains("1.2.3"));
    assert_eq!(stage.actum(&["ledger", "verify"]).code, 0);
}

/// AA-9
#[test]
fn package_code_runs_only_if_allowed_and_unchanged_since_activation() {
    let stage = Stage::new("");
    stage.package("write_two", &manifest("write_two", "R2"), [WRITES, HOLDS, RESTORES]);
    let two = plan("write_two", json!({}));
    assert_eq!(
        status(&stage.act(&two)),
        ("rejected", Some("UNKNOWN_ACTION")),
        "nobody made it active"
    );
    assert_eq!(stage.activate("write_two").code, 0);
    assert_eq!(status(&stage.act(&two)), ("rejected", Some("PLUGIN_CODE_NOT_ALLOWED")));
    // The workspace configuration sets it too, which has no effect.
    fs::write(stage.root.join("actum.toml"), format!("version = 1\n{ALLOWED}")).unwrap();
    assert_eq!(status(&stage.act(&two)), ("rejected", Some("POLICY_UNUSABLE")));
    fs::remove_file(stage.root.join("actum.toml")).unwrap();

    fs::write(stage.configuration().join("actum/actum.toml"), format!("version = 1\n{ALLOWED}"))
        .unwrap();
    let execute = stage.root.join("actions/write_two/execute.js");
    fs::write(&execute, format!("{WRITES}\n// more")).unwrap();
    assert_eq!(status(&stage.act(&two)), ("rejected", Some("PLUGIN_CHANGED")));
    fs::write(&execute, WRITES).unwrap();
    assert_eq!(status(&stage.act(&two)), ("succeeded", None));
    assert_eq!(text(&stage.root, "a.txt"), "two\n");
    let passphrase = stage.passphrase();
    let retired =
        ["catalog", "retire", "write_two", "--passphrase-file", passphrase.to_str().unwrap()];
    assert_eq!(stage.actum(&retired).code, 0);
    assert_eq!(status(&stage.act(&two)), ("rejected", Some("ACTION_NOT_ACTIVE")));
}

/// AA-4, AA-7, AA-10, AA-11: whichever step fails, none of the package's changes is kept.
#[test]
fn package_that_fails_or_breaks_its_rules_leaves_no_changes() {
    let stage = Stage::new(ALLOWED);
    let throws = "module.exports = async () => { throw new Error('no luck'); };";
    let denies = "module.exports = async () => ({ checks: [{ name: 'it_holds', ok: false }] });";
    let returns_no_checks = "module.exports = async () => ({ checks: [] });";
    let restores_not = "module.exports = async () => {};";
    let links = "module.exports = async ({ context }) => { \
        require('fs').symlinkSync('/etc/passwd', context.workspace + '/link'); return {}; };";
    let too_much = "module.exports = async ({ context }) => { \
        require('fs').writeFileSync(context.workspace + '/a.txt', 'two\\n'); return { n: 1e300 }; };";
    let lists = "module.exports = async () => [1];";
    for (name, steps, expected) in [
        ("throws", [throws, HOLDS, RESTORES], ("reverted", "PLUGIN_FAILED")),
        ("links", [links, HOLDS, RESTORES], ("reverted", "EFFECT_NOT_KEPT")),
        ("lists", [lists, HOLDS, RESTORES], ("reverted", "PLUGIN_FAILED")),
        ("tells_too_much", [too_much, HOLDS, RESTORES], ("reverted", "PLUGIN_FAILED")),
        ("verify_throws", [WRITES, throws, RESTORES], ("reverted", "PLUGIN_FAILED")),
        ("verify_denies", [WRITES, denies, RESTORES], ("reverted", "VERIFICATION_FAILED")),
        ("verify_lies", [WRITES, returns_no_checks, RESTORES], ("reverted", "PLUGIN_FAILED")),
        ("rollback_throws", [WRITES, HOLDS, throws], ("rejected", "ROLLBACK_UNPROVEN")),
        ("rollback_not", [WRITES, HOLDS, restores_not], ("rejected", "ROLLBACK_UNPROVEN")),
    ] {
        stage.package(name, &manifest(name, "R2"), steps);
        let activated = stage.activate(name);
        assert_eq!(activated.code, 0, "{activated:?}");
        let result = stage.act(&plan(name, json!({})));
        assert_eq!(status(&result), (expected.0, Some(expected.1)), "{name}: {result}");
        assert_eq!(text(&stage.root, "a.txt"), "1\n", "{name}");
        assert!(!stage.root.join("link").exists());
    }
    stage.package("write_two", &manifest("write_two", "R2"), [WRITES, HOLDS, RESTORES]);
    assert_eq!(stage.activate("write_two").code, 0);
    let mut narrow = plan("write_two", json!({}));
    narrow["scope"] =
        json!({ "allowedFiles": ["b.txt"], "allowedDirs": ["."], "forbiddenFiles": ["a.txt"] });
    let result = stage.act(&narrow);
    assert_eq!(status(&result), ("rejected", Some("OUTSIDE_SCOPE")), "{result}");
    assert!(result["feedback"]["message"].as_str().unwrap().contains("`a.txt`"));
    let mut without = plan("write_two", json!({}));
    without["rollbackPlan"] = Value::Null;
    assert_eq!(status(&stage.act(&without)), ("rejected", Some("ROLLBACK_PLAN_NEEDED")));
    let mut unasked = plan("write_two", json!({}));
    unasked["verification"]["commands"] = json!(["true"]);
    assert_eq!(status(&stage.act(&unasked)), ("rejected", Some("COMMAND_UNUSABLE")));
    assert_eq!(text(&stage.root, "a.txt"), "1\n");
}

/// AA-5, AA-9: a package of tier R3 does not run before it is approved.
#[test]
fn r3_package_does_not_run_before_approval() {
    let stage = Stage::new(ALLOWED);
    stage.package("write_two", &manifest("write_two", "R3"), [WRITES, HOLDS, RESTORES]);
    assert_eq!(stage.activate("write_two").code, 0);
    let result = stage.act(&plan("write_two", json!({})));
    assert_eq!(status(&result), ("queued", Some("NEEDS_APPROVAL")), "{result}");
    assert_eq!((&result["output"], &result["riskTier"]), (&json!({}), &json!("R3")));
    let id = result["feedback"]["plan"].as_str().unwrap();
    let passphrase = stage.passphrase();
    let approved = stage.actum(&["approve", id, "--passphrase-file", passphrase.to_str().unwrap()]);
    let result: Value = serde_json::from_str(&approved.stdout).unwrap();
    assert_eq!(status(&result), ("succeeded", None), "{approved:?}");
    assert_eq!(text(&stage.root, "a.txt"), "two\n");
    assert_eq!(stage.actum(&["ledger", "verify"]).code, 0);
}
