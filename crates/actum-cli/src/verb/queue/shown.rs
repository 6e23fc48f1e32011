//! View of one plan: who requested it, why it waits, its change, and anything that differs since it was queued.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use actum::{Moved, PlanState, PolicyInForce, Preview, QueuedPlan, Request, RequestLease};
use actum_api::queue::{EarlierPlan, Plan};
use actum_api::record::PlanAnswer;
use actum_core::path::{Harmless, Quoted};
use actum_core::{FileMode, FileState, RelPath, Timestamp};
use actum_gate::decision::Bundle;
use actum_gate::{GateDecision, GateName, Policy, Verdict, paths_that_need_approval};
use actum_record::ledger::TenantId;
use actum_record::receipt::PathEffect;
use actum_workspace::path_change::{PathChange, State};
use actum_workspace::{ErrorKind, LinuxDisk, Workspace};

use super::asked::Asked;
use super::listed;
use crate::count::count;
use crate::diff_text::Audience;
use crate::failure::Failure;
use crate::file_diffs::FileDiffs;
use crate::folded_paths::{self, ChangedPath, LISTED_MAX};
use crate::gate_view::views;
use crate::ledger_queue::Queue;
use crate::output::{Document, Kind};
use crate::verb::Session;
use crate::{clock, plans, policy, records, recovery_note, timestamp};

/// Amount of detail in which the text shows a long change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// All paths and the entire diff.
    Whole,
    /// One row per directory, and a diff of only those paths that an approver must see. JSON documents are always complete.
    Folded,
}

/// Number of changed lines above which [`Listing::Folded`] shortens the text.
const DIFF_LINES_MAX: u64 = 2000;

/// Plan with the effect that it would have now.
pub(crate) struct Shown {
    /// JSON document of the plan, without the diff.
    document: Plan,
    asked: Option<Asked>,
    diff: Option<FileDiffs>,
    /// Paths that are still listed one by one, or `None` if the text is not folded.
    folded: Option<Folded>,
    state: PlanState,
    /// Command that carries out the plan, for plans that `actum approve` cannot apply itself.
    own_command: Option<&'static str>,
}

/// Contents of a folded text, which shows only a part of a long change.
#[derive(Default)]
struct Folded {
    /// Number of added and removed lines in the entire diff.
    lines: u64,
    /// Paths that are listed one by one with their diff. They require approval themselves, are renamed, become a different
    /// type of file, or have unusual permissions.
    listed: BTreeSet<RelPath>,
}

impl Shown {
    /// Creates the view of a plan. For operators, the diff is always escaped; only programs get it byte for byte.
    pub(crate) fn new(
        queue: &Queue,
        plan: &QueuedPlan,
        session: &Session,
        shown_to: (Audience, Listing),
    ) -> Result<Self, Failure> {
        let is_open = matches!(plan.state(clock::now()), PlanState::Waiting | PlanState::Approved);
        let request = is_open.then(|| plan.request(&queue.inputs)).transpose()?;
        Self::with_request(queue, plan, request.as_ref(), session, shown_to)
    }

