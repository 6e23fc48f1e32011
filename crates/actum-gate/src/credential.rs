//! The scan of new content for credentials (EX-20): what looks like one by its shape, and was not
//! there before.
//!
//! The table of rules is our own. The rule sets that are kept up are regular expressions by the
//! hundred, of which many rest on a word nearby, and the one library that carries them and is widely
//! used brings more dependencies than all of actum and wants a newer compiler; to compile its rules
//! takes longer than a whole change may. Here a rule is a few literals and what stands around them:
//! content without any of the literals is looked through by vectors, and nothing else happens.
//!
//! Precision comes before recall: a format without a shape of its own is left out. So are JSON Web
//! Tokens, which documentation is full of and which mostly have expired, and the key ids of Twilio,
//! which are names and no secrets.

mod checksum;
mod database_url;
mod effort;
mod placeholder;
mod private_key;
mod rule;
mod search;
mod shape;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use actum_core::Digest;
use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use rule::RULES;

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

/// All rules, in the order of their ids.
pub fn rules() -> impl Iterator<Item = RuleDescription> {
    RULES.iter().map(|rule| RuleDescription { id: rule.id, finds: rule.finds })
}

/// What in `after` looks like a credential and is nowhere in `before`, by line and then by rule. A
/// secret that stands in several places is told once, at the first; at most [`FINDINGS_MAX`] are.
///
/// The effort grows with the length of both, whatever they hold, and `before` is read only where
/// `after` has something that looks like a credential.
pub fn scan(before: Option<&[u8]>, after: &[u8]) -> Vec<Finding> {
    let mut known = None;
    let mut told = BTreeSet::new();
    let (mut line, mut counted) = (1, 0);
    let mut findings = Vec::new();
    for (rule, secret) in secrets(after) {
        let digest = secret.digest();
        let known = known.get_or_insert_with(|| before.map(digests).unwrap_or_default());
        if known.contains(&digest) || !told.insert((rule, digest)) {
            continue;
        }
        // Where two secrets overlap, the second may begin before the first.
        if let Some(between) = after.get(counted..secret.at) {
            line += memchr_iter(b'\n', between).map(|_| 1).sum::<u64>();
            counted = secret.at;
        }
        findings.push(Finding { line, rule: rule.to_owned(), digest });
        if findings.len() == FINDINGS_MAX {
            break;
        }
    }
    findings.sort_unstable();
    findings
}

/// Where in a content something stands that looks like a credential, as it comes.
pub fn spans(content: &[u8]) -> Vec<Range<usize>> {
    let end = |secret: &Secret<'_>| match &secret.bytes {
        Cow::Borrowed(bytes) => secret.at.saturating_add(bytes.len()),
        // Of a private key what stands between its lines is left out: it ends where its last line begins.
        Cow::Owned(_) => {
            let rest = content.get(secret.at..).unwrap_or_default();
            let length = memchr::memmem::find(rest, b"-----END").unwrap_or(rest.len());
            secret.at.saturating_add(length)
        }
    };
    secrets(content).map(|(_, secret)| secret.at..end(&secret)).collect()
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
}

fn digests(content: &[u8]) -> BTreeSet<Digest> {
    secrets(content).map(|(_, secret)| secret.digest()).collect()
}

/// All that looks like a credential, with the ids of the rules, as it comes.
fn secrets(content: &[u8]) -> impl Iterator<Item = (&'static str, Secret<'_>)> {
    search::hits(content).filter_map(|hit| {
        let secret = hit.rule.shapes.iter().find_map(|shape| shape.secret(content, &hit.at));
        secret.map(|secret| (hit.rule.id, secret))
    })
}
