//! Collects the operations of a JSON input. All documents of an input form one change, so they share this state.

use std::collections::BTreeMap;

use actum_core::json::Fields;
use actum_core::{Digest, RelPath};

use super::RootPrefix;
use super::document::{DocumentProblem, EXPECTED, Refusal, expected_in, path_in};
use crate::Operation;

/// Operations that were parsed so far. Each operation is applied to the result of the previous one.
#[derive(Default)]
pub(super) struct Steps {
    operations: Vec<Operation>,
    files: BTreeMap<RelPath, Given>,
}

/// Kind of the first change to a file.
enum Given {
    /// An edit or hunks change part of the file.
    Edited,
    /// The whole content of the file is given.
    Whole,
}

impl Steps {
    pub(super) fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    pub(super) fn into_operations(self) -> Vec<Operation> {
        self.operations
    }

    /// Parses the path and the expected digest of an edit. Only the first change of a file may have an expected digest. For a
    /// later one, it would be unclear whether the digest refers to the original file or to the result of the previous change.
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

    /// Parses the path of a file whose whole content is given. Returns an error if an earlier operation changes the file.
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

    /// Records that hunks change a file. Returns an error if an earlier operation changes it, because it would be unclear
    /// whether the line numbers refer to the original file or to the result of that operation.
    pub(super) fn patched(&mut self, path: &RelPath) -> Result<(), DocumentProblem> {
        match self.files.insert(path.clone(), Given::Edited) {
            None => Ok(()),
            Some(Given::Edited | Given::Whole) => {
                Err(DocumentProblem::LateHunks { path: path.clone() })
            }
        }
    }
}
