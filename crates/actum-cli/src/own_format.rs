//! Recognises files that actum wrote, by their format or as complete results, and names the verbs that accept them.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use actum_core::canonical::CanonicalError;
use actum_core::{Digest, RunId};
use actum_gate::ReceiptBundle;
use actum_gate::bundle::BUNDLE_BYTES_MAX;
use actum_ledger::export::{self, WholeExport};
use actum_ledger::keys::is_public_pem;
use actum_record::checkpoint::Checkpoint;
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::note::{Note, NoteKey};
use actum_record::receipt::PREDICATE_TYPE;
use actum_task::report::{is_executor_prompt, is_implementation_summary};
use actum_task::{TaskApproval, TaskEnvelope};
use serde::Deserialize;

/// Maximum size, in bytes, of a single-document result that is recognised.
const RESULT_BYTES_MAX: usize = BUNDLE_BYTES_MAX;
/// Prefix of log names in checkpoints and in the keys that verify them.
const LOG_NAME: &[u8] = b"actum/";
/// Prefix of the last line of a generated manual page, which is a comment (man(7)). The digest of the lines above follows.
const PAGE_MARK: &str = ".\\\" page of actum, SHA-256 of the lines above: ";

/// Only the format of a document. It may be read from the first line, so that an exported ledger is recognised as well.
#[derive(Deserialize)]
struct Headed {
    format: String,
}

/// Returns the format that a JSON document declares, or that its first line declares if it consists of several documents.
pub(crate) fn declared_format(bytes: &[u8]) -> Option<String> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let read = [bytes, first].into_iter().find_map(|text| serde_json::from_slice(text).ok());
    read.map(|Headed { format }| format)
}

/// Returns whether a document declares a format of actum, or looks like a signed envelope that may contain a receipt.
pub(crate) fn is_actum_document(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Signed {
        payload_type: String,
    }
    let is_named =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-/".contains(&byte);
    let is_format = |format: &str| {
        format
            .strip_prefix("actum.")
            .is_some_and(|name| name.len() < 40 && name.bytes().all(is_named))
    };
    match declared_format(bytes) {
        Some(format) => is_format(&format),
        None => serde_json::from_slice::<Signed>(bytes)
            .is_ok_and(|signed| signed.payload_type.starts_with("application/vnd.")),
    }
}

/// Returns a hint that names the kind of a file with this format and the command that accepts it.
pub(crate) fn hint(format: &str) -> Option<&'static str> {
    let (name, _version) = format.rsplit_once('/')?;
    Some(match name {
        "actum.keyring" => "it is a keyring; use it with `actum verify RECEIPT --keyring FILE`",
        "actum.receipt" => "it is a receipt with its proof; use it with `actum verify FILE`",
        "actum.ledger-export" => "it is a whole ledger; use it with `actum ledger verify FILE`",
        "actum.proof" => {
            "it is a proof of entries for other programs; run `actum receipt RUN` for a receipt with its proof, which \
             `actum verify FILE` accepts"
        }
        "actum.checkpoint" => {
            "it is a checkpoint in JSON; run `actum ledger checkpoint -o FILE` for one that `actum ledger verify \
             --checkpoint FILE` accepts"
        }
        _ => return None,
    })
}

/// File whose complete content is a result that actum wrote.
#[derive(Debug, PartialEq)]
pub(crate) enum WholeResult {
    Export(WholeExport),
    Receipt(RunId),
    Keyring(Keyring),
    Checkpoint(Checkpoint),
    /// Public key, as PEM or in the format for log keys.
    PublicKey(Vec<u8>),
    TaskEnvelope,
    TaskApproval,
    ExecutorPrompt,
    ImplementationSummary,
    Page,
}

