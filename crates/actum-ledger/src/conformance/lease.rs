//! Conformance rules about leases and file tasks.

use actum_core::{Digest, RunId};
use actum_record::lease::TaskName;

use super::sample::{SampleLease, SampleRun, file_task_ended, file_task_started};
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::log::{FileTaskRow, LeaseRow};
use crate::new_entry::Appended;
use crate::store::Store;

/// Returns the sample run with this number under a lease.
fn under(number: u64, lease: &SampleLease) -> SampleRun {
    SampleRun { lease: Some(lease.clone()), ..SampleRun::numbered(number, 0) }
}

fn at(appended: &[Appended]) -> (u64, Digest) {
    appended.first().map_or((0, Digest::of(b"nothing")), |entry| (entry.index, entry.leaf))
}

/// Checks that nothing starts under a lease that is not granted, used up or revoked.
pub(super) fn used(store: &mut dyn Store) -> Outcome {
    let lease = SampleLease::numbered(1, Some(2));
    let id = lease.id();
    same("an unknown lease must not be found", store.lease(id)?, None)?;
    let early = append(store, vec![under(1, &lease).started()?])?;
    same(
        "a run must not start under a lease that was not granted",
        early,
        Err(Refusal::LeaseNotGranted { lease: id }),
    )?;
    put(store, vec![lease.granted()?])?;
    let again = append(store, vec![lease.granted()?])?;
    same(
        "a lease must be granted only once",
        again,
        Err(Refusal::LeaseGranted { lease: id, granted: 1 }),
    )?;
    same(
        "the chain document of a lease must be stored",
        store.blob(&Digest::of(&lease.document()))?,
        Some(lease.document()),
    )?;
    let child = lease.clone().narrowed(2, Some(1));
    put(store, vec![under(1, &child).started()?])?;
    let used_up =
        |block: &SampleLease, uses| Refusal::LeaseUsedUp { lease: block.id(), used: uses, uses };
    let twice = append(store, vec![under(2, &child).started()?])?;
    same(
        "a limit that is set in an appended lease block must be enforced",
        twice,
        Err(used_up(&child, 1)),
    )?;
    let both = append(store, vec![under(2, &lease).started()?, under(3, &lease).started()?])?;
    same("the limit of uses must apply within a request", both, Err(used_up(&lease, 2)))?;
    put(store, vec![under(2, &lease).started()?])?;
    let row = LeaseRow { lease: id, granted: Some(1), revoked: None, used: 2 };
    same("a lease must list its number of uses", store.lease(id)?, Some(row))?;
    let row = LeaseRow { lease: child.id(), granted: None, revoked: None, used: 1 };
    same("an appended block must list its number of uses", store.lease(child.id())?, Some(row))?;
    let third = append(store, vec![under(3, &lease).started()?])?;
    same("a lease must not be used more often than allowed", third, Err(used_up(&lease, 2)))?;
    let other = SampleLease::numbered(3, None);
    let narrowed = other.clone().narrowed(4, None);
    put(store, vec![other.granted()?, narrowed.revoked()?])?;
    let revoked = Refusal::LeaseRevoked { lease: narrowed.id(), revoked: 5 };
    let late = append(store, vec![under(4, &narrowed).started()?])?;
    same("a run must not start under a block revoked before its first use", late, Err(revoked))?;
    put(store, vec![under(4, &other).started()?])?;
    let again = append(store, vec![narrowed.revoked()?])?;
    let refusal = Refusal::LeaseRevokedBefore { lease: narrowed.id(), revoked: 5 };
    same("a block must not be revoked twice", again, Err(refusal))?;
    put(store, vec![other.revoked()?])?;
    let late = append(store, vec![under(5, &other).started()?])?;
    let revoked = Refusal::LeaseRevoked { lease: other.id(), revoked: 7 };
    same("a run must not start under a revoked lease", late, Err(revoked))?;
    let ids: Vec<_> = store.newest_leases(None, 9)?.into_iter().map(|row| row.lease).collect();
    same("granted leases must be listed with the newest first", ids, vec![other.id(), id])?;
    same("the number of listed leases must be limited", store.newest_leases(None, 1)?.len(), 1)?;
    same(
        "only leases before the given index may be listed",
        store.newest_leases(Some(4), 9)?.len(),
        1,
    )?;
    same("a refused request must not add an entry", store.size()?, 8)
}

