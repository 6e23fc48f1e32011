//! Line that `--json=brief` writes. A document without a status of its own waits for the exit code of the command.

use std::io;
use std::sync::{Mutex, PoisonError};

use actum_api::brief::{Brief, BriefParts};

use super::write_json;
use crate::exit::Exit;

/// State of the line.
enum Line {
    /// Nothing was shown.
    Due,
    /// A document without a status was shown.
    Waiting(Box<BriefParts>),
    /// The line or a standalone document is written.
    Written,
}

/// Line of this process. It is not part of `Screen`, which has many copies.
static LINE: Mutex<Line> = Mutex::new(Line::Due);

fn set(line: Line) -> Line {
    std::mem::replace(&mut *LINE.lock().unwrap_or_else(PoisonError::into_inner), line)
}

/// Writes a document that has a status, and keeps any other for the end.
pub(super) fn show(parts: BriefParts) -> io::Result<()> {
    if parts.status.is_some() {
        return write(parts, Exit::Success);
    }
    match set(Line::Waiting(Box::new(parts))) {
        // Another document follows, so this one did not fail.
        Line::Waiting(earlier) => write_json(&Brief::new(*earlier, Exit::Success.status())),
        Line::Due | Line::Written => Ok(()),
    }
}

/// Writes a document now, with the status of `exit` if it has none.
pub(super) fn write(parts: BriefParts, exit: Exit) -> io::Result<()> {
    set(Line::Written);
    write_json(&Brief::new(parts, exit.status()))
}

/// Records that a document is written unchanged, so that no line follows it.
pub(super) fn skip() {
    set(Line::Written);
}

/// Writes the line if it is still due.
pub(super) fn end(exit: Exit) -> io::Result<()> {
    match set(Line::Written) {
        Line::Written => Ok(()),
        Line::Due => write(BriefParts::default(), exit),
        Line::Waiting(parts) => write(*parts, exit),
    }
}
