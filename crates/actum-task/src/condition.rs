//! Conditions on files before and after an action, and after an entire run (EX-12).

use actum_core::place::Excerpt;
use actum_core::{Digest, RelPath};
use actum_document::reader::text;
use actum_document::{Branch, Characters, Form, Member, ObjectSchema, Others, Tagged, Text};

use super::limits::{CONTENT_CHARS_MAX, PATH_CHARS_MAX};
use super::reader::{self, Fields};

/// Condition that a single file must meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Path of the file. In a condition of an action, it can be omitted and is then the action's target. In a
    /// postcondition of a rename, it is then the new path.
    pub path: RelPath,
    /// Requirement that the file must meet.
    pub check: Check,
}

/// Requirement on a file. This set is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// The path is a regular file.
    Exists,
    /// The path does not exist.
    Absent,
    /// The content of the file has this SHA-256.
    Sha256(Digest),
    /// The file contains the text at least once, byte for byte.
    Contains(String),
    /// The file exists and does not contain the text.
    Lacks(String),
}

const PATH: Form = Form::Text(PATH_TEXT);
pub(super) const PATH_TEXT: Text = Text::filled(PATH_CHARS_MAX, Characters::Path);
pub(super) const DIGEST: Form =
    Form::Text(Text { chars_min: 64, chars_max: 64, characters: Characters::Digest, taken: &[] });
const SOUGHT: Form = Form::Text(Text::filled(CONTENT_CHARS_MAX, Characters::Any));
const WORDS: &[&str] = &["exists", "absent", "sha256", "contains", "lacks"];

const fn tag(word: &'static [&'static str]) -> Member {
    Member::required("type", Form::Word(word), "Type of the condition.")
}

const OPTIONAL_PATH: Member = Member::optional(
    "path",
    PATH,
    "Path of the file. The default is the target of the action, or its new path in a postcondition of FILE_RENAME.",
);
const REQUIRED_PATH: Member = Member::required("path", PATH, "Path of the file.");
const SHA256: Member =
    Member::required("sha256", DIGEST, "Required SHA-256 of the content of the file.");
const CONTAINED: Member =
    Member::required("text", SOUGHT, "Text that the file must contain, byte for byte.");
const LACKING: Member = Member::required("text", SOUGHT, "Text that the file must not contain.");

const fn condition(
    name: &'static str,
    about: &'static str,
    members: &'static [Member],
) -> ObjectSchema {
    ObjectSchema { name, about, others: Others::Refused, members }
}

const EXISTS_ABOUT: &str = "The path is a regular file.";
const ABSENT_ABOUT: &str = "The path does not exist.";
const SHA256_ABOUT: &str = "The content of the file has the given SHA-256.";
const CONTAINS_ABOUT: &str = "The file contains the text at least once.";
const LACKS_ABOUT: &str = "The file exists and does not contain the text.";

static EXISTS: ObjectSchema =
    condition("an `exists` condition", EXISTS_ABOUT, &[tag(&["exists"]), OPTIONAL_PATH]);
static ABSENT: ObjectSchema =
    condition("an `absent` condition", ABSENT_ABOUT, &[tag(&["absent"]), OPTIONAL_PATH]);
static HASHED: ObjectSchema =
    condition("a `sha256` condition", SHA256_ABOUT, &[tag(&["sha256"]), OPTIONAL_PATH, SHA256]);
static CONTAINS: ObjectSchema = condition(
    "a `contains` condition",
    CONTAINS_ABOUT,
    &[tag(&["contains"]), OPTIONAL_PATH, CONTAINED],
);
static LACKS: ObjectSchema =
    condition("a `lacks` condition", LACKS_ABOUT, &[tag(&["lacks"]), OPTIONAL_PATH, LACKING]);

static RULE_EXISTS: ObjectSchema =
    condition("an `exists` rule", EXISTS_ABOUT, &[tag(&["exists"]), REQUIRED_PATH]);
static RULE_ABSENT: ObjectSchema =
    condition("an `absent` rule", ABSENT_ABOUT, &[tag(&["absent"]), REQUIRED_PATH]);
