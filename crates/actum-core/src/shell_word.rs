//! Quoting of untrusted names for shell commands that a message suggests.

use std::fmt;

use crate::path::{needs_escape, write_octal};

/// Displays bytes as a single word of a POSIX shell, for a command that a user may copy from a message.
///
/// A name of letters, digits and `/._-+@%,:=` is left unchanged. Other printable text is put in single quotes. A name
/// with a backtick, consecutive spaces, or characters that a terminal interprets or hides is put in `$'…'` with octal
/// escapes (POSIX.1-2024, section 2.2.4).
///
/// INVARIANT: the text in `$'…'` contains no single quote, so that a shell without support for this syntax (dash) also
/// reads a single word, although a different one. The sequence `<\` is never written, because
/// [`Harmless`](crate::path::Harmless) would change it.
#[derive(Debug, Clone, Copy)]
pub struct ShellWord<'a> {
    before: &'static str,
    bytes: &'a [u8],
}

impl<'a> ShellWord<'a> {
    /// Quotes the bytes without adding a prefix.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { before: "", bytes }
    }

    /// Quotes the path of a file or directory. If the path starts with a hyphen, `./` is added before it, so that no
    /// command interprets it as an option.
    pub fn path(bytes: &'a [u8]) -> Self {
        Self { before: if bytes.starts_with(b"-") { "./" } else { "" }, bytes }
    }

    /// Quotes an operand that is not a path. If the operand starts with a hyphen, it is preceded by the word `--`.
    pub fn operand(bytes: &'a [u8]) -> Self {
        Self { before: if bytes.starts_with(b"-") { "-- " } else { "" }, bytes }
    }
}

impl fmt::Display for ShellWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.before)?;
        match std::str::from_utf8(self.bytes) {
            // A leading `=` is not plain, because zsh replaces `=NAME` with the path of that program.
            Ok(text) if is_plain(text) => f.write_str(text),
            Ok(text) if is_shown(text) => write!(f, "'{}'", text.replace('\'', "'\\''")),
            Ok(_) | Err(_) => write_escaped(f, self.bytes),
        }
    }
}

fn is_plain(text: &str) -> bool {
    let has_no_meaning = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%,:=".contains(&byte);
    !text.is_empty() && !text.starts_with('=') && text.bytes().all(has_no_meaning)
}

/// Returns whether a text in single quotes can be displayed between backticks without further escaping.
fn is_shown(text: &str) -> bool {
    let is_hidden = |c: char| c == '`' || needs_escape(c);
    !text.contains(is_hidden) && !text.contains("<\\") && !has_blanks_in_a_row(text)
}

fn has_blanks_in_a_row(text: &str) -> bool {
    text.chars()
        .zip(text.chars().skip(1))
        .any(|(c, next)| c.is_whitespace() && next.is_whitespace())
}

fn write_escaped(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("$'")?;
    let mut is_behind_blank = false;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let is_blank = c.is_whitespace();
            match c {
                '\\' => f.write_str("\\\\")?,
                c if matches!(c, '\'' | '`' | '<')
                    || needs_escape(c)
                    || (is_blank && is_behind_blank) =>
                {
                    write_octal(f, c.encode_utf8(&mut [0; 4]).as_bytes())?;
                }
                c => write!(f, "{c}")?,
            }
            is_behind_blank = is_blank;
        }
        is_behind_blank &= chunk.invalid().is_empty();
        write_octal(f, chunk.invalid())?;
    }
    f.write_str("'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_when_needed() {
        for (name, word) in [
            ("/home/ann/.local/share/actum", "/home/ann/.local/share/actum"),
            ("/a b", "'/a b'"),
            ("it's", "'it'\\''s'"),
            ("é", "'é'"),
            ("", "''"),
            ("=ls", "'=ls'"),
            ("/a'\\\n$(x)", "$'/a\\047\\\\\\012$(x)'"),
            ("a  b`", "$'a \\040b\\140'"),
            ("a<\\", "$'a\\074\\\\'"),
        ] {
            assert_eq!(ShellWord::new(name.as_bytes()).to_string(), word);
        }
        assert_eq!(ShellWord::path(b"-x y").to_string(), "./'-x y'");
        assert_eq!(ShellWord::operand(b"-x").to_string(), "-- -x");
        assert_eq!(ShellWord::path(b"x-").to_string(), "x-");
        assert_eq!(ShellWord::operand(b"x y").to_string(), "'x y'");
    }
}
