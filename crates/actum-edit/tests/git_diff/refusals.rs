//! Refused diffs, and the words of their errors.

mod binary;

use actum_edit::format::git_diff::parse;

use crate::hunk_writer::literal;

/// A plain section that edits `x`.
const EDIT: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

#[track_caller]
fn refused(diff: &str, message: &str) {
    assert_eq!(parse(diff.as_bytes()).unwrap_err().to_string(), message);
}

/// A section of git with these header lines.
fn git(header: &str) -> String {
    format!("diff --git a/x b/x\n{header}")
}

#[test]
fn an_input_without_any_section_is_refused() {
    let message = "the input is no diff: it has neither a `diff --git` line nor a `--- ` line \
                   followed by a `+++ ` line";
    refused("", message);
    refused("--- a/x\nsome prose\n+++ b/x\n", message);
}

#[test]
fn binary_changes_without_their_content_are_refused() {
    let differ = git("index 1..2 100644\nBinary files a/x and b/x differ\n");
    refused(
        &differ,
        "line 3, column 1: the content of a binary file is left out: `Binary files a/x and b/x \
         differ`; make the diff with `git diff --binary`",
    );
    refused(
        &format!("{EDIT}Binary files a/y and b/y differ\n"),
        "line 6, column 1: the content of a binary file is left out: `Binary files a/y and b/y \
         differ`; make the diff with `git diff --binary`",
    );
    refused(
        &format!("{EDIT}GIT binary patch\n{}", literal(b"")),
        "line 6, column 1: `GIT binary patch` belongs to no file; put a `diff --git` line and an \
         `index` line before it",
    );
}

#[test]
fn modes_of_anything_but_files_and_links_are_refused() {
    for link in ["new file mode 120000\n", "deleted file mode 120000\n", "index 1..2 120000\n"] {
        let error = parse(git(link).as_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("has no hunks; give the whole diff"), "{error}");
    }
    refused(
        &git("index 1234567..89abcde 160000\n--- a/x\n+++ b/x\n"),
        "line 2, column 24: mode `160000` is a submodule, and only regular files and symbolic links can be changed",
    );
    refused(
        &git("old mode 100644\nnew mode 100600\n"),
        "line 3, column 10: `100600` is no mode of a file; git knows 100644, 100755 and 120000",
    );
}

#[test]
fn combined_diffs_are_refused() {
    let message = "line 1, column 1: a combined diff cannot be applied, since it describes a \
                   merge; make the diff against one parent";
    refused("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n", message);
    refused("diff --combined x\n", message);
    refused("@@@ -1,1 -1,1 +1,1 @@@\n", message);
}

#[test]
fn changes_that_git_left_out_are_refused() {
    refused(
        "* Unmerged path x\n",
        "line 1, column 1: `* Unmerged path x` stands for a change that the diff leaves out; make \
         the diff without it",
    );
    refused(
        &format!("{EDIT}Submodule lib 1234567..89abcde:\n  > Fix\n"),
        "line 6, column 1: `Submodule lib 1234567..89abcde:` stands for a change that the diff \
         leaves out; make the diff without it",
    );
    assert!(parse(b"Submodule lib 0000000...1234567 (new submodule)\n").is_err());
}

#[test]
fn a_mail_with_encoded_text_is_refused() {
    refused(
        &format!("Subject: x\ncontent-transfer-encoding: Quoted-Printable\n\n{EDIT}"),
        "line 2, column 1: the mail is encoded by `content-transfer-encoding: Quoted-Printable`, \
         so its lines are not those of the diff; decode it",
    );
    assert!(parse(format!("Content-Transfer-Encoding: 8bit\n\n{EDIT}").as_bytes()).is_ok());
}

#[test]
fn a_hunk_that_ends_early_is_refused() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n a\n-b\n+c\ndiff --git a/y b/y\n",
        "line 7, column 1: the hunk ends before its 4 old and 4 new lines are there: found `diff \
         --git a/y b/y`",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n",
        "line 5, column 1: the hunk ends before its 2 old and 2 new lines are there: found the end \
         of the input",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n@@ -9 +9 @@\n",
        "line 5, column 1: the hunk ends before its 2 old and 2 new lines are there: found `@@ -9 \
         +9 @@`",
    );
}

