//! Result of a requested run, or of its dry run.

use std::borrow::Borrow;
use std::io::{self, Write};

use actum::{
    Done, Engine, Error, Observer, PolicyInForce, Preview, Receipt, Request, Staged, Verified, Work,
};
use actum_core::path::{Harmless, Quoted};
use actum_core::{Digest, RiskTier, RunId, Status};
use actum_record::ledger::{Approval, TenantId};
use actum_workspace::{LinuxDisk, Recovery, Transaction, Workspace};
use serde::Serialize;

use crate::change_list::ChangeList;
use crate::diff_text::Audience;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::gate_view::why_approval;
use crate::output::{Document, Screen};
use crate::recovery_note::RecoveryNote;
use crate::shown_path::ShownPath;
use crate::signals::{self, Held};
use crate::style::{self, Painted};
use crate::{clock, records};

/// Kind of run.
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
    fn of(work: &Work, undoes: Option<RunId>) -> Self {
        match (work, undoes) {
            (Work::Undo(_), Some(run)) => Self::Undo(run),
            (Work::Redo(_), Some(run)) => Self::Redo(run),
            (Work::Apply(_), _) | (_, None) => Self::Apply,
        }
    }

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
    /// Blocks termination signals until the result is printed.
    #[serde(skip)]
    signal_guard: Option<Held>,
    #[serde(skip)]
    title: Title,
    status: Status,
    dry_run: bool,
    /// `None` where no run was made.
    pub(crate) run: Option<RunId>,
    /// Whether an earlier run had carried the request out, so that nothing was changed now.
    done_before: bool,
    /// The receipt in the ledger.
    receipt: Option<ReceiptRef>,
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
    /// The risk tier that the gates found; none where they were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<RiskTier>,
    /// Why it would wait for a person, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_approval: Option<String>,
    /// Who agreed to it, where that was needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Approval>,
    recovery: Option<RecoveryNote>,
}

/// Where a receipt is.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ReceiptRef {
    /// Its place in the ledger, counted from 0.
    pub(crate) index: u64,
    /// Its hash as a leaf of the ledger's Merkle tree.
    leaf: Digest,
}

impl ReceiptRef {
    fn of(receipt: &Receipt) -> Self {
        Self { index: receipt.index, leaf: receipt.leaf }
    }
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
    /// Shows what a request would do under what is in force; `diff` says for whom the diff is written, where it is asked
    /// for.
    pub(crate) fn look(
        workspace: &mut Workspace,
        request: &Request,
        (in_force, tenant): (&PolicyInForce, &TenantId),
        diff: Option<Audience>,
    ) -> Result<Self, Error> {
        let mut preview: Preview<'_, _> =
            actum::preview(workspace, request, records::undone(tenant))?;
        let title = Title::of(&request.work, preview.undoes);
        let end = Self::of(&mut preview.transaction, title, diff)?;
        if end.changes.is_empty() {
            return Ok(Self { dry_run: true, ..end });
        }
        let decision = preview.judge(request, in_force, tenant, clock::now())?;
        let (tier, needs_approval) = (Some(decision.tier), why_approval(&decision.gates));
        Ok(Self { dry_run: true, tier, needs_approval, ..end })
    }

    /// Carries a request out. One that changes nothing leaves no run.
    pub(crate) fn make(
        engine: &mut Engine,
        request: Request,
        diff: Option<Audience>,
    ) -> Result<Self, Error> {
        let work = request.work.clone();
        let mut making = RunEndObserver { work: &work, diff, end: None };
        let done = match engine.run_with(request, &mut making) {
            Ok(done) => done,
            Err(RunEndStop::NothingToChange(end)) => return Ok(*end),
            Err(RunEndStop::Error(error)) => return Err(error),
        };
        let Some(end) = making.end else { return Ok(Self::answered(&work, &done)) };
        let receipt = Some(ReceiptRef::of(&done.receipt));
        let result = &done.receipt.statement.predicate;
        let (approval, tier) = (result.approval.clone(), Some(result.decision.tier));
        Ok(Self { run: Some(done.run()), receipt, approval, tier, ..end })
    }

    /// What a transaction would do.
    fn of(
        transaction: &mut Transaction<'_, LinuxDisk>,
        title: Title,
        diff: Option<Audience>,
    ) -> Result<Self, Error> {
        let diff = match diff {
            Some(audience) => Some(FileDiffs::of(transaction.diff()?, audience)),
            None => None,
        };
        let moved_hunks = transaction.moved_hunks().iter().map(|(path, hunk)| ShownHunk {
            path: ShownPath(path.clone()),
            hunk: hunk.hunk,
            stated_line: hunk.stated,
            found_line: hunk.found,
        });
        Ok(Self {
            signal_guard: None,
            title,
            status: Status::Succeeded,
            dry_run: false,
            run: None,
            done_before: false,
            receipt: None,
            undoes: title.undoes(),
            moved_hunks: moved_hunks.collect(),
            broken_links: ShownPath::all(transaction.broken_links()),
            kept_edits: ShownPath::all(transaction.kept_edits()),
            as_before: ShownPath::all(transaction.as_before()),
            changes: ChangeList::of(&*transaction.changes()),
            diff,
            tier: None,
            needs_approval: None,
            approval: None,
            recovery: None,
        })
    }

