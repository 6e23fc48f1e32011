//! Kills the program before each system call that may change something. The workspace must be in its old or new state, never in
//! between (FO-2).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::program::{Ended, actum};
use crate::traced::{End, ask_before_call, kill_before_call};
use actum_testkit::TestDir;
use nix::sys::signal::Signal;

/// Diff with every kind of change.
const CHANGE: &str = "\
diff --git a/edited.txt b/edited.txt
--- a/edited.txt
+++ b/edited.txt
@@ -1,2 +1,2 @@
 same
-old
+new
diff --git a/deep/edited.txt b/deep/edited.txt
--- a/deep/edited.txt
+++ b/deep/edited.txt
@@ -1 +1,2 @@
 first
+second
diff --git a/made/below/created.txt b/made/below/created.txt
new file mode 100644
--- /dev/null
+++ b/made/below/created.txt
@@ -0,0 +1 @@
+created
diff --git a/gone/deleted.txt b/gone/deleted.txt
deleted file mode 100644
--- a/gone/deleted.txt
+++ /dev/null
@@ -1 +0,0 @@
-deleted
diff --git a/from.txt b/deep/to.txt
similarity index 100%
rename from from.txt
rename to deep/to.txt
diff --git a/tool.sh b/tool.sh
old mode 100644
new mode 100755
";

/// FO-2
#[test]
fn apply_killed_at_any_call_leaves_the_old_or_new_state() {
    let template = Template::new();
    let count = template.kill_at_each_call(&["apply", "../change.diff"]);
    assert!(count.between > 0, "no kill came between two changes: {count:?}");
}

/// FO-2: Ctrl-C, a closed terminal or a shutdown leaves neither mixed content nor anything to recover.
#[test]
fn termination_signal_at_any_call_leaves_the_old_or_new_state() {
    let template = Template::new();
    let apply = ["apply", "../change.diff"];
    let (before, after) = (template.tree(), template.after(&apply));
    let (mut begun, mut done) = (0, 0);
    for call in 0.. {
        let copy = template.copy();
        let output = copy.directory.path().join("said");
        let signal = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP][call % 3];
        let End::Killed { system_call } =
            ask_before_call(&copy.root, &apply, call, &output, signal)
        else {
            break;
        };
        let what = format!("{signal} before call {call} (number {system_call})");
        let left = copy.tree();
        if left == before {
            begun += 1
        } else {
            done += 1
        }
        assert!(left == before || left == after, "{what}: a mixture");
        let status = actum(&copy.root, &["status", "--json"]).stdout;
        assert!(status.contains("\"unfinished\":null"), "{what}: {status}");
    }
    assert!(begun > 25 && done > 10, "{begun} before, {done} after");
}

/// AA-6: a killed `exec` has applied either all changes of its command or none.
#[test]
fn exec_killed_at_any_call_leaves_the_old_or_new_state() {
    let template = Template::new();
    let script =
        "echo new > edited.txt; rm -r gone; mkdir -p made; echo x > made/x; chmod 755 tool.sh";
    let count = template.kill_at_each_call(&["exec", "--json", "--", "sh", "-c", script]);
    assert!(count.between > 0, "no kill came between two changes: {count:?}");
}

/// FO-2, AA-6
#[test]
fn killed_action_leaves_the_old_or_new_state() {
    let template = Template::new();
    let plan = serde_json::json!({
        "actionType": "apply_changeset",
        "riskTier": "R2",
        "input": { "document": CHANGE },
        "rollbackPlan": "undo the run",
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedDirs": ["."] }
    });
    fs::write(template.directory.path().join("plan.json"), plan.to_string()).unwrap();
    let count = template.kill_at_each_call(&["action", "run", "../plan.json"]);
    assert!(count.between > 0, "no kill came between two changes: {count:?}");
}

