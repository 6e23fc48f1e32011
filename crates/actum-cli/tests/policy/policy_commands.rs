//! Command rules as operators use them: listed, tested and explained without running a command.

use std::fs;
use std::path::Path;

use crate::program::{Ended, actum, workspace};
use serde_json::{Value, json};

const CARGO: &str =
    "[[command]]\nargv = ['cargo', 'test']\ndecision = 'allow'\nmatch = ['cargo test']\n";
const RELEASE: &str = "[[command]]\nargv = ['cargo', 'test', '--release']\ndecision = 'ask'\nreason = 'it takes an hour'\n";

fn rule(root: &Path, policy: &str) {
    fs::write(root.join("actum.toml"), format!("version = 1\n{policy}")).unwrap();
}

/// Creates a workspace with the given policy, and trusts it.
fn trusted(policy: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, root) = workspace();
    rule(&root, policy);
    let key = crate::program::approval_key(&root);
    let trust = actum(&root, &["trust", "--passphrase-file", &key]);
    assert_eq!(trust.code, 0, "{trust:?}");
    (directory, root)
}

fn explain(root: &Path, text: &str) -> Ended {
    actum(root, &["policy", "explain", "--command", text])
}

/// AA-5, AEC-10: the verdict is reported with the rule that decided it, or with the fact that no rule applies.
#[test]
fn command_explanation_names_the_deciding_rule() {
    let (_directory, root) = trusted(&format!("{CARGO}{RELEASE}"));
    assert_eq!(
        explain(&root, "cargo test 'a b'").stdout,
        "[\"cargo\", \"test\", \"a b\"]: allowed\n\
         gate  commands: allow, the rule `[\"cargo\", \"test\", …]` allows the command \
         `[\"cargo\", \"test\", \"a b\"]` (this workspace's policy)\n"
    );
    assert_eq!(
        explain(&root, "cargo test --release").stdout,
        "[\"cargo\", \"test\", \"--release\"]: needs approval\n\
         gate  commands: needs approval, the rule `[\"cargo\", \"test\", \"--release\", …]` requires an \
         approval for the command `[\"cargo\", \"test\", \"--release\"]`: it takes an hour (this workspace's policy)\n"
    );
    let denied = explain(&root, "cargo build");
    assert_eq!(denied.code, 0, "{denied:?}");
    let expected = "[\"cargo\", \"build\"]: denied\ngate  commands: deny, no rule allows the command \
                `[\"cargo\", \"build\"]`: the nearest rule, `[\"cargo\", \"test\", …]`, has \"test\" where \
                the command has \"build\"; ";
    assert!(denied.stdout.starts_with(expected), "{}", denied.stdout);
    let json = actum(&root, &["policy", "explain", "--json", "--command", "cargo test --release"]);
    let mut json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["ground"].take()["kind"], "command_rule");
    assert!(json["message"].take().is_string());
    assert_eq!(
        json,
        json!({
            "format": "actum.command-explanation/1",
            "command": ["cargo", "test", "--release"],
            "verdict": "needs_approval",
            "rule": {
                "argv": ["cargo", "test", "--release"],
                "decision": "ask",
                "reason": "it takes an hour",
            },
            "gate": "commands",
            "ground": null,
            "message": null,
        })
    );
}

