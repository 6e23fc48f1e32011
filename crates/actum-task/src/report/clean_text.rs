//! Text in reports, in which no credential is left (EX-20).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Finds credentials: the bytes of a content in which they stand.
pub type Redact<'r> = &'r dyn Fn(&[u8]) -> Vec<Range<usize>>;

/// What stands in the place of a credential.
pub const REDACTED: &str = "[redacted]";
/// The longest text, in characters; a longer one is cut off.
pub const TEXT_CHARS_MAX: usize = 4096;

/// A text of a report. There is no way to one that does not look for credentials, other than to write
/// it into the program, or to read it from a report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CleanText(String);

impl CleanText {
    /// The text without the credentials in it, cut off with `…` after [`TEXT_CHARS_MAX`] characters.
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

    /// A text of the program itself.
    pub fn fixed(text: &'static str) -> Self {
        Self(cut(text, TEXT_CHARS_MAX))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CleanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text, or as many characters of it as are allowed, the last of them `…`.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The lines of a content that have credentials in them, counted from 1, without these. Each stays one
/// line, also where a credential goes on in the next.
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
        // Those that end before this line concern no later one either.
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

/// The same bytes, as ranges that follow and do not touch each other.
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
    fn a_text_is_told_without_the_credentials_in_it() {
        let clean = CleanText::new("é KEY-1234 and KEY-5678KEY-9abc\nKEY-dead.", &keys);
        assert_eq!(clean.as_str(), "é [redacted] and [redacted]\n[redacted].");
        assert_eq!(CleanText::new("", &keys).as_str(), "");
        // One that goes on over the end of a line, and one past the end of the text.
        assert_eq!(
            CleanText::new("KEY-1\n\n3 x KEY-", &keys).as_str(),
            "[redacted]\n\n[redacted] x [redacted]"
        );
        assert_eq!(CleanText::new("éé", &|_| vec![1..2, 3..3]).as_str(), "\u{fffd}[redacted]é");
    }

    /// EX-20
    #[test]
    fn a_text_is_cut_off_behind_its_last_character() {
        let longest = "é".repeat(TEXT_CHARS_MAX);
        assert_eq!(CleanText::new(&longest, &keys).as_str(), longest);
        let over = CleanText::new(&(longest + "é"), &keys);
        assert_eq!(over.as_str(), "é".repeat(TEXT_CHARS_MAX - 1) + "…");
    }
}
