//! Log of file tasks that is stored in the ledger.

use actum::Records;
use actum_core::canonical;
use actum_gate::verify_file_task_ended;
use actum_ledger::{FileTaskRow, LedgerError, Log, NewEntry};
use actum_record::keyring::Keyring;
use actum_record::lease::{Capability, TaskName};
use actum_record::ledger::{EntryKind, FileTaskRoot, FileTaskStarted};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::EntryRef;

use crate::manifest::FileCapability;
use crate::path::FilePath;
use crate::ports::{LoggedTask, TaskLog, TaskRoot, TaskStart};
use crate::result::ExecutionResult;

/// Maximum number of ledger entries that are read in one batch.
const READ_MAX: u64 = 256;

/// Log of file tasks that stores its entries in the ledger of an installation.
pub struct LedgerLog<'r> {
    records: &'r Records,
}

impl<'r> LedgerLog<'r> {
    /// Creates a log that uses the ledger of `records`.
    pub fn new(records: &'r Records) -> Self {
        Self { records }
    }

    fn append(&self, body: Vec<u8>) -> Result<(), LedgerError> {
        let entry = NewEntry { kind: EntryKind::FileTaskEnded, body, blobs: Vec::new() };
        self.records.ledger().append(vec![entry]).wait().map(drop)
    }
}

impl TaskLog for LedgerLog<'_> {
    fn find(&self, task: &TaskName) -> Result<Option<LoggedTask>, LedgerError> {
        let keyring = self.records.keyring();
        self.records.ledger().read(|log| {
            let row = log.file_task(task)?;
            row.map(|row| logged(log, keyring, &row)).transpose()
        })
    }

    fn open(&self) -> Result<Vec<TaskStart>, LedgerError> {
        self.records.ledger().read(|log| {
            let rows = log.open_file_tasks()?;
            let started = rows.iter().filter_map(|row| row.started);
            started.map(|index| start(log, index).map(|(start, _)| start)).collect()
        })
    }

    fn deletions(&self) -> Result<Vec<TaskStart>, LedgerError> {
        let keyring = self.records.keyring();
        self.records.ledger().read(|log| {
            let (mut deletions, mut before) = (Vec::new(), None);
            loop {
                let found = log.newest_of_kind(EntryKind::FileTaskStarted, before, READ_MAX)?;
                for index in &found {
                    let (start, _) = start(log, *index)?;
                    if start.capability != FileCapability::FileDelete {
                        continue;
                    }
                    let row = log.file_task(&start.task)?;
                    let ended = row.filter(|row| row.ended.is_some());
                    let ended = ended.map(|row| logged(log, keyring, &row)).transpose()?;
                    let succeeded = ended
                        .and_then(|task| result(&task))
                        .is_some_and(|result| result.status == crate::result::TaskStatus::Success);
                    deletions.extend(succeeded.then_some(start));
                }
                before = found.last().copied();
                if before.is_none() {
                    return Ok(deletions);
                }
            }
        })
    }

    fn start(&self, start: &TaskStart, blocks: &[u8]) -> Result<Vec<NewEntry>, LedgerError> {
        let root = |root: &TaskRoot| {
            let TaskRoot { workspace, root, run } = root.clone();
            FileTaskRoot { workspace, root, run }
        };
        let body = canonical::to_vec(&FileTaskStarted {
            format: FileTaskStarted::FORMAT.to_owned(),
            time: start.time,
            tenant: self.records.tenant().clone(),
            task: start.task.clone(),
            manifest: start.manifest,
            capability: start.capability.as_capability(),
            source: start.source.as_str().to_owned(),
            destination: start.destination.as_ref().map(|path| path.as_str().to_owned()),
            lease: start.lease.clone(),
            roots: start.roots.iter().map(root).collect(),
            actor: start.actor.clone(),
            engine: crate::ENGINE.to_owned(),
        });
        let message = |error: canonical::CanonicalError| LedgerError::Damaged {
            message: format!("cannot encode the start of the file task: {error}"),
        };
        let (body, blobs) = (body.map_err(message)?, vec![blocks.to_vec()]);
        Ok(vec![NewEntry { kind: EntryKind::FileTaskStarted, body, blobs }])
    }

    fn end(&self, _: &TaskName, envelope: &[u8]) -> Result<(), LedgerError> {
        self.append(envelope.to_vec())
    }

    fn refuse(&self, envelope: &[u8]) -> Result<(), LedgerError> {
        self.append(envelope.to_vec())
    }
}

/// Reads a task from its ledger entries, and verifies its result.
fn logged(log: &dyn Log, keyring: &Keyring, row: &FileTaskRow) -> Result<LoggedTask, LedgerError> {
    let started = row.started.map(|index| start(log, index)).transpose()?;
    let result = row.ended.map(|index| envelope(log, keyring, index)).transpose()?;
    let (start, started) = started.unzip();
    let manifest = match (&start, &result) {
        (Some(start), _) => start.manifest,
        (None, Some((_, result))) => result.manifest,
        (None, None) => {
            let message =
                format!("the ledger has no entry for the file task `{}`", row.task.as_str());
            return Err(LedgerError::Damaged { message });
        }
    };
    Ok(LoggedTask { manifest, start, started, result: result.map(|(envelope, _)| envelope) })
}

/// Reads the ledger entry that records the start of a task.
fn start(log: &dyn Log, index: u64) -> Result<(TaskStart, EntryRef), LedgerError> {
    let wrong = |message: &str| LedgerError::entry(index, &message);
    let entry = log.sound_entry(index)?;
    let started: FileTaskStarted = serde_json::from_slice(&entry.body)
        .map_err(|error| LedgerError::entry(index, &canonical::describe(&error)))?;
    let FileTaskStarted { time, task, manifest, lease, roots, actor, .. } = started;
    let capability = match started.capability {
        Capability::FileMove => FileCapability::FileMove,
        Capability::FileCopy => FileCapability::FileCopy,
        Capability::FileDelete => FileCapability::FileDelete,
        Capability::Apply | Capability::Exec | Capability::Task | Capability::Action(_) => {
            return Err(wrong("file tasks do not use the capability that it names"));
        }
    };
    let path =
        |path: &String| FilePath::new(path).map_err(|error| LedgerError::entry(index, &error));
    let root = |FileTaskRoot { workspace, root, run }| TaskRoot { workspace, root, run };
    let start = TaskStart {
        time,
        task,
        manifest,
        capability,
        source: path(&started.source)?,
        destination: started.destination.as_ref().map(path).transpose()?,
        lease,
        roots: roots.into_iter().map(root).collect(),
        actor,
    };
    Ok((start, EntryRef { origin: log.origin()?, index, leaf: leaf_hash(&entry.body) }))
}

/// Reads and verifies the signed result of a task.
fn envelope(
    log: &dyn Log,
    keyring: &Keyring,
    index: u64,
) -> Result<(Vec<u8>, ExecutionResult), LedgerError> {
    let entry = log.sound_entry(index)?;
    let verified = verify_file_task_ended(&entry.body, keyring)
        .map_err(|problem| LedgerError::entry(index, &problem))?;
    let result = serde_json::from_slice(&verified.payload)
        .map_err(|error| LedgerError::entry(index, &canonical::describe(&error)))?;
    Ok((entry.body, result))
}

/// Parses the stored result of a task that has ended.
fn result(task: &LoggedTask) -> Option<ExecutionResult> {
    let envelope = actum_record::dsse::Envelope::read(task.result.as_ref()?).ok()?;
    serde_json::from_slice(&envelope.payload).ok()
}
