//! Applies diffs written by git 2.47 and GNU diffutils 3.8 in memory, and compares the result with the expected tree.

use actum_edit::format::git_diff::{DiffProblem, Moves};
use actum_edit::format::{self, Problem, Reading};

use crate::{R, X, parse, path, tree};

/// Returns nine lines, which are enough for git to detect that a file was rewritten.
fn nine_lines(word: &str, first: u8) -> String {
    let line = |i: u8| format!("{word} {i} {}\n", char::from(first + i).to_string().repeat(60));
    (0..9).map(line).collect()
}

/// Returns the lines of `content`, each prefixed with `sign`.
fn signed(sign: char, content: &str) -> String {
    content.split_inclusive('\n').map(|line| format!("{sign}{line}")).collect()
}

/// FO-10; `git format-patch --stdout -1 -C -C`.
#[test]
fn email_patch_with_every_kind_of_change_produces_the_expected_tree() {
    let before = tree(&[
        ("edit.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", R),
        ("gone.txt", "a\nb", R),
        ("empty", "", R),
        ("moved.txt", "m1\nm2\nm3\nm4\nm5\nm6\nm7\nm8\n", R),
        ("pure", "p1\np2\n", X),
        ("crlf.txt", "x\r\ny\r\n", R),
        ("end.txt", "one\ntwo", R),
        ("run", "#!/bin/sh\n", R),
        ("both sh", "s1\ns2\n", X),
        ("é/\"q\".txt", "q\n", R),
        ("src.c", "c1\nc2\nc3\nc4\nc5\nc6\n", R),
    ]);
    let after = tree(&[
        ("edit.txt", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n12\n", R),
        ("new dir/new.txt", "n\n", R),
        ("tool", "t\n", X),
        ("void", "", R),
        ("to/moved.txt", "m1\nm2\nm3\nm4\nm5\nm6\nm7\nM8\n", X),
        ("to/pure", "p1\np2\n", X),
        ("crlf.txt", "x\r\nz\r\n", R),
        ("end.txt", "one\ntwo\n", R),
        ("run", "#!/bin/sh\n", X),
        ("both sh", "s1\nS2\n", R),
        ("é/\"q\".txt", "Q", R),
        ("src.c", "c1\nc2\nc3\nc4\nc5\nC6\n", R),
        ("copy.c", "c1\nc2\nc3\nc4\nc5\nc6\n", R),
        ("copy2.c", "c1\nc2\nc3\nc4\nc5\nc6\nc7\n", R),
        ("em pty\té", "", R),
    ]);
    let diff = concat!(
        "From f07e9406a63e7717321c7c9bad9a97871338683a Mon Sep 17 00:00:00 2001\n",
        "From: Ada <ada@example.org>\n",
        "Date: Fri, 2 Jan 2026 03:04:05 +0000\n",
        "Subject: [PATCH] Change a file of every kind\n",
        "\n",
        "- a bullet\n",
        "--- a line that only looks like a header\n",
        "\n",
        "  an indented line\n",
        "---\n",
        " both sh                     | 2 +-\n",
        " src.c => copy.c             | 0\n",
        " src.c => copy2.c            | 1 +\n",
        " crlf.txt                    | 2 +-\n",
        " edit.txt                    | 3 +--\n",
        " empty => \"em pty\\t\\303\\251\" | 0\n",
        " end.txt                     | 2 +-\n",
        " gone.txt                    | 2 --\n",
        " new dir/new.txt             | 1 +\n",
        " run                         | 0\n",
        " src.c                       | 2 +-\n",
        " moved.txt => to/moved.txt   | 2 +-\n",
        " pure => to/pure             | 0\n",
        " tool                        | 1 +\n",
        " empty => void               | 0\n",
        " \"\\303\\251/\\\"q\\\".txt\"        | 2 +-\n",
        " 16 files changed, 10 insertions(+), 10 deletions(-)\n",
        " mode change 100755 => 100644 both sh\n",
        " copy src.c => copy.c (100%)\n",
        " copy src.c => copy2.c (85%)\n",
        " copy empty => \"em pty\\t\\303\\251\" (100%)\n",
        " delete mode 100644 gone.txt\n",
        " create mode 100644 new dir/new.txt\n",
        " mode change 100644 => 100755 run\n",
        " rename moved.txt => to/moved.txt (87%)\n",
        " mode change 100644 => 100755\n",
        " rename pure => to/pure (100%)\n",
        " create mode 100755 tool\n",
        " rename empty => void (100%)\n",
        "\n",
        "diff --git a/both sh b/both sh\n",
        "old mode 100755\n",
        "new mode 100644\n",
        "index e0e0758..e460d79\n",
        "--- a/both sh\t\n",
        "+++ b/both sh\t\n",
        "@@ -1,2 +1,2 @@\n",
        " s1\n",
        "-s2\n",
        "+S2\n",
        "diff --git a/src.c b/copy.c\n",
        "similarity index 100%\n",
        "copy from src.c\n",
        "copy to copy.c\n",
        "diff --git a/src.c b/copy2.c\n",
        "similarity index 85%\n",
        "copy from src.c\n",
        "copy to copy2.c\n",
        "index 243e770..7085117 100644\n",
        "--- a/src.c\n",
        "+++ b/copy2.c\n",
        "@@ -4,3 +4,4 @@ c3\n",
        " c4\n",
        " c5\n",
        " c6\n",
        "+c7\n",
        "diff --git a/crlf.txt b/crlf.txt\n",
        "index 0aa0f34..1525a06 100644\n",
        "--- a/crlf.txt\n",
        "+++ b/crlf.txt\n",
        "@@ -1,2 +1,2 @@\n",
        " x\r\n",
        "-y\r\n",
        "+z\r\n",
        "diff --git a/edit.txt b/edit.txt\n",
        "index 08fe19c..c974931 100644\n",
        "--- a/edit.txt\n",
        "+++ b/edit.txt\n",
        "@@ -1,5 +1,5 @@\n",
        " 1\n",
        "-2\n",
        "+two\n",
        " 3\n",
        " 4\n",
        " 5\n",
        "@@ -8,5 +8,4 @@\n",
        " 8\n",
        " 9\n",
        " 10\n",
        "-11\n",
        " 12\n",
        "diff --git a/empty \"b/em pty\\t\\303\\251\"\n",
        "similarity index 100%\n",
        "copy from empty\n",
        "copy to \"em pty\\t\\303\\251\"\n",
        "diff --git a/end.txt b/end.txt\n",
        "index 9ed40b4..814f4a4 100644\n",
        "--- a/end.txt\n",
        "+++ b/end.txt\n",
        "@@ -1,2 +1,2 @@\n",
        " one\n",
        "-two\n",
        "\\ No newline at end of file\n",
        "+two\n",
        "diff --git a/gone.txt b/gone.txt\n",
        "deleted file mode 100644\n",
        "index 0a207c0..0000000\n",
        "--- a/gone.txt\n",
        "+++ /dev/null\n",
        "@@ -1,2 +0,0 @@\n",
        "-a\n",
        "-b\n",
        "\\ No newline at end of file\n",
        "diff --git a/new dir/new.txt b/new dir/new.txt\n",
        "new file mode 100644\n",
        "index 0000000..8ba3a16\n",
        "--- /dev/null\n",
        "+++ b/new dir/new.txt\t\n",
        "@@ -0,0 +1 @@\n",
        "+n\n",
        "diff --git a/run b/run\n",
        "old mode 100644\n",
        "new mode 100755\n",
        "diff --git a/src.c b/src.c\n",
        "index 243e770..45fe78f 100644\n",
        "--- a/src.c\n",
        "+++ b/src.c\n",
        "@@ -3,4 +3,4 @@ c2\n",
        " c3\n",
        " c4\n",
        " c5\n",
        "-c6\n",
        "+C6\n",
        "diff --git a/moved.txt b/to/moved.txt\n",
        "old mode 100644\n",
        "new mode 100755\n",
        "similarity index 87%\n",
        "rename from moved.txt\n",
        "rename to to/moved.txt\n",
        "index 943affe..489f09c\n",
        "--- a/moved.txt\n",
        "+++ b/to/moved.txt\n",
        "@@ -5,4 +5,4 @@ m4\n",
        " m5\n",
        " m6\n",
        " m7\n",
        "-m8\n",
        "+M8\n",
        "diff --git a/pure b/to/pure\n",
        "similarity index 100%\n",
        "rename from pure\n",
        "rename to to/pure\n",
        "diff --git a/tool b/tool\n",
        "new file mode 100755\n",
        "index 0000000..718f4d2\n",
        "--- /dev/null\n",
        "+++ b/tool\n",
        "@@ -0,0 +1 @@\n",
        "+t\n",
        "diff --git a/empty b/void\n",
        "similarity index 100%\n",
        "rename from empty\n",
        "rename to void\n",
        "diff --git \"a/\\303\\251/\\\"q\\\".txt\" \"b/\\303\\251/\\\"q\\\".txt\"\n",
        "index bca70f3..866ad47 100644\n",
        "--- \"a/\\303\\251/\\\"q\\\".txt\"\n",
        "+++ \"b/\\303\\251/\\\"q\\\".txt\"\n",
        "@@ -1 +1 @@\n",
        "-q\n",
        "+Q\n",
        "\\ No newline at end of file\n",
        "-- \n",
        "2.47.3\n",
        "\n",
    );
    assert_eq!(before.apply(&parse(diff)), Ok(after));
}

/// FO-10; `git diff --no-renames`.
#[test]
fn a_file_becomes_a_directory_and_a_directory_a_file() {
    let before = tree(&[("d", "1\n", R), ("e/f", "2\n", R), ("e/g", "3\n", R)]);
    let after = tree(&[("d/x", "4\n", R), ("e", "5\n", R)]);
    let diff = concat!(
        "diff --git a/d b/d\n",
        "deleted file mode 100644\n",
        "index d00491f..0000000\n",
        "--- a/d\n",
        "+++ /dev/null\n",
        "@@ -1 +0,0 @@\n",
        "-1\n",
        "diff --git a/d/x b/d/x\n",
        "new file mode 100644\n",
        "index 0000000..b8626c4\n",
        "--- /dev/null\n",
        "+++ b/d/x\n",
        "@@ -0,0 +1 @@\n",
        "+4\n",
        "diff --git a/e b/e\n",
        "new file mode 100644\n",
        "index 0000000..7ed6ff8\n",
        "--- /dev/null\n",
        "+++ b/e\n",
        "@@ -0,0 +1 @@\n",
        "+5\n",
        "diff --git a/e/f b/e/f\n",
        "deleted file mode 100644\n",
        "index 0cfbf08..0000000\n",
        "--- a/e/f\n",
        "+++ /dev/null\n",
        "@@ -1 +0,0 @@\n",
        "-2\n",
        "diff --git a/e/g b/e/g\n",
        "deleted file mode 100644\n",
        "index 00750ed..0000000\n",
        "--- a/e/g\n",
        "+++ /dev/null\n",
        "@@ -1 +0,0 @@\n",
        "-3\n",
    );
    assert_eq!(before.apply(&parse(diff)), Ok(after));
}

/// FO-10; `git diff --no-prefix -C -C --stat -p`, where `a/` and `b/` are directories.
#[test]
fn names_without_prefixes_are_used_unchanged() {
    let before = tree(&[("a/x", "1\n", R), ("s p", "", R)]);
    let after = tree(&[("a/x", "2\n", R), ("s p", "", X), ("b/y", "1\n", R)]);
    let diff = concat!(
        " a/x        | 2 +-\n",
        " a/x => b/y | 0\n",
        " s p        | 0\n",
        " 3 files changed, 1 insertion(+), 1 deletion(-)\n",
        "\n",
        "diff --git a/x a/x\n",
        "index d00491f..0cfbf08 100644\n",
        "--- a/x\n",
        "+++ a/x\n",
        "@@ -1 +1 @@\n",
        "-1\n",
        "+2\n",
        "diff --git a/x b/y\n",
        "similarity index 100%\n",
        "copy from a/x\n",
        "copy to b/y\n",
        "diff --git s p s p\n",
        "old mode 100644\n",
        "new mode 100755\n",
    );
    assert_eq!(before.apply(&parse(diff)), Ok(after));
}

/// FO-10; `git -c diff.mnemonicPrefix=true diff --cached -R -M`.
#[test]
fn reversed_diff_with_mnemonic_prefixes_restores_the_old_tree() {
    let before = tree(&[("x", "1\n", R), ("y", "2\n", R)]);
    let after = tree(&[("x", "3\n", R), ("z", "2\n", R)]);
    let diff = concat!(
        "diff --git i/x c/x\n",
        "index 00750ed..d00491f 100644\n",
        "--- i/x\n",
        "+++ c/x\n",
        "@@ -1 +1 @@\n",
        "-3\n",
        "+1\n",
        "diff --git i/z c/y\n",
        "similarity index 100%\n",
        "rename from z\n",
        "rename to y\n",
    );
    assert_eq!(after.apply(&parse(diff)), Ok(before));
}

/// FO-10; `git log -p -2`.
#[test]
fn commits_in_a_log_are_applied_together() {
    let before = tree(&[("x", "1\n", R), ("y", "1\n", R)]);
    let after = tree(&[("x", "2\n", R), ("y", "2\n", R)]);
    let diff = concat!(
        "commit ca10109aed121c029d0807782717d97ec4ad1405\n",
        "Author: Ada <ada@example.org>\n",
        "Date:   Fri Jan 2 03:04:05 2026 +0000\n",
        "\n",
        "    Change y\n",
        "\n",
        "diff --git a/y b/y\n",
        "index d00491f..0cfbf08 100644\n",
        "--- a/y\n",
        "+++ b/y\n",
        "@@ -1 +1 @@\n",
        "-1\n",
        "+2\n",
        "\n",
        "commit 07469c44e50e9785f6fea05eac888623a5f0b796\n",
        "Author: Ada <ada@example.org>\n",
        "Date:   Fri Jan 2 03:04:05 2026 +0000\n",
        "\n",
        "    Change x\n",
        "\n",
        "diff --git a/x b/x\n",
        "index d00491f..0cfbf08 100644\n",
        "--- a/x\n",
        "+++ b/x\n",
        "@@ -1 +1 @@\n",
        "-1\n",
        "+2\n",
    );
    assert_eq!(before.apply(&parse(diff)), Ok(after));
}

/// FO-10; `diff -ruN a b`, which marks a missing file by its timestamp.
#[test]
fn output_of_plain_diff_produces_the_expected_tree() {
    let before = tree(&[("x", "1\n2\n", R), ("gone", "g\n", R), ("s p", "\n", R), ("é", "1\n", R)]);
    let after = tree(&[("x", "1\n3\n", R), ("new/n", "n", R), ("s p", "\n\n", R), ("é", "2\n", R)]);
    let diff = concat!(
        "diff -ruN a/gone b/gone\n",
        "--- a/gone\t2026-01-02 03:04:05.000000000 +0000\n",
        "+++ b/gone\t1970-01-01 00:00:00.000000000 +0000\n",
        "@@ -1 +0,0 @@\n",
        "-g\n",
        "diff -ruN a/new/n b/new/n\n",
        "--- a/new/n\t1970-01-01 00:00:00.000000000 +0000\n",
        "+++ b/new/n\t2026-01-02 03:04:05.000000000 +0000\n",
        "@@ -0,0 +1 @@\n",
        "+n\n",
        "\\ No newline at end of file\n",
        "diff -ruN \"a/s p\" \"b/s p\"\n",
        "--- \"a/s p\"\t2026-01-02 03:04:05.000000000 +0000\n",
        "+++ \"b/s p\"\t2026-01-02 03:04:05.000000000 +0000\n",
        "@@ -1 +1,2 @@\n",
        " \n",
        "+\n",
        "diff -ruN a/x b/x\n",
        "--- a/x\t2026-01-02 03:04:05.000000000 +0000\n",
        "+++ b/x\t2026-01-02 03:04:05.000000000 +0000\n",
        "@@ -1,2 +1,2 @@\n",
        " 1\n",
        "-2\n",
        "+3\n",
        "diff -ruN \"a/\\303\\251\" \"b/\\303\\251\"\n",
        "--- \"a/\\303\\251\"\t2026-01-02 03:04:05.000000000 +0000\n",
        "+++ \"b/\\303\\251\"\t2026-01-02 03:04:05.000000000 +0000\n",
        "@@ -1 +1 @@\n",
        "-1\n",
        "+2\n",
    );
    assert_eq!(before.apply(&parse(diff)), Ok(after));
}

/// FO-10; `git diff --cached -R -B`, which swaps the prefixes of a rewritten file.
#[test]
fn reversed_rewrite_restores_the_old_content() {
    let first = nine_lines("first", b'a');
    let head = concat!(
        "diff --git b/x a/x\n",
        "dissimilarity index 100%\n",
        "index 7d185f2..4117dd3 100644\n",
        "--- a/x\n",
        "+++ b/x\n",
        "@@ -1,3 +1,9 @@\n",
        "-z\n",
        "-z\n",
        "-z\n",
    );
    let diff = format!("{head}{}", signed('+', &first));
    let after = tree(&[("x", &first, R)]);
    assert_eq!(tree(&[("x", "z\nz\nz\n", R)]).apply(&parse(&diff)), Ok(after));
}

/// FO-10; `git diff --cached -B -M -U0`: a copy reads the source file as it was before the diff, even if another file was renamed
/// away from the destination.
#[test]
fn copy_to_the_old_path_of_a_renamed_file_reads_the_old_content() {
    let (first, second) = (nine_lines("first", b'a'), nine_lines("second", b'k'));
    let head = concat!(
        "diff --git a/a b/a\n",
        "dissimilarity index 100%\n",
        "index 4117dd3..3e75765 100644\n",
        "--- a/a\n",
        "+++ b/a\n",
        "@@ -1,9 +1 @@\n",
    );
    let tail = concat!(
        "+new\n",
        "diff --git a/a b/b\n",
        "similarity index 100%\n",
        "copy from a\n",
        "copy to b\n",
        "diff --git a/b b/c\n",
        "similarity index 99%\n",
        "rename from b\n",
        "rename to c\n",
        "index f7d7f23..00125e1 100644\n",
        "--- a/b\n",
        "+++ b/c\n",
        "@@ -9,0 +10 @@ second 8 ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss\n",
        "+x\n",
    );
    let diff = format!("{head}{}{tail}", signed('-', &first));
    let before = tree(&[("a", &first, R), ("b", &second, R)]);
    let after = tree(&[("a", "new\n", R), ("b", &first, R), ("c", &(second + "x\n"), R)]);
    assert_eq!(before.apply(&parse(&diff)), Ok(after));
}

/// FO-10; `git diff --cached -B -M`.
#[test]
fn swapped_files_are_rejected_and_listed() {
    let diff = concat!(
        "diff --git a/b b/a\n",
        "similarity index 100%\n",
        "rename from b\n",
        "rename to a\n",
        "diff --git a/a b/b\n",
        "similarity index 100%\n",
        "rename from a\n",
        "rename to b\n",
    );
    let error = format::parse(diff.as_bytes(), &Reading::default()).unwrap_err();
    let moves = Moves(vec![(path("b"), path("a")), (path("a"), path("b"))]);
    assert_eq!(error.problem, Problem::Diff(DiffProblem::Circular { moves }));
    assert_eq!(
        error.to_string(),
        "line 1, column 1: these moves form a cycle, so none of them can be made first: `b` to \
         `a`, `a` to `b`; move one of the files to another path in a separate change first"
    );
}
