//! Policies in effect: denials, the rule behind each of them, and the limits of a cloned repository's policy.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::program::{Ended, actum, command, text, workspace};
use serde_json::{Value, json};

/// Writes a change that creates one file.
fn create(directory: &Path, name: &str, content: &str) -> PathBuf {
    let file = directory.join("files.json");
    let change = json!({ "files": [{ "path": name, "content": content }] });
    fs::write(&file, change.to_string()).unwrap();
    file
}

fn apply(directory: &Path, root: &Path, name: &str, content: &str) -> Ended {
    create(directory, name, content);
    actum(root, &["apply", "../files.json"])
}

/// Runs the program under the given operator policy.
fn under(operator: &str, directory: &Path, root: &Path, arguments: &[&str]) -> Ended {
    let place = directory.join("config/actum");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("actum.toml"), operator).unwrap();
    fs::set_permissions(place.join("actum.toml"), Permissions::from_mode(0o644)).unwrap();
    let mut command = command(root, arguments);
    command.env("XDG_CONFIG_HOME", directory.join("config")).output().unwrap().into()
}

/// Returns a credential assembled from pieces, so that scanners find none in this file.
fn secret() -> String {
    format!("key = '{}{}'\n", "AKIA", "Z7QK3MPLD2WX5VNB")
}

/// D-5, EX-4
#[test]
fn protected_path_is_refused_by_apply_and_dry_run_alike() {
    let (directory, root) = workspace();
    for name in
        [".env", "sub/.ENV.local", "Credentials.json", "actum.toml", ".mcp.json", ".aider.conf.yml"]
    {
        let refused = apply(directory.path(), &root, name, "text\n");
        assert_eq!(refused.code, 1, "{name}");
        let message = format!(
            "error: the change is refused by the gate `protected`: the path `{name}` is protected"
        );
        assert!(refused.stderr.starts_with(&message), "{}", refused.stderr);
        assert!(refused.stderr.contains("; nothing was changed\n"), "{}", refused.stderr);
        assert_eq!(actum(&root, &["apply", "--dry-run", "../files.json"]), refused, "{name}");
        assert!(!root.join(name).exists());
    }
    let log: Value = serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    assert_eq!(log["runs"], json!([]));
}

