//! Writers around standard output and standard error that escape control sequences and invisible characters.
//!
//! All output passes through them. Text from outside, such as a path or the output of a check, therefore cannot control
//! the terminal. It cannot move the cursor, change the text direction or hide itself, even if a verb forgot to escape it. Newlines are not escaped, because
//! the guard cannot know where they come from. The types for one-line texts escape them instead.

use std::io::{self, Write};

use actum_core::path::{Harmless, needs_escape};

use crate::style;

/// Writer that escapes unsafe characters. Every write must consist of whole characters, as it does with `write!` and JSON
/// serializers.
pub(crate) struct Guard<W> {
    out: W,
    escapes: Escapes,
}

/// Notation that is used for escaped characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Octal notation, as [`Harmless`] writes it. Colour marks are replaced by colour sequences, or removed.
    Octal(Colors),
    /// `\uXXXX`, so that a JSON string keeps its value.
    Json,
}

/// Whether the colours of a text are shown or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colors {
    Shown,
    LeftOut,
}

impl<W: Write> Guard<W> {
    /// Creates a guard for text output.
    pub(crate) fn text(out: W, colors: Colors) -> Self {
        Self { out, escapes: Escapes::Octal(colors) }
    }

    /// Creates a guard for JSON output.
    pub(crate) fn json(out: W) -> Self {
        Self { out, escapes: Escapes::Json }
    }

    fn write_escaped(&mut self, c: char) -> io::Result<()> {
        let out = &mut self.out;
        match (self.escapes, style::sequence(c)) {
            (Escapes::Octal(Colors::Shown), Some(sequence)) => out.write_all(sequence.as_bytes()),
            (Escapes::Octal(Colors::LeftOut), Some(_)) => Ok(()),
            (Escapes::Octal(_), None) => {
                write!(out, "{}", Harmless(c.encode_utf8(&mut [0; 4]).as_bytes()))
            }
            (Escapes::Json, _) => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
            }
        }
    }
}

impl<W: Write> Write for Guard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_escaped = |c: char| needs_escape(c) && !matches!(c, '\n' | '\t');
        for chunk in bytes.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
                let (plain, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
                self.out.write_all(plain.as_bytes())?;
                self.write_escaped(c)?;
                rest = behind.strip_prefix(c).unwrap_or_default();
            }
            self.out.write_all(rest.as_bytes())?;
            write!(self.out, "{}", Harmless(chunk.invalid()))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Painted;

    fn guarded(text: &[u8], colors: Colors) -> String {
        let mut out = Vec::new();
        Guard::text(&mut out, colors).write_all(text).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// D-4
    #[test]
    fn own_colours_pass_and_escape_sequences_in_text_are_escaped() {
        let text =
            format!("{} \x1b[31mx\u{9b}1m\u{202e}\r\n\té", Painted(style::ERROR, "a\x1b[8m"));
        let sequence = style::ERROR.to_string();
        assert_eq!(
            guarded(text.as_bytes(), Colors::Shown),
            format!(
                "{sequence}a<\\033>[8m\x1b[0m <\\033>[31mx<\\302\\233>1m<\\342\\200\\256><\\r>\n\té"
            )
        );
        let plain = guarded(text.as_bytes(), Colors::LeftOut);
        assert!(plain.starts_with("a<\\033>[8m <\\033>[31mx"), "{plain}");
        assert_eq!(guarded(b"a\xff\x9b", Colors::LeftOut), "a<\\377><\\233>");
    }

    /// D-4
    #[test]
    fn json_escapes_invisible_characters_and_keeps_the_value() {
        let value = "a\x1b\u{9b}\u{202e}\u{e0041}\n\"é";
        let mut json = Vec::new();
        serde_json::to_writer(Guard::json(&mut json), value).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json, r#""a\u001b\u009b\u202e\udb40\udc41\n\"é""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
    }
}
