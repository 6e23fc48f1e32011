//! Scans new content for text that looks like a credential (EX-20).
//!
//! The rules are tables ([`rule`]) of literals and the required context of each literal. All literals are searched in
//! one pass, and content without any of them is only sampled at every second byte. The scan uses no regular expressions,
//! backtracking or floating point. It therefore takes linear time, and finds the same on every machine. Rules that depend
//! only on a name also check the entropy of the value.
//!
//! Precision is more important than recall. A JSON Web Token without further context is not reported, because
//! documentation has many of them and most have expired. Twilio key ids are not reported either, because they are not
//! secret.

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

/// Maximum number of findings of a scan. The first ones in the content are reported.
pub const FINDINGS_MAX: usize = 100;

/// Domain tag for digests of secrets.
const DIGEST_TAG: &str = "actum/credential/v1";

/// Suspected credential in a file. It does not contain any part of the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Number of the line on which the secret begins, starting at 1. It is 0 if a part of the file was skipped before it.
    pub line: u64,
    /// Permanent id of the rule that found the secret, for example `aws-access-key-id`.
    pub rule: String,
    /// Digest of the secret, which identifies it even if it moves. A weak password can be guessed from its digest.
    pub digest: Digest,
}

/// Id and description of a rule of the credential scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDescription {
    /// Permanent id of the rule.
    pub id: &'static str,
    /// Description of the credentials that the rule finds, as one sentence.
    pub finds: &'static str,
}

/// Returns descriptions of all rules, in table order.
pub fn rules() -> impl Iterator<Item = RuleDescription> {
    let rules = rule::rules().map(|rule| RuleDescription { id: rule.id, finds: rule.finds });
    rules.chain([
        RuleDescription {
            id: KEY_FILE,
            finds: "A new private key file or key store, recognised by its file name.",
        },
        RuleDescription { id: PGPASS, finds: "A password in a `.pgpass` file." },
    ])
}

/// Id of the rule for private key files and key stores, which are recognised by name.
const KEY_FILE: &str = "key-file";
/// Id of the rule for the lines of a `.pgpass` file, which is recognised by name.
const PGPASS: &str = "pgpass-password";

/// Name and content of a file before a change.
#[derive(Debug, Clone, Copy)]
pub struct FileBefore<'a> {
    /// Last component of the file's path.
    pub name: &'a [u8],
    /// Content of the file.
    pub content: &'a [u8],
}

/// Returns true if content can become a credential because the file has this name. Such a file must be scanned even if
/// it is only moved.
pub fn depends_on_name(name: &[u8]) -> bool {
    password_file::is_pgpass(name) || password_file::may_be_key_file(name)
}

/// Scans the new content of a file like [`scan`], and also applies the rules that depend on its name.
///
/// A file that is a private key file or key store by name and content is reported as one finding, unless it was one
/// before the change.
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

/// Returns the suspected credentials in `after` that do not occur in `before`, ordered by line and then by rule. A secret
/// that occurs several times is reported only at its first position, and at most [`FINDINGS_MAX`] are reported.
///
/// The scan takes time linear in the length of both contents. `before` is read only if `after` contains a suspected
/// credential.
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

/// Returns the line number of a position in the content, starting at 1.
fn line_at(content: &[u8], at: usize) -> u64 {
    newlines(content.get(..at).unwrap_or_default()).saturating_add(1)
}

/// Returns the byte ranges of suspected credentials in the content, ordered by their start.
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

/// Collects the findings of a scan. A secret that occurs several times is reported only at its first position.
#[derive(Default)]
struct Findings {
    secrets: BTreeSet<(&'static str, Digest)>,
    findings: Vec<Finding>,
}

impl Findings {
    /// Returns true if the maximum number of findings has been reached.
    fn is_full(&self) -> bool {
        self.findings.len() >= FINDINGS_MAX
    }

    /// Adds the secrets that begin in a range of a view, except those for which `is_known` returns true. `line` is the
    /// line number at the start of the range, if it is known.
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

/// Secret and its position. This type does not implement `Debug`, so that the secret cannot appear in a message.
struct Secret<'a> {
    at: usize,
    bytes: Cow<'a, [u8]>,
}

impl Secret<'_> {
    fn digest(&self) -> Digest {
        Digest::tagged(DIGEST_TAG, &[&self.bytes])
    }

    /// Returns the end position of the secret in the content in which it was found.
    fn end(&self, content: &[u8]) -> usize {
        let length = match &self.bytes {
            Cow::Borrowed(bytes) => bytes.len(),
            // `bytes` omits the text between the lines of a private key, so its length cannot be used. The key extends to
            // the start of its last line.
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

/// Returns all suspected credentials with the ids of their rules, ordered by start. A finding of a generic rule is left
/// out if it overlaps with that of a specific rule.
fn secrets(content: &[u8]) -> Vec<(&'static str, Secret<'_>)> {
    secrets_named_before(content, content.len())
}

/// Returns the suspected credentials whose literal ends at or before the position `end`.
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
            // Ranges are sorted by start and rarely nested, so checking the last few is enough.
            !ranges.iter().take(before).rev().take(OVERLAPS_MAX).any(|range| range.end > secret.at)
        });
        // A name such as `secret_token` contains two keywords, so its value is found twice.
        generic.sort_by_key(|(_, secret)| secret.at);
        generic.dedup_by_key(|(_, secret)| secret.at);
        found.append(&mut generic);
    }
    found.sort_by_key(|(_, secret)| secret.at);
    found
}

/// Maximum number of preceding specific findings that are checked for an overlap with a generic one.
const OVERLAPS_MAX: usize = 4;
