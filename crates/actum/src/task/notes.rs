//! Notes on a task or a rollback in progress, for the process that finds it interrupted (EX-13).

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Timestamp};
use actum_git::CommitId;
use actum_ledger::UnderWay;
use actum_task::report::{ChangeLog, CleanText, ErrorReport, ExecutionReport, ReportName};
use serde::{Deserialize, Serialize};

use super::OutputError;
use super::external::NotedPipeline;
use super::outputs::EndReports;
use crate::error::Result;

const FORMAT: &str = "actum.task-under-way/1";
const ROLLBACK_FORMAT: &str = "actum.rollback-under-way/1";

/// Notes on a task while it is executed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Notes {
    pub(super) format: String,
    /// Name of the directory of its reports.
    pub(super) report: String,
    pub(super) report_id: PlainId,
    pub(super) task: PlainId,
    pub(super) plan: PlainId,
    pub(super) started: Timestamp,
    pub(super) archived_to: Option<String>,
    /// Ids of its actions, in order.
    pub(super) actions: Vec<CleanText>,
    /// External pipelines, in the order in which they run.
    #[serde(default)]
    pub(super) external: Vec<NotedPipeline>,
    /// Documents to write if its run is found committed.
    pub(super) prepared: Option<Prepared>,
    /// Documents to write in any case, since they could not be written.
    pub(super) ended: Option<EndReports>,
    /// True if the operator may not have been alerted of these documents.
    #[serde(default)]
    pub(super) is_untold: bool,
}

/// Notes on the rollback of a task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RollbackNotes {
    format: String,
    /// Name of the directory of its reports.
    pub(super) report: String,
    /// Commit that is reverted, if the task was committed.
    pub(super) reverts: Option<String>,
}

/// Notes of a process that is gone.
pub(super) enum Noted {
    Task(Box<Notes>),
    Rollback(RollbackNotes),
}

/// Documents of a task whose run is about to be made.
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

    /// Adds the documents to write if the run is found committed.
    pub(super) fn prepare(&mut self, prepared: Prepared) -> &Self {
        self.prepared = Some(prepared);
        self
    }

    /// Adds the documents that could not be written.
    pub(super) fn ended(mut self, ended: EndReports) -> Self {
        self.ended = Some(ended);
        self
    }

    /// Adds the documents that are about to be written, and of which the operator is alerted then.
    pub(super) fn ending(mut self, ended: EndReports) -> Self {
        (self.ended, self.is_untold) = (Some(ended), true);
        self
    }

    /// Keeps the notes, which last until the machine stops.
    pub(super) fn keep(&self, mark: &UnderWay) -> Result<()> {
        Ok(mark.note(&self.to_vec()?)?)
    }

    /// Keeps the notes durably, as needed if they replace durable ones.
    pub(super) fn keep_durably(&self, mark: &UnderWay) -> Result<()> {
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

    /// Returns the commit that is reverted, if the task was committed.
    pub(super) fn reverts(&self) -> Option<CommitId> {
        self.reverts.as_deref()?.parse().ok()
    }

    /// Keeps the notes, which last until the machine stops.
    pub(super) fn keep(&self, mark: &UnderWay) -> Result<()> {
        Ok(mark.note(&to_vec(self, &self.report)?)?)
    }
}

fn to_vec(notes: &impl Serialize, report: &str) -> Result<Vec<u8>> {
    let notes = serde_json::to_vec(notes).map_err(|error| OutputError {
        doing: "put together the notes on",
        path: report.to_owned(),
        source: error.into(),
    })?;
    Ok(notes)
}

impl Noted {
    /// Returns the name of the directory of its reports.
    pub(super) fn report(&self) -> &str {
        match self {
            Self::Task(notes) => &notes.report,
            Self::Rollback(notes) => &notes.report,
        }
    }

    /// Reads notes. Returns `None` for incomplete notes after a stop of the machine. No change of such a task was
    /// visible, since notes are made durable before that.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>> {
        let Ok(document) = serde_json::from_slice::<serde_json::Value>(bytes) else {
            return Ok(None);
        };
        let format = document.get("format").and_then(serde_json::Value::as_str);
        let read = match format {
            Some(FORMAT) => serde_json::from_value(document).map(Self::Task),
            Some(ROLLBACK_FORMAT) => serde_json::from_value(document).map(Self::Rollback),
            _other => Err(serde::de::Error::custom("of another version")),
        };
        let told = |error: serde_json::Error| OutputError {
            doing: "read the notes on a task in",
            path: "the home of the ledger".to_owned(),
            source: std::io::Error::other(error.to_string()),
        };
        Ok(Some(read.map_err(told)?))
    }
}
