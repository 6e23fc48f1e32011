//! Rules about leases and file tasks.

use actum_core::{Digest, RunId};
use actum_record::lease::TaskName;

use super::sample::{SampleLease, SampleRun, file_task_ended, file_task_started};
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::log::{FileTaskRow, LeaseRow};
use crate::new_entry::Appended;
use crate::store::Store;

/// A run with the number `number` under a lease.
fn under(number: u64, lease: &SampleLease) -> SampleRun {
    SampleRun { lease: Some(lease.clone()), ..SampleRun::numbered(number, 0) }
}

fn at(appended: &[Appended]) -> (u64, Digest) {
    appended.first().map_or((0, Digest::of(b"nothing")), |entry| (entry.index, entry.leaf))
}

/// Nothing starts under a lease that was not granted, is used up or is revoked.
pub(super) fn used(store: &mut dyn Store) -> Outcome {
    let lease = SampleLease::numbered(1, Some(2));
    let id = lease.id();
    same("no entry is about it", store.lease(id)?, None)?;
    let early = append(store, vec![under(1, &lease).started()?])?;
    same("it was not granted", early, Err(Refusal::LeaseNotGranted { lease: id }))?;
    put(store, vec![lease.granted()?])?;
    let again = append(store, vec![lease.granted()?])?;
    same("it is granted once", again, Err(Refusal::LeaseGranted { lease: id, granted: 1 }))?;
    same(
        "its document is kept",
        store.blob(&Digest::of(&lease.document()))?,
        Some(lease.document()),
    )?;
    let child = lease.clone().narrowed(2, Some(1));
    put(store, vec![under(1, &child).started()?])?;
    let used_up =
        |block: &SampleLease, uses| Refusal::LeaseUsedUp { lease: block.id(), used: uses, uses };
    let twice = append(store, vec![under(2, &child).started()?])?;
    same("the appended block counts, too", twice, Err(used_up(&child, 1)))?;
    let both = append(store, vec![under(2, &lease).started()?, under(3, &lease).started()?])?;
    same("within one request, too", both, Err(used_up(&lease, 2)))?;
    put(store, vec![under(2, &lease).started()?])?;
    let row = LeaseRow { lease: id, granted: Some(1), revoked: None, used: 2 };
    same("it was used twice", store.lease(id)?, Some(row))?;
    let row = LeaseRow { lease: child.id(), granted: None, revoked: None, used: 1 };
    same("and its second block once", store.lease(child.id())?, Some(row))?;
    let third = append(store, vec![under(3, &lease).started()?])?;
    same("not more", third, Err(used_up(&lease, 2)))?;
    let other = SampleLease::numbered(3, None);
    let narrowed = other.clone().narrowed(4, None);
    put(store, vec![other.granted()?, narrowed.revoked()?])?;
    let revoked = Refusal::LeaseRevoked { lease: narrowed.id(), revoked: 5 };
    let late = append(store, vec![under(4, &narrowed).started()?])?;
    same("a block that nobody saw before can be revoked", late, Err(revoked))?;
    put(store, vec![under(4, &other).started()?])?;
    let again = append(store, vec![narrowed.revoked()?])?;
    let refusal = Refusal::LeaseRevokedBefore { lease: narrowed.id(), revoked: 5 };
    same("once", again, Err(refusal))?;
    put(store, vec![other.revoked()?])?;
    let late = append(store, vec![under(5, &other).started()?])?;
    let revoked = Refusal::LeaseRevoked { lease: other.id(), revoked: 7 };
    same("the lease itself, too", late, Err(revoked))?;
    let ids: Vec<_> = store.newest_leases(None, 9)?.into_iter().map(|row| row.lease).collect();
    same("leases that were granted, the newest first", ids, vec![other.id(), id])?;
    same("as many as are asked for", store.newest_leases(None, 1)?.len(), 1)?;
    same("before another", store.newest_leases(Some(4), 9)?.len(), 1)?;
    same("nothing came of what was refused", store.size()?, 8)
}

