//! The change set format, with exactly the fields that the specification defines (FO-1).

use std::collections::BTreeSet;

use actum_core::digest::DigestError;
use actum_core::{Digest, PathError, RelPath};
use serde::{Deserialize, Serialize};

use crate::{LineHunk, Operation};

/// Patches to several files that are applied together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSet {
    /// Patches in no particular order, at most one for each path.
    pub patches: Vec<Patch>,
}

/// Changes to a single file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Path of the file, relative to the workspace root.
    pub path: String,
    /// Hunks of the file, in ascending order.
    pub hunks: Vec<Hunk>,
    /// Hexadecimal SHA-256 digest that the file must have before the patch is applied (FO-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_prev_sha256: Option<String>,
}

/// One hunk of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hunk {
    /// First old line, counted from 1. For a pure insertion, the line after which the new lines are inserted.
    pub old_start: u32,
    /// Number of old lines that the hunk covers.
    pub old_lines: u32,
    /// First new line, counted from 1.
    pub new_start: u32,
    /// Number of new lines that the hunk covers.
    pub new_lines: u32,
    /// Body of the hunk, in which each line begins with ` `, `-` or `+`.
    pub lines: String,
}

/// Reason why a change set cannot be converted to operations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeSetError {
    /// The path of a patch is not a valid workspace path.
    #[error("patch {patch}: {source}")]
    Path {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// Reason why the path is invalid.
        source: PathError,
    },
    /// The field `expected_prev_sha256` is not a valid digest.
    #[error("patch {patch}: expected_prev_sha256: {source}")]
    Digest {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// Reason why the digest is invalid.
        source: DigestError,
    },
    /// Two patches have the same path.
    #[error("patch {patch}: the path `{path}` already has a patch in this change set")]
    Duplicate {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// Path that both patches have.
        path: RelPath,
    },
    /// A patch has no hunks, so it changes nothing.
    #[error("patch {patch}: the path `{path}` has no hunks")]
    NoHunks {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// Path of the patch.
        path: RelPath,
    },
}

impl ChangeSet {
    /// Creates a change set without patches.
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts the change set to operations, one for each patch.
    ///
    /// # Errors
    /// Returns a [`ChangeSetError`] for the first patch that is invalid in itself. The files are not read.
    pub fn operations(&self) -> Result<Vec<Operation>, ChangeSetError> {
        let mut seen = BTreeSet::new();
        self.patches
            .iter()
            .enumerate()
            .map(|(index, patch)| {
                let number = index + 1;
                let path = RelPath::new(&patch.path)
                    .map_err(|source| ChangeSetError::Path { patch: number, source })?;
                if patch.hunks.is_empty() {
                    return Err(ChangeSetError::NoHunks { patch: number, path });
                }
                if !seen.insert(path.clone()) {
                    return Err(ChangeSetError::Duplicate { patch: number, path });
                }
                let expected = patch
                    .expected_prev_sha256
                    .as_deref()
                    .map(str::parse::<Digest>)
                    .transpose()
                    .map_err(|source| ChangeSetError::Digest { patch: number, source })?;
                let hunks = patch.hunks.iter().map(LineHunk::from).collect();
                let hunks = LineHunk::making(hunks);
                Ok(Operation::Patch { path, hunks, expected })
            })
            .collect()
    }
}

impl From<&Hunk> for LineHunk {
    fn from(hunk: &Hunk) -> Self {
        Self {
            old_start: hunk.old_start,
            old_lines: hunk.old_lines,
            new_start: hunk.new_start,
            new_lines: hunk.new_lines,
            body: hunk.lines.clone().into_bytes(),
            at_end: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(path: &str) -> Patch {
        let hunk =
            Hunk { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, lines: "+a\n".into() };
        Patch { path: path.into(), hunks: vec![hunk], expected_prev_sha256: None }
    }

    /// FO-1
    #[test]
    fn change_set_has_the_fields_of_the_seed() {
        let json = r#"{"patches":[{"path":"a","hunks":[{"old_start":1,"old_lines":1,
            "new_start":1,"new_lines":1,"lines":"-a\n+b\n"}],"expected_prev_sha256":null}]}"#;
        let set: ChangeSet = serde_json::from_str(json).unwrap();
        assert_eq!(set.patches[0].hunks[0].lines, "-a\n+b\n");
        assert!(serde_json::from_str::<ChangeSet>(r#"{"patches":[],"force":true}"#).is_err());
    }

    /// FO-1
    #[test]
    fn invalid_change_set_is_refused() {
        let error = |patches| ChangeSet { patches }.operations().unwrap_err();
        assert!(matches!(
            error(vec![patch("a"), patch("a")]),
            ChangeSetError::Duplicate { patch: 2, .. }
        ));
        assert!(matches!(error(vec![patch("../a")]), ChangeSetError::Path { patch: 1, .. }));
        let mut wrong = patch("a");
        wrong.expected_prev_sha256 = Some("beef".into());
        assert!(matches!(error(vec![wrong]), ChangeSetError::Digest { patch: 1, .. }));
        let mut empty = patch("a");
        empty.hunks.clear();
        assert!(matches!(error(vec![empty]), ChangeSetError::NoHunks { patch: 1, .. }));
    }
}
