//! Operations that each kind of diff section produces, and their order.

use actum_core::Digest;
use actum_edit::format::{HunkCounts, Reading, git_diff};
use actum_edit::{EmptyParents, LineHunk, ModeChange, Operation};

use crate::{R, X, parse, path, tree};

const PARENTS: EmptyParents = EmptyParents::Remove;

fn patch(name: &str, hunks: &[(u32, u32, u32, u32, &str)]) -> Operation {
    let hunk =
        |&(old_start, old_lines, new_start, new_lines, body): &(u32, u32, u32, u32, &str)| {
            let starts_as_context = |line: &str| line.is_empty() || line.starts_with(' ');
            LineHunk {
                old_start,
                old_lines,
                new_start,
                new_lines,
                body: body.as_bytes().to_vec(),
                at_end: starts_as_context(body)
                    && !body.lines().last().is_some_and(starts_as_context),
            }
        };
    Operation::Patch { path: path(name), hunks: hunks.iter().map(hunk).collect(), expected: None }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: PARENTS }
}

fn copy(from: &str, to: &str) -> Operation {
    Operation::Copy { from: path(from), to: path(to) }
}

fn chmod(name: &str, executable: bool) -> Operation {
    Operation::Chmod { path: path(name), mode: ModeChange::Executable(executable) }
}

fn create(name: &str, content: &str, mode: Option<ModeChange>) -> Operation {
    Operation::Create { path: path(name), content: content.as_bytes().to_vec(), mode }
}

fn delete(name: &str, content: &str) -> Operation {
    let expected = Some(Digest::of(content.as_bytes()));
    Operation::Delete { path: path(name), expected, parents: PARENTS }
}

/// A hunk without trailing context must be at the end of the file, as in `git apply`.
#[test]
fn hunk_with_only_leading_context_must_end_the_file() {
    let at_end = |body: &str, counts: (u32, u32)| {
        let (old, new) = counts;
        let diff = format!("--- a/x\n+++ b/x\n@@ -1,{old} +1,{new} @@\n{body}");
        match parse(&diff).as_slice() {
            [Operation::Patch { hunks, .. }] => hunks[0].at_end,
            other => panic!("{other:?}"),
        }
    };
    assert!(at_end(" a\n+b\n", (1, 2)));
    assert!(at_end(" a\n-b\n", (2, 1)));
    assert!(at_end(" a\n-b\n+c\n\\ No newline at end of file\n", (2, 2)));
    assert!(!at_end(" a\n+b\n c\n", (2, 3)));
    assert!(!at_end(" a\n+b\n c\n\\ No newline at end of file\n", (2, 3)));
    assert!(!at_end("+a\n b\n", (1, 2)));
    assert!(!at_end("-a\n+b\n", (1, 1)), "a diff without context says nothing");
}

/// FO-10: git's `index` line distinguishes an insertion at the top of a file from filling an empty file, and the same diff cannot
/// be applied twice.
#[test]
fn index_line_distinguishes_top_insertion_from_filling_an_empty_file() {
    let at_end = |header: &str| {
        let names = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
        match parse(&format!("{header}{names}")).as_slice() {
            [Operation::Patch { hunks, .. }] => hunks[0].at_end,
            other => panic!("{other:?}"),
        }
    };
    let git = |index: &str| format!("diff --git a/x b/x\n{index}");
    assert!(!at_end(&git("index 7898192..f3a1d6e 100644\n")));
    assert!(at_end(&git("index e69de29..7898192 100644\n")), "the old file is empty");
    assert!(at_end(&git("index 0000000..7898192 100644\n")), "there is no old file");
    assert!(at_end(&git("")), "nothing is known of the old file");
    assert!(at_end(""), "nor is it in a plain diff");
}

/// Returns a section that only renames a file.
fn moved(from: &str, to: &str) -> String {
    format!(
        "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
    )
}

/// Returns a section that only copies a file.
fn copied(from: &str, to: &str) -> String {
    moved(from, to).replace("rename", "copy")
}

