//! Tests for rejected diffs and their error messages.

mod binary;

use actum_edit::format::git_diff::parse;

use crate::hunk_writer::literal;

/// Section of a plain unified diff that edits the file `x`.
const EDIT: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

#[track_caller]
fn refused(diff: &str, message: &str) {
    assert_eq!(parse(diff.as_bytes()).unwrap_err().to_string(), message);
}

/// Returns a `diff --git` section for the file `x` with the given header lines.
fn git(header: &str) -> String {
    format!("diff --git a/x b/x\n{header}")
}

#[test]
fn input_without_sections_is_rejected() {
    let message = "the input is not a diff: it has neither a `diff --git` line nor a `--- ` line \
                   followed by a `+++ ` line";
    refused("", message);
    refused("--- a/x\nsome prose\n+++ b/x\n", message);
}

#[test]
fn binary_changes_without_content_are_rejected() {
    let differ = git("index 1..2 100644\nBinary files a/x and b/x differ\n");
    refused(
        &differ,
        "line 3, column 1: the diff does not contain the content of a binary file: `Binary files \
         a/x and b/x differ`; create the diff with `git diff --binary`",
    );
    refused(
        &format!("{EDIT}Binary files a/y and b/y differ\n"),
        "line 6, column 1: the diff does not contain the content of a binary file: `Binary files \
         a/y and b/y differ`; create the diff with `git diff --binary`",
    );
    refused(
        &format!("{EDIT}GIT binary patch\n{}", literal(b"")),
        "line 6, column 1: `GIT binary patch` does not belong to a file; add a `diff --git` line and an \
         `index` line before it",
    );
}

#[test]
fn modes_other_than_files_and_links_are_rejected() {
    for link in ["new file mode 120000\n", "deleted file mode 120000\n", "index 1..2 120000\n"] {
        let error = parse(git(link).as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("has no hunks; pass the complete diff"), "{error}");
    }
    refused(
        &git("index 1234567..89abcde 160000\n--- a/x\n+++ b/x\n"),
        "line 2, column 24: mode `160000` is a submodule; only regular files and symbolic links can be changed",
    );
    refused(
        &git("old mode 100644\nnew mode 100600\n"),
        "line 3, column 10: invalid file mode `100600`; expected 100644, 100755 or 120000",
    );
}

#[test]
fn combined_diffs_are_rejected() {
    let message = "line 1, column 1: a combined diff cannot be applied because it describes a \
                   merge; create the diff against one parent";
    refused("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n", message);
    refused("diff --combined x\n", message);
    refused("@@@ -1,1 -1,1 +1,1 @@@\n", message);
}

#[test]
fn changes_omitted_by_git_are_rejected() {
    refused(
        "* Unmerged path x\n",
        "line 1, column 1: `* Unmerged path x` marks a change that the diff does not contain; create \
         the diff without this change",
    );
    refused(
        &format!("{EDIT}Submodule lib 1234567..89abcde:\n  > Fix\n"),
        "line 6, column 1: `Submodule lib 1234567..89abcde:` marks a change that the diff \
         does not contain; create the diff without this change",
    );
    assert!(parse(b"Submodule lib 0000000...1234567 (new submodule)\n").is_err());
}

#[test]
fn email_with_an_encoded_body_is_rejected() {
    refused(
        &format!("Subject: x\ncontent-transfer-encoding: Quoted-Printable\n\n{EDIT}"),
        "line 2, column 1: the email body is encoded (`content-transfer-encoding: \
         Quoted-Printable`); decode it and pass the decoded diff",
    );
    assert!(parse(format!("Content-Transfer-Encoding: 8bit\n\n{EDIT}").as_bytes()).is_ok());
}

#[test]
fn hunk_with_too_few_lines_is_rejected() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n a\n-b\n+c\ndiff --git a/y b/y\n",
        "line 7, column 1: the hunk has fewer lines than its header says (4 old, 4 new): found \
         `diff --git a/y b/y`",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n",
        "line 5, column 1: the hunk has fewer lines than its header says (2 old, 2 new): found the \
         end of the input",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n@@ -9 +9 @@\n",
        "line 5, column 1: the hunk has fewer lines than its header says (2 old, 2 new): found `@@ \
         -9 +9 @@`",
    );
}

