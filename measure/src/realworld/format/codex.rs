//! Writes a change as a patch for `apply_patch`, the tool used by the agent Codex.

use std::collections::BTreeSet;

use actum_edit::line_diff::hunks;

use super::super::change::{Change, Kind, TextKind, text};
use super::places::{End, places};
use super::{Material, Written};

pub(super) fn write(material: &Material) -> Written {
    let mut patch = Patch::default();
    for moved in &material.found.moved {
        let [from, to] = [&moved.from, &moved.to]
            .map(|path| material.changes.iter().find(|change| change.path == **path));
        if let (Some(from), Some(to)) = (from, to) {
            patch.move_file(from, to);
        }
    }
    for change in &material.changes {
        if !patch.paths.contains(&change.path) {
            patch.change_file(change);
        }
    }
    // Deletions come first, to make room for additions.
    let Patch { deleted, updated, added, paths } = patch;
    let text = ["*** Begin Patch\n", &deleted, &updated, &added, "*** End Patch\n"].concat();
    Written { text: text.into_bytes(), paths }
}

#[derive(Default)]
struct Patch {
    deleted: String,
    updated: String,
    added: String,
    paths: BTreeSet<Vec<u8>>,
}

impl Patch {
    fn change_file(&mut self, change: &Change) {
        let Some(path) = shown(&change.path) else { return };
        if let Kind::Deleted { .. } = change.kind {
            self.deleted += &format!("*** Delete File: {path}\n");
        } else {
            match change.text().map(|text| text.kind) {
                Some(TextKind::Added { new }) if new.ends_with('\n') => {
                    self.added += &format!("*** Add File: {path}\n");
                    new.split_inclusive('\n').for_each(|line| self.added += &format!("+{line}"));
                }
                Some(TextKind::Modified { old, new })
                    if old.ends_with('\n') && new.ends_with('\n') =>
                {
                    self.updated += &format!("*** Update File: {path}\n{}", update(old, new));
                }
                Some(TextKind::Added { .. } | TextKind::Modified { .. }) | None => return,
            }
        }
        self.paths.insert(change.path.clone());
    }

    /// Writes a file that was both moved and changed. A file that was only moved has no hunks, so it is deleted and added.
    fn move_file(&mut self, from: &Change, to: &Change) {
        let (Kind::Deleted { old }, Kind::Added { new }) = (&from.kind, &to.kind) else { return };
        let Some((from_path, to_path)) = shown(&from.path).zip(shown(&to.path)) else { return };
        let Some((old_text, new_text)) = text(old).zip(text(new)) else { return };
        if old.is_executable() != new.is_executable()
            || old_text == new_text
            || !old_text.ends_with('\n')
            || !new_text.ends_with('\n')
        {
            return;
        }
        let update = update(old_text, new_text);
        self.updated += &format!("*** Update File: {from_path}\n*** Move to: {to_path}\n{update}");
        self.paths.extend([from.path.clone(), to.path.clone()]);
    }
}

/// Returns the path as text if it fits on one line.
fn shown(path: &[u8]) -> Option<&str> {
    let path = std::str::from_utf8(path).ok()?;
    (path.trim() == path && !path.contains(['\n', '\r'])).then_some(path)
}

/// Returns the hunks of a file, each of which fits in only one place.
fn update(old: &str, new: &str) -> String {
    let mut text = String::new();
    for place in places(old, new) {
        text += "@@\n";
        // One hunk contains the complete place, because only the complete place is unique.
        for hunk in hunks(place.old.as_bytes(), place.new.as_bytes(), u32::MAX) {
            text += &String::from_utf8_lossy(&hunk.body);
        }
        if place.end == End::OfText {
            text += "*** End of File\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;

    #[test]
    fn codex_writes_deletions_first_and_moves_as_updates() {
        let lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let changed = lines.replace("5\n", "five\n");
        let moved = lines.replace("9\n", "9\nten\n");
        let old: &[(&str, &[u8], u32)] = &[
            ("bare", b"no newline", 0o644),
            ("changed", lines.as_bytes(), 0o644),
            ("from", lines.as_bytes(), 0o644),
            ("gone", b"\xff", 0o755),
        ];
        let new: &[(&str, &[u8], u32)] = &[
            ("added", b"a\nb\n", 0o644),
            ("bare", b"newline\n", 0o644),
            ("changed", changed.as_bytes(), 0o644),
            ("run", b"a\n", 0o755),
            ("to", moved.as_bytes(), 0o644),
        ];
        let written = write(&material(old, new, &[("from", "to")]));
        assert_eq!(written.paths(), ["added", "changed", "from", "gone", "to"]);
        assert_eq!(
            written.text(),
            "*** Begin Patch\n\
             *** Delete File: gone\n\
             *** Update File: from\n*** Move to: to\n@@\n 7\n 8\n 9\n+ten\n*** End of File\n\
             *** Update File: changed\n@@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
             *** Add File: added\n+a\n+b\n\
             *** End Patch\n"
        );
    }
}