/// AEC-10: text that needs a shell is not accepted as a command, and is not run.
#[test]
fn command_that_needs_a_shell_is_refused_and_not_run() {
    let (_directory, root) = trusted(CARGO);
    for text in ["touch made; cargo test", "cargo test $(touch made)", "cargo test > made"] {
        let refused = explain(&root, text);
        assert_eq!((refused.code, &*refused.stdout), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains("the command is run without a shell"), "{refused:?}");
        assert!(!root.join("made").exists());
    }
    let harmful = explain(&root, "cargo \u{1b}[31m\u{202e}");
    assert_eq!(harmful.code, 2);
    assert!(!harmful.stderr.contains(['\u{1b}', '\u{202e}']), "{harmful:?}");
    assert_eq!(explain(&root, "touch made").code, 0);
    assert!(!root.join("made").exists());
    for others in [&["--command", "a", "b"][..], &["--command", "a", "--effect", "mode"], &[]] {
        let refused = actum(&root, &[&["policy", "explain"], others].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}

/// D-5: the rules of an untrusted repository are reported as not in force.
#[test]
fn policy_check_lists_active_and_ignored_command_rules() {
    let (_directory, root) = workspace();
    rule(&root, &format!("{CARGO}{RELEASE}"));
    let untrusted = actum(&root, &["policy", "check"]);
    assert_eq!(untrusted.code, 0, "{untrusted:?}");
    let asks = "command    this workspace's policy: ask [\"cargo\", \"test\", \"--release\", …]: it takes an \
                hour\n";
    let ignored = "ignored    a rule that allows commands; it applies only after `actum trust`\n";
    assert!(untrusted.stdout.ends_with(&format!("{asks}{ignored}")), "{}", untrusted.stdout);
    assert!(explain(&root, "cargo test").stdout.contains(": denied\n"));
    let key = crate::program::approval_key(&root);
    assert_eq!(actum(&root, &["trust", "--passphrase-file", &key]).code, 0);
    let trusted = actum(&root, &["policy", "check"]).stdout;
    let allows = "command    this workspace's policy: allow [\"cargo\", \"test\", …]\n";
    assert!(trusted.ends_with(&format!("{allows}{asks}")), "{trusted}");
}

/// D-4: a rule that never applies because of another rule is reported as a mistake.
#[test]
fn policy_check_warns_when_a_rule_allows_none_of_its_examples() {
    let (_directory, root) =
        trusted(&format!("{CARGO}[[command]]\nargv = ['/usr/bin/cargo']\ndecision = 'deny'\n"));
    let warned = actum(&root, &["policy", "check"]);
    assert_eq!(warned.code, 4, "{warned:?}");
    let expected = "warning    this workspace's policy: `[\"cargo\", \"test\", …]` under `[[command]]` allows \
                none of its examples: the rule `[\"/usr/bin/cargo\", …]` denies the command `[\"cargo\", \"test\"]`\n";
    assert!(warned.stdout.ends_with(expected), "{}", warned.stdout);
}

/// AEC-10, D-4: a policy with such a rule blocks every change, and the error names the line.
#[test]
fn rule_that_allows_a_shell_by_prefix_invalidates_the_policy() {
    let (_directory, root) = workspace();
    rule(&root, "[[command]]\nargv = ['bash', '-c']\ndecision = 'allow'\nmatch = ['bash -c ls']\n");
    for arguments in [&["policy", "check"][..], &["policy", "explain", "--command", "ls"]] {
        let refused = actum(&root, arguments);
        assert_ne!(refused.code, 0, "{refused:?}");
        let expected =
            "line 3: `command.argv` cannot be used: `bash` can run code from its arguments";
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

/// AA-5: test cases can expect a command to be allowed, queued or denied.
#[test]
fn policy_test_evaluates_command_cases() {
    let (_directory, root) = trusted(CARGO);
    let cases = "[[case]]\nname = 'tests run'\ncommand = 'cargo test --all'\nexpect = 'allow'\n\
                 [[case]]\nname = 'releases ask'\ncommand = 'cargo publish'\nexpect = 'ask'\n";
    fs::write(root.join("actum.test.toml"), cases).unwrap();
    let tested = actum(&root, &["policy", "test"]);
    assert_eq!(tested.code, 4, "{tested:?}");
    let expected = "line 5, `releases ask`: expected ask, found deny by `commands`, R0: no rule allows the \
                command `[\"cargo\", \"publish\"]`: ";
    assert!(tested.stdout.starts_with(expected), "{}", tested.stdout);
    assert!(tested.stdout.ends_with("\n1 of 2 cases passed\n"), "{}", tested.stdout);
}
