//! Task manifest, the document that requests a file task (FE-2 to FE-5).

use std::fmt;

use actum_core::Digest;
use actum_core::json::{Content, Value};
use actum_core::path::PATH_BYTES_MAX;
use actum_document::reader::{self, Members};
use actum_document::{
    Characters, Diagnostic, Fault, Form, Member, ObjectSchema, Others, Problem, Text,
};
use actum_record::lease::{Capability, LEASE_NAME_BYTES_MAX, TaskName};
use serde::{Deserialize, Serialize};

use crate::path::{FilePath, FilePathProblem};

/// Maximum size of a manifest, in bytes.
pub const MANIFEST_BYTES_MAX: usize = 64 << 10;
/// Maximum length of a requested capability that is repeated in a result or a message, in bytes.
const CAPABILITY_BYTES_SHOWN_MAX: usize = 64;

/// Parsed task manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Identifier of the task, which makes repeated requests idempotent.
    pub task: TaskName,
    /// Operation to perform.
    pub work: FileWork,
    /// SHA-256 digest of the manifest bytes.
    pub digest: Digest,
}

/// Operation that a file task performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileWork {
    /// Moves a file to a path that must not exist.
    Move {
        /// Path of the file.
        source: FilePath,
        /// New path of the file.
        destination: FilePath,
    },
    /// Copies the bytes of a file to a path that must not exist.
    Copy {
        /// Path of the file.
        source: FilePath,
        /// Path of the copy.
        destination: FilePath,
    },
    /// Deletes a file in a way that can be undone.
    Delete {
        /// Path of the file.
        source: FilePath,
    },
}

/// Capability of a file task (FE-2). No other capabilities are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FileCapability {
    /// Permission to move a file.
    FileMove,
    /// Permission to copy a file.
    FileCopy,
    /// Permission to delete a file.
    FileDelete,
}

/// Task that a manifest requests, as recorded in the result. For an invalid manifest, it contains the fields that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Identifier of the task, if it is valid.
    pub task: Option<TaskName>,
    /// Requested capability, if the manifest contains one.
    pub capability: Option<String>,
    /// SHA-256 digest of the manifest bytes.
    pub digest: Digest,
}

/// Reason why a task manifest is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The capability is not one of the supported ones.
    #[error(
        "unsupported capability `{}`; expected {}, {} or {}",
        actum_core::path::Cut(given.as_bytes(), CAPABILITY_BYTES_SHOWN_MAX),
        FileCapability::FileMove,
        FileCapability::FileCopy,
        FileCapability::FileDelete
    )]
    Unsupported {
        /// Requested capability.
        given: String,
    },
    /// The document is not a valid task manifest.
    #[error("invalid task manifest: {0}")]
    Document(#[from] Diagnostic),
    /// A deletion is not declared reversible.
    #[error("FILE_DELETE requires `constraints.reversible` to be true, but it is {}", match found {
        Some(_) => "false",
        None => "missing",
    })]
    Irreversible {
        /// Value in the manifest, if there is one.
        found: Option<bool>,
    },
}

impl FileCapability {
    /// All supported capabilities.
    pub const ALL: [Self; 3] = [Self::FileMove, Self::FileCopy, Self::FileDelete];

