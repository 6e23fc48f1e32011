//! Ledgers and workspaces that earlier versions of actum created. The fixtures are kept permanently. `rules-6.tar.gz` was created
//! with version 6 of the rules, and has one run, one pending plan and one denied change.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::program::{Ended, actum};

const RUN: &str = "07n2kn4a8cmm";
const PLAN: &str = "9awh2jctyndn";

struct Earlier {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl Earlier {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/rules-6.tar.gz");
        let mut tar = Command::new("tar");
        tar.args(["-xpzf", fixture, "--no-same-owner", "-C"]).arg(directory.path());
        assert!(tar.status().unwrap().success());
        let root = directory.path().join("workspace");
        adopt(&root.join(".actum"));
        Self { _directory: directory, root }
    }

    fn actum(&self, arguments: &[&str]) -> Ended {
        actum(&self.root, arguments)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let ended = self.actum(&[arguments, &["--json"]].concat());
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    }
}

/// Updates the workspace id after unpacking, because it contains the inode and birth time of `.actum`.
fn adopt(state: &Path) {
    let metadata = fs::metadata(state).unwrap();
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_nanos().to_string();
    let born = metadata.created().map_or("-".to_owned(), since);
    let id = fs::read_to_string(state.join("id")).unwrap();
    let (id, _) = id.split_once(' ').unwrap();
    fs::write(state.join("id"), format!("{id} {} {born}\n", metadata.ino())).unwrap();
}

/// AEC-11: records without ground fields are still verified and shown, but their decisions are not replayed.
#[test]
fn records_of_an_earlier_version_of_the_rules_are_verified_and_shown() {
    let earlier = Earlier::new();
    assert_eq!(earlier.actum(&["ledger", "verify"]).code, 0);
    assert_eq!(earlier.actum(&["status"]).code, 0);
    let shown = earlier.actum(&["show", RUN]);
    assert!(shown.stdout.contains("gates      all 8 allow; R2: "), "{shown:?}");
    let scope = earlier.json(&["show", RUN])["record"]["gates"][1].clone();
    let sentence = "every path is in scope";
    assert_eq!((&scope["ground"], &scope["message"]), (&sentence.into(), &sentence.into()));
    let explained = earlier.actum(&["policy", "explain", RUN]);
    assert!(explained.stdout.contains("scope: allow, every path is in scope"), "{explained:?}");
    let replayed = earlier.json(&["replay", RUN]);
    assert_eq!(replayed["reason"], "REPLAY_ENGINE_UNSUPPORTED", "{replayed}");
    let plan = earlier.actum(&["queue", PLAN]);
    assert!(plan.stdout.contains("R3: `.github/workflows/ci.yml`: it is run by"), "{plan:?}");
    // The approver sees the grounds under the current rules.
    assert!(plan.stdout.contains("stale    the decision of the gates changed"), "{plan:?}");
}

/// AEC-11: a ledger from an earlier version accepts new runs, and its old runs can still be undone.
#[test]
fn a_ledger_of_an_earlier_version_takes_new_runs() {
    let earlier = Earlier::new();
    let words = earlier.root.join("words.txt");
    assert_eq!(earlier.actum(&["undo", RUN]).code, 0);
    assert_eq!(fs::read_to_string(&words).unwrap(), "hello\ngood day\n");
    assert_eq!(earlier.actum(&["redo"]).code, 0);
    assert_eq!(fs::read_to_string(&words).unwrap(), "hello\ngood morning\n");
    assert_eq!(earlier.actum(&["replay"]).code, 0);
    assert_eq!(earlier.actum(&["ledger", "verify"]).code, 0);
}
