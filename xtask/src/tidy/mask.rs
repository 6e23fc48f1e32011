//! Tells code from comments and literals, so that a word in a message is no use of it.

/// Two views of a Rust source. Both keep its line breaks and have blanks for the rest, so a line
/// number means the same in each.
pub(super) struct Masked {
    /// Only code: neither comments nor the literals for text and characters.
    pub(super) code: String,
    /// Only the outer doc comments, those that begin with three slashes.
    pub(super) docs: String,
}

impl Masked {
    pub(super) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut masked = Self { code: String::new(), docs: String::new() };
        let mut rest = chars.as_slice();
        let mut after_word = false;
        while let Some(&first) = rest.first() {
            let (kind, length) = piece(rest, after_word);
            let (taken, behind) = rest.split_at(length.clamp(1, rest.len()));
            show(&mut masked.code, taken, kind == Kind::Code);
            show(&mut masked.docs, taken, kind == Kind::Doc);
            after_word = kind == Kind::Code && (first.is_alphanumeric() || first == '_');
            rest = behind;
        }
        masked
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Doc,
    Comment,
    Literal,
}

fn show(view: &mut String, piece: &[char], visible: bool) {
    view.extend(piece.iter().map(|&char| if visible || char == '\n' { char } else { ' ' }));
}

/// What `rest` begins with, and how many characters of it.
fn piece(rest: &[char], after_word: bool) -> (Kind, usize) {
    match rest {
        ['/', '/', '/', '/', ..] => (Kind::Comment, line(rest)),
        ['/', '/', '/', ..] => (Kind::Doc, line(rest)),
        ['/', '/', ..] => (Kind::Comment, line(rest)),
        ['/', '*', ..] => (Kind::Comment, block_comment(rest)),
        ['"', ..] => (Kind::Literal, quoted(rest, '"')),
        // Otherwise it is a lifetime or a label.
        ['\'', '\\', ..] => (Kind::Literal, quoted(rest, '\'')),
        ['\'', _, '\'', ..] => (Kind::Literal, 3),
        ['r' | 'b' | 'c', ..] if !after_word => match raw_string(rest) {
            Some(length) => (Kind::Literal, length),
            None => (Kind::Code, 1),
        },
        _ => (Kind::Code, 1),
    }
}

fn line(rest: &[char]) -> usize {
    rest.iter().position(|&char| char == '\n').unwrap_or(rest.len())
}

/// Block comments nest.
fn block_comment(rest: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match rest.get(at..).unwrap_or_default() {
            [] => return rest.len(),
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    loop {
        match rest.get(at) {
            None => return rest.len(),
            Some('\\') => at += 2,
            Some(&char) if char == quote => return at + 1,
            Some(_) => at += 1,
        }
    }
}

/// `r"..."`, `br#"..."#` and the like; raw identifiers such as `r#type` are none.
fn raw_string(rest: &[char]) -> Option<usize> {
    let prefix = if rest.first() == Some(&'r') { 1 } else { 2 };
    if rest.get(prefix - 1) != Some(&'r') {
        return None;
    }
    let hashes = rest.iter().skip(prefix).take_while(|&&char| char == '#').count();
    let start = prefix + hashes;
    if rest.get(start) != Some(&'"') {
        return None;
    }
    let ends_at = |at: &usize| {
        rest.get(*at) == Some(&'"')
            && rest.iter().skip(at + 1).take(hashes).filter(|&&char| char == '#').count() == hashes
    };
    let end = (start + 1..rest.len()).find(ends_at);
    Some(end.map_or(rest.len(), |end| end + 1 + hashes))
}

/// The lines, counted from 1, on which `word` stands as a word of its own in `code`.
pub(super) fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let stands_in = |line: &str| line.split(|char| !is_part(char)).any(|found| found == word);
    code.lines().zip(1..).filter(|(line, _)| stands_in(line)).map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both views, line for line, with every run of blanks as one.
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
    fn a_piece_keeps_its_place() {
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
    fn a_word_is_found_only_where_it_stands_alone() {
        let code = "unsafe {}\nunsafe_code\n#[unsafe(no_mangle)]\nvery_unsafe unsafer\n";
        assert_eq!(lines_with_word(code, "unsafe"), [1, 3]);
    }
}
