//! Identity of the operator: a program does not become the operator by choosing the environment or by running as the
//! same user.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking, and plays the user"
)]

mod claims;
mod configuration;
mod places;
#[path = "../program/mod.rs"]
mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use program::{Ended, actum, approval_key, command, home_of, operator_of, text, workspace};
use serde_json::{Value, json};

const APPLY: [&str; 2] = ["apply", "../change.diff"];

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

fn reason(ended: &Ended) -> Value {
    value(ended)["reason"].clone()
}

/// Runs the program with a different home for its ledger and keys.
fn with_home(root: &Path, home: &Path, arguments: &[&str]) -> Ended {
    command(root, arguments).env("ACTUM_HOME", home).output().unwrap().into()
}

/// Returns the names of the pending alerts.
fn alerts(root: &Path) -> Vec<String> {
    let queue = value(&actum(root, &["queue", "--json"]));
    let alerts = queue["alerts"].as_array().unwrap();
    alerts.iter().map(|alert| alert["name"].as_str().unwrap().to_owned()).collect()
}

/// AEC-8, AA-5: only the ledger that recorded a workspace may be used there, because another ledger has other policies
/// and keys.
#[test]
fn a_workspace_is_rejected_by_every_ledger_but_its_own() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let other = directory.path().join("other-home");
    let undo = with_home(&root, &other, &["--json", "undo"]);
    assert_eq!((undo.code, reason(&undo)), (1, json!("BOUND_ELSEWHERE")), "{undo:?}");
    let tenant = actum(&root, &["--json", "undo", "--tenant", "mine"]);
    assert_eq!((tenant.code, reason(&tenant)), (1, json!("BOUND_ELSEWHERE")), "{tenant:?}");
    assert_eq!(text(&root, "a.txt"), "one\n");
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// AEC-8, AA-5
#[test]
fn pending_bind_request_is_shown_by_every_command_and_can_be_cancelled() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let other = directory.path().join("other-home");
    let asked = with_home(&root, &other, &["bind"]);
    assert_eq!(asked.code, 6, "{asked:?}");
    // A repeated request changes nothing, even if it comes with a different key.
    let key = directory.path().join("own-passphrase");
    fs::copy(approval_passphrase(directory.path()), &key).unwrap();
    let key = key.to_str().unwrap();
    let make = ["key", "make", "approval", "--passphrase-file", key];
    assert_eq!(with_home(&root, &directory.path().join("third-home"), &make).code, 0);
    let again =
        with_home(&root, &directory.path().join("third-home"), &["bind", "--passphrase-file", key]);
    assert_eq!(again.code, 6, "{again:?}");
    for verb in [&["status"][..], &["log"], &["policy", "check"], &["queue"], &["doctor"]] {
        let shown = actum(&root, verb).stderr;
        assert!(shown.contains("asked to move this workspace to the ledger"), "{verb:?}: {shown}");
    }
    assert_eq!(reason(&with_home(&root, &other, &["--json", "undo"])), "BOUND_ELSEWHERE");
    let cancelled = actum(&root, &["bind", "--cancel", "--json"]);
    assert_eq!(value(&cancelled)["binding"], "cancelled");
    assert!(!actum(&root, &["status"]).stderr.contains("asked to move"));
    assert_eq!(alerts(&root), ["BOUND_ELSEWHERE"]);
    assert_eq!(value(&actum(&root, &["bind", "--json"]))["binding"], "own");
}

fn approval_passphrase(directory: &Path) -> std::path::PathBuf {
    let file = directory.join("a-passphrase");
    fs::write(&file, "the passphrase of somebody\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&file, mode).unwrap();
    file
}

/// AEC-8: a lost ledger can be replaced by a new one in the same home if the approval key is unchanged.
#[test]
fn known_approval_key_rebinds_the_workspace_immediately() {
    let (_directory, root) = workspace();
    let key = approval_key(&root);
    assert_eq!(actum(&root, &APPLY).code, 0);
    fs::remove_dir_all(home_of(&root).join("tenants")).unwrap();
    assert_eq!(reason(&actum(&root, &["--json", "undo"])), "BOUND_ELSEWHERE");
    assert_eq!(actum(&root, &["status"]).code, 4);
    let moved = actum(&root, &["bind", "--passphrase-file", &key, "--json"]);
    assert_eq!(value(&moved)["binding"], "adopted", "{moved:?}");
    let undo = actum(&root, &["undo"]);
    assert_eq!(undo.code, 0, "{undo:?}");
    assert_eq!(alerts(&root), ["BOUND_ELSEWHERE"]);
}

/// AEC-8: changes made by another installation raise an alert instead of being ignored silently.
#[test]
fn runs_of_another_installation_raise_an_alert_and_appear_in_status() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    // Simulate a program of the same user that hides the note in which the workspace records its ledger.
    let recorded = root.join(".actum/recorded");
    let hidden = directory.path().join("hidden");
    fs::rename(&recorded, &hidden).unwrap();
    let other = directory.path().join("other-home");
    assert_eq!(with_home(&root, &other, &["undo"]).code, 0);
    fs::remove_dir_all(&recorded).unwrap();
    fs::rename(&hidden, &recorded).unwrap();
    let status = actum(&root, &["status", "--json"]);
    assert_eq!(status.code, 4, "{status:?}");
    assert_eq!(value(&status)["unrecorded"].as_array().unwrap().len(), 1);
    let shown = actum(&root, &["status"]).stdout;
    assert!(shown.contains("unrecorded  1 run here that your ledger does not contain"), "{shown}");
    let redo = actum(&root, &["redo"]);
    assert_eq!(redo.code, 0, "{redo:?}");
    assert_eq!(alerts(&root), ["RUN_UNRECORDED"]);
    assert_eq!(actum(&root, &["status"]).code, 0);
}

