//! Errors of a value of a YAML file that cannot be replaced.

use actum_core::place::{Excerpt, Place};

use super::{YAML_BYTES_MAX, YamlProblem};
use crate::edit::json_path::PathProblem;

/// Reason why a value of a YAML file cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The file is too large.
    #[error("the file has {bytes} bytes, but YAML is edited up to {YAML_BYTES_MAX} only")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The result would be too large.
    #[error("the result would have more than {YAML_BYTES_MAX} bytes")]
    ResultTooLarge,
    /// A byte that belongs to no character.
    #[error(
        "YAML is edited as UTF-8, and the byte at line {}, column {} is not",
        place.line,
        place.column
    )]
    NotUtf8 {
        /// Place of the byte.
        place: Place,
    },
    /// The file is no YAML, or not one that all readers take alike.
    #[error("the file is not strict YAML: line {line}, column {column}: {problem}")]
    NotYaml {
        /// The line, counted from 1; 0 where it is not known.
        line: u64,
        /// The character in that line, counted from 1.
        column: u64,
        /// Problem at the place.
        #[source]
        problem: YamlProblem,
    },
    /// There is no such document.
    #[error("the file has no document {document}: it has {count}")]
    NoDocument {
        /// Number of the document, counted from 1.
        document: u32,
        /// Number of documents.
        count: usize,
    },
    /// Nothing is written in the document.
    #[error(
        "the document at line {}, column {} is empty, so there is no value to replace",
        place.line,
        place.column
    )]
    Empty {
        /// Start of the document.
        place: Place,
    },
    /// The path leads to no member of a mapping.
    #[error("`{way}` is no member of a mapping; only members are removed")]
    NoMember {
        /// The place.
        way: Excerpt,
    },
    /// The value to write is no JSON.
    #[error("the value to write is not JSON")]
    Value,
    /// The path does not lead to one place.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// The path leads through an alias.
    #[error(
        "the path leads through the alias `{alias}` at line {}, column {}: what it stands for is written \
         elsewhere, and is changed only there",
        place.line,
        place.column
    )]
    Alias {
        /// The alias.
        alias: Excerpt,
        /// Place of the alias.
        place: Place,
    },
    /// An alias elsewhere stands for the value, or for something in it or around it.
    #[error(
        "what the anchor `{anchor}` at line {}, column {} stands for would change, and the alias at line \
         {}, column {} refers to it",
        place.line,
        place.column,
        alias.line,
        alias.column
    )]
    Anchored {
        /// The anchor.
        anchor: Excerpt,
        /// Place of the anchor.
        place: Place,
        /// Place of the first alias.
        alias: Place,
    },
    /// The value has a tag.
    #[error(
        "the value at line {}, column {} has the tag `{tag}`, which says what it is; it is not written \
         over",
        place.line,
        place.column
    )]
    Tagged {
        /// The tag.
        tag: Excerpt,
        /// Place of the tag.
        place: Place,
    },
    /// A query looks at all names, and one is no string.
    #[error(
        "the name at line {}, column {} is no plain string, so it is not clear what the path means; give \
         a path of names and indices",
        place.line,
        place.column
    )]
    Name {
        /// Place of the name.
        place: Place,
    },
    /// The extent of a value is unclear.
    #[error(
        "it is not clear where the value at line {}, column {} begins or ends",
        place.line,
        place.column
    )]
    Unclear {
        /// Place of the value.
        place: Place,
    },
    /// The result is not the requested change.
    #[error("internal problem: the edit was made and taken back, since {problem}")]
    Unproven {
        /// Problem of the result.
        #[source]
        problem: YamlUnproven,
    },
}

/// Problem of an edit that was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlUnproven {
    /// The result is not YAML.
    #[error("its result is not strict YAML any more")]
    Syntax,
    /// The place is outside of the text.
    #[error("it reaches beyond the place")]
    Beyond,
    /// Something else has changed.
    #[error("`{way}` has changed as well")]
    Beside {
        /// The first such place.
        way: Excerpt,
    },
    /// A comment has changed.
    #[error("a comment has changed as well")]
    Comment,
    /// At the place is not what was asked for.
    #[error("what is at the place now is not what was asked for")]
    Place,
}

impl From<YamlUnproven> for YamlError {
    fn from(problem: YamlUnproven) -> Self {
        Self::Unproven { problem }
    }
}
