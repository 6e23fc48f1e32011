//! Search-and-replace edits, which replace a unique text or every occurrence of a text in a file.

use std::fmt;

use crate::nearest_match::{Clause, Lines, NearestMatch};
use actum_core::count;
use actum_core::path::CutContent;
use serde::{Deserialize, Serialize};

use super::EDIT_BYTES_MAX;
use crate::Splice;
use crate::search::find_overlapping;

/// Replaces the text `old` with the text `new` in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// Text to search for, byte for byte. It must not be empty.
    #[serde(with = "crate::byte_text")]
    pub old: Vec<u8>,
    /// Text that replaces each occurrence of `old`.
    #[serde(with = "crate::byte_text")]
    pub new: Vec<u8>,
    /// Whether `old` must occur exactly once, or every occurrence is replaced.
    pub occurrences: Occurrences,
}

/// Number of times that the text to replace may occur in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Occurrences {
    /// The text must occur exactly once.
    One,
    /// The text must occur at least once. Every occurrence is replaced, except those that overlap a previous one.
    All,
}

/// Maximum number of occurrences that a single edit may replace.
pub const OCCURRENCES_MAX: usize = 1_000_000;
/// Maximum number of bytes of a text that an error message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Reason why a search-and-replace edit cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplacementError {
    /// The text to search for is empty.
    #[error("the text to replace is empty")]
    Empty,
    /// The old and the new text are equal.
    #[error("replacing `{}` with itself changes nothing", CutContent(old, SHOWN_BYTES_MAX))]
    Same {
        /// Text to replace.
        old: Vec<u8>,
    },
    /// The text to replace does not occur in the file.
    #[error("the text `{}` is not in the file{}", CutContent(old, SHOWN_BYTES_MAX), Clause(near.as_ref()))]
    Missing {
        /// Text to replace.
        old: Vec<u8>,
        /// Most similar text in the file, as a suggestion.
        near: Option<NearestMatch>,
    },
    /// The text occurs more often than [`OCCURRENCES_MAX`] allows.
    #[error(
        "the text `{}` occurs more than {OCCURRENCES_MAX} times in the file",
        CutContent(old, SHOWN_BYTES_MAX)
    )]
    TooMany {
        /// Text to replace.
        old: Vec<u8>,
    },
    /// The replacements would add more than [`EDIT_BYTES_MAX`] bytes to the file.
    #[error(
        "replacing every occurrence of `{}` would add more than {EDIT_BYTES_MAX} bytes",
        CutContent(old, SHOWN_BYTES_MAX)
    )]
    TooMuch {
        /// Text to replace.
        old: Vec<u8>,
    },
    /// The text occurs more than once, although it must be unique.
    #[error(
        "the text `{}` occurs {} times in the file (lines {lines}), but must occur exactly once",
        CutContent(old, SHOWN_BYTES_MAX),
        Times(lines.0.len())
    )]
    Ambiguous {
        /// Text to replace.
        old: Vec<u8>,
        /// Lines of the occurrences. The search stops at one occurrence more than [`OCCURRENCES_MAX`].
        lines: Lines,
    },
}

/// Displays a number of occurrences, or `more than` the limit at which the search stopped.
struct Times(usize);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            times if times > OCCURRENCES_MAX => write!(f, "more than {OCCURRENCES_MAX}"),
            times => write!(f, "{times}"),
        }
    }
}

