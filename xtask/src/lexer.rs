//! Splits Rust sources into code, literals and comments.

/// Part of a source text that is entirely of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    /// String or character literal, including its quotes.
    Literal,
    /// `///` or `/** */` comment.
    OuterDoc,
    /// `//!` or `/*! */` comment.
    InnerDoc,
    /// Any other comment. A line comment does not include its line break.
    Comment,
}

/// Splits `text` into pieces, which together are exactly the text.
pub(crate) fn pieces(text: &str) -> Pieces<'_> {
    Pieces { text, at: 0 }
}

pub(crate) struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut after_word = false;
        while let Some(&first) = bytes.get(self.at) {
            let rest = bytes.get(self.at..).unwrap_or_default();
            if let Some((kind, length)) = other_than_code(rest, self.text, self.at, after_word) {
                if self.at > start {
                    break;
                }
                self.at = (start + length).min(bytes.len());
                return Some(Piece { kind, text: self.text.get(start..self.at)? });
            }
            after_word = is_word(first);
            self.at += 1;
        }
        let text = self.text.get(start..self.at).filter(|text| !text.is_empty())?;
        Some(Piece { kind: Kind::Code, text })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Returns the kind and length of the comment or literal at the beginning of `rest`, which is the text from `at` on.
fn other_than_code(rest: &[u8], text: &str, at: usize, after_word: bool) -> Option<(Kind, usize)> {
    match rest {
        [b'/', b'/', ..] => Some((line_kind(rest), line(rest))),
        [b'/', b'*', ..] => Some((block_kind(rest), block_comment(rest))),
        [b'"', ..] => Some((Kind::Literal, quoted(rest, b'"'))),
        // Any other single quote begins a lifetime or a label.
        [b'\'', b'\\', ..] => Some((Kind::Literal, quoted(rest, b'\''))),
        [b'\'', ..] => {
            let char = text.get(at + 1..)?.chars().next()?;
            let end = 1 + char.len_utf8();
            (rest.get(end) == Some(&b'\'')).then_some((Kind::Literal, end + 1))
        }
        [b'r' | b'b' | b'c', ..] if !after_word => Some((Kind::Literal, raw_string(rest)?)),
        _ => None,
    }
}

fn line_kind(rest: &[u8]) -> Kind {
    match rest {
        [_, _, b'/', b'/', ..] => Kind::Comment,
        [_, _, b'/', ..] => Kind::OuterDoc,
        [_, _, b'!', ..] => Kind::InnerDoc,
        _ => Kind::Comment,
    }
}

fn block_kind(rest: &[u8]) -> Kind {
    match rest {
        [_, _, b'*', b'*' | b'/', ..] => Kind::Comment,
        [_, _, b'*', ..] => Kind::OuterDoc,
        [_, _, b'!', ..] => Kind::InnerDoc,
        _ => Kind::Comment,
    }
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

/// Returns the length of a block comment, which may contain nested ones.
fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match rest.get(at..).unwrap_or_default() {
            [] => return rest.len(),
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    loop {
        match rest.get(at) {
            None => return rest.len(),
            Some(b'\\') => at += 2,
            Some(&byte) if byte == quote => return at + 1,
            Some(_) => at += 1,
        }
    }
}

/// Returns the length of `r"..."`, `br#"..."#` and similar literals, but not of raw identifiers such as `r#type`.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = if rest.first() == Some(&b'r') { 1 } else { 2 };
    if rest.get(prefix - 1) != Some(&b'r') {
        return None;
    }
    let hashes = rest.iter().skip(prefix).take_while(|&&byte| byte == b'#').count();
    let start = prefix + hashes;
    if rest.get(start) != Some(&b'"') {
        return None;
    }
    let closes = |at: &usize| {
        rest.get(*at) == Some(&b'"')
            && rest.iter().skip(at + 1).take(hashes).filter(|&&byte| byte == b'#').count() == hashes
    };
    let end = (start + 1..rest.len()).find(closes);
    Some(end.map_or(rest.len(), |end| end + 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        pieces(text).map(|piece| (piece.kind, piece.text)).collect()
    }

    #[test]
    fn comment_kinds_are_distinguished() {
        let cases = [
            ("/// a", Kind::OuterDoc),
            ("//! a", Kind::InnerDoc),
            ("// a", Kind::Comment),
            ("//// a", Kind::Comment),
            ("//", Kind::Comment),
            ("/** a */", Kind::OuterDoc),
            ("/*! a */", Kind::InnerDoc),
            ("/* a /* b */ c */", Kind::Comment),
            ("/*** a */", Kind::Comment),
            ("/**/", Kind::Comment),
        ];
        for (text, kind) in cases {
            assert_eq!(kinds(text), [(kind, text)], "{text}");
        }
    }

    #[test]
    fn comment_markers_in_literals_start_no_comment() {
        let literals = [
            r#""// \" /*""#,
            r##"r#"// " //"#"##,
            r###"br##"/* "# "##"###,
            "'/'",
            r"'\''",
            "'\"'",
            "'é'",
            "\"https://a\n// b\"",
        ];
        for literal in literals {
            let text = format!("f({literal}) // c");
            let expected = [
                (Kind::Code, "f("),
                (Kind::Literal, literal),
                (Kind::Code, ") "),
                (Kind::Comment, "// c"),
            ];
            assert_eq!(kinds(&text), expected, "{text}");
        }
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        for code in
            ["fn f<'a, 'b>(x: &'a str)", "r#type", "'label: loop {}", "var\u{e9}r", "b'", "'"]
        {
            assert_eq!(kinds(code), [(Kind::Code, code)]);
        }
    }

    #[test]
    fn unterminated_piece_extends_to_the_end() {
        for text in ["\"a", "/* a /* b */", "r#\"a\"", "'\\", "\"a\\"] {
            let joined: String = pieces(text).map(|piece| piece.text).collect();
            assert_eq!(joined, text);
        }
    }
}
