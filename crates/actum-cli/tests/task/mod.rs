//! Tasks for tests: their plans, envelopes and reports.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use actum_core::Digest;
use actum_task::report::{ChangeLog, ErrorReport, ExecutionReport, RollbackManifest};
use serde_json::{Value, json};

use crate::program::{Ended, actum, text, workspace};

pub(crate) const REPORTS: &str = "agent/agent_outputs/reports";

pub(crate) fn action(id: &str, kind: &str, target: &str, operation: Value) -> Value {
    json!({ "action_id": id, "action_type": kind, "target": target, "operation": operation })
}

pub(crate) fn after(mut action: Value, before: &str) -> Value {
    action["depends_on"] = json!([before]);
    action
}

pub(crate) fn create(id: &str, target: &str) -> Value {
    action(id, "FILE_CREATE", target, json!({ "type": "create", "content": "made\n" }))
}

pub(crate) fn replace(id: &str, target: &str, pattern: &str) -> Value {
    let operation = json!({ "type": "text_replace", "pattern": pattern, "replacement": "new" });
    action(id, "FILE_MODIFY", target, operation)
}

pub(crate) fn plan(actions: Value) -> Value {
    json!({ "plan_id": "plan-001", "action_plan": actions })
}

/// Writes an approved task beside the workspace, with the digests of both documents, as the protocol layer would.
pub(crate) fn put(root: &Path, plan: &Value, config: &str) {
    let plan = serde_json::to_string_pretty(plan).unwrap();
    fs::write(root.join("../plan.json"), &plan).unwrap();
    fs::write(root.join("../config.yaml"), config).unwrap();
    let sha256 = |text: &str| Digest::of(text.as_bytes()).to_string();
    let envelope = json!({
        "format": "actum.task-envelope/1",
        "task_id": "task-7",
        "status": "APPROVED",
        "protocol_validation": true,
        "plan": { "file": "plan.json", "sha256": sha256(&plan) },
        "config": { "file": "config.yaml", "sha256": sha256(config) },
    });
    fs::write(root.join("../task.json"), envelope.to_string()).unwrap();
}

pub(crate) fn edit_envelope(root: &Path, edit: impl Fn(&mut Value)) {
    let mut envelope: Value = serde_json::from_str(&text(root, "../task.json")).unwrap();
    edit(&mut envelope);
    fs::write(root.join("../task.json"), envelope.to_string()).unwrap();
}

pub(crate) fn run(root: &Path, plan: &Value) -> Ended {
    put(root, plan, "");
    actum(root, &["run", "../task.json"])
}

/// Runs a plan under another task id, because each id names a single task.
pub(crate) fn run_as(root: &Path, id: &str, plan: &Value) -> Ended {
    put(root, plan, "");
    edit_envelope(root, |envelope| envelope["task_id"] = json!(id));
    actum(root, &["run", "../task.json"])
}

/// Returns the newest report directory.
pub(crate) fn report(root: &Path) -> PathBuf {
    let all = fs::read_dir(root.join(REPORTS)).unwrap();
    let mut all: Vec<_> = all.map(|entry| entry.unwrap().path()).collect();
    all.sort_by_key(|path| {
        (fs::metadata(path).unwrap().ctime(), fs::metadata(path).unwrap().ctime_nsec())
    });
    all.pop().unwrap()
}

/// Returns a document of the newest reports after validating it against its published schema.
pub(crate) fn document(root: &Path, name: &str) -> Value {
    let path = report(root).join(name);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema = match name {
        "execution_report.json" => {
            ExecutionReport::read(&bytes).unwrap();
            "execution-report"
        }
        "change_log.json" => {
            ChangeLog::read(&bytes).unwrap();
            "change-log"
        }
        "rollback_manifest.json" => {
            RollbackManifest::read(&bytes).unwrap();
            "rollback-manifest"
        }
        "error_report.json" => {
            ErrorReport::read(&bytes).unwrap();
            "error-report"
        }
        other => panic!("{other}"),
    };
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert_schema(schema, &value);
    value
}

