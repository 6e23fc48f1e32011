//! Values that a document contributes to its brief form. The module `brief` computes them for each document.

use actum_core::{Digest, RunId, Status};
use actum_record::receipt::{EffectKind, PathEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::WorkspacePath;
use crate::value;

/// Values that a document contributes to its brief form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BriefParts {
    /// Status of the document, or `None` if it has none and the status follows from the command's exit code.
    pub status: Option<Status>,
    /// Permanent reason code of an error.
    pub reason: Option<String>,
    /// First hint for the user.
    pub hint: Option<String>,
    /// Run that the document is about.
    pub run: Option<RunId>,
    /// Changed files and the digests of their new content.
    pub paths: Vec<BriefPath>,
}

/// Changed file in a brief document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BriefPath {
    /// Path of the changed file.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// SHA-256 of the new content, or `null` if the file no longer exists at this path.
    #[schemars(with = "Option<value::Digest>")]
    pub sha256: Option<Digest>,
}

impl BriefPath {
    /// Lists the files that these effects change. Directories are left out, because they have no content.
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
