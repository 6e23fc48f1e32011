//! Parsers of inputs: they never panic, return the same result twice, and their errors can be shown.

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
        // None of them is left out.
        let is_head = |line: &&[u8]| line.trim_ascii_end() == b"<<<<<<< SEARCH";
        assert_eq!(operations.len(), input.split(|byte| *byte == b'\n').filter(is_head).count());
        assert!(search_replace::begins(input));
    }
    sound(parsed);
}

pub(super) fn formats(input: &[u8]) {
    // Parsed in the recognised format, and in each format.
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
                    // Hunks may be out of order, which their patcher reports.
                    drop(Patcher::new(&hunks).map(drop).map_err(|error| error.to_string()));
                }
            }
        }
    }
}
