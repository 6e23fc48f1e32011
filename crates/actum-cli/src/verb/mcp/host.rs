//! Implements the tools of the MCP server. Each of them opens the workspace like the command of the same name.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::reason::Reason;
use actum::{EntryPoint, Error, Which, Work};
use actum_core::RelPath;
use actum_core::path::Quoted;
use actum_edit::Operation;
use actum_edit::format::{HunkCounts, Reading, RootPrefix};
use actum_ledger::Log as _;
use actum_mcp::{
    Answer, Apply, Call, Changed, Excerpt, Exec, FileRead, Host, Listed, Log, Read, Refused, Show,
    Shown, Stale, Status, Undo,
};
use actum_record::receipt::PathEffect;
use actum_workspace::{
    Error as WorkspaceError, ErrorKind, ExistingFiles, LaterEdits, Limits, NeededFor, State, View,
};
use serde_json::json;

use super::command;
use crate::diff_text::Audience;
use crate::failure::Failure;
use crate::input::Input;
use crate::lease::LeaseArgument;
use crate::ledger_queue::Queue;
use crate::output::{Form, Screen};
use crate::requested_run::{Asked, IfMissing, RequestedRun, RunForm};
use crate::run_arguments::label;
use crate::run_end::{Check, Extras, RunEnd, Title};
use crate::run_prefix::RunPrefix;
use crate::session::Session;
use crate::verb::{log, queue, show, status};
use crate::{agent_hints, root, workspace_file};

/// Maximum number of runs that the tool `log` lists.
const LOG_MAX: usize = 100;
/// Number of the newest runs whose files the tool `status` checks for later changes.
const DRIFT_RUNS: usize = 100;
/// Maximum number of lines that the tool `read` returns.
const READ_LINES_MAX: usize = 2000;
/// Maximum number of characters that the tool `read` returns.
const READ_CHARS_MAX: usize = 60_000;
/// Maximum number of lines of each stale file that a refusal includes.
const STALE_LINES_MAX: usize = 400;
/// Maximum number of characters of each stale file that a refusal includes.
const STALE_CHARS_MAX: usize = 20_000;
/// Maximum number of stale files whose content a refusal includes.
const STALE_FILES_MAX: usize = 5;

/// Host that carries out a client's tool calls in the workspace of a session.
pub(super) struct ClientHost {
    session: Session,
    lease: LeaseArgument,
}

impl ClientHost {
    pub(super) fn new(session: &Session, lease: LeaseArgument) -> Self {
        // Notes that are not part of an answer are printed as plain text and appear in the client's log.
        let screen = Screen::plain(Form::Text);
        let Session { start, tenant, screen: _ } = session;
        Self { session: Session { start: start.clone(), screen, tenant: tenant.clone() }, lease }
    }

    fn changed(&self, arguments: Apply, call: &Call) -> Result<Answer, Refused> {
        let root = root::existing_or_new(&self.session.start);
        let reading = Reading {
            format: None,
            target: None,
            counts: HunkCounts::Stated,
            root: RootPrefix::new(root.as_os_str().as_bytes()),
        };
        let asked = Asked {
            limits: Limits {
                existing_files: match arguments.overwrite {
                    true => ExistingFiles::Replace,
                    false => ExistingFiles::Keep,
                },
                ..Limits::default()
            },
            label: checked_label(arguments.message).map_err(|failure| refused(&failure))?,
            if_missing: IfMissing::Make,
        };
        let input = Input::from_client(arguments.change.into_text());
        let operations = input.operations(&reading).map_err(|failure| refused(&failure))?;
        let paths: Vec<RelPath> = operations.iter().flat_map(Operation::paths).cloned().collect();
        let check = |effects: &[PathEffect]| check(call, effects);
        let made = self.make(call, root, asked, form(arguments.dry_run), &check, || {
            Ok(Work::Apply(operations))
        });
        match made {
            Ok(end) => {
                if end.outcome.run.is_some() {
                    call.seen.note_change(&end.effects);
                }
                Ok(changed(&end).into())
            }
            Err(failure) => {
                let mut refused = refused(&failure);
                if failure.queued().is_none() {
                    refused.current = stale_files(root, &paths, call);
                }
                if let Some(hint) = stale_hint(&refused) {
                    refused.hints.insert(0, hint);
                }
                Err(refused)
            }
        }
    }

    fn undone(&self, arguments: &Undo, call: &Call) -> Result<Answer, Failure> {
        let root = self.session.root();
        let prefix = run_prefix(arguments.run.as_deref())?;
        let work = || {
            Ok(Work::Undo(match &prefix {
                Some(prefix) => Which::Run(prefix.resolve(&View::open(root)?)?),
                None => Which::Newest,
            }))
        };
        let later_edits = if arguments.keep_edits { LaterEdits::Keep } else { LaterEdits::Refuse };
        let asked = Asked {
            limits: Limits { later_edits, ..Limits::default() },
            label: None,
            if_missing: IfMissing::Refuse,
        };
        let check = |_: &[PathEffect]| check_not_cancelled(call);
        let end = self.make(call, root, asked, form(arguments.dry_run), &check, work)?;
        if end.outcome.run.is_some() {
            call.seen.forget(&end.effects);
        }
        Ok(changed(&end).into())
    }

