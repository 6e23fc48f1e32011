//! Plan envelopes for `actum action run`, and the result envelopes that it returns.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use actum_action::ResultEnvelope;
use serde_json::{Value, json};

use crate::program::{Ended, command};

/// Creates a plan of tier R2 whose scope allows writing anywhere.
pub(crate) fn plan(action: &str, input: Value) -> Value {
    json!({
        "actionId": "action:test",
        "actionType": action,
        "riskTier": "R2",
        "confidence": 0.9,
        "reason": "a test",
        "input": input,
        "rollbackPlan": "undo the run",
        "verification": { "required": true, "commands": [] },
        "scope": { "allowedFiles": [], "allowedDirs": ["."], "forbiddenFiles": [] }
    })
}

pub(crate) fn with(mut plan: Value, member: &str, value: Value) -> Value {
    plan[member] = value;
    plan
}

pub(crate) fn checked_by(plan: Value, commands: &[&str]) -> Value {
    with(plan, "verification", json!({ "required": true, "commands": commands }))
}

/// Passes a plan on standard input, under the given operator policy.
pub(crate) fn ended(
    root: &Path,
    configuration: Option<&Path>,
    plan: &str,
    options: &[&str],
) -> Ended {
    let mut command = command(root, &[&["action", "run", "-"], options].concat());
    if let Some(configuration) = configuration {
        command.env("XDG_CONFIG_HOME", configuration);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let given = child.stdin.take().unwrap().write_all(plan.as_bytes());
    given.unwrap();
    child.wait_with_output().unwrap().into()
}

/// Returns the result after checking that it has the frozen form and matches the exit code.
pub(crate) fn result_of(ended: &Ended) -> Value {
    let envelope = ResultEnvelope::read(ended.stdout.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    let code = match envelope.status.as_str() {
        "succeeded" => 0,
        "rejected" => 1,
        "reverted" => 3,
        "failed" => 4,
        _ => 6,
    };
    assert_eq!(ended.code, code, "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1);
    serde_json::from_str(&ended.stdout).unwrap()
}

pub(crate) fn act(root: &Path, plan: &Value) -> Value {
    result_of(&ended(root, None, &plan.to_string(), &[]))
}

/// Writes an operator policy that allows these programs to run.
pub(crate) fn allowing(directory: &Path, rules: &str) -> PathBuf {
    let configuration = directory.join("config");
    fs::create_dir_all(configuration.join("actum")).unwrap();
    fs::write(configuration.join("actum/actum.toml"), rules).unwrap();
    configuration
}

pub(crate) fn passphrase(directory: &Path) -> PathBuf {
    let file = directory.join("passphrase");
    fs::write(&file, "correct horse battery\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    file
}

pub(crate) const RULES: &str = r#"version = 1

[[command]]
argv = ["grep"]
decision = "allow"
match = ["grep -q 1 a.txt"]
[[command]]
argv = ["cp"]
decision = "allow"
match = ["cp a b"]
[[command]]
argv = ["tee"]
decision = "allow"
match = ["tee x"]
[[command]]
argv = ["sleep"]
decision = "allow"
match = ["sleep 9"]
[[command]]
argv = ["false"]
decision = "allow"
match = ["false"]
[[command]]
argv = ["true"]
decision = "allow"
match = ["true"]
"#;

pub(crate) fn act_under(root: &Path, configuration: &Path, plan: &Value) -> Value {
    result_of(&ended(root, Some(configuration), &plan.to_string(), &[]))
}

pub(crate) fn status(result: &Value) -> (&str, Option<&str>) {
    (result["status"].as_str().unwrap(), result["feedback"]["reason"].as_str())
}
