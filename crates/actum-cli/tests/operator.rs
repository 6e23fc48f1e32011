//! Who the operator is: a program that chooses the environment, or runs as the same user, does not become one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking, and plays the user"
)]

mod program;

use std::fs;
use std::path::Path;

use program::{Ended, actum, approval_key, command, home_of, text, workspace};
use serde_json::{Value, json};

const APPLY: [&str; 2] = ["apply", "../change.diff"];

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

fn reason(ended: &Ended) -> Value {
    value(ended)["reason"].clone()
}

/// The program with another home of ledger and keys.
fn with_home(root: &Path, home: &Path, arguments: &[&str]) -> Ended {
    command(root, arguments).env("ACTUM_HOME", home).output().unwrap().into()
}

/// Names of the alerts that wait.
fn alerts(root: &Path) -> Vec<String> {
    let queue = value(&actum(root, &["queue", "--json"]));
    let alerts = queue["alerts"].as_array().unwrap();
    alerts.iter().map(|alert| alert["name"].as_str().unwrap().to_owned()).collect()
}

/// AEC-8, AA-5: another ledger brings other policies and keys along.
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
fn a_request_for_a_workspace_waits_is_shown_by_every_command_and_can_be_cancelled() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let other = directory.path().join("other-home");
    let asked = with_home(&root, &other, &["bind"]);
    assert_eq!(asked.code, 6, "{asked:?}");
    // Asking again changes nothing, also with a key of its own.
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

/// AEC-8: a ledger that was lost is replaced by a new one in the same home, with the same approval key.
#[test]
fn the_approval_key_that_a_workspace_knows_moves_it_at_once() {
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

/// AEC-8: what another installation did is not passed over in silence.
#[test]
fn runs_of_another_installation_are_an_alert_and_status_says_so() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    // A program of the same user that hides the note by which the workspace knows its ledger.
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
    assert!(shown.contains("unrecorded  1 run here that your ledger does not know"), "{shown}");
    let redo = actum(&root, &["redo"]);
    assert_eq!(redo.code, 0, "{redo:?}");
    assert_eq!(alerts(&root), ["RUN_UNRECORDED"]);
    assert_eq!(actum(&root, &["status"]).code, 0);
}

/// AEC-10: the environment cannot leave the operator's policy out.
#[test]
fn the_operators_policy_is_where_it_was_at_first() {
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
    fs::remove_file(home_of(&root).join("configuration")).unwrap();
    let mut apply = command(&root, &APPLY);
    let moved: Ended = apply.env("XDG_CONFIG_HOME", &elsewhere).output().unwrap().into();
    assert_eq!(moved.code, 0, "{moved:?}");
}

