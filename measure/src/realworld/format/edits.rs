//! Writes a change as JSON edits, each of which replaces a text that occurs once in its file.

use std::collections::BTreeSet;

use serde::Serialize;

use super::super::Failure;
use super::super::change::TextKind;
use super::places::{occurs_once, places};
use super::{Material, Written};

#[derive(Serialize)]
struct Document<'a> {
    edits: Vec<Edit<'a>>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Edit<'a> {
    path: &'a str,
    old_string: &'a str,
    new_string: &'a str,
}

pub(super) fn write(material: &Material) -> Result<Written, Failure> {
    let mut edits = Vec::new();
    let mut paths = BTreeSet::new();
    for change in &material.changes {
        let Some(text) = change.text() else { continue };
        match text.kind {
            // An empty file contains no text to be found.
            TextKind::Modified { old: "", .. } | TextKind::Added { .. } => continue,
            TextKind::Modified { old, new } => edits.extend(edits_of(text.path, old, new)),
        }
        paths.insert(change.path.clone());
    }
    Ok(Written { text: serde_json::to_vec(&Document { edits })?, paths })
}

/// Returns the edits of a file. The old text of each edit must occur exactly once in the result of the edits before it. If that is
/// impossible, one edit replaces the entire file.
fn edits_of<'a>(path: &'a str, old: &'a str, new: &'a str) -> Vec<Edit<'a>> {
    let mut content = old.to_owned();
    let mut edits = Vec::new();
    for place in places(old, new) {
        if !occurs_once(&content, place.old) {
            return vec![Edit { path, old_string: old, new_string: new }];
        }
        content = content.replacen(place.old, place.new, 1);
        edits.push(Edit { path, old_string: place.old, new_string: place.new });
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;

    #[test]
    fn edits_carry_modified_text_with_surrounding_lines() {
        let old: &[(&str, &[u8], u32)] = &[
            ("a", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", 0o644),
            ("b", b"\xff", 0o644),
            ("c", b"", 0o644),
        ];
        let new: &[(&str, &[u8], u32)] = &[
            ("a", b"1\n2\n3\n4\n6\n7\n8\n9\n", 0o644),
            ("b", b"1", 0o644),
            ("c", b"1", 0o644),
            ("d", b"1", 0o644),
        ];
        let written = write(&material(old, new, &[])).unwrap();
        assert_eq!(written.paths(), ["a"]);
        assert_eq!(
            written.text(),
            r#"{"edits":[{"path":"a","old_string":"2\n3\n4\n5\n6\n7\n8\n","new_string":"2\n3\n4\n6\n7\n8\n"}]}"#
        );
    }

    #[test]
    fn edit_made_ambiguous_by_an_earlier_one_becomes_a_whole_file_edit() {
        let far = "-\n".repeat(20);
        let old = format!("a\nb\nc\nd\n{far}1\n2\n3\n4\n5\n6\n7\n");
        // The first edit creates a second place that looks like that of the last edit.
        let new = format!("1\n2\n3\n4\n5\n6\n7\n{far}1\n2\n3\nfour\n5\n6\n7\n");
        let edits = edits_of("a", &old, &new);
        assert_eq!(edits, [Edit { path: "a", old_string: &old, new_string: &new }]);
    }
}
