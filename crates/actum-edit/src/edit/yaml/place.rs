//! Computes the byte ranges of YAML nodes, which the event parser reports only in part.
//!
//! The text between two nodes consists of whitespace, comments, anchors, tags and indicators. Only this text is scanned
//! here.

use super::tree::{Extent, Node, NodeKind, Notation, Style};

/// Sets the [`Extent`] of `node` and all nodes inside it, and returns the end of `node`.
///
/// `slot` is the end of the indicator before the node. If the text does not match the parsed nodes, the error is the byte
/// offset of the mismatch.
pub(super) fn settle(node: &mut Node<'_>, text: &str, slot: usize) -> Result<usize, usize> {
    let mut free = slot;
    let mut start = skip(text, slot);
    let anchor = node.anchor.as_ref().map(|anchor| anchor.span.clone());
    let tag = node.tag.clone().filter(|tag| !tag.is_empty());
    for _ in 0..2 {
        for property in [&anchor, &tag].into_iter().flatten() {
            if property.start == start {
                free = property.end;
                start = skip(text, free);
            }
        }
    }
    let extent = Extent { slot, free, start, end: node.extent.end, has_no_colon: false };
    if node.is_empty() {
        node.extent = Extent { start: free, end: free, ..extent };
        return Ok(free);
    }
    let span = node.span.clone();
    let end = match &mut node.shape {
        NodeKind::Alias(_) if span.start == start => span.end,
        NodeKind::Scalar(_, Style::Plain | Style::SingleQuoted | Style::DoubleQuoted)
            if span.start == start =>
        {
            span.end
        }
        NodeKind::Scalar(value, Style::Literal | Style::Folded) => {
            block_scalar(text, start, span.end, value)?.end
        }
        NodeKind::Scalar(..) | NodeKind::Alias(_) => return Err(start),
        NodeKind::Sequence(notation, items) => {
            let mut at = start;
            let is_flow = *notation == Notation::Flow;
            at += usize::from(is_flow);
            for item in items {
                at = skip(text, at);
                let is_mark = text.get(at..).is_some_and(|rest| rest.starts_with(['-', ',']));
                let is_comma =
                    is_flow && is_mark && text.get(at..).is_some_and(|r| r.starts_with(','));
                if is_comma || !is_flow {
                    if !is_mark {
                        return Err(at);
                    }
                    at += 1;
                }
                at = settle(item, text, at)?;
            }
            if is_flow { extent.end } else { at }
        }
        NodeKind::Mapping(notation, entries) => {
            let is_flow = *notation == Notation::Flow;
            // A single pair in a flow sequence has no braces.
            let has_braces = is_flow && text.get(start..).is_some_and(|rest| rest.starts_with('{'));
            let mut at = start + usize::from(has_braces);
            for (key, value) in entries {
                at = entry(key, value, text, at, is_flow)?;
            }
            if has_braces { extent.end } else { at }
        }
    };
    node.extent = Extent { end, ..extent };
    if end < start || end > text.len() { Err(start) } else { Ok(end) }
}

fn entry(
    key: &mut Node<'_>,
    value: &mut Node<'_>,
    text: &str,
    at: usize,
    is_flow: bool,
) -> Result<usize, usize> {
    let starts = |at: usize, sign: char| text.get(at..).is_some_and(|rest| rest.starts_with(sign));
    let mut at = skip(text, at);
    if is_flow && starts(at, ',') {
        at = skip(text, at + 1);
    }
    let is_key = !key.is_empty() && key.span.start == at;
    if starts(at, '?') && !is_key {
        at += 1;
    }
    let end = settle(key, text, at)?;
    let colon = skip(text, end);
    if starts(colon, ':') {
        return settle(value, text, colon + 1);
    }
    if !value.is_empty() {
        return Err(colon);
    }
    let end = settle(value, text, end)?;
    value.extent.has_no_colon = true;
    Ok(end)
}

/// Byte offsets of the parts of a block scalar.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockScalar {
    /// End of the header, such as `|` or `>-2`.
    pub(super) header: usize,
    /// End of the line that contains the header.
    pub(super) line: usize,
    /// End of the scalar, without trailing blank lines that are not part of its value.
    pub(super) end: usize,
}

/// Finds the parts of the block scalar that has this `value`, starts at `start` and ends before `stop`.
///
/// The lines of the scalar may be followed by comments with less indentation, and by the indentation of the next node.
pub(super) fn block_scalar(
    text: &str,
    start: usize,
    stop: usize,
    value: &str,
) -> Result<BlockScalar, usize> {
    let rest = text.get(start..).unwrap_or_default();
    let signs = rest.strip_prefix(['|', '>']).ok_or(start)?;
    let signs = signs.len()
        - signs.trim_start_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-').len();
    let header = start + 1 + signs;
    let keeps = text.get(start..header).is_some_and(|signs| signs.contains('+'));
    let line = line_end(text, header);
    let Some(body) = text.get(line..stop) else {
        return Ok(BlockScalar { header, line, end: header });
    };
    let body_end = body_end(body, value, keeps, stop == text.len());
    Ok(BlockScalar { header, line, end: body_end.map_or(header, |end| line + end) })
}

/// Returns the end of the last line of a block scalar within `body`, or `None` if no line belongs to its value.
///
/// `body` starts at the end of the header's line. `is_last` is true if the file ends after `body`.
fn body_end(body: &str, value: &str, keeps: bool, is_last: bool) -> Option<usize> {
    // Folding does not change the first line with text, so its spaces beyond those of the value are the indentation.
    let has_text = |line: &&str| !line.trim_matches([' ', '\r', '\n']).is_empty();
    let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let own = value.split('\n').find(has_text).map(blanks);
    let first = body.split(['\n', '\r']).find(has_text).map(blanks);
    let indentation = own.zip(first).map(|(own, first)| first.saturating_sub(own));
    let (mut end, mut at) = (None, 0);
    for line in lines(body) {
        let content = line.trim_end_matches(['\n', '\r']);
        let is_blank = blanks(content) == content.len();
        let counts = match indentation {
            // A line with less indentation ends the scalar.
            Some(indentation) if !is_blank && blanks(content) < indentation => break,
            Some(indentation) => content.len() > indentation,
            None if !is_blank => break,
            None => !content.is_empty(),
        };
        // Otherwise, this is the indentation of the next node and not a line.
        let is_line = line.len() > content.len() || !is_blank || is_last;
        if is_line && (counts || (keeps && at > 0)) {
            end = Some(at + content.len());
        }
        at += line.len();
    }
    end
}

/// Returns the end of the line that contains the offset `at`, before its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.find(['\n', '\r']).unwrap_or(rest.len())
}

/// Splits a text into lines that include their line breaks, which can be LF, CRLF or CR.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match rest.find(['\n', '\r']) {
            Some(end) if rest.get(end..).is_some_and(|rest| rest.starts_with("\r\n")) => end + 2,
            Some(end) => end + 1,
            None => rest.len(),
        };
        let (line, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!line.is_empty()).then_some(line)
    })
}

/// Skips whitespace and comments from the offset `at`, and returns the offset after them.
pub(super) fn skip(text: &str, at: usize) -> usize {
    let mut at = at;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        at += blanks;
        let Some(comment) = rest.get(blanks..).filter(|rest| rest.starts_with('#')) else {
            return at;
        };
        at += comment.find(['\n', '\r']).unwrap_or(comment.len());
    }
}
