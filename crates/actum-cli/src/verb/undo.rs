//! `actum undo`: undoes one or several earlier runs, each in a separate run.

use actum::reason::Reason;
use actum::{Which, Work};
use actum_core::path::Quoted;
use actum_workspace::View;

use super::{Session, log};
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::records::Seen;
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{KeepEdits, RunArguments};
use crate::run_prefix::RunPrefix;
use crate::session_runs::{Selection, runs_in_effect};
use crate::{manifests, timestamp};

/// Undo a run, byte for byte
///
/// The undo is a separate run. Later runs that changed other files do not matter. If a path has changed since the run,
/// that is a conflict: all such paths are listed, and nothing is changed. With `--keep-edits`, only the run's own lines
/// are reversed in files that were edited later.
///
/// Without RUN, `undo` reverses your newest change that is still in effect, so repeating it undoes one change after
/// another. Changes by your agents are included; with `--agent`, only changes by that agent are
/// considered. To undo another user's change,
/// pass RUN. `actum redo` reverses an undo. A task whose run was undone has the status `ROLLED_BACK` in its reports.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run to undo, or a prefix of its id with at least 4 characters
    run: Option<RunPrefix>,
    /// Undo all runs of a session of an agent's client that are still in effect, each in a separate run, the newest first.
    /// Stops at the first run that cannot be undone. `actum log --session ID` lists the runs
    #[arg(long, value_name = "ID", conflicts_with_all = ["run", "request_key"])]
    session: Option<String>,
    /// Undo all runs of the newest turn, which began with your last prompt; with `--session`, the newest turn of that session
    #[arg(long, conflicts_with_all = ["run", "request_key"])]
    turn: bool,
    /// Undo all runs that you and your agents made since a time, such as `30m`, `2h`, `1d`, or a date and time (RFC 3339).
    /// With `--agent`, only the runs of that agent
    #[arg(long, value_name = "TIME", conflicts_with_all = ["run", "request_key", "session", "turn"])]
    since: Option<String>,
    #[command(flatten)]
    later_edits: KeepEdits,
    #[command(flatten)]
    run_arguments: RunArguments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    if let Some(selection) = arguments.selection()? {
        return undo_each(arguments, session, &selection);
    }
    let work = || {
        Ok(Work::Undo(match &arguments.run {
            Some(prefix) => Which::Run(prefix.resolve(&View::open(root)?)?),
            None => Which::Newest,
        }))
    };
    let limits = arguments.later_edits.limits();
    let asked = Asked { limits, label: None, if_missing: IfMissing::Refuse };
    let exit = arguments.run_arguments.carry_out(session, root, work, asked)?;
    if !arguments.run_arguments.is_dry_run() {
        manifests::update_or_note(session);
    }
    Ok(exit)
}

impl Arguments {
    /// Returns the selection of runs if the options select more than one, and `None` for a single run.
    fn selection(&self) -> Result<Option<Selection>, Failure> {
        Ok(match (&self.since, self.turn) {
            (Some(since), _) => {
                let agent = self.run_arguments.agent().map(str::to_owned);
                Some(Selection::Since(timestamp::parse_since(since)?, agent))
            }
            (None, true) => Some(Selection::Turn(self.session.clone())),
            (None, false) => self.session.clone().map(Selection::Session),
        })
    }
}

/// Undoes the selected runs one by one, the newest first, and stops at the first failure.
fn undo_each(
    arguments: &Arguments,
    session: &Session,
    selection: &Selection,
) -> Result<Exit, Failure> {
    let root = session.root();
    let view = View::open(root)?;
    let runs = runs_in_effect(&view, session, selection)?;
    if runs.is_empty() {
        return Err(UndoFailure::NoRuns { selection: selection.clone() }.into());
    }
    if arguments.run_arguments.is_dry_run() {
        session.screen.show(&log::select(&view, &Seen::look(session), &runs)?)?;
        session.screen.note(format_args!(
            "{} would be undone, the newest first; nothing was changed; run `actum undo RUN --dry-run` to check a single run",
            count(number(runs.len()), "run")
        ));
        return Ok(Exit::Success);
    }
    drop(view);
    for (undone, run) in runs.iter().enumerate() {
        let limits = arguments.later_edits.limits();
        let asked = Asked { limits, label: None, if_missing: IfMissing::Refuse };
        let work = || Ok(Work::Undo(Which::Run(*run)));
        if let Err(failure) = arguments.run_arguments.carry_out(session, root, work, asked) {
            if undone > 0 {
                manifests::update_or_note(session);
            }
            session.screen.note(format_args!(
                "{undone} of {} runs are undone; the others are still in effect",
                runs.len()
            ));
            if !matches!(selection, Selection::Since(..)) {
                session.screen.note(
                    "if a command changed a file after the run, run `actum adopt --restore` first to reverse that change",
                );
            }
            return Err(failure);
        }
    }
    manifests::update_or_note(session);
    session.screen.note(format_args!("{} undone", count(number(runs.len()), "run")));
    Ok(Exit::Success)
}

/// Reason why no run was undone.
#[derive(Debug, thiserror::Error)]
enum UndoFailure {
    #[error("no run {} is in effect", selection_phrase(selection))]
    NoRuns { selection: Selection },
}

/// Describes a selection of runs, as a phrase that follows the words "no run".
fn selection_phrase(selection: &Selection) -> String {
    match selection {
        Selection::Session(session) => {
            format!("of the session `{}`", Quoted(session.as_bytes()))
        }
        Selection::Turn(None) => "of the newest turn".to_owned(),
        Selection::Turn(Some(session)) => {
            format!("of the newest turn of the session `{}`", Quoted(session.as_bytes()))
        }
        Selection::Since(since, None) => format!("of yours since {}", timestamp::exact(*since)),
        Selection::Since(since, Some(agent)) => {
            let agent = Quoted(agent.as_bytes());
            format!("of the agent `{agent}` since {}", timestamp::exact(*since))
        }
    }
}

impl FailureKind for UndoFailure {
    fn reason(&self) -> Reason {
        Reason::NoRunToUndo
    }

    fn hints(&self) -> Vec<String> {
        let Self::NoRuns { selection } = self;
        let hint = match selection {
            Selection::Session(_) => {
                "`actum show RUN` prints the session of a run in its request, between `hook:` and `/`"
            }
            Selection::Turn(_) => {
                "turns are recorded only if the client calls the hook for prompts; run `actum protect CLIENT` to add it"
            }
            Selection::Since(..) => "`actum log` lists the runs",
        };
        vec![hint.to_owned()]
    }
}
