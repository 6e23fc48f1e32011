//! The options that every command has which makes a run, and how the run is made.

use std::collections::BTreeMap;
use std::path::Path;

use actum::{Commands, EntryPoint, PolicyInForce, Request, RequestLease, Work};
use actum_record::ledger::{NameError, RequestKey};
use actum_workspace::{LaterEdits, Limits};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::LeaseArgument;
use crate::progress::Working;
use crate::run_end::{RunEnd, Title};
use crate::session::Session;
use crate::{actor, notify, policy, records, recovery_note, root};

/// How a run is made.
#[derive(clap::Args)]
pub(crate) struct RunArguments {
    /// Show what would change, and change nothing; a run that was cut off is rolled back first
    #[arg(long)]
    dry_run: bool,
    /// Show the change as a diff, too
    #[arg(long)]
    diff: bool,
    /// Wait for another process that is at work in the workspace
    #[arg(long)]
    wait: bool,
    /// Do it once: where a request with this key was carried out before and is in effect, show that run
    /// and change nothing
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    request_key: Option<String>,
    /// The agent that asks, for the record
    #[arg(long, value_name = "NAME", value_parser = label)]
    agent: Option<String>,
    #[command(flatten)]
    lease: LeaseArgument,
}

/// What a command asks for, besides the work.
pub(crate) struct Asked {
    pub(crate) limits: Limits,
    pub(crate) label: Option<String>,
    pub(crate) if_missing: IfMissing,
}

/// What happens where there is no workspace yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// It is made.
    Make,
    /// The command is refused.
    Refuse,
}

/// What the way back does with files that were edited since.
#[derive(clap::Args)]
pub(crate) struct KeepEdits {
    /// Take only the lines of the run out of files that were edited since; each piece must stand
    /// at exactly one place
    #[arg(long)]
    keep_edits: bool,
}

impl KeepEdits {
    pub(crate) fn limits(&self) -> Limits {
        let later_edits = if self.keep_edits { LaterEdits::Keep } else { LaterEdits::Refuse };
        Limits { later_edits, ..Limits::default() }
    }
}

impl RunArguments {
    /// Makes the run or only looks at it, tells what was recovered before, also where it failed, and
    /// shows how it ended. What is asked for is known only when the workspace is open, since an
    /// opened one knows more runs.
    /// Whether nothing is to be changed.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    pub(crate) fn carry_out(
        &self,
        session: &Session,
        root: &Path,
        work: impl FnOnce() -> Result<Work, Failure>,
        asked: Asked,
    ) -> Result<Exit, Failure> {
        let (if_missing, key) = (asked.if_missing, self.key()?);
        let diff = self.diff.then(|| session.screen.audience());
        let files = policy::files()?;
        if self.dry_run {
            let in_force: PolicyInForce = files.read(root)?;
            let lease = self.lease.look(session)?;
            let own_root = records::own_root(root, &session.tenant)?;
            let mut workspace = match if_missing {
                IfMissing::Make => own_root.open()?,
                IfMissing::Refuse => own_root.open_existing()?,
            };
            let working = Working::begin("computing the change");
            let end = work().and_then(|work| {
                let request = self.request(work, asked, key, lease);
                Ok(RunEnd::look(
                    &mut workspace,
                    &request,
                    (&in_force, &session.tenant.id()?),
                    diff,
                )?)
            });
            drop(working);
            recovery_note::tell(&session.screen, workspace.recovery());
            end?.after(workspace.recovery()).show(&session.screen)?;
            return Ok(Exit::Success);
        }
        if !root::is_made(root) {
            files.read(root)?; // refused before anything is made
            if if_missing == IfMissing::Refuse {
                records::own_root(root, &session.tenant)?.open_existing()?; // and before anything is made elsewhere
            }
        }
        let (checked, records) = records::open_for(root, &session.tenant)?;
        let lease = self.lease.present(session, &records)?; // refused before a workspace is made
        let engine = match if_missing {
            IfMissing::Make => checked.engine(records)?,
            IfMissing::Refuse => checked.existing_engine(records)?,
        };
        let mut engine = engine.under_files(files, root);
        let working = Working::begin("making the change");
        let end = work()
            .map(|work| self.request(work, asked, key, lease))
            .and_then(|request| Ok(RunEnd::make(&mut engine, request, diff)?));
        drop(working);
        recovery_note::tell(&session.screen, engine.recovery());
        records::tell(&session.screen, &engine);
        if let Err(failure) = &end
            && failure.queued().is_some()
        {
            // That the plan waits is what the caller has to know, whatever becomes of the message about it.
            match policy::in_force(root).map(|in_force| in_force.notify) {
                Ok(None) => {}
                Ok(Some(command)) => notify::tell(&session.screen, &command, failure),
                Err(unread) => session.screen.note(format_args!("notification failed: {unread}")),
            }
        }
        if let Ok(Title::Undo(run) | Title::Redo(run)) = end.as_ref().map(RunEnd::title) {
            match engine.records().describe_external(run) {
                Ok(notes) => notes.into_iter().for_each(|note| session.screen.note(note)),
                Err(error) => session.screen.note(format_args!(
                    "the change is made; whether the run did anything outside cannot be read: {error}"
                )),
            }
        }
        let is_done = end.is_ok();
        let shown = end.and_then(|end| end.after(engine.recovery()).show(&session.screen));
        if is_done && let Some(warning) = engine.finish() {
            session.screen.note(format_args!("what was done is recorded, but {warning}"));
        }
        // The process ends now; to close all that is open in good order would take it a third of a
        // millisecond more, and the kernel does the same.
        std::mem::forget(engine);
        shown.map(|()| Exit::Success)
    }

    /// The key of the request. An error shows it escaped, which the parser of the command line would
    /// not.
    fn key(&self) -> Result<Option<RequestKey>, Failure> {
        let key = self.request_key.as_deref().map(RequestKey::from_caller).transpose();
        key.map_err(|error: NameError| Failure::Usage { message: format!("{error}") })
    }

    fn request(
        &self,
        work: Work,
        asked: Asked,
        key: Option<RequestKey>,
        lease: Option<RequestLease>,
    ) -> Request {
        Request {
            work,
            limits: asked.limits,
            label: asked.label,
            actor: actor::under(self.agent.clone(), lease.as_ref()),
            door: EntryPoint::CommandLine,
            key,
            declared: None,
            plan: None,
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

/// The most bytes of a label for the log.
const LABEL_BYTES_MAX: usize = 1000;

/// What was typed is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give 1 to {LABEL_BYTES_MAX} bytes of text")]
pub(crate) struct LabelError;

/// Reads a label for the log, which escapes it.
pub(crate) fn label(text: &str) -> Result<String, LabelError> {
    let fits = (1..=LABEL_BYTES_MAX).contains(&text.len());
    fits.then(|| text.to_owned()).ok_or(LabelError)
}

/// Reads a label of one line.
pub(crate) fn one_line(text: &str) -> Result<String, String> {
    match text.chars().any(char::is_control) {
        true => Err("it has to be one line, without control characters".to_owned()),
        false => label(text).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_limit_on_both_sides() {
        assert_eq!(label(""), Err(LabelError));
        assert_eq!(label("x"), Ok("x".to_owned()));
        assert!(label(&"x".repeat(LABEL_BYTES_MAX)).is_ok());
        assert_eq!(label(&"x".repeat(LABEL_BYTES_MAX + 1)), Err(LabelError));
    }
}
