//! Result of a requested run or of its dry run, as text and as a JSON document.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::sync::Arc;

use actum::{
    Done, Engine, Error, Observer, PolicyInForce, Preview, Receipt, Request, Staged, Verified, Work,
};
use actum_api::apply::{Apply, Effect, MovedHunk, Outcome, ReceiptRef, Redo, Undo};
use actum_api::brief::{BriefParts, BriefPath};
use actum_api::path::WorkspacePath;
use actum_api::record::Approval;
use actum_core::path::{Harmless, Quoted};
use actum_core::{RunId, Status};
use actum_record::ledger::TenantId;
use actum_record::receipt::PathEffect;
use actum_workspace::{LinuxDisk, Recovery, Transaction, Workspace};

use crate::change_list;
use crate::count::{count, number};
use crate::diff_text::Audience;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::folded_paths::LISTED_MAX;
use crate::gate_view::why_approval;
use crate::output::{Document, Kind, Screen};
use crate::recovery_note;
use crate::signals::{self, Held};
use crate::style::{self, Painted};
use crate::{clock, records};

/// Kind of a run, which determines how its result is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Title {
    /// Run that applies a change, adopts one, or restores earlier content.
    Apply,
    /// Run that undoes the given run.
    Undo(RunId),
    /// Run that undoes the given undo.
    Redo(RunId),
}

impl Title {
    fn new(work: &Work, undoes: Option<RunId>) -> Self {
        match (work, undoes) {
            (Work::Undo(_), Some(run)) => Self::Undo(run),
            (Work::Redo(_), Some(run)) => Self::Redo(run),
            // Without the id of an undone run, the result is described like that of any other change.
            (Work::Apply(_) | Work::Adopt(_) | Work::Restore { .. }, _) | (_, None) => Self::Apply,
        }
    }
}

/// Result of a run or of its dry run.
#[derive(Debug)]
pub(crate) struct RunEnd {
    /// Guard that blocks termination signals until the result is printed.
    signal_guard: Option<Held>,
    title: Title,
    pub(crate) outcome: Outcome,
    /// Effect of the run, without its diff.
    pub(crate) effect: Effect,
    /// Effect on each path, with the digests of its content.
    pub(crate) effects: Arc<[PathEffect]>,
    /// Diff of the change, if it was requested.
    diff: Option<FileDiffs>,
}

/// Additional check of a change, made while the workspace is locked. An error rejects the change.
pub(crate) type Check<'c> = dyn Fn(&[PathEffect]) -> Result<(), Error> + 'c;

/// Settings that are not part of the request: the audience of its diff, and an additional check of the change.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extras<'c> {
    pub(crate) diff: Option<Audience>,
    pub(crate) check: Option<&'c Check<'c>>,
}

impl From<Option<Audience>> for Extras<'_> {
    fn from(diff: Option<Audience>) -> Self {
        Self { diff, check: None }
    }
}

impl Extras<'_> {
    fn check(&self, effects: &[PathEffect]) -> Result<(), Error> {
        self.check.map_or(Ok(()), |check| check(effects))
    }
}

fn receipt_ref(receipt: &Receipt) -> ReceiptRef {
    ReceiptRef { index: receipt.index, leaf: receipt.leaf }
}

impl RunEnd {
    /// Computes what a request would change, and how the gates would decide under the policy in force.
    pub(crate) fn look(
        workspace: &mut Workspace,
        request: &Request,
        (in_force, tenant): (&PolicyInForce, &TenantId),
        extras: Extras<'_>,
    ) -> Result<Self, Error> {
        let mut preview: Preview<'_, _> =
            actum::preview(workspace, request, records::undone(tenant))?;
        let title = Title::new(&request.work, preview.undoes);
        let end = Self::new(&mut preview.transaction, title, extras.diff)?;
        extras.check(&end.effects)?;
        if end.is_empty() {
            return Ok(end.dry());
        }
        let decision = preview.judge(request, in_force, tenant, clock::now())?;
        let (tier, needs_approval) = (Some(decision.tier), why_approval(&decision.gates));
        let Self { effect, .. } = end;
        Ok(Self { effect: Effect { tier, needs_approval, ..effect }, ..end }.dry())
    }

    fn dry(self) -> Self {
        Self { outcome: Outcome { dry_run: true, ..self.outcome }, ..self }
    }

