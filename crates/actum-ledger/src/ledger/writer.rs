//! Writer thread, which appends waiting entries in batches, answers the callers, and then signs checkpoints.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use actum_record::checkpoint::Checkpoint;
use actum_record::note::{Note, NoteKey};
use actum_record::signer::Signer;

use super::CheckpointKey;
use super::shared::SharedStore;
use crate::error::LedgerError;
use crate::limits::CHECKPOINT_ENTRIES;
use crate::log::SignedCheckpoint;
use crate::new_entry::{Appended, Request};
use crate::store::Store;

/// Maximum number of requests that are appended in one transaction.
const BATCH_MAX: usize = 256;

type Answer<T> = Sender<Result<T, LedgerError>>;
type Question = Box<dyn FnOnce(Result<&mut (dyn Store + 'static), LedgerError>) + Send>;

/// Message to the writer thread.
pub(super) enum Message {
    /// Appends all of these entries, or none.
    Append { entries: Request, answer: Answer<Vec<Appended>> },
    /// Calls a function with the store.
    Ask(Question),
    /// Prepares for the next append once no other message is waiting.
    Warm,
    /// Signs a checkpoint that covers the entire log.
    Checkpoint(Answer<Option<SignedCheckpoint>>),
}

impl Message {
    /// Answers with an error, unless the caller is no longer waiting.
    pub(super) fn refuse(self, error: LedgerError) {
        match self {
            Self::Append { answer, .. } => drop(answer.send(Err(error))),
            Self::Ask(question) => question(Err(error)),
            Self::Warm => {}
            Self::Checkpoint(answer) => drop(answer.send(Err(error))),
        }
    }
}

pub(super) struct Writer {
    store: Arc<SharedStore>,
    key: CheckpointKey,
    /// Number of entries covered by the latest checkpoint that this writer has seen. Other processes may have signed later
    /// ones.
    covered: u64,
    /// Error of the last attempt to sign a checkpoint that was due.
    warning: Arc<Mutex<Option<LedgerError>>>,
}

impl Writer {
    pub(super) fn new(
        store: Arc<SharedStore>,
        key: CheckpointKey,
        warning: Arc<Mutex<Option<LedgerError>>>,
    ) -> Self {
        Self { store, key, covered: 0, warning }
    }

    /// Handles messages until the last handle is dropped.
    pub(super) fn serve(mut self, messages: &Receiver<Message>) {
        // Open the store now, while no caller is waiting yet.
        self.store.open_early();
        let mut next = messages.recv().ok();
        let mut is_warm = false;
        while let Some(message) = next.take() {
            match message {
                Message::Append { entries, answer } => {
                    let (mut batch, mut answers) = (vec![entries], vec![answer]);
                    next = gather(messages, &mut batch, &mut answers);
                    self.append(&batch, &answers);
                }
                Message::Ask(question) => self.ask(question),
                Message::Warm => {}
                Message::Checkpoint(answer) => {
                    // Here and below, sending fails if the caller is no longer waiting.
                    drop(answer.send(self.checkpoint()));
                }
            }
            if next.is_none() {
                next = messages.try_recv().ok();
            }
            if next.is_none() && !is_warm {
                is_warm = true;
                // Ignore an error, because the next caller will encounter it, too.
                drop(self.store.with(Store::warm));
            }
            if next.is_none() {
                next = messages.recv().ok();
            }
        }
    }

    fn ask(&self, question: Question) {
        let mut question = Some(question);
        let asked = self.store.with(|store| {
            question.take().into_iter().for_each(|question| question(Ok(&mut *store)));
            Ok(())
        });
        if let (Err(error), Some(question)) = (asked, question) {
            question(Err(error));
        }
    }

    fn append(&mut self, batch: &[Request], answers: &[Answer<Vec<Appended>>]) {
        match self.store.append(batch) {
            Ok(results) => {
                let mut size = 0;
                for (answer, result) in answers.iter().zip(results) {
                    let last = result.as_ref().ok().and_then(|appended| appended.last());
                    size = last.map_or(size, |last| last.index.saturating_add(1));
                    drop(answer.send(result.map_err(LedgerError::from)));
                }
                self.afterwards(size);
            }
            Err(error) => {
                for answer in answers {
                    drop(answer.send(Err(error.clone())));
                }
            }
        }
    }

    /// Does the work that no caller waits for, in a log that has at least `size` entries.
    ///
    /// This signs a checkpoint if one is due, and lets the store clean up its database log. Errors do not affect answers that
    /// have already been sent, and both steps are tried again after the next append. An error from signing a checkpoint is
    /// saved as a warning, because it may indicate that the log was changed.
    fn afterwards(&mut self, size: u64) {
        let signed = match self.is_due(size) {
            Ok(false) => None,
            Ok(true) => Some(self.checkpoint().map(drop)),
            Err(error) => Some(Err(error)),
        };
        if let Some(signed) = signed {
            *self.warning.lock().unwrap_or_else(PoisonError::into_inner) = signed.err();
        }
        drop(self.store.with(Store::tidy));
    }

    /// Returns whether a checkpoint is due. Reads the latest checkpoint from the store only if necessary, to find out whether
    /// another process has signed one.
    fn is_due(&mut self, size: u64) -> Result<bool, LedgerError> {
        if size < self.covered.saturating_add(CHECKPOINT_ENTRIES) {
            return Ok(false);
        }
        let newest = self.store.with(|store| store.newest_checkpoint())?;
        self.covered = newest.map_or(0, |newest| newest.size);
        Ok(size >= self.covered.saturating_add(CHECKPOINT_ENTRIES))
    }

    /// Signs a checkpoint that covers all entries of the log.
    fn checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        let key = (self.key)()?;
        self.store.with(|store| signed_checkpoint(store, &*key))
    }
}

fn signed_checkpoint(
    store: &mut (dyn Store + 'static),
    key: &dyn Signer,
) -> Result<Option<SignedCheckpoint>, LedgerError> {
    let size = store.size()?;
    let newest = store.newest_checkpoint()?;
    let failed = |message: String| LedgerError::Checkpoint { message };
    if let Some(newest) = &newest {
        check_continues(store, newest, size)?;
    }
    if size == 0 || newest.as_ref().is_some_and(|newest| newest.size == size) {
        return Ok(newest);
    }
    let checkpoint =
        Checkpoint { origin: store.origin()?, size, root: store.frontier(size)?.root() };
    let note = Note::new(checkpoint.text()).map_err(|error| failed(error.to_string()))?;
    let signature = key.sign(note.text.as_bytes());
    let signature = signature.map_err(|error| failed(error.to_string()))?;
    let name = NoteKey { name: checkpoint.origin, key: key.public_key() };
    let note = note.signed(&name, &signature).to_text();
    let signed = SignedCheckpoint { size, note };
    store.put_checkpoint(&signed)?;
    Ok(Some(signed))
}

/// Checks that the log still matches its latest checkpoint. Two contradictory checkpoints of the same log would be
/// evidence against their signer.
fn check_continues(
    store: &dyn Store,
    newest: &SignedCheckpoint,
    size: u64,
) -> Result<(), LedgerError> {
    let failed = |message: String| LedgerError::Checkpoint { message };
    if newest.size > size {
        return Err(failed(format!(
            "the log has {size} entries, but the latest checkpoint covers {}: entries were cut off",
            newest.size
        )));
    }
    let note = Note::read(newest.note.as_bytes()).map_err(|error| failed(error.to_string()))?;
    let signed = Checkpoint::read(&note.text).map_err(|error| failed(error.to_string()))?;
    let is_continued = signed.origin == store.origin()?
        && signed.size == newest.size
        && signed.root == store.frontier(signed.size)?.root();
    if is_continued {
        return Ok(());
    }
    Err(failed(format!(
        "the log is not the one that was signed when it had {} entries; run `actum ledger verify` to find out \
         what was changed",
        newest.size
    )))
}

/// Adds waiting appends to the batch, and returns the first other message, which has to be handled after them.
fn gather(
    messages: &Receiver<Message>,
    batch: &mut Vec<Request>,
    answers: &mut Vec<Answer<Vec<Appended>>>,
) -> Option<Message> {
    while batch.len() < BATCH_MAX {
        match messages.try_recv().ok()? {
            Message::Append { entries, answer } => {
                batch.push(entries);
                answers.push(answer);
            }
            other @ (Message::Ask(_) | Message::Warm | Message::Checkpoint(_)) => {
                return Some(other);
            }
        }
    }
    None
}
