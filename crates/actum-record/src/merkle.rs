//! Merkle tree of a log (RFC 6962, section 2.1). This module computes hashes and creates proofs, which `actum-gate` verifies.
//!
//! A log stores the hash of every complete subtree. Subtrees are numbered in the order in which they are completed
//! ([`position`]), so new hashes are always appended at the end.

use actum_core::{Digest, Hasher, Messages};

/// Maximum number of hashes in a proof, which is sufficient for a log with 2^63 entries.
pub const PROOF_HASHES_MAX: usize = 64;

/// Returns the hash of an entry as a leaf of the Merkle tree.
pub fn leaf_hash(entry: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[0]);
    hasher.update(entry);
    hasher.finish()
}

/// Returns the hash of the subtree whose left and right halves have the given hashes.
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    hasher.finish()
}

/// Returns the hashes of the parents of adjacent subtrees, combining them in pairs. If the number of subtrees is odd, the last
/// one is ignored. This is much faster than hashing each pair separately ([`Digest::of_each`]).
pub fn parents(level: &[Digest]) -> Vec<Digest> {
    let pairs = level.as_chunks::<2>().0;
    let mut messages = Vec::with_capacity(pairs.len());
    for [left, right] in pairs {
        let mut message = [1; 65];
        let (_, halves) = message.split_at_mut(1);
        for (half, hash) in halves.chunks_exact_mut(32).zip([left, right]) {
            half.copy_from_slice(hash.as_bytes());
        }
        messages.push(message);
    }
    let messages: Vec<&[u8]> = messages.iter().map(<[u8; 65]>::as_slice).collect();
    Digest::of_each(&messages)
}

/// Adds an entry to `messages`, so that its [`leaf_hash`] is computed together with others.
pub fn gather_leaf(messages: &mut Messages, entry: &[u8]) {
    messages.push(&[&[0], entry]);
}

/// Returns the root of a log without entries.
pub fn empty_root() -> Digest {
    Digest::of(b"")
}

/// Returns the number of the complete subtree that has `1 << level` entries and is the `index`-th of its level. Subtrees are
/// numbered in the order in which they are completed, so each one directly follows its right half. This is the stored hash
/// index of Go's `sumdb/tlog`.
pub fn position(level: u32, index: u64) -> u64 {
    // All subtrees that were completed by earlier entries come before those completed by the subtree's last entry.
    let last = index.saturating_add(1).checked_shl(level).unwrap_or(0).saturating_sub(1);
    let before = (0..u64::BITS).fold(0u64, |sum, shift| sum.saturating_add(last >> shift));
    before.saturating_add(u64::from(level))
}

/// Returns the number of complete subtrees in a log with `size` entries.
pub fn positions(size: u64) -> u64 {
    position(0, size)
}

/// Complete subtree of a Merkle tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Level of the subtree, which contains `1 << level` entries.
    pub level: u32,
    /// Index of the subtree within its level, counted from 0.
    pub index: u64,
}

impl Node {
    /// Returns the number of the subtree, as defined by [`position`].
    pub fn position(self) -> u64 {
        position(self.level, self.index)
    }
}

/// Right edge of a log's Merkle tree, which is sufficient to append entries and to compute the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// Hashes of the complete subtrees that make up the log, largest first.
    subtrees: Vec<Digest>,
}

impl Frontier {
    /// Loads the right edge of a log with `size` entries, using `read` to look up the hashes of its subtrees.
    ///
    /// # Errors
    /// Returns the first error of `read`.
    pub fn read<E>(size: u64, mut read: impl FnMut(Node) -> Result<Digest, E>) -> Result<Self, E> {
        let subtrees = edge(0, size).into_iter().map(&mut read).collect::<Result<_, _>>()?;
        Ok(Self { size, subtrees })
    }

    /// Creates the right edge of a log with `size` entries from the stored hashes of its complete subtrees, largest first. Returns
    /// `None` if the number of hashes does not match the size.
    pub fn from_subtrees(size: u64, subtrees: Vec<Digest>) -> Option<Self> {
        let is_as_many = u32::try_from(subtrees.len()).is_ok_and(|it| it == size.count_ones());
        is_as_many.then_some(Self { size, subtrees })
    }

    /// Returns the hashes of the complete subtrees that make up the log, largest first.
    pub fn subtrees(&self) -> &[Digest] {
        &self.subtrees
    }

