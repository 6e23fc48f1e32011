//! Binary patches written by git, intact and damaged, compared with `git apply`.

use actum_core::{Digest, FileMode};
use actum_edit::edit::{BinaryChange, BinaryEdit, BlobId};
use actum_edit::format::git_diff::{self, write};
use actum_edit::{Edit, EmptyParents, ModeChange, Operation};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::hunk_writer::{delta, literal};
use crate::model::Tree;
use crate::repository::Repository;
use crate::{R, X, parse, path};

/// Returns the id of a blob with this content in a SHA-1 repository.
pub(crate) fn id(content: &[u8]) -> BlobId {
    BlobId::parse(&[b'0'; 40]).unwrap().of_same_kind(content)
}

/// Generates bytes that git treats as binary, and that neither repeat nor compress.
fn noise(seed: u32, size: usize) -> Vec<u8> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let states = std::iter::successors(Some(seed), next).skip(1);
    let mut bytes = vec![0];
    bytes.extend(states.map(|state| state.to_be_bytes()[0]).take(size));
    bytes
}

fn tree(files: &[(&str, &[u8], bool)]) -> Tree {
    let file = |&(name, content, executable): &(&str, &[u8], bool)| {
        (path(name), (content.to_vec(), executable))
    };
    Tree(files.iter().map(file).collect())
}

/// FO-6, FO-10
#[test]
fn each_kind_of_binary_patch_becomes_its_operation() {
    let zero = "0".repeat(40);
    let (a, b, c) = (&b"a\0b"[..], &b"a\0c"[..], &b"\0"[..]);
    let diff = [
        format!("diff --git a/new b/new\nnew file mode 100755\nindex {zero}..{}\n", id(a)),
        format!("GIT binary patch\n{}{}", literal(a), literal(b"")),
        format!("diff --git a/gone b/gone\ndeleted file mode 100644\nindex {}..{zero}\n", id(b)),
        format!("GIT binary patch\n{}{}", literal(b""), literal(b)),
        format!(
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex {}..{}\n",
            id(a),
            id(b)
        ),
        format!("GIT binary patch\n{}{}", literal(b), literal(a)),
        format!(
            "diff --git a/y b/z\nrename from y\nrename to z\nindex {}..{} 100644\n",
            id(a),
            id(c)
        ),
        format!("GIT binary patch\n{}", delta(b"\x03\x01\x91\x01\x01")),
        "-- \n2.47.3\n".to_owned(),
    ];
    let binary = |name: &str, before: &[u8], after: &[u8], change: BinaryChange| {
        let edit = Edit::Binary(BinaryEdit { before: id(before), after: id(after), change });
        Operation::Edit { path: path(name), edit, expected: None }
    };
    let mode = ModeChange::Executable(true);
    let parents = EmptyParents::Remove;
    assert_eq!(
        parse(&diff.concat()),
        [
            Operation::Create { path: path("new"), content: a.to_vec(), mode: Some(mode) },
            binary("x", a, b, BinaryChange::Literal(b.to_vec())),
            Operation::Chmod { path: path("x"), mode },
            Operation::Rename { from: path("y"), to: path("z"), parents },
            binary("z", a, c, BinaryChange::Delta(b"\x03\x01\x91\x01\x01".to_vec())),
            Operation::Delete { path: path("gone"), expected: Some(Digest::of(b)), parents },
        ]
    );
}

/// FO-10; output of git 2.47, with a text patch between the binary ones.
#[test]
fn git_diff_of_text_and_binary_files_produces_the_expected_tree() {
    let diff = concat!(
        "diff --git a/new b/new\n",
        "new file mode 100644\n",
        "index 0000000000000000000000000000000000000000..87949ebb25c3c276252f7429844e36b0e51bf151\n",
        "GIT binary patch\n",
        "literal 2\n",
        "Jcmc~}0002q0B-;Q\n",
        "\n",
        "literal 0\n",
        "HcmV?d00001\n",
        "\n",
        "diff --git a/text b/text\n",
        "index d00491f..0cfbf08 100644\n",
        "--- a/text\n",
        "+++ b/text\n",
        "@@ -1 +1 @@\n",
        "-1\n",
        "+2\n",
        "diff --git a/x b/x\n",
        "index 20b5be91886d0b6f26dc98a225c0dac05fe2c86e..88f37001cec36655decf891d4244853aaa51a00a 100644\n",
        "GIT binary patch\n",
        "literal 3\n",
        "KcmYdfNCp4_i2%g_\n",
        "\n",
        "literal 3\n",
        "KcmYdfNCE%>hycU@\n",
        "\n",
    );
    let before = tree(&[("text", b"1\n", R), ("x", b"a\0b", R)]);
    let after = tree(&[("new", b"n\0", R), ("text", b"2\n", R), ("x", b"a\0c", R)]);
    assert_eq!(before.clone().apply(&parse(diff)), Ok(after));
    let other = tree(&[("text", b"1\n", R), ("x", b"a\0d", R)]);
    assert!(other.apply(&parse(diff)).unwrap_err().contains("the binary patch expects `20b5be9"));
}

