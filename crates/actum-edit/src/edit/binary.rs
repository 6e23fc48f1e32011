//! A change of a whole content to another, each known by the id git gives it: what a binary patch
//! of git means (git's `apply.c`, `apply_binary`).

mod blob_id;
mod delta;

pub use blob_id::BlobId;
pub(crate) use delta::Delta;
pub use delta::DeltaError;

use serde::{Deserialize, Serialize};

use crate::Splice;

/// Turns the content with one id into the content with another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryEdit {
    /// The id of the content it starts from.
    pub before: BlobId,
    /// The id of the content it leads to.
    pub after: BlobId,
    /// Change that leads from one to the other.
    pub change: BinaryChange,
}

/// Form in which a content is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BinaryChange {
    /// Whole.
    Literal(#[serde(with = "crate::byte_text")] Vec<u8>),
    /// By copies out of the old content and new bytes between them (gitformat-pack(5), "Deltified
    /// representation").
    Delta(#[serde(with = "crate::byte_text")] Vec<u8>),
}

/// Reason why a binary edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// The content is not the one the edit was made for.
    #[error("the file has the id `{found}` in git, but the binary patch was made for `{expected}`")]
    WrongBefore {
        /// The id it should have.
        expected: BlobId,
        /// The id it has.
        found: BlobId,
    },
    /// The content is the one the edit leads to.
    #[error("the file has the content already that the binary patch leads to, with the id `{id}`")]
    AlreadyMade {
        /// Its id.
        id: BlobId,
    },
    /// The edit leads to another content than it says.
    #[error("the binary patch makes the id `{found}`, but says that it makes `{expected}`")]
    WrongAfter {
        /// The id it should lead to.
        expected: BlobId,
        /// The id it leads to.
        found: BlobId,
    },
    /// The delta is not sound.
    #[error("the binary patch cannot be used: {0}")]
    Delta(#[from] DeltaError),
}

impl BinaryEdit {
    /// The splice that makes it.
    ///
    /// # Errors
    /// [`BinaryError`].
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
    fn a_content_is_replaced_by_a_whole_one_or_by_what_a_delta_makes_of_it() {
        let splice = Splice { offset: 2, old: b"b".to_vec(), new: b"c".to_vec() };
        let literal = BinaryChange::Literal(NEW.to_vec());
        assert_eq!(edit(literal).splices(OLD), Ok(vec![splice.clone()]));
        let delta = BinaryChange::Delta(b"\x03\x03\x90\x02\x01c".to_vec());
        assert_eq!(edit(delta).splices(OLD), Ok(vec![splice]));
    }

    /// FO-6, FO-10
    #[test]
    fn a_content_with_another_id_is_left_alone() {
        let edit = edit(BinaryChange::Literal(NEW.to_vec()));
        assert_eq!(
            message(&edit, b"other"),
            format!(
                "the file has the id `{}` in git, but the binary patch was made for \
                 `20b5be91886d0b6f26dc98a225c0dac05fe2c86e`",
                id(b"other")
            )
        );
        assert_eq!(
            message(&edit, NEW),
            "the file has the content already that the binary patch leads to, with the id \
             `88f37001cec36655decf891d4244853aaa51a00a`"
        );
    }

    /// FO-10
    #[test]
    fn a_result_with_another_id_is_refused() {
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
    fn a_delta_that_is_not_sound_is_refused() {
        assert_eq!(
            message(&edit(BinaryChange::Delta(b"\x02\x03\x90\x02\x01c".to_vec())), OLD),
            "the binary patch cannot be used: the delta starts from a content of 2 bytes, but there \
             are 3"
        );
    }
}
