//! Files that this program wrote: what each says that it is, which verb takes it, and which are results.

use actum_core::dsse::Envelope;
use actum_core::note::Note;
use actum_core::receipt::PREDICATE_TYPE;
use actum_core::task::{TaskApproval, TaskEnvelope};
use serde::Deserialize;

/// Formats of results that say what they are.
const RESULTS: [&str; 4] =
    ["actum.receipt/", "actum.keyring/", "actum.ledger-export/", TaskEnvelope::FORMAT];
/// Beginning of a public key of this program in PEM (Ed25519, RFC 8410).
const PUBLIC_KEY: &[u8] = b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA";
/// Beginning of the name of a log, in checkpoints and in keys for them.
const LOG_NAME: &[u8] = b"actum/";
/// Beginning of a manual page, and the line in it that names the program.
const MAN_PAGE: [&[u8]; 2] = [b".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH actum", b".TH actum"];

/// The beginning of the first line is enough, so that a whole ledger is known by it too.
#[derive(Deserialize)]
struct Headed {
    format: String,
}

/// The format that a document says it has, if it says so; of several lines, the first one.
pub(crate) fn of(bytes: &[u8]) -> Option<String> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let read = [bytes, first].into_iter().find_map(|text| serde_json::from_slice(text).ok());
    read.map(|Headed { format }| format)
}

/// What a file of this format is, and what takes it.
pub(crate) fn hint(format: &str) -> Option<&'static str> {
    let (name, _version) = format.rsplit_once('/')?;
    Some(match name {
        "actum.keyring" => "it is a keyring: `actum verify RECEIPT --keyring FILE` takes it",
        "actum.receipt" => "it is a receipt with its proof: `actum verify FILE` takes it",
        "actum.ledger-export" => "it is a whole ledger: `actum ledger verify FILE` takes it",
        "actum.proof" => {
            "it is a proof of entries, for other programs; `actum receipt RUN` writes a receipt with its \
             proof, which `actum verify FILE` takes"
        }
        "actum.checkpoint" => {
            "it is a checkpoint in JSON; `actum ledger checkpoint -o FILE` writes the one that \
             `actum ledger verify --checkpoint FILE` takes"
        }
        _ => return None,
    })
}

/// Whether the beginning of a file, or all of it, is that of a result that this program wrote: a receipt, a keyring, a
/// public key, a checkpoint, an export of a ledger, the envelope or the approval of a task, a manual page.
pub(crate) fn is_result(bytes: &[u8]) -> bool {
    if let Some(format) = of(bytes) {
        return RESULTS.iter().any(|known| format.starts_with(known));
    }
    let is_key_of_log = || {
        bytes.starts_with(LOG_NAME)
            && bytes.split(|&b| b == b'\n').count() <= 2
            && bytes.contains(&b'+')
    };
    bytes.starts_with(PUBLIC_KEY)
        || MAN_PAGE.iter().any(|beginning| bytes.starts_with(beginning))
        || bytes.starts_with(LOG_NAME) && Note::read(bytes).is_ok()
        || is_key_of_log()
        || Envelope::read_own(bytes).is_ok_and(|envelope| is_signed_result(&envelope))
}

/// Whether an envelope holds a receipt or the approval of a task.
fn is_signed_result(envelope: &Envelope) -> bool {
    #[derive(Deserialize)]
    struct Stated {
        #[serde(rename = "predicateType")]
        predicate_type: String,
    }
    let stated = serde_json::from_slice::<Stated>(&envelope.payload);
    envelope.payload_type == TaskApproval::PAYLOAD_TYPE
        || stated.is_ok_and(|stated| stated.predicate_type == PREDICATE_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_first_line_or_by_all_of_it() {
        let keyring = b"{\n  \"format\": \"actum.keyring/1\",\n  \"keys\": []\n}\n";
        assert_eq!(of(keyring).as_deref(), Some("actum.keyring/1"));
        let export = b"{\"entries\":1,\"format\":\"actum.ledger-export/1\"}\n{\"entry\":0}\n";
        assert_eq!(of(export).as_deref(), Some("actum.ledger-export/1"));
        for other in ["", "\n", "{}", "format", "{\"payload\":\"\"}", "{\"format\":1}"] {
            assert_eq!(of(other.as_bytes()), None, "{other}");
        }
        assert!(hint("actum.ledger-export/2").is_some() && hint("actum.run/1").is_none());
    }

    /// AA-5
    #[test]
    fn results_are_recognised_and_inputs_are_none() {
        for result in [
            "{\"format\":\"actum.receipt/1\",\"proof\":{}}\n",
            "{\"entries\":1,\"format\":\"actum.ledger-export/1\"}\n{\"entry\":0}\n{\"ent",
            "{\n  \"format\": \"actum.task-envelope/1\"\n}\n",
            "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA603MYQuJVYJRxFVP0eNnpyAfH8zCadPZ6cXtQJBYg9M=\n",
            "actum/qnb4dbwpbsjm/default+1234abcd+AbCd\n",
            ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH actum-apply 1",
        ] {
            assert!(is_result(result.as_bytes()), "{result}");
        }
        for other in [
            "",
            "mine\n",
            "{\"format\":\"actum.feedback/1\"}",
            "-----BEGIN PRIVATE KEY-----\n",
            "actum/ is a directory + more\nof mine\n",
            "{\"payload\":\"e30=\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[]}",
        ] {
            assert!(!is_result(other.as_bytes()), "{other}");
        }
    }
}
