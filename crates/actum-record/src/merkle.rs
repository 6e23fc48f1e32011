//! The Merkle tree of a log (RFC 6962, section 2.1): its hashes, and the making of proofs. What
//! checks a proof is in `actum-gate`.
//!
//! A log keeps the hash of every complete subtree. They are numbered in the order of their
//! completion, so that keeping them is appending: [`position`].

use actum_core::{Digest, Hasher, Messages};

/// The most hashes a proof has: a log of 2^63 entries.
pub const PROOF_HASHES_MAX: usize = 64;

/// The hash of an entry.
pub fn leaf_hash(entry: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[0]);
    hasher.update(entry);
    hasher.finish()
}

/// The hash of two subtrees side by side.
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    hasher.finish()
}

/// The hashes of the subtrees above those in `level`, which stand side by side: each of two of them. A
/// last one without a neighbour has none. Much faster than one after another; [`Digest::of_each`].
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

/// Gathers an entry for [`leaf_hash`].
pub fn gather_leaf(messages: &mut Messages, entry: &[u8]) {
    messages.push(&[&[0], entry]);
}

/// The root of a log without entries.
pub fn empty_root() -> Digest {
    Digest::of(b"")
}

/// Number of the complete subtree of `1 << level` entries that is the `index`-th of its level.
/// Subtrees are numbered in the order of their completion: each follows its right half at once.
/// (The stored hash index of Go's `sumdb/tlog`.)
pub fn position(level: u32, index: u64) -> u64 {
    // Written before the subtree of its last entry are all the subtrees of the entries before that.
    let last = index.saturating_add(1).checked_shl(level).unwrap_or(0).saturating_sub(1);
    let before = (0..u64::BITS).fold(0u64, |sum, shift| sum.saturating_add(last >> shift));
    before.saturating_add(u64::from(level))
}

/// Returns the number of subtrees that a log of `size` entries has completed.
pub fn positions(size: u64) -> u64 {
    position(0, size)
}

/// A complete subtree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Level of the subtree, which has `1 << level` entries.
    pub level: u32,
    /// Index of it in its level, counted from 0.
    pub index: u64,
}

impl Node {
    /// Its number: [`position`].
    pub fn position(self) -> u64 {
        position(self.level, self.index)
    }
}

/// The right edge of a log: all that is needed to append to it and to know its root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// The complete subtrees that make up the log, the largest first.
    subtrees: Vec<Digest>,
}

impl Frontier {
    /// The edge of a log of `size` entries, whose subtrees `read` knows.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(size: u64, mut read: impl FnMut(Node) -> Result<Digest, E>) -> Result<Self, E> {
        let subtrees = edge(0, size).into_iter().map(&mut read).collect::<Result<_, _>>()?;
        Ok(Self { size, subtrees })
    }

    /// The edge of a log of `size` entries from the hashes of its complete subtrees, the largest first, as a store may keep
    /// them. `None` where such a log has another number of them.
    pub fn from_subtrees(size: u64, subtrees: Vec<Digest>) -> Option<Self> {
        let is_as_many = u32::try_from(subtrees.len()).is_ok_and(|it| it == size.count_ones());
        is_as_many.then_some(Self { size, subtrees })
    }

    /// The hashes of the complete subtrees that make up the log, the largest first.
    pub fn subtrees(&self) -> &[Digest] {
        &self.subtrees
    }

    /// Returns the number of entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry, passing on the hash of each subtree that it completes, itself first: their
    /// positions are those that follow [`positions`] of the size before.
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

    /// The root of the log.
    pub fn root(&self) -> Digest {
        joined(self.subtrees.iter().copied())
    }
}

/// The proof that entry `index` is in the log of `size` entries (RFC 6962, section 2.1.1).
/// `None` where there is no such entry.
///
/// # Errors
/// Those of `read`, which gives the hash of a complete subtree.
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

/// The proof that the log of `old` entries is the beginning of the log of `size` entries (RFC 6962,
/// section 2.1.2). `None` where `old` is 0 or more than `size`; empty where they are equal.
///
/// # Errors
/// Those of `read`.
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
    // Whether the old log ends with the subtree that is looked at, and is not all of it from 0.
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

/// The hashes of ranges of entries, the last range first.
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

/// The complete subtrees that make up the entries from `start` to before `end`, the largest first.
/// `start` is a multiple of a power of two not below the number of entries.
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

/// Subtrees joined from the right, as they stand side by side.
fn joined(subtrees: impl DoubleEndedIterator<Item = Digest>) -> Digest {
    subtrees.rev().reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(empty_root)
}

/// The largest power of two below `count`, which is at least 2.
fn largest_power_below(count: u64) -> u64 {
    1 << count.saturating_sub(1).checked_ilog2().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// The hash of a list of entries, as RFC 6962, section 2.1, defines it.
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

    /// A log as it is kept: the hashes of complete subtrees in their order.
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

    /// AEC-8: a store can keep the edge of a log in one row.
    #[test]
    fn an_edge_is_rebuilt_from_its_subtrees() {
        for count in 0..40 {
            let (frontier, _) = kept(&entries(count));
            let subtrees = frontier.subtrees().to_vec();
            assert_eq!(Frontier::from_subtrees(count, subtrees.clone()), Some(frontier));
            let more = [subtrees, vec![Digest::of(b"one more")]].concat();
            assert_eq!(Frontier::from_subtrees(count, more), None);
        }
    }

    #[test]
    fn the_root_is_the_one_that_the_standard_defines_at_every_size() {
        for size in 0..130 {
            let entries = entries(size);
            let (frontier, nodes) = kept(&entries);
            assert_eq!(frontier.root(), defined(&entries), "{size}");
            assert_eq!(Frontier::read(size, reader(&nodes)), Ok(frontier), "{size}");
        }
    }

    /// The roots of the log of eight entries that certificate transparency publishes with its code.
    #[test]
    fn the_published_roots_come_out() {
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
    fn entries_and_subtrees_hashed_together_are_as_they_are_alone() {
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
    fn subtrees_are_numbered_and_proofs_made_as_another_implementation_does() {
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
    fn there_is_no_proof_about_what_is_not_there() {
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
