//! Answers to operators' questions about a policy: whether it works as expected, why it decided, and what is wrong with
//! it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{Ended, actum, command, workspace};
use serde_json::{Value, json};

/// Creates a workspace with the given policy.
fn ruled(policy: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, root) = workspace();
    rule(&root, policy);
    (directory, root)
}

fn rule(root: &Path, policy: &str) {
    fs::write(root.join("actum.toml"), format!("version = 1\n{policy}")).unwrap();
}

fn json_of(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap()
}

fn explain(root: &Path, arguments: &[&str]) -> Ended {
    actum(root, &[&["policy", "explain"], arguments].concat())
}

/// Creates a file in a run, and returns the run id.
fn created(root: &Path, name: &str) -> String {
    let change = json!({ "files": [{ "path": name, "content": "text\n" }] });
    fs::write(root.join("../files.json"), change.to_string()).unwrap();
    let done = actum(root, &["apply", "--json", "../files.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    json_of(&done)["run"].as_str().unwrap().to_owned()
}

/// Returns the number of lines that a text fills on a terminal of 100 columns.
fn lines_on_a_terminal(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().max(1).div_ceil(100)).sum()
}

const MIGRATIONS: &str =
    "[[tier]]\ntier = \"R3\"\npaths = [\"db/\"]\nwhy = \"a migration cannot be run back\"\n";

/// D-5, AA-5: all cases are evaluated, and each failing one is reported with the decision and its reason.
#[test]
fn policy_test_reports_each_failing_case() {
    let (_directory, root) = ruled(MIGRATIONS);
    let cases = "[[case]]\nname = 'migrations ask'\nchange = ['created db/7.sql', 'modified a.txt']\n\
                 expect = 'ask'\ntier = 'R3'\ngate = 'tier'\n\
                 [[case]]\nname = 'notes are free'\nchange = ['modified db/notes.md']\nexpect = 'allow'\n\
                 [[case]]\nname = 'vendored'\nchange = ['modified vendor/a']\nexpect = 'deny'\ngate = 'scope'\n\
                 [[case]]\nname = 'secrets'\nchange = ['created .env']\nexpect = 'deny'\n";
    fs::write(root.join("actum.test.toml"), cases).unwrap();
    let tested = actum(&root, &["policy", "test"]);
    assert_eq!(
        tested.stdout,
        "line 7, `notes are free`: expected allow, found ask by `tier`, R3: `db/notes.md`: a migration \
         cannot be run back (this workspace's policy)\n\
         line 11, `vendored`: expected deny by `scope`, found allow, R2: every path is in scope\n\
         2 of 4 cases passed\n"
    );
    assert_eq!((tested.code, tested.stderr.as_str()), (4, ""));
    rule(&root, &MIGRATIONS.replace("\"db/\"", "'db/*.sql'"));
    fs::write(root.join("actum.test.toml"), cases.replace("'deny'\ngate = 'scope'", "'allow'"))
        .unwrap();
    let tested = actum(&root, &["policy", "test"]);
    assert_eq!((tested.code, tested.stdout.as_str()), (0, "4 of 4 cases passed\n"));
}

/// D-4
#[test]
fn policy_test_prints_a_json_document() {
    let (_directory, root) = ruled(MIGRATIONS);
    let case = "[[case]]\nname = 'n'\nchange = ['deleted db/1']\nexpect = 'deny'\ntier = 'R4'\n";
    fs::write(root.join("../my.toml"), case).unwrap();
    let tested = actum(&root.join("sub"), &["policy", "test", "--json", "../../my.toml"]);
    assert_eq!(tested.code, 4);
    let document = json_of(&tested);
    assert_eq!(document["format"], "actum.policy-test/1");
    let checked = json_of(&actum(&root, &["policy", "check", "--json"]));
    assert_eq!((&document["policy"], &document["held"]), (&checked["digest"], &json!(0)));
    let expected = json!([{
        "line": 1,
        "name": "n",
        "holds": false,
        "expected": { "verdict": "deny", "tier": "R4", "gate": null },
        "found": {
            "verdict": "needs_approval",
            "tier": "R3",
            "gate": "tier",
            "ground": {
                "kind": "tier",
                "tier": "R3",
                "reason": {
                    "kind": "policy",
                    "path": "db/1",
                    "why": "a migration cannot be run back",
                    "policy": "workspace"
                }
            },
            "message": "`db/1`: a migration cannot be run back (this workspace's policy)"
        }
    }]);
    assert_eq!(document["cases"], expected);
}

/// D-4: a test file without cases is rejected, and the error shows an example case.
#[test]
fn policy_test_without_cases_fails_with_an_example() {
    let (_directory, root) = workspace();
    let test = |arguments: &[&str]| actum(&root, &[&["policy", "test"], arguments].concat());
    let missing = test(&[]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.starts_with("error: cannot test the policy: the file `"), "{missing:?}");
    assert!(missing.stderr.contains("/actum.test.toml` with test cases"), "{missing:?}");
    let example = missing.stderr.split_once("create a file like this:\n").unwrap().1;
    let example = example.split_once("help: ").unwrap().0;
    fs::write(root.join("example.toml"), example).unwrap();
    let tried = test(&["example.toml"]);
    assert_eq!((tried.code, tried.stdout.lines().last()), (4, Some("0 of 1 cases passed")));
    assert_eq!(test(&["nowhere.toml"]).code, 1);
    for text in ["", "[[case]]\nname = 'n'\nexpect = 'ask'\nchange = ['mode a']\nteir = 'R3'\n"] {
        fs::write(root.join("actum.test.toml"), text).unwrap();
        let refused = test(&[]);
        assert_eq!(refused.code, 1, "{text}");
        assert!(refused.stderr.starts_with("error: cannot test the policy with `"), "{refused:?}");
        let document = json_of(&test(&["--json"]));
        let expected = (&json!("POLICY_TEST_UNUSABLE"), &json!("unchanged"));
        assert_eq!((&document["reason"], &document["workspace"]), expected);
    }
    assert!(
        test(&[]).stderr.contains(": line 5: unknown key `case.teir` (did you mean `tier`?); ")
    );
    // A policy that cannot be parsed cannot decide a case.
    fs::write(root.join("actum.test.toml"), example).unwrap();
    rule(&root, "[scpoe]\n");
    assert!(test(&[]).stderr.contains("cannot use this workspace's policy"));
}

/// AEC-11: a run's decision is explained with the policy that was in force when it was made.
#[test]
fn run_decision_is_explained_with_the_policy_in_force_then() {
    let (_directory, root) = workspace();
    let run = created(&root, "db/1.sql");
    let shown = actum(&root, &["replay", "--json"]);
    let policy = json_of(&shown)["policy"].as_str().unwrap().to_owned();
    let explained = explain(&root, &[&run]);
    assert_eq!(
        explained.stdout,
        format!(
            "run {run}: allowed, R2\n\
             gate    protected: allow, no protected path is changed\n\
             gate    scope: allow, every path is in scope\n\
             gate    budget: allow, files: 1 (no limit); changed lines: 1 (no limit)\n\
             gate    commands: allow, no command would be run\n\
             gate    credentials: allow, no new content looks like a credential\n\
             gate    lease: allow, no lease is required\n\
             gate    tier: allow, R2: every change can be undone\n\
             gate    access: allow, no access policies are in force\n\
             gate    approval: allow, no gate requires a user's approval\n\
             policy  {policy}, in force then and now\n"
        )
    );
    assert_eq!(explain(&root, &[&run[..4]]), explained);
    rule(&root, "[budget]\nmax_files = 5\n");
    let checked = json_of(&actum(&root, &["policy", "check", "--json"]));
    let now = checked["digest"].as_str().unwrap();
    let other = explain(&root, &[&run]).stdout;
    let expected =
        format!("policy  {policy}, in force then\nnow     {now}: allowed, R2\ngate    budget: ");
    assert!(other.contains(&expected), "{other}");
    rule(&root, "[scope]\nallow = ['db/']\n");
    assert!(explain(&root, &[&run]).stdout.ends_with(": the same decisions\n"));
}

/// AEC-11, AA-5: the explanation reports if the current policy would decide differently.
#[test]
fn run_explanation_shows_the_decision_under_the_current_policy() {
    let (_directory, root) = workspace();
    let run = created(&root, "db/1.sql");
    rule(&root, &format!("{MIGRATIONS}[scope]\ndeny = ['db/']\n"));
    let explained = explain(&root, &[&run[..6]]).stdout;
    let now = explained.split_once("\nnow     ").unwrap().1;
    let shown = ": denied, R3\n\
                gate    scope: deny, the path `db/1.sql` is denied by the rule `db/`; see this \
                workspace's policy\n\
                gate    tier: needs approval, R3: `db/1.sql`: a migration cannot be run back (this \
                workspace's policy)\n";
    assert_eq!(&now[64..], shown);
    let document = json_of(&explain(&root, &["--json", &run]));
    assert_eq!(document["format"], "actum.run-explanation/1");
    let verdicts = [&document["verdict"], &document["now"]["verdict"], &document["now"]["tier"]];
    assert_eq!(verdicts, ["allow", "deny", "R3"]);
    assert_ne!(document["policy"], document["policy_now"]);
    // An undo is evaluated as an undo, under the recorded policy and the current one.
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let log = json_of(&actum(&root, &["log", "--json"]));
    let undo = log["runs"][0]["run"].as_str().unwrap();
    let explained = explain(&root, &[undo]).stdout;
    assert!(
        explained.contains("R2: the change restores the content from before a run"),
        "{explained}"
    );
    assert!(explained.ends_with(", in force then and now\n"), "{explained}");
}

/// AEC-11: a decision is not explained if any of its documents is missing.
#[test]
fn decision_with_missing_documents_is_not_explained() {
    let (_directory, root) = workspace();
    let run = created(&root, "a");
    let ledger = crate::program::home_of(&root).join("tenants/default/ledger.db");
    let ledger = rusqlite::Connection::open(ledger).unwrap();
    ledger.execute_batch("DROP TRIGGER blob_delete").unwrap();
    assert!(ledger.execute("DELETE FROM blob", []).unwrap() > 1);
    let trigger = "CREATE TRIGGER blob_delete BEFORE DELETE ON blob \
                   BEGIN SELECT RAISE(ABORT, 'documents are never removed'); END";
    ledger.execute_batch(trigger).unwrap();
    drop(ledger);
    let refused = explain(&root, &[&run, "--json"]);
    assert_eq!((refused.code, &json_of(&refused)["reason"]), (4, &json!("REPLAY_REF_MISSING")));
}

/// D-5: a path that resembles a run id can be explained, and so can a word that is not a run.
#[test]
fn path_resembling_a_run_id_can_be_explained_as_a_path() {
    let (_directory, root) = workspace();
    let run = created(&root, "a");
    let name = &run[..4];
    for arguments in
        [&[&*format!("./{name}")][..], &["--path", name], &["--effect", "modified", name]]
    {
        let explained = explain(&root, arguments);
        let shown = format!("{name} modified: allowed, R2\n");
        assert!(explained.stdout.starts_with(&shown), "{explained:?}");
        assert_eq!(explained.stderr, "");
    }
    // A word that is neither a run nor a file may be a typing error.
    let absent = explain(&root, &["zzzz"]);
    assert!(absent.stdout.starts_with("zzzz modified: allowed, R2\n"), "{absent:?}");
    assert_eq!(absent.stderr, "note: there is no run `zzzz`; treating it as a path\n");
    fs::write(root.join("zzzz"), "").unwrap();
    assert_eq!(explain(&root, &["zzzz"]).stderr, "");
    assert_eq!(explain(&root, &["../a"]).code, 2);
}

/// D-5: both the old and the new path of a renamed file are evaluated.
#[test]
fn a_rename_is_explained_with_both_paths() {
    let (_directory, root) = ruled("[scope]\ndeny = ['vendor/']\n");
    let renamed = explain(&root, &["src/a", "--from", "vendor/a"]);
    assert!(renamed.stdout.starts_with("vendor/a -> src/a renamed: denied, R2\n"), "{renamed:?}");
    assert!(renamed.stdout.contains("gate  scope: deny, the path `vendor/a`"), "{renamed:?}");
    let same = explain(&root, &["src/a", "--from", "vendor/a", "--effect", "renamed", "--json"]);
    assert_eq!(json_of(&same)["from"], json!({ "path": "vendor/a" }));
    for wrong in [&["a", "--effect", "renamed"][..], &["a", "--effect", "mode", "--from", "b"]] {
        assert_eq!(explain(&root, wrong).code, 2, "{wrong:?}");
    }
}

/// AEC-10: the explanation of a typical case fits on one screen.
#[test]
fn an_explanation_fits_on_a_screen() {
    let (_directory, root) = workspace();
    let long = "services/billing/src/main/java/org/example/billing/adapters/InvoiceRepository.java";
    let run = created(&root, long);
    rule(
        &root,
        "[budget]\nmax_files = 0\n[protected]\npaths = ['services/']\n[scope]\nallow = ['src/', 'tests/', \
         'docs/', 'examples/', 'benches/', '*.md', '*.toml']\n[[tier]]\ntier = 'R4'\npaths = ['services/']\n\
         why = 'invoices that were sent cannot be taken back, and the accountants have to be told of each'\n",
    );
    for arguments in [&[long][..], &[".github/workflows/ci.yml"], &["deploy/.env"], &[&run]] {
        let explained = explain(&root, arguments);
        assert_eq!(explained.code, 0, "{explained:?}");
        let lines = lines_on_a_terminal(&explained.stdout);
        assert!((5..=24).contains(&lines), "{lines}\n{}", explained.stdout);
    }
}

/// D-5: a user who trusted a policy is warned when it has changed.
#[test]
fn policy_changed_since_it_was_trusted_is_reported() {
    let (_directory, root) = ruled("[protected]\nprofile = \"critical\"\n");
    let check = || actum(&root, &["policy", "check"]).stdout;
    let of_files = || json_of(&actum(&root, &["policy", "check", "--json"]))["files"][0].clone();
    let first = |text: String| text.lines().next().unwrap().to_owned();
    assert!(
        first(check()).ends_with("(this workspace's policy, which can only tighten the rules)")
    );
    let key = crate::program::approval_key(&root);
    assert_eq!(actum(&root, &["trust", "--passphrase-file", &key]).code, 0);
    assert!(first(check()).ends_with("(this workspace's policy, trusted)"));
    let trusted = of_files();
    assert_eq!(trusted["trusted_before"], json!(null));
    rule(&root, "[protected]\nprofile = \"critical\"\n# more\n");
    let shown = "(this workspace's policy, which can only tighten the rules, because it changed since it was trusted)";
    assert!(first(check()).ends_with(shown), "{}", check());
    assert_eq!(of_files()["trusted_before"], trusted["digest"]);
    assert_eq!(actum(&root, &["trust", "--remove"]).code, 0);
    assert!(
        first(check()).ends_with("(this workspace's policy, which can only tighten the rules)")
    );
}

/// D-4: a policy error is reported in one line, in the terms of the policy documentation.
#[test]
fn policy_errors_name_the_line_and_key_but_not_the_value() {
    let (_directory, root) = ruled("[budget]\nmax_files = \"ten\"\n");
    let refused = actum(&root, &["policy", "check"]);
    let place = root.join("actum.toml").canonicalize().unwrap();
    let shown = format!(
        "error: cannot use this workspace's policy `{}`: line 3: `budget.max_files` must be a whole number, \
         but is a string; nothing was changed\n",
        place.display()
    );
    assert!(refused.stderr.starts_with(&shown), "{refused:?}");
    rule(&root, "[credentials]\nallow = ['hunter2-is-no-digest']\n");
    for arguments in [&["policy", "check"][..], &["policy", "check", "--json"], &["trust"]] {
        let refused = actum(&root, arguments);
        assert_eq!(refused.code, 1);
        assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
    }
}

/// AEC-6, AEC-11: the operator's access policies are listed, explained for each agent, evaluated, and reused in a
/// replay.
#[test]
fn access_policies_are_listed_evaluated_and_replayed() {
    let (directory, root) = workspace();
    let access = directory.path().join("config/actum/access");
    fs::create_dir_all(&access).unwrap();
    fs::set_permissions(&access, Permissions::from_mode(0o755)).unwrap();
    let write = |text: &str| {
        fs::write(access.join("team.cedar"), text).unwrap();
        fs::set_permissions(access.join("team.cedar"), Permissions::from_mode(0o644)).unwrap();
    };
    let run = |arguments: &[&str]| -> Ended {
        let mut command = command(&root, arguments);
        command.env("XDG_CONFIG_HOME", directory.path().join("config")).output().unwrap().into()
    };
    write(
        "permit (principal, action, resource);\n@id(\"no-robots\") forbid (principal, action, resource) \
         when { principal has agent && principal.agent == \"robot\" };\n",
    );
    let checked = run(&["policy", "check"]);
    let file = access.canonicalize().unwrap().join("team.cedar");
    let shown = format!("access     2 policies of {}\n", file.display());
    assert!(checked.code == 0 && checked.stdout.contains(&shown), "{checked:?}");
    let access_of = |arguments: &[&str]| {
        let explained = run(&[&["--json", "policy", "explain", "a.txt"], arguments].concat());
        let gates = json_of(&explained)["gates"].clone();
        let gate = gates.as_array().unwrap().iter().find(|gate| gate["gate"] == "access").unwrap();
        (gate["verdict"].clone(), gate["message"].clone())
    };
    assert_eq!(access_of(&[]), (json!("allow"), json!("permitted by policy 1 in `team.cedar`")));
    let denied = (json!("deny"), json!("forbidden by `no-robots` in `team.cedar`"));
    assert_eq!(access_of(&["--agent", "robot"]), denied);
    // Values of `door` listed in docs/policy.md, as each entry point sends them.
    for (entry_point, verb) in [
        ("command line", &["apply", "../change.diff"][..]),
        ("exec", &["exec", "--", "touch", "new"]),
        ("action", &["action", "run", "../action.json"]),
    ] {
        write(&format!(
            "permit (principal, action, resource);\n@id(\"closed\") forbid (principal, action, resource) \
             when {{ context.door == \"{entry_point}\" }};\n"
        ));
        let action = json!({
            "actionId": "action:door",
            "actionType": "file_create",
            "riskTier": "R2",
            "confidence": 0.9,
            "reason": "a test",
            "input": { "path": "new", "content": "x" },
            "rollbackPlan": "undo",
            "verification": { "required": true, "commands": [] },
            "scope": { "allowedFiles": ["new"], "allowedDirs": [], "forbiddenFiles": [] }
        });
        fs::write(directory.path().join("action.json"), action.to_string()).unwrap();
        let refused = run(verb);
        let shown = format!("{}{}", refused.stdout, refused.stderr);
        assert!(
            refused.code != 0 && shown.contains("forbidden by `closed`"),
            "{entry_point}: {refused:?}"
        );
    }
    write(
        "permit (principal, action, resource);\n@id(\"no-robots\") forbid (principal, action, resource) \
         when { principal has agent && principal.agent == \"robot\" };\n",
    );
    for look in [&["--dry-run"][..], &[]] {
        let apply = [&["apply", "../change.diff", "--agent", "robot"], look].concat();
        let refused = run(&apply);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("the gate `access`: forbidden by `no-robots`"),
            "{refused:?}"
        );
    }
    assert_eq!(run(&["apply", "../change.diff"]).code, 0);
    let replayed = run(&["replay"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    assert!(replayed.stdout.contains("access: allow, permitted by policy 1 in `team.cedar`"));
    // A replay evaluates the recorded policies, regardless of the current files.
    write("permit (principal, action, resource) when { context.fiels < 3 };\n");
    let refused = run(&["undo"]);
    assert!(
        refused.stderr.contains("team.cedar`: the access policies are not valid: policy 1, line 1")
    );
    assert_eq!(run(&["replay"]), replayed);
    write("// Nothing.\n");
    let checked = run(&["policy", "check"]);
    assert_eq!(checked.code, 4, "{checked:?}");
    assert!(checked.stdout.contains("no access policy permits anything: nothing can be changed"));
    assert_eq!(access_of(&[]), (json!("deny"), json!("no access policy permits the request")));
    let undone = run(&["undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
}

/// D-5, issue 22: a file name that starts a program is reported with its risk tier. A name whose risk depends on the
/// content is reported with a note.
#[test]
fn policy_explain_reports_names_that_start_programs() {
    let (_directory, root) = ruled("");
    let hook = explain(&root, &["hooks/pre-commit", "--effect", "created"]);
    assert!(hook.stdout.starts_with("hooks/pre-commit created: needs approval, R3"), "{hook:?}");
    for (path, expected) in [
        (
            "package.json",
            "lifecycle scripts or hooks, which run on installation or commit, the change needs approval (R3)",
        ),
        (
            "x/config",
            "starts programs that the configuration names, the change needs approval (R3)",
        ),
        ("x/HEAD", "whose configuration can start programs, the change is denied"),
        (
            "keys/keyring.json",
            "into a home of ledgers and keys that no run may change, the change is denied",
        ),
    ] {
        let shown = explain(&root, &[path]);
        assert!(shown.stdout.contains(": allowed, R2"), "{shown:?}");
        assert!(shown.stderr.contains(expected), "{shown:?}");
        assert!(explain(&root, &[path, "--effect", "deleted"]).stderr.is_empty());
    }
    let cases = "[[case]]\nname = 'hooks ask'\nchange = ['created hooks/pre-push']\nexpect = 'ask'\ntier = 'R3'\n";
    fs::write(root.join("actum.test.toml"), cases).unwrap();
    let tested = actum(&root, &["policy", "test"]);
    assert_eq!((tested.code, tested.stdout.as_str()), (0, "1 of 1 cases passed\n"), "{tested:?}");
}
