//! Text and binary blocks of large content, classified in the pass that digests it.

use multiversion::multiversion;

/// Size of a block in bytes.
pub const BLOCK_BYTES: usize = 16 << 10;
/// Shortest run of ASCII that makes a block one of text, in bytes. A secret with its name is longer.
const RUN_BYTES_MIN: usize = 15;
/// A block is binary if at least one byte in this number is below [`CONTROLS_END`].
const TEXT_BYTES_PER_CONTROL: usize = 64;
/// The control characters below a tab.
const CONTROLS_END: u8 = b'\t';
/// Size of a word in bytes.
const WORD_BYTES: usize = 8;

/// Classifies the blocks of content that arrives in pieces as text or binary. A block is binary if at least one byte in 64 is a
/// control character, and it has neither a long run of ASCII nor ASCII in UTF-16.
///
/// Runs of ASCII are found across pieces. UTF-16 is found inside one piece only, so pieces have at least 32 bytes. Text that is split
/// by zero-width characters inside a binary block is not found.
#[derive(Debug, Clone, Default)]
pub struct TextFinder {
    blocks: Vec<bool>,
    /// Bytes of the current block so far.
    filled: usize,
    controls: usize,
    has_run: bool,
    /// Length of the run of ASCII with which the last piece ended.
    run: usize,
}

/// Blocks of a content that can hold text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextBlocks(Vec<bool>);

impl TextFinder {
    /// Adds the next piece.
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

    /// Adds bytes of the current block.
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

    /// Returns the blocks.
    pub fn finish(mut self) -> TextBlocks {
        if self.filled > 0 {
            self.end_block();
        }
        TextBlocks(self.blocks)
    }
}

impl TextBlocks {
    /// Returns true if the block that holds the byte at `offset`, or one beside it, can hold text. A secret can begin at the end
    /// of a block, or follow its name in the next one.
    pub fn holds_text(&self, offset: u64) -> bool {
        let block = usize::try_from(offset).unwrap_or(usize::MAX) / BLOCK_BYTES;
        let near = self.0.get(block.saturating_sub(1)..).unwrap_or_default();
        near.iter().take(if block == 0 { 2 } else { 3 }).any(|is_text| *is_text)
    }
}

fn is_ascii(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') || byte.is_ascii_whitespace()
}

/// Length of the run of ASCII with which `bytes` begins; at most [`RUN_BYTES_MIN`].
fn count_ascii<'b>(bytes: impl Iterator<Item = &'b u8>) -> usize {
    bytes.take(RUN_BYTES_MIN).take_while(|byte| is_ascii(**byte)).count()
}

#[multiversion(targets("x86_64+avx2"))]
fn count_controls(bytes: &[u8]) -> usize {
    // A chunk has fewer bytes than its counter can count.
    let count = |chunk: &[u8]| chunk.iter().map(|&byte| u8::from(byte < CONTROLS_END)).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|chunk| usize::from(count(chunk))).sum()
}

/// Finds a run of [`RUN_BYTES_MIN`] bytes of ASCII, or an aligned word of ASCII in UTF-16. Such a run contains an aligned word,
/// so only these are tested first.
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

/// A word can be text: all of its bytes are 9 to 127, or every other one is and the rest are 0.
#[inline(always)]
fn may_be_text(word: u64) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    // Adding 0x77 sets the high bit of a byte from 9 to 127.
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
    fn binary_blocks_hold_no_text_and_others_do() {
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
        let told: Vec<bool> = (0..5).map(|at| blocks.holds_text(at * 16384 + 16383)).collect();
        // The second is beside one of text.
        assert_eq!(told, [false, true, true, true, true]);
    }

    /// EX-20: other letters of UTF-16 look binary, and the text between them begins in one block and ends in the next.
    #[test]
    fn ascii_between_other_letters_of_utf_16_is_found() {
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
        /// EX-20: a secret is found at any place in binary content, in any pieces.
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
