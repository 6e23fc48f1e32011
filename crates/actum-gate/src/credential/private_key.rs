//! Private keys in PEM (RFC 7468, RFC 1421, RFC 4880), also inside strings of other languages.

use std::borrow::Cow;
use std::ops::Range;

use super::placeholder::is_random;
use super::{Secret, effort};

/// How far the end of a key may be. One of 16,384 bits takes 13 KiB.
const KEY_BYTES_MAX: usize = 64 << 10;
/// How long the name of a kind of key may be.
const LABEL_BYTES_MAX: usize = 40;
/// The headers before the key: two of them where it is encrypted, up to five in OpenPGP.
const HEADERS_MAX: usize = 6;
const HEADER_NAME_BYTES_MAX: usize = 24;
const HEADER_VALUE_BYTES_MAX: usize = 160;
/// The shortest key, of 32 bytes on a curve, has 64 characters.
const BODY_CHARACTERS_MIN: usize = 48;

/// PuTTY writes 64 characters to a line.
const PUTTY_LINE_BYTES_MAX: usize = 80;
/// An Ed25519 key has 48.
const PUTTY_CHARACTERS_MIN: usize = 40;

const DASHES: &[u8] = b"-----";

/// The key of which the header begins here: its base 64 without what is between the lines, so that
/// another indentation is no other key. What is no base 64 to its end is no key.
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

/// The base 64 of a key in PuTTY's format, behind the number of its lines.
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

/// INVARIANT: neither a header nor the body holds two dashes in a row, so no other key begins in
/// what is read here, and all keys together take no more than one reading of the content.
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
            // The content ends, or it goes on for longer than any key that we know.
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

/// What may stand between the lines of a key in the source of a program.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"',;#*>|()`".contains(&byte)
}

/// What follows the escaped ends of lines that `rest` begins with.
fn escaped(mut rest: &[u8]) -> &[u8] {
    while let [b'\\', behind @ ..] = rest {
        rest = match behind {
            [b'n' | b'r' | b't', behind @ ..] => behind,
            _ => behind,
        };
    }
    rest
}
