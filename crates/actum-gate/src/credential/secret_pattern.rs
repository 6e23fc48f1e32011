//! Patterns that the text around a literal must match to be reported as a secret.

use std::borrow::Cow;
use std::ops::Range;

use super::assignment::{self, Named};
use super::checksum::{bech32_holds, crc32_holds};
use super::placeholder::{is_made_up, looks_random};
use super::{Secret, effort, encoded, password_file, private_key, url, web_key};

/// Pattern that locates a secret relative to the literal of its rule.
pub(super) enum SecretPattern {
    /// The literal starts a word, and the rest of the word consists of these parts.
    Token(&'static [Part], Proof),
    /// The literal is a name to which a value of this alphabet is assigned. The numbers limit the length of the
    /// value.
    Assigned(Alphabet, usize, usize, Proof),
    /// The literal is a name or the start of a call, and these parts follow after separators such as `=`, `:`
    /// or `(`.
    After(&'static [Part], Proof),
    /// The literal is part of a name to which a random-looking value is assigned.
    Named(Named),
    /// The literal follows a run of this alphabet, whose length the numbers limit, and precedes these parts.
    Around(Alphabet, usize, usize, &'static [Part], Proof),
    /// The literal starts a Google API key, unless the text around it shows that the key is public.
    GoogleKey,
    /// The literal precedes `user:password` in base64.
    UserPassword,
    /// The literal is the beginning of a PEM header in base64.
    EncodedPem,
    /// The literal precedes a PuTTY private key.
    Putty,
    /// The literal is the first word of an entry in a `.netrc` file.
    Netrc,
    /// The literal declares that the document is a Kubernetes Secret.
    KubernetesSecret,
    /// The literal is in the middle of a word that starts with this prefix. The number is the count of letters
    /// and digits on each side of the literal.
    Within(&'static str, usize),
    /// The literal starts the header of a PEM private key.
    PrivateKey,
    /// The literal is the scheme of a database URL.
    DatabaseUrl,
    /// The literal is the scheme of a URL that is not a database URL.
    WebUrl,
}

/// Part of the text that must precede or follow a literal.
pub(super) enum Part {
    /// Fixed text.
    Text(&'static str),
    /// Longest possible run of characters of an alphabet, with a minimum and a maximum length.
    Run(Alphabet, usize, usize),
}

/// Characters that may occur in a run.
#[derive(Clone, Copy)]
pub(super) enum Alphabet {
    Digits,
    /// Lowercase hexadecimal digits.
    Hex,
    /// Lowercase letters and digits.
    Lower,
    /// Uppercase letters and digits.
    Upper,
    /// Uppercase letters and the digits 2 to 7 (RFC 4648).
    Base32,
    /// Letters and digits.
    Base62,
    /// Letters, digits, `+`, `/`.
    Base64,
    /// Letters, digits, `-`, `_`.
    Base64Url,
    /// Letters, digits, `+`, `/`, `-`, `_`. An assigned value may also end with `=` padding.
    AnyBase64,
    /// Letters, digits, `+`, `/`, and `%` for URL escapes.
    UrlBase64,
    /// Letters, digits, `-`, `_`, `.`, `~`.
    Unreserved,
    /// Characters allowed in a bearer token (RFC 6750).
    Bearer,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Lower => matches!(byte, b'0'..=b'9' | b'a'..=b'z'),
            Self::Upper => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::Base62 => byte.is_ascii_alphanumeric(),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'),
            Self::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::AnyBase64 => byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte),
            Self::UrlBase64 => byte.is_ascii_alphanumeric() || b"+/%".contains(&byte),
            Self::Unreserved => byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte),
            Self::Bearer => byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte),
        }
    }
}

