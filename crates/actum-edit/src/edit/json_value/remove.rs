//! Removes a member of an object with its comma and its line. Of the comments, only those inside the member are removed.

use std::ops::Range;

use super::gap::Gap;
use super::outline::Level;
use super::{File, Piece};

/// Returns the pieces that remove the member at `index`.
pub(super) fn pieces(file: File<'_>, object: &Level, index: usize) -> Vec<Piece> {
    let text = file.text;
    let Some(member) = object.children.get(index) else { return Vec::new() };
    let (open, close) = (object.span.start + 1, object.span.end.saturating_sub(1));
    let previous = index.checked_sub(1).and_then(|before| object.children.get(before));
    let next = object.children.get(index + 1).map(|next| next.name.start);
    let before = Gap::new(text, previous.map_or(open, |p| p.value.end)..member.name.start);
    let after = Gap::new(text, member.value.end..next.unwrap_or(close));
    let gone = |range: Range<usize>| (range, String::new());
    let is_bare = before.comments.is_empty() && after.comments.is_empty();
    if previous.is_none() && next.is_none() && is_bare {
        return vec![gone(open..close)];
    }
    let mut core = member.name.start..member.value.end;
    let mut comma = None;
    match (after.comma, before.comma) {
        (Some(own), _) if after.comments.iter().all(|comment| comment.range.start > own) => {
            core.end = own + 1;
        }
        (Some(own), _) => comma = Some(own),
        // Remove the last member together with the comma before it and all blanks in between.
        (None, Some(_)) if before.comments.is_empty() => {
            return vec![gone(before.range.start..core.end)];
        }
        (None, Some(other)) => comma = Some(other),
        (None, None) => {}
    }
    let mut pieces = vec![gone(line(text, core, open..close))];
    pieces.extend(comma.map(|comma| gone(comma..comma + 1)));
    pieces.sort_by_key(|(range, _)| range.start);
    pieces
}

/// Extends `core` by the blanks around it that are no longer needed. If nothing else is on the line, the entire line is
/// included.
fn line(text: &str, core: Range<usize>, within: Range<usize>) -> Range<usize> {
    let is_blank = |c: char| matches!(c, ' ' | '\t');
    let left = text.get(within.start..core.start).unwrap_or_default();
    let right = text.get(core.end..within.end).unwrap_or_default();
    let start = within.start + left.trim_end_matches(is_blank).len();
    let rest = right.trim_start_matches(is_blank);
    let end = within.end - rest.len();
    let line_end = ["\n", "\r\n"].into_iter().find(|end| rest.starts_with(end)).map(str::len);
    let starts_line = left.get(..start - within.start).is_some_and(|left| left.ends_with('\n'));
    match (starts_line, line_end) {
        (true, Some(length)) => start..end + length,
        // The text after the member moves to the start of the member.
        (true, None) => core.start..end,
        (false, None) if !rest.is_empty() => core.start..end,
        // The member is followed by a line break or the closing bracket, so remove the blanks before the member.
        (false, Some(_) | None) => start..core.end,
    }
}
