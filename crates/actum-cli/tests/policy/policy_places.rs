//! Scope of rules: the directories above a workspace, and the task reports inside it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{Ended, actum, command, operator_of, workspace};
use serde_json::json;

/// Creates a new file through the program, under the test's operator policy.
fn apply(directory: &Path, root: &Path, name: &str, content: &str) -> Ended {
    let file = directory.join("files.json");
    let change = json!({ "files": [{ "path": name, "content": content }] });
    fs::write(&file, change.to_string()).unwrap();
    command(root, &["apply", file.to_str().unwrap()]).output().unwrap().into()
}

/// D-5, D-4: an empty `.git` makes a directory a new root, but the rules of enclosing policies still apply there.
#[test]
fn nested_root_obeys_the_rules_of_enclosing_policies() {
    let (directory, root) = workspace();
    let place = directory.path();
    fs::create_dir(root.join(".git")).unwrap();
    let own = "version = 1\n[protected]\npaths = ['vendor/']\n[scope]\ndeny = ['docs/api/']\n\
               [[tier]]\ntier = 'R3'\npaths = ['db/migrations/']\nwhy = 'it runs once'\n";
    fs::write(root.join("actum.toml"), own).unwrap();
    let operators =
        "version = 1\n[protected]\npaths = ['infra/']\n[scope]\ndeny = ['secret/place/']\n";
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    fs::write(operator.join("actum.toml"), operators).unwrap();
    for path in [&operator, &operator.join("actum.toml")] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let deeper = |at: &str, name: &str| {
        let at = root.join(at);
        fs::create_dir_all(at.join(".git")).unwrap();
        assert_eq!(actum(&at, &["init"]).code, 0);
        apply(place, &at, name, "text\n")
    };
    // No workspace can be created where every file is protected or risky.
    fs::create_dir_all(root.join(".husky/.git")).unwrap();
    let refused = actum(&root.join(".husky"), &["init"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("the enclosing workspace or repository"), "{refused:?}");
    for (at, name, code, expected) in [
        (".github", "workflows/ci.yml", 6, ".github/workflows/ci.yml`: continuous integration"),
        (".claude", "settings.json", 1, ".claude/settings.json` is protected by"),
        (
            "vendor",
            "zlib.c",
            1,
            "vendor/zlib.c` is protected by `vendor/` in the policy of an enclosing directory",
        ),
        (
            "vendor/lib/src",
            "a.c",
            1,
            "is protected by `vendor/` in the policy of an enclosing directory",
        ),
        (
            "docs",
            "api/a.md",
            1,
            "`docs/api/a.md` is denied by the rule `docs/api/`; see the policy of an enclosing",
        ),
        (
            "db",
            "migrations/1.sql",
            6,
            "db/migrations/1.sql`: it runs once (the policy of an enclosing directory)",
        ),
        ("infra", "main.c", 1, "infra/main.c` is protected by `infra/` in the operator's policy"),
        (
            "secret",
            "place/x",
            1,
            "`secret/place/x` is denied by the rule `secret/place/`; see the operator's",
        ),
    ] {
        let refused = deeper(at, name);
        assert_eq!(refused.code, code, "{at}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{at}: {refused:?}");
        assert!(!root.join(at).join(name).exists(), "{at}");
    }
    for (at, name) in [("lib", "a.c"), ("hooks/use-state", "index.ts"), (".config/foo", "main.rs")]
    {
        let applied = deeper(at, name);
        assert_eq!(applied.code, 0, "{at}: {applied:?}");
    }
    // An enclosing policy that cannot be parsed blocks everything, and cannot set keys that are reserved for the
    // operator.
    for text in ["version = 1\n[scope\n", "version = 1\n[sandbox]\nread = ['/srv']\n"] {
        fs::write(root.join("actum.toml"), text).unwrap();
        let refused = deeper("lib", "b.c");
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("cannot use the policy of an enclosing directory"),
            "{refused:?}"
        );
    }
    // The policy in a world-writable directory is ignored.
    fs::set_permissions(&root, Permissions::from_mode(0o777)).unwrap();
    assert_eq!(deeper("lib", "b.c").code, 0);
}