/// FO-2, AA-6, AA-10: an action from a package leaves the old or new state when it is killed.
#[test]
fn killed_package_action_leaves_the_old_or_new_state() {
    let template = Template::new();
    let top = template.directory.path();
    let put = |path: &str, text: &str| {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    };
    put("config/actum/actum.toml", "version = 1\n[plugins]\nallowPluginCodeExecution = true\n");
    let manifest = serde_json::json!({
        "name": "join_lines",
        "riskTier": "R2",
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object" },
        "permissions": { "commands": [], "filesystem": "workspace" },
        "verification": { "required": true, "commands": [] },
        "rollback": { "required": true }
    });
    let package = "workspace/actions/join_lines";
    put(&format!("{package}/action.json"), &manifest.to_string());
    for (file, code) in [("execute", JOINS), ("verify", HOLDS), ("rollback", RESTORES)] {
        put(&format!("{package}/{file}.js"), code);
    }
    put("passphrase", "correct horse battery\n");
    fs::set_permissions(top.join("passphrase"), Permissions::from_mode(0o600)).unwrap();
    let signed = ["--passphrase-file", "../passphrase"];
    template.done(&[&["key", "make", "approval"], &signed[..]].concat());
    let activate = ["catalog", "activate", "join_lines", "--package", "actions/join_lines"];
    template.done(&[&activate[..], &signed].concat());
    let plan = serde_json::json!({
        "actionType": "join_lines",
        "riskTier": "R2",
        "input": {},
        "rollbackPlan": { "kind": "plugin" },
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedDirs": ["."] }
    });
    put("plan.json", &plan.to_string());
    // Most of these calls wait for the steps of the package, and `apply` covers the code that makes the change.
    let count = template.kill_at_calls(&["action", "run", "../plan.json"], 7);
    assert!(count.kills > 10, "{count:?}");
}

const JOINS: &str = "module.exports = async ({ context: { workspace } }) => { \
    const fs = require('fs'); \
    fs.writeFileSync(`${workspace}/edited.txt`, 'same old\\n'); \
    fs.rmSync(`${workspace}/gone`, { recursive: true }); \
    fs.mkdirSync(`${workspace}/made`); \
    fs.writeFileSync(`${workspace}/made/x`, ''); \
    return {}; };";
const HOLDS: &str = "module.exports = async () => ({ checks: [{ name: 'it_holds', ok: true }] });";
const RESTORES: &str = "module.exports = async ({ context: { workspace, before } }) => { \
    const fs = require('fs'); \
    fs.rmSync(`${workspace}/made`, { recursive: true }); \
    fs.cpSync(`${before}/gone`, `${workspace}/gone`, { recursive: true, preserveTimestamps: true }); \
    fs.copyFileSync(`${before}/edited.txt`, `${workspace}/edited.txt`); };";

/// AA-13: the next process records the actual outcome of a killed action exactly once.
#[test]
fn outcome_of_a_killed_action_is_recorded_once_and_correctly() {
    let template = Template::new();
    let plan = serde_json::json!({
        "actionType": "file_create",
        "riskTier": "R2",
        "input": { "path": "made.txt", "content": "made" },
        "rollbackPlan": "undo the run",
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedDirs": ["."] }
    });
    fs::write(template.directory.path().join("plan.json"), plan.to_string()).unwrap();
    let act = ["action", "run", "../plan.json"];
    let kill = |call: usize| -> Option<&'static str> {
        let Killed { copy, end, acknowledged } = template.killed_copy(&act, call);
        let End::Killed { system_call } = end else { return None };
        let what = format!("killed before call {call} (number {system_call})");
        copy.recovers(&what);
        let is_made = copy.root.join("made.txt").exists();
        let mut seen = "nothing";
        for _ in ["once", "and not again"] {
            let feedback = actum(&copy.root, &["feedback", "--json"]).stdout;
            let feedback: serde_json::Value = serde_json::from_str(&feedback).unwrap();
            let ended = feedback["actions"].as_array().unwrap();
            let [status, ground] = ["status", "ground"].map(|name| {
                assert!(ended.len() < 2, "{what}: {feedback}");
                ended.first().map(|ended| ended[name].clone())
            });
            let (status, ground) = (status.unwrap_or_default(), ground.unwrap_or_default());
            let seen_as = match (status.as_str(), ground.as_str()) {
                // The action had not started yet.
                (None, None) => ("nothing", false),
                (Some("reverted"), Some("INTERRUPTED")) => ("reverted", false),
                (Some("succeeded"), None) => ("succeeded", true),
                other => panic!("{what}: {other:?}"),
            };
            assert_eq!(is_made, seen_as.1, "{what}: {feedback}");
            assert!(!acknowledged || is_made, "{what}: {feedback}");
            seen = seen_as.0;
            copy.recovers(&what);
        }
        Some(seen)
    };
    let seen: BTreeSet<_> = (0..).map_while(kill).collect();
    assert_eq!(seen, ["nothing", "reverted", "succeeded"].into());
}