static RULE_HASHED: ObjectSchema =
    condition("a `sha256` rule", SHA256_ABOUT, &[tag(&["sha256"]), REQUIRED_PATH, SHA256]);
static RULE_CONTAINS: ObjectSchema =
    condition("a `contains` rule", CONTAINS_ABOUT, &[tag(&["contains"]), REQUIRED_PATH, CONTAINED]);
static RULE_LACKS: ObjectSchema =
    condition("a `lacks` rule", LACKS_ABOUT, &[tag(&["lacks"]), REQUIRED_PATH, LACKING]);

/// Schema of a precondition or postcondition of an action.
pub(super) static CONDITION: Tagged = Tagged {
    name: "a condition",
    id: "condition",
    about: "Condition that a single file must meet.",
    tag: "type",
    words: WORDS,
    branches: &[
        Branch { word: "exists", shape: &EXISTS },
        Branch { word: "absent", shape: &ABSENT },
        Branch { word: "sha256", shape: &HASHED },
        Branch { word: "contains", shape: &CONTAINS },
        Branch { word: "lacks", shape: &LACKS },
    ],
    nested: None,
};

/// Schema of a condition that is checked after the run. It has no default target.
pub(super) static VALIDATION_RULE: Tagged = Tagged {
    name: "a validation rule",
    id: "validationRule",
    about: "Condition that a single file must meet after all actions.",
    tag: "type",
    words: WORDS,
    branches: &[
        Branch { word: "exists", shape: &RULE_EXISTS },
        Branch { word: "absent", shape: &RULE_ABSENT },
        Branch { word: "sha256", shape: &RULE_HASHED },
        Branch { word: "contains", shape: &RULE_CONTAINS },
        Branch { word: "lacks", shape: &RULE_LACKS },
    ],
    nested: None,
};

/// Condition of an action whose path may still be missing.
#[derive(Debug)]
pub(super) struct Unbound {
    path: Option<RelPath>,
    check: Check,
}

impl Unbound {
    pub(super) fn read(word: &str, mut fields: Fields<'_>) -> reader::Taken<Self> {
        let path = fields.optional("path", reader::path);
        let check = match word {
            "exists" => Some(Check::Exists),
            "absent" => Some(Check::Absent),
            "sha256" => fields.required("sha256", reader::digest).map(Check::Sha256),
            "contains" => fields.required("text", text).map(Check::Contains),
            _ => fields.required("text", text).map(Check::Lacks),
        };
        fields.finish(check.map(|check| Self { path, check }))
    }

    /// Completes the condition, using `target` if its path is missing.
    pub(super) fn about(self, target: &RelPath) -> Condition {
        Condition { path: self.path.unwrap_or_else(|| target.clone()), check: self.check }
    }
}

impl Condition {
    /// Reads a condition as [`Unbound::read`] does, but requires a path.
    pub(super) fn read(word: &str, mut fields: Fields<'_>) -> reader::Taken<Self> {
        let path = fields.required("path", reader::path);
        let Unbound { check, .. } = Unbound::read(word, fields)?;
        // INVARIANT: if the path is missing, an error for it was already recorded.
        path.map(|path| Self { path, check }).ok_or_else(reader::Faults::default)
    }
}

impl Check {
    /// Returns the type of the condition, as it is written in a plan.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::Absent => "absent",
            Self::Sha256(_) => "sha256",
            Self::Contains(_) => "contains",
            Self::Lacks(_) => "lacks",
        }
    }
}

impl std::fmt::Display for Condition {
    /// Formats the condition as a clause, such as "`a.txt` exists".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = &self.path;
        match &self.check {
            Check::Exists => write!(f, "`{path}` exists"),
            Check::Absent => write!(f, "`{path}` does not exist"),
            Check::Sha256(digest) => write!(f, "`{path}` has the SHA-256 {digest}"),
            Check::Contains(text) => {
                write!(f, "`{path}` contains `{}`", Excerpt::new(text.as_bytes()))
            }
            Check::Lacks(text) => {
                write!(f, "`{path}` does not contain `{}`", Excerpt::new(text.as_bytes()))
            }
        }
    }
}