/// A file task starts once and ends once, and its id is never used again.
pub(super) fn file_task(store: &mut dyn Store) -> Outcome {
    let lease = SampleLease::numbered(1, Some(2));
    let name = |text: &str| -> Option<TaskName> { text.parse().ok() };
    let row =
        |task: &str, started, ended| name(task).map(|task| FileTaskRow { task, started, ended });
    let known = |store: &dyn Store, task: &str| match name(task) {
        Some(task) => store.file_task(&task),
        None => Ok(None),
    };
    let refused = |result: Result<Vec<Appended>, Refusal>| match result {
        Err(Refusal::FileTaskStarted { started, .. }) => Some(("started", Some(started))),
        Err(Refusal::FileTaskEnded { ended, .. }) => Some(("ended", Some(ended))),
        Err(Refusal::OtherStartOfFileTask { index, .. }) => Some(("other start", index)),
        Err(_) | Ok(_) => None,
    };
    let halves = [1, 2].map(|number| SampleRun { door: "file task", ..under(number, &lease) });
    let start = |task: &str| file_task_started(task, &lease, &halves);
    let early = append(store, vec![start("move-1")?])?;
    same("its lease is granted", early, Err(Refusal::LeaseNotGranted { lease: lease.id() }))?;
    put(store, vec![lease.granted()?])?;
    let nowhere = (1, Digest::of(b"nothing"));
    let early = append(store, vec![file_task_ended(Some("move-1"), Some(nowhere))?])?;
    same("no end of what was not started", refused(early), Some(("other start", Some(1))))?;
    let started = at(&put(store, vec![start("move-1")?])?);
    same("it is known", known(store, "move-1")?, row("move-1", Some(2), None))?;
    same("it is open", store.open_file_tasks()?.len(), 1)?;
    let again = append(store, vec![start("move-1")?])?;
    same("it starts once", refused(again), Some(("started", Some(2))))?;
    put(store, vec![halves[0].started()?, halves[1].started()?])?;
    let used = store.lease(lease.id())?.map(|row| row.used);
    same("its runs are no uses of their own", used, Some(1))?;
    let other = append(store, vec![file_task_ended(Some("move-1"), None)?])?;
    same("its end names its start", refused(other), Some(("other start", None)))?;
    let wrong = (started.0, Digest::of(b"nothing"));
    let other = append(store, vec![file_task_ended(Some("move-1"), Some(wrong))?])?;
    same("by its hash, too", refused(other), Some(("other start", Some(2))))?;
    put(store, vec![file_task_ended(Some("move-1"), Some(started))?])?;
    same("it has ended", known(store, "move-1")?, row("move-1", Some(2), Some(5)))?;
    same("it is not open", store.open_file_tasks()?, Vec::new())?;
    let again = append(store, vec![file_task_ended(Some("move-1"), Some(started))?])?;
    same("it ends once", refused(again), Some(("ended", Some(5))))?;
    let again = append(store, vec![start("move-1")?])?;
    same("its id is never used again", refused(again), Some(("ended", Some(5))))?;
    put(store, vec![file_task_ended(Some("move-2"), None)?, file_task_ended(None, None)?])?;
    same("a refused task binds its id", known(store, "move-2")?, row("move-2", None, Some(6)))?;
    let late = append(store, vec![start("move-2")?])?;
    same("so that it starts no more", refused(late), Some(("ended", Some(6))))?;
    let within = append(store, vec![start("move-3")?, start("move-3")?])?;
    same("within one request it starts once, too", within.is_err(), true)?;
    put(store, vec![start("move-3")?])?;
    let lasts = append(store, vec![start("move-4")?])?;
    let refusal = Refusal::LeaseUsedUp { lease: lease.id(), used: 2, uses: 2 };
    same("each task uses its lease once", lasts, Err(refusal))?;
    put(store, vec![lease.revoked()?])?;
    let half = SampleRun { run: RunId::from_random(9), ..halves[0].clone() };
    let late = append(store, vec![half.started()?])?;
    let refusal = Refusal::LeaseRevoked { lease: lease.id(), revoked: 9 };
    same("after a revocation no run of a task starts", late, Err(refusal))?;
    same("nothing came of what was refused", store.size()?, 10)
}