#[test]
fn a_hunk_that_goes_on_after_its_counts_is_refused() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n-b\n+c\n+d\n",
        "line 5, column 1: the hunk goes on after its 1 old and 2 new lines: found `-b`",
    );
    for more in ["+c\n", " c\n", "-c\n", "\n+c\n", "--- c\n", "\\ No newline\n\\ No newline\n"] {
        let error = parse(format!("{EDIT}{more}").as_bytes()).unwrap_err().to_string();
        assert!(
            error.contains("the hunk goes on after its 1 old and 1 new lines: found"),
            "{error}"
        );
    }
}

#[test]
fn garbage_in_a_hunk_is_refused() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\nb\n",
        "line 5, column 1: a line of a hunk starts with neither ` `, `-`, `+` nor `\\`: found `b`",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n\\b\n",
        "line 5, column 1: a line of a hunk starts with neither ` `, `-`, `+` nor `\\`: found \
         `\\\\b`",
    );
}

#[test]
fn a_mark_that_follows_no_last_line_is_refused() {
    let message = "`\\\\ No newline` must follow the last old or the last new line of the hunk";
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
fn hunk_headers_that_are_malformed_are_refused() {
    for header in
        ["@@ -1 @@", "@@ +1 -1 @@", "@@ -1,+1 @@", "@@ -1,1 +1,1", "@@ -,1 +1 @@", "@@ @@"]
    {
        let form = "is not of the form `@@ -START[,COUNT] +START[,COUNT] @@`";
        let message = format!("line 3, column 1: the hunk header `{header}` {form}");
        refused(&format!("--- a/x\n+++ b/x\n{header}\n-a\n+b\n"), &message);
    }
    refused(
        "--- a/x\n+++ b/x\n@@ -4294967296 +1 @@\n-a\n+b\n",
        "line 3, column 1: the hunk header `@@ -4294967296 +1 @@` has a number over 4294967295",
    );
    assert!(parse(b"--- a/x\n+++ b/x\n@@ -4294967295 +1 @@\n-a\n+b\n").is_ok());
    refused(
        "--- a/x\n+++ b/x\n@@ -1,0 +1,0 @@\n",
        "line 3, column 1: the hunk `@@ -1,0 +1,0 @@` covers no lines",
    );
}

#[test]
fn a_hunk_without_a_file_is_refused() {
    refused(
        "+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 2, column 1: the hunk `@@ -1 +1 @@` belongs to no file; put `--- ` and `+++ ` lines \
         before it",
    );
    refused(
        &format!("{}@@ -1 +1 @@\n-a\n+b\n", git("old mode 100644\nnew mode 100755\n")),
        "line 4, column 1: the hunk `@@ -1 +1 @@` belongs to no file; put `--- ` and `+++ ` lines \
         before it",
    );
}

#[test]
fn names_without_hunks_are_refused() {
    refused(
        "--- a/x\n+++ b/x\nprose\n",
        "line 3, column 1: no hunk follows the names of the section: found `prose`",
    );
    refused(
        &git("--- a/x\n+++ b/x\n"),
        "line 4, column 1: no hunk follows the names of the section: found the end of the input",
    );
    refused(
        &git("--- a/x\n@@ -1 +1 @@\n-a\n+b\n"),
        "line 3, column 1: the section has `---` but no `+++`",
    );
}

#[test]
fn a_header_that_lacks_what_it_promises_is_refused() {
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
            "line 1, column 1: the section of `x` changes nothing; complete it or leave it out",
        );
    }
}

