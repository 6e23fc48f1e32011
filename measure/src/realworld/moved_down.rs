//! Hunks at wrong places: a diff must be rejected if its file has moved down by some lines.

use std::path::Path;

use actum_edit::format::{Reading, parse};
use actum_edit::{LineHunk, Operation};
use actum_workspace::{State, Workspace};

use super::Failure;
use super::download::fresh;
use super::tree::{Modes, Tree};
use super::trial::waiting;

/// Lines inserted at the beginning of every file.
const INSERTED: &[u8] = b"moved down by\nlines that stand\nin no package\n";

/// Numbers of single-file diffs that were rejected, and of those that happen to fit at the wrong place because the removed lines
/// also occur there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Refusals {
    pub(super) refused: usize,
    pub(super) by_chance: usize,
}

/// Passes each diff of a modified text file to actum separately.
pub(super) fn run(old: &Tree, diff: &[u8], place: &Path) -> Result<Refusals, Failure> {
    fresh(place)?;
    let root = place.join("root");
    let mut moved_down = Tree::default();
    let mut offers = Vec::new();
    for section in sections(diff).into_iter().filter(|section| changes_lines(section)) {
        let operations =
            parse(section, &Reading::default()).map_err(|error| format!("parsing: {error}"))?;
        for operation in &operations {
            let Operation::Patch { path, .. } = operation else { continue };
            let leaf = old.files.get(path.as_bytes()).ok_or("a diff of no old file")?;
            let content = [INSERTED, &leaf.content].concat();
            moved_down.put(path.as_bytes(), leaf.with_content(content));
        }
        offers.push(operations);
    }
    moved_down.write(&root)?;
    let before = Tree::read(&root)?;
    let mut workspace = Workspace::open(&root)?;
    let mut refusals = Refusals::default();
    for operations in offers {
        let mut transaction = workspace.begin(waiting())?;
        match transaction.operate_all(&operations) {
            Err(error) if error.state == State::Unchanged => refusals.refused += 1,
            Err(error) => return Err(format!("a refusal that changes: {error}").into()),
            Ok(()) => match operations.iter().find(|operation| !fits(operation, &before)) {
                None => refusals.by_chance += 1,
                Some(operation) => {
                    return Err(format!("not refused: {}", name(operation)).into());
                }
            },
        }
    }
    drop(workspace);
    let found = Tree::read(&root)?.check_same(&before, Modes::All);
    found.map_err(|differences| format!("after refusals: {differences}"))?;
    Ok(refusals)
}

/// Splits a diff into the sections of single files. No hunk line starts with `d`, and no line of a binary patch contains a space.
fn sections(diff: &[u8]) -> Vec<&[u8]> {
    const START: &[u8] = b"diff --git ";
    let mut sections = Vec::new();
    let (mut from, mut at) = (None, 0);
    for line in diff.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(START) {
            sections.extend(from.and_then(|from| diff.get(from..at)));
            from = Some(at);
        }
        at += line.len();
    }
    sections.extend(from.and_then(|from| diff.get(from..)));
    sections
}

/// Whether a section has hunks for a file that exists both before and after the change.
fn changes_lines(section: &[u8]) -> bool {
    let lines = section.split(|&byte| byte == b'\n');
    let header: Vec<&[u8]> = lines.take_while(|line| !line.starts_with(b"@@ ")).collect();
    let is_new_or_gone =
        |line: &&[u8]| line.starts_with(b"new file ") || line.starts_with(b"deleted file ");
    let length: usize = header.iter().map(|line| line.len() + 1).sum();
    length < section.len() && !header.iter().any(is_new_or_gone)
}

/// Whether all lines the operation removes are at exactly the line numbers it gives.
fn fits(operation: &Operation, tree: &Tree) -> bool {
    let Operation::Patch { path, hunks, .. } = operation else { return true };
    let Some(leaf) = tree.files.get(path.as_bytes()) else { return false };
    let lines: Vec<&[u8]> = leaf.content.split_inclusive(|&byte| byte == b'\n').collect();
    hunks.iter().all(|hunk| is_there(hunk, &lines))
}

fn is_there(hunk: &LineHunk, lines: &[&[u8]]) -> bool {
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let start = number(hunk.old_start).saturating_sub(usize::from(hunk.old_lines > 0));
    let end = start.saturating_add(number(hunk.old_lines));
    lines.get(start..end).is_some_and(|lines| lines.concat() == hunk.old_text())
}

fn name(operation: &Operation) -> String {
    match operation {
        Operation::Patch { path, .. }
        | Operation::Edit { path, .. }
        | Operation::Write { path, .. }
        | Operation::Create { path, .. }
        | Operation::Take { path, .. }
        | Operation::Delete { path, .. }
        | Operation::Chmod { path, .. }
        | Operation::ChmodDirectory { path, .. }
        | Operation::MakeDirectory { path, .. }
        | Operation::Link { path, .. }
        | Operation::RemoveDirectory { path }
        | Operation::Rename { from: path, .. }
        | Operation::Copy { from: path, .. } => format!("`{path}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &[u8] = b"diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n\
        -diff --git is a line\n+b\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n\
        +++ b/n\n@@ -0,0 +1 @@\n+n\ndiff --git a/m b/m\nold mode 100644\nnew mode 100755\n";

    #[test]
    fn diff_is_split_at_file_headers() {
        let sections = sections(DIFF);
        assert_eq!(sections.len(), 3);
        assert_eq!(sections.concat(), DIFF);
        let changes: Vec<bool> = sections.into_iter().map(changes_lines).collect();
        assert_eq!(changes, [true, false, false]);
    }

    fn refusals(content: &[u8], diff: &[u8]) -> Refusals {
        let place = tempfile::tempdir().unwrap();
        let old = Tree::new(&[("a", content, 0o644)]);
        run(&old, diff, &place.path().join("place")).unwrap()
    }

    #[test]
    fn shifted_diff_is_rejected_unless_it_matches_by_chance() {
        assert_eq!(
            refusals(b"diff --git is a line\n", DIFF),
            Refusals { refused: 1, by_chance: 0 }
        );
        let diff = b"--- a/a\n+++ b/a\n@@ -4,3 +4,3 @@\n 1\n-1\n+2\n 1\n";
        let diff = [b"diff --git a/a b/a\n".as_slice(), diff].concat();
        assert_eq!(refusals(&b"1\n".repeat(9), &diff), Refusals { refused: 0, by_chance: 1 });
    }
}
