//! Finds secrets without a characteristic format by the name that they are assigned to.
//!
//! A value is checked if its name suggests a secret, and reported if it looks random like a generated password or token.
//! References to variables, plain names and example passwords are not reported.

use std::ops::Range;

use super::placeholder::{
    holds_any, is_made_up, is_random, is_reference, is_sample_password, looks_random,
};
use super::{Secret, effort, encoded, secret_pattern};

/// Kind of secret that a name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// Secret that a user or a password generator chose, for example `password`.
    Password,
    /// Secret that a program generated, for example `api_key`, `token` or `secret`.
    Token,
}

/// Maximum length of the part of a name before its keyword, in bytes.
const NAME_BYTES_MAX: usize = 48;
/// Maximum length of the part of a name after its keyword, in bytes.
const TAIL_BYTES_MAX: usize = 16;
/// Maximum number of blanks before the operator, and again after it.
const GAP_BYTES_MAX: usize = 16;
const TYPE_BYTES_MAX: usize = 24;
const VALUE_BYTES_MAX: usize = 200;
const TOKEN_BYTES_MIN: usize = 16;
const PASSWORD_BYTES_MIN: usize = 10;
/// Minimum length of a password that is reported only because it looks random, in bytes.
const LONG_PASSWORD: usize = 12;

/// Suffixes that may follow a keyword without changing its meaning.
const TAILS: [&[u8]; 17] = [
    b"",
    b"_key",
    b"-key",
    b"key",
    b"_base",
    b"_key_base",
    b"_value",
    b"_token",
    b"_access_key",
    b"_id_secret",
    b"_prod",
    b"_production",
    b"_dev",
    b"_live",
    b"_staging",
    b"1",
    b"_1",
];

/// Substrings of a name that indicate that its value is not a secret.
const OTHER_NAMES: [&[u8]; 30] = [
    b"public",
    b"csrf",
    b"xsrf",
    b"page",
    b"next",
    b"prev",
    b"cursor",
    b"continuation",
    b"cancel",
    b"sync",
    b"example",
    b"sample",
    b"fake",
    b"dummy",
    b"mock",
    b"test",
    b"hash",
    b"digest",
    b"checksum",
    b"sha",
    b"md5",
    b"encrypted",
    b"etag",
    b"wrong",
    b"invalid",
    b"expected",
    b"pagination",
    b"sitekey",
    b"verification",
    b"idempot",
];

/// Returns the value that is assigned to the name with the keyword at `at`, if it looks like a secret.
pub(super) fn secret<'a>(content: &'a [u8], at: &Range<usize>, named: Named) -> Option<Secret<'a>> {
    // Some literals include the operator, because they would occur in too many words without it.
    let keyword = content.get(at.clone())?;
    let end = at.end - usize::from(keyword.ends_with(b"=") || keyword.ends_with(b":"));
    let rest = content.get(end..)?;
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let tail = rest.iter().take(TAIL_BYTES_MAX).take_while(is_of_name).count();
    effort::spend(tail);
    let (tail, rest) = rest.split_at_checked(tail)?;
    if !TAILS.iter().any(|known| tail.eq_ignore_ascii_case(known)) {
        return None;
    }
    let value = Value::behind(rest)?;
    let head = content.get(..at.start)?;
    let length = head.iter().rev().take(NAME_BYTES_MAX).take_while(is_of_name).count();
    effort::spend(length);
    let name = content.get(at.start - length..end + tail.len())?;
    let is_one = match named {
        _ if holds_any(name, &OTHER_NAMES) || is_reference(value.bytes) => false,
        Named::Token => is_token(&value),
        Named::Password => is_password(&value),
    };
    let start = content.len() - value.rest.len();
    is_one.then(|| secret_pattern::secret(content, start..start + value.bytes.len())).flatten()
}

struct Value<'a> {
    /// Rest of the content, starting with the value.
    rest: &'a [u8],
    bytes: &'a [u8],
    is_quoted: bool,
}

impl<'a> Value<'a> {
    /// Parses the operator and the value that follow a name.
    fn behind(rest: &'a [u8]) -> Option<Self> {
        let rest = behind_operator(rest)?;
        let rest = behind_type(rest);
        // Allow string prefixes as in `b"…"` and `u'…'`, and escaped quotes inside another string.
        let prefix = rest.iter().take(2).take_while(|&&byte| b"bBuUrR@\\".contains(&byte)).count();
        let quoted = rest.get(prefix..).and_then(<[u8]>::split_first);
        let Some((&quote, quoted)) = quoted.filter(|(quote, _)| b"\"'`".contains(quote)) else {
            return Self::bare(rest);
        };
        let is_of_it = |byte: &&u8| byte.is_ascii_graphic() && **byte != quote && **byte != b'\\';
        let length = quoted.iter().take(VALUE_BYTES_MAX).take_while(is_of_it).count();
        effort::spend(length);
        let is_closed = matches!(quoted.get(length), Some(&byte) if byte == quote || byte == b'\\');
        let bytes = quoted.get(..length)?;
        is_closed.then_some(Self { rest: quoted, bytes, is_quoted: true })
    }

