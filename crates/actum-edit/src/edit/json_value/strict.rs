//! Converts JSON with comments to strict JSON in which every value keeps its byte offset.

use std::borrow::Cow;

use actum_core::json::{self, SyntaxError, string};
use actum_core::place::Place;

use super::error::JsonValueError;

/// Error for a text that is neither JSON nor JSON with comments, with the byte of the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::edit) enum Unread {
    Syntax(SyntaxError),
    OpenComment(usize),
    UnclearComment(usize),
}

/// Byte ranges of comments, and offsets of trailing commas.
struct Found {
    comments: Vec<std::ops::Range<usize>>,
    commas: Vec<usize>,
}

/// Replaces comments and trailing commas in `text` with blanks, and validates the result as strict JSON.
pub(in crate::edit) fn strict(text: &str) -> Result<Cow<'_, str>, Unread> {
    // Most files are strict JSON already.
    let Err(plain) = json::judge(text) else { return Ok(text.into()) };
    let found = look(text.as_bytes())?;
    if found.comments.is_empty() && found.commas.is_empty() {
        return Err(Unread::Syntax(plain));
    }
    let mut bytes = text.as_bytes().to_vec();
    for comma in found.commas {
        if let Some(byte) = bytes.get_mut(comma) {
            *byte = b' ';
        }
    }
    for comment in found.comments {
        for byte in bytes.get_mut(comment).unwrap_or_default() {
            // Keep line breaks, so that line numbers in error messages are correct.
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    let strict = String::from_utf8(bytes).map_err(|_| Unread::Syntax(plain))?;
    json::judge(&strict).map_err(Unread::Syntax)?;
    Ok(strict.into())
}

/// Searches for comments and trailing commas in a single pass. The text does not have to be valid JSON.
fn look(text: &[u8]) -> Result<Found, Unread> {
    let mut found = Found { comments: Vec::new(), commas: Vec::new() };
    // The most recent comma, if a value may precede it and only blanks or comments have followed it so far.
    let mut comma = None;
    let mut last = b'[';
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at..).unwrap_or_default();
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'/' => {
                let length = comment(rest).map_err(|problem| match problem {
                    Open::Never => Unread::OpenComment(at),
                    Open::CarriageReturn(further) => Unread::UnclearComment(at + further),
                })?;
                if length > 0 {
                    found.comments.push(at..at + length);
                    at += length;
                    continue;
                }
            }
            b'"' => at += string(rest) - 1,
            b',' => comma = (!matches!(last, b'[' | b'{' | b',' | b':')).then_some(at),
            b']' | b'}' if last == b',' => found.commas.extend(comma),
            _ => {}
        }
        if byte != b',' {
            comma = None;
        }
        last = byte;
        at += 1;
    }
    Ok(found)
}

/// Reason why a comment cannot be read.
pub(super) enum Open {
    Never,
    CarriageReturn(usize),
}

/// Returns the length of the comment at the start of `rest`, or 0 if there is no comment.
pub(super) fn comment(rest: &[u8]) -> Result<usize, Open> {
    match rest {
        [b'/', b'/', inside @ ..] => {
            let length = memchr::memchr(b'\n', inside).unwrap_or(inside.len());
            let line = inside.get(..length).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match memchr::memchr(b'\r', line) {
                Some(at) => Err(Open::CarriageReturn(at + 2)),
                None => Ok(line.len() + 2),
            }
        }
        [b'/', b'*', inside @ ..] => {
            let end = memchr::memmem::find(inside, b"*/").ok_or(Open::Never)?;
            Ok(end + 4)
        }
        _ => Ok(0),
    }
}

impl Unread {
    pub(super) fn at(self, place: impl Fn(usize) -> Place) -> JsonValueError {
        match self {
            Self::Syntax(SyntaxError { offset, problem }) => {
                JsonValueError::NotJson { place: place(offset), problem }
            }
            Self::OpenComment(at) => JsonValueError::OpenComment { place: place(at) },
            Self::UnclearComment(at) => JsonValueError::UnclearComment { place: place(at) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-10
    #[test]
    fn comments_and_trailing_commas_become_blanks() {
        for (text, strict_text) in [
            ("[1, 2]", "[1, 2]"),
            ("// é\n[1, 2] // x", "     \n[1, 2]     "),
            ("[1 /* ,\n], */, 2]", "[1     \n     , 2]"),
            ("{\"a//\\\"/*\": 1,} ", "{\"a//\\\"/*\": 1 } "),
            ("[1, /**/ ]", "[1       ]"),
            ("[[1,],[],]", "[[1 ],[] ]"),
            ("[1 // x\r\n]", "[1     \r\n]"),
        ] {
            assert_eq!(strict(text).unwrap(), strict_text, "{text:?}");
        }
        for text in
            ["[,]", "[1,,]", "{,}", "[1] /", "[1] /x", "{\"a\":,}", "[/]", "// x", ",", "[1,]]"]
        {
            assert!(matches!(strict(text), Err(Unread::Syntax(_))), "{text:?}");
        }
        assert_eq!(strict("[1] /*/"), Err(Unread::OpenComment(4)));
        assert_eq!(strict("[1] // x\r]"), Err(Unread::UnclearComment(8)));
    }
}
