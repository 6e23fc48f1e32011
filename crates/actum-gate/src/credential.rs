//! Credential scan: finds text in new content that looks like a credential (EX-20).
//!
//! Rules are tables ([`rule`]): literals that are searched in one pass, and the required surroundings of a
//! literal. Content without any literal only costs a look at every second byte. There are no regular
//! expressions, no backtracking and no floating point, so the effort is linear and every machine finds the
//! same. Rules that depend only on a name also use the entropy of the value.
//!
//! Precision takes priority over recall. JSON Web Tokens on their own are left out: documentation is full of
//! them, and most have expired. So are the key ids of Twilio, which are names and not secrets.

mod assignment;
mod checksum;
mod effort;
mod encoded;
mod large;
mod password_file;
mod place;
mod placeholder;
mod private_key;
mod published;
mod rule;
mod search;
mod secret_pattern;
#[cfg(test)]
mod tests;
mod url;
mod view;
mod web_key;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use actum_core::Digest;
use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

pub use large::{BEFORE_BYTES, BEHIND_BYTES, LargeScan};
pub use place::{home_places, is_usual_place, is_withheld};
use view::View;

/// Maximum number of findings of a scan; the first ones in the content are reported.
pub const FINDINGS_MAX: usize = 100;

/// Domain tag of the digest of a secret.
const DIGEST_TAG: &str = "actum/credential/v1";

/// Suspected credential. It contains no byte of the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Line on which it begins, counted from 1; 0 if only a part of the file was read.
    pub line: u64,
    /// Permanent id of the rule that found it, for example `aws-access-key-id`.
    pub rule: String,
    /// Digest of the secret, which identifies it when it moves. An easily guessed password can be guessed from it.
    pub digest: Digest,
}

/// Description of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDescription {
    /// Permanent id.
    pub id: &'static str,
    /// Description of its findings in one sentence.
    pub finds: &'static str,
}

/// Returns all rules, by table.
pub fn rules() -> impl Iterator<Item = RuleDescription> {
    let rules = rule::rules().map(|rule| RuleDescription { id: rule.id, finds: rule.finds });
    rules.chain([
        RuleDescription { id: KEY_FILE, finds: "A new file that holds private keys by its name." },
        RuleDescription { id: PGPASS, finds: "A password in a `.pgpass` file." },
    ])
}

/// Rule for files that are key stores or private keys by name.
const KEY_FILE: &str = "key-file";
/// Rule for the lines of a `.pgpass` file, which is recognised by name.
const PGPASS: &str = "pgpass-password";

/// File before a change: its last name component, and its content.
#[derive(Debug, Clone, Copy)]
pub struct FileBefore<'a> {
    /// Last name component.
    pub name: &'a [u8],
    /// Content.
    pub content: &'a [u8],
}

/// Returns true if this name alone can make contents credentials, so that even a file that only moves is scanned.
pub fn depends_on_name(name: &[u8]) -> bool {
    password_file::is_pgpass(name) || password_file::may_be_key_file(name)
}

/// Scans the new content of a file as [`scan`] does, and also by its last name component. A file that is a
/// key store by name and content, and was not before, is one finding.
pub fn scan_file(name: &[u8], before: Option<FileBefore<'_>>, after: &[u8]) -> Vec<Finding> {
    let mut findings = scan(before.map(|before| before.content), after);
    let mut add = |line, rule: &str, digest| {
        findings.push(Finding { line, rule: rule.to_owned(), digest });
    };
    if password_file::is_pgpass(name) {
        let before = before.filter(|before| password_file::is_pgpass(before.name));
        let known: BTreeSet<_> = before
            .into_iter()
            .flat_map(|before| password_file::pgpass(before.content))
            .map(|secret| secret.digest())
            .collect();
        for secret in password_file::pgpass(after) {
            let digest = secret.digest();
            if !known.contains(&digest) {
                add(line_at(after, secret.at), PGPASS, digest);
            }
        }
    }
    let was_key_file =
        |before: FileBefore<'_>| password_file::is_key_file(before.name, before.content);
    if !before.is_some_and(was_key_file) && password_file::is_key_file(name, after) {
        add(1, KEY_FILE, Digest::tagged(DIGEST_TAG, &[after]));
    }
    findings.sort_unstable();
    findings.truncate(FINDINGS_MAX);
    findings
}

/// Finds suspected credentials in `after` that are nowhere in `before`, ordered by line and then by rule. A
/// secret that occurs several times is reported once, at the first place. At most [`FINDINGS_MAX`] are
/// reported.
///
/// The effort is linear in the length of both, whatever they contain. `before` is only read if `after` has a
/// suspected credential.
pub fn scan(before: Option<&[u8]>, after: &[u8]) -> Vec<Finding> {
    let view = View::new(after);
    let mut known = None;
    let is_known = |digest: &Digest| {
        known.get_or_insert_with(|| before.map(digests).unwrap_or_default()).contains(digest)
    };
    let mut findings = Findings::default();
    findings.add(&view, 0..view.bytes.len(), Some(1), is_known);
    findings.finish()
}

/// Returns the line of a position in the content, counted from 1.
fn line_at(content: &[u8], at: usize) -> u64 {
    newlines(content.get(..at).unwrap_or_default()).saturating_add(1)
}

