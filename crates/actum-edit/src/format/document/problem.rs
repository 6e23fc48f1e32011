//! Errors of an input in JSON that is refused.

use std::fmt;

use actum_core::RelPath;
use actum_core::digest::DigestError;
use actum_core::json::{ShapeProblem, SyntaxProblem};
use actum_core::place::Excerpt;

use crate::edit::json_patch::PointerError;
use crate::format::Format;

/// Problem of an input in JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentProblem {
    /// The input is not JSON.
    #[error("the JSON is not sound: {0}")]
    Syntax(#[source] SyntaxProblem),
    /// A value or field is not as the format asks for.
    #[error(transparent)]
    Shape(ShapeProblem),
    /// The input is an empty array.
    #[error("the array is empty, so there is nothing to change")]
    EmptyArray,
    /// The input has the fields of no format.
    #[error(
        "the JSON is in no known format: it has {}; so it is {}{}",
        Found(found),
        Format::signs_in_json(),
        Meant(meant)
    )]
    NoFormat {
        /// Its fields, or those of its elements.
        found: Vec<Excerpt>,
        /// Fields of formats that are almost the same as one of them.
        meant: Vec<&'static str>,
    },
    /// The input has the fields of several formats.
    #[error(
        "the JSON mixes formats: {}; give one list of edits and whole files, and make other formats inputs of their \
         own",
        Marks(marks)
    )]
    Mixed {
        /// A field of each format that it has.
        marks: Vec<(Format, &'static str)>,
    },
    /// `expected_prev_sha256` is not a digest.
    #[error("`expected_prev_sha256` cannot be used: {source}")]
    Digest {
        /// Problem of the digest.
        source: DigestError,
    },
    /// A digest is expected by a later edit of a file.
    #[error(
        "`{path}` is edited before, so it is not clear which content `expected_prev_sha256` \
         means; give it with the first edit of the file"
    )]
    LateDigest {
        /// The file.
        path: RelPath,
    },
    /// A file is given whole after it was changed.
    #[error(
        "`{path}` is changed before, and its whole content would discard that change; leave out one of them"
    )]
    WholeAfterEdit {
        /// The file.
        path: RelPath,
    },
    /// Hunks change a file that an earlier document changes.
    #[error(
        "`{path}` is changed before, so it is not clear which content the line numbers of its hunks mean; give the \
         hunks in an input of their own"
    )]
    LateHunks {
        /// The file.
        path: RelPath,
    },
    /// A JSON Patch has no file.
    #[error(
        "a bare JSON Patch does not say which file it changes: name the file, or write \
         `{{\"path\": …, \"json_patch\": […]}}`"
    )]
    NoTarget,
    /// A JSON Patch has two files.
    #[error("the input names the file of its JSON Patch itself, so no other can be named")]
    TargetBesidePath,
    /// An operation of a JSON Patch has a name that means nothing.
    #[error(
        "`{found}` is no operation of a JSON Patch; there are `add`, `remove`, `replace`, `move`, \
         `copy`, `test`"
    )]
    UnknownOperation {
        /// The name.
        found: Excerpt,
    },
    /// A path in a JSON Patch is no pointer.
    #[error(transparent)]
    Pointer(PointerError),
    /// A file is given whole more than once.
    #[error("the file `{path}` stands here a second time")]
    DoubledFile {
        /// The file.
        path: RelPath,
    },
    /// A file has no content.
    #[error(
        "the content of `{path}` is missing; give `content`, which is `null` to delete the file, \
         or `content_base64`"
    )]
    NoContent {
        /// The file.
        path: RelPath,
    },
    /// A file has two contents.
    #[error("`{path}` has both `content` and `content_base64`; give one of them")]
    TwoContents {
        /// The file.
        path: RelPath,
    },
    /// A content is not base64.
    #[error(
        "`content_base64` is not base64 (RFC 4648, section 4, with padding and without line ends)"
    )]
    Base64,
    /// A file is deleted and made executable.
    #[error("`{path}` is deleted, so `executable` has no meaning")]
    DeletedExecutable {
        /// The file.
        path: RelPath,
    },
}

/// Fields of an input in no format that an error names at most.
const NAMED_MAX: usize = 8;

struct Found<'a>(&'a [Excerpt]);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => return f.write_str("no fields"),
            [_] => f.write_str("the field ")?,
            _ => f.write_str("the fields ")?,
        }
        for (index, name) in self.0.iter().take(NAMED_MAX).enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
        }
        if self.0.len() > NAMED_MAX { f.write_str(", …") } else { Ok(()) }
    }
}

/// Suggestions of known fields, as the end of a message.
struct Meant<'a>(&'a [&'static str]);

impl fmt::Display for Meant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "; did you mean " } else { ", " })?;
        }
        if self.0.is_empty() { Ok(()) } else { f.write_str("?") }
    }
}

struct Marks<'a>(&'a [(Format, &'static str)]);

impl fmt::Display for Marks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (format, field)) in self.0.iter().enumerate() {
            write!(f, "{}`{field}` belongs to {format}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
