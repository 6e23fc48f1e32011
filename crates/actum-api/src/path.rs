//! Paths in documents, including paths that are not valid UTF-8.

use std::borrow::Cow;
use std::fmt;

use actum_core::RelPath;
use actum_core::path::Quoted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Path relative to the workspace root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WorkspacePath {
    /// Path relative to the workspace root. Escaped if it is not UTF-8.
    pub path: String,
    /// Bytes of the path in hexadecimal. Present only if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path_hex: Option<String>,
}

impl WorkspacePath {
    /// Creates a path from its bytes.
    pub fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(path) => Self { path: path.to_owned(), path_hex: None },
            Err(_) => Self { path: Quoted(bytes).to_string(), path_hex: Some(hexadecimal(bytes)) },
        }
    }

    /// Converts several paths.
    pub fn all<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> Vec<Self> {
        paths.into_iter().map(Self::from).collect()
    }

    /// Returns the bytes of the path, or `None` if `path_hex` is not valid hexadecimal.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        match &self.path_hex {
            None => Some(Cow::Borrowed(self.path.as_bytes())),
            Some(text) => from_hexadecimal(text).map(Cow::Owned),
        }
    }
}

impl From<&RelPath> for WorkspacePath {
    fn from(path: &RelPath) -> Self {
        Self::new(path.as_bytes())
    }
}

/// Formats the path for the user on a single line, with control characters escaped.
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `path_hex` takes precedence. If it is invalid, the text is escaped, because it may contain control characters.
        Quoted(&self.bytes().unwrap_or_else(|| self.path.as_bytes().into())).fmt(f)
    }
}

/// Formats bytes in lowercase hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16)?).ok();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D-4
    #[test]
    fn path_is_exact_in_json_and_escaped_for_display() {
        let json = |path: &[u8]| serde_json::to_string(&WorkspacePath::new(path)).unwrap();
        assert_eq!(json(b"a\\b\n"), r#"{"path":"a\\b\n"}"#);
        assert_eq!(json(b"a\xff"), r#"{"path":"a\\377","path_hex":"61ff"}"#);
        assert_eq!(WorkspacePath::new(b"a\n").to_string(), "a\\n");
        assert_eq!(WorkspacePath::new(b"a\xff").to_string(), "a\\377");
        let hostile = |hex: &str| WorkspacePath {
            path: "\u{1b}[2J".to_owned(),
            path_hex: Some(hex.to_owned()),
        };
        assert_eq!(hostile("61ff").to_string(), "a\\377");
        assert!(!hostile("0g").to_string().contains('\u{1b}'));
    }

    /// D-4
    #[test]
    fn path_bytes_round_trip() {
        for path in [&b"a\\b\n"[..], b"a\xff\x01"] {
            assert_eq!(WorkspacePath::new(path).bytes().as_deref(), Some(path));
        }
        for text in ["0", "0g", "+1"] {
            let path = WorkspacePath { path: String::new(), path_hex: Some(text.to_owned()) };
            assert_eq!(path.bytes(), None);
        }
    }
}
