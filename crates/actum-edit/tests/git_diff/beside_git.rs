//! Applies text diffs written by git, some of them damaged, with both git and actum.

use actum_edit::format::git_diff;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::model::Tree;
use crate::path;
use crate::repository::Repository;

const NAMES: [&str; 5] = ["a", "b c", "d/e", "d/f\u{e9}", "g\"h"];

/// Generates contents with many equal lines, so that hunks often fit in more than one place.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![3 => "[abc]{1}", 1 => "[a-e ]{0,4}", 1 => Just("--- a/a".to_owned())];
    (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, ends)| {
        let text = lines.join("\n");
        if ends && !text.is_empty() { text + "\n" } else { text }.into_bytes()
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let file = prop::option::of((content(), any::<bool>()));
    prop::collection::vec(file, NAMES.len()).prop_map(|files| {
        let named = NAMES.iter().zip(files);
        Tree(named.filter_map(|(name, file)| Some((path(name), file?))).collect())
    })
}

#[derive(Debug, Clone)]
enum Damage {
    None,
    /// Replaces one byte.
    Byte(u8),
    Drop,
    Double,
    Swap,
    /// Replaces the first character of a line with another one that has a meaning there.
    Sign(char),
    /// Replaces one digit.
    Digit(char),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        2 => Just(Damage::None),
        1 => any::<u8>().prop_map(Damage::Byte),
        1 => Just(Damage::Drop),
        1 => Just(Damage::Double),
        1 => Just(Damage::Swap),
        2 => prop::sample::select(vec![' ', '+', '-', '\\', '@']).prop_map(Damage::Sign),
        2 => proptest::char::range('0', '9').prop_map(Damage::Digit),
    ]
}

fn damaged(diff: &[u8], damage: &Damage, at: prop::sample::Index) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> =
        diff.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let line = at.index(lines.len());
    let last = lines.len() - 1;
    match damage {
        Damage::None => {}
        Damage::Byte(byte) => {
            let column = at.index(lines[line].len());
            lines[line][column] = *byte;
        }
        Damage::Drop => drop(lines.remove(line)),
        Damage::Double => lines.insert(line, lines[line].clone()),
        Damage::Swap => lines.swap(line, last.min(line + 1)),
        Damage::Sign(sign) => lines[line][0] = *sign as u8,
        Damage::Digit(digit) => {
            let is_digit = |(_, byte): &(usize, &u8)| byte.is_ascii_digit();
            let digits: Vec<_> = diff.iter().enumerate().filter(is_digit).map(|(i, _)| i).collect();
            let mut diff = diff.to_vec();
            if !digits.is_empty() {
                diff[digits[at.index(digits.len())]] = *digit as u8;
            }
            return diff;
        }
    }
    lines.concat()
}

/// FO-10: a diff without context lines whose only hunk is at the top of a file.
#[test]
fn insertion_at_the_top_of_a_file_matches_git_apply() {
    let (writer, reader) = (Repository::new("sha1"), Repository::new("sha1"));
    let tree = |text: &str| Tree([(path("a"), (text.into(), false))].into());
    let (before, after) = (tree("two\n"), tree("one\ntwo\n"));
    let diff = writer.diff_with(&["-U0"], &before, &after);
    assert!(diff.windows(13).any(|window| window == b"@@ -0,0 +1 @@"));
    let operations = git_diff::parse(&diff).unwrap();
    assert_eq!(before.clone().apply(&operations), Ok(after.clone()));
    assert_eq!(reader.apply_with(&["--unidiff-zero"], &before, &diff), Ok(after));
}

/// FO-10: actum accepts every diff that git writes. If it accepts a damaged diff, git accepts it as well with the same result.
#[test]
fn damaged_diff_is_rejected_or_applied_as_by_git() {
    let (writer, reader) = (Repository::new("sha1"), Repository::new("sha1"));
    let (taken, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let input = (tree(), tree(), damage(), any::<prop::sample::Index>());
    let config = Config { cases: 250, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&input, |(before, after, damage, at)| {
        let diff = writer.diff(&before, &after);
        if diff.is_empty() {
            return Ok(());
        }
        let diff = damaged(&diff, &damage, at);
        let ours = git_diff::parse(&diff)
            .map_err(|error| error.to_string())
            .and_then(|operations| before.clone().apply(&operations));
        match ours {
            Ok(tree) => {
                taken.set(taken.get() + 1);
                let shown = String::from_utf8_lossy(&diff).into_owned();
                prop_assert_eq!(reader.apply(&before, &diff), Ok(tree), "{}", shown);
            }
            Err(error) => {
                refused.set(refused.get() + 1);
                let is_whole = matches!(damage, Damage::None);
                prop_assert!(!is_whole, "{}\n{}", error, String::from_utf8_lossy(&diff));
            }
        }
        Ok(())
    });
    result.unwrap();
    // Make sure that both outcomes occurred often enough.
    assert!(taken.get() > 50 && refused.get() > 50, "{taken:?} taken, {refused:?} refused");
}