    /// Creates the view of a plan. With its request, the view also includes the effect that the plan would have now.
    pub(crate) fn with_request(
        queue: &Queue,
        plan: &QueuedPlan,
        request: Option<&Request>,
        session: &Session,
        (audience, listing): (Audience, Listing),
    ) -> Result<Self, Failure> {
        let now = clock::now();
        let state = plan.state(now);
        let bundle = plan.bundle(&queue.view).map_err(actum::Error::from)?;
        let judged = &plan.queued.plan;
        let changes = bundle.change().to_vec();
        let earlier = match plan.queued.earlier.map(|earlier| queue.plan(earlier)).transpose()? {
            Some(Some(earlier)) => Some(earlier_of(queue, &earlier, &changes, now)?),
            Some(None) | None => None,
        };
        let can_fold = (audience, listing) == (Audience::Terminal, Listing::Folded);
        let mut folded = if can_fold { Folded::of_long(&changes) } else { None };
        let mut line = listed::document(plan, state);
        let (mut moved, mut diff, mut asked) = (Vec::new(), None, None);
        if let Some(request) = request {
            let root = plans::root_of(plan, session)?;
            line.root = Quoted(root.as_os_str().as_bytes()).to_string();
            asked = Some(Asked::new(request, &root)?);
            let shown = (audience, folded.as_mut());
            (moved, diff) = would_do(queue, plan, (request, &bundle), &root, (session, shown))?;
        }
        let document = Plan {
            line,
            digest: judged.bound.plan,
            door: judged.door.clone(),
            gates: views(&judged.decision.gates),
            answer: plan.answer.as_ref().map(|answer| answer.verified.answered.clone().into()),
            changes,
            earlier,
            moved,
            asked: asked.as_ref().map(|asked| asked.document.clone()),
            diff: None,
        };
        let own_command = plans::own_command(judged);
        Ok(Self { document, asked, diff, folded, state, own_command })
    }

    /// Returns the reasons why the plan is stale, or nothing if it can still be carried out as it was queued.
    pub(crate) fn moved(&self) -> &[String] {
        &self.document.moved
    }
}

impl Folded {
    /// Returns a folded form of a change, or `None` if the change is short enough to be shown completely.
    fn of_long(changes: &[PathEffect]) -> Option<Self> {
        let lines = total(changes, |effect| effect.added.saturating_add(effect.removed));
        let is_long = changes.len() > LISTED_MAX || lines > DIFF_LINES_MAX;
        is_long.then(|| Self { lines, ..Self::default() })
    }

    /// Selects the paths that are listed one by one, and returns their changes for the diff.
    fn select(
        &mut self,
        preview: &Preview<'_, LinuxDisk>,
        (bundle, policy): (&Bundle, &Policy),
    ) -> actum_workspace::Result<Vec<PathChange>> {
        self.listed = paths_that_need_approval(bundle, policy);
        let must_be_seen = bundle.change().iter().filter(|effect| is_unusual(effect));
        self.listed.extend(must_be_seen.flat_map(PathEffect::paths).cloned());
        // Only directories have no file state before or after.
        let is_directory = |effect: &&PathEffect| effect.before.is_none() && effect.after.is_none();
        let directories = bundle.change().iter().filter(is_directory);
        let directories: BTreeSet<_> = directories.map(|effect| &effect.path.0).collect();
        let mut changes = preview
            .transaction
            .diff_of(|path| self.listed.contains(path) || directories.contains(path))?;
        changes
            .retain(|change| self.listed.contains(&change.path) || has_unusual_directory(change));
        self.listed.extend(changes.iter().map(|change| change.path.clone()));
        Ok(changes)
    }
}

/// Returns whether a path is renamed, changes between file and symbolic link, or has unusual permissions.
fn is_unusual(effect: &PathEffect) -> bool {
    let usual = [FileMode::REGULAR, FileMode::EXECUTABLE, FileMode::LINK];
    let mode = |file: &Option<FileState>| file.as_ref().map(|file| file.mode);
    let (before, after) = (mode(&effect.before), mode(&effect.after));
    let changes_kind =
        before.zip(after).is_some_and(|(before, after)| before.is_link() != after.is_link());
    let is_unusual = |mode: FileMode| !usual.contains(&mode);
    effect.from.is_some()
        || changes_kind
        || before.is_some_and(is_unusual)
        || after.is_some_and(is_unusual)
}

/// Returns whether a change alters an existing directory, turns a file into a directory, or creates a directory with
/// unusual permissions.
fn has_unusual_directory(change: &PathChange) -> bool {
    match (&change.before, &change.after) {
        (State::Absent, State::Directory { mode }) => *mode != FileMode::EXECUTABLE,
        (State::Directory { .. } | State::File { .. }, State::Directory { .. }) => true,
        (State::Directory { .. }, State::File { .. }) => true,
        (_, State::Absent | State::File { .. }) => false,
    }
}

