//! Parsed section of a diff, and the change that it makes to its file.

use actum_core::place::Place;
use actum_core::{Digest, Hasher, RelPath};

use super::header::Body;
use super::hunks::Hunk;
use super::problem::DiffProblem;
use crate::LineHunk;
use crate::edit::BinaryEdit;
use crate::format::ParseError;

/// Section of a diff: the change of one file, and the line at which the section starts.
pub(super) struct Section<'a> {
    pub(super) line: u64,
    pub(super) change: Change<'a>,
}

/// Change of one file. Paths refer to the tree before the whole diff is applied, except the target of a rename or copy.
pub(super) enum Change<'a> {
    /// Modifies an existing file.
    Modify { path: RelPath, edit: Edit<'a> },
    /// Creates a file.
    Create { path: RelPath, content: Vec<u8>, mode: GitMode },
    /// Deletes a file or a symbolic link.
    Delete { path: RelPath, expected: Digest, is_link: bool },
    /// Renames a file, and then applies the edit to the renamed file.
    Rename { from: RelPath, to: RelPath, edit: Edit<'a> },
    /// Copies a file, and then applies the edit to the copy.
    Copy { from: RelPath, to: RelPath, edit: Edit<'a> },
}

/// File modes that git uses, except the mode of submodules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitMode {
    /// Mode `100644`, for a regular file.
    File,
    /// Mode `100755`, for an executable file.
    Executable,
    /// Mode `120000`, for a symbolic link whose content is its target.
    Link,
}

/// Changes to the content and mode of a file that is not deleted.
pub(super) struct Edit<'a> {
    pub(super) before: Before,
    pub(super) content: Content<'a>,
    /// New value of the executable bit, if the bit changes.
    pub(super) executable: Option<bool>,
}

/// Whether the diff shows that the file had content before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// The file is known to have had content.
    Something,
    /// The file may have been empty or missing.
    Unknown,
}

/// Change to the content of a file.
pub(super) enum Content<'a> {
    /// Hunks of lines. The list is empty if the content stays the same.
    Lines(Vec<Hunk<'a>>),
    /// Binary patch, which replaces the whole content.
    Binary(BinaryEdit),
    /// New target of a symbolic link.
    Target { old: Vec<u8>, new: Vec<u8> },
}

/// Returns the old and new targets of a symbolic link, or `None` if the body does not contain both completely.
pub(super) fn targets(body: &Body<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let hunks = match body {
        Body::Lines(hunks) => hunks.as_slice(),
        Body::Binary(_) => return None,
    };
    let [hunk] = hunks else { return None };
    let hunk = hunk.to_line_hunk();
    let (old, new) = (hunk.old_text(), hunk.new_text());
    // A target has no final newline, so the text is complete only if it starts at line 1 and has no newline at its end.
    let is_whole = |text: &[u8], start: u32| start == 1 && !text.ends_with(b"\n");
    (is_whole(&old, hunk.old_start) && is_whole(&new, hunk.new_start)).then_some((old, new))
}

impl Edit<'_> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.content, Content::Lines(hunks) if hunks.is_empty())
            && self.executable.is_none()
    }
}

/// Converts the hunks of an existing file. A single hunk at line 0 inserts lines before line 1 only if the file is known to
/// have had content. Otherwise, applying the same diff again would insert the lines a second time.
pub(super) fn line_hunks(hunks: &[Hunk<'_>], before: Before) -> Vec<LineHunk> {
    let hunks = hunks.iter().map(Hunk::to_line_hunk).collect();
    match before {
        Before::Something => hunks,
        Before::Unknown => LineHunk::making(hunks),
    }
}

/// Returns the content of a new file from its hunks. Without hunks, the file is empty.
pub(super) fn created(
    place: Place,
    path: &RelPath,
    hunks: &[Hunk<'_>],
) -> Result<Vec<u8>, ParseError> {
    match hunks {
        [] => Ok(Vec::new()),
        [hunk] if hunk.creates() => {
            let mut content = Vec::with_capacity(hunk.body.len());
            hunk.for_each_line(|line| content.extend_from_slice(line));
            Ok(content)
        }
        [..] => {
            let problem =
                DiffProblem::WholeFile { path: path.clone(), form: "@@ -0,0 +1,COUNT @@" };
            Err(ParseError::diff(place, problem))
        }
    }
}

/// Returns the digest of the content that a deleted file must have, according to its hunks.
pub(super) fn deleted(
    place: Place,
    path: &RelPath,
    hunks: &[Hunk<'_>],
) -> Result<Digest, ParseError> {
    let mut hasher = Hasher::new();
    match hunks {
        [] => {}
        [hunk] if hunk.deletes() => hunk.for_each_line(|line| hasher.update(line)),
        [..] => {
            let problem =
                DiffProblem::WholeFile { path: path.clone(), form: "@@ -1,COUNT +0,0 @@" };
            return Err(ParseError::diff(place, problem));
        }
    }
    Ok(hasher.finish())
}
