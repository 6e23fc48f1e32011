//! Detects passwords in URLs of the form `scheme://user:password@host`.

use std::borrow::Cow;
use std::ops::Range;

use super::placeholder::{holds_any, is_random, is_sample_password, looks_random};
use super::secret_pattern::begins_word;
use super::{Secret, effort};

const USER_BYTES_MAX: usize = 128;
const PASSWORD_BYTES_MAX: usize = 256;
const HOST_BYTES_MAX: usize = 253;
/// Minimum length of a password in bytes. Most shorter passwords are made up for examples.
const PASSWORD_BYTES_MIN: usize = 10;

/// Suffixes of placeholder host names (RFC 2606, RFC 6761) and of hosts in private networks.
const HOSTS: [&[u8]; 16] = [
    b"example.com",
    b"example.net",
    b"example.org",
    b".example",
    b".invalid",
    b".local",
    b".localhost",
    b".test",
    b"host.com",
    // Private networks that cannot be reached from the internet.
    b".corp",
    b".home.arpa",
    b".internal",
    b".intranet",
    b".lan",
    b".private",
    b".svc",
];

/// Returns a database URL up to its host, if it contains a password that looks real. URLs of hosts that the
/// internet cannot reach, such as containers, are ignored.
pub(super) fn database<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    let found = user_info(content, at)?;
    can_be_password(found.password, found.user).then_some(found.secret)
}

/// Returns any other URL up to its host, if it contains a password that looks random.
pub(super) fn web<'a>(content: &'a [u8], at: &Range<usize>) -> Option<Secret<'a>> {
    if !begins_word(content.get(..at.start)?) {
        return None;
    }
    let found = user_info(content, at)?;
    (can_be_password(found.password, found.user) && looks_random(found.password))
        .then_some(found.secret)
}

struct UserInfo<'a> {
    user: &'a [u8],
    password: &'a [u8],
    secret: Secret<'a>,
}

fn user_info<'a>(content: &'a [u8], at: &Range<usize>) -> Option<UserInfo<'a>> {
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
    let bytes = Cow::Borrowed(content.get(at.start..end)?);
    let secret = Secret { at: at.start, bytes };
    is_elsewhere(host).then_some(UserInfo { user, password, secret })
}

/// Splits off at most `max` leading bytes that satisfy `is_of_it`. No caller accepts both `:` and `/`, so no
/// other URL can start in the examined range.
fn run(rest: &[u8], max: usize, is_of_it: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let length = rest.iter().take(max).take_while(|&&byte| is_of_it(byte)).count();
    effort::spend(length);
    rest.split_at_checked(length).unwrap_or_default()
}

fn can_be_password(password: &[u8], user: &[u8]) -> bool {
    let has_letter = password.iter().any(u8::is_ascii_alphabetic);
    let has_other = password.iter().any(|byte| !byte.is_ascii_lowercase());
    password.len() >= PASSWORD_BYTES_MIN
        && has_letter
        && has_other
        && !is_sample_password(password)
        && !holds_any(password, &[user])
        && is_random(password)
}

fn is_elsewhere(host: &[u8]) -> bool {
    let host = host.to_ascii_lowercase();
    host.contains(&b'.')
        && host != b"0.0.0.0"
        && !is_private_address(&host)
        && !HOSTS.iter().any(|ending| host.ends_with(ending))
}

/// Returns true if `host` is an IPv4 loopback address or a private address (RFC 1918).
fn is_private_address(host: &[u8]) -> bool {
    let address =
        str::from_utf8(host).ok().and_then(|host| host.parse::<std::net::Ipv4Addr>().ok());
    address.is_some_and(|address| address.is_loopback() || address.is_private())
}
