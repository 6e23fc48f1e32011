//! Input of the benchmarks: trees of text files, and a new change for each round.

use std::fmt::Write as _;
use std::fs::{create_dir_all, read, write};
use std::path::Path;

use actum_edit::{ChangeSet, Hunk, Operation, Patch};

use super::Failure;
use super::measurement::{ONE_DIRECTORY_CHANGED, Work};

const FILES_IN_A_DIRECTORY: usize = 100;
/// Number of lines in a file. Each has about 40 bytes, so a file has about 11 KB.
const LINES: usize = 290;
/// Number of lines in a file of about a megabyte.
const LINES_OF_A_MEGABYTE: usize = 26_000;
/// Number of lines in a file of about 50 MB.
const LINES_OF_THE_LARGE: usize = 1_300_000;
/// Number of unchanged lines that a hunk shows before and after the changed line.
const CONTEXT: usize = 3;

const WORDS: [&str; 32] = [
    "account", "address", "archive", "balance", "between", "buffer", "channel", "chapter",
    "commit", "content", "council", "digest", "element", "entry", "factor", "handle", "journal",
    "ledger", "letter", "market", "measure", "number", "parent", "picture", "quarter", "record",
    "segment", "station", "surface", "traffic", "village", "window",
];

/// Files of a workspace before any change.
pub(super) struct Stock {
    files: Vec<File>,
}

struct File {
    path: String,
    content: Vec<u8>,
}

/// Change to some files, in each of the formats that the contestants accept.
pub(super) struct Change<'a> {
    pub(super) change_set: ChangeSet,
    pub(super) operations: Vec<Operation>,
    /// Operations that undo the change.
    pub(super) inverse: Vec<Operation>,
    /// Unified diff in the format of git.
    pub(super) diff: String,
    samples: Vec<Sample<'a>>,
}

/// File that is checked after each step.
struct Sample<'a> {
    path: &'a str,
    before: &'a [u8],
    after: Vec<u8>,
}

/// Expected state of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Before,
    After,
}

impl Stock {
    /// Returns text files in directories of a hundred. A larger stock starts with all files of a smaller one.
    pub(super) fn of_files(count: usize) -> Self {
        let file = |file: usize| File {
            path: format!("dir-{:03}/file-{file:05}.txt", file / FILES_IN_A_DIRECTORY),
            content: text(file, LINES),
        };
        Self { files: (0..count).map(file).collect() }
    }

    /// Returns a stock with this many files of about a megabyte.
    pub(super) fn of_megabytes(count: usize) -> Self {
        let file = |file: usize| File {
            path: format!("file-{file:03}.txt"),
            content: text(file, LINES_OF_A_MEGABYTE),
        };
        Self { files: (0..count).map(file).collect() }
    }

    /// Returns a stock with a single file of 50 MB.
    pub(super) fn of_one_large_file() -> Self {
        Self::of_one_file("large.txt", text(0, LINES_OF_THE_LARGE))
    }

    pub(super) fn of_one_file(path: &str, content: Vec<u8>) -> Self {
        Self { files: vec![File { path: path.to_owned(), content }] }
    }

    /// Returns the content of the first file.
    pub(super) fn first_content(&self) -> &[u8] {
        self.files.first().map_or(&[], |file| &file.content)
    }

    /// Writes all files below `directory`.
    pub(super) fn put(&self, directory: &Path) -> Result<(), Failure> {
        for file in &self.files {
            let path = directory.join(&file.path);
            let written = path.parent().map_or(Ok(()), create_dir_all);
            written
                .and_then(|()| write(&path, &file.content))
                .map_err(|error| format!("writing `{}` of a workspace: {error}", file.path))?;
        }
        Ok(())
    }

