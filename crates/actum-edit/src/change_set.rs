//! The seed's change set, field for field (FO-1).

use std::collections::BTreeSet;

use actum_core::digest::DigestError;
use actum_core::{Digest, PathError, RelPath};
use serde::{Deserialize, Serialize};

use crate::{LineHunk, Operation};

/// A change to several files that is applied as one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSet {
    /// At most one patch for each path.
    pub patches: Vec<Patch>,
}

/// Changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// The file, relative to the workspace root.
    pub path: String,
    /// Its hunks, in ascending order.
    pub hunks: Vec<Hunk>,
    /// The SHA-256 the file must have, in hexadecimal (FO-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_prev_sha256: Option<String>,
}

/// One hunk of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hunk {
    /// First old line, counted from 1; for a pure insertion the line it follows.
    pub old_start: u32,
    /// Old lines covered.
    pub old_lines: u32,
    /// First new line.
    pub new_start: u32,
    /// New lines covered.
    pub new_lines: u32,
    /// The body: lines that begin with ` `, `-` or `+`.
    pub lines: String,
}

/// Reason why a change set cannot be turned into operations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeSetError {
    /// A path is not one of the workspace.
    #[error("patch {patch}: {source}")]
    Path {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// Problem of the path.
        source: PathError,
    },
    /// `expected_prev_sha256` is not a digest.
    #[error("patch {patch}: expected_prev_sha256: {source}")]
    Digest {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// Problem of the digest.
        source: DigestError,
    },
    /// Two patches name one path.
    #[error("patch {patch}: the path `{path}` already has a patch in this change set")]
    Duplicate {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// The path.
        path: RelPath,
    },
    /// A patch changes nothing.
    #[error("patch {patch}: the path `{path}` has no hunks")]
    NoHunks {
        /// Number of the patch, counted from 1.
        patch: usize,
        /// The path.
        path: RelPath,
    },
}

impl ChangeSet {
    /// A change set without patches.
    pub fn new() -> Self {
        Self::default()
    }

    /// The operations it stands for, one for each patch.
    ///
    /// # Errors
    /// [`ChangeSetError`] at the first patch that is not sound in itself.
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
    fn the_fields_are_those_of_the_seed() {
        let json = r#"{"patches":[{"path":"a","hunks":[{"old_start":1,"old_lines":1,
            "new_start":1,"new_lines":1,"lines":"-a\n+b\n"}],"expected_prev_sha256":null}]}"#;
        let set: ChangeSet = serde_json::from_str(json).unwrap();
        assert_eq!(set.patches[0].hunks[0].lines, "-a\n+b\n");
        assert!(serde_json::from_str::<ChangeSet>(r#"{"patches":[],"force":true}"#).is_err());
    }

    /// FO-1
    #[test]
    fn a_change_set_that_contradicts_itself_is_refused() {
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