/// FO-2, FO-5
#[test]
fn undo_killed_at_any_call_leaves_the_old_or_new_state() {
    let template = Template::new();
    template.done(&["apply", "../change.diff"]);
    let count = template.kill_at_each_call(&["undo"]);
    assert!(count.between > 0, "no kill came between two changes: {count:?}");
}

/// FO-2
#[test]
fn a_gc_killed_at_any_call_changes_no_file() {
    let template = Template::new();
    template.retain_nothing();
    for _ in 0..2 {
        template.done(&["apply", "../change.diff"]);
        template.done(&["undo"]);
    }
    let count = template.kill_at_each_call(&["gc", "--max-runs", "1"]);
    assert_eq!(count.between, 0, "a collection touched the files");
}

/// FO-2
#[test]
fn recovery_killed_at_any_call_leaves_the_old_or_new_state() {
    let template = Template::new();
    let apply = ["apply", "../change.diff"];
    let (before, after) = (template.tree(), template.after(&apply));
    let is_mixture = |killed: &Killed| ![&before, &after].contains(&&killed.copy.tree());
    // The last kill that leaves a mixed state leaves the most work for recovery.
    let last_mixture = (0..)
        .map(|call| template.killed_copy(&apply, call))
        .take_while(|killed| killed.end != End::Exited { code: 0 })
        .enumerate()
        .filter_map(|(at, killed)| is_mixture(&killed).then_some(at))
        .last();
    let count = template.kill_recovery_at_each_call(&apply, last_mixture.expect("a mixture"));
    assert!(count.between > 0, "no kill came between two steps of recovery: {count:?}");
}

/// FO-2, issue 22 (claims): read-only commands leave a mixed state unchanged, and `status` reports it.
#[test]
fn read_only_commands_do_not_recover() {
    let template = Template::new();
    let apply = ["apply", "../change.diff"];
    let (before, after) = (template.tree(), template.after(&apply));
    let mut killed = (0..).map(|call| template.killed_copy(&apply, call));
    let mixed = killed.find(|killed| ![&before, &after].contains(&&killed.copy.tree())).unwrap();
    let left = mixed.copy.tree();
    for verb in [&["log"][..], &["show"], &["diff"], &["status"], &["explain", "CHANGE_DENIED"]] {
        actum(&mixed.copy.root, verb);
        assert_eq!(mixed.copy.tree(), left, "{verb:?}");
    }
    let status = actum(&mixed.copy.root, &["status"]);
    assert!(status.stdout.contains("recover"), "{status:?}");
    assert_eq!(actum(&mixed.copy.root, &["recover"]).code, 0);
    assert!([&before, &after].contains(&&mixed.copy.tree()));
}

/// Results of all kills of one command.
#[derive(Debug, Default)]
struct Count {
    kills: usize,
    /// Number of kills that left the tree in a mixed state.
    between: usize,
    /// Number of kills after the program had reported success.
    acknowledged: usize,
}

/// A workspace, with a file next to it that contains a change.
struct Template {
    directory: TestDir,
    root: PathBuf,
}

