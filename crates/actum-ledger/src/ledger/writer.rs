//! Writer thread: batches waiting appends, answers, and signs afterwards.

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

/// Limit of the requests in one transaction.
const BATCH_MAX: usize = 256;

type Answer<T> = Sender<Result<T, LedgerError>>;
type Question = Box<dyn FnOnce(Result<&mut (dyn Store + 'static), LedgerError>) + Send>;

/// Message to the writer.
pub(super) enum Message {
    /// Appends these entries, all or none.
    Append { entries: Request, answer: Answer<Vec<Appended>> },
    /// Answers a question.
    Ask(Question),
    /// Gets ready for the next append, when nothing else waits.
    Warm,
    /// Signs a checkpoint of the log.
    Checkpoint(Answer<Option<SignedCheckpoint>>),
}

impl Message {
    /// Answers with an error. The caller may have gone.
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
    /// Number of entries that the newest checkpoint covers, or one that this writer saw before.
    covered: u64,
    /// Reason why the last checkpoint that was due could not be signed.
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

    /// Serves until the last handle is gone.
    pub(super) fn serve(mut self, messages: &Receiver<Message>) {
        // It is opened while no caller waits yet; an error is reported to the first caller.
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
                    // The caller may have gone, here and below.
                    drop(answer.send(self.checkpoint()));
                }
            }
            if next.is_none() {
                next = messages.try_recv().ok();
            }
            if next.is_none() && !is_warm {
                is_warm = true;
                // An error of getting ready is reported to the next caller.
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

    /// Does the work that no caller waits for, in a log of at least `size` entries. An error here
    /// changes no given answer: a checkpoint is tried again after the next entries, and so is
    /// taking over the log of the database. A failure to sign a checkpoint is kept, since it may
    /// show that the log was changed.
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

    /// Returns true if a checkpoint is due. Asks the store only if the known size makes one due:
    /// another process may have signed.
    fn is_due(&mut self, size: u64) -> Result<bool, LedgerError> {
        if size < self.covered.saturating_add(CHECKPOINT_ENTRIES) {
            return Ok(false);
        }
        let newest = self.store.with(|store| store.newest_checkpoint())?;
        self.covered = newest.map_or(0, |newest| newest.size);
        Ok(size >= self.covered.saturating_add(CHECKPOINT_ENTRIES))
    }

    /// Signs the durable entries.
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

/// Checks that two checkpoints of one log agree: a contradiction would convict their signer.
fn check_continues(
    store: &dyn Store,
    newest: &SignedCheckpoint,
    size: u64,
) -> Result<(), LedgerError> {
    let failed = |message: String| LedgerError::Checkpoint { message };
    if newest.size > size {
        return Err(failed(format!(
            "the log has {size} entries, and the newest that was signed covers {}: entries were cut off",
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
        "the log is not the one that was signed when it had {} entries; something was changed, and \
         `actum ledger verify` tells what",
        newest.size
    )))
}

/// Adds the appends that wait already, and returns the message to handle after them.
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
