//! Kills tasks with an SQL step or a pipeline before their system calls. The change must be applied completely or not at all. No
//! process of the step and no temporary file may remain.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::duckdb::installed;
use crate::program::{actum, forget_configuration, operator_of};
use crate::traced::{End, Entered, kill_at};
use crate::trees::{Tree, tree};
use actum_core::Digest;
use actum_testkit::{TestDir, effort};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Kill the program before every call whose number is a multiple of this. `ACTUM_KILL_STRIDE` overrides it, and 1 means every call.
const STRIDE: usize = 23;
/// Number of calls before and after the first workspace change at each of which the program is also killed.
const AROUND: [usize; 2] = [4, 16];
/// Number of waits for a process at which the program is killed, spread evenly over the run.
const WAITS: usize = 6;
/// How often to poll for processes that are about to exit, and the interval between polls.
const LOOKS: (usize, Duration) = (200, Duration::from_millis(10));

const RUN: [&str; 2] = ["run", "../task.json"];
const DATABASE: &str = "shop.duckdb";
const REPORTS: &str = "agent/agent_outputs/reports";

/// The moment at which the program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// Before the non-waiting call with this number.
    Call(usize),
    /// Before the wait with this number.
    Wait(usize),
}

/// System calls of a complete run that is not killed.
#[derive(Debug, Default)]
struct Course {
    /// Number of calls that do not wait for a process.
    calls: usize,
    /// Number of the first call at which the workspace has changed.
    first_change: Option<usize>,
    waits: usize,
}

/// A workspace, with a task next to it.
struct Place {
    directory: TestDir,
    root: PathBuf,
    /// Files that the task changes; it changes the content of all of them.
    changes: &'static [&'static str],
}

/// A process, identified by its ID and start time.
type Process = (i32, u64);

/// Processes and temporary directories of a step, recorded while the program is stopped.
#[derive(Debug, Default)]
struct AtWork {
    processes: BTreeSet<Process>,
    /// Directories below `/tmp` that the program holds open.
    temporary: BTreeSet<PathBuf>,
}

/// Number of kills with each outcome, and of kills that interrupted the work of a step.
#[derive(Debug, Default)]
struct Count {
    done: usize,
    undone: usize,
    with_processes: usize,
    with_temporary: usize,
}