    /// Returns the number of entries in the log.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry and calls `completed` with the hash of each subtree that it completes, starting with the entry itself.
    /// Their positions are consecutive, starting at [`positions`] of the previous size.
    pub fn push(&mut self, leaf: Digest, mut completed: impl FnMut(Digest)) {
        let mut hash = leaf;
        completed(hash);
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                hash = node_hash(&left, &hash);
                completed(hash);
            }
        }
        self.subtrees.push(hash);
        self.size = self.size.saturating_add(1);
    }

    /// Computes the root of the log.
    pub fn root(&self) -> Digest {
        joined(self.subtrees.iter().copied())
    }
}

/// Creates the proof that the entry `index` is in the log with `size` entries (RFC 6962, section 2.1.1). Calls `read` to look
/// up the hashes of complete subtrees. Returns `None` if the log has no such entry.
///
/// # Errors
/// Returns the first error of `read`.
pub fn inclusion_proof<E>(
    size: u64,
    index: u64,
    mut read: impl FnMut(Node) -> Result<Digest, E>,
) -> Result<Option<Vec<Digest>>, E> {
    if index >= size {
        return Ok(None);
    }
    let (mut start, mut end) = (0, size);
    let mut beside = Vec::new();
    while end - start > 1 {
        let middle = start + largest_power_below(end - start);
        if index < middle {
            beside.push((middle, end));
            end = middle;
        } else {
            beside.push((start, middle));
            start = middle;
        }
    }
    hashes(beside, &mut read).map(Some)
}

/// Creates the proof that the log with `old` entries is a prefix of the log with `size` entries (RFC 6962, section 2.1.2).
/// Calls `read` to look up the hashes of complete subtrees. Returns `None` if `old` is 0 or greater than `size`. The proof is
/// empty if both sizes are equal.
///
/// # Errors
/// Returns the first error of `read`.
pub fn consistency_proof<E>(
    size: u64,
    old: u64,
    mut read: impl FnMut(Node) -> Result<Digest, E>,
) -> Result<Option<Vec<Digest>>, E> {
    if old == 0 || old > size {
        return Ok(None);
    }
    let (mut start, mut end) = (0, size);
    let mut beside = Vec::new();
    // Descend to the subtree that ends where the old log ends. Its hash is part of the proof, unless
    // the subtree is the entire old log, because the verifier knows that root.
    while old < end {
        let middle = start + largest_power_below(end - start);
        if old <= middle {
            beside.push((middle, end));
            end = middle;
        } else {
            beside.push((start, middle));
            start = middle;
        }
    }
    if start > 0 {
        beside.push((start, end));
    }
    hashes(beside, &mut read).map(Some)
}

/// Computes the hashes of ranges of entries, in reverse order of the ranges.
fn hashes<E>(
    ranges: Vec<(u64, u64)>,
    read: &mut impl FnMut(Node) -> Result<Digest, E>,
) -> Result<Vec<Digest>, E> {
    let of = |(start, end): (u64, u64)| {
        let subtrees =
            edge(start, end).into_iter().map(&mut *read).collect::<Result<Vec<_>, E>>()?;
        Ok(joined(subtrees.into_iter()))
    };
    ranges.into_iter().rev().map(of).collect()
}

/// Returns the complete subtrees that make up the entries from `start` up to but excluding `end`, largest first. `start` must
/// be a multiple of a power of two that is at least the number of entries.
fn edge(start: u64, end: u64) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut at = start;
    while at < end {
        let level = (end - at).ilog2();
        nodes.push(Node { level, index: at >> level });
        at += 1 << level;
    }
    nodes
}

/// Combines the hashes of adjacent subtrees from right to left into one hash.
fn joined(subtrees: impl DoubleEndedIterator<Item = Digest>) -> Digest {
    subtrees.rev().reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(empty_root)
}