/// FO-10
#[test]
fn hunks_are_preserved_verbatim() {
    let diff = "--- a/x\n+++ b/x\n\
        @@ -1 +1,2 @@ fn a() {\n-a\n\\ No newline\n+a\r\n+\n\\ No newline at end of file\n\
        @@ -7,2 +8,0 @@\n-b\n-c\n@@ -20,0 +20 @@\n+d\n@@ -30,2 +31,2 @@\n e\n\n";
    let hunks = [
        (1, 1, 1, 2, "-a\n\\ No newline\n+a\r\n+\n\\ No newline at end of file\n"),
        (7, 2, 8, 0, "-b\n-c\n"),
        (20, 0, 20, 1, "+d\n"),
        (30, 2, 31, 2, " e\n\n"),
    ];
    assert_eq!(parse(diff), [patch("x", &hunks)]);
}

/// FO-10
#[test]
fn files_are_created_with_default_or_executable_mode() {
    let diff = "diff --git a/new b/new\nnew file mode 100644\nindex 0000000..1\n--- /dev/null\n\
        +++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n\
        diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+\n\
        diff --git a/no thing b/no thing\nnew file mode 100644\nindex 0000000..e69de29\n\
        diff --git \"a/\\303\\251\" \"b/\\303\\251\"\nnew file mode 100644\n\
        diff -Nu plain\n--- /dev/null\n+++ b/plain\n@@ -0,0 +1 @@\n+p\n";
    let executable = Some(ModeChange::Executable(true));
    let expected = [
        create("new", "a\nb", None),
        create("run", "\n", executable),
        create("no thing", "", None),
        create("é", "", None),
        create("plain", "p\n", None),
    ];
    assert_eq!(parse(diff), expected);
}

/// FO-6, FO-10
#[test]
fn deletions_expect_the_content_removed_by_the_diff() {
    let diff = "diff --git a/old b/old\ndeleted file mode 100755\nindex 1..0000000\n--- a/old\n\
        +++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n\
        diff --git a/no thing b/no thing\ndeleted file mode 100644\nindex e69de29..0000000\n\
        diff -Nu plain\n--- a/plain\n+++ /dev/null\n@@ -1 +0,0 @@\n-p\n";
    assert_eq!(
        parse(diff),
        [delete("old", "a\nb"), delete("no thing", ""), delete("plain", "p\n")]
    );
}

/// FO-10
#[test]
fn modes_change_with_and_without_content() {
    let diff = "diff --git a/s p b/s p\nold mode 100644\nnew mode 100755\n\
        diff --git a/x b/x\nold mode 100755\nnew mode 100644\nindex 1..2\n--- a/x\n+++ b/x\n\
        @@ -1 +1 @@\n-a\n+b\n";
    let edit = patch("x", &[(1, 1, 1, 1, "-a\n+b\n")]);
    assert_eq!(parse(diff), [chmod("s p", true), edit, chmod("x", false)]);
}

/// FO-10
#[test]
fn renames_and_copies_precede_their_edits() {
    let edit = "old mode 100644\nnew mode 100755\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    let hunk = patch("y", &[(1, 1, 1, 1, "-a\n+b\n")]);
    let renamed = parse(&(moved("x", "y") + edit));
    assert_eq!(renamed, [rename("x", "y"), hunk.clone(), chmod("y", true)]);
    assert_eq!(parse(&(copied("x", "y") + edit)), [copy("x", "y"), hunk, chmod("y", true)]);
}

/// FO-10: git's output for a chain of `git mv` commands. Every old name refers to the tree before the diff.
#[test]
fn rename_chain_starts_with_its_last_rename() {
    let diff = moved("a", "b") + &moved("b", "c") + &moved("c", "d/e");
    assert_eq!(parse(&diff), [rename("c", "d/e"), rename("b", "c"), rename("a", "b")]);
}

/// FO-10
#[test]
fn copies_precede_changes_moves_and_deletions_of_their_source() {
    let edit = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n";
    let gone = "diff -Nu c\n--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n";
    let diff = format!("{edit}{}{gone}", moved("b", "n"))
        + &copied("a", "k")
        + &copied("b", "l")
        + &copied("c", "m");
    let expected = [
        copy("a", "k"),
        copy("b", "l"),
        copy("c", "m"),
        patch("a", &[(1, 1, 1, 1, "-a\n+b\n")]),
        rename("b", "n"),
        delete("c", "c\n"),
    ];
    assert_eq!(parse(&diff), expected);
}

