//! Paragraphs of a Markdown text, with everything that is not prose blanked out.
//!
//! Headings, list items and table cells are paragraphs. Fenced and indented code, HTML comments and link definitions are left out.
//! This is not a complete CommonMark parser: HTML blocks are treated as prose without their tags.

/// Text with backticks in place of code spans, and blanks in place of link targets, tags and line breaks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paragraph {
    pub(super) text: String,
    /// Offset at which each line of the paragraph begins, and its line number in the file.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    /// Returns the line number in the file for the byte at this offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        let before = self.lines.iter().take_while(|(start, _)| *start <= offset);
        before.last().map_or(0, |(_, line)| *line)
    }
}

pub(super) fn paragraphs<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<Paragraph> {
    let mut reader = Reader::default();
    for (number, line) in lines {
        reader.read(number, line);
    }
    reader.flush();
    reader.done
}

#[derive(Default)]
struct Reader {
    done: Vec<Paragraph>,
    text: String,
    lines: Vec<(usize, usize)>,
    /// Marker that closes the currently open code block.
    fence: Option<String>,
    in_html_comment: bool,
    in_list: bool,
}

impl Reader {
    fn read(&mut self, number: usize, line: &str) {
        let mut content = line.trim();
        while let Some(quoted) = content.strip_prefix('>') {
            content = quoted.trim_start();
        }
        if self.skips(line, content) {
            self.flush();
        } else if content.starts_with('|') {
            self.flush();
            for cell in cells(content) {
                self.push(number, cell);
                self.flush();
            }
        } else if let Some(heading) = heading(content) {
            self.flush();
            self.push(number, heading);
            self.flush();
        } else if let Some(item) = list_item(content) {
            self.flush();
            self.in_list = true;
            self.push(number, item);
        } else {
            self.in_list &= !self.text.is_empty() || line.starts_with("  ");
            self.push(number, content);
        }
    }

    /// Returns whether a line is not prose, and keeps track of open blocks.
    fn skips(&mut self, line: &str, content: &str) -> bool {
        if let Some(mark) = &self.fence {
            if content.starts_with(mark.as_str()) {
                self.fence = None;
            }
            return true;
        }
        if self.in_html_comment || content.starts_with("<!--") {
            self.in_html_comment = !content.contains("-->");
            return true;
        }
        for mark in ["`", "~"] {
            let length = content.len() - content.trim_start_matches(mark).len();
            if length >= 3 && !content.get(length..).unwrap_or_default().contains('`') {
                self.fence = Some(mark.repeat(length));
                return true;
            }
        }
        let indent = line.len() - line.trim_start().len();
        let is_code =
            self.text.is_empty() && !self.in_list && (indent >= 4 || line.starts_with('\t'));
        let is_definition = content.starts_with('[') && content.contains("]: ");
        let is_rule = content.chars().all(|char| "-=*_| :".contains(char));
        is_code || is_definition || is_rule
    }

    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line);
    }

    fn flush(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let text = prose(&std::mem::take(&mut self.text));
        if !text.trim().is_empty() {
            self.done.push(Paragraph { text, lines });
        }
    }
}

fn heading(content: &str) -> Option<&str> {
    let rest = content.trim_start_matches('#');
    let level = content.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' ')).then_some(rest)
}

fn list_item(content: &str) -> Option<&str> {
    let number = content.trim_start_matches(|char: char| char.is_ascii_digit());
    let rest = match number.len() == content.len() {
        true => content.strip_prefix(['-', '*', '+']),
        false => number.strip_prefix(['.', ')']),
    };
    rest.filter(|rest| rest.starts_with(' '))
}

