//! Fuzz targets for the input parsers. A parser must never panic, must be deterministic, and must produce errors that
//! are safe to print.

use actum_core::{RelPath, path::PATH_BYTES_MAX};
use actum_edit::Operation;
use actum_edit::format::{
    self, Format, HunkCounts, Reading, codex_patch, git_diff, search_replace,
};
use actum_edit::hunk::Patcher;

pub(super) fn git_diff(input: &[u8]) {
    let parsed = git_diff::parse(input);
    assert_eq!(parsed, git_diff::parse(input));
    sound(git_diff::parse_with(
        input,
        &Reading { counts: HunkCounts::Counted, ..Reading::default() },
    ));
    sound(parsed);
}

pub(super) fn codex_patch(input: &[u8]) {
    let parsed = codex_patch::parse(input);
    assert_eq!(parsed, codex_patch::parse(input));
    sound(parsed);
}

pub(super) fn search_replace(input: &[u8]) {
    let parsed = search_replace::parse(input);
    assert_eq!(parsed, search_replace::parse(input));
    if let Ok(operations) = &parsed {
        // The parser must return one operation for each `<<<<<<< SEARCH` line in the input.
        let is_head = |line: &&[u8]| line.trim_ascii_end() == b"<<<<<<< SEARCH";
        assert_eq!(operations.len(), input.split(|byte| *byte == b'\n').filter(is_head).count());
        assert!(search_replace::begins(input));
    }
    sound(parsed);
}

pub(super) fn formats(input: &[u8]) {
    // Parse the input once in every format, and once with automatic format detection.
    for format in Format::ALL.map(Some).into_iter().chain([None]) {
        for target in [None, Some(RelPath::new("a").unwrap())] {
            sound(format::parse(input, &Reading { format, target, ..Reading::default() }));
        }
    }
}

fn sound(parsed: Result<Vec<Operation>, format::ParseError>) {
    match parsed {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control), "{text:?}");
            assert!(text.len() < 8 * PATH_BYTES_MAX, "{text}");
        }
        Ok(operations) => {
            assert!(!operations.is_empty());
            for operation in operations {
                if let Operation::Patch { hunks, .. } = operation {
                    // The parser accepts hunks that are out of order; only the patcher rejects them.
                    drop(Patcher::new(&hunks).map(drop).map_err(|error| error.to_string()));
                }
            }
        }
    }
}
