//! Paths as people and programs read them.

use actum_core::{RelPath, path::Quoted};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A path that is shown. As JSON it is an object with `path`, the exact text; where the bytes are
/// no UTF-8, `path` is escaped and `path_hex` holds them exactly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShownPath(pub(crate) RelPath);

impl ShownPath {
    pub(crate) fn all<'a>(paths: impl IntoIterator<Item = &'a RelPath>) -> Vec<Self> {
        paths.into_iter().cloned().map(Self).collect()
    }
}

impl Serialize for ShownPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.as_bytes();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("path", &text(bytes))?;
        if std::str::from_utf8(bytes).is_err() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            map.serialize_entry("path_hex", &hex)?;
        }
        map.end()
    }
}

impl std::fmt::Display for ShownPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The exact text of a path for JSON, or the escaped one where the bytes are no UTF-8.
pub(crate) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => Quoted(bytes).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_exact_in_json_and_escaped_for_people() {
        let json =
            |path: &[u8]| serde_json::to_string(&ShownPath(RelPath::new(path).unwrap())).unwrap();
        assert_eq!(json(b"a\\b\n"), r#"{"path":"a\\b\n"}"#);
        assert_eq!(json(b"a\xff"), r#"{"path":"a\\377","path_hex":"61ff"}"#);
        assert_eq!(ShownPath(RelPath::new(b"a\n").unwrap()).to_string(), "a\\n");
    }
}
