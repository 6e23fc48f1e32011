//! JSON with one member a line, so that a review sees each change by itself.

use std::collections::BTreeMap;

use serde::Serialize;

/// Writes a value in one line.
pub(super) fn value(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap_or_default().to_string()
}

/// Writes an object in one line, its members in this order.
pub(super) fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, text)| format!("{}:{text}", value(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// Writes an object with one member a line.
pub(super) fn lines<'a>(members: impl Iterator<Item = (&'a str, String)>) -> String {
    let lines: Vec<String> =
        members.map(|(name, text)| format!("    {}: {text}", value(&name))).collect();
    if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n  }}", lines.join(",\n")) }
}

/// The members of a map, each value written in one line.
pub(super) fn members<V: Serialize>(
    map: &BTreeMap<String, V>,
) -> impl Iterator<Item = (&str, String)> {
    map.iter().map(|(name, of_name)| (name.as_str(), value(of_name)))
}

/// Writes a document.
pub(super) fn document(members: &[(&str, String)]) -> String {
    let lines: Vec<String> =
        members.iter().map(|(name, text)| format!("  {}: {text}", value(name))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}
