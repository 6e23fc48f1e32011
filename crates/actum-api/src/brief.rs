//! `actum.brief/1`: the brief form of every document, printed with `--json=brief`. All conversions to it are in this module.

use actum_core::{RunId, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apply::{Apply, Outcome, Redo, Undo};
use crate::command::Exec;
use crate::document::{Document, DocumentType};
use crate::error::Error;
use crate::history::{Image, ImageType, Run};
use crate::receipt::Verification;
use crate::replay::Replay;
use crate::task::Rollback;
use crate::value;

pub use crate::brief_parts::{BriefParts, BriefPath};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Brief>()];

/// Result of any command with `--json=brief`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// Status of the run if the document is about a single run, and otherwise the status of the request.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Permanent reason code. Present only for an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// First hint for the user. Absent if there is no hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub hint: Option<String>,
    /// Id of the run. Absent if there was no run or if the document is not about a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::RunId")]
    pub run: Option<RunId>,
    /// Changed files and the digests of their new content. A renamed file is listed with both paths. Absent if empty.
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

impl Brief {
    /// Builds the brief document. Uses `status`, the status of the command, if the document has no status of its own.
    pub fn new(parts: BriefParts, status: Status) -> Self {
        let BriefParts { status: own, reason, hint, run, paths } = parts;
        Self { status: own.unwrap_or(status), reason, hint, run, paths }
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
