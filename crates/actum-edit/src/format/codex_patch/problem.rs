//! Errors of a Codex patch that is refused.

use actum_core::RelPath;
use actum_core::place::Excerpt;

use super::ANCHORS_MAX;

/// Problem of a Codex patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodexProblem {
    /// The beginning of the patch is missing.
    #[error("the input is no Codex patch: no line is `*** Begin Patch`")]
    NoBegin,
    /// The end of the patch is missing.
    #[error("the patch is cut off: no line is `*** End Patch`; give all of it")]
    NoEnd,
    /// The patch changes no file.
    #[error("the patch is empty: nothing stands between `*** Begin Patch` and `*** End Patch`")]
    NoSection,
    /// There are two patches.
    #[error("a second patch begins here; put all sections into one")]
    Second,
    /// A section stands outside of the patch.
    #[error("`{found}` stands outside of `*** Begin Patch` and `*** End Patch`")]
    Outside {
        /// The line.
        found: Excerpt,
    },
    /// The input has another change beside the patch.
    #[error(
        "`{found}` is a change in another format, beside a Codex patch; make each an input of its own"
    )]
    Mixed {
        /// The line.
        found: Excerpt,
    },
    /// A chunk has too many `@@` lines.
    #[error("a chunk has more than {ANCHORS_MAX} `@@` lines")]
    TooManyAnchors,
    /// A line ends in CRLF.
    #[error(
        "the line ends with CRLF, so the line ends of the patch were converted after it was made; \
         give it as it was made"
    )]
    CarriageReturn,
    /// The body of the patch is a diff.
    #[error(
        "`{found}` belongs to a unified diff, not to a Codex patch; give the diff alone, without \
         `*** Begin Patch` and `*** End Patch`"
    )]
    Diff {
        /// The line.
        found: Excerpt,
    },
    /// A chunk begins as a hunk of a diff does.
    #[error(
        "`@@ {found}` is the hunk header of a unified diff; in a Codex patch a line of the file \
         follows `@@`, or nothing"
    )]
    HunkHeader {
        /// Text behind `@@`.
        found: Excerpt,
    },
    /// A line has no meaning where it is.
    #[error(
        "`{found}` is neither a section (`*** Add File: `, `*** Delete File: `, \
         `*** Update File: `), nor the end (`*** End Patch`), nor a line of a chunk, which starts \
         with `@@`, ` `, `-` or `+`"
    )]
    Unexpected {
        /// The line.
        found: Excerpt,
    },
    /// A path is changed by two sections.
    #[error("`{path}` is changed by two sections, here and at line {first}; merge them")]
    SamePath {
        /// The path.
        path: RelPath,
        /// Line at which the other section starts.
        first: u64,
    },
    /// A section changes nothing.
    #[error("the section of `{path}` changes nothing; complete it or leave it out")]
    ChangesNothing {
        /// The file.
        path: RelPath,
    },
    /// A chunk changes nothing.
    #[error("this chunk has neither a line with `-` nor one with `+`, so it changes nothing")]
    ChunkChangesNothing,
}
