//! Diffs of changed files, rendered as text and as JSON.

use std::io::{self, Write};

use actum_api::change::{Diffs, FileDiff};
use actum_api::path::WorkspacePath;
use actum_edit::format::git_diff::write::Part;
use actum_workspace::path_change::PathChange;

use crate::diff_text::{self, Audience, Section};

/// Diffs of changed files, ordered by path.
#[derive(Debug, Clone)]
pub(crate) struct FileDiffs {
    known: Vec<PathChange>,
    audience: Audience,
}

impl FileDiffs {
    pub(crate) fn new(known: Vec<PathChange>, audience: Audience) -> Self {
        Self { known, audience }
    }

    /// Returns the JSON form of the diffs.
    pub(crate) fn document(&self) -> Diffs {
        Diffs { changes: diff_text::sections(&self.known).iter().map(file_diff).collect() }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.audience == Audience::Terminal {
            diff_text::write_directories(&self.known, out)?;
        }
        let sections = diff_text::sections(&self.known);
        sections.iter().try_for_each(|section| section.write(self.audience, out))
    }
}

fn file_diff(section: &Section<'_>) -> FileDiff {
    let (mut text, mut added, mut removed) = (Vec::new(), 0, 0);
    section.pieces(|part, piece| {
        text.extend_from_slice(piece);
        // A piece that starts with `\` marks a missing final newline and is not counted as a line.
        if piece.first() != Some(&b'\\') {
            added += u64::from(part == Part::Added);
            removed += u64::from(part == Part::Removed);
        }
    });
    FileDiff {
        path: (&section.change.path).into(),
        renamed_from: section.change.renamed_from.as_ref().map(WorkspacePath::from),
        diff: String::from_utf8(text).ok(),
        added,
        removed,
    }
}
