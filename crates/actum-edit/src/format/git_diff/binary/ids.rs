//! Parses the object ids of the old and the new content, which a binary patch must give in full length.

use actum_core::RelPath;
use actum_core::place::Place;

use super::problem::{BinaryProblem, Side};
use crate::edit::BlobId;
use crate::format::ParseError;
use crate::format::git_diff::lines::Text;

/// Object ids of the old and the new content of a binary patch.
///
/// INVARIANT: the ids differ and use the same hash algorithm. An id is zero exactly if the file does not exist on its side.
#[derive(Clone, Copy)]
pub(super) struct Ids {
    pub(super) old: BlobId,
    pub(super) new: BlobId,
}

impl Ids {
    /// Parses the text after `index ` in the header of a section and checks it against `sides`, the paths of the old and
    /// the new file. `place` is the position of the binary patch, for errors without an `index` line.
    pub(super) fn read(
        index: Option<Text<'_>>,
        place: Place,
        sides: (Option<&RelPath>, Option<&RelPath>),
    ) -> Result<Self, ParseError> {
        let place = index.map_or(place, |index| index.place);
        let refused = |problem| Err(ParseError::binary(place, problem));
        let Some(ids) = index.and_then(|index| Self::parse(index.bytes)) else {
            return refused(BinaryProblem::Index);
        };
        if ids.old == ids.new {
            return refused(BinaryProblem::SameId { id: ids.old });
        }
        for (side, id, file) in [(Side::Old, ids.old, sides.0), (Side::New, ids.new, sides.1)] {
            match file {
                Some(_) if id.is_zero() => return refused(BinaryProblem::ZeroId { side }),
                None if !id.is_zero() => return refused(BinaryProblem::IdOfNoFile { side, id }),
                Some(_) | None => {}
            }
        }
        Ok(ids)
    }

    /// Parses `OLD..NEW` or `OLD..NEW MODE`. Returns `None` unless both ids have full length and use the same hash algorithm.
    fn parse(index: &[u8]) -> Option<Self> {
        let ids = index.split(|&b| b == b' ').next()?;
        let (old, new) = ids.split_at_checked(memchr::memmem::find(ids, b"..")?)?;
        let (old, new) = (BlobId::parse(old)?, BlobId::parse(new.strip_prefix(b"..")?)?);
        match (old, new) {
            (BlobId::Sha1(_), BlobId::Sha1(_)) | (BlobId::Sha256(_), BlobId::Sha256(_)) => {
                Some(Self { old, new })
            }
            (BlobId::Sha1(_), BlobId::Sha256(_)) | (BlobId::Sha256(_), BlobId::Sha1(_)) => None,
        }
    }
}
