//! Task manifest: the request of a file task (FE-2 to FE-5).

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

/// Largest manifest, in bytes.
pub const MANIFEST_BYTES_MAX: usize = 64 << 10;
/// Longest capability that a result repeats, in bytes.
const CAPABILITY_BYTES_SHOWN_MAX: usize = 64;

/// Task manifest that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Id of the task: its idempotency key.
    pub task: TaskName,
    /// Work of the task.
    pub work: FileWork,
    /// SHA-256 of the bytes of the manifest.
    pub digest: Digest,
}

/// Work of a file task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileWork {
    /// Move a file to a free path.
    Move {
        /// File.
        source: FilePath,
        /// New path.
        destination: FilePath,
    },
    /// Copy the bytes of a file to a free path.
    Copy {
        /// File.
        source: FilePath,
        /// Path of the copy.
        destination: FilePath,
    },
    /// Delete a file, reversibly.
    Delete {
        /// File.
        source: FilePath,
    },
}

/// Capability of the closed set (FE-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FileCapability {
    /// Move a file.
    FileMove,
    /// Copy a file.
    FileCopy,
    /// Delete a file.
    FileDelete,
}

/// Task of a manifest, as far as it is known of a rejected one. A result names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Task.
    pub task: Option<TaskName>,
    /// Capability.
    pub capability: Option<String>,
    /// SHA-256 of the bytes.
    pub digest: Digest,
}

/// Reason why a manifest is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A capability outside the closed set.
    #[error(
        "the capability `{}` is not supported: expected {}, {} or {}",
        actum_core::path::Cut(given.as_bytes(), CAPABILITY_BYTES_SHOWN_MAX),
        FileCapability::FileMove,
        FileCapability::FileCopy,
        FileCapability::FileDelete
    )]
    Unsupported {
        /// Capability.
        given: String,
    },
    /// A document that is not a task manifest.
    #[error("the task manifest cannot be used: {0}")]
    Document(#[from] Diagnostic),
    /// A deletion that is not declared reversible.
    #[error("FILE_DELETE needs `constraints.reversible` to be true, and it is {}", match found {
        Some(_) => "false",
        None => "missing",
    })]
    Irreversible {
        /// Value.
        found: Option<bool>,
    },
}

impl FileCapability {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FileMove, Self::FileCopy, Self::FileDelete];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileMove => "FILE_MOVE",
            Self::FileCopy => "FILE_COPY",
            Self::FileDelete => "FILE_DELETE",
        }
    }

    /// The capability as leases name it.
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
    /// Capability that it needs.
    pub fn capability(&self) -> FileCapability {
        match self {
            Self::Move { .. } => FileCapability::FileMove,
            Self::Copy { .. } => FileCapability::FileCopy,
            Self::Delete { .. } => FileCapability::FileDelete,
        }
    }

    /// File that it works on.
    pub fn source(&self) -> &FilePath {
        match self {
            Self::Move { source, .. } | Self::Copy { source, .. } | Self::Delete { source } => {
                source
            }
        }
    }

    /// Path that it makes; `None` for a deletion.
    pub fn destination(&self) -> Option<&FilePath> {
        match self {
            Self::Move { destination, .. } | Self::Copy { destination, .. } => Some(destination),
            Self::Delete { .. } => None,
        }
    }
}

impl Manifest {
    /// Reads a manifest strictly: one reading, no unknown field, no name twice (D-4). A capability
    /// outside the closed set is reported before anything else that is wrong (FE-2).
    ///
    /// # Errors
    /// [`ManifestError`]
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
            // INVARIANT: `document` rejected these.
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

    /// Request of the task.
    pub fn asked(&self) -> Asked {
        let capability = Some(self.work.capability().to_string());
        Asked { task: Some(self.task.clone()), capability, digest: self.digest }
    }
}

impl Asked {
    /// Finds task and capability in bytes that may be no manifest.
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

    /// The capability of a manifest if it is a text outside the closed set.
    fn unsupported(self, bytes: &[u8]) -> Option<String> {
        if bytes.len() > MANIFEST_BYTES_MAX {
            return None;
        }
        let given = text_of(&Value::read(bytes).ok()?, "capability_id")?;
        FileCapability::from_word(&given).is_none().then_some(given)
    }
}

/// The only text of this name in an object.
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

/// Members of a manifest.
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
    about: "What the File Executor is asked to do with one file. A manifest with other members, with a name twice in one object, or of more than 64 KiB is refused.",
    others: Others::Refused,
    members: &[
        Member::required(
            "task_id",
            Form::Text(Text::filled(LEASE_NAME_BYTES_MAX, Characters::OneLine)),
            "Id of the task: printable ASCII characters without spaces, quotes and backslashes. The same id with the same manifest gives the stored result, and no second effect.",
        ),
        Member::required("capability_id", Form::Word(CAPABILITIES), "What is done."),
        Member::required("input", Form::Object(&INPUT), "The file, and where it goes."),
        Member::optional("constraints", Form::Object(&CONSTRAINTS), "What must hold."),
    ],
};

static INPUT: ObjectSchema = ObjectSchema {
    name: "an input",
    about: "Absolute paths of regular files below base directories of the operator, without `..`. No component of a path is a symbolic link.",
    others: Others::Refused,
    members: &[
        Member::required("source_path", PATH, "The file, which must exist."),
        Member::optional(
            "destination_path",
            PATH,
            "Path that FILE_MOVE and FILE_COPY create; it must not exist. FILE_DELETE has none.",
        ),
    ],
};

static CONSTRAINTS: ObjectSchema = ObjectSchema {
    name: "the constraints",
    about: "What must hold for the task.",
    others: Others::Refused,
    members: &[Member::optional(
        "reversible",
        Form::Flag,
        "The effect can be undone. FILE_DELETE needs `true`.",
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
            Err(contradiction("FILE_MOVE and FILE_COPY need `destination_path`"))
        }
        (FileCapability::FileDelete, Some(_)) => {
            Err(contradiction("FILE_DELETE has no `destination_path`"))
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