fn total(changes: &[PathEffect], lines: impl Fn(&PathEffect) -> u64) -> u64 {
    changes.iter().map(lines).fold(0, u64::saturating_add)
}

/// Computes the effect that the plan would have now. Returns the reasons why the plan is stale, if any, and the diff if
/// the effect could be computed.
fn would_do(
    queue: &Queue,
    plan: &QueuedPlan,
    (request, was): (&Request, &Bundle),
    root: &Path,
    (session, shown): (&Session, (Audience, Option<&mut Folded>)),
) -> Result<(Vec<String>, Option<FileDiffs>), Failure> {
    let renew = |lease: &RequestLease| lease.renew(&queue.keyring, clock::now(), &queue.view);
    let renewed = match request.lease.as_ref().map(renew).transpose() {
        Ok(lease) => lease.map(|lease| Request { lease: Some(lease), ..request.clone() }),
        Err(error) => return Ok((vec![error.to_string()], None)),
    };
    let request = renewed.as_ref().unwrap_or(request);
    let mut workspace = records::own_root(root, &session.tenant)?.open_existing()?;
    let in_force = policy::in_force(root)?;
    let tenant = session.tenant.id()?;
    let asked = (request, &in_force, &tenant);
    let would = would_do_in(&mut workspace, plan, was, asked, shown);
    // The preview begins a transaction, which rolls back an interrupted run, so report that recovery.
    recovery_note::print(&session.screen, workspace.recovery());
    would
}

fn would_do_in(
    workspace: &mut Workspace,
    plan: &QueuedPlan,
    was: &Bundle,
    (request, in_force, tenant): (&Request, &PolicyInForce, &TenantId),
    (audience, folded): (Audience, Option<&mut Folded>),
) -> Result<(Vec<String>, Option<FileDiffs>), Failure> {
    let mut preview = match actum::preview(workspace, request, records::undone(tenant)) {
        Ok(preview) => preview,
        // A workspace that is in use by another process does not make the plan stale.
        Err(error) if is_busy(&error) => return Err(error.into()),
        Err(error) => return Ok((vec![error.to_string()], None)),
    };
    let tenant = &plan.queued.plan.tenant;
    let judged = match preview.judged(request, in_force, tenant, clock::now()) {
        Ok(judged) => judged,
        Err(error) => return Ok((vec![error.to_string()], None)),
    };
    let changes = match folded {
        Some(folded) => folded.select(&preview, (&judged.bundle, &in_force.policy))?,
        None => preview.transaction.diff()?,
    };
    // A file may have a different effect at its new path, so the diff of a renamed file shows its entire content.
    let whole = |change| PathChange { renamed_from: None, ..change };
    let diff = FileDiffs::new(changes.into_iter().map(whole).collect(), audience);
    let moved = plan
        .moved(was, (&judged.bundle, &judged.decision), &request.actor)
        .map_err(actum::Error::from)?;
    let mut moved: Vec<String> = moved.iter().map(ToString::to_string).collect();
    // If the lease was revoked, used up or has expired since the plan was queued, add the reason for the denial.
    let is_denial =
        |gate: &&GateDecision| gate.gate == GateName::Lease && gate.verdict == Verdict::Deny;
    let denial = judged.decision.gates.iter().find(is_denial).filter(|_| !moved.is_empty());
    moved.extend(denial.map(|gate| gate.ground.to_string()));
    Ok((moved, Some(diff)))
}

fn is_busy(error: &actum::Error) -> bool {
    matches!(error, actum::Error::Workspace(error) if matches!(error.kind, ErrorKind::Busy { .. }))
}

