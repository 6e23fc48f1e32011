//! Text for reports from which credentials have been removed (EX-20).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Function that finds credentials in a content and returns their byte ranges.
pub type Redact<'r> = &'r dyn Fn(&[u8]) -> Vec<Range<usize>>;

/// Text that replaces a credential.
pub const REDACTED: &str = "[redacted]";
/// Maximum length of a text in a report, in characters. Longer texts are truncated.
pub const TEXT_CHARS_MAX: usize = 4096;

/// Text for reports that contains no credentials.
///
/// A value can only be created by [`CleanText::new`], which removes credentials, from a string literal, or by parsing an existing
/// report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CleanText(String);

impl CleanText {
    /// Removes the credentials that `redact` finds. A text longer than [`TEXT_CHARS_MAX`] characters is truncated and ends with
    /// `…`.
    pub fn new(text: &str, redact: Redact<'_>) -> Self {
        let masked = masked_lines(text.as_bytes(), redact(text.as_bytes()));
        let lines = (1..).zip(text.as_bytes().split_inclusive(|&byte| byte == b'\n'));
        let clean = lines.flat_map(|(number, line)| match masked.get(&number) {
            Some(masked) => masked.clone(),
            None => line.to_vec(),
        });
        let clean: Vec<u8> = clean.collect();
        Self(cut(&String::from_utf8_lossy(&clean), TEXT_CHARS_MAX))
    }

    /// Wraps a string literal, which cannot contain credentials.
    pub fn fixed(text: &'static str) -> Self {
        Self(cut(text, TEXT_CHARS_MAX))
    }

    /// Returns the text as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CleanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Truncates the text to at most `chars_max` characters, of which the last is `…`.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Removes credentials from `content`. Returns the lines that contained any, by their number counted from 1.
///
/// Line breaks are kept even if a credential spans several lines, so line numbers do not change.
pub(super) fn masked_lines(content: &[u8], secrets: Vec<Range<usize>>) -> BTreeMap<u64, Vec<u8>> {
    let mut masked = BTreeMap::new();
    if secrets.is_empty() {
        return masked;
    }
    let secrets = apart(secrets);
    let mut start = 0;
    let mut next = 0;
    for (number, line) in (1..).zip(content.split_inclusive(|&byte| byte == b'\n')) {
        let end = start + line.len();
        let text_end = end - usize::from(line.ends_with(b"\n"));
        // Skip credentials that end before this line, because they cannot affect later lines either.
        next += secrets.iter().skip(next).take_while(|secret| secret.end <= start).count();
        let here = secrets.iter().skip(next).take_while(|secret| secret.start < text_end);
        let (mut clean, mut at) = (Vec::new(), start);
        for secret in here {
            let (from, to) = (secret.start.clamp(at, text_end), secret.end.clamp(at, text_end));
            if from == to {
                continue;
            }
            clean.extend_from_slice(content.get(at..from).unwrap_or_default());
            clean.extend_from_slice(REDACTED.as_bytes());
            at = to;
        }
        if at > start {
            clean.extend_from_slice(content.get(at..end).unwrap_or_default());
            masked.insert(number, clean);
        }
        start = end;
    }
    masked
}

/// Sorts the ranges and merges those that overlap or touch.
fn apart(mut secrets: Vec<Range<usize>>) -> Vec<Range<usize>> {
    secrets.retain(|secret| secret.start < secret.end);
    secrets.sort_by_key(|secret| secret.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for secret in secrets {
        match apart.last_mut() {
            Some(last) if secret.start <= last.end => last.end = last.end.max(secret.end),
            Some(_) | None => apart.push(secret),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(content: &[u8]) -> Vec<Range<usize>> {
        memchr::memmem::find_iter(content, "KEY-").map(|at| at..at + 8).collect()
    }

    /// EX-20
    #[test]
    fn credentials_are_redacted_from_text() {
        let clean = CleanText::new("é KEY-1234 and KEY-5678KEY-9abc\nKEY-dead.", &keys);
        assert_eq!(clean.as_str(), "é [redacted] and [redacted]\n[redacted].");
        assert_eq!(CleanText::new("", &keys).as_str(), "");
        // One credential spans several lines, and another one extends past the end of the text.
        assert_eq!(
            CleanText::new("KEY-1\n\n3 x KEY-", &keys).as_str(),
            "[redacted]\n\n[redacted] x [redacted]"
        );
        assert_eq!(CleanText::new("éé", &|_| vec![1..2, 3..3]).as_str(), "\u{fffd}[redacted]é");
    }

    /// EX-20
    #[test]
    fn long_text_is_truncated_at_a_character_boundary() {
        let longest = "é".repeat(TEXT_CHARS_MAX);
        assert_eq!(CleanText::new(&longest, &keys).as_str(), longest);
        let over = CleanText::new(&(longest + "é"), &keys);
        assert_eq!(over.as_str(), "é".repeat(TEXT_CHARS_MAX - 1) + "…");
    }
}
