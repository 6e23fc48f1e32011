//! Reads an export of a log line by line, and verifies it.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, Read};

use actum_core::{Digest, canonical};
use actum_record::checkpoint::Checkpoint;
use actum_record::ledger::{EntryFacts, EntryKind, LogStarted};
use actum_record::merkle::{Frontier, empty_root, leaf_hash};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CheckpointLine, DocumentLine, EntryLine, ExportError, FORMAT, Header, Line, bytes_of};
use crate::limits::BODY_BYTES_MAX;
use crate::log::SignedCheckpoint;
use crate::verify::{
    Checkpoints, Checks, Fold, Receipts, SignatureKind, Subject, Verification, compared,
};

/// Maximum length of a line in bytes. Escaped JSON may need six characters for each byte of a body.
const LINE_BYTES_MAX: u64 = BODY_BYTES_MAX as u64 * 6 + 4096;
/// Maximum length in bytes of the first line that [`whole`] accepts.
const HEADER_BYTES_MAX: u64 = 4096;
/// Maximum number of receipts to buffer until a checkpoint covers them. If more are pending, their own signatures are
/// checked instead.
const WAITING_MAX: usize = 256;

/// Verifies an export like [`verify`](crate::verify::verify) verifies a ledger, but without the checks that require a
/// database. Stops at the first invalid line, because all later lines depend on it.
///
/// # Errors
/// Returns `Read` if reading the export fails. Invalid content is reported as a finding instead.
pub fn verify(
    from: &mut dyn BufRead,
    checks: &mut Checks<'_>,
    kept: Option<&Checkpoint>,
    progress: &mut dyn FnMut(u64),
) -> Result<Verification, ExportError> {
    let mut fold = Fold::default();
    let mut lines = Lines { from, line: 0 };
    let header = match lines.next().map_err(ExportError::Read)? {
        NextLine::Line(line) => parsed::<Header>(&line),
        NextLine::End => Err("the export is empty".to_owned()),
        NextLine::Cut => Err("the line was cut off".to_owned()),
        NextLine::Wrong(message) => Err(message),
    };
    let header = header.and_then(|header| match header.format == FORMAT {
        true => Ok(header),
        false => Err(format!("expected the format `{FORMAT}`, found `{}`", header.format)),
    });
    let header = match header {
        Ok(header) => header,
        Err(message) => {
            fold.add_finding(Subject::Line(1), message);
            return Ok(fold.finish(None, empty_root(), 0, (0, 0)));
        }
    };
    let mut log = Progress {
        checkpoints: Checkpoints { origin: Some(&header.origin), count: 0, covered: 0 },
        frontier: Frontier::default(),
        documents: 0,
        largest: 0,
        kept: None,
        known: HashSet::new(),
        due: VecDeque::new(),
        waiting: Vec::new(),
    };
    let (mut is_cut, mut is_broken) = (false, false);
    loop {
        let line = match lines.next().map_err(ExportError::Read)? {
            NextLine::Line(line) => parsed::<Line>(&line),
            NextLine::End => {
                is_cut = log.frontier.size() < header.entries;
                break;
            }
            NextLine::Cut => {
                is_cut = true;
                break;
            }
            NextLine::Wrong(message) => Err(message),
        };
        if let Err(message) = line.and_then(|line| log.take(&mut fold, line, &header, checks)) {
            fold.add_finding(Subject::Line(lines.line), message);
            is_broken = true;
            break;
        }
        if kept.is_some_and(|kept| kept.size == log.frontier.size()) {
            log.kept.get_or_insert_with(|| log.frontier.root());
        }
        progress(log.frontier.size());
    }
    log.check_waiting(&mut fold, checks);
    if is_cut {
        fold.add_finding(
            Subject::Log,
            match log.frontier.size().checked_sub(1) {
                Some(last) => format!("the export was cut off after entry {last}"),
                None => "the export was cut off before its first entry".to_owned(),
            },
        );
    } else if let Err(message) = log.check_nothing_is_due() {
        fold.add_finding(Subject::Log, message);
    }
    // If reading stopped at an invalid line before the saved checkpoint, skip the comparison, because the entries after
    // that line may still be in the file.
    let is_read = |kept: &&Checkpoint| !is_broken || kept.size <= log.frontier.size();
    if let Some(kept) = kept.filter(is_read)
        && let Err(message) = compared(kept, &header.origin, log.frontier.size(), log.kept)
    {
        fold.add_finding(Subject::Log, format!("mismatch with the saved checkpoint: {message}"));
    }
    log.checkpoints.check_end(&mut fold, log.frontier.size());
    let Progress { checkpoints: Checkpoints { count, covered, .. }, frontier, documents, .. } = log;
    let root = frontier.root();
    let entries = frontier.size();
    if !is_cut && (entries, count, root) != (header.entries, header.checkpoints, header.root) {
        let message = format!(
            "the first line declares {} entries, {} checkpoints and the root {}, but the export contains \
             {entries}, {count} and {root}",
            header.entries, header.checkpoints, header.root
        );
        fold.add_finding(Subject::Log, message);
    }
    Ok(fold.finish(Some(header.origin), root, documents, (count, covered)))
}