/// Condition on the variable part of a match, which excludes placeholders and other false positives.
#[derive(Clone, Copy)]
pub(super) enum Proof {
    /// The text is not a placeholder.
    Unlikely,
    /// The text is not a placeholder, and has at least two of lowercase letters, uppercase letters and digits.
    Random,
    /// The text is not a placeholder, and has lowercase letters, uppercase letters and digits.
    Mixed,
    /// The text ends with its valid CRC-32 checksum and is not a placeholder.
    Crc32,
    /// The text is valid Bech32 with this prefix.
    Bech32(&'static str),
    /// The text meets `Random` and contains this text.
    Holds(&'static str),
    /// The text meets `Random` and ends with this text.
    Ends(&'static str),
    /// The text meets `Random`, has high entropy, and often changes between kinds of characters.
    Entropy,
    /// The text is the signature of a URL. It meets `Mixed`, and either has the 43 characters of 32 bytes in
    /// base64 or ends with escaped padding.
    Signature,
    /// The text meets `Entropy` and is not a sample JSON Web Token.
    Bearer,
    /// The text meets `Random` and starts with none of these published values.
    NotOneOf(&'static [&'static str]),
}

impl Proof {
    fn holds(self, random: &[u8]) -> bool {
        let kinds = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
        let kinds = kinds.iter().filter(|is_kind| random.iter().any(is_kind)).count();
        let is_random = kinds >= 2 && !is_made_up(random);
        match self {
            Self::Unlikely => !is_made_up(random),
            Self::Random => is_random,
            Self::Mixed => is_random && kinds == 3,
            Self::Crc32 => crc32_holds(random) && !is_made_up(random),
            Self::Bech32(prefix) => bech32_holds(prefix.as_bytes(), random),
            Self::Holds(text) => {
                is_random && random.windows(text.len()).any(|window| window == text.as_bytes())
            }
            Self::Entropy => is_random && looks_random(random),
            Self::Signature => {
                let is_padded = random.ends_with(b"%3D") || random.ends_with(b"%3d");
                kinds == 3 && is_random && (is_padded || random.len() == 43)
            }
            Self::Bearer => {
                is_random && looks_random(random) && !encoded::is_sample_web_token(random)
            }
            Self::Ends(text) => is_random && random.ends_with(text.as_bytes()),
            Self::NotOneOf(texts) => {
                is_random && !texts.iter().any(|text| random.starts_with(text.as_bytes()))
            }
        }
    }
}

/// Maximum number of bytes between a name and the value assigned to it.
const ASSIGNMENT_BYTES_MAX: usize = 12;

impl SecretPattern {
    /// Returns the secret at the literal's position `at`, if the surrounding text matches the pattern.
    ///
    /// INVARIANT: all calls for one content together examine at most a fixed multiple of its length. A token is
    /// examined from the start of a word, and words do not overlap. Every other range is bounded, or ends where
    /// the same literal would start again.
    pub(super) fn secret<'a>(&self, content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
        match self {
            Self::Token(parts, proof) => token(content, at, parts, *proof),
            Self::Assigned(alphabet, min, max, proof) => {
                assigned(content, at.end, (*alphabet, *min, *max), *proof)
            }
            Self::After(parts, proof) => after(content, at.end, parts, *proof),
            Self::Named(named) => assignment::secret(content, at, *named),
            Self::Around(alphabet, min, max, parts, proof) => {
                around(content, at, (*alphabet, *min, *max), parts, *proof)
            }
            Self::GoogleKey => {
                let found =
                    token(content, at, &[Part::Run(Alphabet::Base64Url, 35, 35)], Proof::Mixed);
                found.filter(|found| !web_key::is_public(content, found.at))
            }
            Self::UserPassword => encoded::user_password(content, at),
            Self::EncodedPem => encoded::pem(content, at),
            Self::Putty => private_key::putty(content, at),
            Self::Netrc => password_file::netrc(content, at),
            Self::KubernetesSecret => encoded::kubernetes_secret(content, at),
            Self::Within(before, length) => within(content, at, before, *length),
            Self::PrivateKey => private_key::secret(content, at),
            Self::DatabaseUrl => url::database(content, at),
            Self::WebUrl => url::web(content, at),
        }
    }
}

fn token<'a>(
    content: &'a [u8],
    at: &Range<usize>,
    parts: &[Part],
    proof: Proof,
) -> Option<Secret<'a>> {
    if !begins_word(content.get(..at.start)?) {
        return None;
    }
    let rest = behind_parts(content.get(at.end..)?, parts)?;
    let end = content.len() - rest.len();
    let random = content.get(at.end..end)?;
    proof.holds(random).then(|| secret(content, at.start..end)).flatten()
}

/// Returns the text after `parts` if `rest` starts with them and no further character of the word follows.
fn behind_parts<'a>(mut rest: &'a [u8], parts: &[Part]) -> Option<&'a [u8]> {
    for part in parts {
        rest = match part {
            Part::Text(text) => rest.strip_prefix(text.as_bytes())?,
            Part::Run(alphabet, min, max) => {
                let run = rest.iter().take(max + 1).take_while(|&&byte| alphabet.has(byte)).count();
                effort::spend(run);
                (*min..=*max).contains(&run).then(|| rest.get(run..)).flatten()?
            }
        };
    }
    let goes_on = rest.first().is_some_and(|&byte| is_of_word(byte) && byte != b'-');
    (!goes_on).then_some(rest)
}

