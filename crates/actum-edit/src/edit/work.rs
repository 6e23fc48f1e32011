//! Limits the total amount of data that the edits of a change read.

use super::{Edit, EditError};

/// Maximum number of bytes that the edits of one change may read in total: 8 GiB. Every search reads its whole file.
pub const EDIT_WORK_MAX: u64 = 8 << 30;

/// Number of edits in a change so far, and number of bytes that they read.
///
/// Each edit searches and rewrites its whole file. Without a limit, a short list of edits to a large file could run for
/// hours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditWork {
    edits: u64,
    bytes: u64,
}

impl EditWork {
    /// Adds `edits` searches of a file of `file_bytes` bytes to the total.
    ///
    /// # Errors
    /// Returns [`EditError::TooMuch`] if the total exceeds [`EDIT_WORK_MAX`].
    pub fn add(&mut self, edits: u64, file_bytes: u64) -> Result<(), EditError> {
        self.edits = self.edits.saturating_add(edits);
        self.bytes = self.bytes.saturating_add(edits.saturating_mul(file_bytes));
        if self.bytes > EDIT_WORK_MAX {
            return Err(EditError::TooMuch { edits: self.edits, bytes: self.bytes });
        }
        Ok(())
    }
}

impl Edit {
    /// Returns the maximum number of times that the edit reads its file.
    pub fn searches(&self) -> u64 {
        match self {
            Self::Chunks(chunks) => {
                chunks.iter().map(|chunk| 1 + actum_core::count(chunk.anchors.len())).sum()
            }
            Self::Replace(_)
            | Self::Binary(_)
            | Self::Json(_)
            | Self::LineInsert(_)
            | Self::LineDelete(_)
            | Self::JsonValue(_)
            | Self::Yaml(_)
            | Self::YamlRemove(_) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Chunk;

    /// Issue 22 (claims)
    #[test]
    fn edits_that_read_too_much_in_total_are_rejected() {
        let mut work = EditWork::default();
        for _ in 0..80 {
            assert_eq!(work.add(1, 100 << 20), Ok(()));
        }
        assert_eq!(work.add(1, 100 << 20), Ok(()));
        let error = work.add(1, 100 << 20).unwrap_err();
        assert_eq!(
            error.to_string(),
            "82 edits that read 8598323200 bytes in total exceed the work limit; split the change"
        );
        assert!(EditWork::default().add(u64::MAX, u64::MAX).is_err());
    }

    /// Issue 22 (claims)
    #[test]
    fn each_chunk_and_each_anchor_counts_as_a_search() {
        let chunk = |anchors: &[&str]| Chunk {
            anchors: anchors.iter().map(|anchor| anchor.as_bytes().to_vec()).collect(),
            lines: Vec::new(),
            at_end: false,
        };
        assert_eq!(Edit::Chunks(vec![chunk(&[]), chunk(&["a", "b"])]).searches(), 4);
    }
}