impl Place {
    fn new(policy: &str, files: &[(&str, &str)], changes: &'static [&'static str]) -> Self {
        let place = Self::empty(changes);
        fs::create_dir(&place.root).unwrap();
        for (path, text) in files {
            let path = place.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let operator = operator_of(&place.root).join("actum");
        fs::create_dir_all(&operator).unwrap();
        fs::write(operator.join("actum.toml"), format!("version = 1\n{policy}")).unwrap();
        place.done(&["init"]);
        place
    }

    fn empty(changes: &'static [&'static str]) -> Self {
        // Unlike a power cut, a kill never loses written data, and in-memory files are cheap to sync.
        let directory = TestDir::in_memory();
        let root = directory.path().join("workspace");
        Self { directory, root, changes }
    }

    fn copy(&self) -> Self {
        let copy = Self::empty(self.changes);
        let (from, to) = (self.directory.path().join("."), copy.directory.path());
        let copied = Command::new("cp").args(["-a", "--sparse=always"]).arg(from).arg(to).status();
        assert!(copied.unwrap().success());
        forget_configuration(&copy.root);
        copy
    }

    /// Writes the task `id`, whose actions run one after the other.
    fn put(&self, id: &str, actions: &[Value]) {
        let mut actions = actions.to_vec();
        for index in 1..actions.len() {
            actions[index]["depends_on"] = json!([actions[index - 1]["action_id"]]);
        }
        let plan = json!({ "plan_id": id, "action_plan": actions }).to_string();
        let sha256 = |text: &str| Digest::of(text.as_bytes()).to_string();
        let envelope = json!({
            "format": "actum.task-envelope/1",
            "task_id": id,
            "status": "APPROVED",
            "protocol_validation": true,
            "plan": { "file": "plan.json", "sha256": sha256(&plan) },
            "config": { "file": "config.yaml", "sha256": sha256("") },
        });
        let top = self.directory.path();
        fs::write(top.join("plan.json"), plan).unwrap();
        fs::write(top.join("config.yaml"), "").unwrap();
        fs::write(top.join("task.json"), envelope.to_string()).unwrap();
    }

    fn done(&self, arguments: &[&str]) {
        let ended = actum(&self.root, arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    }

    /// Runs an independent task, and removes the only file that it created.
    fn run_another_task(&self) {
        let create = json!({ "type": "create", "content": "other\n" });
        self.put("other", &[action("other", "FILE_CREATE", "other.txt", create)]);
        self.done(&RUN);
        fs::remove_file(self.root.join("other.txt")).unwrap();
    }

    /// Returns all files of the project.
    fn tree(&self) -> Tree {
        let mut tree = tree(&self.root);
        tree.retain(|path, _| !path.starts_with("agent"));
        tree
    }

    /// Runs the task under a tracer that calls `is_it` before each system call.
    fn traced(&self, is_it: impl FnMut(Entered) -> bool) -> End {
        kill_at(&self.root, &RUN, &self.directory.path().join("said"), is_it)
    }

    /// Runs the task on a copy and counts its system calls.
    fn course(&self) -> Course {
        let copy = self.copy();
        let is_changed = {
            let states: Vec<_> = copy
                .changes
                .iter()
                .map(|path| (copy.root.join(path), stamp(&copy.root.join(path))))
                .collect();
            move || states.iter().any(|(path, before)| stamp(path) != *before)
        };
        let mut course = Course::default();
        let end = copy.traced(|entered| {
            if course.first_change.is_none() && is_changed() {
                course.first_change = Some(course.calls);
            }
            if entered.is_wait {
                course.waits += 1
            } else {
                course.calls += 1
            }
            false
        });
        assert_eq!(end, End::Exited { code: 0 }, "traced and not killed");
        assert!(copy.is_all_done(&self.tree(), "traced and not killed"));
        course
    }

    /// Returns whether the task has changed all of its files. Panics if it changed only some of them, or any other file.
    fn is_all_done(&self, before: &Tree, what: &str) -> bool {
        let after = self.tree();
        if after == *before {
            return false;
        }
        for path in self.changes {
            assert!(
                after.get(Path::new(path)) != before.get(Path::new(path)),
                "{what}: `{path}` is as before"
            );
        }
        let is_changed =
            |path: &Path| self.changes.iter().any(|changed| Path::new(changed).starts_with(path));
        let rest = |tree: &Tree| -> Tree {
            tree.clone().into_iter().filter(|(path, _)| !is_changed(path)).collect()
        };
        assert_eq!(rest(&after), rest(before), "{what}: other files");
        true
    }

    /// Asserts that the reports of the task agree with the files.
    fn check_reported(&self, is_done: bool, what: &str) {
        let Some(report) = self.report("task-7") else {
            assert!(!is_done, "{what}: no report");
            return;
        };
        let status = &report["status"];
        assert_eq!(*status, if is_done { "SUCCESS" } else { "ROLLED_BACK" }, "{what}: {report:#}");
        let actions = report["actions_completed"].as_array().into_iter().flatten();
        let sql = actions.map(|action| &action["details"]["sql"]).filter(|it| !it.is_null());
        for details in sql.filter(|_| is_done) {
            let now = Digest::of(&fs::read(self.root.join(DATABASE)).unwrap()).to_string();
            assert_eq!(details["database_sha256_after"], now, "{what}");
        }
    }

    fn report(&self, task: &str) -> Option<Value> {
        let mut reports = fs::read_dir(self.root.join(REPORTS)).ok()?.map(|it| it.unwrap().path());
        let report = reports.find(|path| path.to_str().unwrap().ends_with(task))?;
        let report = fs::read(report.join("execution_report.json")).ok()?;
        Some(serde_json::from_slice(&report).unwrap())
    }

    /// Asserts that no work directory of a step is left. Recovery sweeps staged and displaced files only after a minute.
    fn check_no_staged_directory(&self, what: &str) {
        let stage = fs::read_dir(self.root.join(".actum/stage")).unwrap();
        let is_staged = |number: &OsStr| number.to_string_lossy().starts_with('s');
        let of_step = |path: &PathBuf| path.is_dir() && path.extension().is_some_and(is_staged);
        let left: Vec<_> = stage.map(|entry| entry.unwrap().path()).filter(of_step).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
    }

    /// Asserts that nothing is left to recover.
    fn check_recovered(&self, what: &str) {
        let status = actum(&self.root, &["status", "--json"]);
        let status: Value = serde_json::from_str(&status.stdout).unwrap();
        for (name, nothing) in [
            ("unfinished", json!(null)),
            ("interrupted", json!(false)),
            ("recovery_due", json!(false)),
            ("blocked", json!([])),
            ("drifted", json!([])),
            ("unrecorded", json!([])),
            ("missing", json!([])),
        ] {
            assert_eq!(status[name], nothing, "{what}: {name}");
        }
    }
}

