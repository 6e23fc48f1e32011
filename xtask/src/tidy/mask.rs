//! Views of a Rust source without comments and literals, so that a word in a message does not count as a use.

use crate::lexer::{Kind, pieces};

/// Two views of a Rust source. Both keep the line breaks and replace everything else that is hidden with blanks, so line numbers
/// are the same in both.
pub(super) struct Masked {
    /// Code without comments and without string and character literals.
    pub(super) code: String,
    /// Outer doc comments that begin with three slashes.
    pub(super) docs: String,
}

impl Masked {
    pub(super) fn new(text: &str) -> Self {
        let mut masked = Self { code: String::new(), docs: String::new() };
        for piece in pieces(text) {
            let is_doc = piece.kind == Kind::OuterDoc && piece.text.starts_with("///");
            show(&mut masked.code, piece.text, piece.kind == Kind::Code);
            show(&mut masked.docs, piece.text, is_doc);
        }
        masked
    }
}

fn show(view: &mut String, piece: &str, visible: bool) {
    if visible {
        view.push_str(piece);
    } else {
        view.extend(piece.chars().map(|char| if char == '\n' { char } else { ' ' }));
    }
}

/// Returns the numbers, counted from 1, of the lines on which `word` occurs in `code` as a whole word.
pub(super) fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let stands_in = |line: &str| line.split(|char| !is_part(char)).any(|found| found == word);
    code.lines().zip(1..).filter(|(line, _)| stands_in(line)).map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns both views, line by line, with runs of blanks reduced to one.
    fn views(text: &str) -> (String, String) {
        let Masked { code, docs } = Masked::new(text);
        let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let squeezed = |view: String| view.lines().map(squeeze).collect::<Vec<_>>().join("\n");
        (squeezed(code), squeezed(docs))
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let cases = [
            ("a // b\nc", "a\nc"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"f("x \" y", z)"#, "f( , z)"),
            (r##"r"a\" b r#"c " d"# e"##, "b e"),
            (r###"br##"a"# b"## c"###, "c"),
            (r#"number"a" r#type"#, "number r#type"),
            (r#"'a' '\'' '"' b 'c: &'static str"#, "b 'c: &'static str"),
            ("\"two\nlines\" a", "\na"),
            ("\"never closed", ""),
            ("/* never closed", ""),
            ("r#\"never closed", ""),
            ("'\\", ""),
        ];
        for (text, code) in cases {
            let no_docs = "\n".repeat(code.matches('\n').count());
            assert_eq!(views(text), (code.to_owned(), no_docs), "{text}");
        }
    }

    #[test]
    fn masking_preserves_positions() {
        let Masked { code, docs } = Masked::new("a /* é\n */ b\n/// c");
        assert_eq!((&*code, &*docs), ("a     \n    b\n     ", "      \n     \n/// c"));
    }

    #[test]
    fn only_outer_doc_comments_are_docs() {
        let text = "//! no\n/// yes é\nfn f() {} // no\n//// no\n\"\n/// no\n\"";
        let (_, docs) = views(text);
        assert_eq!(docs, "\n/// yes é\n\n\n\n\n");
    }

    #[test]
    fn only_whole_words_are_found() {
        let code = "unsafe {}\nunsafe_code\n#[unsafe(no_mangle)]\nvery_unsafe unsafer\n";
        assert_eq!(lines_with_word(code, "unsafe"), [1, 3]);
    }
}
