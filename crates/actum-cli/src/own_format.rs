//! Files that this program wrote: what each says that it is, and which verb takes it.

use serde::Deserialize;

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
}