fn around<'a>(
    content: &'a [u8],
    at: &Range<usize>,
    (alphabet, min, max): (Alphabet, usize, usize),
    parts: &[Part],
    proof: Proof,
) -> Option<Secret<'a>> {
    let before = content.get(..at.start)?;
    let run = before.iter().rev().take(max + 1).take_while(|&&byte| alphabet.has(byte)).count();
    effort::spend(run);
    let start = at.start.checked_sub(run)?;
    if !(min..=max).contains(&run) || !begins_word(content.get(..start)?) {
        return None;
    }
    let rest = behind_parts(content.get(at.end..)?, parts)?;
    let end = content.len() - rest.len();
    proof.holds(content.get(at.end..end)?).then(|| secret(content, start..end)).flatten()
}

fn assigned(
    content: &[u8],
    name_end: usize,
    (alphabet, min, max): (Alphabet, usize, usize),
    proof: Proof,
) -> Option<Secret<'_>> {
    let rest = content.get(name_end..)?;
    let is_between = |byte: u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=');
    let gap = rest.iter().take(ASSIGNMENT_BYTES_MAX).take_while(|&&byte| is_between(byte)).count();
    let (gap, value) = rest.split_at_checked(gap)?;
    effort::spend(gap.len());
    if !gap.iter().any(|byte| b":=".contains(byte)) {
        return None;
    }
    let mut found = value.iter().take(max + 1).take_while(|&&byte| alphabet.has(byte)).count();
    effort::spend(found);
    if let Alphabet::AnyBase64 = alphabet {
        found += value.iter().skip(found).take(2).take_while(|&&byte| byte == b'=').count();
    }
    if !(min..=max).contains(&found) || value.get(found) == Some(&b'=') {
        return None;
    }
    let start = name_end + gap.len();
    proof.holds(value.get(..found)?).then(|| secret(content, start..start + found)).flatten()
}

fn after<'a>(
    content: &'a [u8],
    name_end: usize,
    parts: &[Part],
    proof: Proof,
) -> Option<Secret<'a>> {
    let rest = content.get(name_end..)?;
    let is_between = |byte: u8| b" \t\"'`\\:=(".contains(&byte);
    let gap = rest.iter().take(ASSIGNMENT_BYTES_MAX).take_while(|&&byte| is_between(byte)).count();
    effort::spend(gap);
    let start = name_end + gap;
    let end = content.len() - behind_parts(rest.get(gap..)?, parts)?.len();
    proof.holds(content.get(start..end)?).then(|| secret(content, start..end)).flatten()
}

fn within<'a>(
    content: &'a [u8],
    at: &Range<usize>,
    before: &str,
    length: usize,
) -> Option<Secret<'a>> {
    let start = at.start.checked_sub(before.len() + length)?;
    let head = content.get(start..at.start)?.strip_prefix(before.as_bytes())?;
    let end = at.end + length;
    let tail = content.get(at.end..end)?;
    let are_of_it = [head, tail].concat();
    effort::spend(are_of_it.len());
    let is_one = begins_word(content.get(..start)?)
        && !content.get(end).is_some_and(|&byte| is_of_word(byte))
        && are_of_it.iter().all(|&byte| Alphabet::Base62.has(byte))
        && Proof::Random.holds(&are_of_it);
    is_one.then(|| secret(content, start..end)).flatten()
}

pub(super) fn secret(content: &[u8], at: Range<usize>) -> Option<Secret<'_>> {
    let start = at.start;
    Some(Secret { at: start, bytes: Cow::Borrowed(content.get(at)?) })
}

fn is_of_word(byte: u8) -> bool {
    Alphabet::Base64Url.has(byte)
}

/// Returns true if a word may start after the text `before`. A letter or digit at its end does not extend the
/// word if it belongs to an escape such as `\n` in a string or `%3D` in a URL.
pub(super) fn begins_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', one, other] if one.is_ascii_hexdigit() && other.is_ascii_hexdigit() => true,
        [.., last] => !is_of_word(*last),
        [] => true,
    }
}