/// Returns the ranges of suspected credentials in a content, ordered by start.
pub fn spans(content: &[u8]) -> Vec<Range<usize>> {
    let view = View::new(content);
    let span = |(_, secret): (_, Secret<'_>)| {
        let end = secret.end(&view.bytes);
        view.to_content(secret.at)..view.to_content(end).min(content.len())
    };
    secrets(&view.bytes).into_iter().map(span).collect()
}

/// Maximum distance from the start of a secret to the end of its literal, in bytes.
const BEHIND_SECRET_BYTES: usize = 1 << 10;

/// Findings of a scan. A secret that occurs several times is reported once, at the first place.
#[derive(Default)]
struct Findings {
    secrets: BTreeSet<(&'static str, Digest)>,
    findings: Vec<Finding>,
}

impl Findings {
    /// Returns true if no more findings are reported.
    fn is_full(&self) -> bool {
        self.findings.len() >= FINDINGS_MAX
    }

    /// Adds the unknown secrets that begin in a range of a view. `line` is the line of the start of the
    /// range, if known.
    fn add(
        &mut self,
        view: &View<'_>,
        range: Range<usize>,
        line: Option<u64>,
        mut is_known: impl FnMut(&Digest) -> bool,
    ) {
        let (mut line, mut counted) = (line, range.start);
        let end = range.end.saturating_add(BEHIND_SECRET_BYTES);
        for (rule, secret) in secrets_named_before(&view.bytes, end) {
            if self.is_full() {
                return;
            }
            if !range.contains(&secret.at) {
                continue;
            }
            let digest = secret.digest();
            if is_known(&digest) || !self.secrets.insert((rule, digest)) {
                continue;
            }
            let between = view.bytes.get(counted..secret.at).unwrap_or_default();
            line = line.map(|line| line.saturating_add(newlines(between)));
            counted = secret.at;
            let line = line.unwrap_or(0);
            self.findings.push(Finding { line, rule: rule.to_owned(), digest });
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        self.findings.sort_unstable();
        self.findings
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).map(|_| 1).sum()
}

/// Secret and its position. It has no `Debug`, so that its bytes never appear in a message.
struct Secret<'a> {
    at: usize,
    bytes: Cow<'a, [u8]>,
}

impl Secret<'_> {
    fn digest(&self) -> Digest {
        Digest::tagged(DIGEST_TAG, &[&self.bytes])
    }

    /// Returns the end of the secret in the content in which it was found.
    fn end(&self, content: &[u8]) -> usize {
        let length = match &self.bytes {
            Cow::Borrowed(bytes) => bytes.len(),
            // The text between the lines of a private key is left out: the key ends where its last line begins.
            Cow::Owned(_) => {
                let rest = content.get(self.at..).unwrap_or_default();
                let ends: [&[u8]; 2] = [b"-----END", b"Private-MAC"];
                let ends = ends.iter().filter_map(|end| memchr::memmem::find(rest, end));
                ends.min().unwrap_or(rest.len())
            }
        };
        self.at.saturating_add(length)
    }
}

fn digests(content: &[u8]) -> BTreeSet<Digest> {
    let view = View::new(content);
    secrets(&view.bytes).into_iter().map(|(_, secret)| secret.digest()).collect()
}

/// Finds all suspected credentials with the ids of their rules, ordered by start. A finding of a generic rule
/// inside or around that of another rule is left out.
fn secrets(content: &[u8]) -> Vec<(&'static str, Secret<'_>)> {
    secrets_named_before(content, content.len())
}

/// Finds the secrets whose literal ends before a position.
fn secrets_named_before(content: &[u8], end: usize) -> Vec<(&'static str, Secret<'_>)> {
    let (mut found, mut generic) = (Vec::new(), Vec::new());
    for hit in search::hits(content.get(..end).unwrap_or(content)) {
        let secret = hit.rule.shapes.iter().find_map(|shape| shape.secret(content, &hit.at));
        let secret = secret.filter(|secret| !published::is_published(&secret.bytes));
        let Some(secret) = secret else { continue };
        let list = if hit.rule.is_generic() { &mut generic } else { &mut found };
        list.push((hit.rule.id, secret));
    }
    if !generic.is_empty() {
        found.sort_by_key(|(_, secret)| secret.at);
        let ranges: Vec<_> = found.iter().map(|(_, it)| it.at..it.end(content)).collect();
        generic.retain(|(_, secret)| {
            let end = secret.end(content);
            let before = ranges.partition_point(|range| range.start < end);
            // Ranges are sorted by start, and nearly never nested.
            !ranges.iter().take(before).rev().take(OVERLAPS_MAX).any(|range| range.end > secret.at)
        });
        // Two names can precede one value: `secret_token`.
        generic.sort_by_key(|(_, secret)| secret.at);
        generic.dedup_by_key(|(_, secret)| secret.at);
        found.append(&mut generic);
    }
    found.sort_by_key(|(_, secret)| secret.at);
    found
}

/// Maximum number of preceding findings that are checked for an overlap with a value.
const OVERLAPS_MAX: usize = 4;