    /// Returns the name of the capability in a manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileMove => "FILE_MOVE",
            Self::FileCopy => "FILE_COPY",
            Self::FileDelete => "FILE_DELETE",
        }
    }

    /// Returns the corresponding capability of a lease.
    pub fn as_capability(self) -> Capability {
        match self {
            Self::FileMove => Capability::FileMove,
            Self::FileCopy => Capability::FileCopy,
            Self::FileDelete => Capability::FileDelete,
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

impl fmt::Display for FileCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FileWork {
    /// Returns the capability that the operation requires.
    pub fn capability(&self) -> FileCapability {
        match self {
            Self::Move { .. } => FileCapability::FileMove,
            Self::Copy { .. } => FileCapability::FileCopy,
            Self::Delete { .. } => FileCapability::FileDelete,
        }
    }

    /// Returns the path of the file to move, copy or delete.
    pub fn source(&self) -> &FilePath {
        match self {
            Self::Move { source, .. } | Self::Copy { source, .. } | Self::Delete { source } => {
                source
            }
        }
    }

    /// Returns the path that the operation creates, or `None` for a deletion.
    pub fn destination(&self) -> Option<&FilePath> {
        match self {
            Self::Move { destination, .. } | Self::Copy { destination, .. } => Some(destination),
            Self::Delete { .. } => None,
        }
    }
}

impl Manifest {
    /// Parses a manifest strictly. It must not be ambiguous, and must not have unknown or duplicate fields (D-4). An unsupported
    /// capability takes precedence over any other error (FE-2).
    ///
    /// # Errors
    /// Returns [`ManifestError`] if the manifest is not valid.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let read = reader::read(bytes, MANIFEST_BYTES_MAX, &TASK_MANIFEST, document);
        let Written { task, capability, source, destination, reversible } = match read {
            Ok(written) => written,
            Err(mistake) => {
                let given = Asked::new(bytes).unsupported(bytes);
                return Err(given.map_or(ManifestError::Document(mistake), |given| {
                    ManifestError::Unsupported { given }
                }));
            }
        };
        let work = match (capability, destination) {
            (FileCapability::FileMove, Some(destination)) => FileWork::Move { source, destination },
            (FileCapability::FileCopy, Some(destination)) => FileWork::Copy { source, destination },
            (FileCapability::FileDelete, None) => FileWork::Delete { source },
            // INVARIANT: `document` has already rejected these combinations.
            (FileCapability::FileMove | FileCapability::FileCopy, None)
            | (FileCapability::FileDelete, Some(_)) => {
                return Err(ManifestError::Unsupported { given: capability.to_string() });
            }
        };
        if capability == FileCapability::FileDelete && reversible != Some(true) {
            return Err(ManifestError::Irreversible { found: reversible });
        }
        Ok(Self { task, work, digest: Digest::of(bytes) })
    }

    /// Returns the requested task, for the result.
    pub fn asked(&self) -> Asked {
        let capability = Some(self.work.capability().to_string());
        Asked { task: Some(self.task.clone()), capability, digest: self.digest }
    }
}

impl Asked {
    /// Extracts the task and the capability from bytes that need not be a valid manifest.
    pub fn new(bytes: &[u8]) -> Self {
        let digest = Digest::of(bytes);
        let within = bytes.len() <= MANIFEST_BYTES_MAX;
        let value = within.then(|| Value::read(bytes).ok()).flatten();
        let text = |name| value.as_ref().and_then(|value| text_of(value, name));
        let capability = text("capability_id");
        Self {
            task: text("task_id").and_then(|task| task.parse().ok()),
            capability: capability.filter(|it| {
                it.len() <= CAPABILITY_BYTES_SHOWN_MAX && !it.contains(char::is_control)
            }),
            digest,
        }
    }

    /// Returns the capability of a manifest if it is a string but not a supported capability.
    fn unsupported(self, bytes: &[u8]) -> Option<String> {
        if bytes.len() > MANIFEST_BYTES_MAX {
            return None;
        }
        let given = text_of(&Value::read(bytes).ok()?, "capability_id")?;
        FileCapability::from_word(&given).is_none().then_some(given)
    }
}

/// Returns the string member with this name in an object, unless the name is missing or occurs more than once.
fn text_of(value: &Value<'_>, name: &str) -> Option<String> {
    let mut named = value.members().iter().filter(|member| member.name == name);
    let (member, None) = (named.next()?, named.next()) else { return None };
    match &member.value.content {
        Content::String(text) => Some(text.clone().into_owned()),
        Content::Null
        | Content::Boolean(_)
        | Content::Number(_)
        | Content::Array(_)
        | Content::Object(_) => None,
    }
}

/// Members of a manifest, before the operation is built from them.
struct Written {
    task: TaskName,
    capability: FileCapability,
    source: FilePath,
    destination: Option<FilePath>,
    reversible: Option<bool>,
}

const CAPABILITIES: &[&str] = &["FILE_MOVE", "FILE_COPY", "FILE_DELETE"];
const PATH: Form = Form::Text(Text::filled(PATH_BYTES_MAX, Characters::OneLine));

pub(crate) static TASK_MANIFEST: ObjectSchema = ObjectSchema {
    name: "a task manifest",
    about: "Request to the File Executor to move, copy or delete one file. A manifest with unknown members, with duplicate names in an object, or of more than 64 KiB is rejected.",
    others: Others::Refused,
    members: &[
        Member::required(
            "task_id",
            Form::Text(Text::filled(LEASE_NAME_BYTES_MAX, Characters::OneLine)),
            "Identifier of the task: printable ASCII characters except spaces, quotes and backslashes. A repeated request with the same id and manifest returns the stored result and has no further effect.",
        ),
        Member::required(
            "capability_id",
            Form::Word(CAPABILITIES),
            "Operation to perform on the file.",
        ),
        Member::required("input", Form::Object(&INPUT), "Source and destination of the operation."),
        Member::optional(
            "constraints",
            Form::Object(&CONSTRAINTS),
            "Conditions that the task must meet.",
        ),
    ],
};

static INPUT: ObjectSchema = ObjectSchema {
    name: "an input",
    about: "Absolute paths of regular files below the operator's base directories, without `..`. No component of a path may be a symbolic link.",
    others: Others::Refused,
    members: &[
        Member::required("source_path", PATH, "Path of the file, which must exist."),
        Member::optional(
            "destination_path",
            PATH,
            "Path that FILE_MOVE or FILE_COPY creates, which must not exist. FILE_DELETE must not have a destination.",
        ),
    ],
};

static CONSTRAINTS: ObjectSchema = ObjectSchema {
    name: "the constraints",
    about: "Conditions that the task must meet.",
    others: Others::Refused,
    members: &[Member::optional(
        "reversible",
        Form::Flag,
        "Whether the effect of the task must be reversible. FILE_DELETE requires `true`.",
    )],
};

fn document(members: &Members<'_>) -> Result<Written, Fault> {
    let capability = members.required("capability_id", capability)?;
    let task = members.required("task_id", task)?;
    let (source, destination) = members.required("input", input)?;
    let reversible = members.optional("constraints", constraints)?.flatten();
    let contradiction = |what: &str| {
        let problem = Problem::Contradiction { what: what.to_owned() };
        Fault::at(members.start_of(&["input"], 0), problem).in_member("input")
    };
    match (capability, &destination) {
        (FileCapability::FileMove | FileCapability::FileCopy, None) => {
            Err(contradiction("FILE_MOVE and FILE_COPY require `destination_path`"))
        }
        (FileCapability::FileDelete, Some(_)) => {
            Err(contradiction("FILE_DELETE must not have `destination_path`"))
        }
        (FileCapability::FileMove | FileCapability::FileCopy, Some(same)) if *same == source => {
            Err(contradiction("`source_path` and `destination_path` are the same path"))
        }
        (FileCapability::FileMove | FileCapability::FileCopy, Some(_))
        | (FileCapability::FileDelete, None) => {
            Ok(Written { task, capability, source, destination, reversible })
        }
    }
}

fn capability(form: Form, value: &Value<'_>) -> Result<FileCapability, Fault> {
    reader::word(form, value, FileCapability::from_word)
}

fn task(form: Form, value: &Value<'_>) -> Result<TaskName, Fault> {
    let text = reader::text(form, value)?;
    text.parse().map_err(|error: actum_record::lease::LeaseTermError| {
        Fault::at(value.span.start, Problem::Contradiction { what: error.to_string() })
    })
}

fn input<'v>(form: Form, value: &'v Value<'v>) -> Result<(FilePath, Option<FilePath>), Fault> {
    let members = reader::object(form, value)?;
    let source = members.required("source_path", path)?;
    Ok((source, members.optional("destination_path", path)?))
}

fn constraints<'v>(form: Form, value: &'v Value<'v>) -> Result<Option<bool>, Fault> {
    reader::object(form, value)?.optional("reversible", reader::flag)
}

fn path(form: Form, value: &Value<'_>) -> Result<FilePath, Fault> {
    let Content::String(text) = &value.content else { return Err(reader::not(form, value)) };
    let refused = |what: String| Fault::at(value.span.start, Problem::Contradiction { what });
    match FilePath::new(text) {
        Ok(path) => Ok(path),
        Err(error) if error.problem == FilePathProblem::Relative && text.is_empty() => {
            reader::text(form, value).and(Err(refused(error.to_string())))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