    fn make(
        &self,
        call: &Call,
        root: &Path,
        asked: Asked,
        form: RunForm,
        check: &Check<'_>,
        work: impl FnOnce() -> Result<Work, Failure>,
    ) -> Result<RunEnd, Failure> {
        let run = RequestedRun {
            session: &self.session,
            root,
            asked,
            form,
            extras: Extras { diff: None, check: Some(check) },
            wait: true,
            key: match form {
                RunForm::Make => call.key.clone(),
                RunForm::Look => None,
            },
            agent: call.agent.clone(),
            lease: &self.lease,
            entry_point: EntryPoint::Mcp,
        };
        // Close the engine before answering, so that the server does not lock the workspace between calls.
        run.carry_out(work, Ok)?.0
    }

    /// Returns the change that an earlier call with the same key made, if there was one and its run has not been undone.
    fn done_before(&self, call: &Call) -> Result<Option<Changed>, Failure> {
        let root = self.session.root();
        let (Some(key), true) = (&call.key, root::is_made(root)) else { return Ok(None) };
        let Some(queue) = Queue::open(&self.session.tenant)? else { return Ok(None) };
        let view = View::open(root)?;
        let Some(workspace) = view.workspace_id()? else { return Ok(None) };
        let rows = queue.view.request(workspace, key).map_err(Error::from)?;
        let succeeded =
            rows.iter().rev().find(|row| row.status == Some(actum_core::Status::Succeeded));
        let Some(row) = succeeded else { return Ok(None) };
        let report = view.show(row.run)?;
        Ok(report.undone_by.is_none().then(|| Changed {
            status: actum_core::Status::Succeeded,
            run: Some(row.run),
            undoes: None,
            dry_run: false,
            done_before: true,
            tier: None,
            needs_approval: None,
            changes: report.changes.iter().map(|shown| (&shown.effect()).into()).collect(),
        }))
    }

    fn executed(&self, arguments: &Exec, call: &Call) -> Result<Answer, Failure> {
        if !arguments.dry_run
            && let Some(done) = self.done_before(call)?
        {
            return Ok(done.into());
        }
        let Self { session, lease } = self;
        command::run(session, lease.file().as_deref(), arguments, call)
    }

    fn reported(&self, arguments: &Status) -> Result<Answer, Failure> {
        if let Some(prefix) = run_prefix(arguments.plan.as_deref())? {
            let (plan, state) = queue::state(&prefix, &self.session)?;
            let text = format!("plan {plan} is {state}");
            return Ok(Answer::done(&json!({"plan": plan, "state": state}), text));
        }
        let document = status::document(DRIFT_RUNS, &self.session)?;
        let structured = without_empty(&document);
        Ok(Answer::done(&structured, status::text(document, &self.session)))
    }

    fn file(&self, arguments: &Read, call: &Call) -> Result<Answer, Failure> {
        let root = self.session.root();
        let named = &arguments.path;
        let path = workspace_file::path(named, root)?;
        let file = workspace_file::read(root, &path)?
            .ok_or_else(|| workspace_file::unreadable(named, io::ErrorKind::NotFound.into()))?;
        let (first, max) = (arguments.offset.max(1), arguments.limit.min(READ_LINES_MAX));
        let lines = file
            .lines(first, max, READ_CHARS_MAX)
            .map_err(|error| workspace_file::unreadable(named, error))?;
        call.seen.note(&path, file.digest);
        let excerpt = Excerpt {
            path: (&path).into(),
            sha256: Some(file.digest),
            first_line: first,
            lines: lines.total,
            text: lines.text,
        };
        Ok(FileRead { excerpt }.into())
    }
}

impl Host for ClientHost {
    fn apply(&self, arguments: Apply, call: &Call) -> Answer {
        self.changed(arguments, call).unwrap_or_else(Into::into)
    }

    fn exec(&self, arguments: Exec, call: &Call) -> Answer {
        answer(self.executed(&arguments, call))
    }

    fn undo(&self, arguments: Undo, call: &Call) -> Answer {
        answer(self.undone(&arguments, call))
    }

    fn log(&self, arguments: Log) -> Answer {
        let log = log::document(arguments.limit.min(LOG_MAX), &self.session);
        answer(log.map(|log| Listed::new(&log).into()))
    }