#[test]
fn hunk_with_too_many_lines_is_rejected() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n-b\n+c\n+d\n",
        "line 5, column 1: the hunk has more lines than its header says (1 old, 2 new): found `-b`",
    );
    for more in ["+c\n", " c\n", "-c\n", "\n+c\n", "--- c\n", "\\ No newline\n\\ No newline\n"] {
        let error = parse(format!("{EDIT}{more}").as_bytes()).unwrap_err().to_string();
        assert!(
            error.contains("the hunk has more lines than its header says (1 old, 1 new): found"),
            "{error}"
        );
    }
}

#[test]
fn garbage_in_a_hunk_is_rejected() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\nb\n",
        "line 5, column 1: expected a line of the hunk, which starts with ` `, `-`, `+` or `\\`, found `b`",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n\\b\n",
        "line 5, column 1: expected a line of the hunk, which starts with ` `, `-`, `+` or `\\`, \
         found `\\\\b`",
    );
}

#[test]
fn misplaced_no_newline_marker_is_rejected() {
    let message =
        "`\\\\ No newline` must follow the last old line or the last new line of the hunk";
    for (line, body) in [
        (4, "\\ No newline\n-a\n+b\n"),
        (5, "+b\n\\ No newline\n+c\n-a\n"),
        (6, "+b\n-a\n\\ No newline\n\\ No newline\n+c\n"),
    ] {
        let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n{body}");
        let line = if line == 6 { 7 } else { line };
        refused(&diff, &format!("line {line}, column 1: {message}"));
    }
}

#[test]
fn malformed_hunk_headers_are_rejected() {
    for header in
        ["@@ -1 @@", "@@ +1 -1 @@", "@@ -1,+1 @@", "@@ -1,1 +1,1", "@@ -,1 +1 @@", "@@ @@"]
    {
        let form = "expected `@@ -START[,COUNT] +START[,COUNT] @@`";
        let message = format!("line 3, column 1: invalid hunk header `{header}`; {form}");
        refused(&format!("--- a/x\n+++ b/x\n{header}\n-a\n+b\n"), &message);
    }
    refused(
        "--- a/x\n+++ b/x\n@@ -4294967296 +1 @@\n-a\n+b\n",
        "line 3, column 1: a number in the hunk header `@@ -4294967296 +1 @@` is larger than 4294967295",
    );
    assert!(parse(b"--- a/x\n+++ b/x\n@@ -4294967295 +1 @@\n-a\n+b\n").is_ok());
    refused(
        "--- a/x\n+++ b/x\n@@ -1,0 +1,0 @@\n",
        "line 3, column 1: the hunk `@@ -1,0 +1,0 @@` covers no lines",
    );
}

#[test]
fn hunk_without_a_file_is_rejected() {
    refused(
        "+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 2, column 1: the hunk `@@ -1 +1 @@` does not belong to a file; add `--- ` and `+++ ` \
         lines before it",
    );
    refused(
        &format!("{}@@ -1 +1 @@\n-a\n+b\n", git("old mode 100644\nnew mode 100755\n")),
        "line 4, column 1: the hunk `@@ -1 +1 @@` does not belong to a file; add `--- ` and `+++ ` \
         lines before it",
    );
}

#[test]
fn file_names_without_hunks_are_rejected() {
    refused(
        "--- a/x\n+++ b/x\nprose\n",
        "line 3, column 1: expected a hunk after the file names of the section, found `prose`",
    );
    refused(
        &git("--- a/x\n+++ b/x\n"),
        "line 4, column 1: expected a hunk after the file names of the section, found the end of the input",
    );
    refused(
        &git("--- a/x\n@@ -1 +1 @@\n-a\n+b\n"),
        "line 3, column 1: the section has `---` but no `+++`",
    );
}

