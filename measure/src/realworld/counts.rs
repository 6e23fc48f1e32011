//! Counts of the files in a change, by kind.

use super::change::{Change, Kind, text};
use super::format::Material;
use super::tree::Leaf;

/// Minimum size in bytes of a file that counts as large.
const LARGE_BYTES_MIN: usize = 1 << 20;

/// Number of files of each kind in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Moved files count only as renamed.
    pub(super) added: usize,
    pub(super) deleted: usize,
    pub(super) renamed: usize,
    /// Copies, which also count as added.
    pub(super) copied: usize,
    pub(super) modified: usize,
    /// Files that gain or lose the executable bit.
    pub(super) modes: usize,
    pub(super) binary: usize,
    pub(super) crlf: usize,
    pub(super) no_final_newline: usize,
    pub(super) not_utf8: usize,
    pub(super) large: usize,
    /// Files that can be executed.
    pub(super) executable: usize,
}

impl Counts {
    pub(super) fn new(material: &Material) -> Self {
        let (renamed, copied) = (material.found.moved.len(), material.found.copied);
        let mut counts = Self { renamed, copied, ..Self::default() };
        for change in &material.changes {
            counts.add(change);
        }
        counts.added -= counts.renamed.min(counts.added);
        counts.deleted -= counts.renamed.min(counts.deleted);
        counts
    }

    fn add(&mut self, change: &Change) {
        let leaves: Vec<&Leaf> = match &change.kind {
            Kind::Added { new } => {
                self.added += 1;
                vec![new]
            }
            Kind::Deleted { old } => {
                self.deleted += 1;
                vec![old]
            }
            Kind::Modified { old, new } => {
                self.modified += 1;
                self.modes += usize::from(old.is_executable() != new.is_executable());
                vec![old, new]
            }
        };
        let is_any = |what: fn(&Leaf) -> bool| usize::from(leaves.iter().any(|leaf| what(leaf)));
        self.binary += usize::from(change.is_binary());
        self.crlf += is_any(|leaf| leaf.content.windows(2).any(|pair| pair == b"\r\n"));
        self.no_final_newline += is_any(|leaf| leaf.content.last().is_some_and(|&b| b != b'\n'));
        self.not_utf8 += is_any(|leaf| text(leaf).is_none());
        self.large += is_any(|leaf| leaf.content.len() >= LARGE_BYTES_MIN);
        self.executable += is_any(Leaf::is_executable);
    }

    pub(super) fn sum(counts: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self::default();
        for one in counts {
            sum.added += one.added;
            sum.deleted += one.deleted;
            sum.renamed += one.renamed;
            sum.copied += one.copied;
            sum.modified += one.modified;
            sum.modes += one.modes;
            sum.binary += one.binary;
            sum.crlf += one.crlf;
            sum.no_final_newline += one.no_final_newline;
            sum.not_utf8 += one.not_utf8;
            sum.large += one.large;
            sum.executable += one.executable;
        }
        sum
    }

    /// Returns the count of each kind with its name.
    pub(super) fn kinds(&self) -> [(&'static str, usize); 12] {
        [
            ("added", self.added),
            ("deleted", self.deleted),
            ("renamed", self.renamed),
            ("copied", self.copied),
            ("modified", self.modified),
            ("with another mode", self.modes),
            ("executable", self.executable),
            ("binary", self.binary),
            ("not UTF-8", self.not_utf8),
            ("with CRLF", self.crlf),
            ("without a final newline", self.no_final_newline),
            ("of a MiB or more", self.large),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::testing::material;
    use super::*;

    #[test]
    fn every_kind_of_file_is_counted() {
        let old: &[(&str, &[u8], u32)] = &[
            ("from", b"1\r\n", 0o644),
            ("gone", b"\0", 0o644),
            ("mode", b"\n", 0o644),
            ("same", b"\xff", 0o644),
        ];
        let large = vec![b'a'; LARGE_BYTES_MIN];
        let new: &[(&str, &[u8], u32)] = &[
            ("mode", b"\n", 0o755),
            ("new", &large, 0o644),
            ("same", b"\xff", 0o644),
            ("to", b"1\r\n\xff", 0o644),
        ];
        let mut material = material(old, new, &[("from", "to")]);
        material.found.copied = 1;
        let counts = Counts::new(&material);
        let one = Counts {
            added: 1,
            deleted: 1,
            renamed: 1,
            copied: 1,
            modified: 1,
            modes: 1,
            binary: 1,
            crlf: 2,
            no_final_newline: 3,
            not_utf8: 1,
            large: 1,
            executable: 1,
        };
        assert_eq!(counts, one);
        assert_eq!(
            Counts::sum([one, one].into_iter()).kinds(),
            one.kinds().map(|(k, n)| (k, 2 * n))
        );
    }
}
