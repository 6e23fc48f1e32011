//! JSON Pointer (RFC 6901), which identifies a value in a JSON document.

use std::fmt;

use actum_core::place::Excerpt;
use serde::{Deserialize, Serialize, Serializer};

/// JSON Pointer: member names and array indices from the root of a document to a value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Pointer(Vec<String>);

/// Error for a text that is not a valid JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a valid JSON Pointer: {problem}")]
pub struct PointerError {
    /// Rejected text.
    pub given: Excerpt,
    /// Reason why the text is invalid.
    pub problem: PointerSyntax,
}

/// Syntax error in a JSON Pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointerSyntax {
    /// The text is not empty and does not start with a slash.
    #[error("it must start with `/`, or be empty for the whole document")]
    NoSlash,
    /// A tilde is not part of an escape sequence.
    #[error("`~` may appear only in the escapes `~0` (for `~`) and `~1` (for `/`)")]
    Tilde,
}

/// Meaning of a pointer step that is applied to an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    /// Element with this index, counted from 0.
    At(usize),
    /// Position after the last element, written as `-`.
    End,
    /// The step is not a valid index.
    None,
}

impl Pointer {
    /// Parses a JSON Pointer.
    ///
    /// # Errors
    /// Returns a [`PointerError`] if the text does not follow RFC 6901.
    pub fn new(text: &str) -> Result<Self, PointerError> {
        let refused = |problem| PointerError { given: Excerpt::new(text.as_bytes()), problem };
        if text.is_empty() {
            return Ok(Self::default());
        }
        let steps = text.strip_prefix('/').ok_or_else(|| refused(PointerSyntax::NoSlash))?;
        let decoded = steps.split('/').map(|step| {
            let mut parts = step.split('~');
            let mut decoded = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (sign, rest) = match (part.strip_prefix('0'), part.strip_prefix('1')) {
                    (Some(rest), _) => ('~', rest),
                    (None, Some(rest)) => ('/', rest),
                    (None, None) => return Err(refused(PointerSyntax::Tilde)),
                };
                decoded.push(sign);
                decoded.push_str(rest);
            }
            Ok(decoded)
        });
        decoded.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the decoded steps, starting at the root of the document.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// Returns a pointer that consists of the first `steps` steps.
    pub(super) fn first(&self, steps: usize) -> Self {
        Self(self.0.iter().take(steps).cloned().collect())
    }

    /// Whether the pointer refers to a value inside the value that `other` refers to.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }
}

impl Index {
    /// Parses an array index, which consists of digits without leading zeros, or is `-`.
    pub(super) fn parse(step: &str) -> Self {
        let is_number = !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit());
        match step {
            "-" => Self::End,
            "0" => Self::At(0),
            _ if is_number && !step.starts_with('0') => {
                // An index that does not fit in a `usize` is past the end of any array.
                Self::At(step.parse().unwrap_or(usize::MAX))
            }
            _ => Self::None,
        }
    }
}

impl fmt::Display for Pointer {
    /// Formats the pointer in RFC 6901 syntax. Control characters are not escaped for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, PointerError> {
        Self::new(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointer_parsing_follows_rfc_6901() {
        for (text, steps) in [
            ("", &[][..]),
            ("/", &[""]),
            ("/foo/0", &["foo", "0"]),
            ("/a~1b", &["a/b"]),
            ("/m~0n", &["m~n"]),
            ("/~01", &["~1"]),
            ("/ /\"", &[" ", "\""]),
        ] {
            let pointer = Pointer::new(text).unwrap();
            assert_eq!(pointer.steps(), steps);
            assert_eq!(pointer.to_string(), text);
        }
        let error = |text| Pointer::new(text).unwrap_err().to_string();
        assert_eq!(
            error("a\n"),
            "`a\\n` is not a valid JSON Pointer: it must start with `/`, or be empty for the whole \
             document"
        );
        for text in ["/~", "/a~2", "/~~1"] {
            assert_eq!(
                error(text),
                format!(
                    "`{text}` is not a valid JSON Pointer: `~` may appear only in the escapes `~0` \
                     (for `~`) and `~1` (for `/`)"
                )
            );
        }
    }

    #[test]
    fn an_index_is_digits_without_leading_zeros() {
        for (step, index) in [
            ("0", Index::At(0)),
            ("10", Index::At(10)),
            ("99999999999999999999999", Index::At(usize::MAX)),
            ("-", Index::End),
            ("", Index::None),
            ("00", Index::None),
            ("01", Index::None),
            ("-1", Index::None),
            ("+1", Index::None),
            ("1e0", Index::None),
            ("١", Index::None),
        ] {
            assert_eq!(Index::parse(step), index, "{step}");
        }
    }
}
