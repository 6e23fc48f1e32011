//! `actum adopt`: makes a run of changes that were made without one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use actum::reason::Reason;
use actum::{GitFiles, PolicyInForce, Work};
use actum_core::RelPath;
use actum_core::path::InBackticks;
use actum_gate::Verdict;
use actum_record::receipt::EffectKind;
use actum_workspace::{
    Error, ErrorKind, Limits, Meant, RunOptions, SnapshotId, UndeclaredChanges, Workspace,
};

use super::Session;
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::requested_run::{Asked, IfMissing};
use crate::run_arguments::{self, RunArguments};
use crate::{policy, records};

/// Make a run of changes that no run made, so that they can be undone
///
/// Commands of an agent's client, and users, change files without actum. In a workspace with `actum protect`, actum
/// records the state at each prompt, and `adopt` makes one run of all later changes outside of runs: judged by the
/// gates, signed, and undoable. No file is touched. Other workspaces adopt only later edits of files that a run
/// changed.
///
/// A change whose earlier state is unknown is listed and not adopted: a changed file over 1 MiB that is not in git.
/// Directories that git ignores are not searched.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Adopt only changes of these files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Restore the earlier content instead of keeping the changes
    #[arg(long)]
    restore: bool,
    /// Set the line that the log shows
    #[arg(long, value_name = "TEXT", value_parser = run_arguments::label)]
    label: Option<String>,
    #[command(flatten)]
    run_arguments: RunArguments,
}

/// Limit of the paths that a message names.
const NAMED_MAX: usize = 5;

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let root = session.root();
    let meant = arguments.meant(session)?;
    let id = snapshot_id(&meant);
    let mut workspace = records::own_root(root, &session.tenant)?.open_existing()?;
    let wait = arguments.run_arguments.waits();
    let changes = arguments.take_snapshot((&mut workspace, session), id, &meant, wait)?;
    tell_left(session, &changes);
    // A request that was carried out before is answered with its run.
    if changes.adoptable.is_empty() && !arguments.run_arguments.has_request_key() {
        let is_clean = changes.others.is_empty() && changes.later.is_empty();
        return Err(match is_clean {
            true => AdoptFailure::Nothing { at: meant },
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
            true => format!("restore what was there before {changed} without a run"),
            false => format!("adopt {changed} that no run made"),
        }
    });
    let asked =
        Asked { limits: Limits::default(), label: Some(label), if_missing: IfMissing::Refuse };
    arguments.run_arguments.carry_out(session, root, work, asked)
}

impl Arguments {
    /// Takes a snapshot of the earlier content of the selected undeclared changes. Without paths, changes are left out
    /// that the gates refuse whatever their content is.
    fn take_snapshot(
        &self,
        (workspace, session): (&mut Workspace, &Session),
        id: SnapshotId,
        meant: &[RelPath],
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
        let is_named = |path: &RelPath| meant.iter().any(|it| path == it || path.starts_with(it));
        let selection = match self.paths.is_empty() {
            true => Meant::OfTurns(&is_free),
            false => Meant::At(&is_named),
        };
        let mut known = GitFiles::open(root);
        let label = "look for changes that no run made".to_owned();
        let mut transaction =
            workspace.begin(RunOptions { label, wait, ..RunOptions::default() })?;
        let changes = transaction.snapshot_undeclared(id, &selection, &mut known)?;
        drop(transaction);
        let refused = refused.into_inner();
        if !refused.is_empty() {
            session.screen.note(format_args!(
                "skipped, since the gates refuse it: {}; `actum policy explain PATH` says why",
                list(refused.iter())
            ));
        }
        Ok(changes)
    }

    /// Returns the selected paths below the root; an empty list selects all.
    fn meant(&self, session: &Session) -> Result<Vec<RelPath>, Failure> {
        let root = session.root();
        let mut meant = Vec::new();
        for path in &self.paths {
            // A link itself is selected, and not its target.
            let named = session.start.join(path);
            let whole = match (named.parent(), named.file_name()) {
                (Some(parent), Some(name)) => actum::real_path(parent).join(name),
                (None, _) | (_, None) => actum::real_path(&named),
            };
            let outside = || AdoptFailure::Outside { path: path.clone() };
            let inside = whole.strip_prefix(root).map_err(|_| outside())?;
            if inside.as_os_str().is_empty() {
                let message = "without a path all changes are meant; leave it out".to_owned();
                return Err(Failure::Usage { message });
            }
            let inside = RelPath::new(inside.as_os_str().as_bytes());
            meant.push(inside.map_err(|source| Error::from(ErrorKind::Path { source }))?);
        }
        Ok(meant)
    }
}

/// Returns true if the gates refuse any change of a path, whatever its content.
fn is_refused(in_force: &PolicyInForce, path: &RelPath, session: &Session) -> bool {
    let decision =
        policy::decide_effect(in_force, path.clone(), EffectKind::Modified, &session.tenant);
    // An undecided change is decided with the run.
    decision.is_ok_and(|decision| decision.verdict == Verdict::Deny)
}

/// Prints the changes that are not adopted.
fn tell_left(session: &Session, changes: &UndeclaredChanges) {
    let left = [
        (
            &changes.others,
            "skipped, since there is no copy from before, a later run changed it, or it is not a regular file",
        ),
        (
            &changes.later,
            "skipped, since it changed after the turn ended; name the path to include it",
        ),
    ];
    for (changes, why) in left.into_iter().filter(|(changes, _)| !changes.is_empty()) {
        session.screen.note(format_args!("{why}: {}", list(changes.iter().map(|it| &it.path))));
    }
}

/// Returns the id of the snapshot of these paths: a later snapshot replaces an earlier one.
fn snapshot_id(meant: &[RelPath]) -> SnapshotId {
    let paths: Vec<_> = meant.iter().map(|path| path.to_string()).collect();
    let parts = std::iter::once("actum adopt").chain(paths.iter().map(String::as_str));
    SnapshotId::new(&parts.collect::<Vec<_>>())
}

/// Lists the first paths.
fn list<'a>(paths: impl ExactSizeIterator<Item = &'a RelPath>) -> String {
    let more = paths.len().saturating_sub(NAMED_MAX);
    let named = paths.take(NAMED_MAX).map(|path| format!("`{}`", InBackticks(path.as_bytes())));
    let named = named.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Describes the place without changes to adopt.
fn place(at: &[RelPath]) -> String {
    if at.is_empty() { String::new() } else { format!(" at {}", list(at.iter())) }
}

/// Reason for which nothing was adopted.
#[derive(Debug, thiserror::Error)]
enum AdoptFailure {
    #[error("none of the changes can be adopted; the notes above name them")]
    NoneAdoptable,
    #[error("there is no change to adopt{}", place(at))]
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
                "what is adopted differs from the last prompt of an agent's client, or from what a run left; `actum protect CLIENT` lets \
                 actum note the state at each prompt"
                    .to_owned(),
            ],
            Self::NoneAdoptable | Self::Outside { .. } => Vec::new(),
        }
    }
}