    fn show(&self, arguments: Show) -> Answer {
        let shown = || {
            let prefix = run_prefix(arguments.run.as_deref())?;
            let audience = arguments.diff.then_some(Audience::Program);
            let run = show::document(prefix.as_ref(), audience, &self.session)?;
            Ok(Shown::new(&run).into())
        };
        answer(shown())
    }

    fn status(&self, arguments: Status) -> Answer {
        answer(self.reported(&arguments))
    }

    fn read(&self, arguments: Read, call: &Call) -> Answer {
        answer(self.file(&arguments, call))
    }
}

fn answer(answered: Result<Answer, Failure>) -> Answer {
    answered.unwrap_or_else(|failure| refused(&failure).into())
}

fn refused(failure: &Failure) -> Refused {
    let hints = match failure.reason() == Reason::PathExists {
        // The hint for the command line names an option, which has a different name in the tool.
        true => {
            vec!["edit the file; to replace it, call `apply` with `overwrite`".to_owned()]
        }
        false => agent_hints::after(failure),
    };
    Refused::new(failure.document(), hints)
}

fn form(dry_run: bool) -> RunForm {
    if dry_run { RunForm::Look } else { RunForm::Make }
}

fn changed(end: &RunEnd) -> Changed {
    let undoes = match end.title() {
        Title::Undo(run) | Title::Redo(run) => Some(run),
        Title::Apply => None,
    };
    Changed {
        status: end.outcome.status,
        run: end.outcome.run,
        undoes,
        dry_run: end.outcome.dry_run,
        done_before: end.outcome.done_before,
        tier: end.effect.tier,
        needs_approval: end.effect.needs_approval.clone(),
        changes: end.effects.iter().map(Into::into).collect(),
    }
}

/// Rejects a change if the client cancelled the call, or if a file has changed since the client read it.
fn check(call: &Call, effects: &[PathEffect]) -> Result<(), Error> {
    check_not_cancelled(call)?;
    let Some(Stale { path, seen, found }) = call.seen.find_stale(effects) else { return Ok(()) };
    let kind = ErrorKind::Expected { path, expected: seen, found, needed_for: NeededFor::Change };
    Err(Error::Workspace(WorkspaceError { kind, state: State::Unchanged, also: Vec::new() }))
}

fn check_not_cancelled(call: &Call) -> Result<(), Error> {
    match call.is_cancelled() {
        true => Err(Error::Command(actum::CommandError::Interrupted)),
        false => Ok(()),
    }
}

/// Returns the current content of those files in a change that have changed since the client read them. If the entire content of
/// a file is returned, the client is considered to have read it.
fn stale_files(root: &Path, paths: &[RelPath], call: &Call) -> Vec<Excerpt> {
    let mut excerpts = Vec::new();
    for path in paths {
        let Some(seen) = call.seen.digest(path) else { continue };
        // A file that cannot be read is skipped, because there is no content to return.
        let Ok(file) = workspace_file::read(root, path) else { continue };
        let digest = file.as_ref().map(|file| file.digest);
        let is_named = excerpts.iter().any(|it: &Excerpt| it.path == path.into());
        if digest == Some(seen) || is_named || excerpts.len() == STALE_FILES_MAX {
            continue;
        }
        let lines = file.and_then(|file| file.lines(1, STALE_LINES_MAX, STALE_CHARS_MAX).ok());
        let (lines, text) = lines.map_or((0, String::new()), |lines| (lines.total, lines.text));
        if let (Some(digest), true) = (digest, text.lines().count() == lines) {
            call.seen.note(path, digest);
        }
        excerpts.push(Excerpt { path: path.into(), sha256: digest, first_line: 1, lines, text });
    }
    excerpts
}

fn stale_hint(refused: &Refused) -> Option<String> {
    let first = refused.current.first()?;
    Some(format!(
        "`{}` has changed since you read it; its current content is in this answer, so change that instead",
        first.path
    ))
}

fn run_prefix(text: Option<&str>) -> Result<Option<RunPrefix>, Failure> {
    let usage = |text: &str, error| Failure::Usage {
        message: format!(
            "`{}` is not a run id: {error}; nothing was changed",
            Quoted(text.as_bytes())
        ),
    };
    text.map(|text| text.parse().map_err(|error| usage(text, error))).transpose()
}

fn checked_label(message: Option<String>) -> Result<Option<String>, Failure> {
    let usage =
        |error| Failure::Usage { message: format!("`message`: {error}; nothing was changed") };
    message.map(|text| label(&text).map_err(usage)).transpose()
}

/// Converts a document to JSON, leaving out empty, `null` and `false` members, because every token costs the client money.
fn without_empty(document: &actum_api::status::Status) -> serde_json::Value {
    let mut value = serde_json::to_value(document).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| {
            let is_empty = value.as_array().is_some_and(Vec::is_empty);
            !is_empty && !value.is_null() && value.as_bool() != Some(false)
        });
    }
    value
}