/// FO-10
#[test]
fn copy_after_a_rename_still_precedes_the_edit_of_its_source() {
    let edit = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n";
    let diff = format!("{edit}{}{}", copied("a", "b"), moved("b", "c"));
    let edit = patch("a", &[(1, 1, 1, 1, "-a\n+b\n")]);
    assert_eq!(parse(&diff), [rename("b", "c"), copy("a", "b"), edit]);
}

/// FO-10
#[test]
fn file_is_created_at_the_old_path_of_a_renamed_file() {
    let made = "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+n\n";
    let diff = format!("{made}{}", moved("a", "b"));
    assert_eq!(parse(&diff), [rename("a", "b"), create("a", "n\n", None)]);
}

/// FO-5: if the deletion came first, `d` would be removed and created again with a different mode.
#[test]
fn directory_in_use_is_never_emptied_temporarily() {
    let diff = "--- a/d/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
        --- /dev/null\n+++ b/d/b\n@@ -0,0 +1 @@\n+b\n";
    assert_eq!(parse(diff), [create("d/b", "b\n", None), delete("d/a", "a\n")]);
}

/// FO-10
#[test]
fn path_is_vacated_before_it_becomes_a_directory_or_a_file() {
    let diff = copied("k", "f/a") + &moved("f", "g/x") + &moved("d/a", "e") + &copied("k", "d");
    let expected = [rename("f", "g/x"), copy("k", "f/a"), rename("d/a", "e"), copy("k", "d")];
    assert_eq!(parse(&diff), expected);
}

/// FO-10
#[test]
fn prose_before_between_and_after_sections_is_skipped() {
    let diff = "Here is the fix:\n\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n\n\
        --- and now\nIndex: y\n=====\n--- y\t(revision 1)\n+++ y\t(working copy)\n@@ -1 +1 @@\n\
        -c\n+d\n\n\n-- \n2.47.3\n\nSubmodule lib is fine; 1..2: too\n";
    let expected =
        [patch("x", &[(1, 1, 1, 1, "-a\n+b\n")]), patch("y", &[(1, 1, 1, 1, "-c\n+d\n")])];
    assert_eq!(parse(diff), expected);
}

/// FO-10
#[test]
fn header_like_lines_inside_a_hunk_are_content() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a/y\n+++ b/y\n diff --git a/z b/z\n-- \n+-- \n\
        --- a/w\n+++ b/w\n@@ -1 +1 @@\n-a\n+b\n";
    let before = tree(&[("x", "-- a/y\ndiff --git a/z b/z\n- \n", R), ("w", "a\n", X)]);
    let after = tree(&[("x", "++ b/y\ndiff --git a/z b/z\n-- \n", R), ("w", "b\n", X)]);
    assert_eq!(before.apply(&parse(diff)), Ok(after));
}

/// FO-10
#[test]
fn no_newline_marker_at_the_end_of_the_input_needs_no_newline() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file";
    let after = tree(&[("x", "b", R)]);
    assert_eq!(tree(&[("x", "a\n", R)]).apply(&parse(diff)), Ok(after));
}

/// FO-10: many packages are unpacked with this timestamp on every file.
#[test]
fn epoch_timestamps_on_both_sides_are_an_edit() {
    let stamp = "1970-01-01 00:00:00.000000000 +0000";
    let diff = format!("--- a/x\t{stamp}\n+++ b/x\t{stamp}\n@@ -1 +1,2 @@\n a\n+b\n");
    assert_eq!(parse(&diff), [patch("x", &[(1, 1, 1, 2, " a\n+b\n")])]);
}

/// FO-10
#[test]
fn epoch_timestamp_on_one_side_creates_or_deletes_the_file() {
    let (stamp, now) = ("1970-01-01 01:00:00 +0100", "2026-01-02 03:04:05 +0000");
    let diff = format!(
        "--- a/x\t{stamp}\n+++ b/x\t{now}\n@@ -0,0 +1 @@\n+a\n\
         --- a/y\t{now}\n+++ b/y\t{stamp}\n@@ -1 +0,0 @@\n-b\n"
    );
    assert_eq!(parse(&diff), [create("x", "a\n", None), delete("y", "b\n")]);
}