/// AEC-10: no environment variable can exclude the operator's policy.
#[test]
fn operator_policy_is_pinned_to_its_first_location() {
    let (directory, root) = workspace();
    let place = program::operator_of(&root).join("actum");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("actum.toml"), "version = 1\n[scope]\ndeny = [\"a.txt\"]\n").unwrap();
    assert_eq!(actum(&root, &APPLY).code, 1);
    let elsewhere = directory.path().join("elsewhere");
    let mut apply = command(&root, &[&["--json"], &APPLY[..]].concat());
    let ended: Ended = apply.env("XDG_CONFIG_HOME", &elsewhere).output().unwrap().into();
    assert_eq!((ended.code, reason(&ended)), (1, json!("CONFIGURATION_ELSEWHERE")), "{ended:?}");
    assert_eq!(text(&root, "a.txt"), "1\n");
    for verb in [
        &["gc"][..],
        &["gc", "--max-runs", "0"],
        &["resolve", "a.txt"],
        &["recover", "--set-aside-journal"],
    ] {
        let mut command = command(&root, &[&["--json"], verb].concat());
        let ended: Ended = command.env("XDG_CONFIG_HOME", &elsewhere).output().unwrap().into();
        assert_eq!(reason(&ended), "CONFIGURATION_ELSEWHERE", "{verb:?}: {ended:?}");
    }
    fs::remove_file(home_of(&root).join("configuration")).unwrap();
    let mut apply = command(&root, &APPLY);
    let moved: Ended = apply.env("XDG_CONFIG_HOME", &elsewhere).output().unwrap().into();
    assert_eq!(moved.code, 0, "{moved:?}");
}