/// Log that is completely contained in an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeExport {
    /// Name of the log.
    pub origin: String,
    /// Number of entries in the export.
    pub entries: u64,
}

/// Reads a file and checks that it is a complete export, by the form of each line. Returns `None` for any other file.
///
/// This only recognizes the file format. It verifies neither hashes nor signatures.
///
/// # Errors
/// Returns an error if reading the file fails.
pub fn whole(from: &mut dyn BufRead) -> std::io::Result<Option<WholeExport>> {
    let mut header = Vec::new();
    (&mut *from).take(HEADER_BYTES_MAX).read_until(b'\n', &mut header)?;
    let header = header.strip_suffix(b"\n").map(parsed::<Header>);
    let Some(Ok(header)) = header.filter(|it| it.as_ref().is_ok_and(|it| it.format == FORMAT))
    else {
        return Ok(None);
    };
    let mut lines = Lines { from, line: 1 };
    let (mut entries, mut checkpoints) = (0, 0);
    loop {
        let line = match lines.next()? {
            NextLine::Line(line) => parsed::<Line>(&line),
            NextLine::End => {
                let is_whole = (entries, checkpoints) == (header.entries, header.checkpoints);
                return Ok(is_whole.then_some(WholeExport { origin: header.origin, entries }));
            }
            NextLine::Cut | NextLine::Wrong(_) => return Ok(None),
        };
        match line {
            Ok(Line::Entry(line)) if line.entry == entries => entries += 1,
            Ok(Line::Checkpoint(line)) if line.checkpoint == entries => checkpoints += 1,
            Ok(Line::Document(_)) if entries > 0 => {}
            Ok(_) | Err(_) => return Ok(None),
        }
    }
}

/// State of a verification after the lines that have been read so far.
struct Progress<'a> {
    checkpoints: Checkpoints<'a>,
    frontier: Frontier,
    documents: u64,
    /// Number of entries covered by the latest checkpoint in the file.
    largest: u64,
    /// Root of the Merkle tree after as many entries as the saved checkpoint covers, once they have been read.
    kept: Option<Digest>,
    /// Documents that entries have referred to so far.
    known: HashSet<Digest>,
    /// Documents that have to follow in the next lines, in this order.
    due: VecDeque<Digest>,
    /// Receipts that are not covered by a verified checkpoint yet.
    waiting: Vec<(u64, EntryKind, Vec<u8>)>,
}