/// Splits a table row at the bars that are neither in code nor escaped by a backslash.
fn cells(row: &str) -> Vec<&str> {
    let (mut cells, mut start, mut in_code, mut before) = (Vec::new(), 0, false, ' ');
    for (at, char) in row.char_indices() {
        match char {
            '`' => in_code = !in_code,
            '|' if !in_code && before != '\\' => {
                cells.extend(row.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
        before = char;
    }
    cells.extend(row.get(start..));
    cells
}

/// Returns a text of the same length, with backticks in place of code spans and blanks in place of everything that is not
/// displayed.
fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    while let Some(rest) = text.get(prose.len()..).filter(|rest| !rest.is_empty()) {
        let char = rest.chars().next().unwrap_or(' ');
        let (length, shown) = match char {
            '`' => (code_span(rest), "`"),
            // Target of a link.
            '(' | '[' if prose.ends_with(']') => (bracketed(rest), " "),
            // HTML tag or link address. `a < b` is neither.
            '<' if rest
                .get(1..2)
                .is_some_and(|next| next == "/" || next.chars().all(char::is_alphabetic)) =>
            {
                (rest.find('>').map_or(1, |end| end + 1), " ")
            }
            'h' if rest.starts_with("https://") || rest.starts_with("http://") => {
                (rest.find([' ', ')', '>']).unwrap_or(rest.len()), "`")
            }
            _ => (0, ""),
        };
        match length {
            0 => prose.push(char),
            length => prose.push_str(&shown.repeat(length)),
        }
    }
    prose
}

/// Returns the length of a code span, or of the backticks if they do not begin one.
fn code_span(rest: &str) -> usize {
    let marks = rest.len() - rest.trim_start_matches('`').len();
    let mut at = marks;
    while let Some(next) = rest.get(at..).and_then(|behind| behind.find('`')) {
        let start = at + next;
        let behind = rest.get(start..).unwrap_or_default();
        at = start + behind.len() - behind.trim_start_matches('`').len();
        if at - start == marks {
            return at;
        }
    }
    marks
}

/// Returns the length of the bracketed text at the beginning of `rest`, or 0 if the bracket is not closed.
fn bracketed(rest: &str) -> usize {
    let mut depth = 0_usize;
    for (at, char) in rest.char_indices() {
        match char {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 1 => return at + 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each paragraph with its first line number, and with runs of blanks or backticks reduced to one.
    fn found(text: &str) -> Vec<(usize, String)> {
        let squeeze = |text: &str| {
            let mut chars: Vec<char> = text.chars().collect();
            chars.dedup_by(|a, b| a == b && (*a == ' ' || *a == '`'));
            chars.into_iter().collect::<String>().trim().to_owned()
        };
        let paragraphs = paragraphs((1..).zip(text.lines()));
        paragraphs.iter().map(|it| (it.line_at(0), squeeze(&it.text))).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        found(text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn headings_items_cells_and_quotes_are_paragraphs() {
        let text = "# A\nb\nc\n\n- d\n  e\n- f\n2. g\n\n| h | i \\| j |\n| --- | :-: |\n| `k | l` | m |\n> n\n> o\n";
        let expected = [
            (1, "A"),
            (2, "b c"),
            (5, "d e"),
            (7, "f"),
            (8, "g"),
            (10, "h"),
            (10, "i \\| j"),
            (12, "`"),
            (12, "m"),
            (13, "n o"),
        ];
        assert_eq!(found(text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn code_blocks_html_comments_rules_and_definitions_are_not_prose() {
        let text = "a\n```sh\nno\n\nno\n```\n~~~~\n```\n~~~~\n<!-- no -->\n<!--\nno\n-->\n---\n[a]: no\n\n     no\n\nb\n";
        assert_eq!(found(text), [(1, "a".to_owned()), (19, "b".to_owned())]);
    }

    #[test]
    fn an_indented_paragraph_of_a_list_is_prose() {
        assert_eq!(texts("- a\n\n      b\n\nc\n\n      no\n"), ["a", "b", "c"]);
    }

    #[test]
    fn code_spans_link_targets_and_tags_are_blanked_out() {
        let cases = [
            ("a `b` c", "a ` c"),
            ("a ``b ` c`` d", "a ` d"),
            ("a `b\nc` d", "a ` d"),
            ("a ` b", "a ` b"),
            ("[a](b(c)) d", "[a] d"),
            ("[a][b] d", "[a] d"),
            ("a <b>c</b> <https://d> e", "a c e"),
            ("a < b > c", "a < b > c"),
            ("a https://b.c/d e", "a ` e"),
            ("a (b) [c] d", "a (b) [c] d"),
        ];
        for (text, expected) in cases {
            assert_eq!(texts(text), [expected], "{text}");
        }
    }

    #[test]
    fn offset_maps_to_its_line() {
        let paragraph = paragraphs([(4, " é `a"), (5, "b` c")]).remove(0);
        let at = |char| paragraph.text.find(char).map(|offset| paragraph.line_at(offset));
        assert_eq!((at('é'), at('c')), (Some(4), Some(5)));
    }
}
