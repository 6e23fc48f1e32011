//! Kills the host or the worker of a file task before a system call. A repeated request must return a result that matches the
//! files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use actum_testkit::{TestDir, effort};
use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{actum, operator_of};
use crate::traced::{End, act_on_child, kill_before_call};

/// Kill the program before every call whose number is a multiple of this. `ACTUM_KILL_STRIDE` overrides it.
const STRIDE: usize = 17;
/// Process name of the worker.
const CHILD: &str = "actum-file-worker";
const CONTENT: &str = "the only copy";

/// Capability of each task, and the target directory of its file.
const CASES: [(&str, &str); 4] =
    [("FILE_MOVE", "a"), ("FILE_COPY", "a"), ("FILE_DELETE", ""), ("FILE_MOVE", "b")];

fn stride() -> usize {
    effort("ACTUM_KILL_STRIDE", STRIDE)
}

/// Two base directories and a lease for both. They are on different file systems if one of them can be in memory.
struct Place {
    directory: TestDir,
    a: PathBuf,
    b: TempDir,
}

impl Place {
    fn new() -> Self {
        // Unlike a power cut, a kill never loses written data, and in-memory files are cheap to sync.
        let directory = TestDir::in_memory();
        let b = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let a = directory.path().join("a");
        fs::create_dir(&a).unwrap();
        let place = Self { directory, a, b };
        let operator = operator_of(&place.a).join("actum");
        fs::create_dir_all(&operator).unwrap();
        let policy = format!(
            "version = 1\n[file]\nbase_directories = [{:?}, {:?}]\n",
            place.a,
            place.b.path()
        );
        fs::write(operator.join("actum.toml"), policy).unwrap();
        let passphrase = place.directory.join("passphrase");
        fs::write(&passphrase, "correct horse battery staple\n").unwrap();
        fs::set_permissions(&passphrase, Permissions::from_mode(0o600)).unwrap();
        place.call(&["init"]);
        place.call(&["key", "make", "lease", "--passphrase-file", "../passphrase"]);
        let mut grant = vec!["lease", "grant", "--agent", "tester", "--expires", "12h"];
        for capability in ["FILE_MOVE", "FILE_COPY", "FILE_DELETE"] {
            grant.extend(["--capability", capability]);
        }
        let b = place.b.path().to_str().unwrap();
        grant.extend(["--base", ".", "--base", b, "--output", "../lease"]);
        place.call(&[&grant[..], &["--passphrase-file", "../passphrase"]].concat());
        place
    }

