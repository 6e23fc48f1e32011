//! Colours. They only repeat what the text says, and are left out where nobody sees them.

use std::fmt::{self, Display};

use actum_core::format::git_diff::write::Part;
use anstyle::{AnsiColor, Style};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Green.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const RUN: Style = AnsiColor::Yellow.on_default();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const CHANGED: Style = AnsiColor::Yellow.on_default();
const PLAIN: Style = Style::new();

/// Something shown in a colour.
pub(crate) struct Painted<T>(pub(crate) Style, pub(crate) T);

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}

/// The colour of a part of a diff, as git has it.
pub(crate) fn of_part(part: Part) -> Style {
    match part {
        Part::Header | Part::Binary => PLAIN.bold(),
        Part::HunkHeader => AnsiColor::Cyan.on_default(),
        Part::Context => PLAIN,
        Part::Removed => REMOVED,
        Part::Added => ADDED,
    }
}