    /// A request that an earlier run carried out.
    fn answered(work: &Work, done: &Done) -> Self {
        let undoes = done.receipt.statement.predicate.undoes;
        Self {
            signal_guard: None,
            title: Title::of(work, undoes),
            status: Status::Succeeded,
            dry_run: false,
            run: Some(done.run()),
            done_before: true,
            receipt: Some(ReceiptRef::of(&done.receipt)),
            undoes,
            changes: ChangeList::of(&[]),
            diff: None,
            broken_links: Vec::new(),
            moved_hunks: Vec::new(),
            kept_edits: Vec::new(),
            as_before: Vec::new(),
            tier: None,
            needs_approval: None,
            approval: done.receipt.statement.predicate.approval.clone(),
            recovery: None,
        }
    }

    /// The same with what was recovered before it.
    pub(crate) fn after(self, recovery: Option<&Recovery>) -> Self {
        Self { recovery: RecoveryNote::of(recovery), ..self }
    }

    /// Shows it, and tells what went beyond what was asked for.
    pub(crate) fn show(&self, screen: &Screen) -> Result<(), Failure> {
        self.note(screen);
        match self.title {
            Title::Apply => screen.show(&Shown { end: self, document: Applied(self) }),
            Title::Undo(_) => screen.show(&Shown { end: self, document: Undone(self) }),
            Title::Redo(_) => screen.show(&Shown { end: self, document: Redone(self) }),
        }
    }

    /// The same on standard error, where standard output is somebody else's.
    pub(crate) fn tell(&self, screen: &Screen) -> Result<(), Failure> {
        self.note(screen);
        screen.tell_text(&Shown { end: self, document: Applied(self) })
    }

    fn note(&self, screen: &Screen) {
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
        if let Some(ground) = &self.needs_approval {
            let ground = Harmless(ground.as_bytes());
            screen.note(format_args!("this needs approval: {ground}"));
        }
        if let Some(Approval { plan, by, .. }) = &self.approval {
            let by = Quoted(by.user.as_bytes());
            screen.note(format_args!("approved by {by} (plan {plan})"));
        }
        for path in &self.kept_edits {
            screen.note(format_args!(
                "`{path}` was edited since; only the lines of the run are taken back"
            ));
        }
    }
}

/// Observer that keeps the staged change for display, and blocks signals while it is published.
struct RunEndObserver<'w> {
    work: &'w Work,
    diff: Option<Audience>,
    /// What the run would do, once that is computed.
    end: Option<RunEnd>,
}

/// Reason why `run_with` stopped.
enum RunEndStop {
    NothingToChange(Box<RunEnd>),
    Error(Error),
}

impl From<Error> for RunEndStop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Observer<LinuxDisk> for RunEndObserver<'_> {
    type Stop = RunEndStop;

    fn staged(&mut self, staged: &mut Staged<'_, LinuxDisk>) -> Result<(), RunEndStop> {
        let title = Title::of(self.work, staged.undoes());
        let end = RunEnd::of(staged.transaction(), title, self.diff)?;
        if end.changes.is_empty() {
            return Err(RunEndStop::NothingToChange(Box::new(end)));
        }
        self.end = Some(end);
        Ok(())
    }

    /// Blocks termination signals until the run has ended and was printed. A kill during publishing would leave a
    /// recovery to do.
    fn verified(&mut self, _: &mut Verified<'_, LinuxDisk>) -> Result<(), RunEndStop> {
        if let Some(end) = &mut self.end {
            end.signal_guard = Some(signals::hold());
        }
        Ok(())
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Applied<'a>(&'a RunEnd);

impl actum_api::Document for Applied<'_> {
    const FORMAT: &'static str = "actum.apply/1";
}

#[derive(Serialize)]
#[serde(transparent)]
struct Undone<'a>(&'a RunEnd);

impl actum_api::Document for Undone<'_> {
    const FORMAT: &'static str = "actum.undo/1";
}

#[derive(Serialize)]
#[serde(transparent)]
struct Redone<'a>(&'a RunEnd);

impl actum_api::Document for Redone<'_> {
    const FORMAT: &'static str = "actum.redo/1";
}

/// Result of a run with its JSON document.
struct Shown<'a, D> {
    end: &'a RunEnd,
    document: D,
}

impl<D: actum_api::Document> Document for Shown<'_, D> {
    type Api = D;

    fn document(&self) -> impl Borrow<D> {
        &self.document
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.end.write_text(out)
    }
}

impl RunEnd {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(diff) = &self.diff {
            diff.write(out)?;
        }
        self.changes.write_lines(out, 0)?;
        let count = self.changes.count();
        if let (true, Some(run)) = (self.done_before, self.run) {
            let run = Painted(style::RUN, run);
            return writeln!(out, "already done by run {run}; nothing was changed");
        }
        if self.changes.is_empty() {
            return writeln!(out, "nothing to change; no run was made");
        }
        let Some(run) = self.run else {
            return match self.title {
                Title::Apply => {
                    let tier = self.tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
                    writeln!(out, "dry run: {count} would change{tier}; nothing was changed")
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
