//! Colours of the text output. They only emphasize what the text states, and are omitted unless a terminal shows them.
//!
//! Texts contain no escape sequences. Instead, a noncharacter marks the start of a colour, and only
//! [`guard`](crate::guard) replaces it with the escape sequence. An escape sequence in a text is therefore never one of
//! actum.

use std::fmt::{self, Display};

use actum_edit::format::git_diff::write::Part;
use anstyle::{AnsiColor, Style};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Green.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const RUN: Style = AnsiColor::Yellow.on_default();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const CHANGED: Style = AnsiColor::Yellow.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();
const PLAIN: Style = Style::new();

/// Value whose text is shown in a colour.
pub(crate) struct Painted<T>(pub(crate) Style, pub(crate) T);

/// Styles that have a mark. Their marks are consecutive characters, starting with [`FIRST_MARK`]. The mark of the plain
/// style ends all others.
const MARKED: [Style; 9] = [PLAIN, ERROR, HINT, NOTE, RUN, ADDED, REMOVED, PLAIN.bold(), HUNK];
const FIRST_MARK: u32 = 0xfdd0;

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        match mark(*style).filter(|_| *style != PLAIN) {
            Some(begin) => write!(f, "{begin}{text}{}", mark(PLAIN).unwrap_or_default()),
            None => write!(f, "{text}"),
        }
    }
}

fn mark(style: Style) -> Option<char> {
    let at = MARKED.iter().position(|marked| *marked == style)?;
    char::from_u32(FIRST_MARK + u32::try_from(at).ok()?)
}

/// Returns the escape sequence for a mark, or `None` if the character is not a mark.
pub(crate) fn sequence(mark: char) -> Option<String> {
    let at = usize::try_from(u32::from(mark).checked_sub(FIRST_MARK)?).ok()?;
    let style = MARKED.get(at)?;
    Some(if *style == PLAIN { anstyle::Reset.to_string() } else { style.to_string() })
}

/// Returns the colour for a part of a diff, which is the same as in git.
pub(crate) fn of_part(part: Part) -> Style {
    match part {
        Part::Header | Part::Binary => PLAIN.bold(),
        Part::HunkHeader => HUNK,
        Part::Context => PLAIN,
        Part::Removed => REMOVED,
        Part::Added => ADDED,
    }
}