/// EX-20: only new content is checked, and no byte of the credential is reported.
#[test]
fn credential_in_new_content_is_refused_and_reported_by_digest() {
    let (directory, root) = workspace();
    let refused = apply(directory.path(), &root, "conf.py", &secret());
    assert_eq!(refused.code, 1);
    let message = "refused by the gate `credentials`: `conf.py` contains a suspected credential \
                in line 1 (aws-access-key-id, ";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
    assert!(!refused.stderr.contains("Z7QK3"), "{}", refused.stderr);
    // A credential that already exists is not new content.
    fs::write(root.join("old.py"), secret()).unwrap();
    let edit = json!({ "edits": [{ "path": "old.py", "old_string": "key", "new_string": "KEY" }] });
    fs::write(directory.path().join("edit.json"), edit.to_string()).unwrap();
    assert_eq!(actum(&root, &["apply", "../edit.json"]).code, 0);
    // The operator may list the credential as known.
    let digest = refused.stderr.split("aws-access-key-id, ").nth(1).unwrap().get(..64).unwrap();
    let policy = format!("version = 1\n[credentials]\nallow = [\"{digest}\"]\n");
    let allowed = under(&policy, directory.path(), &root, &["apply", "../files.json"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    let log: Value = serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    let run = log["runs"][0]["run"].as_str().unwrap();
    let explained = actum(&root, &["policy", "explain", run]);
    let credentials = "credentials: allow, all suspected credentials are allowed (1)";
    assert!(explained.stdout.contains(credentials), "{explained:?}");
    // Removing a credential needs no approval.
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// EX-20: an allowed credential does not hide another one.
#[test]
fn changes_with_too_many_credentials_to_scan_are_refused() {
    let (directory, root) = workspace();
    let key = |number: usize| {
        let digits =
            [number / 32, number % 32].map(|it| b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[it] as char);
        format!("key = '{}{}{}7QK3MPLD2WX5VN'\n", "AKIA", digits[0], digits[1])
    };
    let many: String = (0..120).map(key).collect();
    let refused = apply(directory.path(), &root, "keys.py", &many);
    assert_eq!(refused.code, 1);
    let message = "`keys.py` could not be scanned completely for credentials";
    let alone = refused.stderr.contains("suspected credential") || refused.stderr.contains(message);
    assert!(alone, "{}", refused.stderr);
    // A credential that the operator listed, in more files than a message lists.
    let one = apply(directory.path(), &root, "one.py", &secret());
    let digest = one.stderr.split("aws-access-key-id, ").nth(1).unwrap().get(..64).unwrap();
    let policy = format!("version = 1\n[credentials]\nallow = [\"{digest}\"]\n");
    let mut files: Vec<Value> = (0..1001)
        .map(|number| json!({ "path": format!("f/{number:04}"), "content": secret() }))
        .collect();
    files.push(json!({ "path": "zzz", "content": key(7) }));
    let change = json!({ "files": files });
    fs::write(directory.path().join("files.json"), change.to_string()).unwrap();
    let refused = under(&policy, directory.path(), &root, &["apply", "../files.json"]);
    assert!(
        refused.stderr.contains("could not be scanned completely for credentials"),
        "{}",
        refused.stderr
    );
}

/// EX-20: an edit that assembles a credential in a large file is detected although only parts of the file are read.
#[test]
fn credential_assembled_by_an_edit_of_a_large_file_is_refused() {
    let (directory, root) = workspace();
    let secret = secret();
    let parted = secret.replace("AKIA", "AKIA-");
    let filler = "a line that fills the file, and nothing else\n".repeat(400_000);
    fs::write(root.join("big.txt"), format!("{filler}{parted}{filler}")).unwrap();
    let edit = |old: &str, new: &str| {
        let edit =
            json!({ "edits": [{ "path": "big.txt", "old_string": old, "new_string": new }] });
        fs::write(directory.path().join("edit.json"), edit.to_string()).unwrap();
        actum(&root, &["apply", "../edit.json"])
    };
    let refused = edit("AKIA-", "AKIA");
    assert!(refused.stderr.contains("aws-access-key-id"), "{refused:?}");
    // An existing credential next to an edit is not new.
    fs::write(root.join("big.txt"), format!("{filler}{secret}here\n{filler}")).unwrap();
    let edited = edit("here", "there");
    assert_eq!(edited.code, 0, "{}", edited.stderr);
}

/// D-5: all hard links of a file share one mode, so the mode of a protected file cannot change through another name.
#[test]
fn protected_file_mode_cannot_change_through_a_hard_link() {
    let (directory, root) = workspace();
    fs::write(root.join(".env"), "A=1\n").unwrap();
    fs::set_permissions(root.join(".env"), Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(root.join(".env"), root.join("pub")).unwrap();
    let diff = "diff --git a/pub b/pub\nold mode 100644\nnew mode 100755\n";
    fs::write(directory.path().join("mode.diff"), diff).unwrap();
    let refused = actum(&root, &["apply", "../mode.diff"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let mode = fs::metadata(root.join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// D-5: a subdirectory of the directory with the policy does not become a workspace because a command starts there.
#[test]
fn new_workspace_root_is_the_directory_with_the_policy() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("unpacked");
    fs::create_dir_all(root.join("infra")).unwrap();
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\npaths = [\"infra/\"]\n").unwrap();
    create(directory.path(), "infra/main.rs", "text\n");
    let refused = actum(&root.join("infra"), &["apply", "../../files.json"]);
    assert!(refused.stderr.contains("`infra/main.rs` is protected"), "{refused:?}");
    assert!(!root.join("infra/.actum").exists());
}

/// D-5: a change that waited for the lock is evaluated against the policy in force after the wait.
#[test]
fn policy_is_reread_after_waiting_for_the_workspace_lock() {
    let (directory, root) = workspace();
    assert_eq!(apply(directory.path(), &root, "first", "text\n").code, 0);
    create(directory.path(), "second", "text\n");
    let lock = fs::File::open(root.join(".actum/lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = command(&root, &["apply", "--wait", "../files.json"]);
    let waiting = waiting.stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Once it sleeps in flock in the workspace directory, the process has read the policy for the first time.
    let stack = format!("/proc/{}/wchan", waiting.id());
    for _ in 0..2000 {
        if fs::read_to_string(&stack).is_ok_and(|at| at.contains("lock")) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\npaths = [\"second\"]\n").unwrap();
    drop(lock);
    let refused = Ended::from(waiting.wait_with_output().unwrap());
    assert!(refused.stderr.contains("`second` is protected"), "{refused:?}");
}

/// D-5: no change can touch the rules that judge it, wherever the operator keeps them.
#[test]
fn operator_configuration_inside_a_workspace_is_protected() {
    let (directory, root) = workspace();
    // This is the layout of users who symlink their configuration from a dotfiles repository.
    let own = root.join("dotfiles/actum");
    fs::create_dir_all(own.join("access")).unwrap();
    for directory in [&own, &own.join("access")] {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(own.join("operator.toml"), "version = 1\n[scope]\ndeny = ['secret/']\n").unwrap();
    fs::set_permissions(own.join("operator.toml"), Permissions::from_mode(0o644)).unwrap();
    symlink("operator.toml", own.join("actum.toml")).unwrap();
    symlink(root.join("dotfiles"), directory.path().join("config")).unwrap();
    crate::program::forget_configuration(&root); // which `init` found elsewhere
    let apply = |at: &Path, name: &str| -> Ended {
        let change = create(directory.path(), name, "text\n");
        let mut apply = command(at, &["apply", "--overwrite", change.to_str().unwrap()]);
        apply.env("XDG_CONFIG_HOME", directory.path().join("config")).output().unwrap().into()
    };
    for name in ["actum/operator.toml", "actum/access/all.cedar", "actum/new"] {
        let refused = apply(&root, &format!("dotfiles/{name}"));
        assert_eq!(refused.code, 1, "{name}: {refused:?}");
        let message = format!("cannot use `dotfiles/{name}`: `dotfiles/actum` contains keys");
        assert!(refused.stderr.contains(&message), "{refused:?}");
    }
    assert_eq!(apply(&root, "secret/x").code, 1);
    assert_eq!(apply(&root, "dotfiles/other").code, 0);
    // No workspace can be created in the directory of the policy.
    let within = own.join("access");
    fs::create_dir(within.join(".git")).unwrap();
    let refused = actum(&within, &["init"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("one directory contains the other"), "{refused:?}");
    assert!(!within.join(".actum").exists());
}

/// D-4: a policy file that other users own or can write to is rejected.
#[test]
fn policy_replaceable_by_other_users_is_refused() {
    let (directory, root) = workspace();
    assert_eq!(under("version = 1\n", directory.path(), &root, &["policy", "check"]).code, 0);
    let own = directory.path().join("config/actum");
    fs::set_permissions(&own, Permissions::from_mode(0o777)).unwrap();
    let refused = under("version = 1\n", directory.path(), &root, &["policy", "check"]);
    assert!(refused.stderr.contains("its mode is 0777"), "{refused:?}");
    fs::set_permissions(&own, Permissions::from_mode(0o755)).unwrap();
    if nix::unistd::geteuid().is_root() {
        let nobody = Some(65_534);
        std::os::unix::fs::chown(own.join("actum.toml"), nobody, nobody).unwrap();
        let mut check = command(&root, &["policy", "check"]);
        check.env("XDG_CONFIG_HOME", directory.path().join("config"));
        let refused = Ended::from(check.output().unwrap());
        assert!(refused.stderr.contains("another user (uid 65534) owns it"), "{refused:?}");
    }
}

/// D-4: an operator policy whose link has no target is reported instead of being treated as absent.
#[test]
fn dangling_symlink_to_the_operator_policy_is_reported() {
    let (directory, root) = workspace();
    let place = directory.path().join("config/actum");
    fs::create_dir_all(&place).unwrap();
    symlink("../nowhere.toml", place.join("actum.toml")).unwrap();
    let mut apply = command(&root, &["apply", "../change.diff"]);
    let refused: Ended =
        apply.env("XDG_CONFIG_HOME", directory.path().join("config")).output().unwrap().into();
    assert!(refused.stderr.contains("cannot use the operator's policy"), "{refused:?}");
}

/// FO-9: restoring earlier content is never blocked, even after a redo.
#[test]
fn undo_of_a_redo_restores_the_original_content() {
    let (directory, root) = workspace();
    fs::write(root.join("old.py"), secret()).unwrap();
    let gone = json!({ "files": [{ "path": "old.py", "content": null }] });
    fs::write(directory.path().join("gone.json"), gone.to_string()).unwrap();
    for arguments in [&["apply", "../gone.json"][..], &["undo"], &["redo"]] {
        assert_eq!(actum(&root, arguments).code, 0, "{arguments:?}");
    }
    let log: Value = serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    let redo = log["runs"][0]["run"].as_str().unwrap();
    let undone = actum(&root, &["undo", redo]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(text(&root, "old.py"), secret());
}

/// D-5: no file in a repository can loosen the rules that apply to it.
#[test]
fn workspace_policy_can_tighten_and_loosens_only_when_trusted() {
    let (directory, root) = workspace();
    let key = crate::program::approval_key(&root);
    let write = |text: &str| fs::write(root.join("actum.toml"), text).unwrap();
    write("version = 1\n[scope]\ndeny = [\"vendor/\"]\n[protected]\nprofile = \"critical\"\n");
    let refused = apply(directory.path(), &root, "vendor/a", "text\n");
    let message =
        "the path `vendor/a` is denied by the rule `vendor/`; see this workspace's policy";
    assert!(refused.code == 1 && refused.stderr.contains(message), "{}", refused.stderr);
    assert_eq!(apply(directory.path(), &root, ".mcp.json", "{}\n").code, 1);
    let checked = actum(&root, &["policy", "check"]).stdout;
    assert!(checked.contains("ignored    the profile `critical`"), "{checked}");
    let trusted = actum(&root, &["trust", "--passphrase-file", &key]);
    assert!(trusted.stdout.contains("now in force: the profile `critical`"), "{trusted:?}");
    assert_eq!(apply(directory.path(), &root, ".mcp.json", "{}\n").code, 0);
    // Changing a byte of the file makes it a different policy, which is not trusted.
    write("version = 1\n[protected]\nprofile = \"critical\"\n");
    assert_eq!(apply(directory.path(), &root, "sub/.mcp.json", "{}\n").code, 1);
    assert_eq!(actum(&root, &["trust", "--passphrase-file", &key]).code, 0);
    assert_eq!(apply(directory.path(), &root, "sub/.mcp.json", "{}\n").code, 0);
    assert_eq!(actum(&root, &["trust", "--remove"]).code, 0);
    assert_eq!(apply(directory.path(), &root, "a/.mcp.json", "{}\n").code, 1);
}

/// D-5: trust in a policy does not extend to a copy in another directory.
#[test]
fn trust_does_not_apply_to_a_copied_policy() {
    let (directory, root) = workspace();
    let key = crate::program::approval_key(&root);
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\nprofile = \"critical\"\n")
        .unwrap();
    assert_eq!(actum(&root, &["trust", "--passphrase-file", &key]).code, 0);
    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    assert_eq!(actum(&other, &["init"]).code, 0);
    fs::copy(root.join("actum.toml"), other.join("actum.toml")).unwrap();
    assert_eq!(apply(directory.path(), &root, ".mcp.json", "{}\n").code, 0);
    assert_eq!(apply(directory.path(), &other, ".mcp.json", "{}\n").code, 1);
}

/// D-4: an error in a policy blocks every change, and the message names the policy file.
#[test]
fn unusable_policy_blocks_all_changes() {
    let (directory, root) = workspace();
    let files =
        ["version = 1\n[scpoe]\n", "version = 2\n", "", "version = 1\n[scope]\nallow = 3\n"];
    for text in files {
        fs::write(root.join("actum.toml"), text).unwrap();
        for arguments in
            [&["apply", "../change.diff"][..], &["undo"], &["policy", "check"], &["trust"]]
        {
            let refused = actum(&root, arguments);
            assert_eq!(refused.code, 1, "{text:?} {arguments:?}: {refused:?}");
            assert!(refused.stderr.contains("cannot use this workspace's policy"), "{refused:?}");
        }
    }
    fs::remove_file(root.join("actum.toml")).unwrap();
    symlink("../elsewhere.toml", root.join("actum.toml")).unwrap();
    let refused = actum(&root, &["apply", "../change.diff"]);
    assert!(
        refused.stderr.contains("it is not a regular file; nothing was changed"),
        "{refused:?}"
    );
    fs::remove_file(root.join("actum.toml")).unwrap();
    let refused = under("version = 9\n", directory.path(), &root, &["apply", "../change.diff"]);
    assert!(refused.stderr.contains("cannot use the operator's policy"), "{refused:?}");
    let document = under("version = 9\n", directory.path(), &root, &["--json", "policy", "check"]);
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(
        (&document["reason"], &document["workspace"]),
        (&json!("NEWER_FORMAT"), &json!("unchanged"))
    );
    let open = directory.path().join("config/actum/actum.toml");
    fs::write(&open, "version = 1\n").unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o666)).unwrap();
    let mut apply = command(&root, &["apply", "../change.diff"]);
    let refused: Ended =
        apply.env("XDG_CONFIG_HOME", directory.path().join("config")).output().unwrap().into();
    assert!(
        refused.stderr.contains("other users may write to it (its mode is 0666)"),
        "{refused:?}"
    );
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// FO-3, FO-4: the strictest limits among the requester's, the operator's and the workspace's apply.
#[test]
fn policies_and_options_can_only_tighten_the_limits() {
    let (directory, root) = workspace();
    let operator = "version = 1\n[scope]\nallow = [\"*.txt\", \"sub/\"]\n[budget]\nmax_files = 2\n";
    let run = |arguments: &[&str]| under(operator, directory.path(), &root, arguments);
    assert_eq!(run(&["apply", "../change.diff"]).code, 0);
    assert_eq!(run(&["undo"]).code, 0);
    create(directory.path(), "src/a.rs", "text\n");
    let refused = run(&["apply", "../files.json"]);
    assert!(refused.stderr.contains("see the operator's policy"), "{refused:?}");
    // The requester cannot extend the scope.
    assert_eq!(run(&["apply", "--allow", "src/", "../files.json"]).code, 1);
    assert_eq!(run(&["apply", "--deny", "**/b.txt", "../change.diff"]).code, 1);
    fs::write(root.join("actum.toml"), "version = 1\n[budget]\nmax_files = 1\n").unwrap();
    let refused = run(&["apply", "../change.diff"]);
    assert!(refused.stderr.contains("files: 2 (limit 1)"), "{refused:?}");
    assert!(refused.stderr.contains("see this workspace's policy"), "{refused:?}");
}

/// AA-1: the record contains the risk tier and its reason.
#[test]
fn files_that_run_automatically_need_approval() {
    let (directory, root) = workspace();
    let done = apply(directory.path(), &root, ".github/workflows/ci.yml", "on: push\n");
    assert_eq!(done.code, 6, "{done:?}");
    let message = "R3: `.github/workflows/ci.yml`: continuous integration runs this file";
    assert!(done.stderr.contains(message), "{done:?}");
    assert!(!root.join(".github").exists());
}

/// D-4: `policy check` warns about rules that are certainly mistakes.
#[test]
fn policy_check_warns_about_obviously_mistaken_rules() {
    let (_directory, root) = workspace();
    let text = "version = 1\n[scope]\nallow = []\ndeny = [\"**\"]\n[protected]\npaths = [\"*\"]\n\
                [budget]\nmax_files = 0\n[[tier]]\ntier = \"R3\"\npaths = [\"**/*\"]\nwhy = \"w\"\n";
    fs::write(root.join("actum.toml"), text).unwrap();
    let checked = actum(&root, &["policy", "check"]);
    assert_eq!(checked.code, 4);
    assert_eq!(checked.stdout.matches("\nwarning ").count(), 5, "{}", checked.stdout);
}

/// AEC-10: all problems are reported at once.
#[test]
fn all_gates_that_refuse_a_change_are_reported() {
    let (directory, root) = workspace();
    let own = "version = 1\n[scope]\nallow = [\"src/\"]\n[budget]\nmax_loc = 1\n";
    fs::write(root.join("actum.toml"), own).unwrap();
    create(directory.path(), ".env", "a\nb\n");
    let refused = actum(&root, &["apply", "--json", "../files.json"]);
    let document: Value = serde_json::from_str(&refused.stdout).unwrap();
    let gates: Vec<_> =
        document["gates"].as_array().unwrap().iter().map(|it| &it["gate"]).collect();
    assert_eq!(gates, ["protected", "scope", "budget"]);
    assert_eq!(document["hints"].as_array().unwrap().len(), 3);
}

/// D-5: `policy explain` shows the operator how to except a path, and the exception applies to that path only.
#[test]
fn operator_can_except_a_protected_path_as_explained() {
    let (directory, root) = workspace();
    let home = directory.path();
    let refused = apply(home, &root, ".env.example", "KEY=\n");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("`actum policy explain PATH` to see whether"), "{refused:?}");
    let explained = under("version = 1\n", home, &root, &["policy", "explain", ".env.example"]);
    let way = "as the operator, add exactly this path to `except` under `[protected]` in `";
    assert!(explained.stderr.contains(way), "{explained:?}");
    let decides = actum(&root, &["policy", "explain", "actum.toml"]);
    assert!(
        decides.stderr.contains("the operator cannot add an exception for it: `**/actum.toml` ("),
        "{decides:?}"
    );

    let excepting = "version = 1\n[protected]\nexcept = ['.env.example']\n";
    for (name, code) in [(".env.example", 0), (".env", 1)] {
        create(home, name, "KEY=\n");
        let ended = under(excepting, home, &root, &["apply", "../files.json"]);
        assert_eq!(ended.code, code, "{name}: {ended:?}");
    }
    let checked = under(excepting, home, &root, &["policy", "check"]);
    assert!(checked.stdout.contains("except .env.example\n"), "{checked:?}");

    fs::write(root.join("actum.toml"), excepting).unwrap();
    let own = actum(&root, &["policy", "check"]);
    assert!(own.stderr.contains("it sets `protected.except`"), "{own:?}");
}

/// FO-9: a policy that was tightened after the run does not block its undo.
#[test]
fn undo_is_not_blocked_by_a_later_scope_or_budget() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let own = "version = 1\n[scope]\nallow = [\"src/\"]\n[budget]\nmax_files = 1\n";
    fs::write(root.join("actum.toml"), own).unwrap();
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(actum(&root, &["redo"]).code, 1);
}

/// D-5: a command in a subdirectory sees the rules that apply there.
#[test]
fn policy_explain_works_in_a_subdirectory_before_init() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("unpacked");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\npaths = [\"a\"]\n").unwrap();
    let explained = actum(&root.join("sub"), &["policy", "explain", "a"]);
    assert!(explained.stdout.starts_with("a modified: denied, R2\n"), "{explained:?}");
    assert_eq!(actum(&root.join("sub"), &["trust"]).code, 0);
}

/// AEC-10, AA-5: the program's own output leads the operator from a denial to a narrow rule that allows the change.
#[test]
fn policy_suggest_prints_the_narrowest_rules_for_refused_changes() {
    let (directory, root) = workspace();
    assert_eq!(
        actum(&root, &["policy", "suggest"]).stdout,
        "none of the changes that were refused here, in the newest 10000 ledger entries, would be refused now\n"
    );
    let own = "version = 1\n[scope]\nallow = [\n  'src/',\n]\ndeny = ['vendor']\n";
    fs::write(root.join("actum.toml"), own).unwrap();
    for name in ["docs/a [1].md", "vendor/x", ".env"] {
        assert_eq!(apply(directory.path(), &root, name, "text\n").code, 1, "{name}");
    }
    let suggested = actum(&root, &["policy", "suggest"]);
    assert_eq!(
        suggested.stdout,
        "# in `actum.toml` in this workspace:\n\
         [scope]\n\
         allow = [ # in addition to the existing entries\n\
         \x20 'docs/a \\[1\\].md',\n\
         ]\n\
         # 1 of 3 refused changes would pass with these rules\n\
         # still refused by protected: deny, the path `.env` is protected by `**/.env*` (secrets)\n\
         # still refused by scope: deny, the path `vendor` is denied by the rule `vendor`; the same applies to 1 more; \
         see this workspace's policy\n"
    );
    let line = suggested.stdout.lines().find(|line| line.contains("docs/")).unwrap();
    fs::write(root.join("actum.toml"), own.replace("  'src/',", &format!("  'src/',\n{line}")))
        .unwrap();
    assert_eq!(apply(directory.path(), &root, "docs/a [1].md", "text\n").code, 0);
    let json: Value =
        serde_json::from_str(&actum(&root, &["policy", "suggest", "--json"]).stdout).unwrap();
    assert_eq!((&json["refused"], &json["would_pass"]), (&json!(2), &json!(0)));
}

/// FO-4, D-5: exact limits are suggested for budgets, but content with credentials is never allowed.
#[test]
fn policy_suggest_proposes_exact_limits_but_never_allows_credentials() {
    let (directory, root) = workspace();
    let own = "version = 1\n[budget]\nmax_loc = 2\n";
    fs::write(root.join("actum.toml"), own).unwrap();
    assert_eq!(apply(directory.path(), &root, "three", "1\n2\n3\n").code, 1);
    assert_eq!(apply(directory.path(), &root, "key", &secret()).code, 1);
    let suggested = actum(&root, &["policy", "suggest"]).stdout;
    assert!(suggested.contains("[budget]\nmax_loc = 3\n"), "{suggested}");
    // The program cannot know whether the content is a real secret.
    assert!(!suggested.contains("[credentials]"), "{suggested}");
    let message =
        "# 1 of 2 refused changes would pass with these rules\n# still refused by credentials: ";
    assert!(suggested.contains(message), "{suggested}");
}

/// D-5: files that git or an installer runs automatically are recognised by name and content, including files renamed
/// to such a name.
#[test]
fn files_that_start_programs_are_denied_or_need_approval() {
    let (directory, root) = workspace();
    let apply = |files: serde_json::Value| {
        let input = serde_json::json!({ "files": files });
        fs::write(directory.path().join("input.json"), input.to_string()).unwrap();
        actum(&root, &["apply", "../input.json"])
    };
    let head = "ref: refs/heads/main\n";
    let denied = apply(serde_json::json!([{ "path": "fixture/HEAD", "content": head }]));
    assert_eq!(denied.code, 1, "{denied:?}");
    let message = "`fixture/HEAD` turns its directory into a git repository, whose configuration can start programs";
    assert!(denied.stderr.contains(message), "{denied:?}");
    let plain = serde_json::json!([{ "path": "fixture/header", "content": head }]);
    assert_eq!(apply(plain).code, 0);
    let renamed = "diff --git a/fixture/header b/fixture/HEAD\nsimilarity index 100%\n\
                   rename from fixture/header\nrename to fixture/HEAD\n";
    fs::write(directory.path().join("rename.diff"), renamed).unwrap();
    let denied = actum(&root, &["apply", "../rename.diff"]);
    assert!(denied.code == 1 && denied.stderr.contains(message), "{denied:?}");
    for (path, content, message) in [
        ("tools/hooks/pre-commit", "#!/bin/sh\n", "is a hook that git starts"),
        ("fixture/config", "[core]\n\tfsmonitor = x\n", "configures git"),
        ("package.json", r#"{"scripts":{"postinstall":"x"}}"#, "may change lifecycle scripts"),
        (
            "package.json",
            r#"{"n":1e999,"scripts":{"postinstall":"x"}}"#,
            "may change lifecycle scripts",
        ),
    ] {
        let queued = apply(serde_json::json!([{ "path": path, "content": content }]));
        assert_eq!(queued.code, 6, "{queued:?}");
        assert!(queued.stderr.contains(message), "{queued:?}");
        assert!(!root.join(path).exists());
    }
    let ordinary = serde_json::json!([
        { "path": "package.json", "content": r#"{"scripts":{"test":"x"}}"# },
        { "path": "src/head/index.js", "content": "export default 1;\n" },
    ]);
    assert_eq!(apply(ordinary).code, 0);
}

/// D-5: a mode change can enable a disabled hook, and deleting a hook disables the check that it makes.
#[test]
fn every_effect_on_a_hook_needs_approval() {
    let (_directory, root) = workspace();
    for effect in ["created", "modified", "mode", "deleted"] {
        let explain = ["policy", "explain", "tools/hooks/pre-commit", "--effect", effect];
        let message = actum(&root, &explain).stdout;
        assert!(
            message.contains("R3") && message.contains("is a hook that git starts"),
            "{message}"
        );
    }
}
