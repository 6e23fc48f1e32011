//! `actum status`: reports unfinished work, drifted files, and everything that needs the user's attention.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use actum::task::cut_off_tasks;
use actum::{QueuedPlan, cut_off_actions};
use actum_api::recovery::BlockedPath;
use actum_api::status::{DriftedPath, Status};
use actum_core::path::{Harmless, Quoted};
use actum_core::{RelPath, RunId};
use actum_ledger::Marks;
use actum_record::ledger::WorkspaceId;
use actum_workspace::{Drift, View, WorkspaceStatus};

use super::{Session, queue};
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ledger_queue::Queue;
use crate::output::Document;
use crate::records::Differences;
use crate::{hint, manifests, obstacle, shown_path};

/// Report unfinished work, files that have changed outside of runs, and anything that needs your attention
///
/// Recovers nothing, and changes nothing except the status of rollback manifests (`EXECUTED`, `EXPIRED`). A path has
/// drifted if it was changed outside of runs after a run had changed it. An action or task is cut off if its process ended
/// before it recorded the outcome, which `actum recover` then does.
///
/// Exits with 4 if paths are blocked or an interrupted run was not rolled back. It also exits with 4 if a different
/// installation made the newest runs, or if recorded runs are missing from the history. The same applies if every change
/// is rejected here, for example because a policy or the ledger cannot be used.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Check the files that the newest N runs changed for drift
    #[arg(long, value_name = "N", default_value_t = 100)]
    runs: usize,
}

struct Shown {
    document: Status,
    shown_root: String,
}

/// Converts blocked paths to their form in JSON documents.
pub(super) fn blocked_paths<'a>(
    blocked: impl IntoIterator<Item = (&'a RelPath, &'a RunId)>,
) -> Vec<BlockedPath> {
    blocked.into_iter().map(|(path, run)| BlockedPath { path: path.into(), run: *run }).collect()
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let document = document(arguments.runs, session)?;
    let shown_root = Quoted(session.root().as_os_str().as_bytes()).to_string();
    let shown = Shown { document, shown_root };
    manifests::update_or_note(session);
    session.screen.show(&shown)?;
    let status = &shown.document;
    let is_sound = !status.interrupted
        && status.unrecorded.is_empty()
        && status.missing.is_empty()
        && status.unusable.is_empty();
    Ok(if is_sound { attention(&status.blocked) } else { Exit::NeedsAttention })
}

/// Returns the state of the workspace as a JSON document. The files of the newest `runs_max` runs are checked for drift.
pub(super) fn document(runs_max: usize, session: &Session) -> Result<Status, Failure> {
    let root = session.root();
    let view = View::open(root)?;
    let WorkspaceStatus { unfinished, interrupted, recovery_due, blocked, saved, runs } =
        view.status()?;
    // Do not check for drift while a run is in progress, because its files may be in the old or the new state.
    let drift = if unfinished.is_some() { Vec::new() } else { view.drift(runs_max)? };
    let ledger = Queue::open(&session.tenant);
    let recorded = Recorded::find(&view, &ledger, runs_max, session);
    let Recorded { plans, alerts, cut_off_actions, cut_off_tasks, differences } = recorded;
    let Differences { unrecorded, missing } = differences;
    let unusable = obstacle::find_all(root, ledger.ok().flatten().as_ref(), &session.tenant);
    Ok(Status {
        root: shown_path::text(root.as_os_str().as_bytes()),
        runs: number(runs),
        unfinished,
        interrupted,
        recovery_due,
        cut_off_actions,
        cut_off_tasks,
        blocked: blocked_paths(&blocked),
        saved: saved.iter().map(|name| Quoted(name).to_string()).collect(),
        drifted: drift
            .into_iter()
            .map(|Drift { path, difference, run }| DriftedPath {
                path: (&path).into(),
                difference: difference.to_string(),
                run,
            })
            .collect(),
        plans,
        alerts,
        unrecorded,
        missing,
        unusable,
        drift_runs: number(runs_max.min(runs)),
    })
}