/// Kind of change made to a file.
#[derive(Debug, Clone)]
enum Fate {
    Appears,
    Goes,
    /// Inserts each piece at its position.
    Edited(Edits),
    Rewritten(Vec<u8>),
    Moved(Edits),
    Copied(Edits),
}

type Edits = Vec<(prop::sample::Index, Vec<u8>)>;

/// A file before the diff, the change made to it, and whether its mode changes.
type FileCase = ((Vec<u8>, bool), Fate, bool);

fn content() -> impl Strategy<Value = Vec<u8>> {
    let sizes = prop_oneof![0usize..6, 50usize..60, 500usize..9000];
    let noise = (any::<u32>(), sizes.clone()).prop_map(|(seed, size)| noise(seed, size));
    let repeated =
        (any::<u8>(), sizes).prop_map(|(byte, size)| [vec![0], vec![byte; size]].concat());
    prop_oneof![3 => noise, 1 => repeated, 1 => Just(Vec::new())]
}

fn stories() -> impl Strategy<Value = Vec<FileCase>> {
    let edits = || {
        let piece = proptest::collection::vec(any::<u8>(), 1..9);
        proptest::collection::vec((any::<prop::sample::Index>(), piece), 0..4)
    };
    let fate = prop_oneof![
        Just(Fate::Appears),
        Just(Fate::Goes),
        edits().prop_map(Fate::Edited),
        content().prop_map(Fate::Rewritten),
        edits().prop_map(Fate::Moved),
        edits().prop_map(Fate::Copied),
    ];
    let story = ((content(), any::<bool>()), fate, any::<bool>());
    proptest::collection::vec(story, 1..6)
}

/// Returns the trees before and after the changes.
fn trees(stories: &[FileCase]) -> (Tree, Tree) {
    let (mut before, mut after) = (Tree::default(), Tree::default());
    for (number, ((content, executable), fate, flips)) in stories.iter().enumerate() {
        let name = format!("d{}/é {number}", number % 2);
        let (here, there) = (path(&name), path(&format!("{name} to")));
        let edited = |edits: &Edits| {
            let mut content = content.clone();
            for (at, piece) in edits {
                let at = at.index(content.len() + 1);
                content.splice(at..at, piece.iter().copied());
            }
            (content, executable ^ flips)
        };
        let old = (content.clone(), *executable);
        if !matches!(fate, Fate::Appears) {
            before.0.insert(here.clone(), old.clone());
        }
        match fate {
            Fate::Appears => drop(after.0.insert(here, old)),
            Fate::Goes => {}
            Fate::Edited(edits) => drop(after.0.insert(here, edited(edits))),
            Fate::Rewritten(content) => drop(after.0.insert(here, (content.clone(), *executable))),
            Fate::Moved(edits) => drop(after.0.insert(there, edited(edits))),
            Fate::Copied(edits) => {
                after.0.insert(here, old);
                after.0.insert(there, edited(edits));
            }
        }
    }
    (before, after)
}

/// Returns a runner for this number of cases that writes no file about failing cases.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Checks that actum and git apply the diffs of a repository with object format `format` in the same way.
fn agree_with_git(format: &str) {
    let (writer, reader) = (Repository::new(format), Repository::new(format));
    let seen = std::cell::RefCell::new(String::new());
    let mut runner = runner(48);
    let result = runner.run(&stories(), |stories| {
        let (before, after) = trees(&stories);
        let diff = writer.diff(&before, &after);
        if diff.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(reader.apply(&before, &diff), Ok(after.clone()));
        let operations = git_diff::parse(&diff).map_err(|error| {
            TestCaseError::fail(format!("{error}\n{}", String::from_utf8_lossy(&diff)))
        })?;
        prop_assert_eq!(before.apply(&operations), Ok(after));
        seen.borrow_mut().push_str(&String::from_utf8_lossy(&diff));
        Ok(())
    });
    result.unwrap();
    // Make sure that each kind of change occurred.
    let seen = seen.into_inner();
    for line in ["literal ", "delta ", "new file ", "deleted ", "rename to", "copy to", "new mode "]
    {
        assert!(seen.contains(&format!("\n{line}")), "no `{line}` in any diff");
    }
}

/// FO-10
#[test]
fn binary_diffs_apply_as_by_git() {
    agree_with_git("sha1");
}

/// FO-10
#[test]
fn binary_diffs_of_a_sha256_repository_apply_as_by_git() {
    agree_with_git("sha256");
}

