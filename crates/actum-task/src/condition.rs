//! Conditions on files before and after an action, and after a run (EX-12).

use actum_core::place::Excerpt;
use actum_core::{Digest, RelPath};
use actum_document::reader::text;
use actum_document::{Branch, Characters, Form, Member, ObjectSchema, Others, Tagged, Text};

use super::limits::{CONTENT_CHARS_MAX, PATH_CHARS_MAX};
use super::reader::{self, Fields};

/// Condition on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Path of the file. A condition of an action can omit it, and then applies to the target; after a
    /// rename, to its new path.
    pub path: RelPath,
    /// Requirement on the file.
    pub check: Check,
}

/// Requirement on a file: a closed set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Path is a regular file.
    Exists,
    /// Path does not exist.
    Absent,
    /// File has this SHA-256.
    Sha256(Digest),
    /// File contains the text at least once, byte for byte.
    Contains(String),
    /// File exists and does not contain the text.
    Lacks(String),
}

const PATH: Form = Form::Text(PATH_TEXT);
pub(super) const PATH_TEXT: Text = Text::filled(PATH_CHARS_MAX, Characters::Path);
pub(super) const DIGEST: Form =
    Form::Text(Text { chars_min: 64, chars_max: 64, characters: Characters::Digest, taken: &[] });
const SOUGHT: Form = Form::Text(Text::filled(CONTENT_CHARS_MAX, Characters::Any));
const WORDS: &[&str] = &["exists", "absent", "sha256", "contains", "lacks"];

const fn tag(word: &'static [&'static str]) -> Member {
    Member::required("type", Form::Word(word), "What must hold.")
}

const OPTIONAL_PATH: Member = Member::optional(
    "path",
    PATH,
    "The file. Left out, it is the target of the action; in a postcondition of FILE_RENAME, its new path.",
);
const REQUIRED_PATH: Member = Member::required("path", PATH, "The file.");
const SHA256: Member =
    Member::required("sha256", DIGEST, "The SHA-256 of the content that the file must have.");
const CONTAINED: Member =
    Member::required("text", SOUGHT, "The text that must be in the file, byte for byte.");
const LACKING: Member = Member::required("text", SOUGHT, "The text that must not be in the file.");

const fn condition(
    name: &'static str,
    about: &'static str,
    members: &'static [Member],
) -> ObjectSchema {
    ObjectSchema { name, about, others: Others::Refused, members }
}

const EXISTS_ABOUT: &str = "The file is there, as a regular file.";
const ABSENT_ABOUT: &str = "Nothing is there.";
const SHA256_ABOUT: &str = "The file has this content.";
const CONTAINS_ABOUT: &str = "The text is in the file at least once.";
const LACKS_ABOUT: &str = "The file is there, and the text is not in it.";

static EXISTS: ObjectSchema =
    condition("a condition `exists`", EXISTS_ABOUT, &[tag(&["exists"]), OPTIONAL_PATH]);
static ABSENT: ObjectSchema =
    condition("a condition `absent`", ABSENT_ABOUT, &[tag(&["absent"]), OPTIONAL_PATH]);
static HASHED: ObjectSchema =
    condition("a condition `sha256`", SHA256_ABOUT, &[tag(&["sha256"]), OPTIONAL_PATH, SHA256]);
static CONTAINS: ObjectSchema = condition(
    "a condition `contains`",
    CONTAINS_ABOUT,
    &[tag(&["contains"]), OPTIONAL_PATH, CONTAINED],
);
static LACKS: ObjectSchema =
    condition("a condition `lacks`", LACKS_ABOUT, &[tag(&["lacks"]), OPTIONAL_PATH, LACKING]);

static RULE_EXISTS: ObjectSchema =
    condition("a rule `exists`", EXISTS_ABOUT, &[tag(&["exists"]), REQUIRED_PATH]);
static RULE_ABSENT: ObjectSchema =
    condition("a rule `absent`", ABSENT_ABOUT, &[tag(&["absent"]), REQUIRED_PATH]);
static RULE_HASHED: ObjectSchema =
    condition("a rule `sha256`", SHA256_ABOUT, &[tag(&["sha256"]), REQUIRED_PATH, SHA256]);
static RULE_CONTAINS: ObjectSchema =
    condition("a rule `contains`", CONTAINS_ABOUT, &[tag(&["contains"]), REQUIRED_PATH, CONTAINED]);
static RULE_LACKS: ObjectSchema =
    condition("a rule `lacks`", LACKS_ABOUT, &[tag(&["lacks"]), REQUIRED_PATH, LACKING]);

/// Condition of an action.
pub(super) static CONDITION: Tagged = Tagged {
    name: "a condition",
    id: "condition",
    about: "Something that must hold of one file.",
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

/// Condition after a run, which has no default target.
pub(super) static VALIDATION_RULE: Tagged = Tagged {
    name: "a validation rule",
    id: "validationRule",
    about: "Something that must hold of one file when all actions are done.",
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

/// Condition whose path may still be missing.
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

    /// Completes the condition, with `target` as the default path.
    pub(super) fn about(self, target: &RelPath) -> Condition {
        Condition { path: self.path.unwrap_or_else(|| target.clone()), check: self.check }
    }
}

impl Condition {
    /// Reads a condition as [`Unbound::read`] does, but requires a path.
    pub(super) fn read(word: &str, mut fields: Fields<'_>) -> reader::Taken<Self> {
        let path = fields.required("path", reader::path);
        let Unbound { check, .. } = Unbound::read(word, fields)?;
        // INVARIANT: a missing path was already reported as a fault.
        path.map(|path| Self { path, check }).ok_or_else(reader::Faults::default)
    }
}

impl Check {
    /// Returns the word used in a plan.
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
    /// Formats the condition so that "holds" or "does not hold" can follow.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = &self.path;
        match &self.check {
            Check::Exists => write!(f, "`{path}` exists"),
            Check::Absent => write!(f, "`{path}` does not exist"),
            Check::Sha256(digest) => write!(f, "`{path}` has the SHA-256 {digest}"),
            Check::Contains(text) => {
                write!(f, "`{path}` contains `{}`", Excerpt::new(text.as_bytes()))
            }
            Check::Lacks(text) => write!(f, "`{path}` lacks `{}`", Excerpt::new(text.as_bytes())),
        }
    }
}
