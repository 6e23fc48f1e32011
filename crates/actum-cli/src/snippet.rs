//! Excerpt of an input for an error message: the line at fault with a mark below the position. If the line may contain
//! a credential, the reason for withholding it is stated instead.

use std::fmt::{self, Display};
use std::path::Path;

use actum_core::path::Harmless;
use actum_core::place::Place;
use actum_gate::credential::spans;

use crate::private_place;

/// Decision on whether an error message quotes its input. An agent may run this program on files that it cannot read
/// itself, and messages are kept in logs, so a credential is never quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Quote {
    /// The line at the position of the error, if there is one, may be shown.
    Shown(Option<Box<Snippet>>),
    /// Only the position of the error may be shown.
    Withheld { place: Option<Place>, why: Withheld },
}

/// Reason why no content of an input is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Withheld {
    #[error("the file may contain credentials, or belongs to the system or the operator")]
    Place,
    #[error("this line seems to contain a credential")]
    Credential,
    #[error("it is not an actum document")]
    Kind,
}

impl Quote {
    /// Decides what to quote for an error at `place` in `input`, which was read from `file`, or from standard input if
    /// `file` is `None`.
    pub(crate) fn new(file: Option<&Path>, input: &[u8], place: Option<Place>) -> Self {
        match Withheld::find(file, input, place) {
            Some(why) => Self::Withheld { place, why },
            None => {
                Self::Shown(place.and_then(|place| Snippet::from_place(input, place)).map(Box::new))
            }
        }
    }

    /// Withholds the content if the input is not a document of this program, because a file of another kind may contain
    /// anything.
    pub(crate) fn of_kind(self, is_expected: bool) -> Self {
        match self {
            Self::Shown(_) if !is_expected => Self::Withheld { place: None, why: Withheld::Kind },
            quote @ (Self::Shown(_) | Self::Withheld { .. }) => quote,
        }
    }

    /// Returns the message for `problem`. If the content is withheld, the message has only the kind of the problem and
    /// its position, because `problem` may quote the input.
    pub(crate) fn message(&self, problem: &dyn Display, kind: &str) -> String {
        match self {
            Self::Shown(_) => problem.to_string(),
            Self::Withheld { place: None, .. } => self.message_at_place(problem, kind),
            Self::Withheld { place: Some(Place { line, column }), .. } => {
                let message = self.message_at_place(problem, kind);
                format!("line {line}, column {column}: {message}")
            }
        }
    }

    /// Returns the message without a position, for use where the position is reported separately.
    pub(crate) fn message_at_place(&self, problem: &dyn Display, kind: &str) -> String {
        match self {
            Self::Shown(_) => problem.to_string(),
            Self::Withheld { why, .. } => {
                format!("{kind}; its content is not shown because {why}")
            }
        }
    }

    /// Returns whether content of the input may be shown.
    pub(crate) fn is_shown(&self) -> bool {
        matches!(self, Self::Shown(_))
    }

    /// Returns the excerpt to show, if there is one.
    pub(crate) fn snippet(&self) -> Option<&Snippet> {
        match self {
            Self::Shown(snippet) => snippet.as_deref(),
            Self::Withheld { .. } => None,
        }
    }
}

impl Withheld {
    fn find(file: Option<&Path>, input: &[u8], place: Option<Place>) -> Option<Self> {
        if file.is_some_and(private_place::is_private) {
            return Some(Self::Place);
        }
        // A problem of the entire input is reported at its first line.
        let number = place.map_or(1, |place| place.line).saturating_sub(1);
        let before = usize::try_from(number).ok()?;
        let start: usize =
            input.split_inclusive(|&b| b == b'\n').take(before).map(<[u8]>::len).sum();
        let rest = input.get(start..).unwrap_or_default();
        let end = start + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        let is_here =
            |span: &std::ops::Range<usize>| span.start < end.max(start + 1) && start < span.end;
        spans(input).iter().any(is_here).then_some(Self::Credential)
    }
}

/// Maximum length of the part of a line that is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 100;

/// Line of an input, with a mark below one position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snippet {
    number: u64,
    text: String,
    /// Number of characters in the text before the marked position.
    indent: usize,
}

impl Snippet {
    /// Returns the line at `place`, or `None` if the input has no such line.
    fn from_place(input: &[u8], place: Place) -> Option<Self> {
        let index = usize::try_from(place.line.checked_sub(1)?).ok()?;
        let line = input.split(|&b| b == b'\n').nth(index)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let column = usize::try_from(place.column.saturating_sub(1)).ok()?.min(line.len());
        // Show only the part of a long line that surrounds the position.
        let start = column.saturating_sub(SHOWN_BYTES_MAX / 2);
        let end = line.len().min(start.saturating_add(SHOWN_BYTES_MAX));
        let shown = |from: usize, to: usize| {
            let text = Harmless(line.get(from..to).unwrap_or_default()).to_string();
            text.replace('\t', " ")
        };
        let mark = |cut: bool| if cut { "…" } else { "" };
        let before = format!("{}{}", mark(start > 0), shown(start, column));
        let text = format!("{before}{}{}", shown(column, end), mark(end < line.len()));
        Some(Self { number: place.line, text, indent: before.chars().count() })
    }
}

impl Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, text, indent } = self;
        let width = number.to_string().len();
        writeln!(f, "{:width$} |", "")?;
        writeln!(f, "{number} | {text}")?;
        write!(f, "{:width$} | {:indent$}^", "", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(input: &[u8], line: u64, column: u64) -> String {
        Snippet::from_place(input, Place { line, column }).unwrap().to_string()
    }

    #[test]
    fn snippet_marks_the_column_below_the_line() {
        assert_eq!(snippet(b"a\nb\tcd\r\n", 2, 3), "  |\n2 | b cd\n  |   ^");
        assert_eq!(snippet(b"a\n", 2, 1), "  |\n2 | \n  | ^");
        assert_eq!(Snippet::from_place(b"a", Place { line: 2, column: 1 }), None);
    }

    #[test]
    fn snippet_escapes_control_sequences_and_truncates_long_lines() {
        assert_eq!(snippet(b"\x1b[31mx", 1, 2), "  |\n1 | <\\033>[31mx\n  |       ^");
        let long = format!("{}{{{}", "x".repeat(500), "y".repeat(500));
        let shown = snippet(long.as_bytes(), 1, 501);
        assert!(shown.contains("…xxx") && shown.contains("yyy…"), "{shown}");
        assert!(shown.lines().all(|line| line.len() < 130), "{shown}");
    }

    /// AA-10, EX-20: lines with credentials and files that may contain them are not quoted.
    #[test]
    fn lines_with_credentials_and_files_that_may_hold_them_are_not_quoted() {
        let place = |line| Some(Place { line, column: 1 });
        let secret = format!("a\nkey = AKIA{}\nb\n", "Q3EGRZV7M5PLXW2T");
        let quote =
            |file: &str, line| Quote::new(Some(Path::new(file)), secret.as_bytes(), place(line));
        assert!(quote("/w/change", 1).snippet().is_some());
        assert!(quote("/w/change", 3).snippet().is_some());
        for withheld in [quote("/w/change", 2), quote("/w/.env", 1), quote("/etc/hostname", 3)] {
            assert_eq!(withheld.snippet(), None);
            let message = withheld.message(&"found AKIA", "the input is malformed");
            assert!(
                message.contains(": the input is malformed; its content")
                    && !message.contains("AKIA")
            );
        }
        assert_eq!(Quote::new(None, b"", None), Quote::Shown(None));
    }
}
