//! Classifies blocks of large files as text or binary, in the same pass that computes the digest.

use multiversion::multiversion;

/// Size of a block in bytes.
pub const BLOCK_BYTES: usize = 16 << 10;
/// Minimum length in bytes of an ASCII sequence that makes a block count as text. A secret together with its name is
/// longer.
const RUN_BYTES_MIN: usize = 15;
/// A block is binary if at least one in this number of bytes is less than [`CONTROLS_END`].
const TEXT_BYTES_PER_CONTROL: usize = 64;
/// Upper bound of the control characters that indicate binary content. A tab and higher characters also occur in text.
const CONTROLS_END: u8 = b'\t';
/// Size in bytes of a machine word, the unit that is searched for ASCII.
const WORD_BYTES: usize = 8;

/// Classifies the blocks of content that arrives in pieces as text or binary.
///
/// A block is binary if at least one byte in 64 is a control character. However, a block with a long sequence of ASCII
/// characters, or with ASCII text in UTF-16, is always treated as text.
///
/// ASCII sequences are detected across pieces, but UTF-16 is only detected within a piece, so pieces should have at
/// least 32 bytes. Text that is interleaved with zero-width characters inside a binary block is not detected.
#[derive(Debug, Clone, Default)]
pub struct TextFinder {
    blocks: Vec<bool>,
    /// Number of bytes in the current block so far.
    filled: usize,
    controls: usize,
    has_run: bool,
    /// Length of the ASCII sequence at the end of the last piece.
    run: usize,
}

/// Classification of the blocks of a file, where `true` means that the block may contain text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextBlocks(Vec<bool>);

impl TextFinder {
    /// Processes the next piece of the content.
    pub fn feed(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let (part, rest) = piece.split_at(piece.len().min(BLOCK_BYTES - self.filled));
            self.feed_part(part);
            if self.filled == BLOCK_BYTES {
                self.end_block();
            }
            piece = rest;
        }
    }

    /// Processes bytes that all belong to the current block.
    fn feed_part(&mut self, part: &[u8]) {
        let leading = count_ascii(part.iter());
        self.has_run = self.has_run || leading > 0 && self.run + leading >= RUN_BYTES_MIN;
        let trailing = count_ascii(part.iter().rev());
        self.run = if trailing == part.len() { self.run + trailing } else { trailing };
        self.controls += count_controls(part);
        self.has_run = self.has_run || has_run(part);
        self.filled += part.len();
    }

    fn end_block(&mut self) {
        let is_text = self.controls * TEXT_BYTES_PER_CONTROL < self.filled;
        self.blocks.push(is_text || self.has_run);
        (self.filled, self.controls, self.has_run) = (0, 0, false);
    }

    /// Returns the classification of all blocks.
    pub fn finish(mut self) -> TextBlocks {
        if self.filled > 0 {
            self.end_block();
        }
        TextBlocks(self.blocks)
    }
}

impl TextBlocks {
    /// Returns whether text may occur near the byte at `offset`, that is, in its block or in an adjacent block.
    ///
    /// Adjacent blocks are included because a secret can start at the end of a block, or follow its name in the next
    /// block.
    pub fn holds_text(&self, offset: u64) -> bool {
        let block = usize::try_from(offset).unwrap_or(usize::MAX) / BLOCK_BYTES;
        let near = self.0.get(block.saturating_sub(1)..).unwrap_or_default();
        near.iter().take(if block == 0 { 2 } else { 3 }).any(|is_text| *is_text)
    }
}

fn is_ascii(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') || byte.is_ascii_whitespace()
}

/// Returns the length of the ASCII sequence at the start of `bytes`, counting at most [`RUN_BYTES_MIN`] bytes.
fn count_ascii<'b>(bytes: impl Iterator<Item = &'b u8>) -> usize {
    bytes.take(RUN_BYTES_MIN).take_while(|byte| is_ascii(**byte)).count()
}

#[multiversion(targets("x86_64+avx2"))]
fn count_controls(bytes: &[u8]) -> usize {
    // The counter cannot overflow, because a chunk has at most 255 bytes.
    let count = |chunk: &[u8]| chunk.iter().map(|&byte| u8::from(byte < CONTROLS_END)).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(count(chunk))).sum()
}

