//! Writes JSON with one member per line, so that each change is a separate line in a review.

use std::collections::BTreeMap;

use serde::Serialize;

/// Formats a value on one line.
pub(super) fn value(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap_or_default().to_string()
}

/// Formats an object on one line, with its members in this order.
pub(super) fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, text)| format!("{}:{text}", value(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// Formats an object with one member per line.
pub(super) fn lines<'a>(members: impl Iterator<Item = (&'a str, String)>) -> String {
    let lines: Vec<String> =
        members.map(|(name, text)| format!("    {}: {text}", value(&name))).collect();
    if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n  }}", lines.join(",\n")) }
}

/// Returns the members of a map, with each value on one line.
pub(super) fn members<V: Serialize>(
    map: &BTreeMap<String, V>,
) -> impl Iterator<Item = (&str, String)> {
    map.iter().map(|(name, of_name)| (name.as_str(), value(of_name)))
}

/// Formats an entire document.
pub(super) fn document(members: &[(&str, String)]) -> String {
    let lines: Vec<String> =
        members.iter().map(|(name, text)| format!("  {}: {text}", value(name))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}
