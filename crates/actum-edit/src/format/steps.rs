//! Operations of an input in JSON so far, and the files that they change: several documents are one change.

use std::collections::BTreeMap;

use actum_core::json::Fields;
use actum_core::{Digest, RelPath};

use super::RootPrefix;
use super::document::{DocumentProblem, EXPECTED, Refusal, expected_in, path_in};
use crate::Operation;

/// Operations so far, each made in what the one before left.
#[derive(Default)]
pub(super) struct Steps {
    operations: Vec<Operation>,
    files: BTreeMap<RelPath, Given>,
}

/// First change of a file.
enum Given {
    /// By an edit or by hunks.
    Edited,
    /// Replacement as a whole.
    Whole,
}

impl Steps {
    pub(super) fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    pub(super) fn into_operations(self) -> Vec<Operation> {
        self.operations
    }

    /// Path and digest of the next edit. Only the first step of a file can expect a digest. A later one could mean the
    /// file as it was before all of them, or as the one before left it.
    pub(super) fn edited(
        &mut self,
        fields: &Fields<'_>,
        root: &RootPrefix,
    ) -> Result<(RelPath, Option<Digest>), Refusal> {
        let path = path_in(fields.required("path")?, root)?;
        let expected = expected_in(fields)?;
        match (self.files.contains_key(&path), fields.optional(EXPECTED)) {
            (true, Some(field)) => {
                Err(Refusal::at(field.value.span.start, DocumentProblem::LateDigest { path }))
            }
            (true, None) => Ok((path, expected)),
            (false, _) => {
                self.files.insert(path.clone(), Given::Edited);
                Ok((path, expected))
            }
        }
    }

    /// The path of a file that is given whole, which nothing before may change.
    pub(super) fn whole(
        &mut self,
        fields: &Fields<'_>,
        root: &RootPrefix,
    ) -> Result<RelPath, Refusal> {
        let field = fields.required("path")?;
        let path = path_in(field, root)?;
        let problem = match self.files.get(&path) {
            None => {
                self.files.insert(path.clone(), Given::Whole);
                return Ok(path);
            }
            Some(Given::Whole) => DocumentProblem::DoubledFile { path },
            Some(Given::Edited) => DocumentProblem::WholeAfterEdit { path },
        };
        Err(Refusal::at(field.value.span.start, problem))
    }

    /// Adds a file that hunks change, which nothing before may change. Their line numbers could mean the file as it
    /// was before all of them, or as the one before left it.
    pub(super) fn patched(&mut self, path: &RelPath) -> Result<(), DocumentProblem> {
        match self.files.insert(path.clone(), Given::Edited) {
            None => Ok(()),
            Some(Given::Edited | Given::Whole) => {
                Err(DocumentProblem::LateHunks { path: path.clone() })
            }
        }
    }
}
