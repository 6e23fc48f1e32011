//! Credential scan: what in new content looks like a credential (EX-20).
//!
//! Rules are tables ([`rule`]): literals that are searched for in one pass, and the shape that must stand
//! around one. Content without any literal costs a look at every second byte. There are no regular
//! expressions, no backtracking and no floating point, so the effort is linear and every machine finds
//! the same. Rules that rest on a name alone are decided by the entropy of the value.
//!
//! Precision comes before recall: JSON Web Tokens by themselves, which documentation is full of and which
//! mostly have expired, and the key ids of Twilio, which are names and no secrets, are left out.

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

/// How many findings one scan tells; those that come first in the content are told.
pub const FINDINGS_MAX: usize = 100;

/// The purpose of the digest of a secret.
const DIGEST_TAG: &str = "actum/credential/v1";

/// Something that looks like a credential. It holds no byte of the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The line it begins on, counted from 1; 0 where only a part of the file was read.
    pub line: u64,
    /// The permanent id of the rule that found it: `aws-access-key-id`.
    pub rule: String,
    /// The digest of the secret, by which it is recognised where it moves. A password that is easily
    /// guessed can be guessed from it.
    pub digest: Digest,
}

/// What a rule says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDescription {
    /// The permanent id.
    pub id: &'static str,
    /// What it finds, in one sentence.
    pub finds: &'static str,
}

/// All rules, by table.
pub fn rules() -> impl Iterator<Item = RuleDescription> {
    let rules = rule::rules().map(|rule| RuleDescription { id: rule.id, finds: rule.finds });
    rules.chain([
        RuleDescription { id: KEY_FILE, finds: "A new file that holds private keys by its name." },
        RuleDescription { id: PGPASS, finds: "A password in a `.pgpass` file." },
    ])
}

/// The rule of files that are key stores or private keys by their name.
const KEY_FILE: &str = "key-file";
/// The rule of the lines of a `.pgpass` file, which is known by its name.
const PGPASS: &str = "pgpass-password";

/// A file before a change: its last name, and its content.
#[derive(Debug, Clone, Copy)]
pub struct FileBefore<'a> {
    /// Its last name.
    pub name: &'a [u8],
    /// Its content.
    pub content: &'a [u8],
}

/// Whether a name alone makes contents credentials, so that a file that only moves is scanned.
pub fn depends_on_name(name: &[u8]) -> bool {
    password_file::is_pgpass(name) || password_file::may_be_key_file(name)
}

/// Scans the new content of a file: as [`scan`], and by what its last name says. A file that is a key store by name and
/// content, and was none before, is one finding.
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

/// What in `after` looks like a credential and is nowhere in `before`, by line and then by rule. A
/// secret that occurs several times is reported once, at the first; at most [`FINDINGS_MAX`] are.
///
/// The effort grows with the length of both, whatever they hold, and `before` is read only where
/// `after` has something that looks like a credential.
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

/// The line at a place in a content, counted from 1.
fn line_at(content: &[u8], at: usize) -> u64 {
    newlines(content.get(..at).unwrap_or_default()).saturating_add(1)
}

/// Where in a content something looks like a credential, ordered by the beginning.
pub fn spans(content: &[u8]) -> Vec<Range<usize>> {
    let view = View::new(content);
    let span = |(_, secret): (_, Secret<'_>)| {
        let end = secret.end(&view.bytes);
        view.to_content(secret.at)..view.to_content(end).min(content.len())
    };
    secrets(&view.bytes).into_iter().map(span).collect()
}

/// How far behind the beginning of a secret its literal can end, in bytes.
const BEHIND_SECRET_BYTES: usize = 1 << 10;

/// Findings of a scan. A secret that occurs several times is reported once, at the first.
#[derive(Default)]
struct Findings {
    secrets: BTreeSet<(&'static str, Digest)>,
    findings: Vec<Finding>,
}

impl Findings {
    /// No more findings are reported.
    fn is_full(&self) -> bool {
        self.findings.len() >= FINDINGS_MAX
    }

    /// Adds the unknown secrets that begin in a range of a view. `line` is the line in which the range begins, if it is known.
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

/// The bytes of a secret and where they begin. It has no `Debug`, so that they come into no message.
struct Secret<'a> {
    at: usize,
    bytes: Cow<'a, [u8]>,
}

impl Secret<'_> {
    fn digest(&self) -> Digest {
        Digest::tagged(DIGEST_TAG, &[&self.bytes])
    }

    /// Where it ends in the content in which it was found.
    fn end(&self, content: &[u8]) -> usize {
        let length = match &self.bytes {
            Cow::Borrowed(bytes) => bytes.len(),
            // Of a private key what stands between its lines is left out: it ends where its last line
            // begins.
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

/// All that looks like a credential, with the ids of the rules, ordered by the beginning. What a generic
/// rule finds inside or around something that another rule finds is left out.
fn secrets(content: &[u8]) -> Vec<(&'static str, Secret<'_>)> {
    secrets_named_before(content, content.len())
}

/// Those of which the literal ends before a place.
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
            // Ranges are in the order of their beginnings, and nearly never one inside another.
            !ranges.iter().take(before).rev().take(OVERLAPS_MAX).any(|range| range.end > secret.at)
        });
        // Two names can stand in front of one value: `secret_token`.
        generic.sort_by_key(|(_, secret)| secret.at);
        generic.dedup_by_key(|(_, secret)| secret.at);
        found.append(&mut generic);
    }
    found.sort_by_key(|(_, secret)| secret.at);
    found
}

/// How many findings before a value are looked at to see whether one of them reaches into it.
const OVERLAPS_MAX: usize = 4;
