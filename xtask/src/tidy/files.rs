//! Rules for every source file: its first line, its length and a meaningful name.

use super::Finding;
use super::tree::{Source, Tree};

const LINES_MAX: usize = 600;

/// Names that attract unrelated code. Their plurals are rejected as well.
const MAGNETS: &[&str] = &["util", "utility", "helper", "common", "manager", "misc"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources
        .iter()
        .flat_map(|source| [first_line(source), length(source), name(source)])
        .flatten()
        .collect()
}

fn first_line(source: &Source) -> Option<Finding> {
    let is_module = source.path.split('/').any(|part| part == "src");
    let says_what = source.text.lines().next().is_some_and(|line| {
        line.strip_prefix("//!").is_some_and(|comment| !comment.trim().is_empty())
    });
    (is_module && !says_what).then(|| {
        let problem = "the first line is not a `//!` comment that says what the file does";
        Finding::new(&source.path, 1, problem)
    })
}

fn length(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    (lines > LINES_MAX).then(|| {
        let problem = format!("{lines} lines, more than {LINES_MAX}: it wants a second room");
        Finding::new(&source.path, None, problem)
    })
}

/// Checks the last word of every path component: `path_utils.rs` and `common/mod.rs` attract unrelated code, while
/// `common_prefix.rs` describes one thing.
fn name(source: &Source) -> Option<Finding> {
    let stem = source.path.strip_suffix(".rs").unwrap_or(&source.path);
    let magnet = stem.split('/').find_map(|part| {
        let word = part.rsplit(['_', '-']).next().unwrap_or(part).to_lowercase();
        MAGNETS.iter().find(|magnet| is_one_or_many(&word, magnet))
    })?;
    let problem = format!("`{magnet}` names no thing, so it draws everything: say what is inside");
    Some(Finding::new(&source.path, None, problem))
}

fn is_one_or_many(word: &str, noun: &str) -> bool {
    word == noun
        || word.strip_suffix('s') == Some(noun)
        || word.strip_suffix("ies").is_some_and(|stem| noun.strip_suffix('y') == Some(stem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::testing::findings;

    #[test]
    fn module_without_a_leading_doc_comment_is_reported() {
        let found = findings(
            check,
            &[
                ("crates/a/src/bare.rs", "fn a() {}\n"),
                ("crates/a/src/empty.rs", ""),
                ("crates/a/src/good.rs", "//! Does one thing.\n"),
                ("crates/a/src/mute.rs", "//!\n//! Late.\n"),
                ("crates/a/tests/free.rs", "fn a() {}\n"),
            ],
        );
        assert_eq!(
            found,
            ["bare", "empty", "mute"].map(|name| format!(
                "crates/a/src/{name}.rs:1: the first line is not a `//!` comment that says what \
                 the file does"
            ))
        );
    }

    #[test]
    fn file_may_have_at_most_600_lines() {
        let (full, over) = ("\n".repeat(600), "\n".repeat(601));
        assert_eq!(
            findings(check, &[("tests/full.rs", &full), ("tests/over.rs", &over)]),
            ["tests/over.rs: 601 lines, more than 600: it wants a second room"]
        );
    }

    #[test]
    fn vague_module_name_is_reported() {
        let names = [
            ("tests/common/mod.rs", Some("common")),
            ("tests/common_prefix.rs", None),
            ("tests/helpers.rs", Some("helper")),
            ("tests/lock_manager.rs", Some("manager")),
            ("tests/misc.rs", Some("misc")),
            ("tests/path_utils.rs", Some("util")),
            ("tests/permission.rs", None),
            ("tests/utilities.rs", Some("utility")),
        ];
        let expected: Vec<String> = names
            .iter()
            .filter_map(|(path, magnet)| {
                let magnet = (*magnet)?;
                Some(format!(
                    "{path}: `{magnet}` names no thing, so it draws everything: say what is inside"
                ))
            })
            .collect();
        assert_eq!(findings(check, &names.map(|(path, _)| (path, ""))), expected);
    }
}
