//! Secrets without a characteristic form, assigned to a name that describes them.
//!
//! The name decides whether a value is checked, and the value alone whether it is reported: a generated
//! password or token is distributed randomly. References to variables, names, and example passwords are not.

use std::ops::Range;

use super::placeholder::{
    holds_any, is_made_up, is_random, is_reference, is_sample_password, looks_random,
};
use super::{Secret, effort, encoded, secret_pattern};

/// Kind of value that the name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// Value made up by users or generators: `password`.
    Password,
    /// Value made by a program: `api_key`, `token`, `secret`.
    Token,
}

/// Maximum distance before the keyword in which a name is read, in bytes.
const NAME_BYTES_MAX: usize = 48;
/// Maximum length of a name after its keyword, in bytes.
const TAIL_BYTES_MAX: usize = 16;
/// Maximum distance between a name and its value, in bytes.
const GAP_BYTES_MAX: usize = 16;
const TYPE_BYTES_MAX: usize = 24;
const VALUE_BYTES_MAX: usize = 200;
const TOKEN_BYTES_MIN: usize = 16;
const PASSWORD_BYTES_MIN: usize = 10;
/// Minimum length of a password with two kinds of characters that counts if it looks random.
const LONG_PASSWORD: usize = 12;

/// Endings of a keyword that do not change its meaning.
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

/// Parts of names whose values are not secrets.
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

/// Returns the value that is assigned to the name that contains the keyword at `at`.
pub(super) fn secret<'a>(content: &'a [u8], at: &Range<usize>, named: Named) -> Option<Secret<'a>> {
    // The operator is part of the literals that would occur in too many words without it.
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
    /// Content from the value on.
    rest: &'a [u8],
    bytes: &'a [u8],
    is_quoted: bool,
}

impl<'a> Value<'a> {
    /// Parses the assignment after a name.
    fn behind(rest: &'a [u8]) -> Option<Self> {
        let rest = behind_operator(rest)?;
        let rest = behind_type(rest);
        // `b"…"`, `u'…'`, `\"…\"` inside a string.
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

    /// Parses a value without quotes: the last of its line, or of its part of a connection string or URL.
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

/// Returns the text after `=`, `:`, `:=`, `=>`, or `>` of a tag, with blanks and the closing quote of the name.
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

/// Returns the text after the type in `: String = `, if there is one.
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
        // Google keys have their own rule, which checks whether they are public.
        && !bytes.starts_with(b"AIza")
        && looks_random(bytes)
        && !is_made_up(bytes)
        && !is_known_digest(bytes)
        && !is_guid(bytes)
        && !encoded::is_sample_web_token(bytes)
}

/// Returns true if the value is labelled as a digest.
fn is_known_digest(bytes: &[u8]) -> bool {
    [&b"sha1-"[..], b"sha256-", b"sha384-", b"sha512-", b"md5-"]
        .iter()
        .any(|name| bytes.starts_with(name))
}

/// Returns true if the value is an identifier of 128 bits (RFC 9562), which is more often that of a request
/// or an object than a secret.
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
