//! Pseudo-random numbers for tests.

/// Deterministic random number generator (SplitMix64, by Guy Steele, Doug Lea and Christine Flood). The same seed
/// always produces the same sequence.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator that starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next random number, which is less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % end
    }

    /// Returns a randomly chosen element of `all`.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
