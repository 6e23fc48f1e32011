//! Computes SHA-256 (FIPS 180-4) of many messages in parallel, with vector instructions.
//!
//! Each block of a message depends on the previous one, so a processor without SHA instructions cannot use its vector
//! units for a single message. Separate messages do not depend on each other. Each message is therefore hashed in its
//! own lane. All lanes process one block at a time, and a lane that has finished its message continues with the next
//! one.
//!
//! The function [`lane`] implements the standard for a single lane. The compiler vectorizes the loop over it in
//! [`each_lane`] to the width that the processor supports.

use std::slice;

use multiversion::multiversion;

/// Number of lanes, which fill the widest vector registers. Narrower registers process the lanes in two or four steps.
const LANES: usize = 16;
/// Minimum number of messages for which hashing in lanes is faster than hashing one message after another.
const MESSAGES_MIN: usize = 4;
const BLOCK_BYTES: usize = 64;
/// Size of the message length in bits, which follows the padding of a set bit and zeros at the end of a message.
const LENGTH_BYTES: usize = 8;

type Block = [u8; BLOCK_BYTES];
/// One word of the hash state or the message block for every lane.
type Word = [u32; LANES];

/// Initial hash value (FIPS 180-4, section 5.3.3).
const BEGINNING: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Round constants (FIPS 180-4, section 4.2.2), in groups of sixteen rounds.
#[rustfmt::skip]
const CONSTANTS: [[u32; 16]; 4] = [
    [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
     0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
    [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
     0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
    [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
     0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
    [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
     0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
];

/// Returns whether hashing this many messages in lanes is faster than hashing one message after another.
///
/// Lanes are slower on a processor that has SHA-256 instructions or lacks wide vectors.
pub(super) fn are_faster(messages: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    let has_vectors_alone =
        std::arch::is_x86_feature_detected!("avx2") && !std::arch::is_x86_feature_detected!("sha");
    #[cfg(not(target_arch = "x86_64"))]
    let has_vectors_alone = false;
    has_vectors_alone && messages >= MESSAGES_MIN
}

/// Hashes every message and calls `done` with its index and its hash, in no particular order.
pub(super) fn hash(messages: &[&[u8]], mut done: impl FnMut(usize, [u8; 32])) {
    // Start with the longest messages, so that all lanes finish at about the same time.
    let mut waiting: Vec<(usize, &[u8])> = messages.iter().copied().enumerate().collect();
    waiting.sort_unstable_by_key(|(_, message)| message.len());
    let mut lanes: [Option<Lane<'_>>; LANES] = [const { None }; LANES];
    let mut states = BEGINNING.map(|word| [word; LANES]);
    let mut blocks = [[0; BLOCK_BYTES]; LANES];
    loop {
        let mut is_busy = false;
        for (place, (lane, block)) in lanes.iter_mut().zip(&mut blocks).enumerate() {
            if lane.as_ref().is_none_or(Lane::is_done) {
                if let Some(lane) = lane {
                    done(lane.message, bytes_of(column(&states, place)));
                }
                *lane = waiting.pop().map(|(index, message)| Lane::new(index, message));
                set_column(&mut states, place, BEGINNING);
            }
            // A lane without a message hashes its previous block again, and its result is never read.
            if let Some(next) = lane.as_mut().and_then(Lane::next) {
                *block = *next;
                is_busy = true;
            }
        }
        if !is_busy {
            return;
        }
        take(&mut states, &blocks);
    }
}

/// Message that is being hashed in a lane.
struct Lane<'m> {
    /// Index of the message in the input.
    message: usize,
    whole: slice::Iter<'m, Block>,
    /// Last bytes of the message that do not fill a block, with the padding required by the standard.
    end: [Block; 2],
    /// Number of blocks at the end of `end` that were not hashed yet.
    ends: usize,
}

impl<'m> Lane<'m> {
    fn new(index: usize, message: &'m [u8]) -> Self {
        let (whole, rest) = message.as_chunks::<BLOCK_BYTES>();
        let ends = if rest.len() < BLOCK_BYTES - LENGTH_BYTES { 1 } else { 2 };
        let mut end = [[0; BLOCK_BYTES]; 2];
        let (_, used) = end.as_flattened_mut().split_at_mut(BLOCK_BYTES * (2 - ends));
        if let Some((start, [bit, ..])) = used.split_at_mut_checked(rest.len()) {
            start.copy_from_slice(rest);
            *bit = 0x80;
        }
        let bits = crate::count(message.len()).wrapping_mul(8).to_be_bytes();
        if let Some(length) = end.as_flattened_mut().last_chunk_mut() {
            *length = bits;
        }
        Self { message: index, whole: whole.iter(), end, ends }
    }

    fn is_done(&self) -> bool {
        self.ends == 0
    }

    fn next(&mut self) -> Option<&Block> {
        if let Some(block) = self.whole.next() {
            return Some(block);
        }
        let block = self.end.len().checked_sub(self.ends).and_then(|at| self.end.get(at))?;
        self.ends -= 1;
        Some(block)
    }
}

/// Hashes one block in every lane.
fn take(states: &mut [Word; 8], blocks: &[Block; LANES]) {
    all_lanes(states, &words_of(blocks));
}

/// Transposes the blocks, so that each element of the result holds the same word of every block.
///
/// Vectors of 64 bytes would make this slower.
#[multiversion(targets("x86_64+avx2"))]
#[expect(clippy::indexing_slicing, reason = "both indexes are less than the fixed lengths")]
fn words_of(blocks: &[Block; LANES]) -> [Word; 16] {
    let mut words = [[0; LANES]; 16];
    for (place, block) in blocks.iter().enumerate() {
        for (at, bytes) in block.as_chunks().0.iter().enumerate() {
            words[at][place] = u32::from_be_bytes(*bytes);
        }
    }
    words
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn all_lanes(states: &mut [Word; 8], words: &[Word; 16]) {
    each_lane(states, words);
}

/// Hashes one block in every lane.
///
/// The lanes do not depend on each other, so the compiler can turn this loop into vector instructions.
#[inline(always)]
fn each_lane(states: &mut [Word; 8], words: &[Word; 16]) {
    for place in 0..LANES {
        let state = column(states, place);
        set_column(states, place, lane(state, column(words, place)));
    }
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "`place` is less than the number of lanes")]
fn column<const N: usize>(words: &[Word; N], place: usize) -> [u32; N] {
    std::array::from_fn(|at| words[at][place])
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "`place` is less than the number of lanes")]
fn set_column(states: &mut [Word; 8], place: usize, state: [u32; 8]) {
    for (words, word) in states.iter_mut().zip(state) {
        words[place] = word;
    }
}

fn bytes_of(state: [u32; 8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(state)
        .for_each(|(bytes, word)| *bytes = word.to_be_bytes());
    bytes
}

/// One round of the compression function (FIPS 180-4, section 6.2.2, step 3).
///
/// The names of the variables rotate instead of their values: the variable `h` of one round is the `a` of the next.
macro_rules! round {
    ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $k:expr, $w:expr) => {
        let sum = $e.rotate_right(6) ^ $e.rotate_right(11) ^ $e.rotate_right(25);
        let choice = ($e & $f) ^ (!$e & $g);
        let first = $h.wrapping_add(sum).wrapping_add(choice).wrapping_add($k.wrapping_add($w));
        let sum = $a.rotate_right(2) ^ $a.rotate_right(13) ^ $a.rotate_right(22);
        let majority = ($a & $b) ^ ($a & $c) ^ ($b & $c);
        $d = $d.wrapping_add(first);
        $h = first.wrapping_add(sum).wrapping_add(majority);
    };
}

/// Computes the next word of the message schedule (step 1), which replaces `$w`, from the words 15, 7 and 2 positions
/// before it.
macro_rules! next_word {
    ($w:ident, $w15:ident $w7:ident $w2:ident) => {
        let low = $w15.rotate_right(7) ^ $w15.rotate_right(18) ^ ($w15 >> 3);
        let high = $w2.rotate_right(17) ^ $w2.rotate_right(19) ^ ($w2 >> 10);
        $w = $w.wrapping_add(low).wrapping_add($w7).wrapping_add(high);
    };
}

/// Hashes one block (FIPS 180-4, section 6.2.2). The rounds are unrolled because the compiler can only vectorize code
/// without inner loops.
#[inline(always)]
fn lane(state: [u32; 8], words: [u32; 16]) -> [u32; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    let [mut w0, mut w1, mut w2, mut w3, mut w4, mut w5, mut w6, mut w7, ..] = words;
    let [.., mut w8, mut w9, mut w10, mut w11, mut w12, mut w13, mut w14, mut w15] = words;
    macro_rules! sixteen_rounds {
        ($constants:expr) => {
            let [k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15] = $constants;
            round!(a b c d e f g h, k0, w0);
            round!(h a b c d e f g, k1, w1);
            round!(g h a b c d e f, k2, w2);
            round!(f g h a b c d e, k3, w3);
            round!(e f g h a b c d, k4, w4);
            round!(d e f g h a b c, k5, w5);
            round!(c d e f g h a b, k6, w6);
            round!(b c d e f g h a, k7, w7);
            round!(a b c d e f g h, k8, w8);
            round!(h a b c d e f g, k9, w9);
            round!(g h a b c d e f, k10, w10);
            round!(f g h a b c d e, k11, w11);
            round!(e f g h a b c d, k12, w12);
            round!(d e f g h a b c, k13, w13);
            round!(c d e f g h a b, k14, w14);
            round!(b c d e f g h a, k15, w15);
        };
    }
    macro_rules! next_words {
        () => {
            next_word!(w0, w1 w9 w14);
            next_word!(w1, w2 w10 w15);
            next_word!(w2, w3 w11 w0);
            next_word!(w3, w4 w12 w1);
            next_word!(w4, w5 w13 w2);
            next_word!(w5, w6 w14 w3);
            next_word!(w6, w7 w15 w4);
            next_word!(w7, w8 w0 w5);
            next_word!(w8, w9 w1 w6);
            next_word!(w9, w10 w2 w7);
            next_word!(w10, w11 w3 w8);
            next_word!(w11, w12 w4 w9);
            next_word!(w12, w13 w5 w10);
            next_word!(w13, w14 w6 w11);
            next_word!(w14, w15 w7 w12);
            next_word!(w15, w0 w8 w13);
        };
    }
    let [first, second, third, fourth] = CONSTANTS;
    sixteen_rounds!(first);
    next_words!();
    sixteen_rounds!(second);
    next_words!();
    sixteen_rounds!(third);
    next_words!();
    sixteen_rounds!(fourth);
    let mut sum = state;
    let changed = [a, b, c, d, e, f, g, h];
    sum.iter_mut().zip(changed).for_each(|(word, changed)| *word = word.wrapping_add(changed));
    sum
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use sha2::Digest as _;

    use super::*;

    /// Computes the hashes of the messages in lanes, and returns them in the order of the messages.
    fn hashed(messages: &[&[u8]]) -> Vec<[u8; 32]> {
        let mut hashes = vec![None; messages.len()];
        hash(messages, |index, hash| {
            assert_eq!(hashes[index].replace(hash), None, "{index} twice")
        });
        hashes.into_iter().map(|hash| hash.expect("each message has a hash")).collect()
    }

    fn one_after_another(messages: &[&[u8]]) -> Vec<[u8; 32]> {
        messages.iter().map(|message| sha2::Sha256::digest(message).into()).collect()
    }

    /// Examples published by NIST for FIPS 180-4, and the empty message.
    #[test]
    fn published_sha_256_examples_match() {
        let million = vec![b'a'; 1_000_000];
        let long = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
        let examples: [(&[u8], &str); 5] = [
            (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (long, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
            (&million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ];
        let texts: Vec<String> = hashed(&examples.map(|(message, _)| message))
            .into_iter()
            .map(|hash| super::super::Digest::from_bytes(hash).to_string())
            .collect();
        assert_eq!(texts, examples.map(|(_, hash)| hash));
    }

    #[test]
    fn parallel_hashing_matches_sequential_hashing_at_every_length() {
        let bytes: Vec<u8> = (0..=300u32).map(|at| at.to_le_bytes()[0] ^ 0x5a).collect();
        let all: Vec<&[u8]> = (0..=300).map(|length| &bytes[..length]).collect();
        assert_eq!(hashed(&all), one_after_another(&all));
        for length in 0..=300 {
            let alone = [&bytes[..length]];
            assert_eq!(hashed(&alone), one_after_another(&alone), "{length} bytes alone");
            let same = [&bytes[..length]; LANES];
            assert_eq!(hashed(&same), one_after_another(&same), "{length} bytes in each lane");
        }
    }

    #[test]
    fn parallel_hashing_handles_any_number_of_messages() {
        let bytes = [7; 200];
        for count in 0..=3 * LANES {
            let messages: Vec<&[u8]> = (0..count).map(|at| &bytes[..(at * 37) % 200]).collect();
            assert_eq!(hashed(&messages), one_after_another(&messages), "{count} messages");
        }
    }

    /// Compares the vectorized code, which uses the widest vectors of this processor, with the portable code.
    #[test]
    fn vectorized_code_matches_portable_code() {
        let mut mix = 1u32;
        let mut next = || {
            mix = mix.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            mix
        };
        let mut plain = [[0; LANES]; 8].map(|word: Word| word.map(|_| next()));
        let mut vectors = plain;
        for _ in 0..100 {
            let words = [[0; LANES]; 16].map(|word: Word| word.map(|_| next()));
            each_lane(&mut plain, &words);
            all_lanes(&mut vectors, &words);
            assert_eq!(plain, vectors);
        }
    }

    proptest! {
        #[test]
        fn parallel_hashing_matches_sequential_hashing_for_any_messages(
            messages in vec(vec(any::<u8>(), 0..700), 0..60),
        ) {
            let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(hashed(&messages), one_after_another(&messages));
        }
    }
}
