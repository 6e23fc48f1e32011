//! Handles the start and end of a turn, and reports the turn's runs and the files that changed outside of runs.

use std::path::Path;

use actum::GitFiles;
use actum_core::path::InBackticks;
use actum_core::{Digest, ShellWord};
use actum_hook::{Answer, Client, Event, Moment, session_digest};
use actum_workspace::disk::Kind;
use actum_workspace::{TurnEnd, TurnStart, Undeclared, UndeclaredChange, View, Workspace};

use super::super::Session;
use super::workspace_of_session;
use crate::count::{count, number};
use crate::failure::Failure;
use crate::records;
use crate::session_runs::{Selection, runs_in_effect};

/// Hint for the user about changes outside of runs.
const ADOPT: &str = "`actum adopt` records this as a run, and `actum adopt --restore` reverts it";
/// Maximum number of paths that the report names.
const NAMED_MAX: usize = 3;

/// Handles an event at the start or end of a turn. At the start, takes a baseline of the workspace. At the end, returns a report
/// for the user, unless nothing happened. Outside of a workspace, does nothing.
pub(super) fn answer(client: Client, session: &Session, event: &Event) -> Result<Answer, Failure> {
    let Some(root) = workspace_of_session(&event.directory) else { return Ok(Answer::Nothing) };
    let mut workspace = open(session, &root)?;
    let name = session_digest(client, &event.session);
    let mut known = GitFiles::open(&root);
    if event.moment == Moment::TurnStart {
        let prompt = event.prompt.as_ref().map(|prompt| Digest::of(prompt.as_bytes()));
        return Ok(match workspace.begin_turn(name, prompt, &mut known)? {
            TurnStart::Taken | TurnStart::Joined => Answer::Nothing,
            TurnStart::TooManyFiles => Answer::Notify(format!(
                "actum: this workspace has more than {} files, so changes outside of runs are not reported",
                actum_workspace::BASELINE_FILES_MAX
            )),
        });
    }
    let Some(TurnEnd { new, earlier: _ }) = workspace.end_turn(name, &mut known)? else {
        return Ok(Answer::Nothing);
    };
    drop(workspace);
    let mut lines = Vec::new();
    match describe_runs(session, &root, event, name) {
        Ok(line) => lines.extend(line),
        // Do not fail here. The changes outside of runs must still be reported, because the next turn will not report them again.
        Err(failure) => {
            let message = failure.message();
            lines.push(format!("the runs of this turn cannot be listed: {message}"));
        }
    }
    // New and deleted directories are left out, as the files in them are reported. New permissions of a directory are included.
    let is_named = |change: &&Undeclared| {
        change.kind != Kind::Directory || change.change == UndeclaredChange::Modified
    };
    let named: Vec<_> = new.iter().filter(is_named).collect();
    if !named.is_empty() {
        lines.push(undeclared(&named));
    }
    Ok(match lines.is_empty() {
        true => Answer::Nothing,
        false => Answer::Notify(format!("actum: {}", lines.join(". "))),
    })
}

/// Describes how many runs the turn made and how to undo them. Returns `None` if none of its runs is in effect.
fn describe_runs(
    session: &Session,
    root: &Path,
    event: &Event,
    name: Digest,
) -> Result<Option<String>, Failure> {
    let view = View::open(root)?;
    let selection = Selection::Turn(Some(event.session.clone()));
    let runs = runs_in_effect(&view, session, &selection)?;
    if runs.is_empty() {
        return Ok(None);
    }
    let these = if runs.len() == 1 { "it" } else { "them" };
    let runs = count(number(runs.len()), "run");
    let is_newest = view.turns()?.last().is_some_and(|turn| turn.session == name);
    let of_session = match is_newest {
        true => String::new(),
        false => format!(" --session {}", ShellWord::new(event.session.as_bytes())),
    };
    Ok(Some(format!("{runs} in this turn; `actum undo --turn{of_session}` undoes {these}")))
}

/// Describes the files that changed outside of runs, and how to adopt or revert the changes.
fn undeclared(changes: &[&Undeclared]) -> String {
    let named: Vec<_> = changes.iter().take(NAMED_MAX).map(|change| name(change)).collect();
    let more = match changes.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let lost = changes.iter().filter(|change| !change.is_adoptable()).count();
    let then = match lost {
        0 => format!(". {ADOPT}"),
        lost if lost == changes.len() => "; the old content was not saved".to_owned(),
        lost => format!("; the old content of {lost} of them was not saved. {ADOPT}"),
    };
    let noun = if changes.iter().any(|it| it.kind == Kind::Directory) { "path" } else { "file" };
    format!(
        "{} changed outside of runs, by a command or by you: {}{more}{then}",
        count(number(changes.len()), noun),
        named.join(", ")
    )
}

/// Formats a changed path, marking it if it is new or deleted.
fn name(change: &Undeclared) -> String {
    let path = InBackticks(change.path.as_bytes());
    match change.change {
        UndeclaredChange::Created => format!("`{path}` (new)"),
        UndeclaredChange::Modified => format!("`{path}`"),
        UndeclaredChange::Deleted => format!("`{path}` (deleted)"),
    }
}

fn open(session: &Session, root: &Path) -> Result<Workspace, Failure> {
    Ok(records::own_root(root, &session.tenant)?.open_existing()?)
}