fn earlier_of(
    queue: &Queue,
    earlier: &QueuedPlan,
    changes: &[PathEffect],
    now: Timestamp,
) -> Result<EarlierPlan, Failure> {
    let bundle = earlier.bundle(&queue.view).map_err(actum::Error::from)?;
    let answered = earlier.answer.as_ref().map(|answer| &answer.verified.answered);
    let differs = Moved::in_files(bundle.change(), changes);
    Ok(EarlierPlan {
        plan: earlier.id(),
        state: listed::document_state(earlier.state(now)),
        reason: answered.and_then(|answered| answered.reason.clone()),
        differs: differs.iter().map(ToString::to_string).collect(),
    })
}

impl Document for Shown {
    type Api = Plan;

    fn document(&self) -> impl Borrow<Plan> {
        let diff = self.diff.as_ref().map(FileDiffs::document);
        Plan { diff, ..self.document.clone() }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let plan = &self.document;
        listed::write(&plan.line, out)?;
        let asks = actum_api::gate::Verdict::NeedsApproval;
        let approval = GateName::Approval.as_str();
        // The list entry above already shows the first reason, and the plan's state reflects the approval gate.
        let gates = plan.gates.iter().filter(|it| it.verdict == asks && it.gate != approval);
        for gate in gates.skip(1) {
            writeln!(out, "gate     {}", gate)?;
        }
        if let Some(PlanAnswer { answer, by, reason, time, .. }) = &plan.answer {
            let (by, time) = (Quoted(by.user.as_bytes()), timestamp::second(*time));
            write!(
                out,
                "{:<8} by {by} at {time}",
                Harmless(answer.as_str().as_bytes()).to_string()
            )?;
            match reason {
                Some(reason) => writeln!(out, ": {}", Quoted(reason.as_bytes()))?,
                None => writeln!(out)?,
            }
        }
        if let Some(EarlierPlan { plan, state, reason, differs }) = &plan.earlier {
            write!(out, "earlier  {plan} ({})", listed::words(*state))?;
            match reason {
                Some(reason) => writeln!(out, ": {}", Quoted(reason.as_bytes()))?,
                None => writeln!(out)?,
            }
            for differs in differs {
                writeln!(out, "         since then {}", Harmless(differs.as_bytes()))?;
            }
        }
        if let Some(asked) = &self.asked {
            asked.write(out)?;
        }
        match &self.folded {
            Some(folded) if plan.changes.len() > LISTED_MAX => {
                write_folded(out, &plan.changes, &folded.listed)?;
            }
            Some(_) | None => {
                plan.changes.iter().try_for_each(|effect| write_effect(out, effect))?;
            }
        }
        if let Some(diff) = &self.diff {
            diff.write(out)?;
        }
        if plan.changes.len() > 1 {
            let (added, removed) =
                (total(&plan.changes, |it| it.added), total(&plan.changes, |it| it.removed));
            writeln!(out, "total    {} paths  +{added} -{removed}", plan.changes.len())?;
        }
        if let Some(folded) = &self.folded {
            let (lines, plan) = (count(folded.lines, "line"), plan.line.plan);
            writeln!(
                out,
                "this view is shortened; run `actum queue {plan}` to see every path and the diff of {lines}"
            )?;
        }
        for moved in &plan.moved {
            writeln!(out, "stale    {}", Harmless(moved.as_bytes()))?;
        }
        let is_current = plan.moved.is_empty();
        let plan = plan.line.plan;
        match (self.state, is_current, self.own_command) {
            (PlanState::Waiting, true, Some(command)) => writeln!(
                out,
                "`actum approve {plan}` approves exactly this change, and the same `{command}` then applies it once; \
                 `actum deny {plan} --reason WHY` rejects it"
            ),
            (PlanState::Approved, true, Some(command)) => writeln!(
                out,
                "the same `{command}` applies it; `actum revoke {plan}` withdraws the approval"
            ),
            (PlanState::Waiting, true, None) => writeln!(
                out,
                "`actum approve {plan}` applies exactly this change once; `actum deny {plan} --reason WHY` rejects it"
            ),
            (PlanState::Waiting, false, _) => writeln!(
                out,
                "the plan is stale and cannot be approved; `actum deny {plan} --reason WHY` removes it"
            ),
            (PlanState::Approved, false, _) => writeln!(
                out,
                "the plan is stale and will not be carried out; `actum revoke {plan}` removes it"
            ),
            (PlanState::Approved, true, None) => writeln!(
                out,
                "the same request applies it; `actum approve {plan}` applies it now, `actum revoke {plan}` withdraws \
                 the approval"
            ),
            (PlanState::Unproven, ..) => {
                writeln!(
                    out,
                    "its answer is not signed by a valid key; `actum revoke {plan}` removes the answer"
                )
            }
            (
                PlanState::Denied | PlanState::Revoked | PlanState::CarriedOut | PlanState::Expired,
                ..,
            ) => Ok(()),
        }
    }

