//! Tests for parsing and rejecting Codex patches.

use super::*;

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

fn error(input: impl AsRef<[u8]>) -> String {
    parse(input.as_ref()).unwrap_err().to_string()
}

fn chunk(anchors: &[&str], lines: &[(Side, &str)], at_end: bool) -> Chunk {
    let lines = lines.iter().map(|(side, bytes)| ChunkLine { side: *side, bytes: (*bytes).into() });
    Chunk {
        anchors: anchors.iter().map(|anchor| (*anchor).into()).collect(),
        lines: lines.collect(),
        at_end,
    }
}

fn edit(name: &str, chunks: Vec<Chunk>) -> Operation {
    Operation::Edit { path: path(name), edit: Edit::Chunks(chunks), expected: None }
}

/// FO-10
#[test]
fn files_are_added_deleted_updated_and_moved() {
    let parents = EmptyParents::Remove;
    let input = patch(
        "*** Add File: d/new.txt\n+one\n++two\n+\n\
         *** Delete File: old.txt\n\
         *** Update File: a.txt\n@@ fn f() {\n@@   loop\n x\n-y\n+z\n\n@@\n-q\n*** End of File\n\
         *** Update File: from.txt\n*** Move to: to.txt\n-a\n+b\n\
         *** Update File: p\n*** Move to: q\n",
    );
    let expected = vec![
        Operation::Create { path: path("d/new.txt"), content: b"one\n+two\n\n".into(), mode: None },
        Operation::Delete { path: path("old.txt"), expected: None, parents },
        edit(
            "a.txt",
            vec![
                chunk(
                    &["fn f() {", "loop"],
                    &[
                        (Side::Context, "x"),
                        (Side::Old, "y"),
                        (Side::New, "z"),
                        (Side::Context, ""),
                    ],
                    false,
                ),
                chunk(&[], &[(Side::Old, "q")], true),
            ],
        ),
        edit("from.txt", vec![chunk(&[], &[(Side::Old, "a"), (Side::New, "b")], false)]),
        Operation::Rename { from: path("from.txt"), to: path("to.txt"), parents },
        Operation::Rename { from: path("p"), to: path("q"), parents },
    ];
    assert_eq!(parse(input.as_bytes()).unwrap(), expected);
}

/// FO-10
#[test]
fn text_around_a_patch_is_skipped() {
    let input = format!("Here it is:\n```\n{}```\nDone.\n", patch("*** Add File: a\n+a\n"));
    assert!(begins(input.as_bytes()));
    assert_eq!(parse(input.as_bytes()).unwrap().len(), 1);
    assert!(!begins(b"say *** Begin Patch\n"));
    assert!(begins(b"*** Begin Patch  \n"));
    assert_eq!(parse(b"*** Begin Patch\n*** Delete File: a\n*** End Patch").unwrap().len(), 1);
}

/// FO-10
#[test]
fn invalid_patch_is_refused_with_its_line() {
    let cases: &[(&str, &str)] = &[
        ("*** Begin Patch\n", "the patch is incomplete"),
        ("*** Begin Patch\n*** Update File: a\n-a\n", "the patch is incomplete"),
        ("*** Begin Patch\n*** End Patch\n", "the patch is empty"),
        ("hello\n", "the input is not a Codex patch"),
        ("*** Add File: a\n+a\n", "line 1, column 1: `*** Add File: a` is outside"),
        (" *** Add File: a\n+a\n", "line 1, column 1: ` *** Add File: a` is outside"),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n *** Begin Patch\n",
            "line 4, column 1: a second patch begins here",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nb\n*** End Patch\n",
            "line 3, column 1: `b` is neither a section",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n-a\n*** End Patch\n",
            "line 3, column 1: `-a` is neither a section",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch\n",
            "line 2, column 1: the section for `a` changes nothing",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n b\n*** End Patch\n",
            "line 3, column 1: this chunk has no",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@ -1,2 +1,2 @@ f\n-b\n*** End Patch\n",
            "line 3, column 1: `@@ -1,2 +1,2 @@ f` is the hunk header of a unified diff",
        ),
        (
            "*** Begin Patch\n--- a/a\n+++ b/a\n*** End Patch\n",
            "line 2, column 1: `--- a/a` belongs to a unified diff",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** Delete File: a\n*** End Patch\n",
            "line 3, column 1: `a` is changed by two sections, here and at line 2",
        ),
        (
            "*** Begin Patch\n*** Delete File: b\n*** Update File: a\n*** Move to: b\n*** End Patch\n",
            "line 4, column 1: `b` is changed by two sections, here and at line 2",
        ),
        (
            "*** Begin Patch\n*** Delete File: ../a\n*** End Patch\n",
            "line 2, column 1: the path `../a` cannot be used",
        ),
        (
            "*** Begin Patch\r\n*** Delete File: a\r\n*** End Patch\r\n",
            "line 1, column 1: the line ends with CRLF",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\r\n*** End Patch\n",
            "line 2, column 1: the line ends with CRLF",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Begin Patch\n",
            "line 4, column 1: a second patch begins here",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Add File: b\n",
            "line 4, column 1: `*** Add File: b` is outside",
        ),
        (
            "*** Begin Patch\n*** Environment ID: x\n*** End Patch\n",
            "line 2, column 1: `*** Environment ID: x` is neither a section",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@x\n-a\n*** End Patch\n",
            "line 3, column 1: `@@x` is neither a section",
        ),
    ];
    for (input, expected) in cases {
        let error = error(input);
        assert!(error.starts_with(expected), "{input}\n{error}");
    }
}

/// FO-10: the parser ignores whitespace around markers, like Codex.
#[test]
fn blanks_around_markers_are_ignored() {
    let plain = "*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+b\n\
                 *** Update File: c\n*** Move to: d\n@@\n-one\n+two\n*** End Patch\n";
    let padded = " *** Begin Patch \n  *** Delete File: a \n\t*** Add File:  b\n+b\n \
                  *** Update File: c\n *** Move to: d\n@@\n-one\n+two\n *** End Patch \n";
    assert!(begins(padded.as_bytes()));
    assert_eq!(parse(padded.as_bytes()).unwrap(), parse(plain.as_bytes()).unwrap());
}

/// FO-10: a file that documents the patch format can contain its markers as lines.
#[test]
fn indented_marker_is_a_chunk_line_unless_it_ends_the_patch() {
    let input = patch("*** Update File: a\n@@\n *** Delete File: b\n *** End Patch\n-x\n");
    let lines =
        [(Side::Context, "*** Delete File: b"), (Side::Context, "*** End Patch"), (Side::Old, "x")];
    assert_eq!(parse(input.as_bytes()).unwrap(), [edit("a", vec![chunk(&[], &lines, false)])]);
    let ended = "*** Begin Patch\n*** Update File: a\n@@\n-x\n *** End Patch\nDone.\n";
    let expected = edit("a", vec![chunk(&[], &[(Side::Old, "x")], false)]);
    assert_eq!(parse(ended.as_bytes()).unwrap(), [expected]);
}