    /// Returns whether the request changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.effect.changes.changes.is_empty()
    }

    /// Carries out a request. A request that changes nothing leaves no run behind.
    pub(crate) fn make(
        engine: &mut Engine,
        request: Request,
        extras: Extras<'_>,
    ) -> Result<Self, Error> {
        let work = request.work.clone();
        let mut making = RunEndObserver { work: &work, extras, end: None };
        let done = match engine.run_with(request, &mut making) {
            Ok(done) => done,
            Err(RunEndStop::NothingToChange(end)) => return Ok(*end),
            Err(RunEndStop::Error(error)) => return Err(error),
        };
        let Some(end) = making.end else { return Ok(Self::answered(&work, &done)) };
        let Self { outcome, effect, .. } = end;
        let result = &done.receipt.statement.predicate;
        Ok(Self {
            outcome: Outcome {
                run: Some(done.run()),
                receipt: Some(receipt_ref(&done.receipt)),
                ..outcome
            },
            effect: Effect {
                approval: result.approval.clone().map(Into::into),
                tier: Some(result.decision.tier),
                ..effect
            },
            ..end
        })
    }

    pub(crate) fn title(&self) -> Title {
        self.title
    }

    /// Computes the effect of a transaction that was staged but not published.
    fn new(
        transaction: &mut Transaction<'_, LinuxDisk>,
        title: Title,
        diff: Option<Audience>,
    ) -> Result<Self, Error> {
        let diff = match diff {
            Some(audience) => Some(FileDiffs::new(transaction.diff()?, audience)),
            None => None,
        };
        let moved_hunks = transaction.moved_hunks().iter().map(|(path, hunk)| MovedHunk {
            path: path.into(),
            hunk: number(hunk.hunk),
            stated_line: hunk.stated,
            found_line: hunk.found,
        });
        let effect = Effect {
            moved_hunks: moved_hunks.collect(),
            broken_links: WorkspacePath::all(transaction.broken_links()),
            kept_edits: WorkspacePath::all(transaction.kept_edits()),
            as_before: WorkspacePath::all(transaction.as_before()),
            changes: change_list::list(&*transaction.changes()),
            ..Effect::default()
        };
        let outcome = Outcome {
            status: Status::Succeeded,
            dry_run: false,
            run: None,
            done_before: false,
            receipt: None,
        };
        let effects = transaction.effects();
        Ok(Self { signal_guard: None, title, outcome, effect, diff, effects })
    }

    /// Returns the result for a request that an earlier run already carried out.
    fn answered(work: &Work, done: &Done) -> Self {
        let predicate = &done.receipt.statement.predicate;
        let approval = predicate.approval.clone().map(Into::into);
        Self {
            signal_guard: None,
            title: Title::new(work, predicate.undoes),
            outcome: Outcome {
                status: Status::Succeeded,
                dry_run: false,
                run: Some(done.run()),
                done_before: true,
                receipt: Some(receipt_ref(&done.receipt)),
            },
            effect: Effect { approval, ..Effect::default() },
            effects: predicate.paths.as_slice().into(),
            diff: None,
        }
    }

    /// Adds the results of a recovery that preceded the run.
    pub(crate) fn after(self, recovery: Option<&Recovery>) -> Self {
        let recovery = recovery.map(recovery_note::document);
        Self { effect: Effect { recovery, ..self.effect }, ..self }
    }

    /// Returns the result as a JSON document for a change that was applied.
    pub(crate) fn document(&self) -> Apply {
        Apply { outcome: self.outcome.clone(), effect: self.whole_effect() }
    }

    /// Returns the parts of the brief JSON form.
    pub(crate) fn brief(&self) -> BriefParts {
        BriefParts { paths: BriefPath::list(&*self.effects), ..(&self.outcome).into() }
    }

    fn whole_effect(&self) -> Effect {
        let diff = self.diff.as_ref().map(FileDiffs::document);
        Effect { diff, ..self.effect.clone() }
    }

    /// Shows the result, with notes about side effects that the user did not ask for.
    pub(crate) fn show(&self, screen: &Screen) -> Result<(), Failure> {
        self.note(screen);
        match self.title {
            Title::Apply => screen.show(self),
            Title::Undo(undoes) => screen.show(&Shown(self, |end: &Self| Undo {
                outcome: end.outcome.clone(),
                undoes,
                effect: end.whole_effect(),
            })),
            Title::Redo(undoes) => screen.show(&Shown(self, |end: &Self| Redo {
                outcome: end.outcome.clone(),
                undoes,
                effect: end.whole_effect(),
            })),
        }
    }

    /// Shows the result on standard error, for use when another program owns standard output.
    pub(crate) fn show_on_stderr(&self, screen: &Screen) -> Result<(), Failure> {
        self.note(screen);
        screen.print_report(self)
    }

    fn note(&self, screen: &Screen) {
        for path in &self.effect.broken_links {
            screen.note(format_args!("`{path}` has other hard links, which keep the old content"));
        }
        for MovedHunk { path, hunk, stated_line, found_line } in &self.effect.moved_hunks {
            screen.note(format_args!(
                "hunk {hunk} of `{path}` applies at line {found_line} instead of line {stated_line}"
            ));
        }
        for path in &self.effect.as_before {
            screen.note(format_args!("`{path}` is already in its state from before that run"));
        }
        if let Some(ground) = &self.effect.needs_approval {
            let ground = Harmless(ground.as_bytes());
            screen.note(format_args!("this change needs approval: {ground}"));
        }
        if let Some(Approval { plan, by, .. }) = &self.effect.approval {
            let by = Quoted(by.user.as_bytes());
            screen.note(format_args!("approved by {by} (plan {plan})"));
        }
        for path in &self.effect.kept_edits {
            screen.note(format_args!(
                "`{path}` was edited since; only the lines of the run are undone"
            ));
        }
    }
}

