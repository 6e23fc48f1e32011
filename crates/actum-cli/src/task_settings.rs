//! Settings of a task that an approver is shown: those of its system config that differ from the defaults.

use std::io::{self, Write};
use std::path::Path;

use actum::Request;
use actum::task::PlannedCommit;
use actum_core::Timestamp;
use actum_core::path::{Harmless, InBackticks};
use actum_record::ledger::Actor;
use actum_task::{Setting, SystemConfig};
use serde::Serialize;

use crate::clock;

/// Changed settings of a system config, and the commit that they ask for.
#[derive(Serialize, Default)]
pub(crate) struct ShownSettings {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    settings: Vec<Setting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<ShownCommit>,
    /// Description of the plan, which goes into the message of the commit; none where only its request is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_body: Option<String>,
}

/// Commit as it would be made now; branch and author are those of the repository and not part of an approval.
#[derive(Serialize)]
#[serde(untagged)]
enum ShownCommit {
    Planned(PlannedCommit),
    Impossible { problem: String },
}

impl ShownSettings {
    /// Lists the changed settings of `config` for a task of `actor` in the workspace at `root`. `description` is that of its
    /// plan, where the plan is at hand.
    pub(crate) fn new(
        config: &SystemConfig,
        description: Option<&str>,
        (root, actor): (&Path, &Actor),
        now: Timestamp,
    ) -> Self {
        let commit = config.commit.then(|| match PlannedCommit::find(root, actor, now) {
            Ok(planned) => ShownCommit::Planned(planned),
            Err(problem) => ShownCommit::Impossible { problem },
        });
        let commit_body = description.filter(|_| config.commit).map(str::to_owned);
        Self { settings: config.changed_settings(), commit, commit_body }
    }

    /// Lists those of a request, whose digest covers the config; none where the request is no task.
    pub(crate) fn of_request(request: &Request, root: &Path) -> Self {
        let Some(task) = &request.task else { return Self::default() };
        match SystemConfig::read(task.config.as_bytes()) {
            Ok(config) => Self::new(&config, None, (root, &request.actor), clock::now()),
            // A config that cannot be read is not carried out either.
            Err(error) => {
                let setting = Setting { name: "unread".to_owned(), value: error.to_string() };
                Self { settings: vec![setting], commit: None, commit_body: None }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// Writes a line for each setting, and one for the commit.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for Setting { name, value } in &self.settings {
            writeln!(out, "config   {name}: {}", Harmless(value.as_bytes()))?;
        }
        match &self.commit {
            None => return Ok(()),
            Some(ShownCommit::Planned(PlannedCommit { branch, author })) => {
                let (branch, author) =
                    (InBackticks(branch.as_bytes()), InBackticks(author.as_bytes()));
                writeln!(
                    out,
                    "commit   to branch `{branch}` as `{author}`, as the repository is now"
                )?;
            }
            Some(ShownCommit::Impossible { problem }) => {
                writeln!(
                    out,
                    "commit   not as the repository is now: {}",
                    Harmless(problem.as_bytes())
                )?;
            }
        }
        let body = self.commit_body.as_deref().unwrap_or_default();
        body.lines().try_for_each(|line| writeln!(out, "message  {}", Harmless(line.as_bytes())))
    }
}
