//! Patterns that the text around a literal must match to be a secret.

use std::borrow::Cow;
use std::ops::Range;

use super::assignment::{self, Named};
use super::checksum::{bech32_holds, crc32_holds};
use super::placeholder::{is_made_up, looks_random};
use super::{Secret, effort, encoded, password_file, private_key, url, web_key};

/// Pattern of a secret around a literal of its rule.
pub(super) enum SecretPattern {
    /// The literal begins a word, which consists of it and these parts.
    Token(&'static [Part], Proof),
    /// The literal is a name, to which a minimum to maximum number of these characters is assigned.
    Assigned(Alphabet, usize, usize, Proof),
    /// The literal is a name or a call, followed by an assignment or parenthesis and these parts.
    After(&'static [Part], Proof),
    /// The literal is part of a name to which a random value is assigned.
    Named(Named),
    /// A minimum to maximum number of these characters before the literal, and these parts after it.
    Around(Alphabet, usize, usize, &'static [Part], Proof),
    /// The literal begins a key for Google's APIs that is not a public key of a web page.
    GoogleKey,
    /// The literal precedes `user:password` in base 64.
    UserPassword,
    /// The literal is the beginning of a PEM header in base 64.
    EncodedPem,
    /// The literal precedes a PuTTY key.
    Putty,
    /// The literal is the first word of an entry of a `.netrc` file.
    Netrc,
    /// The literal declares a document to be a Kubernetes Secret.
    KubernetesSecret,
    /// The literal is in the middle of a word. The word begins with this text; this number of letters and
    /// digits comes before the literal, and the same number after it.
    Within(&'static str, usize),
    /// The literal begins the header of a key in PEM.
    PrivateKey,
    /// The literal is the scheme of a database URL.
    DatabaseUrl,
    /// The literal is the scheme of another URL.
    WebUrl,
}

/// Part of a token.
pub(super) enum Part {
    /// Literal text.
    Text(&'static str),
    /// Longest run of these characters, with a minimum and a maximum length.
    Run(Alphabet, usize, usize),
}

/// Characters of a run.
#[derive(Clone, Copy)]
pub(super) enum Alphabet {
    Digits,
    /// Lowercase hexadecimal digits.
    Hex,
    /// Lowercase letters and digits.
    Lower,
    /// Uppercase letters and digits.
    Upper,
    /// RFC 4648: uppercase letters and the digits from 2 to 7.
    Base32,
    /// Letters and digits.
    Base62,
    /// Letters, digits, `+`, `/`.
    Base64,
    /// Letters, digits, `-`, `_`.
    Base64Url,
    /// Letters, digits, `+`, `/`, `-`, `_`; with its padding if it is assigned.
    AnyBase64,
    /// Letters, digits, `+`, `/`, and the `%` of URL escapes.
    UrlBase64,
    /// Letters, digits, `-`, `_`, `.`, `~`.
    Unreserved,
    /// Characters of a bearer token (RFC 6750).
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

/// Additional requirement on the text after the literal.
#[derive(Clone, Copy)]
pub(super) enum Proof {
    /// Not made up.
    Unlikely,
    /// Not made up, with at least two kinds of characters: lower case, upper case, digits.
    Random,
    /// Not made up, with all three kinds of characters.
    Mixed,
    /// Ends with its CRC-32.
    Crc32,
    /// Valid Bech32 with this prefix.
    Bech32(&'static str),
    /// Random, and contains this text.
    Holds(&'static str),
    /// Random, and ends with this text.
    Ends(&'static str),
    /// Random by its entropy, and by the frequency of changes between kinds of characters.
    Entropy,
    /// Signature in a URL: random, and 32 bytes in base 64 with its padding, if any, escaped.
    Signature,
    /// Same requirement as `Entropy`, and not a sample of a JSON Web Token.
    Bearer,
    /// Random, and begins with none of these published texts.
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

/// Maximum distance of an assigned value from its name, in bytes.
const ASSIGNMENT_BYTES_MAX: usize = 12;

impl SecretPattern {
    /// Returns the secret that the literal at this position is part of, if the pattern matches.
    ///
    /// INVARIANT: the total number of bytes examined by all calls for one content is at most a fixed multiple
    /// of its length. A token is examined from the beginning of a word, and words do not overlap. Any other
    /// range is bounded, or ends where the same literal would begin again.
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

/// Returns the text after these parts, if a word ends with them.
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

/// Returns true if a word may begin after this text. A letter may be the end of `\n` in a string, or of `%3D`
/// in a URL, rather than part of the word.
pub(super) fn begins_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', one, other] if one.is_ascii_hexdigit() && other.is_ascii_hexdigit() => true,
        [.., last] => !is_of_word(*last),
        [] => true,
    }
}
