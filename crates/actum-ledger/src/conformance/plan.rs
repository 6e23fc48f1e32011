//! Requirements on a store for plans.

use actum_core::{Digest, RunId};
use actum_record::ledger::{Answer, WorkspaceId};

use super::sample::SampleRun;
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::log::PlanRow;
use crate::new_entry::Appended;
use crate::store::Store;

pub(super) fn once(store: &mut dyn Store) -> Outcome {
    let plan = SampleRun::numbered(1, 0);
    let (id, workspace) = (plan.run, plan.workspace);
    let nowhere = (1, Digest::of(b"nothing"));
    let early = append(store, vec![plan.answered(Answer::Approved, nowhere)?])?;
    same("no answer to what was not queued", early, Err(Refusal::NoPlan { plan: id }))?;
    let early = append(store, vec![plan.approved(RunId::from_random(9), nowhere).started()?])?;
    same("nor a run of it", early, Err(Refusal::NoPlan { plan: id }))?;
    let at = |appended: Vec<Appended>| {
        let entry = appended.first().copied().unwrap_or(Appended { index: 0, leaf: nowhere.1 });
        (entry.index, entry.leaf)
    };
    let queued = at(put(store, vec![plan.queued()?])?);
    let row = PlanRow { plan: id, workspace, queued: 1, answered: None, started: None };
    same("it is known", store.plan(id)?, Some(row.clone()))?;
    same("it waits", store.open_plans()?, vec![row.clone()])?;
    same("it is no run", store.run(id)?, None)?;
    let again = append(store, vec![plan.queued()?])?;
    same("it is queued once", again, Err(Refusal::PlanQueued { plan: id, queued: 1 }))?;
    let revoked = append(store, vec![plan.answered(Answer::Revoked, queued)?])?;
    let (before, answer) = (None, Answer::Revoked);
    same(
        "only what was approved is revoked",
        revoked,
        Err(Refusal::PlanAnswered { plan: id, before, answer }),
    )?;
    let started = append(store, vec![plan.approved(RunId::from_random(9), queued).started()?])?;
    same("nobody approved it", started, Err(Refusal::PlanNotApproved { plan: id, before }))?;
    let other = append(store, vec![plan.answered(Answer::Approved, nowhere)?])?;
    let refusal = Refusal::OtherEntryOfPlan { plan: id, index: nowhere.0, leaf: nowhere.1 };
    same("an answer is about the entry that queued it", other, Err(refusal.clone()))?;
    let elsewhere = SampleRun { workspace: WorkspaceId::from_random(9), ..plan.clone() };
    let moved = append(store, vec![elsewhere.answered(Answer::Approved, queued)?])?;
    let refused = Refusal::OtherWorkspaceOfPlan {
        plan: id,
        queued_in: workspace,
        workspace: elsewhere.workspace,
    };
    same("and about its workspace", moved, Err(refused))?;
    let another = SampleRun { change: Digest::of(b"another"), ..plan.clone() };
    let other = append(store, vec![another.answered(Answer::Approved, queued)?])?;
    same("and about what was queued", other, Err(Refusal::OtherThanPlan { plan: id }))?;
    let approved = at(put(store, vec![plan.answered(Answer::Approved, queued)?])?);
    let row = PlanRow { answered: Some((Answer::Approved, 2)), ..row };
    same("it is approved", store.open_plans()?, vec![row.clone()])?;
    let denied = append(store, vec![plan.answered(Answer::Denied, queued)?])?;
    let (before, answer) = (Some(Answer::Approved), Answer::Denied);
    same("once", denied, Err(Refusal::PlanAnswered { plan: id, before, answer }))?;
    let other = append(store, vec![plan.approved(RunId::from_random(9), nowhere).started()?])?;
    same("a run names the entry that approved it", other, Err(refusal))?;
    let other = append(store, vec![another.approved(RunId::from_random(9), approved).started()?])?;
    same("and is what was approved", other, Err(Refusal::OtherThanPlan { plan: id }))?;
    put(store, vec![plan.approved(RunId::from_random(9), approved).started()?])?;
    same("it was carried out", store.open_plans()?, Vec::new())?;
    same("as it is told", store.plan(id)?, Some(PlanRow { started: Some(3), ..row }))?;
    let twice = append(store, vec![plan.approved(RunId::from_random(8), approved).started()?])?;
    same("an approval counts once", twice, Err(Refusal::PlanStarted { plan: id, started: 3 }))?;
    let revoked = append(store, vec![plan.answered(Answer::Revoked, queued)?])?;
    same(
        "what is done is not revoked",
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
        "what was revoked is not carried out",
        late,
        Err(Refusal::PlanNotApproved { plan: second.run, before }),
    )?;
    let newest = store.newest_plans(workspace, 9)?;
    let ids: Vec<RunId> = newest.iter().map(|row| row.plan).collect();
    same("plans, the newest first", ids, vec![second.run, id])?;
    same("as many as are asked for", store.newest_plans(workspace, 1)?.len(), 1)?;
    let nobody = store.newest_plans(WorkspaceId::from_random(1), 9)?;
    same("none of another workspace", nobody, Vec::new())?;
    same("nothing waits any more", store.open_plans()?, Vec::new())?;
    same("nothing came of what was refused", store.size()?, 8)
}
