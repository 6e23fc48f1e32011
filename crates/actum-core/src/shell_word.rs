//! Names from outside as words of commands that a message suggests.

use std::fmt;

use crate::path::{needs_escape, write_octal};

/// Bytes as one word of a POSIX shell, for a command that a user may copy from a message.
///
/// A name of letters, digits and `/._-+@%,:=` is unchanged. Other printable text is in single quotes. What a terminal obeys
/// or hides, a backtick, and a blank behind another blank are octal escapes in `$'…'` (POSIX.1-2024, 2.2.4).
///
/// INVARIANT: no single quote stands within `$'…'`, so a shell that does not know it (dash) reads one word, too, though
/// another one. No `<\` is written, which [`Harmless`](crate::path::Harmless) would change.
#[derive(Debug, Clone, Copy)]
pub struct ShellWord<'a> {
    before: &'static str,
    bytes: &'a [u8],
}

impl<'a> ShellWord<'a> {
    /// Exactly these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { before: "", bytes }
    }

    /// Path of a file or directory; `./` comes before a hyphen, so that no command takes it for an option.
    pub fn path(bytes: &'a [u8]) -> Self {
        Self { before: if bytes.starts_with(b"-") { "./" } else { "" }, bytes }
    }

    /// Operand of a command that is no such path; the word `--` comes before one with a hyphen.
    pub fn operand(bytes: &'a [u8]) -> Self {
        Self { before: if bytes.starts_with(b"-") { "-- " } else { "" }, bytes }
    }
}

impl fmt::Display for ShellWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.before)?;
        match std::str::from_utf8(self.bytes) {
            // zsh replaces `=NAME` by the path of the program.
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

/// Returns true if a text in single quotes is shown unchanged between backticks of a message.
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
    fn a_name_is_quoted_only_where_that_is_needed() {
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
