//! Comments of a Rust source. Consecutive line comments form one comment.

use crate::lexer::{Kind, Piece, pieces};

/// Comment without its comment markers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    pub(super) kind: Kind,
    /// Lines of the comment, each with its line number in the file, counted from 1.
    pub(super) lines: Vec<(usize, &'a str)>,
}

pub(super) fn comments(text: &str) -> Vec<Comment<'_>> {
    let mut comments: Vec<Comment<'_>> = Vec::new();
    let mut line = 1;
    // Whether the next line comment belongs to the previous one.
    let mut continues = false;
    let mut begins_line = true;
    for Piece { kind, text } in pieces(text) {
        let breaks = text.matches('\n').count();
        if matches!(kind, Kind::Code | Kind::Literal) {
            continues &= kind == Kind::Code && breaks == 1 && text.trim().is_empty();
            let last_line = text.rsplit('\n').next().unwrap_or_default();
            begins_line = (breaks > 0 || begins_line) && last_line.trim().is_empty();
        } else if text.starts_with("//") {
            let content = (line, line_content(text, kind));
            match comments.last_mut().filter(|last| continues && last.kind == kind) {
                Some(last) => last.lines.push(content),
                None => comments.push(Comment { kind, lines: vec![content] }),
            }
            // A comment after code is not joined with the following one.
            continues = begins_line;
        } else {
            let lines = (line..).zip(block_content(text, kind).lines().map(block_line)).collect();
            comments.push(Comment { kind, lines });
            continues = false;
        }
        line += breaks;
    }
    comments
}

fn line_content(text: &str, kind: Kind) -> &str {
    match kind {
        Kind::OuterDoc | Kind::InnerDoc => text.get(3..).unwrap_or_default(),
        Kind::Comment | Kind::Code | Kind::Literal => text.trim_start_matches('/'),
    }
}

fn block_content(text: &str, kind: Kind) -> &str {
    let text = text.strip_suffix("*/").unwrap_or(text);
    match kind {
        Kind::OuterDoc | Kind::InnerDoc => text.get(3..).unwrap_or_default(),
        Kind::Comment | Kind::Code | Kind::Literal => text.get(2..).unwrap_or_default(),
    }
}

/// Removes the star at the beginning of a block comment line.
fn block_line(line: &str) -> &str {
    let trimmed = line.trim_start();
    trimmed.strip_prefix('*').filter(|rest| !rest.starts_with('*')).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Kind, Vec<(usize, &str)>)> {
        comments(text).into_iter().map(|comment| (comment.kind, comment.lines)).collect()
    }

    #[test]
    fn line_comments_of_one_kind_on_consecutive_lines_are_one_comment() {
        let text = "//! a\n//! b\n\n//! c\n/// d\n// e\n    // f\nfn g() {}\n// h\n";
        assert_eq!(
            found(text),
            [
                (Kind::InnerDoc, vec![(1, " a"), (2, " b")]),
                (Kind::InnerDoc, vec![(4, " c")]),
                (Kind::OuterDoc, vec![(5, " d")]),
                (Kind::Comment, vec![(6, " e"), (7, " f")]),
                (Kind::Comment, vec![(9, " h")]),
            ]
        );
    }

    #[test]
    fn comment_after_code_is_separate() {
        let text = "a(); // b\n// c\n\"// no\"; // d\n";
        let expected = [(1, " b"), (2, " c"), (3, " d")];
        assert_eq!(found(text), expected.map(|line| (Kind::Comment, vec![line])));
    }

    #[test]
    fn a_block_comment_loses_its_stars_and_keeps_its_lines() {
        let text = "\n/** a\n * b /* c */\n */ x /* d */ // e";
        assert_eq!(
            found(text),
            [
                (Kind::OuterDoc, vec![(2, " a"), (3, " b /* c */"), (4, " ")]),
                (Kind::Comment, vec![(4, " d ")]),
                (Kind::Comment, vec![(4, " e")]),
            ]
        );
    }
}