/// Checks that a file task starts once and ends once, and that its id cannot be used again.
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
    same(
        "a task must not start under a lease that was not granted",
        early,
        Err(Refusal::LeaseNotGranted { lease: lease.id() }),
    )?;
    put(store, vec![lease.granted()?])?;
    let nowhere = (1, Digest::of(b"nothing"));
    let early = append(store, vec![file_task_ended(Some("move-1"), Some(nowhere))?])?;
    same("a task must not end before it starts", refused(early), Some(("other start", Some(1))))?;
    let started = at(&put(store, vec![start("move-1")?])?);
    same("a started task must be found", known(store, "move-1")?, row("move-1", Some(2), None))?;
    same("a started task must be open", store.open_file_tasks()?.len(), 1)?;
    let again = append(store, vec![start("move-1")?])?;
    same("a task must not start twice", refused(again), Some(("started", Some(2))))?;
    put(store, vec![halves[0].started()?, halves[1].started()?])?;
    let used = store.lease(lease.id())?.map(|row| row.used);
    same("the runs of a task must not use its lease again", used, Some(1))?;
    let other = append(store, vec![file_task_ended(Some("move-1"), None)?])?;
    same("the end of a task must refer to its start", refused(other), Some(("other start", None)))?;
    let wrong = (started.0, Digest::of(b"nothing"));
    let other = append(store, vec![file_task_ended(Some("move-1"), Some(wrong))?])?;
    same(
        "the end of a task must have the hash of its start",
        refused(other),
        Some(("other start", Some(2))),
    )?;
    put(store, vec![file_task_ended(Some("move-1"), Some(started))?])?;
    same(
        "an ended task must be found with its end",
        known(store, "move-1")?,
        row("move-1", Some(2), Some(5)),
    )?;
    same("an ended task must not be open", store.open_file_tasks()?, Vec::new())?;
    let again = append(store, vec![file_task_ended(Some("move-1"), Some(started))?])?;
    same("a task must not end twice", refused(again), Some(("ended", Some(5))))?;
    let again = append(store, vec![start("move-1")?])?;
    same(
        "the id of an ended task must not be used again",
        refused(again),
        Some(("ended", Some(5))),
    )?;
    put(store, vec![file_task_ended(Some("move-2"), None)?, file_task_ended(None, None)?])?;
    same(
        "a refused task must reserve its id",
        known(store, "move-2")?,
        row("move-2", None, Some(6)),
    )?;
    let late = append(store, vec![start("move-2")?])?;
    same("a refused task must not start later", refused(late), Some(("ended", Some(6))))?;
    let within = append(store, vec![start("move-3")?, start("move-3")?])?;
    same("a request must not start a task twice", within.is_err(), true)?;
    put(store, vec![start("move-3")?])?;
    let lasts = append(store, vec![start("move-4")?])?;
    let refusal = Refusal::LeaseUsedUp { lease: lease.id(), used: 2, uses: 2 };
    same("each task must use its lease once", lasts, Err(refusal))?;
    put(store, vec![lease.revoked()?])?;
    let half = SampleRun { run: RunId::from_random(9), ..halves[0].clone() };
    let late = append(store, vec![half.started()?])?;
    let refusal = Refusal::LeaseRevoked { lease: lease.id(), revoked: 9 };
    same("a run of a task must not start after a revocation", late, Err(refusal))?;
    same("a refused request must not add an entry", store.size()?, 10)
}
