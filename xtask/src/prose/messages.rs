//! Error messages: the texts of `#[error("...")]` attributes.
//!
//! Messages that are assembled in other code are not checked.

use crate::lexer::{Kind, Piece, pieces};

/// Text of one message, without quotes and escapes and with backticks for placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Lines of the message, each with its line number in the file, counted from 1.
    pub(super) lines: Vec<(usize, String)>,
}

pub(super) fn messages(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut line = 1;
    let mut is_message = false;
    for Piece { kind, text } in pieces(text) {
        if kind == Kind::Literal && is_message {
            let lines = (line..).zip(content(text).lines().map(prose)).collect();
            messages.push(Message { lines });
        }
        is_message = kind == Kind::Code && text.trim_end().ends_with("#[error(");
        line += text.matches('\n').count();
    }
    messages
}

/// Returns the text between the quotes of a literal, which may be a raw string.
fn content(literal: &str) -> &str {
    let literal = literal.trim_start_matches('r').trim_matches('#');
    literal.strip_prefix('"').unwrap_or(literal).strip_suffix('"').unwrap_or(literal)
}

/// Returns a line with blanks for escapes and backticks for placeholders.
fn prose(line: &str) -> String {
    let mut prose = String::new();
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(quote @ ('"' | '\'')) => prose.push(quote),
                Some(_) | None => prose.push(' '),
            },
            '{' if chars.next_if_eq(&'{').is_none() => {
                prose.push('`');
                chars.by_ref().take_while(|char| *char != '}').for_each(drop);
                prose.push('`');
            }
            _ => prose.push(char),
        }
    }
    // Within a code span, the backticks of a placeholder would end it.
    prose.replace("```", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<Vec<(usize, String)>> {
        messages(text).into_iter().map(|message| message.lines).collect()
    }

    #[test]
    fn only_error_attribute_texts_are_messages() {
        let text = "#[error(\"a\")]\n#[doc = \"no\"]\n#[error(\n    \"b {}\", f(\"no\")\n)]\n#[error(transparent)]\nfn f() { g(\"no\"); }\n";
        assert_eq!(texts(text), [[(1, "a".to_owned())], [(4, "b ``".to_owned())]]);
    }

    #[test]
    fn quotes_escapes_and_placeholders_are_not_prose() {
        let cases = [
            (r#""a \"b\"\n{c:?} {{d""#, "a \"b\" `` {d"),
            (r##"r#"a "b" c"#"##, "a \"b\" c"),
            (r#""`{a}` b""#, "`` b"),
        ];
        for (literal, expected) in cases {
            assert_eq!(texts(&format!("#[error({literal})]")), [[(1, expected.to_owned())]]);
        }
    }

    #[test]
    fn multiline_message_keeps_its_lines() {
        let text = "#[error(\n    \"a \\\n     b\"\n)]";
        assert_eq!(texts(text), [[(2, "a  ".to_owned()), (3, "     b".to_owned())]]);
    }
}
