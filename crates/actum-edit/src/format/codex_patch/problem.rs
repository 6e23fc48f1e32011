//! Errors for invalid Codex patches.

use actum_core::RelPath;
use actum_core::place::Excerpt;

use super::ANCHORS_MAX;

/// Reason why a Codex patch is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodexProblem {
    /// The input has no `*** Begin Patch` line.
    #[error("the input is not a Codex patch: it has no `*** Begin Patch` line")]
    NoBegin,
    /// The input has no `*** End Patch` line.
    #[error("the patch is incomplete: it has no `*** End Patch` line; pass the whole patch")]
    NoEnd,
    /// The patch has no sections.
    #[error("the patch is empty: there is nothing between `*** Begin Patch` and `*** End Patch`")]
    NoSection,
    /// The input contains a second patch.
    #[error("a second patch begins here; combine all sections in one patch")]
    Second,
    /// A section header is outside the patch.
    #[error("`{found}` is outside the lines `*** Begin Patch` and `*** End Patch`")]
    Outside {
        /// Section header.
        found: Excerpt,
    },
    /// The input contains a change in another format.
    #[error(
        "`{found}` belongs to a change in another format; pass it and the Codex patch as separate inputs"
    )]
    Mixed {
        /// First line of the other change.
        found: Excerpt,
    },
    /// A chunk has too many `@@` lines.
    #[error("a chunk has more than {ANCHORS_MAX} `@@` lines")]
    TooManyAnchors,
    /// A marker line ends with CRLF.
    #[error(
        "the line ends with CRLF, so the line endings of the patch were converted; pass the patch with \
         its original line endings"
    )]
    CarriageReturn,
    /// The patch contains a unified diff.
    #[error(
        "`{found}` belongs to a unified diff, not to a Codex patch; pass only the diff, without \
         `*** Begin Patch` and `*** End Patch`"
    )]
    Diff {
        /// First line of the diff.
        found: Excerpt,
    },
    /// A chunk begins with the hunk header of a unified diff.
    #[error(
        "`@@ {found}` is the hunk header of a unified diff; in a Codex patch, `@@` is followed by a line \
         of the file or by nothing"
    )]
    HunkHeader {
        /// Text after `@@`.
        found: Excerpt,
    },
    /// A line cannot occur at its position in the patch.
    #[error(
        "`{found}` is neither a section header (`*** Add File: `, `*** Delete File: ` or \
         `*** Update File: `), nor `*** End Patch`, nor a line of a chunk, which starts with `@@`, ` `, \
         `-` or `+`"
    )]
    Unexpected {
        /// Unexpected line.
        found: Excerpt,
    },
    /// Two sections change the same path.
    #[error("`{path}` is changed by two sections, here and at line {first}; merge them")]
    SamePath {
        /// Path that both sections name.
        path: RelPath,
        /// Line at which the first section starts.
        first: u64,
    },
    /// A section has no effect.
    #[error("the section for `{path}` changes nothing; complete it or remove it")]
    ChangesNothing {
        /// File that the section names.
        path: RelPath,
    },
    /// A chunk has only context lines.
    #[error("this chunk has no `-` or `+` lines, so it changes nothing")]
    ChunkChangesNothing,
}