#[test]
fn a_header_that_promises_content_without_hunks_is_refused() {
    for header in [
        "new file mode 100644\nindex 0000000..1234567\n",
        "deleted file mode 100644\nindex 1234567..0000000\n",
        "old mode 100644\nnew mode 100755\nindex 1234567..89abcde\n",
        "new file mode 100644\nindex e69de29\n",
        "old mode 100644\nnew mode 100755\nsimilarity index 99%\n",
    ] {
        let error = parse(git(header).as_bytes()).unwrap_err().to_string();
        let message = "the header says that the content of `x` changes, but the section has no \
                       hunks; give the whole diff";
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn header_lines_that_contradict_each_other_are_refused() {
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
        "line 3, column 1: a second `old mode` line in one section",
    );
    refused(
        "diff --git a/x b/x\nrename from x\nrename to x\n",
        "line 1, column 1: `x` is renamed or copied to itself",
    );
}

#[test]
fn names_that_contradict_each_other_are_refused() {
    refused(
        &git("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
        "line 3, column 5: the line names `b/y`, but the lines before it make it `b/x`",
    );
    refused(
        &git("new file mode 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        "line 3, column 5: the line names `a/x`, but the lines before it make it `/dev/null`",
    );
    refused(
        "diff --git a/x b/y\nrename from x\nrename to z\n",
        "line 1, column 1: the line names other files than `x` and `z`, which the section speaks of",
    );
    refused(
        "diff --git a/old/x b/new/x\n--- a/old/x\n+++ b/new/x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: it is unclear which file is changed: the line does not name one file \
         twice, as `a/PATH b/PATH`, and the section says neither `rename from` nor `copy from`",
    );
    refused(
        "--- x.orig\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: it is unclear which file is changed: the names are `x.orig` and `x`; \
         write them as `a/PATH` and `b/PATH`",
    );
    refused(
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: both names are `/dev/null`, so no file is changed",
    );
}

#[test]
fn a_new_or_deleted_file_that_is_not_one_whole_hunk_is_refused() {
    refused(
        "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 1: the section of `x` must be exactly one hunk `@@ -0,0 +1,COUNT @@`",
    );
    refused(
        "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +2 @@\n+b\n",
        "line 1, column 1: the section of `x` must be exactly one hunk `@@ -0,0 +1,COUNT @@`",
    );
    refused(
        &git("deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n"),
        "line 1, column 1: the section of `x` must be exactly one hunk `@@ -1,COUNT +0,0 @@`",
    );
}

#[test]
fn a_path_that_two_sections_change_is_refused() {
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
fn a_file_below_a_file_is_refused() {
    let below = EDIT.replace("/x", "/x/y");
    let beside = EDIT.replace("/x", "/x-");
    refused(
        &format!("{EDIT}{beside}{below}"),
        "line 11, column 1: `x/y` cannot be a file below `x`, which is a file by line 1",
    );
}

#[test]
fn a_file_below_the_source_of_a_copy_is_refused() {
    refused(
        "diff --git a/x b/z\ncopy from x\ncopy to z\ndiff -Nu x/y\n--- /dev/null\n+++ b/x/y\n\
         @@ -0,0 +1 @@\n+a\n",
        "line 5, column 1: `x/y` cannot be a file below `x`, which is a file by line 1",
    );
}

#[test]
fn moves_that_wait_for_each_other_are_refused_by_name() {
    let moved = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n")
    };
    let message = "these moves cannot be ordered, since each needs another to be made before it:";
    let hint = "first move one of the files out of the way, in a change of its own";
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
fn an_input_that_is_cut_off_inside_a_line_is_refused() {
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
        "line 5, column 1: the input ends inside `+b`; give the whole diff, with a newline at its \
         end",
    );
    refused(
        "diff --git a/x b/x\nnew file mode 100644",
        "line 2, column 1: the input ends inside `new file mode 100644`; give the whole diff, with a \
         newline at its end",
    );
    refused(
        "--- a/x\n+++ b/x\n@@ -1 +1 @@",
        "line 3, column 1: the input ends inside `@@ -1 +1 @@`; give the whole diff, with a newline \
         at its end",
    );
}

#[test]
fn a_diff_with_converted_line_ends_is_refused() {
    let converted = EDIT.replace('\n', "\r\n");
    refused(
        &converted,
        "line 1, column 1: the line ends with CRLF, so the line ends of the diff were converted \
         after it was made; give it as it was made",
    );
    assert!(parse(git("old mode 100644\r\nnew mode 100755\r\n").as_bytes()).is_err());
}

/// FO-7, D-5
#[test]
fn paths_that_no_change_may_touch_are_refused_where_they_stand() {
    refused(
        "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n",
        "line 1, column 5: the path `../x` cannot be used: it contains `..`",
    );
    refused(
        "diff --git a/x b/.git/hooks/x\nrename from x\nrename to .git/hooks/x\n",
        "line 3, column 11: the path `.git/hooks/x` cannot be used: it lies in `.git` or `.actum`, \
         which no change may touch",
    );
    refused(
        "diff --git a//etc/x b//etc/x\nnew file mode 100644\n",
        "line 1, column 12: the path `/etc/x` cannot be used: it is absolute; give it relative to \
         the workspace root",
    );
}
