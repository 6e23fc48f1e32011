//! Writes values as YAML in a way that YAML 1.1 and YAML 1.2 parsers read alike.

use std::fmt::Write as _;

use actum_core::json::{Content, Value};

use super::tree::Style;

/// Words that some YAML parsers do not read as a string, in lowercase.
const WORDS: [&str; 14] = [
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity", "none",
    "nil",
];

/// Checks whether the core schema of YAML 1.2 may resolve a plain scalar to something other than a string.
pub(super) fn is_resolved(plain: &str) -> bool {
    let is_word =
        ["", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"]
            .contains(&plain);
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    let number = unsigned.strip_prefix('.').unwrap_or(unsigned);
    let is_special =
        unsigned.starts_with('.') && ["inf", "nan"].contains(&number.to_ascii_lowercase().as_str());
    is_word || is_special || number.starts_with(|c: char| c.is_ascii_digit()) && is_number(unsigned)
}

fn is_number(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let based = [("0o", 8), ("0x", 16), ("0b", 2)].into_iter().any(|(prefix, radix)| {
        unsigned.strip_prefix(prefix).is_some_and(|rest| rest.chars().all(|c| c.is_digit(radix)))
    });
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let separated = unsigned.contains('_') && digits(&unsigned.replace('_', ""));
    based || separated || digits(whole) && digits(fraction) && digits(exponent)
}

/// Writes a value on one line. Strings inside it use the quoting style `style` if possible.
pub(super) fn inline(value: &Value<'_>, style: Style) -> String {
    let mut text = String::new();
    write_inline(value, style, &mut text);
    text
}

fn write_inline(value: &Value<'_>, style: Style, out: &mut String) {
    match &value.content {
        Content::Null => out.push_str("null"),
        Content::Boolean(boolean) => out.push_str(if *boolean { "true" } else { "false" }),
        Content::Number(spelled) => out.push_str(&number(spelled)),
        Content::String(text) => out.push_str(&string(text, style)),
        Content::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_inline(element, style, out);
            }
            out.push(']');
        }
        Content::Object(members) => {
            out.push('{');
            for (index, member) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                out.push_str(&string(&member.name, Style::Plain));
                out.push_str(": ");
                write_inline(&member.value, style, out);
            }
            out.push('}');
        }
    }
}

/// Layout of values in block style.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'s> {
    pub(super) newline: &'s str,
    /// Number of spaces per indentation level.
    pub(super) unit: usize,
}

impl Lines<'_> {
    /// Appends a value in block style to `out`, with its lines indented by `column`. The caller writes the indentation
    /// of the first line.
    pub(super) fn write(self, value: &Value<'_>, column: usize, out: &mut String) {
        let line = format!("{}{}", self.newline, " ".repeat(column));
        let start = out.len();
        match &value.content {
            Content::Array(elements) => {
                for element in elements {
                    out.push_str(if out.len() == start { "" } else { &line });
                    out.push_str("- ");
                    self.child(element, column + 2, out);
                }
            }
            Content::Object(members) => {
                for member in members {
                    out.push_str(if out.len() == start { "" } else { &line });
                    out.push_str(&string(&member.name, Style::Plain));
                    out.push(':');
                    let inner = column + self.unit;
                    if is_block(&member.value) {
                        out.push_str(&format!("{}{}", self.newline, " ".repeat(inner)));
                    } else {
                        out.push(' ');
                    }
                    self.child(&member.value, inner, out);
                }
            }
            Content::Null | Content::Boolean(_) | Content::Number(_) | Content::String(_) => {
                write_inline(value, Style::Plain, out);
            }
        }
    }

    fn child(self, value: &Value<'_>, column: usize, out: &mut String) {
        if is_block(value) {
            self.write(value, column, out);
        } else {
            write_inline(value, Style::Plain, out);
        }
    }
}

/// Checks whether a value is written in block style, which is the case for arrays and objects that are not empty.
pub(super) fn is_block(value: &Value<'_>) -> bool {
    match &value.content {
        Content::Array(elements) => !elements.is_empty(),
        Content::Object(members) => !members.is_empty(),
        Content::Null | Content::Boolean(_) | Content::Number(_) | Content::String(_) => false,
    }
}

/// Writes a string in the given quoting style, or with double quotes if that style cannot represent it.
pub(super) fn string(text: &str, style: Style) -> String {
    let is_printed = |c: char| !needs_escape(c);
    match style {
        Style::SingleQuoted if text.chars().all(is_printed) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        Style::Plain | Style::Literal | Style::Folded if is_plain(text) => text.to_owned(),
        Style::Plain
        | Style::Literal
        | Style::Folded
        | Style::SingleQuoted
        | Style::DoubleQuoted => double_quoted(text),
    }
}

/// Checks whether every YAML parser reads the unquoted `text` as a string, in any context.
fn is_plain(text: &str) -> bool {
    let in_word =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@');
    let is_word = |word: &str| !word.is_empty() && word.chars().all(in_word);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text.split(' ').all(is_word)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if needs_escape(c) => {
                // Writing to a `String` cannot fail.
                write!(quoted, "\\u{:04x}", u32::from(c)).unwrap_or_default();
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Checks whether a character must be escaped because YAML does not allow it or some parsers read it as a line break.
fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Writes a number. A number with an exponent gets a decimal point and an exponent sign, which YAML 1.1 requires.
fn number(spelled: &str) -> String {
    let Some((mantissa, exponent)) = spelled.split_once(['e', 'E']) else {
        return spelled.to_owned();
    };
    let sign = spelled.get(mantissa.len()..=mantissa.len()).unwrap_or("e");
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let plus = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}{sign}{plus}{exponent}")
}

/// Returns the header and lines of a literal block scalar, or `None` if the text cannot be written as one.
pub(super) fn literal(text: &str, newline: &str, column: usize) -> Option<(&'static str, String)> {
    let (header, body) = match text.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", text),
    };
    let is_sound = |line: &str| !line.chars().any(|c| c != '\t' && needs_escape(c));
    let blank = |line: &str| line.trim_matches([' ', '\t']).is_empty();
    let first = body.split('\n').next().unwrap_or_default();
    let fits = body.contains('\n') || header == "|";
    let sound = fits
        && !first.starts_with([' ', '\t'])
        && !blank(first)
        && !body.ends_with('\n')
        && body.split('\n').all(|line| is_sound(line) && (line.is_empty() || !blank(line)));
    let indent = " ".repeat(column);
    let lines = body.split('\n').map(|line| {
        if line.is_empty() { newline.to_owned() } else { format!("{newline}{indent}{line}") }
    });
    sound.then(|| (header, lines.collect()))
}
