//! Finds base64-encoded credentials: PEM keys, `user:password` pairs, and the values of a Kubernetes Secret.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::placeholder::{holds_any, is_made_up, is_random, is_sample_password};
use super::secret_pattern::{self, Alphabet};
use super::{Secret, effort};

/// Base64 decoder that accepts text with or without padding, even if it is truncated.
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Maximum length of a base64-encoded PEM key, in bytes of base64.
const PEM_BYTES_MAX: usize = 64 << 10;
/// End of the part of a base64-encoded PEM key that is decoded to check that it is random, in bytes. It must be a
/// multiple of four.
const PEM_BEGINNING: usize = 240;
const PEM_HEADER: usize = 64;
const PEM_BODY_MIN: usize = 24;
const USER_PASSWORD_BYTES_MAX: usize = 512;
const PASSWORD_BYTES_MIN: usize = 8;

/// Returns a base64-encoded PEM private key, which occurs in kubeconfig files and environment variables.
///
/// INVARIANT: the examined range ends at the start of the next key, so that no byte is examined for two keys.
pub(super) fn pem<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let rest = content.get(at.start..)?;
    effort::spend(PEM_HEADER);
    let header = STANDARD.decode(rest.get(..PEM_HEADER)?).ok()?;
    memchr::memmem::find(&header, b"PRIVATE KEY")?;
    let literal = content.get(at.clone())?;
    let goes_on =
        |&at: &usize| rest.get(at..).is_some_and(|rest| at == 0 || !rest.starts_with(literal));
    let bytes = (0..rest.len().min(PEM_BYTES_MAX)).take_while(goes_on);
    let length = bytes.take_while(|&at| rest.get(at).is_some_and(|&byte| is_base64(byte))).count();
    effort::spend(length);
    let beginning = STANDARD.decode(rest.get(PEM_HEADER..PEM_BEGINNING.min(length & !3))?).ok()?;
    let is_key = beginning.len() >= PEM_BODY_MIN && beginning.is_ascii() && is_random(&beginning);
    is_key.then(|| secret_pattern::secret(content, at.start..at.start + length)).flatten()
}

/// Returns a base64-encoded `user:password` pair that follows a name or an authentication scheme such as `Basic`.
pub(super) fn user_password<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let rest = content.get(at.end..)?;
    let gap = rest.iter().take(8).take_while(|&&byte| b" \t:\"'\\".contains(&byte)).count();
    let value = rest.get(gap..)?;
    let max = USER_PASSWORD_BYTES_MAX;
    let length = value.iter().take(max).take_while(|&&byte| is_base64(byte)).count();
    effort::spend(gap + length);
    let value = value.get(..length)?;
    if length < 16 {
        return None;
    }
    let decoded = STANDARD.decode(value).ok()?;
    let colon = memchr::memchr(b':', &decoded)?;
    let (user, password) = (decoded.get(..colon)?, decoded.get(colon + 1..)?);
    let start = at.end + gap;
    let is_one = !user.is_empty() && user.iter().all(u8::is_ascii_graphic) && is_password(password);
    is_one.then(|| secret_pattern::secret(content, start..start + length)).flatten()
}

fn is_password(text: &[u8]) -> bool {
    let is_plain = text.iter().all(u8::is_ascii_lowercase);
    text.len() >= PASSWORD_BYTES_MIN
        && text.iter().all(u8::is_ascii_graphic)
        && !is_plain
        && !is_sample_password(text)
        && is_random(text)
}

fn is_base64(byte: u8) -> bool {
    Alphabet::Base64.has(byte) || byte == b'='
}

/// Maximum number of blanks after the `kind` of a Kubernetes document.
const BLANKS_MAX: usize = 8;
/// Maximum distance from the `kind` of a Kubernetes Secret to its values, in bytes.
const DOCUMENT_BYTES_MAX: usize = 16 << 10;

/// Returns the values under `data` or `stringData` of a Kubernetes Secret as a single secret, if at least one of them looks
/// like a secret.
pub(super) fn kubernetes_secret<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let rest = content.get(at.end..)?;
    let rest = rest.get(..DOCUMENT_BYTES_MAX).unwrap_or(rest);
    // Other kinds that begin with `Secret`, such as `SecretList`, do not match.
    let blanks = rest.iter().take(BLANKS_MAX).take_while(|&&byte| b" \r".contains(&byte)).count();
    rest.get(blanks).is_none_or(|&byte| byte == b'\n').then_some(())?;
    let (mut start, mut in_data, mut found) = (at.end, None, None::<Range<usize>>);
    for line in rest.split_inclusive(|&byte| byte == b'\n') {
        let line_start = start;
        start += line.len();
        let text = line.trim_ascii_end();
        let indent = text.iter().take_while(|&&byte| byte == b' ').count();
        let trimmed = text.get(indent..).unwrap_or_default();
        // If another Secret begins here, its literal leads to a separate search.
        if text.starts_with(b"---") || memchr::memmem::find(trimmed, b"kind:").is_some() {
            break;
        }
        effort::spend(line.len());
        match in_data {
            _ if trimmed == b"data:" => in_data = Some((indent, true)),
            _ if trimmed == b"stringData:" => in_data = Some((indent, false)),
            Some((outer, is_encoded)) if indent > outer => {
                let Some(colon) = memchr::memchr(b':', trimmed) else { continue };
                let value = trimmed.get(colon + 1..).unwrap_or_default().trim_ascii();
                let value = value.strip_prefix(b"\"").unwrap_or(value);
                let value = value.strip_suffix(b"\"").unwrap_or(value);
                let decoded =
                    if is_encoded { STANDARD.decode(value).ok() } else { Some(value.to_vec()) };
                let end = line_start + text.len();
                if let Some(found) = &mut found {
                    found.end = end;
                } else if decoded.is_some_and(|value| is_password(&value)) {
                    found = Some(end - trimmed.len()..end);
                }
            }
            _ if !trimmed.is_empty() => in_data = None,
            _ => {}
        }
    }
    found.and_then(|range| secret_pattern::secret(content, range))
}

/// Words in the claims of JSON Web Tokens that are used as examples in documentation.
const SAMPLE_CLAIMS: [&[u8]; 6] =
    [b"1234567890", b"john doe", b"example", b"joe", b"test", b"\"foo\""];

/// Returns true if the text begins like a JSON Web Token, but has example claims or no real signature.
pub(super) fn is_sample_web_token(token: &[u8]) -> bool {
    if !token.starts_with(b"eyJ") {
        return false;
    }
    let mut parts = token.split(|&byte| byte == b'.').skip(1);
    let (claims, signature) = (parts.next(), parts.next());
    let is_signed =
        signature.is_some_and(|signature| signature.len() >= 32 && !is_made_up(signature));
    let claims = claims.and_then(|claims| URL_SAFE.decode(claims).ok());
    !is_signed || claims.is_none_or(|claims| holds_any(&claims, &SAMPLE_CLAIMS))
}
