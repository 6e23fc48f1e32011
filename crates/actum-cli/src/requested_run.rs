//! Execution of a run that a command or a client requests: opens the workspace, and carries out the run or only
//! computes it.

use std::collections::BTreeMap;
use std::path::Path;

use actum::{Commands, Engine, EntryPoint, PolicyInForce, Request, RequestLease, Work};
use actum_record::ledger::RequestKey;
use actum_workspace::Limits;

use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::progress::Working;
use crate::run_end::{Extras, RunEnd, Title};
use crate::session::Session;
use crate::{actor, notify, policy, records, recovery_note, root};

/// Settings of the command that requests a run, apart from the work itself.
pub(crate) struct Asked {
    pub(crate) limits: Limits,
    pub(crate) label: Option<String>,
    pub(crate) if_missing: IfMissing,
}

/// Action to take if the workspace does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// Create the workspace.
    Make,
    /// Reject the command.
    Refuse,
}

/// Whether a run is carried out or only computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunForm {
    /// Carry out the run.
    Make,
    /// Compute the changes of the run without applying them, as `--dry-run` does.
    Look,
}

/// Run to carry out, without its work, which is computed once the workspace is open.
pub(crate) struct RequestedRun<'r> {
    pub(crate) session: &'r Session,
    pub(crate) root: &'r Path,
    pub(crate) asked: Asked,
    pub(crate) form: RunForm,
    pub(crate) extras: Extras<'r>,
    /// Whether to wait while another process holds the workspace.
    pub(crate) wait: bool,
    pub(crate) key: Option<RequestKey>,
    pub(crate) agent: Option<String>,
    pub(crate) lease: &'r LeaseArgument,
    pub(crate) entry_point: EntryPoint,
}

impl RequestedRun<'_> {
    /// Carries out or computes the run, and passes its result to `then`. An earlier recovery is reported even if the
    /// run fails. `work` is called after the workspace is opened, because only an open workspace knows all runs.
    /// Returns the engine, if one was opened, for the caller to close.
    pub(crate) fn carry_out<T>(
        self,
        work: impl FnOnce() -> Result<Work, Failure>,
        then: impl FnOnce(RunEnd) -> Result<T, Failure>,
    ) -> Result<(Result<T, Failure>, Option<Engine>), Failure> {
        match self.form {
            RunForm::Look => self.look(work).map(|end| (then(end), None)),
            RunForm::Make => self.make(work, then).map(|(shown, engine)| (shown, Some(engine))),
        }
    }

    fn look(self, work: impl FnOnce() -> Result<Work, Failure>) -> Result<RunEnd, Failure> {
        let (session, root, extras) = (self.session, self.root, self.extras);
        let in_force: PolicyInForce = policy::files()?.read(root)?;
        let lease = self.lease.look(session)?;
        let own_root = records::own_root(root, &session.tenant)?;
        let mut workspace = match self.asked.if_missing {
            IfMissing::Make => own_root.open()?,
            IfMissing::Refuse => own_root.open_existing()?,
        };
        let working = Working::begin(&session.screen, "computing the change");
        let end = work().and_then(|work| {
            let request = self.request(work, lease);
            let in_force = (&in_force, &session.tenant.id()?);
            Ok(RunEnd::look(&mut workspace, &request, in_force, extras)?)
        });
        drop(working);
        recovery_note::print(&session.screen, workspace.recovery());
        Ok(end?.after(workspace.recovery()))
    }

    fn make<T>(
        self,
        work: impl FnOnce() -> Result<Work, Failure>,
        then: impl FnOnce(RunEnd) -> Result<T, Failure>,
    ) -> Result<(Result<T, Failure>, Engine), Failure> {
        let (session, root, extras) = (self.session, self.root, self.extras);
        let if_missing = self.asked.if_missing;
        let files = policy::files()?;
        if !root::is_made(root) {
            files.read(root)?; // reject an invalid policy before anything is created
            if if_missing == IfMissing::Refuse {
                // Report a missing workspace before the ledger is created.
                records::own_root(root, &session.tenant)?.open_existing()?;
            }
        }
        let (checked, records) = records::open_for(root, &session.tenant)?;
        let lease = self.lease.present(session, &records)?; // reject an invalid lease before a workspace is created
        let engine = match if_missing {
            IfMissing::Make => checked.engine(records)?,
            IfMissing::Refuse => checked.existing_engine(records)?,
        };
        let mut engine = engine.under_files(files, root);
        let working = Working::begin(&session.screen, "applying the change");
        let end = work()
            .map(|work| self.request(work, lease))
            .and_then(|request| Ok(RunEnd::make(&mut engine, request, extras)?));
        drop(working);
        recovery_note::print(&session.screen, engine.recovery());
        records::report_late_outcomes(&session.screen, &engine);
        if let Err(failure) = &end
            && failure.queued().is_some()
        {
            // The caller must learn that the plan is pending, even if the notification fails.
            match policy::in_force(root).map(|in_force| in_force.notify) {
                Ok(None) => {}
                Ok(Some(command)) => notify::run(&session.screen, &command, failure),
                Err(unread) => session.screen.note(format_args!("notification failed: {unread}")),
            }
        }
        if let Ok(Title::Undo(run) | Title::Redo(run)) = end.as_ref().map(RunEnd::title) {
            match engine.records().describe_external(run) {
                Ok(notes) => notes.into_iter().for_each(|note| session.screen.note(note)),
                Err(error) => session.screen.note(format_args!(
                    "the change was applied, but the external effects of the run cannot be read: {error}"
                )),
            }
        }
        let is_done = end.is_ok();
        let shown = end.and_then(|end| then(end.after(engine.recovery())));
        if is_done && let Some(warning) = engine.finish() {
            session.screen.note(format_args!("the outcome is recorded, but {warning}"));
        }
        Ok((shown, engine))
    }

    fn request(self, work: Work, lease: Option<RequestLease>) -> Request {
        Request {
            work,
            limits: self.asked.limits,
            label: self.asked.label,
            actor: actor::under(self.agent, lease.as_ref()),
            entry_point: self.entry_point,
            key: self.key,
            declared: None,
            plan: None,
            part_of: None,
            commands: Commands::default(),
            action: None,
            task: None,
            lease,
            file_task: None,
            umask: None,
            images: BTreeMap::new(),
            sql_rows: None,
            queries: Vec::new(),
            wait: self.wait,
        }
    }
}
