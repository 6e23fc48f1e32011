//! Errors of YAML edits that cannot be applied.

use actum_core::place::{Excerpt, Place};

use super::{YAML_BYTES_MAX, YamlProblem};
use crate::edit::json_path::PathProblem;

/// Reason why a value in a YAML file cannot be added, replaced or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The file is larger than [`YAML_BYTES_MAX`].
    #[error("the file has {bytes} bytes, but a YAML file may have at most {YAML_BYTES_MAX} bytes")]
    TooLarge {
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The edited file would be larger than [`YAML_BYTES_MAX`].
    #[error("the result would have more than {YAML_BYTES_MAX} bytes")]
    ResultTooLarge,
    /// The file is not valid UTF-8.
    #[error(
        "YAML must be UTF-8, but the byte at line {}, column {} is invalid",
        place.line,
        place.column
    )]
    NotUtf8 {
        /// Position of the first invalid byte.
        place: Place,
    },
    /// The file is not valid YAML, or parsers could disagree about its content.
    #[error("the file is not valid YAML: line {line}, column {column}: {problem}")]
    NotYaml {
        /// Line number, counted from 1. It is 0 if the parser does not report a position.
        line: u64,
        /// Column in characters, counted from 1.
        column: u64,
        /// Syntax error at this position.
        #[source]
        problem: YamlProblem,
    },
    /// The file has fewer documents than the given number.
    #[error("document {document} does not exist (number of documents in the file: {count})")]
    NoDocument {
        /// Given document number, counted from 1.
        document: u32,
        /// Number of documents in the file.
        count: usize,
    },
    /// The document is empty.
    #[error(
        "the document at line {}, column {} is empty, so there is no value to replace",
        place.line,
        place.column
    )]
    Empty {
        /// Position at which the document starts.
        place: Place,
    },
    /// The path of a removal does not select a member of a mapping.
    #[error("cannot remove `{way}`: it is not a member of a mapping")]
    NoMember {
        /// Path of the selected node.
        way: Excerpt,
    },
    /// The new value is not valid JSON.
    #[error("the new value is not valid JSON")]
    Value,
    /// The path does not select exactly one node.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// The path leads through an alias, whose value is defined at its anchor.
    #[error(
        "the path leads through the alias `{alias}` at line {}, column {}; edit the value at its anchor \
         instead",
        place.line,
        place.column
    )]
    Alias {
        /// Text of the alias.
        alias: Excerpt,
        /// Position of the alias.
        place: Place,
    },
    /// The edit would change an anchored value that an alias refers to.
    #[error(
        "the edit would change the value of the anchor `{anchor}` at line {}, column {}, which the alias \
         at line {}, column {} refers to",
        place.line,
        place.column,
        alias.line,
        alias.column
    )]
    Anchored {
        /// Text of the anchor.
        anchor: Excerpt,
        /// Position of the anchor.
        place: Place,
        /// Position of the first alias that refers to the anchor.
        alias: Place,
    },
    /// The value to replace has a tag.
    #[error(
        "the value at line {}, column {} has the tag `{tag}`; values with a tag cannot be replaced",
        place.line,
        place.column
    )]
    Tagged {
        /// Text of the tag.
        tag: Excerpt,
        /// Position of the tag.
        place: Place,
    },
    /// A mapping has a key that is not a plain string, so the path is ambiguous.
    #[error(
        "the key at line {}, column {} is not a plain string, so the path is ambiguous; use a path of \
         names and indices",
        place.line,
        place.column
    )]
    Name {
        /// Position of the key.
        place: Place,
    },
    /// The byte range of a value cannot be determined.
    #[error(
        "cannot determine where the value at line {}, column {} begins or ends",
        place.line,
        place.column
    )]
    Unclear {
        /// Position of the value.
        place: Place,
    },
    /// The final check of the computed result failed, so the edit was discarded.
    #[error("internal error: the computed edit was discarded because {problem}")]
    Unproven {
        /// Problem that the check found.
        #[source]
        problem: YamlUnproven,
    },
}

/// Problem that the final check of a computed YAML edit found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlUnproven {
    /// The result is not valid YAML.
    #[error("the result is not valid YAML")]
    Syntax,
    /// The edit affects text outside its target.
    #[error("it affects text outside the target")]
    Beyond,
    /// A node other than the target would change.
    #[error("`{way}` would change as well")]
    Beside {
        /// Path of the first other node that would change.
        way: Excerpt,
    },
    /// A comment outside the target would change.
    #[error("a comment would change as well")]
    Comment,
    /// The target would not have the requested value.
    #[error("the target does not match the request")]
    Place,
}

impl From<YamlUnproven> for YamlError {
    fn from(problem: YamlUnproven) -> Self {
        Self::Unproven { problem }
    }
}
