//! Rehearsals of plans, with time limits and cancellation.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use actum::task::{ActionEnd, Rehearsal, RehearsalObserver, Rehearsed, Script};
use actum_core::Timestamp;
use actum_task::{ErrorCode, SystemConfig, TaskPlan};
use actum_testkit::SimDisk;
use actum_workspace::{RunOptions, Workspace};

/// Clock that advances with each read and each action, in seconds, and cancels the task at a set time.
struct Looker {
    now: Cell<i64>,
    /// Seconds by which each read advances the clock.
    look: i64,
    /// Seconds by which each action advances the clock.
    action: i64,
    cancelled_at: i64,
}

impl Default for Looker {
    fn default() -> Self {
        Self { now: Cell::new(0), look: 0, action: 0, cancelled_at: i64::MAX }
    }
}

impl RehearsalObserver for Looker {
    fn now(&self) -> Timestamp {
        self.now.set(self.now.get() + self.look);
        Timestamp::from_micros(self.now.get() * 1_000_000)
    }

    fn is_cancelled(&self) -> bool {
        self.now.get() >= self.cancelled_at
    }

    fn ended(&mut self, _: &Rehearsed) {
        self.now.set(self.now.get() + self.action);
    }
}

/// Size of the file `large.bin` in bytes, which is read in about 160 pieces.
const LARGE_BYTES: u64 = 40 << 20;

const PLAN: &str = r#"{ "plan_id": "p", "action_plan": [
    { "action_id": "a1", "action_type": "FILE_CREATE", "target": "one.txt", "operation": { "type": "create", "content": "1\n" } },
    { "action_id": "a2", "action_type": "FILE_CREATE", "target": "two.txt", "operation": { "type": "create", "content": "2\n" } }
] }"#;

/// Returns the outcomes of the actions, the reason for an early stop, and the number of resulting files.
fn rehearsed(config: &str, looker: Looker) -> (Vec<String>, Option<ErrorCode>, usize) {
    let (ends, broken_off, operations, changes) = rehearsed_plan(PLAN, config, &mut { looker });
    assert_eq!(changes, operations, "what is left is what was done");
    (ends, broken_off, operations)
}

fn rehearsed_plan(
    plan: &str,
    config: &str,
    looker: &mut Looker,
) -> (Vec<String>, Option<ErrorCode>, usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("workspace");
    fs::create_dir(&root).unwrap();
    let large = fs::File::create(root.join("large.bin")).unwrap();
    large.set_len(LARGE_BYTES).unwrap();
    let mut workspace = Workspace::open(&root).unwrap();
    let plan = TaskPlan::read(plan.as_bytes()).unwrap();
    let (graph, config) = (plan.graph().unwrap(), SystemConfig::read(config.as_bytes()).unwrap());
    let script = Script {
        plan: &plan,
        graph: &graph,
        config: &config,
        sql: &Ok(None),
        pipelines: &Ok(None),
    };
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let Rehearsal { actions, operations, broken_off, .. } =
        Rehearsal::on(&mut transaction, script, looker);
    let word = |rehearsed: &Rehearsed| match &rehearsed.end {
        ActionEnd::Completed { .. } => "completed".to_owned(),
        ActionEnd::Failed(problem) => problem.code.error_type().to_owned(),
        ActionEnd::Skipped { .. } => "skipped".to_owned(),
        ActionEnd::Deferred(_) => "deferred".to_owned(),
    };
    let changes = transaction.changes().len();
    (actions.iter().map(word).collect(), broken_off, operations.len(), changes)
}

/// EX-21: an action that exceeds its time limit fails and leaves no changes.
#[test]
fn action_over_its_time_limit_fails_and_leaves_nothing() {
    let rehearsed =
        |look| rehearsed("timeouts: { file_seconds: 20 }\n", Looker { look, ..Looker::default() });
    let quick = rehearsed(1);
    assert_eq!(quick, (vec!["completed".into(), "completed".into()], None, 2));
    let slow = rehearsed(21);
    assert_eq!(slow, (vec!["ACTION_TIMEOUT".into(), "skipped".into()], None, 0));
}