impl WholeResult {
    /// Reads a whole file. Returns `None` if it is not a result, or if it has additional content, which must be the user's.
    pub(crate) fn read(file: &mut (impl Read + Seek)) -> io::Result<Option<Self>> {
        if let Some(export) = export::whole(&mut BufReader::new(&mut *file))? {
            return Ok(Some(Self::Export(export)));
        }
        file.seek(SeekFrom::Start(0))?;
        let limit = u64::try_from(RESULT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(if bytes.len() <= RESULT_BYTES_MAX { document(&bytes) } else { None })
    }

    /// Returns whether this result can replace an older one without losing evidence. An older export, keyring or receipt may
    /// be the only evidence that a ledger was replaced by a different one.
    pub(crate) fn continues(&self, older: &Self) -> bool {
        match (self, older) {
            (Self::Export(new), Self::Export(old)) => {
                new.origin == old.origin && new.entries >= old.entries
            }
            (Self::Checkpoint(new), Self::Checkpoint(old)) => {
                new.origin == old.origin && new.size >= old.size
            }
            (Self::Keyring(new), Self::Keyring(old)) => old.keys().iter().all(|old| {
                let is_same = |new: &KeyEntry| {
                    (&new.id, new.role, &new.public) == (&old.id, old.role, &old.public)
                };
                new.keys().iter().any(is_same)
            }),
            (Self::Receipt(new), Self::Receipt(old)) => new == old,
            (Self::PublicKey(new), Self::PublicKey(old)) => new == old,
            (Self::TaskEnvelope, Self::TaskEnvelope)
            | (Self::TaskApproval, Self::TaskApproval)
            | (Self::ExecutorPrompt, Self::ExecutorPrompt)
            | (Self::ImplementationSummary, Self::ImplementationSummary)
            | (Self::Page, Self::Page) => true,
            _ => false,
        }
    }
}

/// Appends the line to a manual page by which [`WholeResult::read`] recognises that the page is unchanged.
pub(crate) fn mark_page(page: &mut Vec<u8>) {
    let mark = format!("{PAGE_MARK}{}\n", Digest::of(page));
    page.extend_from_slice(mark.as_bytes());
}

/// Parses a result that consists of a single document. If its format has a canonical form, the document must be in it.
fn document(bytes: &[u8]) -> Option<WholeResult> {
    let Some(line) = bytes.strip_suffix(b"\n") else {
        // Only the approval of a task is written without a final newline.
        return signed_result(bytes);
    };
    let is_text = |is: fn(&str) -> bool| std::str::from_utf8(bytes).is_ok_and(is);
    match line.first()? {
        b'{' => {
            let bundle = ReceiptBundle::read(line).ok().filter(|it| is_written(it.to_vec(), line));
            let keyring = || Keyring::read(line).ok().filter(|it| is_written(it.to_vec(), line));
            let envelope = || TaskEnvelope::read(bytes).ok().map(|_| WholeResult::TaskEnvelope);
            let bundled = bundle.and_then(|bundle| result_in(&bundle.receipt));
            bundled
                .or_else(|| keyring().map(WholeResult::Keyring))
                .or_else(|| signed_result(line))
                .or_else(envelope)
        }
        b'-' => is_public_pem(bytes).then(|| WholeResult::PublicKey(bytes.to_vec())),
        b'.' => is_page(line).then_some(WholeResult::Page),
        b'Y' => is_text(is_executor_prompt).then_some(WholeResult::ExecutorPrompt),
        b'#' => is_text(is_implementation_summary).then_some(WholeResult::ImplementationSummary),
        _ if bytes.starts_with(LOG_NAME) => checkpoint(bytes)
            .map(WholeResult::Checkpoint)
            .or_else(|| is_key_of_log(line).then(|| WholeResult::PublicKey(bytes.to_vec()))),
        _ => None,
    }
}

fn is_written(written: Result<Vec<u8>, CanonicalError>, bytes: &[u8]) -> bool {
    written.is_ok_and(|written| written == bytes)
}

fn checkpoint(bytes: &[u8]) -> Option<Checkpoint> {
    let note = Note::read(bytes).ok()?;
    Checkpoint::read(&note.text).ok().filter(|_| note.to_text().as_bytes() == bytes)
}

fn is_key_of_log(line: &[u8]) -> bool {
    let key = std::str::from_utf8(line).ok().and_then(|text| NoteKey::read(text).ok());
    key.is_some_and(|key| key.to_text().as_bytes() == line)
}

fn is_page(line: &[u8]) -> bool {
    let Some(start) = line.iter().rposition(|byte| *byte == b'\n') else { return false };
    let Some((page, mark)) = line.split_at_checked(start.saturating_add(1)) else { return false };
    mark == format!("{PAGE_MARK}{}", Digest::of(page)).as_bytes()
}

/// Parses a result in a signed envelope, which must make up all of the bytes.
fn signed_result(bytes: &[u8]) -> Option<WholeResult> {
    let envelope = Envelope::read(bytes).ok()?;
    result_in(&envelope).filter(|_| is_written(envelope.to_vec(), bytes))
}

/// Returns the receipt or task approval in an envelope.
fn result_in(envelope: &Envelope) -> Option<WholeResult> {
    #[derive(Deserialize)]
    struct Stated {
        #[serde(rename = "predicateType")]
        predicate_type: String,
        predicate: Ran,
    }
    #[derive(Deserialize)]
    struct Ran {
        run: RunId,
    }
    if envelope.payload_type == TaskApproval::PAYLOAD_TYPE {
        return Some(WholeResult::TaskApproval);
    }
    let stated: Stated = serde_json::from_slice(&envelope.payload).ok()?;
    (stated.predicate_type == PREDICATE_TYPE).then_some(WholeResult::Receipt(stated.predicate.run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_format_is_detected_from_the_first_line_or_the_whole_file() {
        let keyring = b"{\n  \"format\": \"actum.keyring/1\",\n  \"keys\": []\n}\n";
        assert_eq!(declared_format(keyring).as_deref(), Some("actum.keyring/1"));
        let export = b"{\"entries\":1,\"format\":\"actum.ledger-export/1\"}\n{\"entry\":0}\n";
        assert_eq!(declared_format(export).as_deref(), Some("actum.ledger-export/1"));
        for other in ["", "\n", "{}", "format", "{\"payload\":\"\"}", "{\"format\":1}"] {
            assert_eq!(declared_format(other.as_bytes()), None, "{other}");
        }
        assert!(hint("actum.ledger-export/2").is_some() && hint("actum.run/1").is_none());
        for ours in [&keyring[..], export, b"{\"payloadType\":\"application/vnd.in-toto+json\"}"] {
            assert!(is_actum_document(ours));
        }
        for other in [
            "{\"format\":\"hunter2\"}",
            "{\"format\":\"actum.a b\"}",
            "{}",
            "x",
            "{\"payloadType\":\"x\"}",
        ] {
            assert!(!is_actum_document(other.as_bytes()), "{other}");
        }
    }

    fn is_result(text: &str) -> bool {
        WholeResult::read(&mut std::io::Cursor::new(text.as_bytes())).unwrap().is_some()
    }

    /// AA-5
    #[test]
    fn results_are_recognised_and_inputs_are_not() {
        let mut page = b".TH actum 1\n.SH NAME\n".to_vec();
        mark_page(&mut page);
        let page = String::from_utf8(page).unwrap();
        let key = "-----BEGIN PUBLIC KEY-----\n\
                   MCowBQYDK2VwAyEA603MYQuJVYJRxFVP0eNnpyAfH8zCadPZ6cXtQJBYg9M=\n\
                   -----END PUBLIC KEY-----\n";
        for result in [&*page, key] {
            assert!(is_result(result), "{result}");
            assert!(!is_result(&format!("{result}mine\n")), "{result}");
            assert!(!is_result(&format!("mine\n{result}")), "{result}");
            assert!(!is_result(result.trim_end()), "{result}");
        }
        for other in [
            "",
            "\n",
            "mine\n",
            "{\"format\":\"actum.receipt/1\",\"proof\":{}}\n",
            "{\"format\":\"actum.keyring/1\",\"keys\":[],\"mine\":1}\n",
            "{\"entries\":1,\"format\":\"actum.ledger-export/1\"}\n{\"entry\":0}\n",
            "{\n  \"format\": \"actum.task-envelope/1\"\n}\n",
            "{\"format\":\"actum.feedback/1\"}",
            "-----BEGIN PRIVATE KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA603MYQuJVYJRxFVP0eNnpyAfH8zCadPZ6cXtQJBYg9M=\n",
            ".TH actum 1\n",
            "actum/qnb4dbwpbsjm/default+1234abcd+AbCd\n",
            "actum/ is a directory + more\nof mine\n",
            "{\"payload\":\"e30=\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[]}",
        ] {
            assert!(!is_result(other), "{other}");
        }
    }
}
