//! Quoted content of an input in an error: the line with a mark below the position, or the reason for quoting nothing.

use std::fmt::{self, Display};
use std::path::Path;

use actum_core::path::Harmless;
use actum_core::place::Place;
use actum_gate::credential::spans;

use crate::private_place;

/// Content of an input that an error may quote. An agent may start this program on files that it cannot read itself,
/// and logs keep messages, so a credential is never quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Quote {
    /// Line at the position, if there is one.
    Shown(Option<Box<Snippet>>),
    /// Nothing but the position.
    Withheld { place: Option<Place>, why: Withheld },
}

/// Reason for quoting no content of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Withheld {
    #[error("the file is in a usual place of credentials, of the system or of the operator")]
    Place,
    #[error("a credential seems to be in this line")]
    Credential,
    #[error("it is no document of actum")]
    Kind,
}

impl Quote {
    /// Decides the quote of an error at `place` in `input`, which was read from `file`, or from standard input.
    pub(crate) fn new(file: Option<&Path>, input: &[u8], place: Option<Place>) -> Self {
        match Withheld::find(file, input, place) {
            Some(why) => Self::Withheld { place, why },
            None => {
                Self::Shown(place.and_then(|place| Snippet::from_place(input, place)).map(Box::new))
            }
        }
    }

    /// Decides the quote of `input` that should be a document of this program. Nothing is quoted of a file of another
    /// kind.
    pub(crate) fn of_kind(self, is_expected: bool) -> Self {
        match self {
            Self::Shown(_) if !is_expected => Self::Withheld { place: None, why: Withheld::Kind },
            quote @ (Self::Shown(_) | Self::Withheld { .. }) => quote,
        }
    }

    /// Returns the message about `problem`, which may quote the input; of a withheld one, its kind and position.
    pub(crate) fn message(&self, problem: &dyn Display, kind: &str) -> String {
        match self {
            Self::Shown(_) => problem.to_string(),
            Self::Withheld { place: None, .. } => self.message_at_place(problem, kind),
            Self::Withheld { place: Some(Place { line, column }), .. } => {
                let told = self.message_at_place(problem, kind);
                format!("line {line}, column {column}: {told}")
            }
        }
    }

    /// Returns the message if the position is reported beside it.
    pub(crate) fn message_at_place(&self, problem: &dyn Display, kind: &str) -> String {
        match self {
            Self::Shown(_) => problem.to_string(),
            Self::Withheld { why, .. } => {
                format!("{kind}; its content is not shown, since {why}")
            }
        }
    }

    /// Returns true if content may be shown.
    pub(crate) fn is_shown(&self) -> bool {
        matches!(self, Self::Shown(_))
    }

    /// Returns the line that is shown.
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
        // A problem of the whole input is reported with its first line.
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

/// Limit of the shown part of a line, in bytes.
const SHOWN_BYTES_MAX: usize = 100;

/// Line of an input and a position in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snippet {
    number: u64,
    text: String,
    /// Number of characters of the text before the position.
    indent: usize,
}

impl Snippet {
    /// Returns the line at `place`; `None` if the input has no such line.
    fn from_place(input: &[u8], place: Place) -> Option<Self> {
        let index = usize::try_from(place.line.checked_sub(1)?).ok()?;
        let line = input.split(|&b| b == b'\n').nth(index)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let column = usize::try_from(place.column.saturating_sub(1)).ok()?.min(line.len());
        // Of a long line, only the part around the position is shown.
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
    fn the_line_is_shown_with_a_mark_below_the_place() {
        assert_eq!(snippet(b"a\nb\tcd\r\n", 2, 3), "  |\n2 | b cd\n  |   ^");
        assert_eq!(snippet(b"a\n", 2, 1), "  |\n2 | \n  | ^");
        assert_eq!(Snippet::from_place(b"a", Place { line: 2, column: 1 }), None);
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_a_long_line_cut() {
        assert_eq!(snippet(b"\x1b[31mx", 1, 2), "  |\n1 | <\\033>[31mx\n  |       ^");
        let long = format!("{}{{{}", "x".repeat(500), "y".repeat(500));
        let shown = snippet(long.as_bytes(), 1, 501);
        assert!(shown.contains("…xxx") && shown.contains("yyy…"), "{shown}");
        assert!(shown.lines().all(|line| line.len() < 130), "{shown}");
    }

    /// AA-10, EX-20
    #[test]
    fn nothing_is_quoted_of_a_line_with_a_credential_or_of_a_file_that_holds_some() {
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
