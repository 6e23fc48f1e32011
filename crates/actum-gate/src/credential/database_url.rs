//! Passwords in the URLs of databases and queues: `scheme://user:password@host`.

use std::borrow::Cow;
use std::ops::Range;

use super::placeholder::{holds_any, is_random};
use super::{Secret, effort};

const USER_BYTES_MAX: usize = 128;
const PASSWORD_BYTES_MAX: usize = 256;
const HOST_BYTES_MAX: usize = 253;
/// A shorter one is a word that somebody made up for an example more often than a secret.
const PASSWORD_BYTES_MIN: usize = 10;

/// What passwords of examples and of test set-ups hold.
const WORDS: [&[u8]; 18] = [
    b"1234",
    b"admin",
    b"change",
    b"dummy",
    b"example",
    b"fake",
    b"foobar",
    b"guest",
    b"mypass",
    b"pass",
    b"postgres",
    b"pwd",
    b"redacted",
    b"root",
    b"secret",
    b"test",
    b"xxx",
    b"your",
];

/// Hosts that stand for any other (RFC 2606, RFC 6761), by how they end.
const HOSTS: [&[u8]; 9] = [
    b"example.com",
    b"example.net",
    b"example.org",
    b".example",
    b".invalid",
    b".local",
    b".localhost",
    b".test",
    b"host.com",
];

/// User, password and host, if the password can be one. A host without a dot is a container or the
/// machine itself, of which the password opens nothing from elsewhere.
pub(super) fn secret<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let rest = content.get(at.end..)?;
    let is_user = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+%".contains(&byte);
    let (user, rest) = run(rest, USER_BYTES_MAX, is_user);
    let rest = rest.strip_prefix(b":")?;
    let is_password = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+%!^~&=,;".contains(&byte);
    let (password, rest) = run(rest, PASSWORD_BYTES_MAX, is_password);
    let rest = rest.strip_prefix(b"@")?;
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let (host, rest) = run(rest, HOST_BYTES_MAX, is_host);
    let end = content.len() - rest.len();
    let is_one = can_be_password(password) && !holds_any(password, &[user]) && is_elsewhere(host);
    let bytes = content.get(at.end..end)?;
    is_one.then_some(Secret { at: at.start, bytes: Cow::Borrowed(bytes) })
}

/// The characters that `rest` begins with, at most so many, and what follows. None of the sets has
/// `:` or `/`, so no other URL begins in what is read here.
fn run(rest: &[u8], max: usize, is_of_it: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let length = rest.iter().take(max).take_while(|&&byte| is_of_it(byte)).count();
    effort::spend(length);
    rest.split_at_checked(length).unwrap_or_default()
}

fn can_be_password(password: &[u8]) -> bool {
    let has_letter = password.iter().any(u8::is_ascii_alphabetic);
    let has_other = password.iter().any(|byte| !byte.is_ascii_lowercase());
    let is_variable = password.starts_with(b"%") && password.ends_with(b"%");
    password.len() >= PASSWORD_BYTES_MIN
        && has_letter
        && has_other
        && !is_variable
        && !holds_any(password, &WORDS)
        && is_random(password)
}

fn is_elsewhere(host: &[u8]) -> bool {
    let host = host.to_ascii_lowercase();
    host.contains(&b'.')
        && !host.starts_with(b"127.")
        && host != b"0.0.0.0"
        && !HOSTS.iter().any(|ending| host.ends_with(ending))
}