#[test]
fn incomplete_section_header_is_rejected() {
    refused(
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\n",
        "line 3, column 13: the section has `rename from` but no `rename to`",
    );
    refused(
        "diff --git a/x b/y\ncopy to y\n",
        "line 2, column 9: the section has `copy to` but no `copy from`",
    );
    refused(
        &git("old mode 100644\n"),
        "line 2, column 10: the section has `old mode` but no `new mode`",
    );
    refused(
        &git("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        "line 2, column 5: the section has `--- /dev/null` but no `new file mode`",
    );
    refused(
        &git("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        "line 3, column 5: the section has `+++ /dev/null` but no `deleted file mode`",
    );
    for nothing in ["", "similarity index 100%\n", "old mode 100644\nnew mode 100644\n"] {
        refused(
            &git(nothing),
            "line 1, column 1: the section for `x` changes nothing; complete it or remove it",
        );
    }
}

#[test]
fn content_change_without_hunks_is_rejected() {
    for header in [
        "new file mode 100644\nindex 0000000..1234567\n",
        "deleted file mode 100644\nindex 1234567..0000000\n",
        "old mode 100644\nnew mode 100755\nindex 1234567..89abcde\n",
        "new file mode 100644\nindex e69de29\n",
        "old mode 100644\nnew mode 100755\nsimilarity index 99%\n",
    ] {
        let error = parse(git(header).as_bytes()).unwrap_err().to_string();
        let message = "the header says that the content of `x` changes, but the section has no \
                       hunks; pass the complete diff";
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn contradictory_header_lines_are_rejected() {
    refused(
        &git("new file mode 100644\ndeleted file mode 100644\n"),
        "line 3, column 19: the section has both `new file mode` and `deleted file mode`",
    );
    refused(
        "diff --git a/x b/y\nnew file mode 100644\nrename from x\nrename to y\n",
        "line 3, column 13: the section has both `new file mode` and `rename from`",
    );
    refused(
        &git("old mode 100644\nold mode 100644\nnew mode 100755\n"),
        "line 3, column 1: duplicate `old mode` line in this section",
    );
    refused(
        "diff --git a/x b/x\nrename from x\nrename to x\n",
        "line 1, column 1: `x` is renamed or copied to itself",
    );
}

#[test]
fn contradictory_file_names_are_rejected() {
    refused(
        &git("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
        "line 3, column 5: the line names `b/y`, but the header of the section requires `b/x`",
    );
    refused(
        &git("new file mode 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        "line 3, column 5: the line names `a/x`, but the header of the section requires `/dev/null`",
    );
    refused(
        "diff --git a/x b/y\nrename from x\nrename to z\n",
        "line 1, column 1: the line must name `x` and `z`, like the other lines of the section",
    );
    refused(
        "diff --git a/old/x b/new/x\n--- a/old/x\n+++ b/new/x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: it is unclear which file is changed: the line does not name the same \
         file twice, as `a/PATH b/PATH`, and the section has neither `rename from` nor `copy from`",
    );
    refused(
        "--- x.orig\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: it is unclear which file is changed: the names `x.orig` and `x` differ; \
         write them as `a/PATH` and `b/PATH`",
    );
    refused(
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: both names are `/dev/null`, so no file is changed",
    );
}

#[test]
fn created_or_deleted_file_without_one_complete_hunk_is_rejected() {
    refused(
        "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: the section for `x` must have exactly one hunk, with the header `@@ -0,0 +1,COUNT @@`",
    );
    refused(
        "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +2 @@\n+b\n",
        "line 1, column 1: the section for `x` must have exactly one hunk, with the header `@@ -0,0 +1,COUNT @@`",
    );
    refused(
        &git("deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n"),
        "line 1, column 1: the section for `x` must have exactly one hunk, with the header `@@ -1,COUNT +0,0 @@`",
    );
}

#[test]
fn path_changed_by_two_sections_is_rejected() {
    let again = "`x` is changed by two sections, here and at line 1; merge them";
    refused(&format!("{EDIT}{EDIT}"), &format!("line 6, column 1: {again}"));
    let made = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
    let gone = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
    refused(&format!("{gone}{made}"), &format!("line 5, column 1: {again}"));
    refused(&format!("{made}{gone}"), &format!("line 5, column 1: {again}"));
    refused(
        &format!("{EDIT}diff --git a/x b/y\nrename from x\nrename to y\n"),
        &format!("line 6, column 1: {again}"),
    );
    refused(
        &format!("{EDIT}diff --git a/y b/x\ncopy from y\ncopy to x\n"),
        &format!("line 6, column 1: {again}"),
    );
}

#[test]
fn file_below_a_file_is_rejected() {
    let below = EDIT.replace("/x", "/x/y");
    let beside = EDIT.replace("/x", "/x-");
    refused(
        &format!("{EDIT}{beside}{below}"),
        "line 11, column 1: `x/y` requires `x` to be a directory, but it is a file in the section at line 1",
    );
}

#[test]
fn file_below_a_copy_source_is_rejected() {
    refused(
        "diff --git a/x b/z\ncopy from x\ncopy to z\ndiff -Nu x/y\n--- /dev/null\n+++ b/x/y\n\
         @@ -0,0 +1 @@\n+a\n",
        "line 5, column 1: `x/y` requires `x` to be a directory, but it is a file in the section at line 1",
    );
}

#[test]
fn cyclic_moves_are_rejected_and_listed() {
    let moved = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n")
    };
    let message = "these moves form a cycle, so none of them can be made first:";
    let hint = "move one of the files to another path in a separate change first";
    refused(
        &(moved("z", "a")
            + &moved("c", "d")
            + &moved("a", "b")
            + &moved("b", "c")
            + &moved("d", "a2")
            + &moved("a2", "b2")
            + &moved("b2", "d2")
            + &moved("d2", "c2")
            + &moved("c2", "a3")
            + &moved("a3", "z")),
        &format!(
            "line 1, column 1: {message} `z` to `a`, `c` to `d`, `a` to `b`, `b` to `c`, `d` to \
            `a2`, `a2` to `b2`, `b2` to `d2`, `d2` to `c2`, …; {hint}"
        ),
    );
    refused(
        &(moved("k", "l") + &moved("b", "a") + &moved("c", "b2") + &moved("a", "b")),
        &format!("line 4, column 1: {message} `b` to `a`, `a` to `b`; {hint}"),
    );
}

#[test]
fn input_truncated_inside_a_line_is_rejected() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
        "line 5, column 1: the input ends inside `+b`; pass the complete diff, including its final \
         newline",
    );
    refused(
        "diff --git a/x b/x\nnew file mode 100644",
        "line 2, column 1: the input ends inside `new file mode 100644`; pass the complete diff, including \
         its final newline",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@",
        "line 3, column 1: the input ends inside `@@ -1 +1 @@`; pass the complete diff, including its \
         final newline",
    );
}

#[test]
fn diff_with_converted_line_endings_is_rejected() {
    let converted = EDIT.replace('\n', "\r\n");
    refused(
        &converted,
        "line 1, column 1: the line ends with CRLF, so the line endings of the diff were converted; \
         pass the diff with its original line endings",
    );
    assert!(parse(git("old mode 100644\r\nnew mode 100755\r\n").as_bytes()).is_err());
}

/// FO-7, D-5
#[test]
fn forbidden_paths_are_rejected_with_their_position() {
    refused(
        "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 5: the path `../x` cannot be used: it contains `..`",
    );
    refused(
        "diff --git a/x b/.git/hooks/x\nrename from x\nrename to .git/hooks/x\n",
        "line 3, column 11: the path `.git/hooks/x` cannot be used: it is part of `.git` or \
         `.actum`, which must not be changed",
    );
    refused(
        "diff --git a//etc/x b//etc/x\nnew file mode 100644\n",
        "line 1, column 12: the path `/etc/x` cannot be used: it is absolute; make it relative to \
         the workspace root",
    );
}
