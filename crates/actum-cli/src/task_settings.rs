//! Settings of a task to show to an approver: those of its system config that differ from the defaults.

use std::io::{self, Write};
use std::path::Path;

use actum::Request;
use actum::task::PlannedCommit;
use actum_api::task::{TaskCommit, TaskSetting, TaskSettings};
use actum_core::Timestamp;
use actum_core::path::{Harmless, InBackticks};
use actum_record::ledger::Actor;
use actum_task::{Setting, SystemConfig};

use crate::clock;

/// Lists the settings of `config` that differ from the defaults, for a task of `actor` in the workspace at `root`.
/// `description` is the description in the task plan, if the plan is available.
pub(crate) fn new(
    config: &SystemConfig,
    description: Option<&str>,
    (root, actor): (&Path, &Actor),
    now: Timestamp,
) -> TaskSettings {
    let commit = config.commit.then(|| match PlannedCommit::find(root, actor, now) {
        Ok(PlannedCommit { branch, author }) => TaskCommit::Planned { branch, author },
        Err(problem) => TaskCommit::Impossible { problem },
    });
    let commit_body = description.filter(|_| config.commit).map(str::to_owned);
    let settings = config.changed_settings().into_iter();
    let settings = settings.map(|Setting { name, value }| TaskSetting { name, value }).collect();
    TaskSettings { settings, commit, commit_body }
}

/// Lists the changed settings of a request, whose digest covers the config. The list is empty if the request is not a
/// task.
pub(crate) fn of_request(request: &Request, root: &Path) -> TaskSettings {
    let Some(task) = &request.task else { return TaskSettings::default() };
    match SystemConfig::read(task.config.as_bytes()) {
        Ok(config) => new(&config, None, (root, &request.actor), clock::now()),
        // A task whose config cannot be read is not carried out either, so it is enough to show the error.
        Err(error) => {
            let setting = TaskSetting { name: "unread".to_owned(), value: error.to_string() };
            TaskSettings { settings: vec![setting], commit: None, commit_body: None }
        }
    }
}

/// Writes a line for each setting, followed by the planned commit.
pub(crate) fn write(shown: &TaskSettings, out: &mut dyn Write) -> io::Result<()> {
    for TaskSetting { name, value } in &shown.settings {
        writeln!(out, "config   {name}: {}", Harmless(value.as_bytes()))?;
    }
    match &shown.commit {
        None => return Ok(()),
        Some(TaskCommit::Planned { branch, author }) => {
            let (branch, author) = (InBackticks(branch.as_bytes()), InBackticks(author.as_bytes()));
            writeln!(
                out,
                "commit   to branch `{branch}` as `{author}`, in the current state of the repository"
            )?;
        }
        Some(TaskCommit::Impossible { problem }) => {
            writeln!(
                out,
                "commit   not possible in the current state of the repository: {}",
                Harmless(problem.as_bytes())
            )?;
        }
    }
    let body = shown.commit_body.as_deref().unwrap_or_default();
    body.lines().try_for_each(|line| writeln!(out, "message  {}", Harmless(line.as_bytes())))
}