/// D-5, D-4: choosing a root above a repository does not bypass the repository's rules.
#[test]
fn root_above_a_repository_does_not_bypass_its_rules() {
    let (directory, root) = workspace();
    let repository = root.join("project");
    fs::create_dir_all(repository.join(".git")).unwrap();
    let plain = apply(directory.path(), &root, "project/infra/x", "text\n");
    assert_eq!(plain.code, 0, "without rules it is an ordinary directory: {plain:?}");
    let refused = |name: &str| {
        let ended = apply(directory.path(), &root, name, "text\n");
        assert_eq!(ended.code, 1, "{ended:?}");
        let why = "error: `project` is a repository whose rules apply from its own root";
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert!(!root.join(name).exists());
    };
    let own = repository.join("actum.toml");
    fs::write(&own, "version = 1\n[budget]\nmax_files = 1\n").unwrap();
    refused("project/db/x");
    fs::remove_file(own).unwrap();
    let operator = operator_of(&root).join("actum");
    fs::create_dir_all(&operator).unwrap();
    let rules = operator.join("actum.toml");
    fs::write(&rules, "version = 1\n[protected]\npaths = ['db/']\n").unwrap();
    for path in [&operator, &rules] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    refused("project/db/x");
    let outside = apply(directory.path(), &root, "beside/x", "text\n");
    assert_eq!(outside.code, 0, "{outside:?}");
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0, "a change from before the rules can be undone");
    assert!(!repository.join("infra/x").exists());
}

/// EX-16, EX-4, D-5: no change can rewrite an active plan or the files from which a task is rolled back.
#[test]
fn task_reports_and_active_plans_are_protected_from_changes() {
    let (directory, root) = workspace();
    let outputs = root.join("agent/agent_outputs");
    for (at, name) in [
        ("reports/20260203_150322_t", "rollback.sh"),
        ("reports/20260203_150322_t", "execution_report.json"),
        ("reports/20260203_150322_t/backups", "a.bak"),
        ("archive/20260203_150322_plan_active", "task.json"),
        ("plans/plan_active", "task.json"),
    ] {
        fs::create_dir_all(outputs.join(at)).unwrap();
        let path = format!("agent/agent_outputs/{at}/{name}");
        let refused = apply(directory.path(), &root, &path, "rm -rf .\n");
        assert_eq!(refused.code, 1, "{path}: {refused:?}");
        assert!(refused.stderr.contains("task reports, rollback data"), "{refused:?}");
    }
    // The cases of `actum policy test` do not affect any decision.
    for path in
        ["agent/agent_outputs/notes.md", "agent/temp/reports/x/rollback.sh", "actum.test.toml"]
    {
        assert_eq!(apply(directory.path(), &root, path, "text\n").code, 0, "{path}");
    }
}

/// EX-4: a file in place of a report directory would make every task fail, so creating one needs approval.
#[test]
fn file_in_place_of_a_report_directory_needs_approval() {
    let (directory, root) = workspace();
    let expected = "is a file, but task plans need a directory there for their reports";
    for name in ["agent", "Agent", "agent/agent_outputs", "agent/agent_outputs/plans"] {
        let queued = apply(directory.path(), &root, name, "x\n");
        assert_eq!(queued.code, 6, "{name}: {queued:?}");
        assert!(queued.stderr.contains(expected), "{queued:?}");
    }
    for name in ["src/agent", "agent.py", "agent/agent_outputs/notes.md"] {
        assert_eq!(apply(directory.path(), &root, name, "x\n").code, 0, "{name}");
    }
}

/// D-5: edits of files over 16 MiB are evaluated in parts, but git reads only the beginning of the file.
#[test]
fn edit_of_a_large_file_cannot_create_a_git_head() {
    let (directory, root) = workspace();
    let line = format!("{}\n", "y".repeat(79));
    let rest = line.repeat(220_000);
    fs::create_dir(root.join("bare")).unwrap();
    fs::write(root.join("bare/HEAD"), format!("x\n{rest}")).unwrap();
    let edit = |new: &str| {
        let diff =
            format!("--- a/bare/HEAD\n+++ b/bare/HEAD\n@@ -1,2 +1,2 @@\n-x\n+{new}\n {line}");
        fs::write(directory.path().join("head.diff"), diff).unwrap();
        actum(&root, &["apply", "../head.diff"])
    };
    for head in ["ref: refs/heads/main", "0123456789012345678901234567890123456789"] {
        let denied = edit(head);
        assert_eq!(denied.code, 1, "{denied:?}");
        assert!(denied.stderr.contains("turns its directory into a git repository"), "{denied:?}");
    }
    assert_eq!(edit("z").code, 0);
}
