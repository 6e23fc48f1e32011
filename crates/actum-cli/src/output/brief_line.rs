//! Writes the single line of `--json=brief`. A document without a status is held back until the exit code is known.

use std::io;
use std::sync::{Mutex, PoisonError};

use actum_api::brief::{Brief, BriefParts};

use super::write_json;
use crate::exit::Exit;

/// State of the line that this process has to write.
enum Line {
    /// No document was shown yet.
    Due,
    /// A document without a status was shown, and waits for the exit code of the command.
    Waiting(Box<BriefParts>),
    /// The line or a standalone document was written, so nothing else may follow.
    Written,
}

/// State of this process's line. It is global because `Screen` is copied freely.
static LINE: Mutex<Line> = Mutex::new(Line::Due);

fn set(line: Line) -> Line {
    std::mem::replace(&mut *LINE.lock().unwrap_or_else(PoisonError::into_inner), line)
}

/// Writes a document that has a status, and holds back any other document until [`end`].
pub(super) fn show(parts: BriefParts) -> io::Result<()> {
    if parts.status.is_some() {
        return write(parts, Exit::Success);
    }
    match set(Line::Waiting(Box::new(parts))) {
        // Another document follows, so the earlier one was successful.
        Line::Waiting(earlier) => write_json(&Brief::new(*earlier, Exit::Success.status())),
        Line::Due | Line::Written => Ok(()),
    }
}

/// Writes a document immediately, with the status of `exit` if it has none of its own.
pub(super) fn write(parts: BriefParts, exit: Exit) -> io::Result<()> {
    set(Line::Written);
    write_json(&Brief::new(parts, exit.status()))
}

/// Records that a standalone document is written unchanged, so that no brief line follows it.
pub(super) fn skip() {
    set(Line::Written);
}

/// Writes the line at the end of the command, unless it was already written.
pub(super) fn end(exit: Exit) -> io::Result<()> {
    match set(Line::Written) {
        Line::Written => Ok(()),
        Line::Due => write(BriefParts::default(), exit),
        Line::Waiting(parts) => write(*parts, exit),
    }
}
