//! Conformance rules about actions and their catalog.

use actum_core::{Digest, RunId, Status};
use actum_record::ledger::{Answer, EntryKind};
use actum_record::merkle::{Node, leaf_hash};

use super::sample::{SampleRun, catalog_changed};
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::log::{PlanRow, RunRow};
use crate::new_entry::Appended;
use crate::store::Store;

pub(super) fn at(appended: &[Appended]) -> (u64, Digest) {
    appended.first().map_or((0, Digest::of(b"nothing")), |entry| (entry.index, entry.leaf))
}

/// Checks that an action needs an approval and uses it up, and that the end of an action does not affect runs.
pub(super) fn once(store: &mut dyn Store) -> Outcome {
    let plan = SampleRun::numbered(1, 0);
    let (id, nowhere) = (plan.run, (1, Digest::of(b"nothing")));
    let early = append(store, vec![plan.action_started(nowhere)?])?;
    same(
        "an action must not start without a queued plan",
        early,
        Err(Refusal::NoPlan { plan: id }),
    )?;
    let queued = at(&put(store, vec![plan.queued()?])?);
    let early = append(store, vec![plan.action_started(queued)?])?;
    let before = None;
    same(
        "an action must not start without an approval",
        early,
        Err(Refusal::PlanNotApproved { plan: id, before }),
    )?;
    let approved = at(&put(store, vec![plan.answered(Answer::Approved, queued)?])?);
    let other = append(store, vec![plan.action_started(queued)?])?;
    let refusal = Refusal::OtherEntryOfPlan { plan: id, index: queued.0, leaf: queued.1 };
    same("an action must refer to the entry that approved it", other, Err(refusal))?;
    let another = SampleRun { change: Digest::of(b"another"), ..plan.clone() };
    let other = append(store, vec![another.action_started(approved)?])?;
    same(
        "an action must have the approved change",
        other,
        Err(Refusal::OtherThanPlan { plan: id }),
    )?;
    put(store, vec![plan.action_started(approved)?])?;
    let row = PlanRow {
        plan: id,
        workspace: plan.workspace,
        queued: 1,
        answered: Some((Answer::Approved, 2)),
        started: Some(3),
    };
    same("starting an action must use up the approval", store.plan(id)?, Some(row))?;
    let started = Refusal::PlanStarted { plan: id, started: 3 };
    let twice = append(store, vec![plan.action_started(approved)?])?;
    same("an approval must not start a second action", twice, Err(started.clone()))?;
    let twice = append(store, vec![plan.approved(RunId::from_random(9), approved).started()?])?;
    same("an approval that was used once must not start another run", twice, Err(started))?;
    same("an action must not be listed as a run", store.run(id)?, None)?;
    put(store, vec![plan.started()?])?;
    let open = store.run(id)?;
    put(store, vec![plan.action_ended(Status::Failed)?, plan.action_ended(Status::Reverted)?])?;
    same("the end of an action must not end a run", store.run(id)?, open)?;
    put(store, vec![SampleRun::numbered(2, 0).action_ended(Status::Rejected)?])?;
    same(
        "the end of an action must not create a run",
        store.run(SampleRun::numbered(2, 0).run)?,
        None::<RunRow>,
    )?;
    same("a refused request must not add an entry", store.size()?, 8)
}

/// Checks that each catalog change refers to the previous one.
pub(super) fn catalog(store: &mut dyn Store) -> Outcome {
    let first = (0, store.node(Node { level: 0, index: 0 })?);
    let refusal =
        |index, newest| Refusal::OtherCatalog { index: Some(index), newest: Some(newest) };
    let nowhere = (0, Digest::of(b"nothing"));
    let other = append(store, vec![catalog_changed(nowhere, b"{}")?])?;
    same("the first change must follow the first entry", other, Err(refusal(0, 0)))?;
    let one = catalog_changed(first, b"{\"number\":1}")?;
    put(store, vec![SampleRun::numbered(1, 0).started()?])?;
    let changed = at(&put(store, vec![one.clone()])?);
    same("a catalog change must be stored unchanged", changed, (2, leaf_hash(&one.body)))?;
    let again = append(store, vec![one])?;
    same("an old catalog change must not be appended again", again, Err(refusal(0, 2)))?;
    let two = catalog_changed(changed, b"{\"number\":2}")?;
    let next = (3, leaf_hash(&two.body));
    let wrong = append(store, vec![two.clone(), catalog_changed(changed, b"{}")?])?;
    same("changes in one request must follow each other", wrong, Err(refusal(2, 3)))?;
    put(store, vec![two, catalog_changed(next, b"{}")?])?;
    same(
        "the document of a catalog must be stored",
        store.blob(&Digest::of(b"{}"))?,
        Some(b"{}".to_vec()),
    )?;
    same("a refused request must not add an entry", store.size()?, 5)
}

/// Checks that the newest entries of a kind are returned, newest first.
pub(super) fn newest(store: &mut dyn Store) -> Outcome {
    let (ended, changed) = (EntryKind::ActionEnded, EntryKind::CatalogChanged);
    for kind in [ended, changed] {
        same(
            "a new log must have no such entry",
            store.newest_of_kind(kind, None, 9)?,
            Vec::new(),
        )?;
    }
    let mut last = (0, store.node(Node { level: 0, index: 0 })?);
    for number in 0..4 {
        let run = SampleRun::numbered(number, number);
        put(store, vec![run.started()?, run.action_ended(Status::Succeeded)?])?;
        let snapshot = format!("{{\"number\":{number}}}");
        last = at(&put(store, vec![catalog_changed(last, snapshot.as_bytes())?])?);
    }
    let all = store.newest_of_kind(ended, None, 9)?;
    same("entries must be listed with the newest first", all, vec![11, 8, 5, 2])?;
    same(
        "catalog changes must be listed with the newest first",
        store.newest_of_kind(changed, None, 9)?,
        vec![12, 9, 6, 3],
    )?;
    same(
        "the number of entries must be limited",
        store.newest_of_kind(ended, None, 2)?,
        vec![11, 8],
    )?;
    same(
        "only entries before the given index may be listed",
        store.newest_of_kind(ended, Some(8), 9)?,
        vec![5, 2],
    )?;
    same(
        "the newest entry before the index must be listed",
        store.newest_of_kind(changed, Some(4), 1)?,
        vec![3],
    )?;
    same(
        "no entry may be listed before the oldest one",
        store.newest_of_kind(changed, Some(3), 1)?,
        Vec::new(),
    )?;
    same("a limit of 0 must list no entries", store.newest_of_kind(ended, None, 0)?, Vec::new())?;
    let started = store.newest_of_kind(EntryKind::EffectStarted, None, 2)?;
    same("entries of any other kind must be listed too", started, vec![10, 7])
}
