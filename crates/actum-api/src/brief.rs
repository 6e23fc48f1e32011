//! `actum.brief/1`: the brief form of every document, with `--json=brief`. It is made here and nowhere else.

use actum_core::{Digest, RunId, Status};
use actum_record::receipt::{EffectKind, PathEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apply::{Apply, Outcome, Redo, Undo};
use crate::command::Exec;
use crate::document::{Document, DocumentType};
use crate::error::Error;
use crate::history::{Image, ImageType, Run};
use crate::path::WorkspacePath;
use crate::receipt::Verification;
use crate::replay::Replay;
use crate::task::Rollback;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Brief>()];

/// Result of any command with `--json=brief`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// Status of the request; of a document about one run that of the run.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Permanent name of the reason. Only of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// First thing that the reader can do, for people. Absent where none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub hint: Option<String>,
    /// The run. Absent where none was made, and of documents that are not about one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::RunId")]
    pub run: Option<RunId>,
    /// Changed files with what they hold afterwards. Of a renamed file both paths. Absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<BriefPath>,
}

impl Document for Brief {
    const FORMAT: &'static str = "actum.brief/1";

    fn brief(&self) -> BriefParts {
        let Self { status, reason, hint, run, paths } = self.clone();
        BriefParts { status: Some(status), reason, hint, run, paths }
    }
}

/// Changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BriefPath {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// SHA-256 of the content afterwards; `null` where no file is there.
    #[schemars(with = "Option<value::Digest>")]
    pub sha256: Option<Digest>,
}

/// What a document has for its brief form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BriefParts {
    /// Status; `None` where the document has none, so that the exit code of the command says it.
    pub status: Option<Status>,
    /// Reason of an error.
    pub reason: Option<String>,
    /// First hint.
    pub hint: Option<String>,
    /// The run.
    pub run: Option<RunId>,
    /// Changed files.
    pub paths: Vec<BriefPath>,
}

impl BriefParts {
    /// Makes the brief document. `status` is that of the command, which counts where the document has none.
    pub fn into_brief(self, status: Status) -> Brief {
        let Self { status: own, reason, hint, run, paths } = self;
        Brief { status: own.unwrap_or(status), reason, hint, run, paths }
    }
}

impl BriefPath {
    /// Lists the files of these effects. Directories hold no bytes, so that they are left out.
    pub fn list<'e>(effects: impl IntoIterator<Item = &'e PathEffect>) -> Vec<Self> {
        let mut paths = Vec::new();
        for PathEffect { path, from, after, effect, .. } in effects {
            match effect {
                EffectKind::DirectoryCreated | EffectKind::DirectoryRemoved => continue,
                EffectKind::Created
                | EffectKind::Modified
                | EffectKind::Renamed
                | EffectKind::Mode
                | EffectKind::Attributes
                | EffectKind::Deleted => {}
            }
            let gone = from.as_ref().map(|from| (from, None));
            let files = gone.into_iter().chain([(path, after.as_ref().map(|file| file.sha256))]);
            paths.extend(files.map(|(path, sha256)| Self { path: (&path.0).into(), sha256 }));
        }
        paths
    }
}

impl From<&Outcome> for BriefParts {
    fn from(Outcome { status, run, .. }: &Outcome) -> Self {
        Self { status: Some(*status), run: *run, ..Self::default() }
    }
}

impl From<&Apply> for BriefParts {
    fn from(apply: &Apply) -> Self {
        (&apply.outcome).into()
    }
}

impl From<&Undo> for BriefParts {
    fn from(undo: &Undo) -> Self {
        (&undo.outcome).into()
    }
}

impl From<&Redo> for BriefParts {
    fn from(redo: &Redo) -> Self {
        (&redo.outcome).into()
    }
}

impl From<&Error> for BriefParts {
    fn from(Error { status, reason, hints, .. }: &Error) -> Self {
        let (reason, hint) = (Some(reason.clone()), hints.first().cloned());
        Self { status: Some(*status), reason, hint, ..Self::default() }
    }
}

impl From<&Exec> for BriefParts {
    fn from(Exec { status, change, error, .. }: &Exec) -> Self {
        let parts = match (change, error) {
            (Some(change), _) => (&**change).into(),
            (None, Some(error)) => (&**error).into(),
            (None, None) => Self::default(),
        };
        Self { status: Some(*status), ..parts }
    }
}

impl From<&Run> for BriefParts {
    fn from(Run { run, status, changes, .. }: &Run) -> Self {
        let mut paths = Vec::new();
        for line in changes {
            let is_file = |image: &Image| image.r#type == ImageType::File;
            if let Some(from) = &line.change.renamed_from {
                paths.push(BriefPath { path: from.clone(), sha256: None });
            }
            if is_file(&line.before) || is_file(&line.after) {
                let (path, sha256) = (line.change.path.clone(), line.after.sha256);
                paths.push(BriefPath { path, sha256 });
            }
        }
        Self { status: Some(*status), run: Some(*run), paths, ..Self::default() }
    }
}

impl From<&Verification> for BriefParts {
    fn from(Verification { run, status, paths, .. }: &Verification) -> Self {
        let paths = BriefPath::list(paths);
        Self { status: Some(*status), run: Some(*run), paths, ..Self::default() }
    }
}

impl From<&Replay> for BriefParts {
    fn from(replay: &Replay) -> Self {
        Self { run: Some(replay.run), ..Self::default() }
    }
}

impl From<&Rollback> for BriefParts {
    fn from(rollback: &Rollback) -> Self {
        Self { run: rollback.run, ..Self::default() }
    }
}
