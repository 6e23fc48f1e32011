//! Conformance rules about plans.

use actum_core::{Digest, RunId};
use actum_record::ledger::{Answer, WorkspaceId};

use super::sample::SampleRun;
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::log::PlanRow;
use crate::new_entry::Appended;
use crate::store::Store;

/// Checks that a plan is queued once, answered in order and executed once.
pub(super) fn once(store: &mut dyn Store) -> Outcome {
    let plan = SampleRun::numbered(1, 0);
    let (id, workspace) = (plan.run, plan.workspace);
    let nowhere = (1, Digest::of(b"nothing"));
    let early = append(store, vec![plan.answered(Answer::Approved, nowhere)?])?;
    same("an answer needs a queued plan", early, Err(Refusal::NoPlan { plan: id }))?;
    let early = append(store, vec![plan.approved(RunId::from_random(9), nowhere).started()?])?;
    same("an approved run needs a queued plan", early, Err(Refusal::NoPlan { plan: id }))?;
    let at = |appended: Vec<Appended>| {
        let entry = appended.first().copied().unwrap_or(Appended { index: 0, leaf: nowhere.1 });
        (entry.index, entry.leaf)
    };
    let queued = at(put(store, vec![plan.queued()?])?);
    let row = PlanRow { plan: id, workspace, queued: 1, answered: None, started: None };
    same("a queued plan must be found", store.plan(id)?, Some(row.clone()))?;
    same("a queued plan must be open", store.open_plans()?, vec![row.clone()])?;
    same("a queued plan must not be listed as a run", store.run(id)?, None)?;
    let again = append(store, vec![plan.queued()?])?;
    same(
        "a plan must not be queued twice",
        again,
        Err(Refusal::PlanQueued { plan: id, queued: 1 }),
    )?;
    let revoked = append(store, vec![plan.answered(Answer::Revoked, queued)?])?;
    let (before, answer) = (None, Answer::Revoked);
    same(
        "only an approved plan can be revoked",
        revoked,
        Err(Refusal::PlanAnswered { plan: id, before, answer }),
    )?;
    let started = append(store, vec![plan.approved(RunId::from_random(9), queued).started()?])?;
    same(
        "a plan must not start without an approval",
        started,
        Err(Refusal::PlanNotApproved { plan: id, before }),
    )?;
    let other = append(store, vec![plan.answered(Answer::Approved, nowhere)?])?;
    let refusal = Refusal::OtherEntryOfPlan { plan: id, index: nowhere.0, leaf: nowhere.1 };
    same("an answer must refer to the entry that queued the plan", other, Err(refusal.clone()))?;
    let elsewhere = SampleRun { workspace: WorkspaceId::from_random(9), ..plan.clone() };
    let moved = append(store, vec![elsewhere.answered(Answer::Approved, queued)?])?;
    let refused = Refusal::OtherWorkspaceOfPlan {
        plan: id,
        queued_in: workspace,
        workspace: elsewhere.workspace,
    };
    same("an answer must be in the workspace of the plan", moved, Err(refused))?;
    let another = SampleRun { change: Digest::of(b"another"), ..plan.clone() };
    let other = append(store, vec![another.answered(Answer::Approved, queued)?])?;
    same(
        "an answer must be about the queued change",
        other,
        Err(Refusal::OtherThanPlan { plan: id }),
    )?;
    let approved = at(put(store, vec![plan.answered(Answer::Approved, queued)?])?);
    let row = PlanRow { answered: Some((Answer::Approved, 2)), ..row };
    same("an approved plan must be open until it starts", store.open_plans()?, vec![row.clone()])?;
    let denied = append(store, vec![plan.answered(Answer::Denied, queued)?])?;
    let (before, answer) = (Some(Answer::Approved), Answer::Denied);
    same(
        "a plan must not be answered twice",
        denied,
        Err(Refusal::PlanAnswered { plan: id, before, answer }),
    )?;
    let other = append(store, vec![plan.approved(RunId::from_random(9), nowhere).started()?])?;
    same("a run must refer to the entry that approved it", other, Err(refusal))?;
    let other = append(store, vec![another.approved(RunId::from_random(9), approved).started()?])?;
    same("a run must have the approved change", other, Err(Refusal::OtherThanPlan { plan: id }))?;
    put(store, vec![plan.approved(RunId::from_random(9), approved).started()?])?;
    same("a started plan must not be open", store.open_plans()?, Vec::new())?;
    same(
        "a started plan must list its start",
        store.plan(id)?,
        Some(PlanRow { started: Some(3), ..row }),
    )?;
    let twice = append(store, vec![plan.approved(RunId::from_random(8), approved).started()?])?;
    same(
        "an approval must not start a second run",
        twice,
        Err(Refusal::PlanStarted { plan: id, started: 3 }),
    )?;
    let revoked = append(store, vec![plan.answered(Answer::Revoked, queued)?])?;
    same(
        "a started plan must not be revoked",
        revoked,
        Err(Refusal::PlanStarted { plan: id, started: 3 }),
    )?;
    let second = SampleRun::numbered(2, 0);
    let queued = at(put(store, vec![second.queued()?, second.refused()?])?);
    let approved = at(put(store, vec![second.answered(Answer::Approved, queued)?])?);
    put(store, vec![second.answered(Answer::Revoked, queued)?])?;
    let late = append(store, vec![second.approved(RunId::from_random(7), approved).started()?])?;
    let before = Some(Answer::Revoked);
    same(
        "a revoked plan must not start",
        late,
        Err(Refusal::PlanNotApproved { plan: second.run, before }),
    )?;
    let newest = store.newest_plans(workspace, 9)?;
    let ids: Vec<RunId> = newest.iter().map(|row| row.plan).collect();
    same("plans must be listed with the newest first", ids, vec![second.run, id])?;
    same("the number of listed plans must be limited", store.newest_plans(workspace, 1)?.len(), 1)?;
    let nobody = store.newest_plans(WorkspaceId::from_random(1), 9)?;
    same("a workspace must not list plans of others", nobody, Vec::new())?;
    same("answered and started plans must not be open", store.open_plans()?, Vec::new())?;
    same("a refused request must not add an entry", store.size()?, 8)
}
