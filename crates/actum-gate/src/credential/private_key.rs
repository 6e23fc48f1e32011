//! Private keys in PEM (RFC 7468, RFC 1421, RFC 4880), even inside strings of other languages.

use std::borrow::Cow;
use std::ops::Range;

use super::placeholder::is_random;
use super::{Secret, effort};

/// Maximum distance of the end of a key, in bytes. A key of 16,384 bits takes 13 KiB.
const KEY_BYTES_MAX: usize = 64 << 10;
/// Maximum length of the name of a kind of key, in bytes.
const LABEL_BYTES_MAX: usize = 40;
/// Maximum number of headers before the key: two if it is encrypted, up to five in OpenPGP.
const HEADERS_MAX: usize = 6;
const HEADER_NAME_BYTES_MAX: usize = 24;
const HEADER_VALUE_BYTES_MAX: usize = 160;
/// Minimum length of a key: one of 32 bytes on a curve has 64 characters.
const BODY_CHARACTERS_MIN: usize = 48;

/// Maximum line length in PuTTY files, which have 64 characters to a line.
const PUTTY_LINE_BYTES_MAX: usize = 80;
/// Minimum length of a key in PuTTY files: an Ed25519 key has 48 characters.
const PUTTY_CHARACTERS_MIN: usize = 40;

const DASHES: &[u8] = b"-----";

/// Returns the key whose header begins here: its base 64 without the text between the lines, so that the
/// indentation does not matter. A text that is not base 64 to its end is not a key.
pub(super) fn secret<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let rest = content.get(at.end..)?;
    let near = rest.get(..LABEL_BYTES_MAX).unwrap_or(rest);
    let label_end = near.windows(DASHES.len()).position(|window| window == DASHES)?;
    let (label, rest) = rest.split_at_checked(label_end)?;
    let private = [&b"PRIVATE KEY"[..], b"PRIVATE KEY BLOCK"];
    if !private.iter().any(|ending| label.ends_with(ending)) {
        return None;
    }
    let rest = rest.strip_prefix(DASHES)?;
    let rest = rest.get(..KEY_BYTES_MAX).unwrap_or(rest);
    let body = body(without_headers(rest))?;
    let is_key = body.len() >= BODY_CHARACTERS_MIN && is_random(&body);
    is_key.then_some(Secret { at: at.start, bytes: Cow::Owned(body) })
}

/// Returns the base 64 of a key in PuTTY's format, after the number of its lines.
pub(super) fn putty<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let rest = content.get(at.end..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(3).count();
    let rest = escaped(rest.get(digits..)?);
    let rest = rest.get(..KEY_BYTES_MAX).unwrap_or(rest);
    let mut body = Vec::new();
    for line in rest.split(|&byte| byte == b'\n') {
        effort::spend(line.len().min(PUTTY_LINE_BYTES_MAX));
        let line = line.trim_ascii();
        let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
        // The next line is `Private-MAC`.
        if line.len() > PUTTY_LINE_BYTES_MAX || !line.iter().all(is_body) {
            break;
        }
        body.extend_from_slice(line);
    }
    let is_key = digits > 0 && body.len() >= PUTTY_CHARACTERS_MIN && is_random(&body);
    is_key.then_some(Secret { at: at.start, bytes: Cow::Owned(body) })
}

/// INVARIANT: neither a header nor the body contains two consecutive dashes, so no other key begins in the
/// examined range. All keys together therefore take at most one pass over the content.
fn without_headers(mut rest: &[u8]) -> &[u8] {
    for _ in 0..HEADERS_MAX {
        let start = rest.iter().take_while(|&&byte| is_between(byte)).count();
        let line = escaped(rest.get(start..).unwrap_or_default());
        let is_name = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b'-';
        let name = line.iter().take(HEADER_NAME_BYTES_MAX).take_while(is_name).count();
        let Some(value) = line.get(name..).and_then(|value| value.strip_prefix(b":")) else {
            break;
        };
        let near = value.get(..HEADER_VALUE_BYTES_MAX).unwrap_or(value);
        effort::spend(near.len());
        let end = near.windows(2).position(|pair| matches!(pair, [b'\n', _] | b"\\n" | b"--"));
        match end.and_then(|end| value.get(end..)) {
            Some(behind) if name > 0 && !behind.starts_with(b"--") => rest = behind,
            _ => break,
        }
    }
    rest
}

fn body(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        effort::spend(1);
        rest = escaped(rest);
        let Some((&byte, behind)) = rest.split_first() else {
            // The content ends, or is longer than any known key.
            return Some(body);
        };
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => body.push(byte),
            b'-' if rest.starts_with(b"-----END") => return Some(body),
            byte if is_between(byte) => {}
            _ => return None,
        }
        rest = behind;
    }
}

/// Returns true for a byte that may be between the lines of a key in the source of a program.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"',;#*>|()`".contains(&byte)
}

/// Skips the escaped line ends at the beginning of `rest`.
fn escaped(mut rest: &[u8]) -> &[u8] {
    while let [b'\\', behind @ ..] = rest {
        rest = match behind {
            [b'n' | b'r' | b't', behind @ ..] => behind,
            _ => behind,
        };
    }
    rest
}
