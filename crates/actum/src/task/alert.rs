//! Alerts to the operator about a task, recorded in the ledger and listed in the queue (EX-18).

use std::fmt;
use std::path::{Path, PathBuf};

use actum_core::RunId;
use actum_core::plain_id::PlainId;
use actum_record::ledger::{Actor, AlertRaised, WorkspaceId};
use actum_task::ErrorCode;
use actum_task::report::{ErrorObject, ErrorReport, ReportName};

use super::documents::clean;
use super::rollback::rollback_label;
use super::run::label;
use crate::alerts::Alert;
use crate::error::Result;
use crate::place::Place;
use crate::records::{ENGINE, Records};
use crate::request::EntryPoint;

/// Raises alerts about the tasks of one workspace.
pub(super) struct Alerts {
    records: Records,
    workspace: WorkspaceId,
    root: PathBuf,
    actor: Option<Actor>,
}

impl Alerts {
    /// Creates a source of alerts for a workspace. `actor` is the requester of the tasks, or `None` for interrupted
    /// tasks, whose requester is unknown.
    pub(super) fn new(
        records: &Records,
        (workspace, root): (WorkspaceId, &Path),
        actor: Option<Actor>,
    ) -> Self {
        Self { records: records.clone(), workspace, root: root.to_owned(), actor }
    }

    /// Raises an alert if an error in the report requires one, and returns the alert's index in the ledger. A single
    /// alert covers all such errors and quotes the first. Callers raise it before they write the report, so that a written
    /// report always has its alert.
    ///
    /// # Errors
    /// `Ledger`, `Record`.
    pub(super) fn raise(
        &self,
        task: &PlainId,
        report: &ErrorReport,
        directory: Option<&ReportName>,
    ) -> Result<Option<u64>> {
        let mut alerts = report.alerts();
        let Some(first) = alerts.next() else { return Ok(None) };
        let error = (first.error_code, first.error_type.clone(), message(first));
        let alert = AlertRaised {
            more: u64::try_from(alerts.count()).unwrap_or(u64::MAX),
            run: report.run,
            ..self.alert(label(task), error, directory)
        };
        self.append(&alert).map(Some)
    }

    /// Raises an alert about a failed rollback of a task, if the error code `code` requires an alert.
    ///
    /// # Errors
    /// `Ledger`, `Record`.
    pub(super) fn raise_left(
        &self,
        (run, directory): (RunId, &ReportName),
        (code, why): (ErrorCode, &dyn fmt::Display),
    ) -> Result<Option<u64>> {
        if !code.response().alerts_operator() {
            return Ok(None);
        }
        let label = rollback_label(directory.task());
        let message = clean(&why.to_string()).as_str().to_owned();
        let error = (code.number(), code.error_type().to_owned(), message);
        let alert = AlertRaised { run: Some(run), ..self.alert(label, error, Some(directory)) };
        self.append(&alert).map(Some)
    }

    fn alert(
        &self,
        label: String,
        (code, name, message): (u16, String, String),
        directory: Option<&ReportName>,
    ) -> AlertRaised {
        AlertRaised {
            format: AlertRaised::FORMAT.to_owned(),
            time: self.records.clock.now(),
            tenant: self.records.tenant.clone(),
            workspace: Some(self.workspace),
            root: Some(Place::new(&self.root).root),
            actor: self.actor.clone(),
            door: EntryPoint::TaskPlan.as_str().to_owned(),
            label,
            code: Some(code),
            name,
            message,
            more: 0,
            run: None,
            reports: directory.map(ReportName::directory),
            engine: ENGINE.to_owned(),
        }
    }

    /// Appends an alert, unless an equal alert is already pending. Otherwise, each attempt to write an unwritable report
    /// or to repeat a failed rollback would add another alert.
    fn append(&self, alert: &AlertRaised) -> Result<u64> {
        let of = |it: &AlertRaised| {
            (it.workspace, it.code, it.run, it.reports.clone(), it.label.clone())
        };
        let this = of(alert);
        let open = self.records.ledger.read(|log| Alert::unseen(log))?;
        let waits = open.iter().find(|(_, raised)| this.3.is_some() && of(raised) == this);
        if let Some(waits) = waits.map(|(index, _)| *index) {
            return Ok(waits);
        }
        Ok(self.records.raise(alert)?.index)
    }
}

/// Returns the message of an error, extended by its first violation and the number of further ones.
fn message(error: &ErrorObject) -> String {
    let message = &error.message;
    match error.details.violations.as_slice() {
        [] => message.as_str().to_owned(),
        [one] => format!("{message}: {}", one.reason),
        [first, more @ ..] => format!("{message}: {}; and {} more", first.reason, more.len()),
    }
}
