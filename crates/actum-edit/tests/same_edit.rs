//! Expresses one edit of a text file in every supported format.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at what it did not expect"
)]

use actum_core::{Digest, FileMode, RelPath};
use actum_edit::format::git_diff::write::{Side, section};
use actum_edit::format::{Reading, parse};
use actum_edit::hunk::Patcher;
use actum_edit::{ChangeSet, Hunk, LineHunk, Operation, Patch, Splice, line_diff};
use proptest::prelude::*;
use serde_json::json;

/// Applies the operations described by `input` to one file, each to the result of the one before.
fn made(input: &str, content: &[u8]) -> Vec<u8> {
    let operations = parse(input.as_bytes(), &Reading::default()).unwrap();
    operations.iter().fold(content.to_vec(), |content, operation| step(operation, &content))
}

fn step(operation: &Operation, content: &[u8]) -> Vec<u8> {
    match operation {
        Operation::Edit { edit, .. } => {
            Splice::apply(&edit.splices(content).unwrap(), content).unwrap()
        }
        Operation::Patch { hunks, .. } => {
            let mut new = Vec::new();
            let mut patcher = Patcher::new(hunks).unwrap();
            patcher.feed(content, |bytes| new.extend_from_slice(bytes)).unwrap();
            patcher.finish(|bytes| new.extend_from_slice(bytes)).unwrap();
            new
        }
        Operation::Write { content: new, expected, .. } => {
            assert_eq!(*expected, Some(Digest::of(content)));
            new.clone()
        }
        Operation::Create { .. }
        | Operation::Delete { .. }
        | Operation::Rename { .. }
        | Operation::Copy { .. }
        | Operation::Chmod { .. }
        | Operation::ChmodDirectory { .. }
        | Operation::MakeDirectory { .. }
        | Operation::RemoveDirectory { .. }
        | Operation::Take { .. }
        | Operation::Link { .. } => panic!("{operation:?}"),
    }
}

fn as_edit(old: &str, new: &str) -> String {
    let (before, after) = smallest(old, new);
    json!({"file_path": "a", "old_string": before, "new_string": after}).to_string()
}

/// Returns the smallest changed piece of `old` that occurs in it once, and its replacement.
fn smallest<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let is_end = |text: &str, at: &usize| text.is_char_boundary(*at);
    let both = old.len().min(new.len());
    let start = (0..=both).rev().find(|at| is_end(old, at) && old.get(..*at) == new.get(..*at));
    let mut start = start.unwrap();
    let left = both - start;
    let end = (0..=left).rev().find(|n| {
        let (old_at, new_at) = (old.len() - n, new.len() - n);
        is_end(old, &old_at) && is_end(new, &new_at) && old[old_at..] == new[new_at..]
    });
    let mut end = end.unwrap();
    let occurrences = |part: &str| {
        (0..old.len()).filter(|at| old.as_bytes()[*at..].starts_with(part.as_bytes())).count()
    };
    loop {
        let (before, after) = (&old[start..old.len() - end], &new[start..new.len() - end]);
        if !before.is_empty() && occurrences(before) == 1 {
            return (before, after);
        }
        start = (0..start).rev().find(|at| is_end(old, at)).unwrap_or(0);
        end = (0..end).rev().find(|n| is_end(old, &(old.len() - n))).unwrap_or(0);
    }
}

fn as_file(old: &str, new: &str) -> String {
    let digest = Digest::of(old.as_bytes()).to_string();
    json!({"files": [{"path": "a", "content": new, "expected_prev_sha256": digest}]}).to_string()
}

fn as_change_set(old: &str, new: &str) -> String {
    let hunk = |hunk: &LineHunk| Hunk {
        old_start: hunk.old_start,
        old_lines: hunk.old_lines,
        new_start: hunk.new_start,
        new_lines: hunk.new_lines,
        lines: String::from_utf8(hunk.body.clone()).unwrap(),
    };
    let hunks = line_diff::hunks(old.as_bytes(), new.as_bytes(), 3);
    let patch = Patch {
        path: "a".to_owned(),
        hunks: hunks.iter().map(hunk).collect(),
        expected_prev_sha256: None,
    };
    serde_json::to_string(&ChangeSet { patches: vec![patch] }).unwrap()
}

