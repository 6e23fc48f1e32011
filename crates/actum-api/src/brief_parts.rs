//! Parts of a document for its brief form. `brief` makes it of each document.

use actum_core::{Digest, RunId, Status};
use actum_record::receipt::{EffectKind, PathEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::WorkspacePath;
use crate::value;

/// Parts of a document for its brief form.
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
