//! Repairs of actions: a repair runs once after a failed check, and then the checks run again.

use serde_json::{Value, json};

use crate::envelopes::{self, RULES, act_under, allowing, checked_by};
use crate::program::{actum, text, workspace};
use crate::stage::{ALLOWED, Stage, manifest, plan, status};

/// Writes `a.txt`, which `verify.js` rejects unless it is a copy of `sub/b.txt`.
const WRITES: &str = "module.exports = async ({ context }) => { \
    require('fs').writeFileSync(context.workspace + '/a.txt', 'three\\n'); return { done: true }; };";
const COMPARES: &str = "module.exports = async ({ context }) => { \
    const read = (file) => require('fs').readFileSync(context.workspace + '/' + file, 'utf8'); \
    return { checks: [{ name: 'same_as_b', ok: read('a.txt') === read('sub/b.txt') }] }; };";
const FINDS_A_COPY: &str = "module.exports = async ({ context }) => { \
    const ok = require('fs').existsSync(context.workspace + '/b.txt'); \
    return { checks: [{ name: 'copied', ok }] }; };";
const HOLDS: &str = "module.exports = async () => ({ checks: [{ name: 'it_holds', ok: true }] });";
const RESTORES: &str = "module.exports = async ({ context }) => { const fs = require('fs'); \
    fs.writeFileSync(context.workspace + '/a.txt', fs.readFileSync(context.before + '/a.txt')); };";

const REPAIR: &str = "cp sub/b.txt a.txt";
const CHECK: &str = "grep -q 2 a.txt";

fn stage() -> Stage {
    let rules = RULES.strip_prefix("version = 1\n").unwrap();
    Stage::new(&format!("{rules}{ALLOWED}"))
}

/// Manifest of a package that is allowed to run the given checks and the given repair.
fn repaired_by(name: &str, repair: &str, checks: &[&str]) -> Value {
    let mut manifest = manifest(name, "R2");
    let commands: Vec<&str> = checks.iter().copied().chain([repair]).collect();
    manifest["permissions"]["commands"] = json!(commands);
    manifest["verification"]["commands"] = json!(checks);
    manifest["repair"] = json!(repair);
    manifest
}

fn names(result: &Value) -> Vec<&str> {
    let checks = result["verification"]["checks"].as_array().unwrap();
    checks.iter().map(|check| check["name"].as_str().unwrap()).collect()
}

/// AA-6, AA-8, AA-11: the repair runs once, and then all checks run again on its result.
#[test]
fn package_repair_runs_once_when_verify_js_or_a_command_fails() {
    let stage = stage();
    for (name, verify, checks) in
        [("verified_by_js", COMPARES, &[][..]), ("checked_by_command", HOLDS, &[CHECK])]
    {
        stage.package(name, &repaired_by(name, REPAIR, checks), [WRITES, verify, RESTORES]);
        assert_eq!(stage.activate(name).code, 0);
        let result = stage.act(&plan(name, json!({})));
        assert_eq!(status(&result), ("succeeded", None), "{name}: {result}");
        assert_eq!(result["repair"], json!({ "attempted": true, "ok": true }), "{name}");
        assert_eq!(result["verification"]["ok"], true, "{name}");
        let repair = &result["feedback"]["repair"];
        assert_eq!(repair["exitCode"], 0, "{name}: {result}");
        assert_eq!(text(&stage.root, "a.txt"), "2\n", "{name}");
        // Captured changes have no built-in check, because it would compare them with themselves.
        let own = if checks.is_empty() { "same_as_b" } else { "it_holds" };
        let expected: Vec<&str> = [own, "actum: rollback.js restores every changed file"]
            .into_iter()
            .chain(checks.iter().copied())
            .collect();
        assert_eq!(names(&result), expected, "{name}");
        assert_eq!(stage.actum(&["undo"]).code, 0);
        assert_eq!(text(&stage.root, "a.txt"), "1\n", "{name}");
    }
    assert_eq!(stage.actum(&["ledger", "verify"]).code, 0);
}

/// AA-4, AA-6, AA-11: the repair of a package is subject to the same rules as the package itself.
#[test]
fn failed_package_repair_leaves_no_changes() {
    let stage = stage();
    for (name, verify, repair, expected) in [
        ("hopeless", COMPARES, "cp a.txt b.txt", ("reverted", "VERIFICATION_FAILED")),
        ("fails", COMPARES, "cp missing a.txt", ("reverted", "VERIFICATION_FAILED")),
        // This repair leaves a copy that `rollback.js` does not remove.
        ("beside", FINDS_A_COPY, "cp -t . sub/b.txt", ("rejected", "ROLLBACK_UNPROVEN")),
        ("not_allowed", COMPARES, "touch b.txt", ("rejected", "CHANGE_DENIED")),
    ] {
        stage.package(name, &repaired_by(name, repair, &[]), [WRITES, verify, RESTORES]);
        assert_eq!(stage.activate(name).code, 0);
        let result = stage.act(&plan(name, json!({})));
        assert_eq!(status(&result), (expected.0, Some(expected.1)), "{name}: {result}");
        let is_tried = expected.1 != "CHANGE_DENIED";
        assert_eq!(result["repair"], json!({ "attempted": is_tried, "ok": false }), "{name}");
        assert_eq!(text(&stage.root, "a.txt"), "1\n", "{name}");
        assert!(!stage.root.join("b.txt").exists(), "{name}");
    }
}

/// AA-3, AA-6: the built-in check covers the requested change except for paths that the repair changed.
#[test]
fn built_in_check_skips_paths_changed_by_the_repair() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let input = json!({ "path": "a.txt", "content": "3\n", "repair": REPAIR });
    let of_one = checked_by(envelopes::plan("file_modify", input), &[CHECK]);
    let result = act_under(&root, &configuration, &of_one);
    assert_eq!((status(&result), names(&result)), (("succeeded", None), vec![CHECK]), "{result}");
    assert_eq!(text(&root, "a.txt"), "2\n");
    assert_eq!(actum(&root, &["undo"]).code, 0);

    let document = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+3\n\
                    --- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
    let input = json!({ "document": document, "repair": REPAIR });
    let of_both = checked_by(envelopes::plan("apply_changeset", input), &[CHECK]);
    let result = act_under(&root, &configuration, &of_both);
    assert_eq!(status(&result), ("succeeded", None), "{result}");
    assert_eq!(result["repair"]["ok"], true);
    assert_eq!(names(&result), ["actum: the staged change matches the request", CHECK]);
    assert_eq!(
        result["verification"]["checks"][0]["message"],
        "1 path matches; 1 not compared because the repair changed them"
    );
}

/// AA-3, AA-6: the changes of a command are captured rather than requested, so there is nothing to compare them with.
#[test]
fn a_command_has_no_built_in_check() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let copy = envelopes::plan("run_command", json!({ "command": "cp sub/b.txt copy" }));
    let result = act_under(&root, &configuration, &checked_by(copy, &["grep -q 2 copy"]));
    assert_eq!((status(&result), names(&result)), (("succeeded", None), vec!["grep -q 2 copy"]));
}