/// FO-10
#[test]
fn file_moves_below_its_own_path_and_to_the_path_of_its_directory() {
    let moved = |from: &str, to: &str| {
        parse(&format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n"))
    };
    assert_eq!(moved("x", "x/y"), [rename("x", "x/y")]);
    assert_eq!(moved("x/y", "x"), [rename("x/y", "x")]);
    let before = tree(&[("x", "1\n", R), ("d/f", "2\n", R)]);
    let operations = [moved("x", "x/y"), moved("d/f", "d")].concat();
    let after = tree(&[("x/y", "1\n", R), ("d", "2\n", R)]);
    assert_eq!(before.apply(&operations), Ok(after));
}

fn recounted(diff: &str) -> Result<Vec<Operation>, String> {
    git_diff::parse_with(
        diff.as_bytes(),
        &Reading { counts: HunkCounts::Counted, ..Reading::default() },
    )
    .map_err(|error| error.to_string())
}

/// FO-10: like `git apply --recount`.
#[test]
fn recount_ignores_the_line_counts_in_hunk_headers() {
    let sound = "\
diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n x\n-y\n+z\n+Z\n w\n@@ -9 +10 @@\n-q\n+r\n\
\\ No newline at end of file\ndiff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n\
@@ -0,0 +1,2 @@\n+1\n+2\n-- \n2.40.1\n";
    assert_eq!(recounted(sound).unwrap(), parse(sound));
    let mut wrong = sound.replace("-1,3 +1,4", "-1,7 +1,2").replace("-9 +10", "-9,5 +10,5");
    wrong = wrong.replace("+1,2 @@", "+1,90 @@");
    assert!(git_diff::parse(wrong.as_bytes()).is_err());
    assert_eq!(recounted(&wrong).unwrap(), parse(sound));
}

/// FO-10
#[test]
fn recounted_hunk_ends_before_the_next_file_or_trailing_text() {
    let plain = |a: &str, gap: &str| {
        format!(
            "--- a/a\n+++ b/a\n@@ -1,{a} +1,{a} @@\n-x\n+y\n{gap}--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"
        )
    };
    let expected = parse(&plain("1", ""));
    assert_eq!(recounted(&plain("4", "")).unwrap(), expected);
    assert_eq!(recounted(&plain("4", "\n\n")).unwrap(), expected);
    assert_eq!(recounted(&plain("4", "Index: b\n")).unwrap(), expected);
    // Changed lines that look like the file names of a section.
    let names = "--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n x\n--- y\n+++ z\n w\n";
    assert_eq!(recounted(names).unwrap(), parse(&names.replace("-1,9 +1,9", "-1,3 +1,3")));
    let empty = recounted("--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\nprose\n").unwrap_err();
    assert_eq!(empty, "line 3, column 1: the hunk `@@ -1,9 +1,9 @@` covers no lines");
    let cut = recounted("--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n-x\n+y").unwrap_err();
    assert!(cut.contains("the input ends inside"), "{cut}");
}

/// FO-10
#[test]
fn a_diff_may_end_with_a_header_line_without_a_newline() {
    for diff in [
        "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n",
        "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n",
        "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
        "diff --git a/a b/a\nnew file mode 100644\nindex 0000000..e69de29\n",
    ] {
        assert_eq!(parse(diff.strip_suffix('\n').unwrap()), parse(diff), "{diff}");
    }
    for cut in [
        "diff --git a/a b/bc\nsimilarity index 100%\nrename from a\nrename to b",
        "diff --git a/a b/b\nsimilarity index 90%\nrename from a\nrename to b",
        "diff --git a/a b/a\nold mode 100644\nnew mode 1007",
        "diff --git a/a b/a\nold mode 100644",
        "diff --git a/a b/a\nnew file mode 100644",
        "diff --git a/a b/a\ndeleted file mode 100644",
        "diff --git a/a b/a\nnew file mode 100644\nindex 0000000..78981",
        "diff --git a/a b/a",
    ] {
        assert!(git_diff::parse(cut.as_bytes()).is_err(), "{cut}");
    }
}
