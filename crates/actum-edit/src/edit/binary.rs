//! Binary patches of git, which replace the entire content of a file. The old and the new content are identified by their git
//! blob ids (see `apply_binary` in git's `apply.c`).

mod blob_id;
mod delta;

pub use blob_id::BlobId;
pub(crate) use delta::Delta;
pub use delta::DeltaError;

use serde::{Deserialize, Serialize};

use crate::Splice;

/// Replaces the content that has one git blob id with the content that has another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryEdit {
    /// Blob id that the file must have before the edit.
    pub before: BlobId,
    /// Blob id that the file has after the edit.
    pub after: BlobId,
    /// New content, or the difference from the old content.
    pub change: BinaryChange,
}

/// Form in which a binary patch contains the new content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BinaryChange {
    /// The complete new content.
    Literal(#[serde(with = "crate::byte_text")] Vec<u8>),
    /// A delta of git, which combines copies from the old content with new bytes (gitformat-pack(5), "Deltified
    /// representation").
    Delta(#[serde(with = "crate::byte_text")] Vec<u8>),
}

/// Reason why a binary patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// The file has a different content than the one that the patch was made for.
    #[error("the file has the git blob id `{found}`, but the binary patch expects `{expected}`")]
    WrongBefore {
        /// Blob id of the content that the patch was made for.
        expected: BlobId,
        /// Blob id of the file.
        found: BlobId,
    },
    /// The file already has the content that the patch produces.
    #[error("the file already has the content that the binary patch produces (blob id `{id}`)")]
    AlreadyMade {
        /// Blob id of the file.
        id: BlobId,
    },
    /// The patch produces a different content than it declares.
    #[error("the binary patch produces the blob id `{found}`, but declares `{expected}`")]
    WrongAfter {
        /// Blob id of the new content that the patch declares.
        expected: BlobId,
        /// Blob id of the content that the patch produces.
        found: BlobId,
    },
    /// The delta is invalid, or does not match the file.
    #[error("the binary patch cannot be applied: {0}")]
    Delta(#[from] DeltaError),
}

impl BinaryEdit {
    /// Returns the splice that applies the patch to `content`.
    ///
    /// # Errors
    /// Returns a [`BinaryError`] if `content` or the produced content does not have the expected blob id.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, BinaryError> {
        let Self { before, after, change } = self;
        let found = before.of_same_kind(content);
        if found != *before {
            return Err(if found == *after {
                BinaryError::AlreadyMade { id: found }
            } else {
                BinaryError::WrongBefore { expected: *before, found }
            });
        }
        let made;
        let new = match change {
            BinaryChange::Literal(new) => new,
            BinaryChange::Delta(bytes) => {
                made = Delta::new(bytes)?.apply(content)?;
                &made
            }
        };
        let found = after.of_same_kind(new);
        if found != *after {
            return Err(BinaryError::WrongAfter { expected: *after, found });
        }
        Ok(Splice::between(content, new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"a\0b";
    const NEW: &[u8] = b"a\0c";

    fn id(content: &[u8]) -> BlobId {
        BlobId::parse(&[b'0'; 40]).unwrap().of_same_kind(content)
    }

    fn edit(change: BinaryChange) -> BinaryEdit {
        BinaryEdit { before: id(OLD), after: id(NEW), change }
    }

    fn message(edit: &BinaryEdit, content: &[u8]) -> String {
        edit.splices(content).unwrap_err().to_string()
    }

    /// FO-10
    #[test]
    fn literal_and_delta_changes_replace_the_content() {
        let splice = Splice { offset: 2, old: b"b".to_vec(), new: b"c".to_vec() };
        let literal = BinaryChange::Literal(NEW.to_vec());
        assert_eq!(edit(literal).splices(OLD), Ok(vec![splice.clone()]));
        let delta = BinaryChange::Delta(b"\x03\x03\x90\x02\x01c".to_vec());
        assert_eq!(edit(delta).splices(OLD), Ok(vec![splice]));
    }

    /// FO-6, FO-10
    #[test]
    fn content_with_a_different_blob_id_is_refused() {
        let edit = edit(BinaryChange::Literal(NEW.to_vec()));
        assert_eq!(
            message(&edit, b"other"),
            format!(
                "the file has the git blob id `{}`, but the binary patch expects \
                 `20b5be91886d0b6f26dc98a225c0dac05fe2c86e`",
                id(b"other")
            )
        );
        assert_eq!(
            message(&edit, NEW),
            "the file already has the content that the binary patch produces (blob id \
             `88f37001cec36655decf891d4244853aaa51a00a`)"
        );
    }

    /// FO-10
    #[test]
    fn result_with_a_different_blob_id_is_refused() {
        let found = id(b"a\0d");
        for change in [
            BinaryChange::Literal(b"a\0d".to_vec()),
            BinaryChange::Delta(b"\x03\x03\x90\x02\x01d".to_vec()),
        ] {
            let error = BinaryError::WrongAfter { expected: id(NEW), found };
            assert_eq!(edit(change).splices(OLD), Err(error));
        }
    }

    #[test]
    fn delta_for_a_different_base_size_is_refused() {
        assert_eq!(
            message(&edit(BinaryChange::Delta(b"\x02\x03\x90\x02\x01c".to_vec())), OLD),
            "the binary patch cannot be applied: the delta expects a base of 2 bytes, but the file \
             has 3"
        );
    }
}