/// Formats a status document as the text that `actum status` prints, for clients that show text.
pub(super) fn text(document: Status, session: &Session) -> String {
    let shown_root = Quoted(session.root().as_os_str().as_bytes()).to_string();
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    Shown { document, shown_root }.write_text(&mut text).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// Information about a workspace that comes from the ledger.
#[derive(Debug, Default)]
struct Recorded {
    plans: Vec<RunId>,
    alerts: Vec<u64>,
    cut_off_actions: Vec<RunId>,
    cut_off_tasks: Vec<String>,
    differences: Differences,
}

impl Recorded {
    /// Reads the information from the ledger. If that fails, prints a note and returns empty lists.
    fn find(
        view: &View,
        ledger: &Result<Option<Queue>, Failure>,
        runs_max: usize,
        session: &Session,
    ) -> Self {
        let unread = |cause: String| {
            session.screen.note(format_args!(
                "the ledger cannot be read, so plans, alerts and missing runs are not shown: {cause}"
            ));
            Self::default()
        };
        let ledger = match ledger {
            Ok(ledger) => ledger.as_ref(),
            Err(failure) => return unread(failure.to_string()),
        };
        let read = || -> Result<Self, Failure> {
            let (plans, alerts) = match view.workspace_id()? {
                Some(id) => (Self::plans(ledger, id)?, queue::alerts_in(ledger, id)?),
                None => (Vec::new(), Vec::new()),
            };
            let differences = Differences::find(session.root(), view, ledger, runs_max)?;
            let (cut_off_actions, cut_off_tasks) = match (view.workspace_id()?, ledger) {
                (Some(id), Some(queue)) => Self::cut_off(queue, id, session)?,
                (None, _) | (_, None) => Default::default(),
            };
            Ok(Self { plans, alerts, cut_off_actions, cut_off_tasks, differences })
        };
        read().unwrap_or_else(|failure| unread(failure.to_string()))
    }

    /// Lists the actions and tasks that were cut off. If one of the lists cannot be read, prints a note and returns it empty.
    fn cut_off(
        queue: &Queue,
        id: WorkspaceId,
        session: &Session,
    ) -> Result<(Vec<RunId>, Vec<String>), Failure> {
        let marks = Marks::new(queue.home.clone(), session.tenant.id()?);
        let unread = |kind: &str, error: &actum::Error| {
            let screen = &session.screen;
            screen.note(format_args!("cannot determine which {kind} were cut off: {error}"));
        };
        let actions = cut_off_actions(&marks, (&queue.view, &queue.keyring), id);
        let tasks = cut_off_tasks(&marks, session.root(), id);
        Ok((
            actions.inspect_err(|error| unread("actions", error)).unwrap_or_default(),
            tasks.inspect_err(|error| unread("tasks", error)).unwrap_or_default(),
        ))
    }

    fn plans(queue: Option<&Queue>, id: WorkspaceId) -> Result<Vec<RunId>, Failure> {
        let plans = queue::open_plans(queue)?;
        let own = plans.iter().filter(|plan| plan.row.workspace == id);
        Ok(own.map(QueuedPlan::id).collect())
    }
}

/// Returns the exit code, which is `NeedsAttention` if any path is blocked.
pub(super) fn attention(blocked: &[BlockedPath]) -> Exit {
    if blocked.is_empty() { Exit::Success } else { Exit::NeedsAttention }
}

impl Document for Shown {
    type Api = Status;

    fn document(&self) -> impl Borrow<Status> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let status = &self.document;
        writeln!(out, "workspace   {}", self.shown_root)?;
        writeln!(out, "runs        {}", status.runs)?;
        match (status.unfinished, status.recovery_due) {
            (None, false) => writeln!(out, "unfinished  nothing")?,
            (Some(run), _) if status.interrupted => writeln!(
                out,
                "unfinished  run {run} was interrupted, so some files may be new and others old; \
                 run `actum recover` to roll it back"
            )?,
            (Some(run), _) => writeln!(out, "unfinished  run {run} is in progress")?,
            (None, true) => writeln!(
                out,
                "unfinished  recovery is due; run `actum recover` to check which changes reached the disk"
            )?,
        }
        let actions = status.cut_off_actions.iter().map(|action| format!("action {action}"));
        let tasks =
            status.cut_off_tasks.iter().map(|task| format!("task {}", Harmless(task.as_bytes())));
        for (index, work) in actions.chain(tasks).enumerate() {
            let title = if index == 0 { "cut off" } else { "" };
            writeln!(out, "{title:10}  {work}; run `actum recover` to record its outcome")?;
        }
        status.unusable.iter().try_for_each(|obstacle| obstacle::write(obstacle, out, 10))?;
        write_blocked(&status.blocked, out)?;
        for (index, name) in status.saved.iter().enumerate() {
            let title = if index == 0 { "saved" } else { "" };
            writeln!(
                out,
                "{title:10}  .actum/lost/{name} was moved there by a recovery; move it back or delete it"
            )?;
        }
        if !status.plans.is_empty() {
            let plans: Vec<String> = status.plans.iter().map(ToString::to_string).collect();
            writeln!(out, "waiting     {}; `actum queue` lists them", plans.join(", "))?;
        }
        match status.alerts.len() {
            0 => {}
            1 => writeln!(out, "alerts      1; `actum queue` shows it")?,
            alerts => writeln!(out, "alerts      {alerts}; `actum queue` shows them")?,
        }
        if let Some(newest) = status.unrecorded.first() {
            let unrecorded = number(status.unrecorded.len());
            let count = count(unrecorded, "run");
            writeln!(
                out,
                "unrecorded  {count} here that your ledger does not contain, the newest {newest}; see `actum explain \
                 RUN_UNRECORDED`"
            )?;
        }
        if let Some(newest) = status.missing.first() {
            let missing = count(number(status.missing.len()), "recorded run");
            writeln!(
                out,
                "missing     {missing} lost from the history, the newest {newest}; `actum gc` did not remove them, and they \
                 cannot be undone"
            )?;
        }
        if status.drifted.is_empty() {
            return writeln!(out, "drifted     nothing");
        }
        for (index, DriftedPath { path, difference, run }) in status.drifted.iter().enumerate() {
            let title = if index == 0 { "drifted" } else { "" };
            writeln!(out, "{title:10}  {path} since run {run}: {difference}")?;
        }
        Ok(())
    }
}

/// Writes the blocked paths, and explains how the user can unblock them.
pub(super) fn write_blocked(blocked: &[BlockedPath], out: &mut dyn Write) -> io::Result<()> {
    let Some(BlockedPath { path: first, .. }) = blocked.first() else {
        return writeln!(out, "blocked     nothing");
    };
    for (index, BlockedPath { path, run }) in blocked.iter().enumerate() {
        let title = if index == 0 { "blocked" } else { "" };
        writeln!(
            out,
            "{title:10}  {path} since run {run}; saved versions: .actum/lost/{run}/paths"
        )?;
    }
    writeln!(
        out,
        "\nRuns do not change blocked paths. Check the content of each one, correct it if necessary, then run\n\
         `{}`.",
        hint::resolve_command(&first.bytes().unwrap_or_default())
    )
}