fn as_git_diff(old: &str, new: &str) -> String {
    let path = RelPath::new("a").unwrap();
    let mut diff = Vec::new();
    let [old, new] = [old, new]
        .map(|text| Some(Side { path: &path, mode: FileMode::REGULAR, content: text.as_bytes() }));
    section(old, new, |_, piece| diff.extend_from_slice(piece));
    String::from_utf8(diff).unwrap()
}

/// Writes the edit as a Codex patch. The format cannot express a missing final newline, so both contents end with one.
fn as_codex_patch(old: &str, new: &str) -> String {
    let hunks = line_diff::hunks(old.as_bytes(), new.as_bytes(), 1);
    let chunk = |hunk: &LineHunk| format!("@@\n{}", String::from_utf8(hunk.body.clone()).unwrap());
    let chunks: String = hunks.iter().map(chunk).collect();
    format!("*** Begin Patch\n*** Update File: a\n{chunks}*** End Patch\n")
}

/// Writes the edit as one SEARCH/REPLACE block for each hunk. This format cannot express a missing final newline either.
fn as_blocks(old: &str, new: &str) -> String {
    let block = |hunk: &LineHunk| {
        let side = |sign: char| -> String {
            let body = std::str::from_utf8(&hunk.body).unwrap().split_inclusive('\n');
            let lines = body.filter(|line| line.starts_with(sign) || line.starts_with(' '));
            lines.map(|line| &line[1..]).collect()
        };
        format!("a\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n", side('-'), side('+'))
    };
    line_diff::hunks(old.as_bytes(), new.as_bytes(), 1).iter().map(block).collect()
}

/// Generates contents in which each line occurs once, so that a few lines of context identify a place.
fn told_apart() -> impl Strategy<Value = (String, String)> {
    prop::collection::vec(0..6u8, 2..40).prop_map(|fates| {
        let (mut old, mut new) = (String::new(), String::new());
        for (number, fate) in fates.into_iter().enumerate() {
            let line = format!("line {number} \u{e9}\n");
            if fate != 0 {
                old += &line;
            }
            match fate {
                1 => {}
                2 => new += &format!("changed {number}\n"),
                _ => new += &line,
            }
        }
        (old, new)
    })
}

fn text() -> impl Strategy<Value = String> {
    let line = ("[abé\"\\\\ ]{0,3}", prop_oneof![Just("\n"), Just("\r\n")]);
    let lines = prop::collection::vec(line.prop_map(|(line, end)| line + end), 0..8);
    (lines, "[aé]{0,2}").prop_map(|(lines, last)| lines.concat() + &last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// FO-10
    #[test]
    fn one_edit_in_four_formats_produces_the_same_content(old in text(), new in text()) {
        prop_assume!(!old.is_empty() && old != new);
        let (edit, file) = (as_edit(&old, &new), as_file(&old, &new));
        for input in [edit, file, as_change_set(&old, &new), as_git_diff(&old, &new)] {
            prop_assert_eq!(made(&input, old.as_bytes()), new.as_bytes(), "{}", input);
        }
    }

    /// FO-10
    #[test]
    fn one_edit_in_six_formats_produces_the_same_content((old, new) in told_apart()) {
        prop_assume!(old.lines().count() > 1 && !new.is_empty() && old != new);
        let (edit, file) = (as_edit(&old, &new), as_file(&old, &new));
        let (diff, codex) = (as_git_diff(&old, &new), as_codex_patch(&old, &new));
        let blocks = as_blocks(&old, &new);
        for input in [edit, file, as_change_set(&old, &new), diff, codex, blocks] {
            prop_assert_eq!(made(&input, old.as_bytes()), new.as_bytes(), "{}", input);
        }
    }
}