/// EX-21, EX-22: both actions and validation rules can be stopped while they read a large file.
#[test]
fn reading_a_large_file_stops_at_the_time_limit() {
    let condition = r#"[ { "type": "sha256", "path": "large.bin", "sha256": "HASH" } ]"#;
    let condition = condition.replace("HASH", &"0".repeat(64));
    let action = |more: &str| {
        format!(
            r#"{{ "action_id": "a1", "action_type": "FILE_CREATE", "target": "a.txt",
               "operation": {{ "type": "create", "content": "1" }} {more} }}"#
        )
    };
    let plan = |action: &str, more: &str| {
        format!(r#"{{ "plan_id": "p", {more} "action_plan": [ {action} ] }}"#)
    };
    let pre = plan(&action(&format!(r#", "preconditions": {condition}"#)), "");
    let post = plan(&action(&format!(r#", "postconditions": {condition}"#)), "");
    let target = plan(
        r#"{ "action_id": "a1", "action_type": "FILE_DELETE", "target": "large.bin", "operation": { "type": "delete" } }"#,
        "",
    );
    let rules = format!(r#""execution_instructions": {{ "validation_rules": {condition} }},"#);
    let rule = plan(&action(""), &rules);
    let action_time = "timeouts: { file_seconds: 30, task_seconds: 600 }\n";
    let task_time = "timeouts: { file_seconds: 100, task_seconds: 30 }\n";
    let (timeout, off) = (Some(ErrorCode::TaskTimeout), Some(ErrorCode::Cancelled));
    for (plan, config, cancelled_at, end, broken_off) in [
        (&pre, action_time, i64::MAX, "ACTION_TIMEOUT", None),
        (&post, action_time, i64::MAX, "ACTION_TIMEOUT", None),
        (&target, action_time, i64::MAX, "ACTION_TIMEOUT", None),
        (&pre, task_time, i64::MAX, "TASK_TIMEOUT", timeout),
        (&rule, task_time, i64::MAX, "completed", timeout),
        (&post, task_time, 30, "CANCELLED", off),
        (&rule, task_time, 30, "completed", off),
    ] {
        let mut looker = Looker { look: 1, cancelled_at, ..Looker::default() };
        let actual = rehearsed_plan(plan, config, &mut looker);
        let done = usize::from(end == "completed");
        assert_eq!(actual, (vec![end.to_owned()], broken_off, done, done), "{plan}");
        assert!(looker.now.get() < 50, "it looked {} times: {plan}", looker.now.get());
    }
}

/// EX-10: the error code distinguishes a path that selects nothing from a value that cannot be replaced on its own.
#[test]
fn irreplaceable_yaml_value_has_a_distinct_error_code() {
    let code = |content: &str, path: &str, more: &str| {
        let plan = format!(
            r#"{{ "plan_id": "p", "action_plan": [
    {{ "action_id": "a1", "action_type": "FILE_CREATE", "target": "f.yaml",
       "operation": {{ "type": "create", "content": "{content}" }} }},
    {{ "action_id": "a2", "action_type": "FILE_MODIFY", "target": "f.yaml", "depends_on": ["a1"],
       "operation": {{ "type": "yaml_update", "path": "{path}"{more}, "value": 0 }} }}
] }}"#
        );
        rehearsed_plan(&plan, "", &mut Looker::default()).0.pop().unwrap()
    };
    for (content, path, more, expected) in [
        (r"a: 1\n", "$.a", "", "completed"),
        (r"a: !!timestamp 2001-01-01\nb: 1\n", "$.b", "", "completed"),
        (r"a: 1\n---\na: 2\n", "$.a", r#", "document": 2"#, "completed"),
        (r"a: 1\n---\na: 2\n", "$.a", "", "JSONPATH_SEVERAL_MATCHES"),
        (r"a: 1\n", "$.a", r#", "document": 2"#, "JSONPATH_NO_MATCH"),
        (r"---\n", "$", "", "JSONPATH_NO_MATCH"),
        (r"a: !t 1\n", "$.a", "", "YAML_NOT_EDITABLE"),
        (r"a: &x 1\nb: *x\n", "$.a", "", "YAML_NOT_EDITABLE"),
        (r"a: &x 1\nb: *x\n", "$.b", "", "YAML_NOT_EDITABLE"),
        (r"1: x\na: 1\n", "$..a", "", "YAML_NOT_EDITABLE"),
    ] {
        assert_eq!(code(content, path, more), expected, "{content} {path}{more}");
    }
}

/// EX-21: a task that exceeds its time limit is stopped.
#[test]
fn task_over_its_time_limit_is_stopped() {
    let config = "timeouts: { task_seconds: 30, file_seconds: 120 }\n";
    let (ends, broken_off, _) = rehearsed(config, Looker { action: 31, ..Looker::default() });
    assert_eq!(
        (ends, broken_off),
        (vec!["completed".into(), "skipped".into()], Some(ErrorCode::TaskTimeout))
    );
}

/// EX-22: cancellation is checked before each action.
#[test]
fn cancelled_task_starts_no_further_action() {
    for after in 0..2 {
        let looker = Looker { action: 1, cancelled_at: after, ..Looker::default() };
        let (ends, broken_off, _) = rehearsed("", looker);
        let mut expected = vec!["completed".to_owned(); usize::try_from(after).unwrap()];
        expected.resize(2, "skipped".to_owned());
        assert_eq!((ends, broken_off), (expected, Some(ErrorCode::Cancelled)));
    }
}

/// EX-3: a missing write permission is reported with its own code before anything is changed.
#[test]
fn action_without_write_permission_fails_before_staging() {
    let disk = SimDisk::new();
    for path in ["open/a.txt", "locked/b.txt"] {
        disk.put(path, "1\n");
    }
    disk.chmod("locked", 0o555);
    let plan = r#"{ "plan_id": "p", "execution_instructions": { "stop_on_error": false }, "action_plan": [
        { "action_id": "a1", "action_type": "FILE_DELETE", "target": "locked/b.txt", "operation": { "type": "delete" } },
        { "action_id": "a2", "action_type": "FILE_CREATE", "target": "locked/new/c.txt", "operation": { "type": "create", "content": "1\n" } },
        { "action_id": "a3", "action_type": "FILE_DELETE", "target": "open/a.txt", "operation": { "type": "delete" } }
    ] }"#;
    let (codes, modes) = rehearsed_on(disk, plan);
    let denied = Some(ErrorCode::PermissionDenied);
    assert_eq!(codes, [denied, denied, None]);
    assert_eq!(modes, [None], "one file is deleted");
}

/// Rehearses a plan on a disk. Returns the error code of each failed action and the future mode of each changed file,
/// or `None` if the file is deleted.
fn rehearsed_on(disk: SimDisk, plan: &str) -> (Vec<Option<ErrorCode>>, Vec<Option<u32>>) {
    let mut workspace = Workspace::open_on(disk, Path::new("/")).unwrap();
    let plan = TaskPlan::read(plan.as_bytes()).unwrap();
    let (graph, config) = (plan.graph().unwrap(), SystemConfig::default());
    let script = Script {
        plan: &plan,
        graph: &graph,
        config: &config,
        sql: &Ok(None),
        pipelines: &Ok(None),
    };
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let ends = Rehearsal::on(&mut transaction, script, &mut Looker::default()).actions;
    let code = |rehearsed: &Rehearsed| match &rehearsed.end {
        ActionEnd::Failed(problem) => Some(problem.code),
        ActionEnd::Completed { .. } | ActionEnd::Skipped { .. } | ActionEnd::Deferred(_) => None,
    };
    let effects = transaction.effects();
    let modes = effects.iter().map(|effect| effect.after.map(|file| file.mode.bits()));
    (ends.iter().map(code).collect(), modes.collect())
}

/// EX-18: a file without write permission is not edited. Actions that depend on the edit are skipped, and the others
/// continue.
#[test]
fn a_read_only_file_is_not_edited() {
    let disk = SimDisk::new();
    disk.put("read-only.txt", "1\n");
    disk.chmod("read-only.txt", 0o444);
    disk.put("other.txt", "1\n");
    let plan = r#"{ "plan_id": "p", "execution_instructions": { "stop_on_error": false }, "action_plan": [
        { "action_id": "a1", "action_type": "FILE_MODIFY", "target": "read-only.txt", "operation": { "type": "text_replace", "pattern": "1", "replacement": "2" } },
        { "action_id": "a2", "action_type": "FILE_MODIFY", "target": "other.txt", "operation": { "type": "text_replace", "pattern": "1", "replacement": "2" } }
    ] }"#;
    let (codes, modes) = rehearsed_on(disk, plan);
    assert_eq!(codes, [Some(ErrorCode::PermissionDenied), None]);
    assert_eq!(modes, [Some(0o644)]);
}

/// EX-19: without `preserve_permissions` an edited file gets the mode that the umask gives to a new file.
#[test]
fn edited_file_keeps_its_mode_unless_the_plan_overrides_it() {
    for (constraint, mode) in [("", 0o600), (r#""preserve_permissions": false"#, 0o644)] {
        let disk = SimDisk::new();
        disk.put("a.txt", "1\n");
        disk.chmod("a.txt", 0o600);
        let plan = format!(
            r#"{{ "plan_id": "p", "execution_instructions": {{ {constraint} }}, "action_plan": [
        {{ "action_id": "a1", "action_type": "FILE_MODIFY", "target": "a.txt", "operation": {{ "type": "text_replace", "pattern": "1", "replacement": "2" }} }}
    ] }}"#
        );
        assert_eq!(rehearsed_on(disk, &plan), (vec![None], vec![Some(mode)]), "{constraint}");
    }
}

/// EX-21: the last action also counts toward the task's time limit.
#[test]
fn task_whose_last_action_exceeds_the_time_limit_is_stopped() {
    let config = "timeouts: { task_seconds: 30, file_seconds: 120 }\n";
    let (ends, broken_off, _) = rehearsed(config, Looker { action: 16, ..Looker::default() });
    assert_eq!(ends, ["completed", "completed"]);
    assert_eq!(broken_off, Some(ErrorCode::TaskTimeout));
}