/// A copy of a template in which the program ran and may have been killed.
struct Killed {
    copy: Template,
    end: End,
    /// Whether the program had reported success.
    acknowledged: bool,
}

impl Template {
    fn new() -> Self {
        let template = Self::empty();
        fs::write(template.directory.path().join("change.diff"), CHANGE).unwrap();
        for (path, text) in [
            ("edited.txt", "same\nold\n"),
            ("deep/edited.txt", "first\n"),
            ("gone/deleted.txt", "deleted\n"),
            ("from.txt", "moved\n"),
            ("tool.sh", "true\n"),
        ] {
            let path = template.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        }
        template.done(&["init"]);
        template
    }

    /// Sets an operator policy under which garbage collection forgets every run.
    fn retain_nothing(&self) {
        let policy = crate::program::operator_of(&self.root).join("actum/actum.toml");
        fs::create_dir_all(policy.parent().unwrap()).unwrap();
        fs::write(policy, "version = 1\n[retention]\nruns = 0\ndays = 0\n").unwrap();
    }

    fn empty() -> Self {
        // Unlike a power cut, a kill never loses written data, so the files can be in memory.
        let directory = TestDir::in_memory();
        let root = directory.path().join("workspace");
        fs::create_dir(&root).unwrap();
        Self { directory, root }
    }

    fn copy(&self) -> Self {
        let copy = Self::empty();
        copy_below(self.directory.path(), copy.directory.path());
        crate::program::forget_configuration(&copy.root);
        copy
    }

    fn tree(&self) -> Tree {
        tree(&self.root)
    }