/// Returns whether `bytes` contain a sequence of [`RUN_BYTES_MIN`] ASCII bytes, or an aligned word of ASCII text in
/// UTF-16.
///
/// Such a sequence always contains a whole aligned word, so aligned words are searched first.
fn has_run(bytes: &[u8]) -> bool {
    const WORDS: usize = 16;
    let mut start = 0;
    for group in bytes.chunks(WORDS * WORD_BYTES) {
        if holds_word(group) {
            let ends = group.len() / WORD_BYTES;
            for word in 0..ends {
                let at = start + word * WORD_BYTES;
                let found = bytes
                    .get(at..at + WORD_BYTES)
                    .and_then(|word| word.first_chunk::<WORD_BYTES>());
                let Some(found) = found.filter(|found| may_be_text(u64::from_le_bytes(**found)))
                else {
                    continue;
                };
                let (before, behind) = bytes.split_at_checked(at).unwrap_or_default();
                let behind = count_ascii(behind.iter());
                let before = count_ascii(before.iter().rev());
                if found.contains(&0) || behind >= WORD_BYTES && before + behind >= RUN_BYTES_MIN {
                    return true;
                }
            }
        }
        start += group.len();
    }
    false
}

#[multiversion(targets("x86_64+avx2"))]
fn holds_word(group: &[u8]) -> bool {
    let (words, _) = group.as_chunks::<WORD_BYTES>();
    words.iter().fold(false, |found, word| found | may_be_text(u64::from_le_bytes(*word)))
}

/// Returns whether a word may be text: either all of its bytes are from 9 to 127, or every other byte is and the rest
/// are 0.
#[inline(always)]
fn may_be_text(word: u64) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    // Adding 0x77 sets the high bit of every byte from 9 to 127.
    const UP: u64 = 0x7777_7777_7777_7777;
    let marks = (word.wrapping_add(UP) & !word) & HIGH;
    let is = |half: u64| (word & !half == 0) & (marks & half == HIGH & half);
    is(u64::MAX) | is(EVEN) | is(!EVEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pieces: &[&[u8]]) -> TextBlocks {
        let mut finder = TextFinder::default();
        pieces.iter().for_each(|piece| finder.feed(piece));
        finder.finish()
    }

    /// EX-20
    #[test]
    fn binary_blocks_are_distinguished_from_text_blocks() {
        let block = |pattern: &[u8]| -> Vec<u8> {
            pattern.iter().copied().cycle().take(BLOCK_BYTES).collect()
        };
        let utf16: Vec<u8> = "secret".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let contents = [
            (block(b"\0"), false),
            (block(b"\x07\xf3\x01binary\xff"), false),
            (block(b"a line\n"), true),
            (block("\u{4e2d}\u{6587}".as_bytes()), true),
            (block(&utf16), true),
        ];
        for (content, is_text) in &contents {
            assert_eq!(found(&[content]).holds_text(0), *is_text, "{:?}", content.get(..8));
        }
        let all: Vec<&[u8]> = contents.iter().map(|(content, _)| &**content).collect();
        let blocks = found(&all);
        let results: Vec<bool> = (0..5).map(|at| blocks.holds_text(at * 16384 + 16383)).collect();
        // The second block is binary, but it is adjacent to a text block.
        assert_eq!(results, [false, true, true, true, true]);
    }

    /// EX-20: UTF-16 text without ASCII letters looks binary, and ASCII text inside it can cross a block boundary.
    #[test]
    fn ascii_within_other_utf_16_text_is_detected() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let others = wide(&"\u{4e2d}\u{3002}\u{3001}".repeat(4000));
        for begins in (BLOCK_BYTES - 40..BLOCK_BYTES + 8).step_by(2) {
            let content = [&others[..begins], &wide("\na name and a secret\n"), &others].concat();
            assert!(found(&[&content]).holds_text(begins as u64), "{begins}");
        }
        assert!(!found(&[&others]).holds_text(0));
    }

    proptest! {
        /// EX-20: a secret is detected anywhere in binary content, however the content is divided into pieces.
        #[test]
        fn a_block_with_an_ascii_run_is_text(
            at in prop_oneof![0..3 * BLOCK_BYTES, BLOCK_BYTES - 20..BLOCK_BYTES + 2],
            length in 13..40usize,
            cuts in proptest::collection::vec(0..3 * BLOCK_BYTES, 0..4),
        ) {
            let mut content = vec![7; 5 * BLOCK_BYTES + 64];
            content[at..at + length].fill(b'k');
            let mut cuts = [cuts, vec![0, content.len()]].concat();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &content[cut[0]..cut[1]]).collect();
            let blocks = found(&pieces);
            if length >= RUN_BYTES_MIN {
                prop_assert!(blocks.holds_text(at as u64));
            }
            prop_assert!(!blocks.holds_text(5 * BLOCK_BYTES as u64));
            prop_assert_eq!(blocks, found(&[&content]));
        }
    }
}
