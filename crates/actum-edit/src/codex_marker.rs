//! Marker lines of the Codex patch format.

pub(crate) const BEGIN: &str = "*** Begin Patch";
pub(crate) const END: &str = "*** End Patch";
pub(crate) const ADD: &str = "*** Add File: ";
pub(crate) const DELETE: &str = "*** Delete File: ";
pub(crate) const UPDATE: &str = "*** Update File: ";
pub(crate) const MOVE: &str = "*** Move to: ";
pub(crate) const END_OF_FILE: &str = "*** End of File";

/// Checks whether a line is a marker of the Codex patch format, ignoring leading and trailing blanks.
pub(crate) fn is_marker(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    [BEGIN, END, END_OF_FILE].iter().any(|marker| line == marker.as_bytes()) || is_section(line)
}

/// Checks whether a line begins a file section of a Codex patch or declares a move.
pub(crate) fn is_section(line: &[u8]) -> bool {
    [ADD, DELETE, UPDATE, MOVE].iter().any(|keyword| line.starts_with(keyword.as_bytes()))
}