    fn kind(&self) -> Kind {
        Kind::Long
    }
}

/// Writes the listed paths one by one, and folds all other paths into one row per directory.
fn write_folded(
    out: &mut dyn Write,
    effects: &[PathEffect],
    listed: &BTreeSet<RelPath>,
) -> io::Result<()> {
    let is_listed = |effect: &&PathEffect| effect.paths().any(|path| listed.contains(path));
    let (listed, folded): (Vec<_>, Vec<_>) = effects.iter().partition(is_listed);
    listed.into_iter().try_for_each(|effect| write_effect(out, effect))?;
    let folded = folded.into_iter().map(|effect| ChangedPath {
        word: folded_word(effect),
        path: effect.path.to_string(),
        added: effect.added,
        removed: effect.removed,
    });
    folded_paths::write(&folded.collect::<Vec<_>>(), 2, out)
}

/// Returns the word for a row: the effect on the path, with the type of the file or its new permissions if relevant.
fn folded_word(effect: &PathEffect) -> String {
    let word = effect.effect.as_str().replace('_', " ");
    let modes = [&effect.before, &effect.after].map(|file| file.as_ref().map(|file| file.mode));
    match modes {
        [Some(before), Some(after)] if before != after => format!("{word} {before} -> {after}"),
        [_, Some(mode)] | [Some(mode), None] if mode.is_link() => format!("{word} link"),
        [_, Some(FileMode::EXECUTABLE)] => format!("{word} executable"),
        [_, _] if hides_content(effect) => format!("{word} binary"),
        [_, _] => word,
    }
}

fn write_effect(out: &mut dyn Write, effect: &PathEffect) -> io::Result<()> {
    let PathEffect { path, effect: kind, from, before, after, added, removed } = effect;
    write!(out, "  {} ", kind.as_str().replace('_', " "))?;
    if let Some(from) = from {
        write!(out, "`{from}` -> ")?;
    }
    write!(out, "`{path}`  +{added} -{removed}")?;
    write_mode(out, before.as_ref(), after.as_ref())?;
    if let Some(after) = after.as_ref().filter(|_| hides_content(effect)) {
        write!(out, "  {} bytes of binary content, not shown", after.size)?;
    }
    writeln!(out)
}

/// Returns whether the new content is binary. Binary content changes without any added or removed lines.
fn hides_content(effect: &PathEffect) -> bool {
    let PathEffect { before, after, added, removed, .. } = effect;
    let digest = |file: &Option<FileState>| file.as_ref().map(|file| file.sha256);
    let is_empty = after.as_ref().is_none_or(|file| file.size == 0);
    digest(before) != digest(after) && !is_empty && (*added, *removed) == (0, 0)
}

/// Writes the permissions of a file, if they change or are unusual.
fn write_mode(
    out: &mut dyn Write,
    before: Option<&FileState>,
    after: Option<&FileState>,
) -> io::Result<()> {
    let Some(after) = after else { return Ok(()) };
    match before.filter(|before| before.mode != after.mode) {
        Some(before) => write!(out, "  mode {} -> {}", before.mode, after.mode),
        None if [FileMode::REGULAR, FileMode::EXECUTABLE].contains(&after.mode) => Ok(()),
        None => write!(out, "  mode {}", after.mode),
    }
}
