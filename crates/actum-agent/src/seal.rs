//! Sealing of packets, which removes everything that must not be stored in a ledger.
//!
//! A ledger keeps its entries forever, so it must not contain file content or credentials. A sealed packet keeps short lines and
//! lists of such lines if they contain no credential, and replaces every other value with its size and digest. Decisions use only
//! the sealed packet, so they can be replayed without the original one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, count};
use actum_gate::credential::spans;
use serde_json::{Map, Value, json};

use crate::packet::FinderPacket;

/// Maximum length of a line that is kept unsealed, in bytes.
const LINE_BYTES_MAX: usize = 1024;
/// Maximum number of lines in a list that is kept unsealed.
const LINES_MAX: usize = 64;
/// Fields that hold file content. They are always sealed, even if the content is short.
const CONTENT_FIELDS: [&str; 6] =
    ["content", "contentBase64", "document", "edits", "find", "replace"];
/// Name of the packet member that contains the input fields of a simulation.
const FIELDS: &str = "required_fields";
const ROLLBACK: &str = "rollback_plan";

/// Seals a packet, so that a ledger can store it. If the packet is invalid, only its size and digest remain.
///
/// # Errors
/// Returns a [`CanonicalError`] if the packet contains a number without an exact canonical form.
pub fn seal_packet(packet: &Map<String, Value>) -> Result<Map<String, Value>, CanonicalError> {
    let bytes = canonical::ordered_to_vec(packet)?;
    if FinderPacket::read(&bytes).is_err() {
        return Ok(size_and_digest(&bytes));
    }
    let mut sealed = packet.clone();
    seal_member(&mut sealed)?;
    if let Some(Value::Object(rollback)) = sealed.get_mut(ROLLBACK) {
        seal_member(rollback)?;
    }
    sealed.values_mut().for_each(mask);
    // Sorted keys make it fast to write the canonical form.
    sealed.values_mut().for_each(Value::sort_all_objects);
    sealed.sort_keys();
    Ok(sealed)
}

/// Seals a packet and every value of its required fields, including short lines. Used if the fields do not match a simulation,
/// because their meaning is then unknown.
///
/// # Errors
/// Returns a [`CanonicalError`] if the packet contains a number without an exact canonical form.
pub fn seal_packet_wholly(
    packet: &Map<String, Value>,
) -> Result<Map<String, Value>, CanonicalError> {
    let mut sealed = seal_packet(packet)?;
    if let (Some(Value::Object(fields)), Some(Value::Object(raw))) =
        (sealed.get_mut(FIELDS), packet.get(FIELDS))
    {
        let seal = |(name, value): (&String, &Value)| Ok((masked(name), seal_content(value)?));
        *fields = raw.iter().map(seal).collect::<Result<_, CanonicalError>>()?;
    }
    Ok(sealed)
}

/// Replaces every string that contains a credential with its digest, also in nested values.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => *text = masked(text),
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::Object(members) => members.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn masked(text: &str) -> String {
    match spans(text.as_bytes()).is_empty() {
        true => text.to_owned(),
        false => format!("sha256:{}", Digest::of(text.as_bytes())),
    }
}

/// Seals the values of the required fields of a packet.
///
/// # Errors
/// Returns a [`CanonicalError`] if a value contains a number without an exact canonical form.
pub fn seal_fields(fields: &Map<String, Value>) -> Result<Map<String, Value>, CanonicalError> {
    let seal = |(name, value): (&String, &Value)| Ok((masked(name), seal_value(name, value)?));
    fields.iter().map(seal).collect()
}

fn seal_member(object: &mut Map<String, Value>) -> Result<(), CanonicalError> {
    if let Some(Value::Object(fields)) = object.get_mut(FIELDS) {
        *fields = seal_fields(fields)?;
    }
    Ok(())
}

fn seal_value(name: &str, value: &Value) -> Result<Value, CanonicalError> {
    let is_plain = match value {
        Value::Array(values) => values.len() <= LINES_MAX && values.iter().all(is_plain_value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            is_plain_value(value)
        }
    };
    if is_plain && !CONTENT_FIELDS.contains(&name) {
        return Ok(value.clone());
    }
    seal_content(value)
}

/// Replaces a value with its size and digest. Values other than strings are marked with `json: true`.
fn seal_content(value: &Value) -> Result<Value, CanonicalError> {
    let Value::String(text) = value else {
        let mut sealed = size_and_digest(&canonical::to_vec(value)?);
        sealed.insert("json".to_owned(), Value::Bool(true));
        return Ok(Value::Object(sealed));
    };
    Ok(Value::Object(size_and_digest(text.as_bytes())))
}

fn size_and_digest(bytes: &[u8]) -> Map<String, Value> {
    let bytes_and_digest =
        [("bytes", json!(count(bytes.len()))), ("sha256", json!(Digest::of(bytes).to_string()))];
    bytes_and_digest.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn is_plain_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_plain_line(text),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether the text is short, has no control characters and contains no credential, so that it can be kept unsealed.
fn is_plain_line(text: &str) -> bool {
    text.len() <= LINE_BYTES_MAX
        && !text.contains(char::is_control)
        && spans(text.as_bytes()).is_empty()
}