/// Returns the largest power of two that is smaller than `count`, which must be at least 2.
fn largest_power_below(count: u64) -> u64 {
    1 << count.saturating_sub(1).checked_ilog2().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Computes the hash of a list of entries recursively, as defined in RFC 6962, section 2.1.
    fn defined(entries: &[Vec<u8>]) -> Digest {
        match entries {
            [] => Digest::of(b""),
            [entry] => leaf_hash(entry),
            entries => {
                let split = usize::try_from(largest_power_below(entries.len() as u64)).unwrap();
                node_hash(&defined(&entries[..split]), &defined(&entries[split..]))
            }
        }
    }

    fn entries(count: u64) -> Vec<Vec<u8>> {
        (0..count).map(|entry| entry.to_le_bytes().to_vec()).collect()
    }

    /// Builds a log and returns its right edge and the stored hashes of its complete subtrees.
    fn kept(entries: &[Vec<u8>]) -> (Frontier, Vec<Digest>) {
        let (mut frontier, mut nodes) = (Frontier::default(), Vec::new());
        for entry in entries {
            assert_eq!(positions(frontier.size()), nodes.len() as u64);
            frontier.push(leaf_hash(entry), |hash| nodes.push(hash));
        }
        (frontier, nodes)
    }

    fn reader(nodes: &[Digest]) -> impl FnMut(Node) -> Result<Digest, Infallible> {
        |node| Ok(nodes[usize::try_from(node.position()).unwrap()])
    }

    /// AEC-8: a store can keep the right edge of a log in a single row.
    #[test]
    fn frontier_is_rebuilt_from_its_subtrees() {
        for count in 0..40 {
            let (frontier, _) = kept(&entries(count));
            let subtrees = frontier.subtrees().to_vec();
            assert_eq!(Frontier::from_subtrees(count, subtrees.clone()), Some(frontier));
            let more = [subtrees, vec![Digest::of(b"one more")]].concat();
            assert_eq!(Frontier::from_subtrees(count, more), None);
        }
    }

    #[test]
    fn root_matches_the_standard_at_every_size() {
        for size in 0..130 {
            let entries = entries(size);
            let (frontier, nodes) = kept(&entries);
            assert_eq!(frontier.root(), defined(&entries), "{size}");
            assert_eq!(Frontier::read(size, reader(&nodes)), Ok(frontier), "{size}");
        }
    }

    /// Checks the test vector of the Certificate Transparency implementation, a log with eight entries.
    #[test]
    fn roots_match_the_published_test_vectors() {
        let entries: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut frontier = Frontier::default();
        for (entry, root) in entries.iter().zip(roots) {
            frontier.push(leaf_hash(entry), |_| {});
            assert_eq!(frontier.root().to_string(), root);
        }
    }

    #[test]
    fn batch_hashing_matches_individual_hashing() {
        for count in 0..70 {
            let entries = entries(count);
            let (mut leaves, mut together) = (Messages::default(), Vec::new());
            for half in entries.chunks(40) {
                half.iter().for_each(|entry| gather_leaf(&mut leaves, entry));
                leaves.digests(&mut together);
            }
            let alone: Vec<Digest> = entries.iter().map(|entry| leaf_hash(entry)).collect();
            assert_eq!(together, alone, "{count}");
            let pairs = alone.chunks_exact(2).map(|pair| node_hash(&pair[0], &pair[1]));
            assert_eq!(parents(&alone), pairs.collect::<Vec<_>>(), "{count}");
        }
    }

    #[test]
    fn subtree_positions_and_proofs_match_another_implementation() {
        let size = 70;
        let (_, nodes) = kept(&entries(size));
        for level in 0..7u32 {
            for index in 0..(size >> level) {
                let theirs = tlog_tiles::stored_hash_index(u8::try_from(level).unwrap(), index);
                assert_eq!(position(level, index), theirs, "level {level}, index {index}");
            }
        }
        let theirs = Theirs(&nodes);
        for size in 1..=size {
            for index in 0..size {
                let ours = inclusion_proof(size, index, reader(&nodes)).unwrap().unwrap();
                let proof = tlog_tiles::prove_record(size, index, &theirs).unwrap();
                assert_eq!(digests(&proof), ours, "entry {index} of {size}");
            }
            for old in 1..=size {
                let ours = consistency_proof(size, old, reader(&nodes)).unwrap().unwrap();
                let proof = tlog_tiles::prove_tree(size, old, &theirs).unwrap();
                assert_eq!(digests(&proof), ours, "{old} of {size}");
            }
        }
    }

    #[test]
    fn no_proof_exists_for_missing_entries() {
        let (_, nodes) = kept(&entries(4));
        assert_eq!(inclusion_proof(4, 4, reader(&nodes)), Ok(None));
        assert_eq!(inclusion_proof(0, 0, reader(&nodes)), Ok(None));
        assert_eq!(consistency_proof(4, 0, reader(&nodes)), Ok(None));
        assert_eq!(consistency_proof(4, 5, reader(&nodes)), Ok(None));
        assert_eq!(consistency_proof(4, 4, reader(&nodes)), Ok(Some(Vec::new())));
    }

    struct Theirs<'a>(&'a [Digest]);

    impl tlog_tiles::HashReader for Theirs<'_> {
        fn read_hashes(
            &self,
            positions: &[u64],
        ) -> Result<Vec<tlog_tiles::Hash>, tlog_tiles::Error> {
            let at = |&position: &u64| {
                tlog_tiles::Hash(*self.0[usize::try_from(position).unwrap()].as_bytes())
            };
            Ok(positions.iter().map(at).collect())
        }
    }

    fn digests(hashes: &[tlog_tiles::Hash]) -> Vec<Digest> {
        hashes.iter().map(|hash| Digest::from_bytes(hash.0)).collect()
    }
}