impl Moment {
    /// Returns whether the run has reached this moment, and counts its calls.
    fn is_now(self, entered: Entered, made: &mut Course) -> bool {
        let count = if entered.is_wait { &mut made.waits } else { &mut made.calls };
        *count += 1;
        match self {
            Self::Call(call) => !entered.is_wait && made.calls == call + 1,
            Self::Wait(wait) => entered.is_wait && made.waits == wait + 1,
        }
    }
}

impl AtWork {
    /// Returns the descendants of a process, and the temporary directories that it holds open.
    fn new(process: Pid) -> Self {
        let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
        for number in numbers("/proc") {
            if let Some((parent, started)) = parent_and_start(number) {
                children.entry(parent).or_default().push((number, started));
            }
        }
        let (mut found, mut next) = (Self::default(), vec![process.as_raw()]);
        while let Some(parent) = next.pop() {
            for child in children.remove(&parent).unwrap_or_default() {
                next.push(child.0);
                found.processes.insert(child);
            }
        }
        for number in numbers(&format!("/proc/{process}/fd")) {
            let open = fs::read_link(format!("/proc/{process}/fd/{number}")).unwrap_or_default();
            let mut names = open.strip_prefix("/tmp").into_iter().flatten();
            let name = names.next().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("actum-") {
                found.temporary.insert(Path::new("/tmp").join(name));
            }
        }
        found
    }

    /// Asserts that all processes exit by themselves within a short time.
    fn assert_ended(&self, what: &str) {
        let is_alive = |(number, started): &&Process| {
            parent_and_start(*number).is_some_and(|(_, now)| now == *started)
        };
        let (looks, pause) = LOOKS;
        for _ in 0..looks {
            if !self.processes.iter().any(|process| is_alive(&process)) {
                return;
            }
            sleep(pause);
        }
        let alive: Vec<_> = self.processes.iter().filter(is_alive).collect();
        panic!("{what}: the processes {alive:?} go on");
    }
}

/// Returns the inode, size and modification time of a file, or `None` if it does not exist.
fn stamp(path: &Path) -> Option<(u64, u64, i64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.ino(), found.len(), found.mtime_nsec()))
}

/// Returns the numeric names in a directory, or an empty list if the directory is gone.
fn numbers(directory: &str) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the parent and start time of a process (proc_pid_stat(5)), or `None` if it has exited.
fn parent_and_start(process: i32) -> Option<(i32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let has_ended = matches!(fields[0], "Z" | "X");
    (!has_ended).then(|| (fields[1].parse().unwrap(), fields[19].parse().unwrap()))
}

/// Returns the moments to test: every call of the stride, the calls around the first change, and some waits.
fn moments(course: &Course) -> BTreeSet<Moment> {
    let first_change = course.first_change.expect("the task changes the workspace");
    let [earlier, later] = AROUND;
    let around = first_change.saturating_sub(earlier)..first_change + later;
    let stride = effort("ACTUM_KILL_STRIDE", STRIDE);
    let calls = (0..course.calls).step_by(stride).chain(around);
    let each = if stride == 1 { 1 } else { course.waits.div_ceil(WAITS).max(1) };
    let waits = (0..course.waits).step_by(each);
    calls.map(Moment::Call).chain(waits.map(Moment::Wait)).collect()
}

