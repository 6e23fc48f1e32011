//! Detects private keys in PEM format (RFC 7468, RFC 1421, RFC 4880), also inside string literals, and in PuTTY
//! format.

use std::borrow::Cow;
use std::ops::Range;

use super::placeholder::is_random;
use super::{Secret, effort};

/// Maximum number of bytes examined after the header of a private key. A 16,384-bit key takes 13 KiB.
const KEY_BYTES_MAX: usize = 64 << 10;
/// Number of bytes after `-----BEGIN ` within which the label of a PEM header and its closing dashes must fit.
const LABEL_BYTES_MAX: usize = 40;
/// Maximum number of header lines before a PEM key. An encrypted key has two, an OpenPGP key has up to five.
const HEADERS_MAX: usize = 6;
const HEADER_NAME_BYTES_MAX: usize = 24;
const HEADER_VALUE_BYTES_MAX: usize = 160;
/// Minimum number of base64 characters in a PEM private key. A 32-byte elliptic-curve key has 64.
const BODY_CHARACTERS_MIN: usize = 48;

/// Maximum line length in a PuTTY key file. PuTTY writes 64 characters per line.
const PUTTY_LINE_BYTES_MAX: usize = 80;
/// Minimum number of base64 characters in a PuTTY private key. An Ed25519 key has 48.
const PUTTY_CHARACTERS_MIN: usize = 40;

const DASHES: &[u8] = b"-----";

/// Returns the private key whose PEM header starts at `at`, as base64 without line breaks and indentation, so
/// that reformatting a key does not change its digest. Returns `None` if the text before the end line is not
/// base64.
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

/// Returns the base64 of a PuTTY private key, which follows the number of its lines.
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
        // The first line that is not base64 ends the key. Normally, this is `Private-MAC`.
        if line.len() > PUTTY_LINE_BYTES_MAX || !line.iter().all(is_body) {
            break;
        }
        body.extend_from_slice(line);
    }
    let is_key = digits > 0 && body.len() >= PUTTY_CHARACTERS_MIN && is_random(&body);
    is_key.then_some(Secret { at: at.start, bytes: Cow::Owned(body) })
}

/// Skips the header lines between the `BEGIN` line and the base64 of a private key.
///
/// INVARIANT: neither a header nor the body contains two consecutive dashes, so no other key begins in the
/// examined range. Scanning all keys therefore takes at most one pass over the content.
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
            // The content or the maximum length of a key ended before an `END` line was found.
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

/// Returns true for bytes that may appear between the lines of a key embedded in source code, such as quotes.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"',;#*>|()`".contains(&byte)
}

/// Skips backslashes and escaped line ends such as `\n` at the start of `rest`.
fn escaped(mut rest: &[u8]) -> &[u8] {
    while let [b'\\', behind @ ..] = rest {
        rest = match behind {
            [b'n' | b'r' | b't', behind @ ..] => behind,
            _ => behind,
        };
    }
    rest
}
