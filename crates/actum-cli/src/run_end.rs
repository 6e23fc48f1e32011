//! The end of a run that was asked for: committed, or only looked at.

use std::io::{self, Write};

use actum_core::{RunId, Status};
use actum_workspace::{Error, LinuxDisk, Recovery, Transaction};
use serde::Serialize;

use crate::change_list::ChangeList;
use crate::failure::Failure;
use crate::output::{Document, Screen};
use crate::recovery_note::RecoveryNote;
use crate::shown_path::ShownPath;

/// Whether a change is made or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intention {
    /// It is made.
    Commit,
    /// It is shown.
    Look,
}

impl Intention {
    pub(crate) fn new(dry_run: bool) -> Self {
        if dry_run { Self::Look } else { Self::Commit }
    }
}

/// What a run did or would do.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunEnd {
    status: Status,
    dry_run: bool,
    /// `None` where no run was made.
    pub(crate) run: Option<RunId>,
    /// The run that this one undoes.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<RunId>,
    #[serde(flatten)]
    pub(crate) changes: ChangeList,
    /// Files that are parted from their other names.
    broken_links: Vec<ShownPath>,
    recovery: Option<RecoveryNote>,
}

impl RunEnd {
    /// Ends a transaction in the way that was asked for. One that changes nothing leaves no run.
    pub(crate) fn of(
        transaction: Transaction<'_, LinuxDisk>,
        intention: Intention,
        undoes: Option<RunId>,
    ) -> Result<Self, Error> {
        let changes = transaction.changes();
        if intention == Intention::Look {
            transaction.check_budget()?;
        }
        let broken_links = ShownPath::all(transaction.broken_links());
        let commits = intention == Intention::Commit && !changes.is_empty();
        let run = if commits { Some(transaction.commit()?.run) } else { None };
        Ok(Self {
            status: Status::Succeeded,
            dry_run: intention == Intention::Look,
            run,
            undoes,
            changes: ChangeList::of(&changes),
            broken_links,
            recovery: None,
        })
    }

    /// The same with what was recovered before it.
    pub(crate) fn after(self, recovery: Option<&Recovery>) -> Self {
        Self { recovery: RecoveryNote::of(recovery), ..self }
    }

    /// Shows it, and tells what went beyond what was asked for.
    pub(crate) fn show(&self, screen: &Screen) -> Result<(), Failure> {
        for path in &self.broken_links {
            screen.note(format_args!(
                "`{path}` has other names (hard links); they keep the old content"
            ));
        }
        screen.show(self)
    }
}

impl Document for RunEnd {
    fn format(&self) -> &'static str {
        match self.undoes {
            None => "actum.apply/1",
            Some(_) => "actum.undo/1",
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.changes.write_lines(out, 0)?;
        let count = self.changes.count();
        match (self.run, self.undoes) {
            _ if self.changes.is_empty() => writeln!(out, "nothing to change; no run was made"),
            (None, None) => writeln!(out, "dry run: {count} would change; nothing was changed"),
            (None, Some(undone)) => {
                writeln!(out, "dry run: undoing {undone} would change {count}; nothing was changed")
            }
            (Some(run), None) => {
                writeln!(out, "run {run}: {count} changed; undo with `actum undo {run}`")
            }
            (Some(run), Some(undone)) => writeln!(
                out,
                "run {run}: {count} changed; {undone} is undone, and `actum undo {run}` brings it \
                 back"
            ),
        }
    }
}
