//! `actum adopt`: creates a run from changes that were made outside of runs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use actum::reason::Reason;
use actum::{GitFiles, PolicyInForce, Work};
use actum_core::RelPath;
use actum_core::path::InBackticks;
use actum_gate::Verdict;
use actum_record::receipt::EffectKind;
use actum_workspace::{
    Limits, NotAdoptable, RunOptions, SnapshotId, UndeclaredChanges, UndeclaredSelection, Workspace,
};

use super::Session;
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{self, RunArguments};
use crate::selected_path::SelectedPath;
use crate::{policy, records};

/// Record changes that were made outside of runs as a run, so that they can be undone
///
/// Users and the commands of an agent's client change files without actum. In a workspace with `actum protect`, actum
/// records the state of the files at each prompt. `adopt` then records all later changes outside of runs as one run,
/// which the gates judge, and which is signed and can be undone. It changes no files.
///
/// In other workspaces, only files that a run changed are compared, with the content that the run left. actum rarely
/// stores that content, so most of these edits cannot be adopted.
///
/// A change is listed but not adopted if the earlier content is unknown, as for a changed file over 1 MiB that is not
/// in git. Directories that git ignores are not searched.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Adopt only changes of these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Restore the earlier content instead of keeping the changes
    #[arg(long)]
    restore: bool,
    /// Describe the run with TEXT in the log
    #[arg(long, value_name = "TEXT", value_parser = run_arguments::label)]
    label: Option<String>,
    #[command(flatten)]
    run_arguments: RunArguments,
}

/// Maximum number of paths that a message lists.
const NAMED_MAX: usize = 5;

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let selected = arguments.selected_paths(session)?;
    let id = snapshot_id(&selected);
    let mut workspace = records::own_root(root, &session.tenant)?.open_existing()?;
    let wait = arguments.run_arguments.waits();
    let changes = arguments.take_snapshot((&mut workspace, session), id, &selected, wait)?;
    note_skipped(session, &changes);
    // A request with a key may have been carried out before, in which case its run is reported.
    if changes.adoptable.is_empty() && !arguments.run_arguments.has_request_key() {
        let is_clean = changes.others.is_empty() && changes.later.is_empty();
        return Err(match is_clean {
            true => AdoptFailure::Nothing { at: selected },
            false => AdoptFailure::NoneAdoptable,
        }
        .into());
    }
    drop(workspace);
    let work = || {
        Ok(match arguments.restore {
            true => Work::Restore { snapshot: id, refused: None, found: BTreeMap::new() },
            false => Work::Adopt(id),
        })
    };
    let label = arguments.label.clone().unwrap_or_else(|| {
        let changed = count(number(changes.adoptable.len()), "change");
        match arguments.restore {
            true => format!("restore the content before {changed} made outside of runs"),
            false => format!("adopt {changed} made outside of runs"),
        }
    });
    let asked =
        Asked { limits: Limits::default(), label: Some(label), if_missing: IfMissing::Refuse };
    arguments.run_arguments.carry_out(session, root, work, asked)
}

impl Arguments {
    /// Takes a snapshot of the earlier content of the selected changes that no run declared. Without paths on the
    /// command line, it skips changes that the gates would deny regardless of their content.
    fn take_snapshot(
        &self,
        (workspace, session): (&mut Workspace, &Session),
        id: SnapshotId,
        selected: &[RelPath],
        wait: bool,
    ) -> Result<UndeclaredChanges, Failure> {
        let root = session.root();
        let in_force = policy::in_force(root)?;
        let refused = RefCell::new(BTreeSet::new());
        let is_free = |path: &RelPath| {
            let is_refused = is_refused(&in_force, path, session);
            if is_refused {
                refused.borrow_mut().insert(path.clone());
            }
            !is_refused
        };
        let is_named =
            |path: &RelPath| selected.iter().any(|it| path == it || path.starts_with(it));
        let selection = match self.paths.is_empty() {
            true => UndeclaredSelection::OfTurns(&is_free),
            false => UndeclaredSelection::At(&is_named),
        };
        let mut known = GitFiles::open(root);
        let label = "find changes made outside of runs".to_owned();
        let mut transaction =
            workspace.begin(RunOptions { label, wait, ..RunOptions::default() })?;
        let changes = transaction.snapshot_undeclared(id, &selection, &mut known)?;
        drop(transaction);
        let refused = refused.into_inner();
        if !refused.is_empty() {
            session.screen.note(format_args!(
                "skipped because the gates deny the change: {}; run `actum policy explain PATH` for the reason",
                list(refused.iter())
            ));
        }
        Ok(changes)
    }

