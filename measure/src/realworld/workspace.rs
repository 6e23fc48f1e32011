//! Workspace in which the real `actum` carries out task plans.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use actum_core::Digest;
use actum_task::TaskEnvelope;
use actum_testkit::known_home::{self, User};
use serde_json::{Value, json};

use super::Failure;
use super::child;
use super::download::fresh;
use super::tools::Tools;
use super::tree::{Modes, Tree};

/// Time limit of one run of the program.
const TIME_MAX: Duration = Duration::from_secs(300);
/// Directory of the task reports.
const REPORTS: &str = "agent/agent_outputs/reports";

/// Workspace, next to the home of its ledger and the home directory of its operator.
pub(super) struct Workspace<'t> {
    tools: &'t Tools,
    place: PathBuf,
    pub(super) root: PathBuf,
}

impl<'t> Workspace<'t> {
    /// Creates an empty workspace at `place`, under this operator policy.
    pub(super) fn new(tools: &'t Tools, place: &Path, policy: &str) -> Result<Self, Failure> {
        fresh(place)?;
        let workspace = Self { tools, place: place.to_owned(), root: place.join("workspace") };
        let (sql, configuration) = (place.join("home/sql"), place.join("operator/.config/actum"));
        for directory in [&sql, &configuration, &workspace.root] {
            fs::create_dir_all(directory)?;
        }
        private(&place.join("home"))?;
        fs::write(configuration.join("actum.toml"), policy)?;
        let name = tools.library.file_name().ok_or("a library without a name")?;
        if fs::hard_link(&tools.library, sql.join(name)).is_err() {
            fs::copy(&tools.library, sql.join(name))?;
        }
        workspace.actum(&["init", "."])?;
        Ok(workspace)
    }

    /// Writes a file in the workspace.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().ok_or("a path without a directory")?)?;
        Ok(fs::write(path, text)?)
    }

    /// Runs `actum`, which must succeed, and returns its output.
    pub(super) fn actum(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = child::run(&mut self.command(arguments)?, TIME_MAX)
            .map_err(|error| format!("`actum {}`: {error}", arguments.join(" ")))?;
        Ok(String::from_utf8(output)?)
    }

    /// Returns the program with the operator's home directory as the system knows it. A policy that gives programs more rights
    /// applies only there.
    fn command(&self, arguments: &[&str]) -> Result<Command, Failure> {
        let mut command = Command::new(&self.tools.actum);
        command.args(arguments).current_dir(&self.root);
        let operator = self.place.join("operator");
        let mut command = known_home::command(&command, User::Own, &operator);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", &operator).env("ACTUM_HOME", self.place.join("home"));
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// Writes an approved task with these actions in sequence, and carries it out.
    pub(super) fn run(&self, task: &str, actions: &[Value]) -> Result<String, Failure> {
        let plan = serde_json::to_vec_pretty(&plan(task, actions))?;
        let sha256 = |bytes: &[u8]| Digest::of(bytes).to_string();
        let envelope = json!({
            "config": { "file": "config.yaml", "sha256": sha256(b"") },
            "format": TaskEnvelope::FORMAT,
            "plan": { "file": "plan.json", "sha256": sha256(&plan) },
            "protocol_validation": true,
            "status": "APPROVED",
            "task_id": task,
        });
        fs::write(self.place.join("config.yaml"), "")?;
        fs::write(self.place.join("plan.json"), plan)?;
        fs::write(self.place.join("envelope.json"), envelope.to_string())?;
        self.actum(&["run", "../envelope.json"])
    }

    /// Carries out a task that must fail with this code, and checks that all files are as before.
    pub(super) fn check_failure(
        &self,
        (task, code): (&str, u64),
        actions: &[Value],
        before: &Tree,
    ) -> Result<(), Failure> {
        if self.run(task, actions).is_ok() {
            return Err(format!("the task `{task}` did not fail").into());
        }
        let report = fs::read(reports(&self.root, task)?.join("execution_report.json"))?;
        let report: Value = serde_json::from_slice(&report)?;
        let failed = &report["actions_failed"][0];
        if failed["error_code"] != code {
            return Err(format!("the task `{task}` failed otherwise: {failed}").into());
        }
        let after = self.tree()?.check_same(before, Modes::All);
        after.map_err(|why| format!("after the failed task `{task}`: {why}").into())
    }

    /// Approves a task with these actions as the operator, and carries it out. Its documents remain in the workspace.
    pub(super) fn approve_and_run(&self, task: &str, actions: &[Value]) -> Result<String, Failure> {
        self.write("task_plan.json", &serde_json::to_string_pretty(&plan(task, actions))?)?;
        self.actum(&["plan", "approve", "task_plan.json"])?;
        self.actum(&["run", "task_envelope.json"])
    }

    /// Undoes a task in a copy of the workspace by its rollback script, which does not need actum. Then checks that all files are
    /// as before.
    pub(super) fn check_taken_back_by_script(
        &self,
        task: &str,
        before: &Tree,
    ) -> Result<(), Failure> {
        let copy = self.place.join("copy");
        fresh(&copy)?;
        let copied = Command::new("cp").arg("-a").arg(&self.root).arg(&copy).status()?;
        let copy = copy.join("workspace");
        let script = reports(&copy, task)?.join("rollback.sh");
        let mut script_command = Command::new("sh");
        script_command.arg(script).current_dir(&copy).stdin(Stdio::null());
        child::run(&mut script_command, TIME_MAX)?;
        if !copied.success() {
            return Err("cp failed".into());
        }
        tree(&copy)?
            .check_same(before, Modes::All)
            .map_err(|why| format!("after its script: {why}"))?;
        Ok(())
    }

    /// Undoes the last task with `command`, and checks that all files are as before.
    pub(super) fn check_undone(&self, command: &[&str], before: &Tree) -> Result<(), Failure> {
        self.actum(command)?;
        let after = self.tree()?.check_same(before, Modes::All);
        after.map_err(|why| format!("after `actum {}`: {why}", command.join(" ")).into())
    }

    /// Returns all files, except actum's state and reports.
    pub(super) fn tree(&self) -> Result<Tree, Failure> {
        tree(&self.root)
    }
}

/// Returns a plan whose actions run in sequence.
fn plan(id: &str, actions: &[Value]) -> Value {
    let mut actions = actions.to_vec();
    let ids: Vec<Value> = actions.iter().map(|action| action["action_id"].clone()).collect();
    for (action, before) in actions.iter_mut().skip(1).zip(ids) {
        action["depends_on"] = json!([before]);
    }
    json!({ "plan_id": id, "action_plan": actions })
}

fn tree(root: &Path) -> Result<Tree, Failure> {
    let mut tree = Tree::read(root)?;
    tree.forget(b"agent");
    Ok(tree)
}

/// Returns the report directory of a task.
fn reports(root: &Path, task: &str) -> Result<PathBuf, Failure> {
    let ending = format!("_{task}");
    for entry in fs::read_dir(root.join(REPORTS))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(&ending) {
            return Ok(entry.path());
        }
    }
    Err(format!("the task `{task}` has no reports").into())
}

fn private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
}