    /// Runs a command and asserts that it succeeds.
    fn done(&self, arguments: &[&str]) -> Ended {
        let ended = actum(&self.root, arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
        ended
    }

    /// Returns the tree after running a command.
    fn after(&self, arguments: &[&str]) -> Tree {
        let copy = self.copy();
        copy.done(arguments);
        copy.tree()
    }

    fn killed_copy(&self, arguments: &[&str], call: usize) -> Killed {
        let copy = self.copy();
        let (end, acknowledged) = copy.kill(arguments, call);
        Killed { copy, end, acknowledged }
    }

    /// Runs a command and kills it before `call`. Also returns whether the command had reported success.
    fn kill(&self, arguments: &[&str], call: usize) -> (End, bool) {
        let output = self.directory.path().join("said");
        let end = kill_before_call(&self.root, arguments, call, &output);
        (end, fs::metadata(&output).unwrap().len() > 0)
    }

    /// Kills a command at each of its calls on separate copies, and checks that the following commands work.
    fn kill_at_each_call(&self, arguments: &[&str]) -> Count {
        self.kill_at_calls(arguments, 1)
    }

    /// Like `kill_at_each_call`, but kills only at every `every`th call.
    fn kill_at_calls(&self, arguments: &[&str], every: usize) -> Count {
        let (before, after) = (self.tree(), self.after(arguments));
        let mut count = Count::default();
        for call in (0..).step_by(every) {
            let Killed { copy, end, acknowledged } = self.killed_copy(arguments, call);
            let system_call = match end {
                End::Killed { system_call } => system_call,
                End::Exited { code } => {
                    assert_eq!(code, 0, "{arguments:?}, traced and not killed");
                    break;
                }
            };
            let what = format!("{arguments:?}, killed before call {call} (number {system_call})");
            let left = copy.tree();
            count.kills += 1;
            count.between += usize::from(left != before && left != after);
            count.acknowledged += usize::from(acknowledged);
            copy.recovers(&what);
            let found = copy.tree();
            if acknowledged {
                assert_eq!(found, after, "{what}: it was acknowledged and is lost");
            } else if found != after {
                assert_eq!(found, before, "{what}: neither before nor after");
                copy.done(arguments);
                assert_eq!(copy.tree(), after, "{what}, and run again");
            }
        }
        eprintln!("{arguments:?}: {count:?}");
        count
    }

    /// Kills a command before `call`, and then kills the recovery at each of its calls. No process may have reported success.
    fn kill_recovery_at_each_call(&self, arguments: &[&str], call: usize) -> Count {
        let before = self.tree();
        let mut count = Count::default();
        for call_of_recovery in 0.. {
            // Each copy repeats the kill, because the journal would not recognise the files of a copied workspace.
            let killed = self.killed_copy(arguments, call);
            let mixture = killed.copy.tree();
            let End::Killed { system_call } = killed.copy.kill(&["recover"], call_of_recovery).0
            else {
                break;
            };
            let left = killed.copy.tree();
            count.kills += 1;
            count.between += usize::from(left != before && left != mixture);
            let what = format!(
                "{arguments:?}, killed before call {call}, and its recovery before call \
                 {call_of_recovery} (number {system_call})"
            );
            killed.copy.recovers(&what);
            assert_eq!(killed.copy.tree(), before, "{what}");
        }
        eprintln!("recovery: {count:?}");
        count
    }

    /// Asserts that recovery completes without help from the user, and that the ledger then agrees with the workspace (AEC-8).
    fn recovers(&self, what: &str) {
        let recovered = actum(&self.root, &["recover"]);
        assert_eq!(recovered.code, 0, "{what}: {recovered:?}");
        let log = actum(&self.root, &["log", "--json"]);
        let log: serde_json::Value = serde_json::from_str(&log.stdout).unwrap();
        for run in log["runs"].as_array().unwrap() {
            assert!(run["record"]["receipt"]["index"].is_u64(), "{what}: no receipt of {run}");
        }
        let status = actum(&self.root, &["status", "--json"]);
        let mut status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
        let fields = status.as_object_mut().unwrap();
        fields.retain(|name, _| !["root", "runs", "drift_runs"].contains(&name.as_str()));
        let quiet = serde_json::json!({
            "format": "actum.status/1", "unfinished": null, "interrupted": false, "recovery_due": false,
            "blocked": [], "drifted": [], "plans": [], "alerts": [], "unrecorded": [], "missing": [],
            "unusable": [],
        });
        assert_eq!(status, quiet, "{what}");
    }
}

/// Modes and contents of all files below a directory, except the state of actum.
type Tree = BTreeMap<PathBuf, (u32, Option<String>)>;

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    for path in below(root).into_iter().filter(|path| !path.starts_with(".actum")) {
        let full = root.join(&path);
        let mode = fs::metadata(&full).unwrap().permissions().mode() & 0o7777;
        let content = full.is_file().then(|| fs::read_to_string(&full).unwrap());
        tree.insert(path, (mode, content));
    }
    tree
}

/// Returns all paths below a directory, parents before children.
fn below(root: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    let mut next = 0;
    while let Some(directory) = paths.get(next).cloned() {
        next += 1;
        if !root.join(&directory).is_dir() {
            continue;
        }
        for entry in fs::read_dir(root.join(&directory)).unwrap() {
            paths.push(directory.join(entry.unwrap().file_name()));
        }
    }
    paths.remove(0);
    paths
}

/// Copies a tree. The copy is sparse, which is fast because the journal is mostly zeros.
fn copy_below(from: &Path, to: &Path) {
    const BLOCK: usize = 4096;
    for path in below(from) {
        let (source, target) = (from.join(&path), to.join(&path));
        if source.is_dir() {
            fs::create_dir_all(&target).unwrap();
        } else {
            let bytes = fs::read(&source).unwrap();
            let mut file = File::create(&target).unwrap();
            file.set_len(bytes.len().try_into().unwrap()).unwrap();
            for (index, block) in bytes.chunks(BLOCK).enumerate() {
                if block.iter().any(|&byte| byte != 0) {
                    file.seek(SeekFrom::Start((index * BLOCK).try_into().unwrap())).unwrap();
                    file.write_all(block).unwrap();
                }
            }
        }
        fs::set_permissions(&target, fs::metadata(&source).unwrap().permissions()).unwrap();
    }
}
