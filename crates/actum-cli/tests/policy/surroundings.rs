//! Directory in which the program starts, and destinations of its output.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, text, workspace};

#[test]
fn workspace_is_found_from_a_subdirectory_and_by_path() {
    let (directory, root) = workspace();
    let below = root.join("sub");
    assert_eq!(actum(&below, &["apply", "../../change.diff"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
    // The command uses the ledger to which the workspace is bound.
    let from_above = |arguments: &[&str]| {
        let mut command = command(directory.path(), arguments);
        command.env("ACTUM_HOME", crate::program::home_of(&root));
        command.env("XDG_CONFIG_HOME", crate::program::operator_of(&root));
        Ended::from(command.output().unwrap())
    };
    assert_eq!(from_above(&["-C", "workspace/sub", "undo"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "1\n");
    // The input path is also resolved in the directory given by `-C`.
    assert_eq!(from_above(&["apply", "-C", "workspace", "../change.diff"]).code, 0);
    assert!(!below.join(".actum").exists() && !directory.path().join(".actum").exists());
}

#[test]
fn commands_outside_a_workspace_fail_but_apply_creates_one() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("project/.git")).unwrap();
    fs::create_dir(root.join("project/src")).unwrap();
    let below = root.join("project/src");
    for verb in ["status", "log", "undo", "recover", "gc"] {
        let refused = actum(&below, &[verb]);
        assert_eq!(refused.code, 1, "{verb}");
        assert!(refused.stderr.starts_with("error: there is no workspace here: "), "{verb}");
    }
    let mut apply = command(&below, &["apply", "-"]);
    let mut apply =
        apply.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let diff = b"--- /dev/null\n+++ b/src/a.txt\n@@ -0,0 +1 @@\n+a\n";
    apply.stdin.take().unwrap().write_all(diff).unwrap();
    let applied = Ended::from(apply.wait_with_output().unwrap());
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(
        applied.stderr,
        format!("note: created a workspace in {}/project\n", root.display())
    );
    assert_eq!(text(&below, "a.txt"), "a\n");
    assert!(actum(&below, &["log"]).stdout.ends_with("  +1 -0  create src/a.txt\n"));
}

#[test]
fn init_reports_the_root_and_is_idempotent() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    let shown = root.display();
    assert_eq!(actum(&root, &["init"]).stdout, format!("created a workspace in {shown}\n"));
    let again = Ended {
        code: 0,
        stdout: format!("there is already a workspace in {shown}\n"),
        stderr: String::new(),
    };
    assert_eq!(actum(&root, &["init"]), again);
    fs::create_dir_all(root.join("below/named")).unwrap();
    let named = actum(&root, &["init", "below/named"]);
    assert_eq!(named.code, 0, "{named:?}");
    assert_eq!(named.stdout, format!("created a workspace in {shown}/below/named\n"));
    assert_eq!(named.stderr, format!("note: this directory is inside the workspace {shown}\n"));
    let below = actum(&root.join("below"), &["init"]);
    assert_eq!(below.stdout, format!("created a workspace in {shown}/below\n"));
}

#[test]
fn closed_output_pipe_is_not_a_failure() {
    let (_directory, root) = workspace();
    for arguments in [&["apply", "../change.diff"][..], &["log"], &["--json", "log"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = command(&root, arguments).stdout(writer).output().unwrap();
        let ended = Ended::from(ended);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{arguments:?}");
    }
    assert_eq!(text(&root, "a.txt"), "one\n");
}

#[test]
fn unwritable_result_is_reported() {
    let (_directory, root) = workspace();
    for arguments in [&["apply", "../change.diff"][..], &["--json", "log"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = Ended::from(command(&root, arguments).stdout(full).output().unwrap());
        assert_eq!(ended.code, 4);
        assert!(
            ended
                .stderr
                .starts_with("error: the command completed, but its result could not be written: "),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(text(&root, "a.txt"), "one\n");
}

#[test]
fn hard_linked_file_needs_approval_because_undo_cannot_relink_it() {
    let (_directory, root) = workspace();
    fs::hard_link(root.join("a.txt"), root.join("other.txt")).unwrap();
    let applied = actum(&root, &["apply", "../change.diff"]);
    assert_eq!(applied.code, 6);
    let expected = "R3: `a.txt` has other hard links, which undo does not restore";
    assert!(applied.stderr.contains(&format!("{expected}; nothing was changed\n")), "{applied:?}");
    assert_eq!((text(&root, "a.txt"), text(&root, "other.txt")), ("1\n".into(), "1\n".into()));
    let looked = actum(&root, &["apply", "--dry-run", "../change.diff"]);
    assert_eq!(
        looked.stderr,
        format!(
            "note: `a.txt` has other hard links, which keep the old content\n\
             note: this change needs approval: {expected}\n"
        )
    );
}

#[test]
fn log_shows_the_newest_runs_and_counts_the_older_ones() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["log"]).stdout, "no runs yet\n");
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let log = actum(&root, &["log", "-n", "1"]);
    assert_eq!(log.stdout.lines().count(), 2);
    assert!(log.stdout.contains("  undo "));
    assert_eq!(log.stderr, "note: older runs not shown: 1; run `actum log -n 2` to list all\n");
}

/// Sets an operator policy that keeps this many of the newest runs.
fn retain(root: &std::path::Path, runs: u64) {
    let policy = crate::program::operator_of(root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(policy, format!("version = 1\n[retention]\nruns = {runs}\ndays = 0\n")).unwrap();
}

/// FO-9: a run that `gc` removed cannot be undone, but the kept ones can.
#[test]
fn gc_forgets_the_oldest_runs_beyond_the_limit() {
    let (_directory, root) = workspace();
    retain(&root, 1);
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let collected = actum(&root, &["gc", "--max-runs", "1"]);
    assert_eq!(collected.code, 0);
    assert!(collected.stdout.contains("\nforgot 1 run ("), "{}", collected.stdout);
    assert_eq!(actum(&root, &["log"]).stdout.lines().count(), 2);
    let undo = actum(&root, &["log", "--json"]).stdout;
    let undo: serde_json::Value = serde_json::from_str(&undo).unwrap();
    assert_eq!(actum(&root, &["undo", undo["runs"][0]["run"].as_str().unwrap()]).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
}

/// D-5: a workspace in a world-writable directory is ignored from its subdirectories, and the error names it.
#[test]
fn workspace_in_a_shared_directory_is_ignored_from_subdirectories() {
    let directory = tempfile::tempdir().unwrap();
    let shared = directory.path().canonicalize().unwrap().join("shared");
    let below = shared.join("project");
    fs::create_dir_all(&below).unwrap();
    assert_eq!(actum(&shared, &["init"]).code, 0);
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let skipped = format!(
        "the workspace {0} above this directory is not used because other users may write to {0}; run `actum -C {0} …` to use it\n",
        shared.display()
    );
    let refused = actum(&below, &["status"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.starts_with("error: there is no workspace here: "), "{refused:?}");
    assert!(refused.stderr.contains(&format!("\nhint: {skipped}")), "{refused:?}");
    assert!(
        actum(&below, &["status", "--json"])
            .stdout
            .contains("above this directory is not used because other users")
    );
    fs::write(below.join("change.json"), r#"{"files":[{"path":"a.txt","content":"a\n"}]}"#)
        .unwrap();
    let applied = actum(&below, &["apply", "change.json"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    let made = format!("note: created a workspace in {}\nnote: {skipped}", below.display());
    assert_eq!(applied.stderr, made);
    assert_eq!(text(&below, "a.txt"), "a\n");
    // The workspace is used if it is named explicitly.
    assert_eq!(actum(&below, &["-C", "..", "status"]).code, 0);
}

/// D-5: another user's state directory above does not block the use of a directory below it.
#[test]
fn enclosing_workspace_of_another_user_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("outer");
    fs::create_dir_all(root.join("project/.actum")).unwrap();
    fs::create_dir(root.join("project/below")).unwrap();
    if std::os::unix::fs::chown(root.join("project/.actum"), Some(12345), None).is_err() {
        return; // only root can give a directory away
    }
    let below = root.join("project/below");
    assert_eq!(actum(&below, &["init"]).code, 0);
    assert_eq!(actum(&below, &["status"]).code, 0);
    fs::create_dir(root.join("project/other")).unwrap();
    let refused = actum(&root.join("project/other"), &["status"]);
    let why = format!(
        "the workspace {}/project above this directory is not used because it belongs to another user (12345)",
        root.display()
    );
    assert!(refused.stderr.contains(&why), "{refused:?}");
    // Discovery also stops at a directory that another user owns.
    assert_eq!(actum(&root, &["init"]).code, 0);
    assert_eq!(actum(&root.join("project/other"), &["status"]).code, 0);
    std::os::unix::fs::chown(root.join("project"), Some(12345), None).unwrap();
    let refused = actum(&root.join("project/other"), &["status"]);
    assert!(refused.stderr.contains("it belongs to another user (12345)"), "{refused:?}");
    assert_eq!(refused.code, 1);
}

/// D-5, AEC-8: workspace discovery does not go above the user's home directory. The password database defines that
/// directory, so this test runs in a mount namespace.
#[test]
fn discovery_ends_at_the_home_directory() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("outer");
    let home = root.join("home");
    fs::create_dir_all(home.join("project")).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    let project = home.join("project");
    let mut variable = command(&project, &["status"]);
    let found = Ended::from(variable.env("HOME", &home).output().unwrap());
    assert_eq!(found.code, 0, "{found:?}");
    let passwd = root.join("passwd");
    fs::write(&passwd, format!("you:x:0:0::{}:/bin/sh\n", home.display())).unwrap();
    let script = "mount --bind \"$1\" /etc/passwd && shift && exec \"$@\"";
    let status = || {
        let mut unshare = Command::new("unshare");
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        unshare.arg("--mount").args((!is_root).then_some("--map-root-user"));
        unshare.args(["sh", "-c", script, "sh"]).arg(&passwd);
        unshare.args([env!("CARGO_BIN_EXE_actum"), "status"]).current_dir(&project);
        unshare.env("ACTUM_HOME", crate::program::home_of(&project));
        unshare.env("XDG_CONFIG_HOME", crate::program::operator_of(&project));
        Ended::from(unshare.output().unwrap())
    };
    let refused = status();
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .contains("above this directory is not used because it is above your home directory"),
        "{refused:?}"
    );
    assert_eq!(actum(&home, &["init"]).code, 0);
    assert_eq!(status().code, 0);
}

/// FO-9: a collection that makes runs impossible to undo is recorded, and one below the operator's retention needs the
/// approval key.
#[test]
fn gc_below_the_retention_needs_the_approval_key_and_is_recorded() {
    let (directory, root) = workspace();
    let key = crate::program::approval_key(&root);
    for arguments in [&["apply", "../change.diff"][..], &["undo"], &["redo"]] {
        assert_eq!(actum(&root, arguments).code, 0);
    }
    let entries = || {
        let ledger = actum(&root, &["ledger", "show", "--json"]).stdout;
        let ledger: serde_json::Value = serde_json::from_str(&ledger).unwrap();
        ledger["size"].as_u64().unwrap()
    };
    let before = entries();
    for arguments in [&["gc", "--max-runs", "0"][..], &["gc", "--max-bytes", "0"]] {
        let refused = actum(&root, arguments);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.starts_with("error: the operator's retention keeps "),
            "{refused:?}"
        );
        assert!(refused.stderr.contains("actum explain RETENTION_HOLDS"), "{refused:?}");
    }
    // Without the passphrase nothing changes.
    assert_eq!(actum(&root, &["gc", "--max-runs", "0", "--below-retention"]).code, 1);
    assert_eq!(entries(), before);
    let forget = |file: &str| {
        actum(&root, &["gc", "--max-runs", "0", "--below-retention", "--passphrase-file", file])
    };
    fs::write(directory.path().join("wrong"), "some other words entirely\n").unwrap();
    fs::set_permissions(directory.path().join("wrong"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_ne!(forget("../wrong").code, 0);
    // A wrong passphrase raises an alert, and no run is removed.
    assert_eq!(entries(), before + 1);
    let before = before + 1;
    assert_eq!(actum(&root, &["log"]).stdout.lines().count(), 4);
    // Within the default limits nothing is removed and nothing is recorded.
    assert_eq!(actum(&root, &["gc"]).code, 0);
    assert_eq!(entries(), before);
    let log: serde_json::Value =
        serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    let oldest =
        log["runs"].as_array().unwrap().last().unwrap()["run"].as_str().unwrap().to_owned();
    let forgotten = forget(&key);
    assert_eq!(forgotten.code, 0, "{forgotten:?}");
    assert_eq!(actum(&root, &["log"]).stdout, "no runs yet\n");
    assert_eq!(entries(), before + 1);
    for named in [&*oldest, oldest.get(..5).unwrap()] {
        for verb in ["undo", "show", "diff"] {
            let refused = actum(&root, &[verb, named]);
            let begin = format!("error: run `{oldest}` was forgotten by `actum gc` at 20");
            assert!(refused.stderr.starts_with(&begin), "{verb}: {refused:?}");
            assert_eq!(refused.code, 1);
        }
    }
    let unknown = actum(&root, &["undo", "zzzzzzzzzzzz"]);
    assert!(unknown.stderr.starts_with("error: there is no run `zzzz"), "{unknown:?}");
    let entry = actum(&root, &["ledger", "show", &before.to_string(), "--json"]).stdout;
    let entry: serde_json::Value = serde_json::from_str(&entry).unwrap();
    assert_eq!(entry["kind"], "HISTORY_FORGOTTEN", "{entry}");
    assert_eq!(entry["payload"]["runs"].as_array().unwrap().len(), 3);
    assert_eq!(entry["payload"]["approved"], "passphrase");
    assert_eq!(entry["payload"]["kept"], 0);
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// FO-9: a collection within the retention needs no approval key, but the ledger still records it.
#[test]
fn gc_within_the_retention_is_recorded() {
    let (_directory, root) = workspace();
    retain(&root, 2);
    for arguments in [&["apply", "../change.diff"][..], &["undo"], &["redo"]] {
        assert_eq!(actum(&root, arguments).code, 0);
    }
    assert_eq!(actum(&root, &["gc", "--max-runs", "1"]).code, 1);
    let forgotten = actum(&root, &["gc", "--max-runs", "2"]);
    assert_eq!(forgotten.code, 0, "{forgotten:?}");
    let ledger = actum(&root, &["ledger", "show", "--json"]).stdout;
    assert!(ledger.contains("HISTORY_FORGOTTEN"), "{ledger}");
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
    // A workspace cannot set the retention of its own history.
    fs::write(root.join("actum.toml"), "version = 1\n[retention]\nruns = 0\ndays = 0\n").unwrap();
    let refused = actum(&root, &["gc", "--max-runs", "0"]);
    assert!(refused.stderr.contains("it sets `retention`"), "{refused:?}");
}

/// AEC-8: a full ledger starts no new run and reports how to continue. The recorded entries remain readable.
#[test]
fn full_ledger_refuses_new_runs_and_reports_the_limit() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let policy = crate::program::operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(&policy, "version = 1\n[ledger]\nmax_bytes = 4096\n").unwrap();
    let before = text(&root, "a.txt");
    // An undo may exceed the limit by a sixteenth.
    let refused = actum(&root, &["undo"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("and its limit is 4352; no new run, plan"), "{refused:?}");
    assert!(refused.stderr.contains("actum explain LEDGER_FULL"), "{refused:?}");
    assert_eq!(text(&root, "a.txt"), before);
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
    assert_eq!(actum(&root, &["log"]).stdout.lines().count(), 2);
    fs::write(&policy, "version = 1\n").unwrap();
    assert_eq!(actum(&root, &["undo"]).code, 0);
    // A workspace cannot limit the size of a ledger that others share.
    fs::write(root.join("actum.toml"), "version = 1\n[ledger]\nmax_bytes = 1\n").unwrap();
    let refused = actum(&root, &["apply", "../change.diff"]);
    assert!(refused.stderr.contains("it sets `ledger`"), "{refused:?}");
}

/// AEC-8: a command that runs out of memory exits by itself, and reports the reason if it still can.
#[test]
fn low_memory_fails_with_an_error_instead_of_hanging() {
    use std::os::unix::process::ExitStatusExt;
    let (_directory, root) = workspace();
    let run = |data: u64| {
        let inner = crate::program::command(&root, &["--json", "undo"]);
        let mut limited = std::process::Command::new("/usr/bin/timeout");
        limited.args(["-s", "KILL", "20", "/usr/bin/prlimit", &format!("--data={data}")]);
        limited.arg(inner.get_program()).args(inner.get_args()).current_dir(&root).env_clear();
        limited.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
        limited.output().unwrap()
    };
    let mut explained = 0;
    for data in (1_500_000..4_000_000).step_by(100_000) {
        let ended = run(data);
        let output = [ended.stdout, ended.stderr].concat();
        let output = String::from_utf8_lossy(&output).into_owned();
        let killed = ended.status.code() == Some(137) || ended.status.signal() == Some(9);
        assert!(!killed && !output.contains("panicked"), "{data}: {:?} {output}", ended.status);
        explained += u32::from(output.contains("LEDGER_UNAVAILABLE"));
    }
    assert!(explained > 0, "no limit kept the writer of the ledger from starting");
}

/// AEC-8, issue 22 (claims): other users cannot read the state of a workspace, whatever the umask.
#[test]
fn workspace_state_is_inaccessible_to_other_users() {
    let (_directory, root) = workspace();
    let verbs: [&[&str]; 4] = [&["apply", "../change.diff"], &["undo"], &["redo"], &["gc"]];
    for verb in verbs {
        assert_eq!(crate::program::under_umask("000", &root, verb).code, 0, "{verb:?}");
        let mut left = vec![root.join(".actum")];
        while let Some(path) = left.pop() {
            let found = fs::symlink_metadata(&path).unwrap();
            let expected = if found.is_dir() { 0o700 } else { 0o600 };
            // Staged and kept files have the modes of workspace files, but the directories around them are private.
            let is_of_workspace = ["keep", "stage"]
                .iter()
                .any(|name| found.is_file() && path.starts_with(root.join(".actum").join(name)));
            assert!(
                is_of_workspace || found.mode() & 0o7777 == expected,
                "{verb:?} {}: {:o}",
                path.display(),
                found.mode()
            );
            if found.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
    }
}

/// FO-7, issue 22 (claims): a symbolic link to the root is followed, and its target becomes the root.
#[test]
fn symlink_to_the_root_resolves_to_the_target_workspace() {
    let (directory, root) = workspace();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&root, &link).unwrap();
    assert_eq!(actum(&link, &["-C", ".", "apply", "../change.diff"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
    let real = root.canonicalize().unwrap();
    for start in [link.clone(), link.join("sub")] {
        let status = actum(&start, &["status"]);
        assert!(status.stdout.contains(real.to_str().unwrap()), "{status:?}");
    }
}

/// AEC-8, issue 22 (claims): discovery from inside a mounted file system does not find a workspace around it.
#[test]
fn discovery_ends_at_the_file_system_boundary() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("mounted")).unwrap();
    let script =
        "mount -t tmpfs tmpfs mounted && cd mounted && mkdir below && cd below && exec \"$@\"";
    let mut unshare = Command::new("unshare");
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    unshare.arg("--mount").args((!is_root).then_some("--map-root-user"));
    unshare.args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_actum"), "status"]);
    unshare.current_dir(&root).env("ACTUM_HOME", crate::program::home_of(&root));
    let status = Ended::from(unshare.output().unwrap());
    assert_eq!(status.code, 1, "{status:?}");
    assert!(status.stderr.contains("there is no workspace here"), "{status:?}");
    assert_eq!(actum(&root.join("mounted"), &["status"]).code, 0);
}

/// AA-9: a core file would contain private keys and be written to the current directory without passing a gate
/// (core(5)).
#[test]
fn core_files_are_disabled_regardless_of_the_inherited_limit() {
    let (_directory, root) = workspace();
    let mut apply = command(&root, &["apply", "-"]);
    let script = "ulimit -S -c \"$(ulimit -H -c)\"; exec \"$0\" \"$@\"";
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", script]).arg(apply.get_program()).args(apply.get_args());
    limited.env_clear().envs(apply.get_envs().filter_map(|(key, value)| Some((key, value?))));
    apply = limited;
    apply.current_dir(&root).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut reading = apply.spawn().unwrap();
    let mut input = reading.stdin.take().unwrap();
    // The input is larger than a pipe holds, so the program is reading once all of it is written.
    input.write_all(&vec![b'\n'; 1 << 18]).unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", reading.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    drop(input);
    reading.wait().unwrap();
}