/// AEC-10: the machine's policy always tightens. In a mount namespace, since no variable leads to another one.
#[test]
fn the_policy_of_the_machine_cannot_be_left_out() {
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
    let told = "the path `a.txt` is denied by the rule `a.txt`; so says the policy of this machine";
    assert!(refused.stderr.contains(told), "{refused:?}");
    let command = within(&["policy", "explain", "--command", "true"]);
    assert!(command.stdout.contains(": denied"), "{command:?}");
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// AA-5: the approval key of an installation that was used before waits, and approves nothing meanwhile.
#[test]
fn an_approval_key_that_an_agent_makes_waits_and_can_be_denied() {
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

/// AA-5: keys are of the whole installation, and so is the alert, whatever tenant the caller names.
#[test]
fn the_alert_about_a_key_goes_to_the_ledger_of_every_tenant() {
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
    // Marking it as seen takes the passphrase of the key that counts.
    let refused = actum(&root, &["queue", "--seen", "all"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert_eq!(alerts(&root), ["KEY_WAITS"]);
    let seen = actum(&root, &["queue", "--seen", "all", "--passphrase-file", &key]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(alerts(&root).is_empty());
}

/// AA-5, FE-14: without the old passphrase nobody takes the approval key over.
#[test]
fn an_approval_key_that_replaces_one_without_its_passphrase_waits() {
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

/// AA-5, D-5: a terminal proves nothing, and so does a command without any.
#[test]
fn trust_takes_the_passphrase_or_waits_for_a_day() {
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

/// AEC-10, D-5: what lets programs do more counts only where the system knows the configuration, which no variable names.
#[test]
fn an_environment_lets_no_program_do_more() {
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
    assert!(refused.stderr.contains("does not count: the environment leads there"), "{refused:?}");
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

/// AEC-10: a link that changes between two looks at it does not lead past the operator's policy.
#[test]
fn a_link_that_changes_meanwhile_leaves_no_policy_out() {
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

/// D-5: the environment makes no directory of caches a workspace, and none among protected files.
#[test]
fn no_cache_is_made_among_states_and_protected_files() {
    let (directory, root) = workspace();
    for place in [directory.path().join("other/.actum"), root.join(".git/hooks")] {
        let mut command = command(&root, &["sandbox", "run", "-q", "--", "true"]);
        let ended = command.env("XDG_CACHE_HOME", &place).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert!(!place.exists(), "{}", place.display());
    }
}

/// Files to apply, as one document beside the workspace.
fn files(root: &Path, name: &str, files: &[(&str, &str)]) -> String {
    let files: Vec<Value> =
        files.iter().map(|(path, content)| json!({ "path": path, "content": content })).collect();
    let place = root.ancestors().find(|it| it.ends_with("workspace")).unwrap().with_file_name(name);
    fs::write(&place, json!({ "files": files }).to_string()).unwrap();
    place.to_str().unwrap().to_owned()
}

/// The program with a home, a configuration and a home directory of its own.
fn foreign(root: &Path, home: &Path, arguments: &[&str]) -> Ended {
    let mut command = command(root, &[&["--json"], arguments].concat());
    command.env("ACTUM_HOME", home).env("XDG_CONFIG_HOME", home.with_extension("config"));
    command.env("HOME", root).output().unwrap().into()
}

fn assert_bound_elsewhere(ended: &Ended) {
    assert_eq!((ended.code, reason(ended)), (1, json!("BOUND_ELSEWHERE")), "{ended:?}");
}

/// AEC-8, FO-9: what another operator keeps is not removed, resolved or set aside.
#[test]
fn no_verb_changes_the_state_of_a_workspace_of_another_ledger() {
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
    // Without any ledger, as with an environment that names an empty place.
    let nothing = directory.path().join("no-home");
    assert_bound_elsewhere(&foreign(&root, &nothing, &["resolve", "a.txt"]));
    assert!(!nothing.exists());
    assert_eq!(value(&actum(&root, &["status", "--json"]))["runs"], 1);
    assert_eq!(actum(&root, &["recover"]).code, 0);
    assert_eq!(reason(&actum(&root, &["--json", "resolve", "a.txt"])), "PATH_NOT_BLOCKED");
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// AEC-8: a history that another program removed is noticed, and one that `gc` removed is not.
#[test]
fn status_reports_recorded_runs_that_the_history_has_lost() {
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

/// AEC-8, AA-5: the choice of a root makes nobody the operator.
#[test]
fn a_workspace_inside_a_recorded_one_belongs_to_its_ledger() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let other = directory.path().join("other-home");
    let inner = root.join("sub");
    let change = files(&root, "inner.json", &[("new.txt", "x\n")]);
    for verb in [
        &["init", "."][..],
        &["-C", ".", "apply", &change],
        &["-C", ".", "apply", "--dry-run", &change],
        &["exec", "--drop", "--", "touch", "y"],
    ] {
        let ended = foreign(&inner, &other, verb);
        assert!(ended.stdout.contains("BOUND_ELSEWHERE"), "{verb:?}: {ended:?}");
    }
    assert!(!inner.join(".actum").exists());
    // The owner may have one there, and it is the owner's.
    let made = actum(&inner, &["init", "."]);
    assert_eq!(made.code, 0, "{made:?}");
    fs::remove_dir_all(inner.join(".actum/recorded")).unwrap();
    let refused = foreign(&inner, &other, &["apply", &change]);
    assert_bound_elsewhere(&refused);
    let message = value(&refused)["message"].to_string();
    assert!(message.contains("around this directory"), "{message}");
    assert_eq!(actum(&inner, &["apply", &change]).code, 0);
}

/// AEC-8, AA-5
#[test]
fn a_workspace_around_a_recorded_one_does_not_change_its_files() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let around = directory.path();
    let homes = tempfile::tempdir().unwrap();
    let other = homes.path().join("other-home");
    assert_eq!(foreign(around, &other, &["init", "."]).code, 0);
    let inner = files(&root, "inner.json", &[("workspace/sub/b.txt", "evil\n")]);
    let apply = foreign(around, &other, &["apply", "--overwrite", &inner]);
    assert_bound_elsewhere(&apply);
    let message = value(&apply)["message"].to_string();
    assert!(message.contains("the workspace `workspace` inside this one"), "{message}");
    let script = "echo evil > workspace/sub/b.txt";
    let exec = foreign(around, &other, &["exec", "--", "sh", "-c", script]);
    assert!(exec.stdout.contains("BOUND_ELSEWHERE"), "{exec:?}");
    assert_eq!(text(&root, "sub/b.txt"), "two\n");
    let beside = files(&root, "beside.json", &[("beside/b.txt", "fine\n")]);
    assert_eq!(foreign(around, &other, &["apply", &beside]).code, 0);
    // The one inside was there first, and stays with its ledger.
    assert_eq!(actum(&root, &["undo"]).code, 0);
}

/// AEC-8: a workspace is bound from the moment at which the operator makes it.
#[test]
fn a_workspace_belongs_to_the_ledger_that_made_it() {
    let (directory, root) = workspace();
    let other = directory.path().join("other-home");
    assert_bound_elsewhere(&foreign(&root, &other, &["apply", "../change.diff"]));
    assert_eq!(text(&root, "a.txt"), "1\n");
    // Nothing is recorded but the beginning of the log, so a first approval key counts at once.
    assert_eq!(value(&actum(&root, &["doctor", "--json"]))["findings"][0]["verdict"], "ok");
    approval_key(&root);
    assert_eq!(actum(&root, &APPLY).code, 0);
    assert_eq!(actum(&root, &["status"]).code, 0);
}

/// AEC-8: `init` makes nothing where it cannot bind.
#[test]
fn init_without_a_ledger_makes_no_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("workspace");
    fs::create_dir_all(&root).unwrap();
    let home = home_of(&root).join("tenants/default");
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    for above in home.ancestors().skip(1).take(2) {
        fs::set_permissions(above, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::write(home.join("ledger.db"), "no database").unwrap();
    let made = actum(&root, &["init"]);
    assert_ne!(made.code, 0, "{made:?}");
    assert!(!root.join(".actum").exists(), "{made:?}");
}

/// AEC-8, D-5: who may run actum does not write what the next login or the next command by name runs.
#[test]
fn no_workspace_is_made_where_programs_act_on_files_unless_the_operator_lists_it() {
    let (directory, root) = workspace();
    let person = directory.path().canonicalize().unwrap().join("person");
    let files = json!({ "files": [{ "path": "git", "content": "evil\n" }] }).to_string();
    fs::write(directory.path().join("git.json"), files).unwrap();
    let input = directory.path().join("git.json");
    let input = input.to_str().unwrap();
    let run = |place: &Path, arguments: &[&str]| -> Ended {
        let command = command(place, &[&["--json"], arguments].concat());
        program::at_known_place(command).output().unwrap().into()
    };
    for place in ["", "bin", ".local/bin", ".vim", ".cargo/bin/deep"] {
        let place = person.join(place);
        fs::create_dir_all(&place).unwrap();
        for arguments in [
            &["init"][..],
            &["apply", input],
            &["apply", "--dry-run", input],
            &["exec", "--", "touch", "git"],
            &["exec", "--drop", "--", "touch", "git"],
        ] {
            let refused = run(&place, arguments);
            let expected = match (arguments[0], place == person.join("bin")) {
                // Where no command starts is said first.
                ("exec", false) => (125, json!("SANDBOX_NOT_ALLOWED")),
                ("exec", true) => (111, json!("ROOT_NOT_ALLOWED")),
                _ => (1, json!("ROOT_NOT_ALLOWED")),
            };
            assert_eq!((refused.code, reason(&refused)), expected, "{refused:?}");
        }
        assert!(!place.join(".actum").exists() && !place.join("git").exists());
    }
    let listed = person.join(".vim");
    let configuration = program::operator_of(&root).join("actum");
    fs::create_dir_all(&configuration).unwrap();
    let policy = format!("version = 1\n[workspaces]\nroots = [{listed:?}]\n");
    fs::write(configuration.join("actum.toml"), policy).unwrap();
    let made = run(&listed, &["apply", input]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(reason(&run(&person.join(".local/bin"), &["init"])), "ROOT_NOT_ALLOWED");
    // A project in the home directory is a workspace like any other.
    fs::create_dir_all(person.join("project/bin")).unwrap();
    assert_eq!(run(&person.join("project"), &["init"]).code, 0);
    let check = run(&root, &["policy", "check"]);
    assert_eq!(value(&check)["roots"], json!([listed]), "{check:?}");
}

/// AA-5, D-5: ledgers and keys are no workspace, whichever installation they belong to, and neither is a place of
/// credentials; what is in them is neither changed nor shown.
#[test]
fn ledgers_keys_and_credentials_are_no_workspace() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let keys = home_of(&root).join("keys");
    let before = fs::read(keys.join("keyring.json")).unwrap();
    let input = json!({ "files": [{ "path": "keyring.json", "content": "{}\n" }] }).to_string();
    let input_file = directory.path().join("keyring-change.json");
    fs::write(&input_file, input).unwrap();
    let input = input_file.to_str().unwrap();
    for is_own in [true, false] {
        for arguments in [
            &["init"][..],
            &["apply", "--overwrite", input],
            &["apply", "--overwrite", "--dry-run", "--diff", input],
            &["exec", "--", "true"],
        ] {
            let mut command = command(&keys, arguments);
            let home = if is_own { home_of(&root) } else { directory.path().join("another") };
            command.env("ACTUM_HOME", home);
            let ended: Ended = command.output().unwrap().into();
            assert!(![0, 6].contains(&ended.code), "{arguments:?}: {ended:?}");
            assert!(!ended.stdout.contains("public"), "{ended:?}");
            assert!(!keys.join(".actum").exists(), "{arguments:?}");
        }
    }
    assert_eq!(fs::read(keys.join("keyring.json")).unwrap(), before);
    let person = directory.path().join("person");
    fs::create_dir_all(person.join(".ssh")).unwrap();
    fs::write(person.join(".ssh/id"), "private\n").unwrap();
    let input = json!({ "files": [{ "path": "id", "content": "" }] }).to_string();
    fs::write(directory.path().join("id.json"), input).unwrap();
    let look = ["apply", "--overwrite", "--dry-run", "--diff", "../../id.json"];
    let mut command = command(&person.join(".ssh"), &look);
    let ended: Ended = command.env("HOME", &person).output().unwrap().into();
    assert_eq!((ended.code, &*ended.stdout), (2, ""), "{ended:?}");
    assert!(!person.join(".ssh/.actum").exists());
}

/// A change of one file, as text for `apply`.
fn change_of(directory: &Path, name: &str, path: &str, content: &str) -> String {
    let file = directory.join(name);
    let change = json!({ "files": [{ "path": path, "content": content }] });
    fs::write(&file, change.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// AA-5, D-5: a root around ledgers and keys, or around credentials, is no way to them, whichever home is in use.
#[test]
fn no_change_leads_into_ledgers_keys_or_credentials_below_the_root() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let around = directory.path().join("around");
    let person = around.join("person");
    fs::create_dir_all(person.join(".ssh")).unwrap();
    fs::write(person.join(".ssh/id"), "private line\n").unwrap();
    fs::create_dir_all(person.join(".config/actum")).unwrap();
    fs::write(person.join(".config/actum/actum.toml"), "version = 1\n# private line\n").unwrap();
    let vault = around.join("deep/vault");
    fs::create_dir_all(vault.parent().unwrap()).unwrap();
    let copied = std::process::Command::new("cp")
        .args(["-a", home_of(&root).to_str().unwrap(), vault.to_str().unwrap()])
        .status();
    assert!(copied.unwrap().success());
    let other = directory.path().join("other-home");
    let run = |arguments: &[&str]| -> Ended {
        let mut command = command(&around, arguments);
        command.env("ACTUM_HOME", &other).env("HOME", &person);
        command.env("XDG_CONFIG_HOME", person.join(".config"));
        command.output().unwrap().into()
    };
    assert_eq!(run(&["init"]).code, 0);
    let keyring = fs::read(vault.join("keys/keyring.json")).unwrap();
    for path in [
        "deep/vault/keys/keyring.json",
        "deep/vault/waiting",
        "deep/vault/tenants/default/x",
        "deep/vault/new/sub/file",
        "person/.ssh/id",
        "person/.ssh/new",
        "person/.config/actum/actum.toml",
        "person/.config/actum/access/x.cedar",
    ] {
        let input = change_of(directory.path(), "within.json", path, "mine\n");
        for arguments in [
            &["--json", "apply", "--overwrite", &input][..],
            &["--json", "apply", "--overwrite", "--dry-run", "--diff", &input],
        ] {
            let ended = run(arguments);
            assert_eq!(
                (ended.code, reason(&ended)),
                (1, json!("PATH_REFUSED")),
                "{path}: {ended:?}"
            );
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!shown.contains("private line") && !shown.contains("\"public\""), "{shown}");
        }
    }
    // A copy would show the content elsewhere, and a hunk that does not match in the message.
    let copy = json!({ "operations": [{ "op": "copy", "from": "person/.ssh/id", "to": "shown" }] });
    let diff = "--- a/person/.ssh/id\n+++ b/person/.ssh/id\n@@ -1 +1 @@\n-guess\n+mine\n";
    for (name, content) in [("copy.json", copy.to_string()), ("guess.diff", diff.to_owned())] {
        let input = directory.path().join(name);
        fs::write(&input, content).unwrap();
        let ended = run(&["apply", "--dry-run", "--diff", input.to_str().unwrap()]);
        assert_ne!(ended.code, 0, "{ended:?}");
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("private line"), "{ended:?}");
    }
    assert_eq!(fs::read(vault.join("keys/keyring.json")).unwrap(), keyring);
    let script = "echo mine > deep/vault/keys/new; echo mine > plain";
    let exec = run(&["--json", "exec", "--", "sh", "-c", script]);
    assert_eq!(value(&exec)["error"]["reason"], "PATH_REFUSED", "{exec:?}");
    assert!(!vault.join("keys/new").exists() && !around.join("plain").exists());
    let input = change_of(directory.path(), "plain.json", "deep/plain", "mine\n");
    assert_eq!(run(&["apply", &input]).code, 0);
}

/// D-5, FO-9: what a change or another user puts in or above a workspace does not lock it.
#[test]
fn a_directory_that_looks_like_a_home_locks_no_recorded_workspace() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let keyring = "{\"format\":\"actum.keyring/1\",\"keys\":[]}\n";
    // Names that a project may have are no home, so the change is like any other.
    for (name, path) in [("1.json", "keys/a"), ("2.json", "lock"), ("3.json", "keys/keyring.json")]
    {
        let input = change_of(directory.path(), name, path, "{}\n");
        assert_eq!(actum(&root, &["apply", &input]).code, 0, "{path}");
    }
    // A keyring at that place is denied.
    for path in ["keys/keyring.json", "sub/keys/keyring.json"] {
        let input = change_of(directory.path(), "4.json", path, keyring);
        let denied = actum(&root, &["--json", "apply", "--overwrite", &input]);
        assert_eq!((denied.code, reason(&denied)), (1, json!("CHANGE_DENIED")), "{denied:?}");
    }
    // Another program of the user makes one in the workspace and above it.
    for place in [&root, directory.path()] {
        fs::create_dir_all(place.join("keys")).unwrap();
        fs::write(place.join("keys/keyring.json"), keyring).unwrap();
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(place.join("keys"), closed).unwrap();
    }
    let input = change_of(directory.path(), "5.json", "sub/new", "text\n");
    for arguments in [&["apply", &input][..], &["undo"], &["recover"], &["gc"]] {
        let ended = actum(&root, arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    }
    // A new workspace there is rejected, and the message names the file.
    let new = directory.path().join("new");
    fs::create_dir(&new).unwrap();
    let rejected = actum(&new, &["init"]);
    assert_eq!(rejected.code, 1, "{rejected:?}");
    assert!(rejected.stderr.contains("/keys/keyring.json` marks"), "{rejected:?}");
}

/// AA-5: a directory with the name of a state directory is no workspace that was checked when it was made.
#[test]
fn the_name_of_the_state_directory_makes_no_workspace() {
    let (directory, root) = workspace();
    let person = directory.path().canonicalize().unwrap().join("person");
    let place = person.join(".gh");
    fs::create_dir_all(place.join(".actum/recorded")).unwrap();
    fs::write(place.join("hosts.yml"), "oauth_token: private line\n").unwrap();
    let input = change_of(directory.path(), "hosts.json", "hosts.yml", "");
    for arguments in [
        &["--json", "apply", "--overwrite", &input][..],
        &["--json", "apply", "--overwrite", "--dry-run", "--diff", &input],
    ] {
        let mut command = command(&place, arguments);
        command.env("ACTUM_HOME", home_of(&root));
        command.env("XDG_CONFIG_HOME", program::operator_of(&root));
        let ended: Ended = program::at_known_place(command).output().unwrap().into();
        assert_eq!((ended.code, reason(&ended)), (1, json!("ROOT_NOT_ALLOWED")), "{ended:?}");
        assert!(!ended.stdout.contains("private line"), "{ended:?}");
    }
}

/// AEC-8: a checkpoint that moves a run to the history, or many such runs, hide nothing.
#[test]
fn runs_of_another_installation_in_the_history_are_an_alert() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &APPLY).code, 0);
    let (recorded, hidden) = (root.join(".actum/recorded"), directory.path().join("hidden"));
    fs::rename(&recorded, &hidden).unwrap();
    let other = directory.path().join("other-home");
    let input = change_of(directory.path(), "other.json", "other", "text\n");
    assert_eq!(with_home(&root, &other, &["apply", &input]).code, 0);
    // It moves the run from the journal to the history.
    assert_eq!(with_home(&root, &other, &["gc"]).code, 0);
    fs::remove_dir_all(&recorded).unwrap();
    fs::rename(&hidden, &recorded).unwrap();
    // Those that are looked at may all be unknown.
    assert_eq!(actum(&root, &["status", "--runs", "1"]).code, 4);
    let input = change_of(directory.path(), "own.json", "own", "text\n");
    assert_eq!(actum(&root, &["apply", &input]).code, 0);
    assert_eq!(alerts(&root), ["RUN_UNRECORDED"]);
}
