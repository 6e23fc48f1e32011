//! Exports a complete log to a single file of JSON lines, which can be verified without a database.
//!
//! ```text
//! {"checkpoints":1,"entries":2,"format":"actum.ledger-export/1","origin":"...","root":"..."}
//! {"entry":0,"kind":"LOG_STARTED","text":"..."}
//! {"checkpoint":1,"note":"..."}
//! {"entry":1,"kind":"EFFECT_STARTED","text":"..."}
//! {"document":"...","text":"..."}
//! ```
//!
//! Each line is canonical JSON. A document follows the first entry that refers to it, and a checkpoint follows the last
//! entry that it covers. Bodies and documents are stored as JSON strings, so that any JSON parser preserves their exact
//! bytes. Bytes that are not UTF-8 are stored in `base64` instead of `text`.

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

/// Value of the `format` field in the first line of an export.
pub const FORMAT: &str = "actum.ledger-export/1";
/// Number of entries to read from the log in one batch.
const ENTRIES: u64 = 16;
/// Number of checkpoints to read from the log in one batch.
const CHECKPOINTS: u64 = 64;

/// Error returned when a log cannot be exported or an export cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log to export could not be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A line of the export could not be written as canonical JSON.
    #[error("cannot export the log: {0}; the ledger was not changed")]
    Line(#[from] CanonicalError),
    /// The export could not be written to its destination.
    #[error("cannot write the export: {0}; the ledger was not changed")]
    Write(#[source] io::Error),
    /// The system reported an error while an export was read.
    #[error("cannot read the export: {0}")]
    Read(#[source] io::Error),
}

/// Numbers of entries, documents and checkpoints that were exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exported {
    /// Number of exported entries.
    pub entries: u64,
    /// Number of exported documents.
    pub documents: u64,
    /// Number of exported checkpoints.
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

/// Converts bytes to the values of the `text` and `base64` fields. Bytes that are not UTF-8 are encoded as base64.
fn texts_of(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
    }
}

fn bytes_of(text: Option<String>, base64: Option<String>) -> Option<Vec<u8>> {
    match (text, base64) {
        (Some(text), None) => Some(text.into_bytes()),
        // Reject base64 for UTF-8 text, because the same bytes must not have two encodings.
        (None, Some(text)) => {
            STANDARD.decode(text).ok().filter(|bytes| std::str::from_utf8(bytes).is_err())
        }
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// Writes a complete log to `out` without verifying it. The only check is that every document that an entry refers to
/// exists.
///
/// # Errors
/// Returns [`ExportError`] if the log cannot be read or the export cannot be written.
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
                        message: format!("document {document} is missing"),
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

/// Counts the checkpoints of the log.
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
