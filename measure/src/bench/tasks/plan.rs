//! Plans, and the workspaces in which they run.

use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};

use actum_core::Digest;
use actum_edit::ChangeSet;
use actum_task::TaskEnvelope;
use serde_json::{Value, json};

use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::contestant::Surroundings;
use crate::bench::material::Stock;
use crate::bench::race::{Contestant, race, time};

const LINT: &str = "`actum plan lint`";
const VERSION: &str = "`actum --version`";
/// Number of plan lines for each action, and number of such actions.
const LINES: usize = 10;
const ACTIONS: usize = 1000;
/// Number of files that the actions edit.
const FILES: usize = 100;

/// Workspace with files, and the task documents next to it.
pub(super) struct Fixture {
    program: PathBuf,
    directory: PathBuf,
    pub(super) workspace: PathBuf,
    surroundings: Surroundings,
}

impl Fixture {
    pub(super) fn make(directory: &Path, program: &Path, stock: &Stock) -> Result<Self, Failure> {
        let workspace = directory.join("workspace");
        stock.put(&workspace)?;
        let surroundings = Surroundings::new(directory);
        let (program, directory) = (program.to_owned(), directory.to_owned());
        let desk = Self { program, directory, workspace, surroundings };
        desk.call(&["init"])?;
        Ok(desk)
    }

    /// Writes a plan and its envelope to the fixture.
    pub(super) fn put(&self, plan: &Value) -> Result<(), Failure> {
        let plan = serde_json::to_vec_pretty(plan)?;
        let envelope = json!({
            "config": { "file": "config.yaml", "sha256": Digest::of(b"").to_string() },
            "format": TaskEnvelope::FORMAT,
            "plan": { "file": "plan.json", "sha256": Digest::of(&plan).to_string() },
            "protocol_validation": true,
            "status": "APPROVED",
            "task_id": "task",
        });
        write(self.directory.join("plan.json"), plan)?;
        write(self.directory.join("config.yaml"), "")?;
        Ok(write(self.directory.join("task.json"), envelope.to_string())?)
    }

    pub(super) fn run(&self) -> Result<(), Failure> {
        self.call(&["run", "../task.json"])
    }

    pub(super) fn roll_back(&self) -> Result<(), Failure> {
        self.call(&["rollback", "task"])
    }

    /// Returns the command that carries out the task, so that the caller can observe the process.
    pub(super) fn command(&self) -> Result<std::process::Command, Failure> {
        let mut command = self.surroundings.command(&self.program, &self.workspace)?;
        command.args(["run", "../task.json"]);
        Ok(command)
    }

    fn call(&self, words: &[&str]) -> Result<(), Failure> {
        let mut command = self.surroundings.command(&self.program, &self.workspace)?;
        self.surroundings.run(command.args(words))
    }
}

/// Returns a plan with one action for each file of the change.
pub(super) fn of_change(change: &ChangeSet) -> Value {
    let action = |(index, patch): (usize, &actum_edit::Patch)| {
        json!({
            "action_id": format!("a{index}"),
            "action_type": "FILE_MODIFY",
            "operation": { "type": "hunks", "hunks": patch.hunks },
            "target": patch.path,
        })
    };
    let actions: Vec<_> = change.patches.iter().enumerate().map(action).collect();
    json!({ "action_plan": actions, "plan_id": "plan" })
}

/// Measures the linting of a plan with 10,000 lines.
pub(super) fn lint(directory: &Path, program: &Path, rounds: usize) -> Result<Contest, Failure> {
    create_dir_all(directory)?;
    let stock = Stock::of_files(FILES);
    let desk = Fixture::make(directory, program, &stock)?;
    let action = |index: usize| {
        json!({
            "action_id": format!("a{index}"),
            "action_type": "FILE_MODIFY",
            "operation": { "type": "line_insert", "line_number": 1, "content": "one more\n" },
            "target": format!("dir-000/file-{:05}.txt", index % FILES),
        })
    };
    let plan =
        json!({ "action_plan": (0..ACTIONS).map(action).collect::<Vec<_>>(), "plan_id": "plan" });
    let lines = serde_json::to_string_pretty(&plan)?.lines().count();
    if lines < LINES * ACTIONS {
        return Err(format!("the plan has {lines} lines alone").into());
    }
    desk.put(&plan)?;
    let timed = |words: &'static [&'static str]| {
        let desk = &desk;
        move || time(|| desk.call(words))
    };
    Ok(Contest {
        title: format!("Linting a plan of {ACTIONS} actions on {lines} lines, whole processes"),
        finishes: race(
            vec![
                Contestant::new(VERSION, timed(&["--version"])),
                Contestant::new(LINT, timed(&["plan", "lint", "../plan.json"])),
            ],
            rounds,
        ),
        bars: vec![Bar { who: LINT, limit: Limit::InAll(1000.0) }],
    })
}
