//! Tests for locating chunks in a file.

use super::*;

/// Creates a chunk from lines that begin with ` `, `-` or `+`. The prefix `@@ ` marks an anchor, and `$` requires the end of the
/// file.
fn chunk(text: &str) -> Chunk {
    let mut chunk = Chunk { anchors: Vec::new(), lines: Vec::new(), at_end: false };
    for line in text.lines() {
        if let Some(anchor) = line.strip_prefix("@@ ") {
            chunk.anchors.push(anchor.into());
            continue;
        }
        let (sign, rest) = line.split_at(1);
        let side = match sign {
            "$" => {
                chunk.at_end = true;
                continue;
            }
            "-" => Side::Old,
            "+" => Side::New,
            _ => Side::Context,
        };
        chunk.lines.push(ChunkLine { side, bytes: rest.into() });
    }
    chunk
}

fn apply(chunks: &[&str], content: &str) -> String {
    let chunks: Vec<_> = chunks.iter().map(|text| chunk(text)).collect();
    match splices(&chunks, content.as_bytes()) {
        Ok(splices) => {
            String::from_utf8(Splice::apply(&splices, content.as_bytes()).unwrap()).unwrap()
        }
        Err(error) => error.to_string(),
    }
}

/// FO-10
#[test]
fn chunks_apply_at_their_matching_lines() {
    assert_eq!(apply(&[" b\n-c\n+C"], "a\nb\nc\nd\n"), "a\nb\nC\nd\n");
    assert_eq!(apply(&["-a", "-d\n+D\n+E"], "a\nb\nc\nd\n"), "b\nc\nD\nE\n");
    assert_eq!(apply(&["-a\n-b"], "a\nb\n"), "");
}

/// FO-10
#[test]
fn final_newline_state_is_preserved() {
    assert_eq!(apply(&[" a\n-b\n+c"], "a\nb"), "a\nc");
    assert_eq!(apply(&[" b\n+c"], "a\nb"), "a\nb\nc");
    assert_eq!(apply(&[" b\n+c"], "a\nb\n"), "a\nb\nc\n");
    assert_eq!(apply(&["+c\n$"], "a\nb"), "a\nb\nc");
    assert_eq!(apply(&["+c\n$"], "a\nb\n"), "a\nb\nc\n");
    assert_eq!(apply(&["+c"], ""), "c\n");
}

/// FO-10
#[test]
fn ambiguous_chunk_lines_are_refused() {
    assert_eq!(
        apply(&["-a\n+b"], "a\nx\na\n"),
        "the lines of the chunk are in the file at lines 1, 3, so their place is ambiguous"
    );
    assert!(apply(&["-a\n-a"], "a\na\na\n").contains("at lines 1, 2,"));
    assert!(apply(&["-\n+x"], "a\n\n\nb\n").contains("at lines 2, 3,"));
}

/// FO-10
#[test]
fn anchor_disambiguates_matching_lines() {
    let file = "class A:\n  def f():\n    1\nclass B:\n  def f():\n    1\n";
    let one = |anchors: &str| apply(&[&format!("{anchors}-    1\n+    2")], file);
    assert!(one("").contains("ambiguous"));
    assert_eq!(one("@@ class A:\n"), file.replacen("    1", "    2", 1));
    let second = "class A:\n  def f():\n    1\nclass B:\n  def f():\n    2\n";
    assert_eq!(one("@@ class B:\n"), second);
    assert_eq!(one("@@ class B:\n@@   def f():\n"), second);
    assert!(one("@@ def f():\n").contains("at lines 3, 6, so their place is ambiguous"));
    assert_eq!(apply(&["@@ class B:\n class B:\n-  def f():"], file).matches("def f").count(), 1);
    assert_eq!(
        one("@@ class C:\n"),
        "the chunk must follow the line `class C:`, which was not found"
    );
}

/// FO-10
#[test]
fn chunk_must_follow_the_previous_one() {
    assert_eq!(apply(&[" x\n-a\n+1", "-a\n+2"], "x\na\na\n"), "x\n1\n2\n");
    assert_eq!(
        apply(&["-b", "-a"], "a\nb\n"),
        "the lines of chunk 2 are in the file at line 1, but not after the previous chunk"
    );
}

/// FO-10
#[test]
fn end_of_file_marker_matches_only_at_the_end() {
    assert_eq!(apply(&["-a\n+b\n$"], "a\nx\na\n"), "a\nx\nb\n");
    assert_eq!(apply(&["-a\n+b\n$"], "a\nx\na"), "a\nx\nb");
    assert_eq!(
        apply(&["-a\n$"], "a\nx\n"),
        "the lines of the chunk are in the file at line 1, but not at the end of the file"
    );
}

#[test]
fn chunk_that_only_adds_lines_needs_a_position() {
    assert!(apply(&["+a"], "b\n").starts_with("the chunk only adds lines"));
    assert!(apply(&["@@ b\n+a"], "b\n").starts_with("the chunk only adds lines"));
}

/// FO-10
#[test]
fn missing_line_that_looks_like_a_marker_is_reported() {
    assert_eq!(
        apply(&[" a\n-b\n *** Delete File: c"], "a\nb\n"),
        "the lines of the chunk, starting with `a`, are not in the file one after another; the \
         leading space makes `*** Delete File: c` a line of the chunk instead of a marker; \
         closest match at line 1 (2 of 3 lines)"
    );
}

#[test]
fn missing_chunk_lines_report_the_closest_match() {
    assert_eq!(
        apply(&["-x"], "a\n"),
        "the lines of the chunk, starting with `x`, are not in the file one after another"
    );
    let near = apply(&[" a\n-b\n+c"], "a\r\nb\r\n");
    assert!(
        near.ends_with("; the text at line 1 differs only in line endings (CRLF or LF)"),
        "{near}"
    );
    assert_eq!(apply(&["-a\n-a"], "ba\na\na\n"), "ba\n");
    assert!(apply(&["-aa"], "baa\naab\n").contains("are not in the file"));
}

/// FO-10
#[test]
fn empty_line_matches_only_an_existing_empty_line() {
    let nowhere = |chunk: &str, file: &str| {
        let answer = apply(&[chunk], file);
        assert!(answer.contains("are not in the file"), "{answer}");
    };
    nowhere("-a\n+b\n ", "a\n");
    nowhere("-a\n-\n+b", "x\na\n");
    assert_eq!(apply(&["-a\n \n+N"], "a\n\n\na\n"), "\nN\n\na\n");
    assert_eq!(apply(&["-a\n-"], "a\n\n"), "");
}

/// FO-10
#[test]
fn missing_anchor_is_refused_even_for_lines_added_at_the_end() {
    assert!(apply(&["@@ no\n+x\n$"], "a\n").contains("which was not found"));
    assert!(apply(&["@@ no\n+x"], "").contains("which was not found"));
    assert_eq!(apply(&["@@ a\n+x\n$"], "a\n"), "a\nx\n");
}