/// Observer that keeps the staged change for display, and blocks signals while the change is published.
struct RunEndObserver<'w> {
    work: &'w Work,
    extras: Extras<'w>,
    /// Result of the run, available once its change is staged.
    end: Option<RunEnd>,
}

/// Reason why [`Engine::run_with`] was stopped.
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
        let title = Title::new(self.work, staged.undoes());
        let end = RunEnd::new(staged.transaction(), title, self.extras.diff)?;
        self.extras.check(&end.effects)?;
        if end.is_empty() {
            return Err(RunEndStop::NothingToChange(Box::new(end)));
        }
        self.end = Some(end);
        Ok(())
    }

    /// Blocks termination signals until the run has ended and its result is printed. If a signal ended the process
    /// during publishing, the run would have to be recovered.
    fn verified(&mut self, _: &mut Verified<'_, LinuxDisk>) -> Result<(), RunEndStop> {
        if let Some(end) = &mut self.end {
            end.signal_guard = Some(signals::hold());
        }
        Ok(())
    }
}

/// Result of an undo or a redo, with the function that converts it to a JSON document.
struct Shown<'a, F>(&'a RunEnd, F);

impl<D: actum_api::Document, F: Fn(&RunEnd) -> D> Document for Shown<'_, F> {
    type Api = D;

    fn document(&self) -> impl Borrow<D> {
        self.1(self.0)
    }

    fn brief(&self) -> BriefParts {
        self.0.brief()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.write_text(out)
    }

    fn kind(&self) -> Kind {
        self.0.kind()
    }
}

impl Document for RunEnd {
    type Api = Apply;

    fn document(&self) -> impl Borrow<Apply> {
        Self::document(self)
    }

    fn brief(&self) -> BriefParts {
        Self::brief(self)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(diff) = &self.diff {
            diff.write(out)?;
        }
        change_list::write_lines(&self.effect.changes, out, 0)?;
        let count = count(self.effect.changes.files, "file");
        if let (true, Some(run)) = (self.outcome.done_before, self.outcome.run) {
            let run = Painted(style::RUN, run);
            return writeln!(out, "already done by run {run}; nothing was changed");
        }
        if self.is_empty() {
            return writeln!(out, "nothing to change; no run was made");
        }
        let is_folded = self.effect.changes.changes.len() > LISTED_MAX;
        let Some(run) = self.outcome.run else {
            if is_folded {
                writeln!(out, "`--json` lists every path")?;
            }
            return match self.title {
                Title::Apply => {
                    let tier =
                        self.effect.tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
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
                    "dry run: reversing the undo {undo} would change {count}; nothing was changed"
                ),
            };
        };
        if is_folded {
            writeln!(out, "`actum show {run}` lists every path")?;
        }
        write!(out, "run {}: {count} changed; ", Painted(style::RUN, run))?;
        match self.title {
            Title::Apply => writeln!(out, "undo with `actum undo {run}`"),
            Title::Undo(undone) => {
                writeln!(out, "{undone} is undone, and `actum redo {undone}` restores it")
            }
            Title::Redo(_) => {
                writeln!(out, "the change is in effect again; `actum undo` undoes it")
            }
        }
    }

    /// Returns `Report` for a change that was applied. A requested diff and a dry run are data, so they are printed
    /// even with `--quiet`.
    fn kind(&self) -> Kind {
        if self.diff.is_some() || self.outcome.dry_run { Kind::Short } else { Kind::Report }
    }
}
