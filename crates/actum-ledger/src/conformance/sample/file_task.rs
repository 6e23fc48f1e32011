//! Sample entries about file tasks.

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, Timestamp};
use actum_record::lease::{Capability, LeaseTermError, TaskName};
use actum_record::ledger::{EntryKind, FileTaskEnded, FileTaskRoot, FileTaskStarted, TenantId};
use actum_record::receipt::EntryRef;

use super::{ORIGIN, SampleLease, SampleRun, actor, enveloped};
use crate::new_entry::NewEntry;

/// Returns a `FILE_TASK_STARTED` entry for a task that consists of the given runs and starts under a lease.
///
/// # Errors
/// Returns `Unwritable` if `task` is not a valid task name.
pub fn file_task_started(
    task: &str,
    lease: &SampleLease,
    runs: &[SampleRun],
) -> Result<NewEntry, CanonicalError> {
    let root = |run: &SampleRun| FileTaskRoot {
        workspace: run.workspace,
        root: "/home/ada/project".to_owned(),
        run: run.run,
    };
    let body = canonical::to_vec(&FileTaskStarted {
        format: FileTaskStarted::FORMAT.to_owned(),
        time: Timestamp::from_micros(1_795_000_000_000_000),
        tenant: TenantId::default(),
        task: name(task)?,
        manifest: Digest::of(b"manifest"),
        capability: Capability::FileMove,
        source: "/srv/a/one".to_owned(),
        destination: Some("/srv/b/one".to_owned()),
        lease: lease.record(),
        roots: runs.iter().map(root).collect(),
        actor: actor(),
        engine: "actum 0.1.0".to_owned(),
    })?;
    Ok(NewEntry { kind: EntryKind::FileTaskStarted, body, blobs: vec![lease.document()] })
}

/// Returns a `FILE_TASK_ENDED` entry. `started` is the index and hash of the entry that started the task. A request without
/// a task was refused before its lease had been verified.
///
/// # Errors
/// Returns the errors of [`file_task_started`].
pub fn file_task_ended(
    task: Option<&str>,
    started: Option<(u64, Digest)>,
) -> Result<NewEntry, CanonicalError> {
    let started = started.map(|(index, leaf)| EntryRef { origin: ORIGIN.to_owned(), index, leaf });
    let payload = canonical::to_vec(&FileTaskEnded {
        task_id: task.map(name).transpose()?,
        started,
        time: Timestamp::from_micros(1_795_000_000_000_000),
    })?;
    enveloped(EntryKind::FileTaskEnded, FileTaskEnded::PAYLOAD_TYPE, payload)
}

fn name(text: &str) -> Result<TaskName, CanonicalError> {
    let unwritable =
        |error: LeaseTermError| CanonicalError::Unwritable { message: error.to_string() };
    text.parse().map_err(unwritable)
}
