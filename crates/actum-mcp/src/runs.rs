//! Answers of the tools `log` and `show`, which report past runs.

use actum_api::history::{LoggedRun, Run};
use actum_api::path::WorkspacePath;
use actum_core::{Digest, RunId, Status};
use serde::Serialize;

use crate::answer::{Answer, count, push, shortened};

/// Answer of the tool `log`, which lists past runs.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    runs: Vec<ListedRun>,
    total: u64,
}

#[derive(Debug, Clone, Serialize)]
struct ListedRun {
    run: RunId,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    files: u64,
    added: u64,
    removed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<RunId>,
}

/// Answer of the tool `show`, which contains the details of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    run: ListedRun,
    changes: Vec<ShownPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct ShownPath {
    #[serde(flatten)]
    path: WorkspacePath,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Digest>,
    added: u64,
    removed: u64,
}

impl From<&LoggedRun> for ListedRun {
    fn from(run: &LoggedRun) -> Self {
        let facts = run.facts.as_ref();
        Self {
            run: run.run,
            status: run.status,
            time: facts.map(|facts| facts.time.clone()),
            by: run.record.as_ref().map(|record| format_actor(&record.actor)),
            label: facts.map(|facts| facts.label.clone()),
            files: facts.map_or(0, |facts| facts.files),
            added: facts.map_or(0, |facts| facts.added),
            removed: facts.map_or(0, |facts| facts.removed),
            undoes: run.undoes,
            undone_by: facts.and_then(|facts| facts.undone_by),
        }
    }
}

/// Returns the name of the agent that made a run, or that of the user if there was no agent.
fn format_actor(actor: &actum_api::record::Actor) -> String {
    actor.agent.clone().unwrap_or_else(|| actor.user.clone())
}

impl ListedRun {
    fn text(&self) -> String {
        let Self { run, status, time, by, label, files, added, removed, undoes: _, undone_by } =
            self;
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let undone = undone_by.map(|by| format!("  undone by {by}")).unwrap_or_default();
        format!(
            "{run}  {}  {}  {}  {} +{added} -{removed}  {}{undone}",
            or_dash(time),
            status.as_str(),
            or_dash(by),
            count(*files, "file"),
            or_dash(label)
        )
    }
}

impl Listed {
    /// Creates the answer from the document that `actum log` prints.
    pub fn new(log: &actum_api::history::Log) -> Self {
        Self { runs: log.runs.iter().map(ListedRun::from).collect(), total: log.total }
    }
}

impl From<Listed> for Answer {
    fn from(listed: Listed) -> Self {
        let mut text = format!("{} of {} runs", listed.runs.len(), listed.total);
        for run in &listed.runs {
            push(&mut text, &run.text());
        }
        Self::done(&listed, text)
    }
}

impl Shown {
    /// Creates the answer from the document that `actum show` prints.
    pub fn new(run: &Run) -> Self {
        let changes = run.changes.iter().map(|shown| ShownPath {
            path: shown.change.path.clone(),
            kind: shown.change.kind.as_str().to_owned(),
            sha256: shown.after.sha256,
            added: shown.change.added,
            removed: shown.change.removed,
        });
        let diff = run.diff.as_ref().map(|diffs| {
            let sections = diffs.changes.iter().filter_map(|file| file.diff.as_deref());
            shortened(sections.collect())
        });
        Self {
            run: ListedRun {
                run: run.run,
                status: run.status,
                time: Some(run.time.clone()),
                by: run.record.as_ref().map(|record| format_actor(&record.actor)),
                label: Some(run.label.clone()),
                files: run.files,
                added: run.added,
                removed: run.removed,
                undoes: run.undoes,
                undone_by: run.undone_by,
            },
            changes: changes.collect(),
            diff,
        }
    }
}

impl From<Shown> for Answer {
    fn from(shown: Shown) -> Self {
        let mut text = shown.run.text();
        for ShownPath { path, kind, sha256, added, removed } in &shown.changes {
            let sha256 = sha256.map(|digest| format!("  sha256 {digest}")).unwrap_or_default();
            push(&mut text, &format!("{kind}  {path}  +{added} -{removed}{sha256}"));
        }
        if let Some(diff) = &shown.diff {
            push(&mut text, diff);
        }
        Self::done(&shown, text)
    }
}
