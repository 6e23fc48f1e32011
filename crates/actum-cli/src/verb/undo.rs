//! `actum undo`: takes a run back, in a run of its own.

use actum::reason::Reason;
use actum::{Which, Work};
use actum_core::RunId;
use actum_core::path::Quoted;
use actum_workspace::{Outcome, RunKind, View};

use super::Session;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::manifests;
use crate::records::Seen;
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{KeepEdits, RunArguments};
use crate::run_prefix::RunPrefix;

/// Take a run back, to the byte
///
/// The undo is a run of its own. Later runs on other files do not matter; a path that changed since
/// is a conflict: all of them are named, and nothing is changed. `--keep-edits` takes only the lines
/// of the run out of files that were edited since.
///
/// Without RUN your newest change that is in effect is taken back, so that one `undo` after the
/// other goes further back. Changes of your agents are yours; with `--agent` only those of that
/// agent are meant. The change of another needs RUN. `actum redo` takes an undo back. A task whose run was undone is
/// `ROLLED_BACK` in its reports.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The run, or at least 4 characters of the beginning of its id
    run: Option<RunPrefix>,
    /// Take back each run of this session of an agent's client that is in effect, the newest first, each by a run of its own. It
    /// ends at the first that cannot be taken back; `actum log --session ID` lists them
    #[arg(long, value_name = "ID", conflicts_with_all = ["run", "dry_run", "request_key"])]
    session: Option<String>,
    #[command(flatten)]
    later_edits: KeepEdits,
    #[command(flatten)]
    run_arguments: RunArguments,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    if let Some(client_session) = &arguments.session {
        return undo_session(arguments, session, client_session);
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

/// Takes back the runs of a session of a client.
fn undo_session(
    arguments: &Arguments,
    session: &Session,
    client_session: &str,
) -> Result<Exit, Failure> {
    let root = session.root();
    let runs = runs_of_session(session, client_session)?;
    if runs.is_empty() {
        let session = client_session.to_owned();
        return Err(UndoFailure::NoRuns { session }.into());
    }
    let mut undone = 0;
    for run in &runs {
        let limits = arguments.later_edits.limits();
        let asked = Asked { limits, label: None, if_missing: IfMissing::Refuse };
        let work = || Ok(Work::Undo(Which::Run(*run)));
        if let Err(failure) = arguments.run_arguments.carry_out(session, root, work, asked) {
            session.screen.note(format_args!(
                "{undone} of {} runs of the session are undone; the others stand",
                runs.len()
            ));
            return Err(failure);
        }
        undone += 1;
    }
    manifests::update_or_note(session);
    session.screen.note(format_args!("{undone} runs of the session are undone"));
    Ok(Exit::Success)
}

/// The runs of a session that are in effect, newest first.
fn runs_of_session(session: &Session, client_session: &str) -> Result<Vec<RunId>, Failure> {
    let view = View::open(session.root())?;
    let seen = Seen::look(session);
    let undone = view.undone_by()?;
    let mut found = Vec::new();
    for known in view.runs()?.into_iter().rev() {
        let is_undone = undone.get(&known.run).copied().flatten().is_some();
        let in_effect = known.kind == RunKind::Apply && known.outcome == Outcome::Committed;
        if in_effect && !is_undone && seen.told(known.run)?.session() == Some(client_session) {
            found.push(known.run);
        }
    }
    Ok(found)
}

/// Why no session was undone.
#[derive(Debug, thiserror::Error)]
enum UndoFailure {
    #[error("no run of the session `{}` is in effect", Quoted(session.as_bytes()))]
    NoRuns { session: String },
}

impl FailureKind for UndoFailure {
    fn reason(&self) -> Reason {
        Reason::NoRunToUndo
    }

    fn hints(&self) -> Vec<String> {
        let Self::NoRuns { .. } = self;
        vec![
            "`actum show RUN` has the session of a run in its request, between `hook:` and `/`"
                .to_owned(),
        ]
    }
}
