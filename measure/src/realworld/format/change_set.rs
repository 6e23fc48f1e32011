//! Writes a change as a JSON change set with text hunks and new files.

use std::collections::BTreeSet;

use actum_core::Digest;
use actum_edit::line_diff::{CONTEXT_LINES, hunks};
use actum_edit::{ChangeSet, Hunk, LineHunk, Patch};

use super::super::Failure;
use super::super::change::TextKind;
use super::{Material, Written};

pub(super) fn write(material: &Material) -> Result<Written, Failure> {
    let mut set = ChangeSet::new();
    let mut paths = BTreeSet::new();
    for change in &material.changes {
        let Some(text) = change.text() else { continue };
        let (old, new) = match text.kind {
            // A new empty file has no hunk. An empty file that replaces a deleted one would need a deletion, which this format
            // cannot express.
            TextKind::Added { new: "" } => continue,
            TextKind::Added { .. } if !material.old.has_room_for(&change.path) => continue,
            TextKind::Added { new } => ("", new),
            TextKind::Modified { old, new } => (old, new),
        };
        let hunks = hunks(old.as_bytes(), new.as_bytes(), CONTEXT_LINES);
        let expected = match text.kind {
            TextKind::Added { .. } => None,
            TextKind::Modified { old, .. } => Some(Digest::of(old.as_bytes()).to_string()),
        };
        set.patches.push(Patch {
            path: text.path.to_owned(),
            hunks: hunks.into_iter().map(hunk).collect::<Result<_, _>>()?,
            expected_prev_sha256: expected,
        });
        paths.insert(change.path.clone());
    }
    Ok(Written { text: serde_json::to_vec(&set)?, paths })
}

fn hunk(hunk: LineHunk) -> Result<Hunk, std::string::FromUtf8Error> {
    let LineHunk { old_start, old_lines, new_start, new_lines, body, .. } = hunk;
    Ok(Hunk { old_start, old_lines, new_start, new_lines, lines: String::from_utf8(body)? })
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;

    #[test]
    fn change_set_carries_only_changed_and_new_text() {
        let old: &[(&str, &[u8], u32)] = &[
            ("binary", b"\xff", 0o644),
            ("changed", b"a\nb", 0o644),
            ("deleted", b"a\n", 0o644),
            ("emptied", b"a\n", 0o644),
            ("mode", b"a\n", 0o644),
            ("turned", b"a\n", 0o644),
        ];
        let new: &[(&str, &[u8], u32)] = &[
            ("binary", b"\xfe", 0o644),
            ("changed", b"a\nc", 0o644),
            ("emptied", b"", 0o644),
            ("empty", b"", 0o644),
            ("mode", b"b\n", 0o755),
            ("new", b"n", 0o644),
            ("turned/new", b"n", 0o644),
        ];
        let written = write(&material(old, new, &[])).unwrap();
        assert_eq!(written.paths(), ["changed", "emptied", "new"]);
        let set: ChangeSet = serde_json::from_str(written.text()).unwrap();
        assert_eq!(
            set.patches[0].hunks[0].lines,
            " a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        assert_eq!(set.patches[2].hunks[0].old_start, 0);
    }
}
