//! Errors for invalid JSON inputs.

use std::fmt;

use actum_core::RelPath;
use actum_core::digest::DigestError;
use actum_core::json::{ShapeProblem, SyntaxProblem};
use actum_core::place::Excerpt;

use crate::edit::json_patch::PointerError;
use crate::format::Format;

/// Reason why a JSON input is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentProblem {
    /// The input is not valid JSON.
    #[error("invalid JSON: {0}")]
    Syntax(#[source] SyntaxProblem),
    /// A field or value does not match the format.
    #[error(transparent)]
    Shape(ShapeProblem),
    /// The input is an empty array.
    #[error("the array is empty, so there is nothing to change")]
    EmptyArray,
    /// The fields of the input do not identify any format.
    #[error(
        "the JSON is not in a known format: it has {}, but {}{}",
        Found(found),
        Format::signs_in_json(),
        Suggestions(suggestions)
    )]
    NoFormat {
        /// Fields of the input, or of the elements of its array.
        found: Vec<Excerpt>,
        /// Known fields that are similar to one of them, as suggestions.
        suggestions: Vec<&'static str>,
    },
    /// The input has fields of several formats.
    #[error(
        "the JSON mixes formats: {}; put edits and whole files in one array, and pass other formats as separate \
         inputs",
        Marks(marks)
    )]
    Mixed {
        /// Each format with one of its fields that the input has.
        marks: Vec<(Format, &'static str)>,
    },
    /// The value of `expected_prev_sha256` is not a digest.
    #[error("invalid `expected_prev_sha256`: {source}")]
    Digest {
        /// Reason why the value is not a digest.
        source: DigestError,
    },
    /// A digest is given with an edit that is not the first change of its file.
    #[error(
        "`{path}` is changed earlier in the input, so `expected_prev_sha256` is ambiguous; give it with \
         the first edit of the file"
    )]
    LateDigest {
        /// File that the edit changes.
        path: RelPath,
    },
    /// The whole content of a file is given after an edit of the file.
    #[error(
        "`{path}` is changed earlier in the input, and its whole content would discard that change; remove one of them"
    )]
    WholeAfterEdit {
        /// File that is changed twice.
        path: RelPath,
    },
    /// Hunks change a file that is changed earlier in the input.
    #[error(
        "`{path}` is changed earlier in the input, so the line numbers of its hunks are ambiguous; pass the hunks \
         as a separate input"
    )]
    LateHunks {
        /// File that the hunks change.
        path: RelPath,
    },
    /// No target file is given for a bare JSON Patch.
    #[error(
        "a bare JSON Patch does not say which file it changes: name the file, or write \
         `{{\"path\": …, \"json_patch\": […]}}`"
    )]
    NoTarget,
    /// A target file is given, but the JSON Patch names its file itself.
    #[error("the JSON Patch already names its file, so no other target file can be given")]
    TargetBesidePath,
    /// The name of a JSON Patch operation is unknown.
    #[error(
        "`{found}` is not a JSON Patch operation; expected `add`, `remove`, `replace`, `move`, \
         `copy` or `test`"
    )]
    UnknownOperation {
        /// Unknown name.
        found: Excerpt,
    },
    /// A path in a JSON Patch is not a valid JSON Pointer.
    #[error(transparent)]
    Pointer(PointerError),
    /// The whole content of a file is given more than once.
    #[error("the file `{path}` appears more than once")]
    DoubledFile {
        /// Repeated file.
        path: RelPath,
    },
    /// A file has neither `content` nor `content_base64`.
    #[error(
        "the content of `{path}` is missing; give `content` (`null` to delete the file) or \
         `content_base64`"
    )]
    NoContent {
        /// File without content.
        path: RelPath,
    },
    /// A file has both `content` and `content_base64`.
    #[error("`{path}` has both `content` and `content_base64`; give one of them")]
    TwoContents {
        /// File with two contents.
        path: RelPath,
    },
    /// The value of `content_base64` is not valid base64.
    #[error(
        "`content_base64` is not valid base64 (RFC 4648, section 4, with padding and without line breaks)"
    )]
    Base64,
    /// The field `executable` is given for a deleted file.
    #[error("`{path}` is deleted, so `executable` cannot be set")]
    DeletedExecutable {
        /// Deleted file.
        path: RelPath,
    },
}

/// Maximum number of fields that the error for an unknown format lists.
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

/// Writes suggestions of known fields at the end of a message.
struct Suggestions<'a>(&'a [&'static str]);

impl fmt::Display for Suggestions<'_> {
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