    /// Returns the change of a round. Each round writes different lines, because git could otherwise reuse the objects
    /// of an earlier round.
    pub(super) fn change(&self, work: Work, round: u64) -> Result<Change<'_>, Failure> {
        let (picks, hunks): (Vec<usize>, _) = match work {
            Work::Spread { changed, files } => {
                let step = (files / changed.max(1)).max(1);
                ((0..changed).map(|pick| pick * step).collect(), Hunks::OneOrTwo)
            }
            Work::OneDirectory { .. } => ((0..ONE_DIRECTORY_CHANGED).collect(), Hunks::OneOrTwo),
            Work::LargeFile => (vec![0], Hunks::OneInTheMiddle),
        };
        let mut forward = ChangeSet::new();
        let mut backward = ChangeSet::new();
        let mut diff = String::new();
        let mut samples = Vec::new();
        let looked_at = [0, picks.len() / 2, picks.len().saturating_sub(1)];
        for (nth, pick) in picks.into_iter().enumerate() {
            let File { path, content } =
                self.files.get(pick).ok_or("a change needs more files than there are")?;
            let edits = edits(content, &hunks.lines(nth, content), round)?;
            push_diff(&mut diff, path, &edits)?;
            forward.patches.push(patch(path, &edits, Direction::Forward)?);
            backward.patches.push(patch(path, &edits, Direction::Backward)?);
            if looked_at.contains(&nth) {
                samples.push(Sample { path, before: content, after: edited(content, &edits) });
            }
        }
        let (operations, inverse) = (forward.operations()?, backward.operations()?);
        Ok(Change { change_set: forward, operations, inverse, diff, samples })
    }
}

impl Change<'_> {
    /// Checks some of the files below `directory`, so that no contestant can win by doing nothing.
    pub(super) fn check(&self, directory: &Path, expected: Expected) -> Result<(), Failure> {
        for Sample { path, before, after } in &self.samples {
            let wanted = match expected {
                Expected::Before => before,
                Expected::After => after.as_slice(),
            };
            let found = read(directory.join(path))
                .map_err(|error| format!("looking at the result in `{path}`: {error}"))?;
            if found != wanted {
                let step = match expected {
                    Expected::Before => "taken back",
                    Expected::After => "applied",
                };
                return Err(format!("the change to `{path}` was not {step}").into());
            }
        }
        Ok(())
    }
}

/// Positions of the hunks in a file.
#[derive(Debug, Clone, Copy)]
enum Hunks {
    OneOrTwo,
    OneInTheMiddle,
}

impl Hunks {
    /// Returns the indexes of the changed lines, counted from 0.
    fn lines(self, nth: usize, content: &[u8]) -> Vec<usize> {
        match self {
            Self::OneOrTwo if nth.is_multiple_of(2) => vec![LINES / 4],
            Self::OneOrTwo => vec![LINES / 4, LINES * 3 / 4],
            Self::OneInTheMiddle => vec![lines(content).count() / 2],
        }
    }
}

/// Change of a single line.
struct Edit<'a> {
    /// Index of the line, counted from 0.
    line: usize,
    offset: usize,
    above: Vec<&'a [u8]>,
    old: &'a [u8],
    new: Vec<u8>,
    below: Vec<&'a [u8]>,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

impl Edit<'_> {
    fn body(&self, direction: Direction) -> String {
        let (old, new) = match direction {
            Direction::Forward => (self.old, self.new.as_slice()),
            Direction::Backward => (self.new.as_slice(), self.old),
        };
        let mut body = String::new();
        let mut push = |sign: char, line: &[u8]| {
            body.push(sign);
            body += &String::from_utf8_lossy(line);
        };
        self.above.iter().for_each(|line| push(' ', line));
        push('-', old);
        push('+', new);
        self.below.iter().for_each(|line| push(' ', line));
        body
    }

    /// Returns the first line, counted from 1, and the number of lines. Both are equal before and after the change.
    fn range(&self) -> Result<(u32, u32), Failure> {
        let lines = self.above.len() + 1 + self.below.len();
        Ok(((self.line + 1 - self.above.len()).try_into()?, lines.try_into()?))
    }
}

fn edits<'a>(content: &'a [u8], at: &[usize], round: u64) -> Result<Vec<Edit<'a>>, Failure> {
    let edit = |&line: &usize| {
        let first = line.saturating_sub(CONTEXT);
        let mut rest = lines(content);
        let skipped: usize = rest.by_ref().take(first).map(<[u8]>::len).sum();
        let above: Vec<_> = rest.by_ref().take(line - first).collect();
        let old = rest.next().ok_or("a change needs more lines than there are")?;
        let offset = skipped + above.iter().map(|line| line.len()).sum::<usize>();
        let new = format!("{:06} changed in round {round}\n", line + 1).into_bytes();
        Ok(Edit { line, offset, above, old, new, below: rest.take(CONTEXT).collect() })
    };
    at.iter().map(edit).collect()
}