pub(crate) fn assert_schema(schema: &str, value: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let schema = fs::read(path.join(format!("{schema}.schema.json"))).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {value:#}");
}

/// Returns true if `whole` contains all of `part`.
pub(crate) fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|whole| is_part_of(value, whole))),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| is_part_of(a, b))
        }
        (part, whole) => part == whole,
    }
}

/// Returns all files and their bytes, except those of actum and git.
pub(crate) fn tree(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let within = path.strip_prefix(root).unwrap().to_owned();
            let is_other = [".actum", ".git", "agent/agent_outputs"];
            if is_other.iter().any(|other| within.starts_with(other)) {
                continue;
            }
            if path.is_dir() {
                files.push((within, Vec::new()));
                directories.push(path);
            } else {
                files.push((within, fs::read(&path).unwrap()));
            }
        }
    }
    // Directories that only lead to outputs are treated as outputs.
    files.retain(|(path, _)| {
        path != Path::new("agent") || root.join("agent").read_dir().unwrap().count() > 1
    });
    files.sort();
    files
}

/// Returns a plan with an action of every kind, and creates the files that it needs.
pub(crate) fn every_kind(root: &Path) -> Value {
    fs::write(root.join("server.json"), "{\n  // kept\n  \"port\": 80\n}\n").unwrap();
    fs::write(root.join("deploy.yaml"), "replicas: 2 # kept\n").unwrap();
    fs::write(root.join("schema.json"), "{ \"type\": \"object\", \"properties\": {} }\n").unwrap();
    fs::write(root.join("old.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(root.join("gone.bin"), b"\0\xff binary").unwrap();
    let json_path = json!({ "type": "json_update_value", "path": "$.port", "value": 8080 });
    let yaml = json!({ "type": "yaml_update", "path": "$.replicas", "value": 3 });
    let property = json!({
        "type": "json_add_property",
        "path": "$.properties",
        "key": "new_field",
        "value": { "type": "string" }
    });
    plan(json!([
        action("a01", "FILE_MODIFY", "server.json", json_path),
        action("a02", "FILE_MODIFY", "deploy.yaml", yaml),
        action("a03", "SCHEMA_UPDATE", "schema.json", property),
        create("a04", "made/below/new.txt"),
        after(replace("a05", "made/below/new.txt", "made"), "a04"),
        action(
            "a06",
            "FILE_RENAME",
            "old.txt",
            json!({ "type": "rename", "new_path": "moved.txt" })
        ),
        after(
            action(
                "a07",
                "FILE_MODIFY",
                "moved.txt",
                json!({ "type": "line_delete", "start_line": 2, "end_line": 2 })
            ),
            "a06"
        ),
        action("a08", "FILE_DELETE", "gone.bin", json!({ "type": "delete" })),
        action(
            "a09",
            "FILE_MODIFY",
            "a.txt",
            json!({ "type": "line_insert", "line_number": 1, "content": "0\n" })
        ),
        action(
            "a10",
            "FILE_MODIFY",
            "sub/b.txt",
            json!({ "type": "content", "content": "all of it\n" })
        ),
    ]))
}

/// Runs git with only the settings of the repository.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").current_dir(root);
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments);
    let ended = git.output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// Creates a workspace that is a git repository, with all files committed except those of actum.
pub(crate) fn repository() -> (tempfile::TempDir, PathBuf) {
    let (directory, root) = workspace();
    git(&root, &["init", "-q", "-b", "main"]);
    fs::write(root.join(".git/info/exclude"), ".actum\nagent\n").unwrap();
    fs::write(root.join(".git/hooks/pre-commit"), "#!/bin/sh\ntouch ../hook-ran\n").unwrap();
    fs::set_permissions(root.join(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
        .unwrap();
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-n", "-m", "first"]);
    (directory, root)
}

pub(crate) const COMMIT: &str = "git:\n  commit: true\n";
