//! Writes a change as whole files in JSON: the new content of each file, or its deletion.

use serde::Serialize;

use actum_core::Digest;

use super::super::Failure;
use super::super::change::{Change, Kind, text};
use super::super::tree::Leaf;
use super::base64::encode;
use super::{Material, Written};

#[derive(Serialize)]
struct Document<'a> {
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    #[serde(flatten)]
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_prev_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executable: Option<bool>,
}

/// Content of a file, where `null` deletes it.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text { content: Option<&'a str> },
    Bytes { content_base64: String },
}

pub(super) fn write(material: &Material) -> Result<Written, Failure> {
    let carried = material.changes.iter().filter_map(|change| Some((change, file(change)?)));
    let (changes, mut files): (Vec<&Change>, Vec<File<'_>>) = carried.unzip();
    // A file may replace a directory, or a directory a file, so deletions come first. Otherwise, the order is kept.
    files.sort_by_key(|file| !matches!(file.content, Content::Text { content: None }));
    let paths = changes.iter().map(|change| change.path.clone()).collect();
    Ok(Written { text: serde_json::to_vec(&Document { files })?, paths })
}

/// Returns the written form of a change, or `None` if its path is not text.
fn file(change: &Change) -> Option<File<'_>> {
    let path = std::str::from_utf8(&change.path).ok()?;
    let expected = |old: &Leaf| Some(Digest::of(&old.content).to_string());
    Some(match &change.kind {
        Kind::Added { new } => File {
            path,
            content: content(new),
            expected_prev_sha256: None,
            executable: new.is_executable().then_some(true),
        },
        Kind::Deleted { old } => File {
            path,
            content: Content::Text { content: None },
            expected_prev_sha256: expected(old),
            executable: None,
        },
        Kind::Modified { old, new } => File {
            path,
            content: content(new),
            expected_prev_sha256: expected(old),
            executable: (old.is_executable() != new.is_executable()).then_some(new.is_executable()),
        },
    })
}

fn content(leaf: &Leaf) -> Content<'_> {
    match text(leaf) {
        Some(text) => Content::Text { content: Some(text) },
        None => Content::Bytes { content_base64: encode(&leaf.content) },
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::material;
    use super::*;

    #[test]
    fn whole_files_carry_all_changes_with_deletions_first() {
        let old: &[(&str, &[u8], u32)] =
            &[("changed", b"", 0o755), ("z", b"", 0o644), ("binary", b"", 0o644)];
        let new: &[(&str, &[u8], u32)] =
            &[("changed", b"a", 0o644), ("binary", b"\xff", 0o644), ("run", b"b", 0o755)];
        let written = write(&material(old, new, &[])).unwrap();
        assert_eq!(written.paths(), ["binary", "changed", "run", "z"]);
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(
            written.text(),
            format!(
                r#"{{"files":[{{"path":"z","content":null,"expected_prev_sha256":"{empty}"}},"#
            ) + &format!(
                r#"{{"path":"binary","content_base64":"/w==","expected_prev_sha256":"{empty}"}},"#
            ) + &format!(
                r#"{{"path":"changed","content":"a","expected_prev_sha256":"{empty}","executable":false}},"#
            ) + r#"{"path":"run","content":"b","executable":true}]}"#
        );
    }
}
