//! Serialized form of paths in documents that outlive the workspace.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::RelPath;

/// Path as recorded in a ledger: a string, or an object with the member `hex` if the bytes are not valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PathName(pub RelPath);

/// Serialized form of bytes from the file system.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes { hex: String },
}

/// Serializes bytes as a string, or as an object with the member `hex` if they are not valid UTF-8.
///
/// # Errors
/// Returns the errors of the serializer.
pub fn write<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => {
            let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Written::Bytes { hex }.serialize(serializer)
        }
    }
}

/// Deserializes bytes that were written by [`write`].
///
/// # Errors
/// Returns the errors of the deserializer, and an error if the value is neither a string nor an object with the member
/// `hex`.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Text(text) => Ok(text.into_bytes()),
        Written::Bytes { hex } => {
            let pairs = hex.as_bytes().chunks(2).map(crate::digest::from_hex::<1>);
            let bytes: Option<Vec<[u8; 1]>> = pairs.collect();
            let bytes =
                bytes.ok_or_else(|| serde::de::Error::custom("`hex` is not hexadecimal"))?;
            Ok(bytes.concat())
        }
    }
}

impl Serialize for RelPath {
    /// Serializes the path as a string, or as an object with the member `hex` if its bytes are not valid UTF-8.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.as_bytes(), serializer)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(read(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl PathName {
    /// Returns the exact path for documents that are read by programs. The path is escaped only if it is not valid
    /// UTF-8.
    ///
    /// Do not print this text to a terminal; use [`Display`](fmt::Display) instead.
    pub fn exact(&self) -> String {
        match std::str::from_utf8(self.0.as_bytes()) {
            Ok(text) => text.to_owned(),
            Err(_) => self.to_string(),
        }
    }
}

impl fmt::Display for PathName {
    /// Formats the path with escapes, in the same way as a [`RelPath`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_name_round_trips_through_json() {
        for (bytes, json) in
            [(&b"a/b \xc3\xa9\n"[..], r#""a/b é\n""#), (b"a\xff", r#"{"hex":"61ff"}"#)]
        {
            let path = PathName(RelPath::new(bytes).unwrap());
            assert_eq!(serde_json::to_string(&path).unwrap(), json);
            assert_eq!(serde_json::from_str::<PathName>(json).unwrap(), path);
        }
    }

    /// D-4
    #[test]
    fn display_escapes_the_path_and_exact_returns_it_unchanged() {
        let path = PathName(RelPath::new("a\n\x1b[1m\u{202e}é").unwrap());
        assert_eq!(path.to_string(), "a\\n\\033[1m\\342\\200\\256é");
        assert_eq!(path.exact(), "a\n\x1b[1m\u{202e}é");
    }

    #[test]
    fn invalid_path_name_is_refused() {
        for json in
            ["\"../a\"", "\"\"", "{\"hex\":\"6\"}", "{\"hex\":\"zz\"}", "{\"hex\":\"2f\"}", "1"]
        {
            assert!(serde_json::from_str::<PathName>(json).is_err(), "{json}");
        }
    }
}