/// Kills the task at sampled moments, each on a separate copy. Either `recover` or the run of another task repairs the workspace.
/// Returns the number of kills by outcome.
fn kill_at_each(template: &Place) -> Count {
    let (before, course) = (template.tree(), template.course());
    let mut count = Count::default();
    for (number, moment) in moments(&course).into_iter().enumerate() {
        let copy = template.copy();
        let (mut made, mut at_work) = (Course::default(), AtWork::default());
        let end = copy.traced(|entered| {
            let is_now = moment.is_now(entered, &mut made);
            if is_now {
                at_work = AtWork::new(entered.process);
            }
            is_now
        });
        // The number of waits differs between runs.
        let End::Killed { system_call } = end else { continue };
        let what = format!("killed at {moment:?} of {course:?} (number {system_call})");
        count.with_processes += usize::from(!at_work.processes.is_empty());
        count.with_temporary += usize::from(!at_work.temporary.is_empty());
        at_work.assert_ended(&what);
        let is_recovered = number % 2 == 0;
        if is_recovered {
            copy.done(&["recover"]);
        } else {
            copy.run_another_task();
        }
        let is_done = copy.is_all_done(&before, &what);
        copy.check_reported(is_done, &what);
        copy.done(&["ledger", "verify"]);
        for left in &at_work.temporary {
            assert!(!left.exists(), "{what}: {} is left", left.display());
        }
        if is_recovered {
            copy.check_recovered(&what);
            // The task can then be carried out, or be rolled back if it is complete.
            if is_done {
                copy.done(&["rollback", "task-7"]);
                assert_eq!(copy.tree(), before, "{what}: taken back");
            } else {
                copy.done(&RUN);
                assert!(copy.is_all_done(&before, &what), "{what}: run again");
            }
            copy.check_no_staged_directory(&what);
            copy.done(&["ledger", "verify"]);
        }
        if is_done { count.done += 1 } else { count.undone += 1 }
    }
    eprintln!("{course:?}: {count:?}");
    assert!(count.done > 0 && count.undone > 0 && count.with_processes > 0, "{count:?}");
    count
}

fn action(id: &str, kind: &str, target: &str, operation: Value) -> Value {
    json!({ "action_id": id, "action_type": kind, "target": target, "operation": operation })
}

fn replace(id: &str, target: &str, pattern: &str) -> Value {
    let operation = json!({ "type": "text_replace", "pattern": pattern, "replacement": "new" });
    action(id, "FILE_MODIFY", target, operation)
}

/// EX-9, EX-11, FO-2: a task killed around its SQL step is applied completely or not at all. No worker and no copy of the database
/// remains.
#[test]
fn task_killed_around_its_sql_step_leaves_the_old_or_new_state() {
    let (library, sha256) = installed();
    let policy = format!("[sql]\nlibrary = {library:?}\nsha256 = \"{sha256}\"\n");
    let make = "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR);
        INSERT INTO customer SELECT i, 'n' || i FROM range(1000) t(i);";
    let change =
        "UPDATE customer SET name = 'new' WHERE id % 3 = 0; SELECT * FROM customer ORDER BY id;";
    let files = [("a.txt", "old\n"), ("make.sql", make), ("change.sql", change), (DATABASE, "")];
    let changes = &["a.txt", DATABASE, "out/rows.parquet"];
    let template = Place::new(&policy, &files, changes);
    let sql = |file: &str, save: Option<&str>| {
        let mut operation =
            json!({ "type": "sql_execute", "query_file": file, "connection": "duckdb" });
        if let Some(path) = save {
            operation["save_results_to"] = json!(path);
        }
        action("sql", "SQL_EXECUTE", DATABASE, operation)
    };
    template.put("made", &[sql("make.sql", None)]);
    template.done(&RUN);
    template.put(
        "task-7",
        &[replace("edit", "a.txt", "old"), sql("change.sql", Some("out/rows.parquet"))],
    );
    kill_at_each(&template);
}

/// EX-9, FO-2: a task killed around a two-step pipeline is applied completely or not at all. No step and no temporary view of the
/// workspace remains.
#[test]
fn task_killed_around_its_pipeline_leaves_the_old_or_new_state() {
    let policy = r#"
        [[pipeline]]
        name = "build"
        steps = [
            ["sh", "-c", "mkdir -p out && tr a-z A-Z < a.txt > out/one.txt && sleep 0.1"],
            ["sh", "-c", "cat out/one.txt a.txt > out/two.txt; rm gone.txt"],
        ]
        outputs = ["out/**", "gone.txt"]
    "#;
    let changes = &["a.txt", "out/one.txt", "out/two.txt", "gone.txt"];
    let template = Place::new(
        policy,
        &[("a.txt", "old\n"), ("gone.txt", "gone\n"), ("kept.txt", "kept\n")],
        changes,
    );
    let build = json!({ "type": "pipeline_run", "pipeline": "build" });
    template.put(
        "task-7",
        &[replace("edit", "a.txt", "old"), action("build", "PIPELINE_RUN", "out", build)],
    );
    let count = kill_at_each(&template);
    assert!(count.with_temporary > 0, "no kill came while there was a view: {count:?}");
}