    /// Parses an unquoted value. It must be the last item on its line, or in its part of a connection string or URL.
    fn bare(rest: &'a [u8]) -> Option<Self> {
        let is_of_it =
            |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-./+~!@#$%^*?".contains(byte);
        let length = rest.iter().take(VALUE_BYTES_MAX).take_while(is_of_it).count();
        effort::spend(length);
        let padding = rest.iter().skip(length).take(2).take_while(|&&byte| byte == b'=').count();
        let (bytes, behind) = rest.split_at_checked(length + padding)?;
        let is_closed = match behind {
            [] => true,
            [byte, ..] => byte.is_ascii_whitespace() || b";&\"'<\\`".contains(byte),
        };
        is_closed.then_some(Self { rest, bytes, is_quoted: false })
    }
}

/// Returns the text after an assignment operator (`=`, `:`, `:=` or `=>`) or after the `>` of a tag. The closing quote of
/// the name may precede the operator.
fn behind_operator(rest: &[u8]) -> Option<&[u8]> {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let name_end = rest.iter().take(3).take_while(|&&byte| b"\"'\\]".contains(&byte)).count();
    let rest = rest.get(name_end..)?;
    let gap = rest.iter().take(GAP_BYTES_MAX).take_while(is_blank).count();
    let operator = rest.get(gap..)?;
    effort::spend(name_end + gap);
    let length = match operator {
        [b'=', b'=', ..] | [b':', b':', ..] | [b'=', b'~', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => 2,
        [b'=' | b':', ..] => 1,
        [b'>', ..] if gap + name_end == 0 => 1,
        _ => return None,
    };
    let rest = operator.get(length..)?;
    let gap = rest.iter().take(GAP_BYTES_MAX).take_while(is_blank).count();
    rest.get(gap..)
}

/// Skips a type annotation and the following `=`, as in `: String = `, and returns the rest.
fn behind_type(rest: &[u8]) -> &[u8] {
    let is_of_type = |byte: &&u8| byte.is_ascii_alphabetic() || b"&'_<>. ".contains(byte);
    let length = rest.iter().take(TYPE_BYTES_MAX).take_while(is_of_type).count();
    effort::spend(length);
    match rest.get(length..) {
        Some([b'=', b' ', behind @ ..]) if length > 0 => behind,
        _ => rest,
    }
}

fn is_token(value: &Value<'_>) -> bool {
    let bytes = value.bytes;
    let is_of_it = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./+=~".contains(byte);
    let dots = bytes.iter().filter(|&&byte| byte == b'.').count();
    bytes.len() >= TOKEN_BYTES_MIN
        && bytes.iter().all(is_of_it)
        && (value.is_quoted || dots == 0 || bytes.starts_with(b"eyJ"))
        && !bytes.starts_with(b"/")
        // Google API keys have a separate rule, which checks whether they are public.
        && !bytes.starts_with(b"AIza")
        && looks_random(bytes)
        && !is_made_up(bytes)
        && !is_known_digest(bytes)
        && !is_guid(bytes)
        && !encoded::is_sample_web_token(bytes)
}

/// Returns true if the value has a prefix that marks it as a digest, such as `sha256-`.
fn is_known_digest(bytes: &[u8]) -> bool {
    [&b"sha1-"[..], b"sha256-", b"sha384-", b"sha512-", b"md5-"]
        .iter()
        .any(|name| bytes.starts_with(name))
}

/// Returns true if the value has the form of a UUID (RFC 9562), because most UUIDs identify requests or objects and are
/// not secret.
fn is_guid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && (0..).zip(bytes).all(|(at, &byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_password(value: &Value<'_>) -> bool {
    let bytes = value.bytes;
    let has = |is_kind: fn(&u8) -> bool| bytes.iter().any(is_kind);
    let (lower, upper) = (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase));
    let is_other = |byte: &u8| byte.is_ascii_punctuation() && !b"_-./".contains(byte);
    let (digit, other) = (has(u8::is_ascii_digit), has(is_other));
    let kinds = [lower, upper, digit, other].into_iter().filter(|&has| has).count();
    let is_strong = kinds >= 3 && digit && (other || looks_random(bytes));
    let is_long = bytes.len() >= LONG_PASSWORD && looks_random(bytes);
    bytes.len() >= PASSWORD_BYTES_MIN
        && (is_strong || is_long)
        && !bytes.starts_with(b"/")
        && !bytes.starts_with(b"$")
        && !bytes.windows(3).any(|part| part == b"://")
        && !is_sample_password(bytes)
        && is_random(bytes)
}
