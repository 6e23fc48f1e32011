//! Symbolic links as git writes them (git-diff(1)): mode 120000, with the target as the only line.

use actum_core::{Digest, FileMode, RelPath};
use actum_edit::format::git_diff::parse;
use actum_edit::format::git_diff::write::{Side, section};
use actum_edit::{EmptyParents, Operation};

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn link(at: &str, target: &str, before: Option<&str>) -> Operation {
    let expected = before.map(|before| Digest::of(before.as_bytes()));
    Operation::Link { path: path(at), target: target.into(), expected }
}

fn delete(at: &str, content: &str) -> Operation {
    let (expected, parents) = (Some(Digest::of(content.as_bytes())), EmptyParents::Remove);
    Operation::Delete { path: path(at), expected, parents }
}

/// FO-10, D-6
#[test]
fn links_are_created_retargeted_renamed_and_deleted() {
    let made = "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1de5659\n--- /dev/null\n+++ b/l\n\
        @@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n";
    assert_eq!(parse(made.as_bytes()).unwrap(), [link("l", "target", None)]);
    let retargeted = "diff --git a/l b/l\nindex 1de5659..b5f5ef5 120000\n--- a/l\n+++ b/l\n\
        @@ -1 +1 @@\n-target\n\\ No newline at end of file\n+other\n\\ No newline at end of file\n";
    assert_eq!(parse(retargeted.as_bytes()).unwrap(), [link("l", "other", Some("target"))]);
    let renamed = "diff --git a/l b/m\nsimilarity index 50%\nrename from l\nrename to m\nindex 1de5659..b5f5ef5 120000\n\
        --- a/l\n+++ b/m\n@@ -1 +1 @@\n-target\n\\ No newline at end of file\n+other\n\\ No newline at end of file\n";
    let rename =
        Operation::Rename { from: path("l"), to: path("m"), parents: EmptyParents::Remove };
    let expected = [rename, link("m", "other", Some("target"))];
    assert_eq!(parse(renamed.as_bytes()).unwrap(), expected);
    let gone = "diff --git a/l b/l\ndeleted file mode 120000\nindex 1de5659..0000000\n--- a/l\n+++ /dev/null\n\
        @@ -1 +0,0 @@\n-target\n\\ No newline at end of file\n";
    assert_eq!(parse(gone.as_bytes()).unwrap(), [delete("l", "target")]);
    // A link target with several lines.
    let lines = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n\
        @@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n";
    assert_eq!(parse(lines.as_bytes()).unwrap(), [link("l", "one\ntwo", None)]);
}

/// FO-10, D-6: two sections for the same path replace a file with a link, in either order.
#[test]
fn file_becomes_a_link_by_two_sections_in_either_order() {
    let gone = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n";
    let made = "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n";
    let expected = [delete("x", "text\n"), link("x", "to", None)];
    for diff in [format!("{gone}{made}"), format!("{made}{gone}")] {
        assert_eq!(parse(diff.as_bytes()).unwrap(), expected);
    }
    let as_file = made.replace("120000", "100644");
    let error = parse(format!("{gone}{as_file}").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("`x`"), "{error}");
}

/// FO-10: link diffs that git never writes are rejected, each with its own error.
#[test]
fn link_diffs_git_never_writes_are_rejected() {
    let problem = |diff: &str| parse(diff.as_bytes()).unwrap_err().to_string();
    let with_newline = "diff --git a/l b/l\nindex 1de5659..b5f5ef5 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-target\n+other\n";
    assert!(problem(with_newline).contains("without a final newline"), "{}", problem(with_newline));
    let by_mode = "diff --git a/l b/l\nold mode 100644\nnew mode 120000\n";
    assert!(problem(by_mode).contains("delete it in one section"), "{}", problem(by_mode));
    let submodule = "diff --git a/l b/l\nnew file mode 160000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+Subproject commit 1\n";
    assert!(problem(submodule).contains("submodule"), "{}", problem(submodule));
}

/// FO-10: actum parses a link diff that it wrote to the same operations.
#[test]
fn written_link_diffs_parse_to_the_same_operations() {
    let at = path("l");
    let side = |mode, content: &'static [u8]| Some(Side { path: &at, mode, content });
    let written = |old, new| {
        let mut text = Vec::new();
        section(old, new, |_, bytes| text.extend_from_slice(bytes));
        text
    };
    let link_to = |target| side(FileMode::LINK, target);
    let file = side(FileMode::REGULAR, b"text\n");
    for (old, new, expected) in [
        (None, link_to(b"to"), vec![link("l", "to", None)]),
        (link_to(b"to"), None, vec![delete("l", "to")]),
        (link_to(b"to"), link_to(b"on"), vec![link("l", "on", Some("to"))]),
        (file, link_to(b"to"), vec![delete("l", "text\n"), link("l", "to", None)]),
    ] {
        assert_eq!(parse(&written(old, new)).unwrap(), expected);
    }
    let text = String::from_utf8(written(None, link_to(b"to"))).unwrap();
    assert!(text.contains("new file mode 120000\n"), "{text}");
    let strange = parse(&written(None, link_to(b"\xff\x1b\nx"))).unwrap();
    let expected =
        Operation::Link { path: at.clone(), target: b"\xff\x1b\nx".to_vec(), expected: None };
    assert_eq!(strange, [expected]);
}