    /// Returns the selected paths relative to the root. An empty list selects all changes.
    fn selected_paths(&self, session: &Session) -> Result<Vec<RelPath>, Failure> {
        let mut selected = Vec::new();
        for path in &self.paths {
            match SelectedPath::resolve(path, session)? {
                SelectedPath::Inside(path) => selected.push(path),
                SelectedPath::Outside => {
                    return Err(AdoptFailure::Outside { path: path.clone() }.into());
                }
                SelectedPath::Root => {
                    let message =
                        "omit the path of the workspace root: `actum adopt` without paths selects every change"
                            .to_owned();
                    return Err(Failure::Usage { message });
                }
            }
        }
        Ok(selected)
    }
}

/// Returns whether the gates deny every change of a path, regardless of its content.
fn is_refused(in_force: &PolicyInForce, path: &RelPath, session: &Session) -> bool {
    let decision =
        policy::decide_effect(in_force, path.clone(), EffectKind::Modified, &session.tenant);
    // If the gates cannot decide without the content, they decide later, together with the run.
    decision.is_ok_and(|decision| decision.verdict == Verdict::Deny)
}

/// Prints notes about the changes that are not adopted.
fn note_skipped(session: &Session, changes: &UndeclaredChanges) {
    let mut skipped: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (change, obstacle) in &changes.others {
        skipped.entry(*obstacle).or_default().push(&change.path);
    }
    for (obstacle, paths) in skipped {
        session.screen.note(format_args!(
            "skipped because {}: {}",
            describe(obstacle),
            list(paths.into_iter())
        ));
    }
    if !changes.later.is_empty() {
        session.screen.note(format_args!(
            "skipped because the file changed after the turn ended (to include it, pass its path): {}",
            list(changes.later.iter().map(|it| &it.path))
        ));
    }
}

/// Returns a clause with the reason why a change cannot be adopted.
fn describe(obstacle: NotAdoptable) -> &'static str {
    match obstacle {
        NotAdoptable::ContentUnknown => "the content before the change is not stored",
        NotAdoptable::ChangedByRun => "a later run changed the path again",
        NotAdoptable::Special => "it is or was not a regular file",
        NotAdoptable::InTheWay => {
            "the path cannot be read, or it changed between a file and a directory"
        }
    }
}

/// Returns the id of the snapshot of these paths. A later snapshot of the same paths replaces an earlier one.
fn snapshot_id(selected: &[RelPath]) -> SnapshotId {
    let paths: Vec<_> = selected.iter().map(|path| path.to_string()).collect();
    let parts = std::iter::once("actum adopt").chain(paths.iter().map(String::as_str));
    SnapshotId::new(&parts.collect::<Vec<_>>())
}

/// Lists the first paths, and states the number of the others.
fn list<'a>(paths: impl ExactSizeIterator<Item = &'a RelPath>) -> String {
    let more = paths.len().saturating_sub(NAMED_MAX);
    let named = paths.take(NAMED_MAX).map(|path| format!("`{}`", InBackticks(path.as_bytes())));
    let named = named.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Describes the paths that were searched, for the message that there is nothing to adopt.
fn place(at: &[RelPath]) -> String {
    if at.is_empty() { String::new() } else { format!(" at {}", list(at.iter())) }
}

/// Reason why nothing was adopted.
#[derive(Debug, thiserror::Error)]
enum AdoptFailure {
    #[error("none of the changes can be adopted; the notes above list them")]
    NoneAdoptable,
    #[error("there are no changes to adopt{}", place(at))]
    Nothing { at: Vec<RelPath> },
    #[error("`{}` is not in the workspace", InBackticks(path.as_encoded_bytes()))]
    Outside { path: OsString },
}

impl FailureKind for AdoptFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::NoneAdoptable | Self::Nothing { .. } => Reason::AlreadyAsBefore,
            Self::Outside { .. } => Reason::Usage,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Nothing { .. } => vec![
                "only differences from the last prompt of a client, or from the result of a run, can be adopted; run `actum \
                 protect CLIENT` to record the state at each prompt"
                    .to_owned(),
            ],
            Self::NoneAdoptable => vec![
                "your changes are safe; run `actum undo RUN --keep-edits` to undo only the lines of a run".to_owned(),
                "run `actum protect CLIENT` to store the content of the files at each prompt from now on".to_owned(),
            ],
            Self::Outside { .. } => Vec::new(),
        }
    }
}