impl Replacement {
    /// Returns the splices that perform the replacement in `content`, one for each occurrence.
    ///
    /// # Errors
    /// Returns [`ReplacementError`] if the text is missing, ambiguous or exceeds a limit.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, ReplacementError> {
        let Self { old, new, occurrences } = self;
        if old.is_empty() {
            return Err(ReplacementError::Empty);
        }
        if old == new {
            return Err(ReplacementError::Same { old: old.clone() });
        }
        let places: Vec<usize> = match occurrences {
            Occurrences::All => {
                let found = memchr::memmem::find_iter(content, old);
                found.take(OCCURRENCES_MAX + 1).collect()
            }
            Occurrences::One => find_overlapping(content, old).take(OCCURRENCES_MAX + 1).collect(),
        };
        let added = new.len().saturating_sub(old.len()).saturating_mul(places.len());
        match (places.as_slice(), occurrences) {
            ([], _) => {
                let near = NearestMatch::find(old, new, content);
                Err(ReplacementError::Missing { old: old.clone(), near })
            }
            ([_, _, ..], Occurrences::One) => {
                let (old, lines) = (old.clone(), Lines::new(content, places));
                Err(ReplacementError::Ambiguous { old, lines })
            }
            (places, _) if places.len() > OCCURRENCES_MAX => {
                Err(ReplacementError::TooMany { old: old.clone() })
            }
            (_, _) if count(added) > EDIT_BYTES_MAX => {
                Err(ReplacementError::TooMuch { old: old.clone() })
            }
            (places, _) => Ok(places
                .iter()
                .map(|place| Splice { offset: count(*place), old: old.clone(), new: new.clone() })
                .collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(old: &str, new: &str, occurrences: Occurrences, content: &str) -> String {
        let replacement = Replacement { old: old.into(), new: new.into(), occurrences };
        match replacement.splices(content.as_bytes()) {
            Ok(splices) => {
                let result = Splice::apply(&splices, content.as_bytes()).unwrap();
                String::from_utf8(result).unwrap()
            }
            Err(error) => error.to_string(),
        }
    }

    /// FO-10
    #[test]
    fn text_that_occurs_once_is_replaced() {
        assert_eq!(replace("b", "BB", Occurrences::One, "a b c"), "a BB c");
        assert_eq!(replace("b c", "", Occurrences::One, "a b c"), "a ");
        assert_eq!(replace("b\n", "x\ny\n", Occurrences::One, "a\nb\nc\n"), "a\nx\ny\nc\n");
    }

    /// FO-10
    #[test]
    fn every_occurrence_is_replaced_on_request() {
        assert_eq!(replace("b", "xx", Occurrences::All, "abcb"), "axxcxx");
        assert_eq!(replace("aa", "b", Occurrences::All, "aaa"), "ba");
        assert_eq!(replace("b", "x", Occurrences::All, "abc"), "axc");
    }

    /// FO-10
    #[test]
    fn ambiguous_text_is_refused_with_its_lines() {
        assert_eq!(
            replace("b", "x", Occurrences::One, "b\na\nb b\n"),
            "the text `b` occurs 3 times in the file (lines 1, 3, 3), but must occur exactly once"
        );
        assert!(replace("aa", "x", Occurrences::One, "aaa").contains("2 times"));
        let many = replace("b", "x", Occurrences::One, &"b\n".repeat(20));
        assert!(many.contains("20 times in the file (lines 1, 2, 3, 4, 5, 6, 7, 8, …)"), "{many}");
    }

    /// FO-10
    #[test]
    fn text_over_the_occurrence_limit_is_refused() {
        let content = "b".repeat(OCCURRENCES_MAX + 1);
        assert_eq!(
            replace("b", "x", Occurrences::One, &content),
            "the text `b` occurs more than 1000000 times in the file (lines 1, 1, 1, 1, 1, 1, 1, 1, …), \
             but must occur exactly once"
        );
        assert_eq!(
            replace("b", "x", Occurrences::All, &content),
            "the text `b` occurs more than 1000000 times in the file"
        );
        let just = "b".repeat(OCCURRENCES_MAX);
        assert!(replace("b", "x", Occurrences::One, &just).contains("occurs 1000000 times"));
        assert_eq!(replace("b", "x", Occurrences::All, &just), "x".repeat(OCCURRENCES_MAX));
    }

    #[test]
    fn missing_text_reports_the_closest_match() {
        assert_eq!(
            replace("f(a, b)", "x", Occurrences::One, "  f(a,b)\n"),
            "the text `f(a, b)` is not in the file; the text at line 1 differs only in whitespace"
        );
    }

    #[test]
    fn empty_search_and_no_op_replacement_are_refused() {
        assert!(replace("", "a", Occurrences::One, "a").contains("is empty"));
        assert_eq!(
            replace("a", "a", Occurrences::All, "a"),
            "replacing `a` with itself changes nothing"
        );
    }
}
