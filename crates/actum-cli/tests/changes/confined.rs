//! Confinement of commands by `actum exec` and `actum sandbox run`, as described in docs/exec.md and docs/sandbox.md.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::json;
use crate::program::{Ended, actum, command, home_of, operator_of, workspace};
use crate::trees::tree;
use actum_testkit::{Errno, limited_host};
use actum_workspace::{RunOptions, Workspace};

fn shell(root: &Path, verb: &[&str], script: &str) -> Ended {
    actum(root, &[verb, &["--", "sh", "-c", script]].concat())
}

fn exec(root: &Path, options: &[&str], script: &str) -> Ended {
    shell(root, &[&["exec"], options].concat(), script)
}

fn operator_says(root: &Path, policy: &str) {
    let directory = operator_of(root).join("actum");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("actum.toml"), format!("version = 1\n{policy}\n")).unwrap();
}

/// AA-10, issue 22 (claims): a key home is hidden from commands even if its parent directory has very many entries.
#[test]
fn key_home_among_many_files_is_hidden() {
    let (directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let start = tempfile::tempdir().unwrap();
    // Directory order follows the hashes of names, so the test creates files that sort both before and after the home.
    let fill = |from: usize| {
        for name in from..from + 10_100 {
            fs::write(start.path().join(format!("file-{name}")), "").unwrap();
        }
    };
    fill(0);
    fs::rename(home_of(&root), start.path().join("home")).unwrap();
    fill(10_100);
    let mut listed = command(start.path(), &["sandbox", "run", "-q", "--", "find", "home"]);
    listed.env("ACTUM_HOME", directory.path().join("other"));
    let listed = Ended::from(listed.output().unwrap());
    assert_eq!(listed.stdout, "home\n", "{listed:?}");
}

/// AA-10, AA-7, issue 22 (claims): `sandbox run` keeps changes in `write` directories and in caches, so a denied command must not
/// start there.
#[test]
fn denied_command_is_not_started_where_its_changes_would_persist() {
    let (_directory, root) = workspace();
    let out = root.with_file_name("out");
    for directory in [out.clone(), root.join("target")] {
        fs::create_dir(directory).unwrap();
    }
    let rule = "[[command]]\nargv = ['touch']\ndecision = 'deny'\nreason = 'use an editor'\n";
    operator_says(&root, &format!("[sandbox]\nwrite = [{out:?}]\ncaches = ['target']\n{rule}"));
    let run = |options: &[&str], program: &str, file: &str| {
        actum(&root, &[&["sandbox", "run"], options, &["--", program, file]].concat())
    };
    let written = ["--write", "../out"];
    let cached = ["--capture", "--cache", "target"];
    for (options, file) in [(&written[..], "../out/x"), (&cached, "target/x")] {
        for program in ["touch", "/usr/bin/touch"] {
            let denied = run(options, program, file);
            assert_eq!((denied.code, denied.stdout.as_str()), (125, ""), "{denied:?}");
            assert!(denied.stderr.contains("use an editor"), "{denied:?}");
        }
        assert!(!root.join(file).exists());
        assert_eq!(run(options, "tee", file).code, 0);
        assert!(root.join(file).exists());
    }
    // Commands whose changes are discarded need no rule.
    assert_eq!(run(&["--capture"], "touch", "new").code, 0);
    assert!(!root.join("new").exists());
}

/// FE-12, issue 22 (claims): the limits that the operator lists are upper bounds for callers and do not change the defaults.
#[test]
fn a_listed_limit_changes_no_default() {
    let (_directory, root) = workspace();
    operator_says(&root, "[sandbox]\nlimits = ['open_files=4096', 'file_size=3G']");
    let print = "ulimit -n; ulimit -f";
    let default = exec(&root, &["--drop"], print);
    let blocks = |bytes: u64| (bytes / 512).to_string();
    assert_eq!(default.stdout, format!("1024\n{}\n", blocks(2 << 30)), "{default:?}");
    let raised = exec(&root, &["--drop", "--limit", "open_files=4096"], print);
    assert!(raised.stdout.starts_with("4096\n"), "{raised:?}");
}

/// AA-10, issue 22 (claims): `PATH` contains only directories whose programs the command may execute.
#[test]
fn path_holds_only_executable_directories_and_notes_other_programs() {
    let (directory, root) = workspace();
    let own = directory.path().join("bin");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("python3"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(own.join("python3"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = command(&root, &[&["sandbox", "run", "--"], arguments].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", own.display()));
        Ended::from(command.output().unwrap())
    };
    let ended = run(&["sh", "-c", "echo $PATH"]);
    assert_eq!(ended.stdout, "/usr/bin:/bin\n", "{ended:?}");
    let ended = run(&["python3", "-c", "print(1)"]);
    assert_eq!(ended.stdout, "1\n", "{ended:?}");
    let note = format!("outside of it, this would be `{}`", own.join("python3").display());
    assert!(ended.stderr.contains(&note), "{ended:?}");
}

/// AA-6, issue 28: hard links become separate files, and files keep the modification times that the command set.
#[test]
fn hard_links_become_files_and_files_keep_their_times() {
    let (_directory, root) = workspace();
    let year_2001 = UNIX_EPOCH + Duration::from_secs(978_307_200);
    let script = "cat sub/b.txt > /dev/null; ln a.txt b; touch -d 2000-01-01 c";
    let ended = exec(&root, &[], script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(fs::metadata(root.join("b")).unwrap().nlink(), 1);
    assert_eq!(fs::metadata(root.join("a.txt")).unwrap().nlink(), 1);
    assert!(fs::metadata(root.join("c")).unwrap().modified().unwrap() < year_2001);
}

/// AA-6, issue 22 (claims): a file that another process changed is a conflict only if the command changed it too.
#[test]
fn foreign_change_of_a_file_that_was_only_read_is_not_a_conflict() {
    let (_directory, root) = workspace();
    let mut running =
        command(&root, &["exec", "--", "sh", "-c", "cat a.txt; read go; echo x > new"]);
    let running = running.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().unwrap();
    let mut first = [0; 2];
    std::io::Read::read_exact(running.stdout.as_mut().unwrap(), &mut first).unwrap();
    fs::write(root.join("a.txt"), "foreign\n").unwrap();
    std::io::Write::write_all(running.stdin.as_mut().unwrap(), b"go\n").unwrap();
    let ended = Ended::from(running.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(crate::program::text(&root, "a.txt"), "foreign\n");
    assert!(root.join("new").exists());
}

/// AA-6, issue 22 (claims): a command cannot create set-id files or sockets in its view.
#[test]
fn a_command_can_make_neither_sockets_nor_set_id_files() {
    let (_directory, root) = workspace();
    let bind = "import socket; socket.socket(socket.AF_UNIX).bind('s')";
    for script in ["chmod u+s a.txt", "chmod g+s a.txt", &format!("python3 -c \"{bind}\"")] {
        let ended = exec(&root, &[], script);
        assert_eq!(ended.code, 1, "{script}: {ended:?}");
        assert!(ended.stderr.contains("not permitted"), "{script}: {ended:?}");
    }
    assert_eq!(fs::metadata(root.join("a.txt")).unwrap().mode() & 0o7777, 0o644);
    assert!(!root.join("s").exists());
}

/// AA-6, AA-7, issue 22 (claims)
#[test]
fn failed_command_keeps_only_its_cache_changes() {
    let (_directory, root) = workspace();
    operator_says(&root, "[sandbox]\ncaches = ['target']");
    let failed = exec(&root, &[], "echo built > target/x; echo gone > a.txt; exit 3");
    assert_eq!(failed.code, 3, "{failed:?}");
    assert_eq!(crate::program::text(&root, "target/x"), "built\n");
    assert_eq!(crate::program::text(&root, "a.txt"), "1\n");
}

/// AA-7, issue 22 (claims)
#[test]
fn checks_are_skipped_for_dropped_and_empty_changes() {
    let (_directory, root) = workspace();
    assert_eq!(exec(&root, &["--drop", "--verify", "false"], "echo x > a.txt").code, 0);
    assert_eq!(exec(&root, &["--verify", "false"], "true").code, 0);
    assert_eq!(exec(&root, &["--verify", "false"], "echo x > a.txt").code, 111);
}

/// AA-5, AA-7, issue 22 (claims): the checks run again on an approved change before it is applied.
#[test]
fn failed_check_at_approval_rejects_the_change() {
    let (_directory, root) = workspace();
    let passphrase = crate::program::approval_key(&root);
    fs::write(root.join("gate"), "").unwrap();
    let queued = exec(&root, &["--review", "--verify", "test -e gate"], "echo x > a.txt");
    assert_eq!(queued.code, 116, "{queued:?}");
    let plan = json(&actum(&root, &["queue", "--json"]))["plans"][0]["plan"].clone();
    let approve = ["approve", plan.as_str().unwrap(), "--passphrase-file", &passphrase, "--json"];
    fs::remove_file(root.join("gate")).unwrap();
    let refused = actum(&root, &approve);
    assert_eq!(json(&refused)["reason"], "VERIFICATION_FAILED", "{refused:?}");
    assert_eq!(crate::program::text(&root, "a.txt"), "1\n");
}

/// AA-10, issue 22 (claims): `exec` uses reserved exit codes for these failures, because the command itself may exit with any other
/// code.
#[test]
fn exec_has_own_exit_codes_for_a_busy_workspace_and_missing_namespaces() {
    let (_directory, root) = workspace();
    let mut held = Workspace::open(&root).unwrap();
    let options = RunOptions { label: "other work".into(), ..RunOptions::default() };
    let run = held.begin(options).unwrap();
    let busy = exec(&root, &[], "echo x > a.txt");
    assert_eq!(busy.code, 115, "{busy:?}");
    run.abort();
    let lesser = limited_host::without(&[limited_host::UNSHARE], Errno::PERM, || {
        let exec = exec(&root, &["--drop"], "true");
        let floor = actum(&root, &["sandbox", "run", "--floor", "N", "--", "true"]);
        (exec, floor, actum(&root, &["sandbox", "run", "-q", "--", "echo", "ran"]))
    });
    let (exec, floor, plain) = lesser;
    for refused in [exec, floor] {
        assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
    }
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "ran\n"), "{plain:?}");
}

/// AA-10, issue 22 (claims)
#[test]
fn an_interrupted_sandbox_ends_its_command_without_a_message() {
    let (_directory, root) = workspace();
    let mark = "sleep 4711.25";
    let mut running =
        command(&root, &["sandbox", "run", "--", "sh", "-c", "echo ready; exec sleep 4711.25"]);
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(running.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let pid = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let is_left = || processes().iter().any(|line| line == mark);
    let until = SystemTime::now() + Duration::from_secs(20);
    while is_left() && SystemTime::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_left());
}

/// Returns the command lines of all running processes.
fn processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path().join("cmdline"));
    let lines = paths.filter_map(|path: PathBuf| fs::read(path).ok());
    let words =
        |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ");
    lines.map(words).collect()
}

/// AA-2, issue 22 (claims): the ledger permanently records the command line, including any secrets in it.
#[test]
fn command_lines_are_recorded_in_the_ledger() {
    let (_directory, root) = workspace();
    assert_eq!(exec(&root, &[], "echo hunter2 > a.txt").code, 0);
    let log = actum(&root, &["log", "--json"]);
    let run = json(&log)["runs"][0]["run"].as_str().unwrap().to_owned();
    let receipt = json(&actum(&root, &["receipt", &run]));
    let payload = receipt["receipt"]["payload"].as_str().unwrap();
    let decode = ["-c", "printf %s \"$0\" | base64 -d", payload];
    let decoded = Command::new("sh").args(decode).output().unwrap().stdout;
    let decoded = String::from_utf8(decoded).unwrap();
    assert!(decoded.contains("echo hunter2"), "{decoded}");
}

/// Python script that runs the program on a new terminal, types the input after `ready` appears, and prints the outcome.
const AT_A_TERMINAL: &str = r#"
import os, pty, select, sys, termios, time
typed, program, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    os.execv(program, [program, *arguments])
before = termios.tcgetattr(terminal)
said, is_typed, until = b"", False, time.monotonic() + 60
while time.monotonic() < until:
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    said += piece
    if not is_typed and b"ready" in said:
        os.write(terminal, typed.encode())
        is_typed = True
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

fn at_a_terminal(root: &Path, typed: &str, script: &str) -> Ended {
    let program = env!("CARGO_BIN_EXE_actum");
    let mut python = Command::new("python3");
    python.args(["-c", AT_A_TERMINAL, typed, program, "exec", "--", "sh", "-c", script]);
    python
        .env("ACTUM_HOME", home_of(root))
        .env("XDG_CONFIG_HOME", crate::program::operator_of(root));
    python.current_dir(root).output().unwrap().into()
}

/// AA-10
#[test]
fn interactive_command_gets_a_terminal() {
    let (_directory, root) = workspace();
    let script = "test -t 0 && test -t 1 && test -t 2 && echo ready; read word; \
                  echo got $word > a.txt; echo by name > /dev/tty";
    let ended = at_a_terminal(&root, "hello\r", script);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("by name\r\n"), "{ended:?}");
    assert!(ended.stdout.contains("1 file changed"), "{ended:?}");
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "got hello\n");
}

/// AA-10: Ctrl-C on the terminal ends the command, and none of its changes is kept.
#[test]
fn command_interrupted_at_its_terminal_leaves_no_changes() {
    let (_directory, root) = workspace();
    let before = tree(&root);
    let ended = at_a_terminal(&root, "\u{3}", "echo gone > a.txt; echo ready; exec sleep 60");
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(ended.stdout.contains("the command failed: it was killed by signal 2"), "{ended:?}");
    assert_eq!(tree(&root), before);
}