fn edited(content: &[u8], edits: &[Edit<'_>]) -> Vec<u8> {
    let mut result = Vec::with_capacity(content.len());
    let mut at = 0;
    for edit in edits {
        result.extend_from_slice(content.get(at..edit.offset).unwrap_or_default());
        result.extend_from_slice(&edit.new);
        at = edit.offset + edit.old.len();
    }
    result.extend_from_slice(content.get(at..).unwrap_or_default());
    result
}

fn patch(path: &str, edits: &[Edit<'_>], direction: Direction) -> Result<Patch, Failure> {
    let hunk = |edit: &Edit<'_>| {
        let (start, count) = edit.range()?;
        Ok(Hunk {
            old_start: start,
            old_lines: count,
            new_start: start,
            new_lines: count,
            lines: edit.body(direction),
        })
    };
    let hunks = edits.iter().map(hunk).collect::<Result<_, Failure>>()?;
    Ok(Patch { path: path.to_owned(), hunks, expected_prev_sha256: None })
}

fn push_diff(diff: &mut String, path: &str, edits: &[Edit<'_>]) -> Result<(), Failure> {
    writeln!(diff, "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}")?;
    for edit in edits {
        let (start, count) = edit.range()?;
        writeln!(diff, "@@ -{start},{count} +{start},{count} @@")?;
        *diff += &edit.body(Direction::Forward);
    }
    Ok(())
}

fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|&byte| byte == b'\n')
}

/// Returns the text of a file, which is the same on every machine and in every run.
fn text(file: usize, lines: usize) -> Vec<u8> {
    let mut random = u64::try_from(file).unwrap_or_default();
    let mut text = String::new();
    for line in 1..=lines {
        text += &format!("{line:06}");
        random = scrambled(random);
        for word in 0..4 {
            let word = usize::try_from(random >> (word * 5) & 31).unwrap_or_default();
            text.push(' ');
            text += WORDS.get(word).copied().unwrap_or_default();
        }
        text.push('\n');
    }
    text.into_bytes()
}

/// Returns the next output of SplitMix64 for this state.
fn scrambled(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_files_have_about_11_kb_and_larger_stocks_extend_smaller_ones() {
        let (small, large) = (Stock::of_files(3), Stock::of_files(101));
        for (one, other) in small.files.iter().zip(&large.files) {
            assert_eq!((&one.path, &one.content), (&other.path, &other.content));
            assert!((10_500..11_800).contains(&one.content.len()), "{}", one.content.len());
        }
        assert_eq!(large.files[100].path, "dir-001/file-00100.txt");
    }

    #[test]
    fn change_touches_the_files_of_its_work() {
        let stock = Stock::of_files(200);
        let paths = |work| {
            let change = stock.change(work, 1).unwrap();
            change.change_set.patches.into_iter().map(|patch| patch.path).collect::<Vec<_>>()
        };
        assert_eq!(
            paths(Work::Spread { changed: 2, files: 200 }),
            ["dir-000/file-00000.txt", "dir-001/file-00100.txt"]
        );
        let near = paths(Work::OneDirectory { files: 200 });
        assert_eq!(near.len(), 10);
        assert!(near.iter().all(|path| path.starts_with("dir-000/")));
        assert!(stock.change(Work::Spread { changed: 2, files: 2000 }, 1).is_err());
    }

    #[test]
    fn change_set_and_diff_of_a_change_agree() {
        let stock = Stock::of_files(4);
        let change = stock.change(Work::Spread { changed: 4, files: 4 }, 7).unwrap();
        assert_eq!(change.diff.matches("\n@@ -70,7 +70,7 @@\n").count(), 4);
        assert_eq!(change.diff.matches("\n@@ -215,7 +215,7 @@\n").count(), 2);
        assert_eq!(change.diff.matches(" changed in round 7\n").count(), 6);

        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        stock.put(root).unwrap();
        change.check(root, Expected::Before).unwrap();
        assert_eq!(
            change.check(root, Expected::After).unwrap_err().to_string(),
            "the change to `dir-000/file-00000.txt` was not applied"
        );
        let diff = root.join("x.diff");
        write(&diff, &change.diff).unwrap();
        let git = std::process::Command::new("git")
            .args(["apply", "x.diff"])
            .env("GIT_CEILING_DIRECTORIES", root)
            .current_dir(root)
            .status();
        assert!(git.unwrap().success());
        change.check(root, Expected::After).unwrap();
    }
}