impl Progress<'_> {
    /// Applies the next line. Returns an error if the line is invalid and the lines after it cannot be interpreted.
    fn take(
        &mut self,
        fold: &mut Fold,
        line: Line,
        header: &Header,
        checks: &mut Checks<'_>,
    ) -> Result<(), String> {
        match line {
            Line::Entry(line) => self.entry(fold, line, header, checks),
            Line::Document(DocumentLine { document, text, base64 }) => {
                let bytes =
                    bytes_of(text, base64).ok_or("the content is not in its canonical form")?;
                if self.due.pop_front() != Some(document) || Digest::of(&bytes) != document {
                    return Err(format!(
                        "document {document} is not expected here or does not match its digest"
                    ));
                }
                self.documents += 1;
                Ok(())
            }
            Line::Checkpoint(CheckpointLine { checkpoint, note }) => {
                let size = self.frontier.size();
                self.check_nothing_is_due()?;
                if checkpoint != size || size == self.largest {
                    return Err(format!("a checkpoint of {checkpoint} entries is out of place"));
                }
                self.largest = size;
                let (root, signed) = (self.frontier.root(), SignedCheckpoint { size, note });
                self.checkpoints.take(fold, &signed, size, Some(root), checks);
                if self.checkpoints.covered == size {
                    self.waiting.clear();
                }
                Ok(())
            }
        }
    }

    fn entry(
        &mut self,
        fold: &mut Fold,
        line: EntryLine,
        header: &Header,
        checks: &mut Checks<'_>,
    ) -> Result<(), String> {
        self.check_nothing_is_due()?;
        let EntryLine { entry, kind, text, base64 } = line;
        let index = self.frontier.size();
        if entry != index {
            return Err(format!("expected entry {index}, found entry {entry}"));
        }
        let body = bytes_of(text, base64).ok_or("the content is not in its canonical form")?;
        let kind = EntryKind::of_name(&kind).ok_or("the entry has an unknown kind")?;
        let facts = EntryFacts::parse(kind, &body).map_err(|error| error.to_string())?;
        if index == 0 {
            let origin = serde_json::from_slice::<LogStarted>(&body).map(|first| first.origin);
            if origin.ok().as_ref() != Some(&header.origin) {
                return Err(
                    "the first entry does not start the log that the first line names".into()
                );
            }
        }
        let leaf = leaf_hash(&body);
        self.frontier.push(leaf, |_: Digest| {});
        for &document in &facts.blobs {
            if self.known.insert(document) {
                self.due.push_back(document);
            }
        }
        fold.take(&facts, (index, leaf));
        let is_receipt = SignatureKind::new(kind) == SignatureKind::Receipt;
        if is_receipt && checks.receipts == Receipts::NotCovered {
            self.waiting.push((index, kind, body));
            if self.waiting.len() > WAITING_MAX {
                self.check_waiting(fold, checks);
            }
        } else {
            fold.signature(checks, kind, index, &body);
        }
        Ok(())
    }

    fn check_waiting(&mut self, fold: &mut Fold, checks: &mut Checks<'_>) {
        for (index, kind, body) in self.waiting.drain(..) {
            fold.signature(checks, kind, index, &body);
        }
    }

    fn check_nothing_is_due(&self) -> Result<(), String> {
        match self.due.front() {
            None => Ok(()),
            Some(document) => Err(format!("document {document} does not follow its entry")),
        }
    }
}

/// Parses a line, and checks that it is canonical JSON without unknown fields.
fn parsed<T: DeserializeOwned + Serialize>(line: &[u8]) -> Result<T, String> {
    let read: T = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let written = canonical::to_vec(&read).map_err(|error| error.to_string())?;
    if written == line { Ok(read) } else { Err("the line is not in its canonical form".into()) }
}

struct Lines<'r> {
    from: &'r mut dyn BufRead,
    /// Number of the last line read, counted from 1.
    line: u64,
}

enum NextLine {
    Line(Vec<u8>),
    Wrong(String),
    /// The file ends before the end of the line.
    Cut,
    End,
}

impl Lines<'_> {
    fn next(&mut self) -> std::io::Result<NextLine> {
        self.line += 1;
        let mut line = Vec::new();
        let read = (&mut *self.from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        Ok(match line.pop() {
            None if read == 0 => NextLine::End,
            Some(b'\n') => NextLine::Line(line),
            Some(_) | None if u64::try_from(read).is_ok_and(|read| read < LINE_BYTES_MAX) => {
                NextLine::Cut
            }
            Some(_) | None => NextLine::Wrong("the line is too long".to_owned()),
        })
    }
}