/// AEC-10: the machine-wide policy always applies. This test runs in a mount namespace because no variable selects
/// another policy.
#[test]
fn machine_policy_cannot_be_bypassed() {
    let (directory, root) = workspace();
    let policy = "version = 1\n[scope]\ndeny = [\"a.txt\"]\n[[command]]\nargv = [\"true\"]\ndecision = \"allow\"\n\
                  match = [\"true\"]\n";
    fs::write(directory.path().join("system.toml"), policy).unwrap();
    let script = "mount -t tmpfs tmpfs /etc && mkdir /etc/actum && cp \"$1\" /etc/actum/actum.toml && shift && \
                  exec \"$@\"";
    let within = |arguments: &[&str]| -> Ended {
        let mut unshare = std::process::Command::new("unshare");
        let is_root = fs::metadata("/proc/self")
            .is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
        unshare.arg("--mount").args((!is_root).then_some("--map-root-user"));
        unshare.args(["sh", "-c", script, "sh"]).arg(directory.path().join("system.toml"));
        unshare.arg(env!("CARGO_BIN_EXE_actum")).args(arguments).current_dir(&root);
        unshare.env("ACTUM_HOME", home_of(&root));
        unshare.env("XDG_CONFIG_HOME", program::operator_of(&root)).output().unwrap().into()
    };
    let refused = within(&APPLY);
    assert_eq!(refused.code, 1, "{refused:?}");
    let expected = "the path `a.txt` is denied by the rule `a.txt`; see the policy of this machine";
    assert!(refused.stderr.contains(expected), "{refused:?}");
    let command = within(&["policy", "explain", "--command", "true"]);
    assert!(command.stdout.contains(": denied"), "{command:?}");
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// AA-5: a new approval key for an installation that is already in use is pending, and cannot approve anything until it
/// is valid.
#[test]
fn approval_key_created_by_an_agent_is_pending_and_can_be_denied() {
    let (directory, root) = workspace();
    let workflow =
        json!({ "files": [{ "path": ".github/workflows/a.yml", "content": "on: push\n" }] });
    fs::write(directory.path().join("workflow.json"), workflow.to_string()).unwrap();
    assert_eq!(actum(&root, &["apply", "../workflow.json"]).code, 6);
    let queue = value(&actum(&root, &["queue", "--json"]));
    let plan = queue["plans"][0]["plan"].as_str().unwrap().to_owned();
    let key = approval_key(&root);
    let approve = ["--json", "approve", &plan, "--passphrase-file", &key];
    let approved = actum(&root, &approve);
    assert_eq!((approved.code, reason(&approved)), (1, json!("KEY_WAITS")), "{approved:?}");
    assert!(!root.join(".github").exists());
    assert_eq!(alerts(&root), ["KEY_WAITS"]);
    let shown = actum(&root, &["log"]).stderr;
    assert!(shown.contains("`actum key deny approval` rejects it"), "{shown}");
    assert_eq!(actum(&root, &["key", "deny", "approval"]).code, 0);
    assert!(!actum(&root, &["log"]).stderr.contains("approval key"));
    let approved = actum(&root, &approve);
    assert_eq!(reason(&approved), "KEY_UNUSABLE", "{approved:?}");
    assert_eq!(alerts(&root), ["KEY_WAITS"], "those of one kind are one line");
}

/// AA-5: keys belong to the whole installation, so every tenant's ledger records the alert.
#[test]
fn key_alert_is_recorded_in_the_ledger_of_every_tenant() {
    let (directory, root) = workspace();
    let key = approval_key(&root);
    let elsewhere = root.with_file_name("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let own = approval_passphrase(directory.path());
    let rotate = ["key", "rotate", "approval", "--passphrase-file", own.to_str().unwrap()];
    let lost = ["--tenant", "other", "--old-passphrase-lost"];
    let rotated = actum(&root, &[&rotate[..], &lost[..]].concat());
    assert_eq!(rotated.code, 4, "{rotated:?}");
    assert_eq!(alerts(&root), ["KEY_WAITS"]);
    let other = value(&actum(&elsewhere, &["--tenant", "other", "queue", "--json"]));
    assert_eq!(other["alerts"][0]["name"], "KEY_WAITS", "{other}");
    // Marking the alert as seen requires the passphrase of the valid key.
    let refused = actum(&root, &["queue", "--seen", "all"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(alerts(&root), ["KEY_WAITS"]);
    let seen = actum(&root, &["queue", "--seen", "all", "--passphrase-file", &key]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(alerts(&root).is_empty());
}

/// AA-5, FE-14: an approval key that is replaced without the old passphrase does not take effect immediately.
#[test]
fn approval_key_rotated_without_the_old_passphrase_is_pending() {
    let (directory, root) = workspace();
    let key = approval_key(&root);
    assert_eq!(actum(&root, &APPLY).code, 0);
    let own = approval_passphrase(directory.path());
    let own = own.to_str().unwrap();
    let rotate = ["key", "rotate", "approval", "--passphrase-file", own, "--old-passphrase-lost"];
    let rotated = actum(&root, &rotate);
    assert_eq!(rotated.code, 4, "{rotated:?}");
    assert_eq!(alerts(&root), ["KEY_WAITS"]);
    let workflow =
        json!({ "files": [{ "path": ".github/workflows/a.yml", "content": "on: push\n" }] });
    fs::write(directory.path().join("workflow.json"), workflow.to_string()).unwrap();
    assert_eq!(actum(&root, &["apply", "../workflow.json"]).code, 6);
    let queue = value(&actum(&root, &["queue", "--json"]));
    let plan = queue["plans"][0]["plan"].as_str().unwrap().to_owned();
    let taken = actum(&root, &["--json", "approve", &plan, "--passphrase-file", own]);
    assert_eq!(reason(&taken), "PASSPHRASE_WRONG", "{taken:?}");
    assert_eq!(actum(&root, &["approve", &plan, "--passphrase-file", &key]).code, 0);
}

/// AA-5, D-5: neither a terminal nor its absence proves that the operator is present.
#[test]
fn trust_requires_the_passphrase_or_is_delayed_by_a_day() {
    let (_directory, root) = workspace();
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\nprofile = \"critical\"\n")
        .unwrap();
    let files = json!({ "files": [{ "path": ".mcp.json", "content": "{}\n" }] });
    fs::write(root.with_file_name("mcp.json"), files.to_string()).unwrap();
    let trusted = actum(&root, &["trust", "--json"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    assert!(value(&trusted)["from"].is_string(), "{trusted:?}");
    assert_eq!(actum(&root, &["apply", "../mcp.json"]).code, 1);
    let shown = actum(&root, &["status"]).stderr;
    assert!(shown.contains("`actum trust --remove` there rejects it"), "{shown}");
    assert_eq!(alerts(&root), ["TRUST_WAITS"]);
    assert_eq!(actum(&root, &["trust", "--remove"]).code, 0);
    assert!(!actum(&root, &["status"]).stderr.contains("trusted from"));

    let (_directory, root) = workspace();
    let key = approval_key(&root);
    fs::write(root.join("actum.toml"), "version = 1\n[protected]\nprofile = \"critical\"\n")
        .unwrap();
    let unproven = actum(&root, &["trust", "--json"]);
    assert_eq!(reason(&unproven), "PASSPHRASE_NEEDED", "{unproven:?}");
    assert_eq!(actum(&root, &["trust", "--passphrase-file", &key]).code, 0);
    fs::write(root.with_file_name("mcp.json"), files.to_string()).unwrap();
    assert_eq!(actum(&root, &["apply", "../mcp.json"]).code, 0);
}

/// AEC-10, D-5: a rule that gives programs more permissions is valid only in the operator's own configuration, which no
/// variable can select.
#[test]
fn environment_cannot_grant_programs_more_permissions() {
    let (directory, root) = workspace();
    let (evil, secret) = (directory.path().join("evil"), directory.path().join("secret"));
    fs::create_dir_all(evil.join("actum")).unwrap();
    fs::create_dir_all(&secret).unwrap();
    fs::write(secret.join("s"), "topsecret\n").unwrap();
    let marker = directory.path().join("marker");
    let policy = format!(
        "version = 1\n[sandbox]\nread = [{secret:?}]\n[approvals]\nnotify = [\"/usr/bin/touch\", {marker:?}]\n"
    );
    fs::write(evil.join("actum/actum.toml"), policy).unwrap();
    let elsewhere = |root: &Path, arguments: &[&str], is_known: bool| -> Ended {
        let mut command = program::command(root, arguments);
        command.env("ACTUM_HOME", directory.path().join("evil-home"));
        command.env("XDG_CONFIG_HOME", &evil);
        let mut command = if is_known { program::at_known_place(command) } else { command };
        command.output().unwrap().into()
    };
    let read = ["sandbox", "run", "--read", "../secret", "--", "cat", "../secret/s"];
    let refused = elsewhere(&root, &read, false);
    assert_eq!((refused.code, &*refused.stdout), (125, ""), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("can only tighten the rules, because the environment selects that file"),
        "{refused:?}"
    );
    assert_eq!(elsewhere(&root, &read, true).stdout, "topsecret\n");
    let fresh = directory.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let workflow =
        json!({ "files": [{ "path": ".github/workflows/a.yml", "content": "on: push\n" }] });
    fs::write(directory.path().join("workflow.json"), workflow.to_string()).unwrap();
    assert_eq!(elsewhere(&fresh, &["apply", "../workflow.json"], false).code, 6);
    assert!(!marker.exists());
    let check = elsewhere(&fresh, &["policy", "check"], false);
    assert!(check.stdout.contains("`approvals.notify`, `sandbox` in"), "{check:?}");
}

/// AEC-10: swapping a symbolic link between two accesses does not bypass the operator's policy.
#[test]
fn concurrently_swapped_symlink_does_not_bypass_the_policy() {
    let (directory, root) = workspace();
    let (known, evil) = (program::operator_of(&root), directory.path().join("evil"));
    for place in [known.join("actum"), evil.join("actum")] {
        fs::create_dir_all(place).unwrap();
    }
    fs::write(known.join("actum/actum.toml"), "version = 1\n[scope]\ndeny = [\"sub/\"]\n").unwrap();
    assert_eq!(actum(&root, &["policy", "check"]).code, 0);
    let change = files(&root, "denied.json", &[("sub/b.txt", "changed\n")]);
    assert_ne!(actum(&root, &["apply", "--overwrite", &change]).code, 0);
    let link = directory.path().join("link");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (is_over, flip) = (std::sync::atomic::Ordering::Relaxed, |to: &Path| {
        let next = link.with_extension("next");
        std::os::unix::fs::symlink(to, &next).and_then(|()| fs::rename(&next, &link)).unwrap();
    });
    flip(&known);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(is_over) {
                flip(&evil);
                flip(&known);
            }
        });
        for _ in 0..30 {
            let mut command = command(&root, &["apply", "--overwrite", &change]);
            let ended = command.env("XDG_CONFIG_HOME", &link).output().unwrap();
            if ended.status.success() {
                stop.store(true, is_over);
            }
            assert!(!ended.status.success(), "{ended:?}");
        }
        stop.store(true, is_over);
    });
    assert_eq!(text(&root, "sub/b.txt"), "2\n");
}

/// D-5: environment variables cannot make actum create a cache inside a state directory or among protected files.
#[test]
fn no_cache_is_created_in_state_directories_or_protected_paths() {
    let (directory, root) = workspace();
    for place in [directory.path().join("other/.actum"), root.join(".git/hooks")] {
        let mut command = command(&root, &["sandbox", "run", "-q", "--", "true"]);
        let ended = command.env("XDG_CACHE_HOME", &place).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert!(!place.exists(), "{}", place.display());
    }
}

/// Writes a document, beside the workspace, that creates these files when it is applied.
fn files(root: &Path, name: &str, files: &[(&str, &str)]) -> String {
    let files: Vec<Value> =
        files.iter().map(|(path, content)| json!({ "path": path, "content": content })).collect();
    let place = root.ancestors().find(|it| it.ends_with("workspace")).unwrap().with_file_name(name);
    fs::write(&place, json!({ "files": files }).to_string()).unwrap();
    place.to_str().unwrap().to_owned()
}

/// Runs the program with a separate ledger home, configuration and home directory.
fn foreign(root: &Path, home: &Path, arguments: &[&str]) -> Ended {
    let mut command = command(root, &[&["--json"], arguments].concat());
    command.env("ACTUM_HOME", home).env("XDG_CONFIG_HOME", home.with_extension("config"));
    command.env("HOME", root).output().unwrap().into()
}

fn assert_bound_elsewhere(ended: &Ended) {
    assert_eq!((ended.code, reason(ended)), (1, json!("BOUND_ELSEWHERE")), "{ended:?}");
}

/// AEC-8, FO-9: commands do not remove, resolve or set aside state that belongs to another operator's ledger.
#[test]
fn no_command_changes_a_workspace_bound_to_another_ledger() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let other = directory.path().join("other-home");
    let operators = other.with_extension("config").join("actum");
    fs::create_dir_all(&operators).unwrap();
    let retention = "version = 1\n[retention]\nruns = 0\ndays = 0\n";
    fs::write(operators.join("actum.toml"), retention).unwrap();
    for verb in [
        &["gc", "--max-runs", "0"][..],
        &["gc"],
        &["resolve", "a.txt"],
        &["recover"],
        &["recover", "--set-aside-journal"],
        &["undo"],
        &["undo", "--dry-run"],
        &["redo"],
        &["init"],
        &["rollback", "task"],
    ] {
        assert_bound_elsewhere(&foreign(&root, &other, verb));
    }
    // No ledger at all, as when the environment names an empty directory.
    let nothing = directory.path().join("no-home");
    assert_bound_elsewhere(&foreign(&root, &nothing, &["resolve", "a.txt"]));
    assert!(!nothing.exists());
    assert_eq!(value(&actum(&root, &["status", "--json"]))["runs"], 1);
    assert_eq!(actum(&root, &["recover"]).code, 0);
    assert_eq!(reason(&actum(&root, &["--json", "resolve", "a.txt"])), "PATH_NOT_BLOCKED");
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// AEC-8: runs that another program removed from the history are reported, but not those that `gc` removed.
#[test]
fn status_reports_recorded_runs_missing_from_the_history() {
    let (_directory, root) = workspace();
    for name in ["b", "c", "d"] {
        let change = files(&root, "change.json", &[(name, "x\n")]);
        assert_eq!(actum(&root, &["apply", &change]).code, 0);
    }
    let policy = program::operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(&policy, "version = 1\n[retention]\nruns = 0\ndays = 0\n").unwrap();
    assert_eq!(actum(&root, &["gc", "--max-runs", "2"]).code, 0);
    let status = actum(&root, &["status", "--json"]);
    assert_eq!((status.code, &value(&status)["missing"]), (0, &json!([])), "{status:?}");
    let history = root.join(".actum/history");
    for run in fs::read_dir(&history).unwrap() {
        fs::remove_file(run.unwrap().path()).unwrap();
    }
    let status = actum(&root, &["status", "--json"]);
    assert_eq!(status.code, 4, "{status:?}");
    assert_eq!(value(&status)["missing"].as_array().unwrap().len(), 2);
    let shown = actum(&root, &["status"]).stdout;
    assert!(shown.contains("missing     2 recorded runs"), "{shown}");
}
