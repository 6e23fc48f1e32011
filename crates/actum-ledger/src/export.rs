//! A whole log in one file of JSON lines: all that is needed to verify it without a database.
//!
//! ```text
//! {"checkpoints":1,"entries":2,"format":"actum.ledger-export/1","origin":"...","root":"..."}
//! {"entry":0,"kind":"LOG_STARTED","text":"..."}
//! {"checkpoint":1,"note":"..."}
//! {"entry":1,"kind":"EFFECT_STARTED","text":"..."}
//! {"document":"...","text":"..."}
//! ```
//!
//! Each line is canonical JSON. A document follows the first entry that names it, a checkpoint the
//! last entry that it covers. Bodies and documents are texts, so that their exact bytes survive any
//! reader of JSON; bytes that are no text are in `base64`.

mod read;

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};

use actum_core::Digest;
use actum_core::canonical::{self, CanonicalError};
use actum_record::ledger::EntryFacts;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::log::{Entry, Log, SignedCheckpoint};
pub use read::{WholeExport, verify, whole};

/// The value of `format`.
pub const FORMAT: &str = "actum.ledger-export/1";
/// Entries that are read at once.
const ENTRIES: u64 = 16;
/// Checkpoints that are read at once.
const CHECKPOINTS: u64 = 64;

/// Reason why a log could not be exported, or an export not be read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A value has no place in a line of JSON.
    #[error("cannot export the log: {0}; the ledger is as it was")]
    Line(#[from] CanonicalError),
    /// The export could not be written.
    #[error("cannot write the export: {0}; the ledger is as it was")]
    Write(#[source] io::Error),
    /// The export could not be read.
    #[error("cannot read the export: {0}")]
    Read(#[source] io::Error),
}

/// Content of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Number of entries.
    pub entries: u64,
    /// Number of documents.
    pub documents: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    format: String,
    origin: String,
    entries: u64,
    checkpoints: u64,
    root: Digest,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Entry(EntryLine),
    Document(DocumentLine),
    Checkpoint(CheckpointLine),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct EntryLine {
    entry: u64,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct DocumentLine {
    document: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CheckpointLine {
    checkpoint: u64,
    note: String,
}

/// Converts bytes to a text, or to base64 if they are not UTF-8.
fn texts_of(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    }
}

fn bytes_of(text: Option<String>, base64: Option<String>) -> Option<Vec<u8>> {
    match (text, base64) {
        (Some(text), None) => Some(text.into_bytes()),
        // A text must not be written in another way.
        (None, Some(text)) => {
            STANDARD.decode(text).ok().filter(|bytes| std::str::from_utf8(bytes).is_err())
        }
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// Writes a whole log as it is. The only check is that all documents that entries name exist.
///
/// # Errors
/// [`ExportError`].
pub fn export(log: &dyn Log, out: &mut dyn Write) -> Result<Exported, ExportError> {
    let entries = log.size()?;
    let root = log.frontier(entries)?.root();
    let (format, origin, checkpoints) = (FORMAT.to_owned(), log.origin()?, count(log)?);
    put(out, &Header { format, origin, entries, checkpoints, root })?;
    let mut exported = Exported { entries, documents: 0, checkpoints: 0 };
    let mut named = HashSet::new();
    let mut checkpoints = VecDeque::from(log.checkpoints(0, CHECKPOINTS)?);
    for from in (0..entries).step_by(usize::try_from(ENTRIES).unwrap_or(1)) {
        for Entry { index, kind, body } in log.entries(from, ENTRIES)? {
            let facts = EntryFacts::parse(kind, &body);
            let (text, base64) = texts_of(body);
            put(out, &EntryLine { entry: index, kind: kind.as_str().to_owned(), text, base64 })?;
            for document in facts.map_or(Vec::new(), |facts| facts.blobs) {
                if named.insert(document) {
                    let bytes = log.blob(&document)?.ok_or_else(|| LedgerError::Damaged {
                        message: format!("the document {document} is missing"),
                    })?;
                    let (text, base64) = texts_of(bytes);
                    put(out, &DocumentLine { document, text, base64 })?;
                    exported.documents += 1;
                }
            }
            let size = index.saturating_add(1);
            let is_due = checkpoints.front().is_some_and(|next| next.size <= size);
            let due = if is_due { checkpoints.pop_front() } else { None };
            if let Some(SignedCheckpoint { note, .. }) = due {
                put(out, &CheckpointLine { checkpoint: size, note })?;
                exported.checkpoints += 1;
                if checkpoints.is_empty() {
                    checkpoints.extend(log.checkpoints(size.saturating_add(1), CHECKPOINTS)?);
                }
            }
        }
    }
    out.flush().map_err(ExportError::Write)?;
    Ok(exported)
}

/// Number of checkpoints in the log.
fn count(log: &dyn Log) -> Result<u64, LedgerError> {
    let (mut from, mut count) = (0, 0);
    loop {
        let some = log.checkpoints(from, CHECKPOINTS)?;
        let Some(last) = some.last() else { return Ok(count) };
        from = last.size.saturating_add(1);
        count += u64::try_from(some.len()).unwrap_or(0);
    }
}

fn put(out: &mut dyn Write, line: &impl Serialize) -> Result<(), ExportError> {
    let mut line = canonical::to_vec(line)?;
    line.push(b'\n');
    out.write_all(&line).map_err(ExportError::Write)
}
