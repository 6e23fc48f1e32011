//! JSON Pointer (RFC 6901): the way to a value inside a document.

use std::fmt;

use actum_core::place::Excerpt;
use serde::{Deserialize, Serialize, Serializer};

/// The way to a value: the names and indices from the outside in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Pointer(Vec<String>);

/// Error for a text that is not a pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no JSON Pointer: {problem}")]
pub struct PointerError {
    /// The text that was given.
    pub given: Excerpt,
    /// Problem of the text.
    pub problem: PointerSyntax,
}

/// Problem of the spelling of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointerSyntax {
    /// The text is neither empty nor starts with a slash.
    #[error("it must be empty, for the whole document, or start with `/`")]
    NoSlash,
    /// A tilde that is no escape.
    #[error("`~` may stand only in `~0`, which means `~`, and in `~1`, which means `/`")]
    Tilde,
}

/// Meaning of a step of a pointer in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    /// The element with this number, counted from 0.
    At(usize),
    /// Behind the last one.
    End,
    /// Nothing.
    None,
}

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// [`PointerError`].
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

    /// The steps, from the outside in.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// The first steps of it.
    pub(super) fn first(&self, steps: usize) -> Self {
        Self(self.0.iter().take(steps).cloned().collect())
    }

    /// Returns true if it leads into the target of `other`.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }
}

impl Index {
    /// Reads a step: digits without leading zeros, or `-`.
    pub(super) fn parse(step: &str) -> Self {
        let is_number = !step.is_empty() && step.bytes().all(|b| b.is_ascii_digit());
        match step {
            "-" => Self::End,
            "0" => Self::At(0),
            _ if is_number && !step.starts_with('0') => {
                // What does not fit is past the end of any array.
                Self::At(step.parse().unwrap_or(usize::MAX))
            }
            _ => Self::None,
        }
    }
}

impl fmt::Display for Pointer {
    /// In RFC 6901 spelling; not escaped for a terminal.
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
    fn a_pointer_is_read_as_rfc_6901_says() {
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
            "`a\\n` is no JSON Pointer: it must be empty, for the whole document, or start with `/`"
        );
        for text in ["/~", "/a~2", "/~~1"] {
            assert_eq!(
                error(text),
                format!(
                    "`{text}` is no JSON Pointer: `~` may stand only in `~0`, which means `~`, and \
                     in `~1`, which means `/`"
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
