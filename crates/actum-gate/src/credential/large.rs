//! Scans a large file in windows, so that it need not fit into memory.

use std::ops::Range;

use super::view::{self, View};
use super::{Finding, Findings, newlines};

/// Number of bytes of context before the searched range of a window. It exceeds the maximum distance between a secret and
/// the literal before it, even in UTF-16.
pub const BEFORE_BYTES: u64 = 40 << 10;
/// Number of bytes of context after the searched range of a window. It exceeds the length of the longest secret.
pub const BEHIND_BYTES: u64 = 192 << 10;

/// Scan of a large content in windows. It has the same findings as [`scan`](super::scan) on the entire content.
pub struct LargeScan {
    /// Index of the low byte in each UTF-16 code unit, or `None` if the content does not begin as UTF-16.
    low: Option<usize>,
    findings: Findings,
    /// Offset of the first byte that has not been searched yet.
    searched_to: u64,
    /// Line number at `searched_to`, or `None` if bytes were skipped.
    line: Option<u64>,
}

impl LargeScan {
    /// Creates a scan. The encoding of the content is determined from its first bytes.
    pub fn new(beginning: &[u8]) -> Self {
        Self {
            low: view::find_low_byte(beginning),
            findings: Findings::default(),
            searched_to: 0,
            line: Some(1),
        }
    }

    /// Returns true if the maximum number of findings has been reached, so that the scan can stop.
    pub fn is_full(&self) -> bool {
        self.findings.is_full()
    }

    /// Searches a range of a window that starts at `offset` in the content, which must be even. The rest of the window
    /// serves only as context.
    pub fn search(&mut self, offset: u64, window: &[u8], range: Range<usize>) {
        let place = |at: usize| offset.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
        let view = View::decode(self.low, window);
        let within = view.to_view(range.start)..view.to_view(range.end);
        let line = self.line.filter(|_| self.searched_to == place(range.start));
        let searched = view.bytes.get(within.clone()).unwrap_or_default();
        self.line = line.map(|line| line.saturating_add(newlines(searched)));
        self.searched_to = place(range.end);
        self.findings.add(&view, within, line, |_| false);
    }

    /// Returns the findings, ordered by line and then by rule. The line is 0 if bytes were skipped before the secret.
    pub fn finish(self) -> Vec<Finding> {
        self.findings.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{scan, tests::examples};
    use super::*;

    /// Scans the content in windows that are separated at the given offsets.
    fn scan_in_windows(content: &[u8], cuts: &[usize]) -> Vec<Finding> {
        let [before, behind] = [BEFORE_BYTES, BEHIND_BYTES].map(|it| usize::try_from(it).unwrap());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (cut & !1).min(content.len())).collect();
        cuts.extend([0, content.len()]);
        cuts.sort_unstable();
        let mut scan = LargeScan::new(&content[..content.len().min(1024)]);
        for cut in cuts.windows(2) {
            let start = cut[0].saturating_sub(before);
            let end = (cut[1] + behind).min(content.len());
            scan.search(start as u64, &content[start..end], cut[0] - start..cut[1] - start);
        }
        scan.finish()
    }

    fn content() -> impl Strategy<Value = Vec<u8>> {
        let secrets: Vec<String> = examples().map(|(_, secret)| secret).collect();
        let filler = prop_oneof![
            (1..3000usize).prop_map(|length| "some words of text\n".repeat(length / 19)),
            (1..300usize).prop_map(|length| "\u{4e2d}\u{200b}x".repeat(length)),
            Just("-".to_owned()),
        ];
        let secret = proptest::sample::select(secrets).prop_map(|secret| format!("\n{secret}\n"));
        let text = proptest::collection::vec(prop_oneof![filler, secret], 1..30);
        (text, any::<bool>()).prop_map(|(parts, is_wide)| match (parts.concat(), is_wide) {
            (text, true) => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            (text, false) => text.into_bytes(),
        })
    }

    proptest! {
        /// EX-20
        #[test]
        fn windowed_scan_finds_the_same_as_a_whole_scan(
            content in content(), cuts in proptest::collection::vec(0..60_000usize, 0..5),
        ) {
            prop_assert_eq!(scan_in_windows(&content, &cuts), scan(None, &content));
        }
    }

    /// EX-20: the encoding is determined by the beginning of the content, and not by the beginning of a window.
    #[test]
    fn utf_16_mark_in_the_middle_hides_no_findings() {
        let (_, key) = examples().next().unwrap();
        let before = usize::try_from(BEFORE_BYTES).unwrap();
        for mark in [&b"\xff\xfe"[..], b"\xfe\xff", &b"x\0".repeat(600)] {
            let text = b"text\n".repeat(200);
            let behind = vec![b'-'; before - mark.len()];
            let content = [&text, mark, &behind, b"\n", key.as_bytes(), b"\n"].concat();
            let cut = text.len() + before;
            assert_eq!(scan_in_windows(&content, &[cut]), scan(None, &content));
            assert_eq!(scan(None, &content).len(), 1);
        }
    }

    /// EX-20
    #[test]
    fn findings_after_skipped_bytes_have_line_0() {
        let key = examples().next().unwrap().1.into_bytes();
        let mut scan = LargeScan::new(b"");
        scan.search(0, b"\n\n", 0..2);
        scan.search(32768, &key, 0..key.len());
        let findings = scan.finish();
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [0]);
    }
}