/// Returns small changes, each of one file, by name.
fn small_changes() -> [(Tree, Tree); 5] {
    let large = noise(1, 2000);
    let longer = [&large[..], b"tail"].concat();
    [
        (tree(&[]), tree(&[("x", b"n\0ew", X)])),
        (tree(&[("x", b"o\0ld", R)]), tree(&[])),
        (tree(&[("x", b"a\0b", R)]), tree(&[("x", b"a\0c", R)])),
        (tree(&[("x", &large, R)]), tree(&[("x", &longer, X)])),
        (tree(&[("x", &large, R)]), tree(&[("y", &longer, R)])),
    ]
}

#[derive(Debug, Clone)]
enum Damage {
    Byte(u8),
    Drop,
    Double,
    Swap,
}

/// Damages one byte or line of the diff, at or after the `index` line.
fn damaged(diff: &[u8], damage: &Damage, at: prop::sample::Index) -> Vec<u8> {
    let start = index_line(diff);
    let (head, body) = diff.split_at(start);
    let mut lines: Vec<Vec<u8>> =
        body.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let line = at.index(lines.len());
    match damage {
        Damage::Byte(byte) => {
            let mut body = body.to_vec();
            let at = at.index(body.len());
            body[at] = *byte;
            return [head, &body].concat();
        }
        Damage::Drop => drop(lines.remove(line)),
        Damage::Double => lines.insert(line, lines[line].clone()),
        Damage::Swap => {
            let last = lines.len() - 1;
            lines.swap(line, last.min(line + 1));
        }
    }
    [head, &lines.concat()].concat()
}

/// Returns the offset of the `index` line.
fn index_line(diff: &[u8]) -> usize {
    diff.windows(7).position(|window| window == b"\nindex ").unwrap() + 1
}

/// FO-10: if a damaged binary diff is accepted, it has the effect it has in git.
#[test]
fn damaged_binary_diff_is_rejected_or_applied_as_by_git() {
    let (writer, reader) = (Repository::new("sha1"), Repository::new("sha1"));
    let changes = small_changes().map(|(before, after)| (writer.diff(&before, &after), before));
    let byte = prop_oneof![any::<u8>(), proptest::char::range(' ', '~').prop_map(|c| c as u8)];
    let damage = prop_oneof![
        4 => byte.prop_map(Damage::Byte),
        1 => Just(Damage::Drop),
        1 => Just(Damage::Double),
        1 => Just(Damage::Swap),
    ];
    let input = (0..changes.len(), damage, any::<prop::sample::Index>());
    let mut runner = runner(2000);
    let result = runner.run(&input, |(change, damage, at)| {
        let (diff, before) = &changes[change];
        let damaged = damaged(diff, &damage, at);
        let operations = match git_diff::parse(&damaged) {
            Ok(operations) => operations,
            Err(error) => {
                let place = error.place.unwrap();
                let lines: Vec<&[u8]> = damaged.split_inclusive(|b| *b == b'\n').collect();
                let line = usize::try_from(place.line).unwrap();
                let length = lines.get(line - 1).map_or(1, |line| line.len() + 1);
                let column = usize::try_from(place.column).unwrap();
                prop_assert!(
                    line <= lines.len() + 1 && (1..=length).contains(&column),
                    "{}",
                    error
                );
                return Ok(());
            }
        };
        if let Ok(ours) = before.clone().apply(&operations) {
            let text = String::from_utf8_lossy(&damaged).into_owned();
            prop_assert_eq!(reader.apply(before, &damaged), Ok(ours), "{}", text);
        }
        Ok(())
    });
    result.unwrap();
}

/// FO-10: git and actum read the diffs that actum writes for binary contents as the same change.
#[test]
fn written_binary_diffs_apply_in_git_and_actum() {
    let reader = Repository::new("sha1");
    let contents = [b"a\0b".to_vec(), noise(3, 5000), noise(4, 53), b"\0".to_vec(), Vec::new()];
    let path = path("d/x");
    let side = |content: &Vec<u8>| (!content.is_empty()).then(|| content.clone());
    for old in &contents {
        for new in contents.iter().filter(|new| *new != old) {
            let (old, new) = (side(old), side(new));
            let [before, after] = [&old, &new].map(|content| {
                content.as_ref().map(|content| write::Side {
                    path: &path,
                    mode: FileMode::REGULAR,
                    content,
                })
            });
            let mut diff = Vec::new();
            write::section(before, after, |_, piece| diff.extend_from_slice(piece));
            let [before, after] = [&old, &new].map(|content| {
                Tree(content.iter().map(|bytes| (path.clone(), (bytes.clone(), R))).collect())
            });
            assert_eq!(reader.apply(&before, &diff), Ok(after.clone()));
            let operations = git_diff::parse(&diff).unwrap();
            assert_eq!(before.apply(&operations), Ok(after));
        }
    }
}
