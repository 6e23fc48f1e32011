//! Differences of files, as text and as JSON.

use std::io::{self, Write};

use actum_edit::format::git_diff::write::Part;
use actum_workspace::path_change::PathChange;
use serde::{Serialize, Serializer};

use crate::diff_text::{self, Audience, Section};
use crate::shown_path::ShownPath;

/// The differences of files, ordered by path.
#[derive(Debug, Clone)]
pub(crate) struct FileDiffs {
    known: Vec<PathChange>,
    audience: Audience,
}

/// JSON form.
#[derive(Serialize)]
struct ShownDiffs {
    changes: Vec<FileDiff>,
}

#[derive(Debug, Clone, Serialize)]
struct FileDiff {
    #[serde(flatten)]
    path: ShownPath,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<ShownPath>,
    /// `None` where the content is too large, is not known any more, or is not UTF-8.
    diff: Option<String>,
    added: u64,
    removed: u64,
}

impl FileDiffs {
    pub(crate) fn of(known: Vec<PathChange>, audience: Audience) -> Self {
        Self { known, audience }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.audience == Audience::Terminal {
            diff_text::write_directories(&self.known, out)?;
        }
        let sections = diff_text::sections(&self.known);
        sections.iter().try_for_each(|section| section.write(self.audience, out))
    }
}

impl Serialize for FileDiffs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let changes = diff_text::sections(&self.known).iter().map(FileDiff::of).collect();
        ShownDiffs { changes }.serialize(serializer)
    }
}

impl FileDiff {
    fn of(section: &Section<'_>) -> Self {
        let (mut text, mut added, mut removed) = (Vec::new(), 0, 0);
        section.pieces(|part, piece| {
            text.extend_from_slice(piece);
            // The mark of a missing newline is no line.
            if piece.first() != Some(&b'\\') {
                added += u64::from(part == Part::Added);
                removed += u64::from(part == Part::Removed);
            }
        });
        Self {
            path: ShownPath(section.change.path.clone()),
            renamed_from: section.change.renamed_from.clone().map(ShownPath),
            diff: String::from_utf8(text).ok(),
            added,
            removed,
        }
    }
}
