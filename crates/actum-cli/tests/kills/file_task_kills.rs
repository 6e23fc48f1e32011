//! A file task whose host or child is killed before its system calls: when it is asked for again, its result says what is there.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{actum, operator_of};
use crate::traced::{End, act_on_child, kill_before_call};

/// A kill is tried before every so many calls; `ACTUM_KILL_STRIDE=1` tries each.
const STRIDE: usize = 17;
/// The name under which the child is started.
const CHILD: &str = "actum-file-worker";
const CONTENT: &str = "the only copy";

/// Capability, and the directory that the file goes to.
const CASES: [(&str, &str); 4] =
    [("FILE_MOVE", "a"), ("FILE_COPY", "a"), ("FILE_DELETE", ""), ("FILE_MOVE", "b")];

fn stride() -> usize {
    std::env::var("ACTUM_KILL_STRIDE").ok().and_then(|text| text.parse().ok()).unwrap_or(STRIDE)
}

/// Two base directories on two file systems, and a lease for them.
struct Place {
    directory: TempDir,
    a: PathBuf,
    b: TempDir,
}

impl Place {
    fn new() -> Self {
        // A kill loses nothing that was written; in memory the syncs cost nothing.
        let in_memory = Path::new("/dev/shm");
        let at = if in_memory.is_dir() { in_memory.into() } else { std::env::temp_dir() };
        let directory = tempfile::tempdir_in(at).unwrap();
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
        let passphrase = place.directory.path().join("passphrase");
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
        self.directory.path().join("output")
    }

    /// Puts the file there, and the manifest of a task for it; gives where it goes.
    fn ask(&self, task: &str, (capability, to): (&str, &str)) -> Option<PathBuf> {
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
        fs::write(self.directory.path().join("manifest.json"), manifest.to_string()).unwrap();
        destination
    }

    /// The result of the task, with what is there: before, or after.
    fn settle(
        &self,
        (capability, _): (&str, &str),
        destination: Option<&Path>,
        what: &str,
    ) -> bool {
        let ended = actum(&self.a, &RUN);
        fs::write(self.directory.path().join("result.json"), &ended.stdout).unwrap();
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
fn a_task_whose_host_is_killed_at_any_call_is_settled_when_it_is_asked_for_again() {
    let place = Place::new();
    for (number, case) in CASES.into_iter().enumerate() {
        let mut kills = 0;
        for call in (number..).step_by(stride()) {
            let destination = place.ask(&format!("{number}-{call}"), case);
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

/// FE-1, FE-16: nothing is left of what a child did that was killed.
#[test]
fn a_task_whose_child_is_killed_at_any_call_fails_or_is_done() {
    let place = Place::new();
    for (number, case) in CASES.into_iter().enumerate() {
        let (mut failed, mut kills) = (0, 0);
        for call in (number..).step_by(stride().div_ceil(3)) {
            let destination = place.ask(&format!("{number}-{call}"), case);
            let (code, is_killed) =
                act_on_child(&place.a, &RUN, CHILD, &place.output(), |child, made| {
                    let is_it = made == call;
                    if is_it {
                        kill(child, Signal::SIGKILL).unwrap();
                    }
                    is_it
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

/// FE-1, FE-16: somebody who has stopped the child with a debugger writes other bytes into the staged file.
#[test]
fn a_debugger_of_the_child_cannot_have_other_bytes_published() {
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
                let destination = place.ask(&format!("{}-{number}-{call}", case.0), case);
                let mut made_with_job = 0;
                let (code, is_stopped) =
                    act_on_child(&place.a, &RUN, CHILD, &place.output(), |child, _| {
                        // Before the child has its job there is none.
                        let staged = format!("/proc/{child}/fd/4");
                        let Ok(staged) = fs::File::options().write(true).open(staged) else {
                            return false;
                        };
                        made_with_job += 1;
                        let is_it = made_with_job > call;
                        if is_it {
                            act(&staged);
                        }
                        is_it
                    });
                let what = format!("{case:?}, {number} at call {call}");
                let is_done = place.settle(case, destination.as_deref(), &what);
                assert_eq!(code == 0, is_done, "{what}");
                if !is_stopped {
                    break;
                }
                failed += usize::from(!is_done);
                rounds += 1;
            }
        }
    }
    assert!(failed > 3 && failed < rounds, "{failed} of {rounds}");
}
