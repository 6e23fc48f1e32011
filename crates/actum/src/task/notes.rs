//! Notes about a task or rollback in progress. If it is interrupted, the next process reads them to write the missing
//! reports (EX-13).

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Timestamp};
use actum_git::CommitId;
use actum_ledger::ActivityMark;
use actum_task::report::{ChangeLog, CleanText, ErrorReport, ExecutionReport, ReportName};
use serde::{Deserialize, Serialize};

use super::OutputError;
use super::external::NotedPipeline;
use super::outputs::EndReports;
use crate::error::Result;

const FORMAT: &str = "actum.task-under-way/1";
const ROLLBACK_FORMAT: &str = "actum.rollback-under-way/1";

/// Notes about a task while it is executed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Notes {
    pub(super) format: String,
    /// Name of the task's report directory.
    pub(super) report: String,
    pub(super) report_id: PlainId,
    pub(super) task: PlainId,
    pub(super) plan: PlainId,
    pub(super) started: Timestamp,
    pub(super) archived_to: Option<String>,
    /// Ids of the task's actions, in order.
    pub(super) actions: Vec<CleanText>,
    /// External pipelines of the task, in the order in which they run.
    #[serde(default)]
    pub(super) external: Vec<NotedPipeline>,
    /// Reports to write if the ledger shows that the task's run succeeded.
    pub(super) prepared: Option<Prepared>,
    /// Final reports that the process was about to write or failed to write. They must be written in any case.
    pub(super) ended: Option<EndReports>,
    /// True if the operator may not have been alerted about the errors in the final reports.
    #[serde(default)]
    pub(super) is_untold: bool,
}

/// Notes about the rollback of a task while it is executed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RollbackNotes {
    format: String,
    /// Name of the task's report directory.
    pub(super) report: String,
    /// Git commit that the rollback reverts, if the task was committed.
    pub(super) reverts: Option<String>,
}

/// Notes left by a process that has ended.
pub(super) enum Noted {
    Task(Box<Notes>),
    Rollback(RollbackNotes),
}

/// Reports of a task that are prepared before its run changes the workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Prepared {
    pub(super) run: RunId,
    pub(super) report: ExecutionReport,
    pub(super) log: ChangeLog,
    pub(super) error: Option<ErrorReport>,
}

impl Notes {
    pub(super) fn new(
        report: &ReportName,
        (report_id, task, plan): (&PlainId, &PlainId, &PlainId),
        started: Timestamp,
        actions: Vec<CleanText>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            report: report.as_str().to_owned(),
            report_id: report_id.clone(),
            task: task.clone(),
            plan: plan.clone(),
            started,
            archived_to: None,
            actions,
            external: Vec::new(),
            prepared: None,
            ended: None,
            is_untold: false,
        }
    }

    /// Adds the reports that must be written if the run turns out to have succeeded.
    pub(super) fn prepare(&mut self, prepared: Prepared) -> &Self {
        self.prepared = Some(prepared);
        self
    }

    /// Adds the final reports, after an attempt to write them failed.
    pub(super) fn ended(mut self, ended: EndReports) -> Self {
        self.ended = Some(ended);
        self
    }

    /// Adds the final reports before they are written and before the operator is alerted about them.
    pub(super) fn ending(mut self, ended: EndReports) -> Self {
        (self.ended, self.is_untold) = (Some(ended), true);
        self
    }

    /// Stores the notes without making them durable, so they may be lost if the machine stops.
    pub(super) fn keep(&self, mark: &ActivityMark) -> Result<()> {
        Ok(mark.note(&self.to_vec()?)?)
    }

    /// Stores the notes durably, which is required if they replace durable notes.
    pub(super) fn keep_durably(&self, mark: &ActivityMark) -> Result<()> {
        Ok(mark.note_durably(&self.to_vec()?)?)
    }

    fn to_vec(&self) -> Result<Vec<u8>> {
        to_vec(self, &self.report)
    }
}

impl RollbackNotes {
    pub(super) fn new(report: &ReportName, reverts: Option<CommitId>) -> Self {
        let reverts = reverts.map(|commit| commit.to_string());
        Self { format: ROLLBACK_FORMAT.to_owned(), report: report.as_str().to_owned(), reverts }
    }

    /// Returns the git commit that the rollback reverts, if the task was committed.
    pub(super) fn reverts(&self) -> Option<CommitId> {
        self.reverts.as_deref()?.parse().ok()
    }

    /// Stores the notes without making them durable, so they may be lost if the machine stops.
    pub(super) fn keep(&self, mark: &ActivityMark) -> Result<()> {
        Ok(mark.note(&to_vec(self, &self.report)?)?)
    }
}

fn to_vec(notes: &impl Serialize, report: &str) -> Result<Vec<u8>> {
    let notes = serde_json::to_vec(notes).map_err(|error| OutputError {
        doing: "serialize the notes on",
        path: report.to_owned(),
        source: error.into(),
    })?;
    Ok(notes)
}

impl Noted {
    /// Returns the name of the task's report directory.
    pub(super) fn report(&self) -> &str {
        match self {
            Self::Task(notes) => &notes.report,
            Self::Rollback(notes) => &notes.report,
        }
    }

    /// Parses notes. Returns `None` if they are truncated because the machine stopped before they were durable. Such a
    /// task had not changed anything yet, because notes are made durable before any change becomes visible.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>> {
        let Ok(document) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            return Ok(None);
        };
        let format = document.get("format").and_then(serde_json::Value::as_str);
        let read = match format {
            Some(FORMAT) => serde_json::from_value(document).map(Self::Task),
            Some(ROLLBACK_FORMAT) => serde_json::from_value(document).map(Self::Rollback),
            _other => Err(serde::de::Error::custom("they were written by a different version")),
        };
        let unreadable = |error: serde_json::Error| OutputError {
            doing: "read the notes on a task in",
            path: "the home of the ledger".to_owned(),
            source: std::io::Error::other(error.to_string()),
        };
        Ok(Some(read.map_err(unreadable)?))
    }
}