    fn call(&self, arguments: &[&str]) {
        let ended = actum(&self.a, arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
    }

    fn output(&self) -> PathBuf {
        self.directory.join("output")
    }

    /// Writes the source file and the manifest of a task. Returns the destination, if the task has one.
    fn request(&self, task: &str, (capability, to): (&str, &str)) -> Option<PathBuf> {
        let source = self.a.join("f");
        fs::write(&source, CONTENT).unwrap();
        let destination = match to {
            "" => None,
            "a" => Some(self.a.join("g")),
            _ => Some(self.b.path().join("g")),
        };
        if let Some(path) = destination.as_ref().filter(|path| path.exists()) {
            fs::remove_file(path).unwrap();
        }
        let mut input = json!({ "source_path": source });
        if let Some(destination) = &destination {
            input["destination_path"] = json!(destination);
        }
        let manifest = json!({
            "task_id": task, "capability_id": capability, "input": input,
            "constraints": { "reversible": true },
        });
        fs::write(self.directory.join("manifest.json"), manifest.to_string()).unwrap();
        destination
    }

    /// Runs the task and asserts that its result matches the files. Returns whether the task succeeded.
    fn settle(
        &self,
        (capability, _): (&str, &str),
        destination: Option<&Path>,
        what: &str,
    ) -> bool {
        let ended = actum(&self.a, &RUN);
        fs::write(self.directory.join("result.json"), &ended.stdout).unwrap();
        let verified = actum(&self.a, &["file", "verify", "../result.json"]);
        assert_eq!(verified.code, 0, "{what}: {ended:?}, {verified:?}");
        let result: Value = serde_json::from_str(&verified.stdout).unwrap();
        let is_done = result["status"] == "SUCCESS";
        let text = |path: &Path| fs::read_to_string(path).ok();
        let source = text(&self.a.join("f"));
        let stays = !is_done || capability == "FILE_COPY";
        assert_eq!(source.as_deref(), stays.then_some(CONTENT), "{what}: {result}");
        let made = destination.and_then(text);
        let is_made = is_done && destination.is_some();
        assert_eq!(made.as_deref(), is_made.then_some(CONTENT), "{what}: {result}");
        let again = actum(&self.a, &RUN);
        assert_eq!(again.stdout, ended.stdout, "{what}: the result is stored");
        if is_done && capability == "FILE_DELETE" {
            let reference = result["output"]["undo_metadata"]["recovery"].as_str().unwrap();
            self.call(&["file", "restore", reference]);
            assert_eq!(text(&self.a.join("f")).as_deref(), Some(CONTENT), "{what}");
        }
        is_done
    }
}

const RUN: [&str; 7] =
    ["file", "run", "../manifest.json", "--lease", "../lease", "--agent", "tester"];

/// FE-1, FE-8, FE-11
#[test]
fn task_with_a_killed_host_is_settled_by_the_next_request() {
    let place = Place::new();
    for (number, case) in CASES.into_iter().enumerate() {
        let mut kills = 0;
        for call in (number..).step_by(stride()) {
            let destination = place.request(&format!("{number}-{call}"), case);
            let end = kill_before_call(&place.a, &RUN, call, &place.output());
            let what = format!("{case:?}, {end:?} before call {call}");
            place.settle(case, destination.as_deref(), &what);
            if end == (End::Exited { code: 0 }) {
                break;
            }
            kills += 1;
        }
        assert!(kills > 50 / stride(), "{case:?}: {kills}");
    }
}

/// FE-1, FE-16: a killed worker leaves no changes behind.
#[test]
fn task_with_a_killed_child_fails_or_completes() {
    let place = Place::new();
    for (number, case) in CASES.into_iter().enumerate() {
        let (mut failed, mut kills) = (0, 0);
        for call in (number..).step_by(stride().div_ceil(3)) {
            let destination = place.request(&format!("{number}-{call}"), case);
            let (code, is_killed) =
                act_on_child(&place.a, &RUN, CHILD, &place.output(), |child, made| {
                    let is_reached = made == call;
                    if is_reached {
                        kill(child, Signal::SIGKILL).unwrap();
                    }
                    is_reached
                });
            let what = format!("{case:?}, killed: {is_killed}, before call {call}");
            let is_done = place.settle(case, destination.as_deref(), &what);
            assert_eq!(code == 0, is_done, "{what}");
            failed += usize::from(!is_done);
            if !is_killed {
                break;
            }
            kills += 1;
        }
        assert!(failed > 3 && failed >= kills / 2, "{case:?}: {failed} of {kills}");
    }
}

/// FE-1, FE-16: bytes that a debugger writes to the staged file of a stopped worker are not published.
#[test]
fn bytes_written_by_a_debugger_to_the_staged_file_are_not_published() {
    let place = Place::new();
    let others: [fn(&fs::File); 4] = [
        |staged| staged.write_all_at(b"theirs", 0).unwrap(),
        |staged| staged.write_all_at(b"!", CONTENT.len() as u64).unwrap(),
        |staged| staged.set_len(3).unwrap(),
        |staged| staged.set_len(1 << 20).unwrap(),
    ];
    let (mut failed, mut rounds) = (0, 0);
    for case in [("FILE_COPY", "a"), ("FILE_MOVE", "b")] {
        for (number, act) in others.iter().enumerate() {
            for call in (0..).step_by(stride().div_ceil(6)) {
                let destination = place.request(&format!("{}-{number}-{call}", case.0), case);
                let mut calls = 0;
                let (code, is_written) =
                    act_on_child(&place.a, &RUN, CHILD, &place.output(), |child, _| {
                        // The worker opens its staged file only after it received the job.
                        let staged = format!("/proc/{child}/fd/4");
                        let Ok(staged) = fs::File::options().write(true).open(staged) else {
                            return false;
                        };
                        calls += 1;
                        let is_reached = calls > call;
                        if is_reached {
                            act(&staged);
                        }
                        is_reached
                    });
                let what = format!("{case:?}, {number} at call {call}");
                let is_done = place.settle(case, destination.as_deref(), &what);
                assert_eq!(code == 0, is_done, "{what}");
                if !is_written {
                    break;
                }
                failed += usize::from(!is_done);
                rounds += 1;
            }
        }
    }
    assert!(failed > 3 && failed < rounds, "{failed} of {rounds}");
}
