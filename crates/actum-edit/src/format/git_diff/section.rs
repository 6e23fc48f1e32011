//! Effect of one section of a diff on its file.

use actum_core::place::Place;
use actum_core::{Digest, Hasher, RelPath};

use super::header::Body;
use super::hunks::Hunk;
use super::problem::DiffProblem;
use crate::LineHunk;
use crate::edit::BinaryEdit;
use crate::format::ParseError;

/// The change of one file, and the line it starts at.
pub(super) struct Section<'a> {
    pub(super) line: u64,
    pub(super) change: Change<'a>,
}

/// Effect on a file. Every path but the target of a rename or copy refers to the tree before the
/// whole diff.
pub(super) enum Change<'a> {
    /// An existing file.
    Modify { path: RelPath, edit: Edit<'a> },
    /// A new file.
    Create { path: RelPath, content: Vec<u8>, mode: GitMode },
    /// A deleted file or link.
    Delete { path: RelPath, expected: Digest, is_link: bool },
    /// A file that moves; the edit is of the result.
    Rename { from: RelPath, to: RelPath, edit: Edit<'a> },
    /// A file that is copied; the edit is of the copy.
    Copy { from: RelPath, to: RelPath, edit: Edit<'a> },
}

/// The modes of git, except that of submodules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitMode {
    /// `100644`.
    File,
    /// `100755`.
    Executable,
    /// `120000`: a symbolic link, whose content is its target.
    Link,
}

/// Changes in a file that stays.
pub(super) struct Edit<'a> {
    pub(super) before: Before,
    pub(super) content: Content<'a>,
    /// The executable bit it gets, when that changes.
    pub(super) executable: Option<bool>,
}

/// Knowledge of the content before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// There was some.
    Something,
    /// Nothing.
    Unknown,
}

/// Change of the content of a file.
pub(super) enum Content<'a> {
    /// By lines, of which there may be none.
    Lines(Vec<Hunk<'a>>),
    /// Replacement as a whole.
    Binary(BinaryEdit),
    /// The target of a symbolic link.
    Target { old: Vec<u8>, new: Vec<u8> },
}

/// Returns the targets of a link before and after, if the body has both as a whole.
pub(super) fn targets(body: &Body<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let hunks = match body {
        Body::Lines(hunks) => hunks.as_slice(),
        Body::Binary(_) => return None,
    };
    let [hunk] = hunks else { return None };
    let hunk = hunk.to_line_hunk();
    let (old, new) = (hunk.old_text(), hunk.new_text());
    // A target ends without a newline, and its hunk reaches that end.
    let is_whole = |text: &[u8], start: u32| start == 1 && !text.ends_with(b"\n");
    (is_whole(&old, hunk.old_start) && is_whole(&new, hunk.new_start)).then_some((old, new))
}

impl Edit<'_> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.content, Content::Lines(hunks) if hunks.is_empty())
            && self.executable.is_none()
    }
}

/// Returns the hunks of an existing file. Lines at line 0 go before others only where it is known
/// that there were others: else the same diff could be made twice.
pub(super) fn line_hunks(hunks: &[Hunk<'_>], before: Before) -> Vec<LineHunk> {
    let hunks = hunks.iter().map(Hunk::to_line_hunk).collect();
    match before {
        Before::Something => hunks,
        Before::Unknown => LineHunk::making(hunks),
    }
}

/// The content that the hunks of a new file hold; no hunks make an empty file.
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

/// The digest of the content that the hunks of a deleted file hold.
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
