//! The end of a run that was asked for: committed, or only looked at.

use std::io::{self, Write};

use actum_core::{RunId, Status};
use actum_workspace::{Error, LinuxDisk, Recovery, Transaction};
use serde::Serialize;

use crate::change_list::ChangeList;
use crate::diff_text::Audience;
use crate::failure::Failure;
use crate::output::{Document, Screen};
use crate::recovery_note::RecoveryNote;
use crate::shown_path::ShownPath;
use crate::signals::{self, Held};
use crate::style::{self, Painted};
use crate::verb::diff::FileDiffs;

/// Whether a change is made or only looked at, and what is shown of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Intention {
    end: End,
    /// For whom the diff is written, where it is asked for.
    diff: Option<Audience>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The change is made.
    Commit,
    /// It is only shown.
    Look,
}

impl Intention {
    pub(crate) fn new(dry_run: bool, diff: bool, screen: &Screen) -> Self {
        let end = if dry_run { End::Look } else { End::Commit };
        Self { end, diff: diff.then(|| screen.audience()) }
    }

    /// To make the change and show what there is to say.
    pub(crate) const COMMIT: Self = Self { end: End::Commit, diff: None };
    /// To see whether it can be made.
    pub(crate) const LOOK: Self = Self { end: End::Look, diff: None };
}

/// What kind of run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Title {
    /// A change that was described.
    Apply,
    /// The undo of this run.
    Undo(RunId),
    /// The undo of this undo.
    Redo(RunId),
}

impl Title {
    fn undoes(self) -> Option<RunId> {
        match self {
            Self::Apply => None,
            Self::Undo(run) | Self::Redo(run) => Some(run),
        }
    }
}

/// What a run did or would do.
#[derive(Debug, Serialize)]
pub(crate) struct RunEnd {
    /// Until it is shown: who asks the program to end still hears what was done.
    #[serde(skip)]
    _held: Held,
    #[serde(skip)]
    title: Title,
    status: Status,
    dry_run: bool,
    /// `None` where no run was made.
    pub(crate) run: Option<RunId>,
    /// The run that this one undoes.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<RunId>,
    #[serde(flatten)]
    pub(crate) changes: ChangeList,
    /// The change as a diff, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<FileDiffs>,
    /// Files that are parted from their other names.
    broken_links: Vec<ShownPath>,
    /// Hunks that apply elsewhere than they say.
    moved_hunks: Vec<ShownHunk>,
    /// Files that were edited since the run that is undone, and keep that.
    kept_edits: Vec<ShownPath>,
    /// Paths that are as before the run that is undone already.
    as_before: Vec<ShownPath>,
    recovery: Option<RecoveryNote>,
}

#[derive(Debug, Clone, Serialize)]
struct ShownHunk {
    #[serde(flatten)]
    path: ShownPath,
    hunk: usize,
    stated_line: u64,
    found_line: u64,
}

impl RunEnd {
    /// Ends a transaction in the way that was asked for. One that changes nothing leaves no run.
    pub(crate) fn of(
        mut transaction: Transaction<'_, LinuxDisk>,
        intention: Intention,
        title: Title,
    ) -> Result<Self, Error> {
        let changes = transaction.changes();
        if intention.end == End::Look {
            transaction.check_budget()?;
        }
        let diff = match intention.diff {
            Some(audience) => Some(FileDiffs::of(transaction.diff()?, audience)),
            None => None,
        };
        let broken_links = ShownPath::all(transaction.broken_links());
        let moved_hunks = transaction.moved_hunks().iter().map(|(path, hunk)| ShownHunk {
            path: ShownPath(path.clone()),
            hunk: hunk.hunk,
            stated_line: hunk.stated,
            found_line: hunk.found,
        });
        let moved_hunks = moved_hunks.collect();
        let kept_edits = ShownPath::all(transaction.kept_edits());
        let as_before = ShownPath::all(transaction.as_before());
        let commits = intention.end == End::Commit && !changes.is_empty();
        // A signal that arrives meanwhile is answered when the run has ended and was shown: what is
        // half done would otherwise wait for a recovery.
        let held = signals::hold();
        let run = if commits { Some(transaction.commit()?.run) } else { None };
        Ok(Self {
            _held: held,
            title,
            status: Status::Succeeded,
            dry_run: intention.end == End::Look,
            run,
            undoes: title.undoes(),
            changes: ChangeList::of(&changes),
            diff,
            broken_links,
            moved_hunks,
            kept_edits,
            as_before,
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
        for ShownHunk { path, hunk, stated_line, found_line } in &self.moved_hunks {
            screen.note(format_args!(
                "hunk {hunk} of `{path}` says line {stated_line} and applies at line {found_line}"
            ));
        }
        for path in &self.as_before {
            screen.note(format_args!("`{path}` is as it was before that run already"));
        }
        for path in &self.kept_edits {
            screen.note(format_args!(
                "`{path}` was edited since; only the lines of the run are taken back"
            ));
        }
        screen.show(self)
    }
}

impl Document for RunEnd {
    fn format(&self) -> &'static str {
        match self.title {
            Title::Apply => "actum.apply/1",
            Title::Undo(_) => "actum.undo/1",
            Title::Redo(_) => "actum.redo/1",
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(diff) = &self.diff {
            diff.write(out)?;
        }
        self.changes.write_lines(out, 0)?;
        let count = self.changes.count();
        if self.changes.is_empty() {
            return writeln!(out, "nothing to change; no run was made");
        }
        let Some(run) = self.run else {
            return match self.title {
                Title::Apply => {
                    writeln!(out, "dry run: {count} would change; nothing was changed")
                }
                Title::Undo(run) => {
                    writeln!(
                        out,
                        "dry run: undoing {run} would change {count}; nothing was changed"
                    )
                }
                Title::Redo(undo) => writeln!(
                    out,
                    "dry run: taking back the undo {undo} would change {count}; nothing was changed"
                ),
            };
        };
        write!(out, "run {}: {count} changed; ", Painted(style::RUN, run))?;
        match self.title {
            Title::Apply => writeln!(out, "undo with `actum undo {run}`"),
            Title::Undo(undone) => {
                writeln!(out, "{undone} is undone, and `actum redo {undone}` brings it back")
            }
            Title::Redo(undo) => writeln!(out, "the undo {undo} is taken back"),
        }
    }
}
