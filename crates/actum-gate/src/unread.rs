//! Lists the parts of a receipt that verification ignores: members that this version does not know, and
//! signatures by keys outside the keyring (D-4).

use std::fmt;

use actum_core::canonical;
use actum_core::path::Cut;
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::receipt::Statement;
use serde_json::Value;

use crate::bundle::ReceiptBundle;
use crate::document::format_of;
use crate::signature;

/// Maximum number of ignored parts to list.
const UNREAD_MAX: usize = 20;
/// Maximum number of bytes of a name that a message shows.
const SHOWN_BYTES_MAX: usize = 200;

/// Part of a receipt that verification ignores, so that it proves nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// Member of an object that this version does not know.
    Member {
        /// Dotted path of names that leads to the member.
        name: String,
    },
    /// Signature by a key that is not in the keyring.
    Signature {
        /// Id of the key that the signature names, or an empty string if it names none.
        key: String,
    },
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { name } => {
                let name = Cut(name.as_bytes(), SHOWN_BYTES_MAX);
                write!(f, "the unknown member `{name}`")
            }
            Self::Signature { key } if key.is_empty() => {
                write!(f, "a signature without a key id that no key in the keyring made")
            }
            Self::Signature { key } => {
                let key = Cut(key.as_bytes(), SHOWN_BYTES_MAX);
                write!(f, "a signature by the key `{key}`, which is not in the keyring")
            }
        }
    }
}

/// Lists the parts that verification of a receipt or receipt bundle ignores. The list is empty if `bytes` is
/// not a receipt.
pub fn unread(bytes: &[u8], keyring: &Keyring) -> Vec<Unread> {
    found(bytes, keyring).unwrap_or_default()
}

fn found(bytes: &[u8], keyring: &Keyring) -> Option<Vec<Unread>> {
    let given = canonical::read(bytes).ok()?;
    // Serializing the parsed document again shows which parts were read.
    let (envelope, known) = if format_of(&given) == ReceiptBundle::FORMAT {
        let bundle = ReceiptBundle::read(bytes).ok()?;
        let known = bundle.to_vec().ok()?;
        (bundle.receipt, known)
    } else {
        let envelope = Envelope::read(bytes).ok()?;
        let known = envelope.to_vec().ok()?;
        (envelope, known)
    };
    let mut unread = Vec::new();
    compare(&given, &canonical::read(&known).ok()?, &mut Vec::new(), &mut unread);
    let payload = canonical::read(&envelope.payload).ok()?;
    let statement: Statement = serde_json::from_value(payload.clone()).ok()?;
    compare(&payload, &serde_json::to_value(&statement).ok()?, &mut Vec::new(), &mut unread);
    let message = envelope.signed_bytes();
    let is_unknown = |key_id: &str, bytes: &[u8]| match key_id {
        "" => !keyring
            .keys()
            .iter()
            .any(|key| signature::verify(&key.public, &message, bytes).is_ok()),
        _ => !keyring.keys().iter().any(|key| key.id.as_str() == key_id),
    };
    let unknown = envelope.signatures.iter().filter(|it| is_unknown(&it.key_id, &it.signature));
    unread.extend(unknown.map(|it| Unread::Signature { key: it.key_id.clone() }));
    unread.truncate(UNREAD_MAX);
    Some(unread)
}

/// Collects the members of `given` that are missing in `known`.
fn compare<'v>(
    given: &'v Value,
    known: &Value,
    names: &mut Vec<&'v str>,
    unread: &mut Vec<Unread>,
) {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            for (name, value) in given {
                names.push(name);
                match known.get(name) {
                    Some(known) => compare(value, known, names, unread),
                    // An optional member that is null may be omitted when serializing.
                    None if value.is_null() => {}
                    None => unread.push(Unread::Member { name: names.join(".") }),
                }
                names.pop();
            }
        }
        (Value::Array(given), Value::Array(known)) => {
            for (given, known) in given.iter().zip(known) {
                compare(given, known, names, unread);
            }
        }
        (_, _) => {}
    }
}
