//! Recognises files that are made for credentials: `.netrc`, `.pgpass`, key stores and SSH private keys.

use std::ops::Range;

use super::placeholder::{is_random, is_sample_password};
use super::{Secret, effort, secret_pattern};

/// Maximum length of a `.netrc` entry after its first word, in bytes.
const NETRC_BYTES_MAX: usize = 512;
/// Maximum number of key-value pairs in a `.netrc` entry, such as `login NAME account NAME password PASSWORD`.
const NETRC_PAIRS_MAX: usize = 3;
const PASSWORD_BYTES_MIN: usize = 8;

/// Returns the password of the `.netrc` entry that starts at `at`.
pub(super) fn netrc<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    if !secret_pattern::begins_word(content.get(..at.start)?) {
        return None;
    }
    let end = content.len().min(at.end.saturating_add(NETRC_BYTES_MAX));
    let mut from = at.end;
    let mut next_word = || {
        let rest = content.get(from..end)?;
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let word = rest.iter().skip(blanks).take_while(|byte| !byte.is_ascii_whitespace()).count();
        effort::spend(blanks + word);
        let start = from + blanks;
        from = start + word;
        (word > 0).then_some(start..from)
    };
    let _host = next_word()?;
    for _ in 0..NETRC_PAIRS_MAX {
        let (key, value) = (next_word()?, next_word()?);
        match content.get(key)? {
            b"login" | b"account" => {}
            b"password" => {
                let is_one = is_password(content.get(value.clone())?);
                return is_one.then(|| secret_pattern::secret(content, value)).flatten();
            }
            _ => return None,
        }
    }
    None
}

/// Returns the passwords of a `.pgpass` file, whose lines have the form `HOST:PORT:DATABASE:USER:PASSWORD`.
pub(super) fn pgpass(content: &[u8]) -> impl Iterator<Item = Secret<'_>> {
    let mut start = 0;
    content.split(|&byte| byte == b'\n').filter_map(move |line| {
        let line_start = start;
        start += line.len() + 1;
        let line = line.trim_ascii_end();
        let password = line.splitn(5, |&byte| byte == b':').nth(4)?;
        let end = line_start + line.len();
        let is_entry =
            !line.starts_with(b"#") && !password.contains(&b':') && is_password(password);
        is_entry.then(|| secret_pattern::secret(content, end - password.len()..end)).flatten()
    })
}

fn is_password(text: &[u8]) -> bool {
    let is_plain = !text.iter().all(u8::is_ascii_lowercase);
    text.len() >= PASSWORD_BYTES_MIN && is_plain && !is_sample_password(text) && is_random(text)
}

/// Returns true if a file with this name is a `.pgpass` file.
pub(super) fn is_pgpass(name: &[u8]) -> bool {
    matches!(name, b".pgpass" | b"pgpass.conf")
}

/// Returns true if a file with this name may be a private key file or key store, depending on its content.
pub(super) fn may_be_key_file(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    KEY_FILES.iter().any(|known| *known == name)
        || KEY_STORES.iter().any(|(ending, _)| name.ends_with(ending.as_bytes()))
}

/// Returns true if a file with this name and content is a private key file or key store.
pub(super) fn is_key_file(name: &[u8], content: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let is_named = KEY_FILES.iter().any(|known| *known == name);
    let is_store = KEY_STORES.iter().any(|(ending, magic)| {
        name.ends_with(ending.as_bytes()) && magic.iter().any(|magic| content.starts_with(magic))
    });
    is_named && !content.trim_ascii().is_empty() || is_store
}

/// Default file names of SSH private keys, as used by `ssh-keygen`.
const KEY_FILES: [&[u8]; 5] = [b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519", b"id_ed25519_sk"];

/// File name extensions of key stores, each with the bytes that such a file may start with.
const KEY_STORES: [(&str, &[&[u8]]); 6] = [
    (".p12", &[b"\x30\x80", b"\x30\x82", b"\x30\x83"]),
    (".pfx", &[b"\x30\x80", b"\x30\x82", b"\x30\x83"]),
    (".jks", &[b"\xfe\xed\xfe\xed", b"\x30\x82"]),
    (".jceks", &[b"\xce\xce\xce\xce"]),
    (".keystore", &[b"\xfe\xed\xfe\xed", b"\x30\x82"]),
    (".kdbx", &[b"\x03\xd9\xa2\x9a"]),
];
