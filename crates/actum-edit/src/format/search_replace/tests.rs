//! Tests for parsing and rejecting SEARCH/REPLACE blocks.

use super::*;
use crate::Splice;
use crate::format::{Format, Reading};
use proptest::prelude::*;

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

fn error(input: impl AsRef<[u8]>) -> String {
    parse(input.as_ref()).unwrap_err().to_string()
}

fn block(search: &str, replace: &str) -> String {
    format!("<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
}

fn edit(name: &str, search: &[&str], replace: &[&str]) -> Operation {
    let lines = |side, lines: &[&str]| -> Vec<ChunkLine> {
        lines.iter().map(|bytes| ChunkLine { side, bytes: (*bytes).into() }).collect()
    };
    let lines = [lines(Side::Old, search), lines(Side::New, replace)].concat();
    let edit = Edit::Chunks(vec![Chunk { anchors: Vec::new(), lines, at_end: false }]);
    Operation::Edit { path: path(name), edit, expected: None }
}

fn create(name: &str, content: &str) -> Operation {
    Operation::Create { path: path(name), content: content.into(), mode: None }
}

/// Applies the blocks in `input`, which all edit the same file, to `content`.
fn made(input: impl AsRef<[u8]>, content: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = content.to_vec();
    for operation in parse(input.as_ref()).map_err(|error| error.to_string())? {
        let Operation::Edit { edit, .. } = operation else { panic!("{operation:?}") };
        let splices = edit.splices(&content).map_err(|error| error.to_string())?;
        content = Splice::apply(&splices, &content).unwrap();
    }
    Ok(content)
}

/// FO-10, Issue 27
#[test]
fn block_path_may_precede_the_block_or_its_optional_fence() {
    let expected = [edit("src/a.rs", &["old", ""], &["new"])];
    let block = block("old\n\n", "new\n");
    for input in [
        format!("src/a.rs\n{block}"),
        format!("src/a.rs\n```rust\n{block}```\n"),
        format!("```\nsrc/a.rs\n{block}```\n"),
        format!("````python\nsrc/a.rs\n{block}````"),
        format!("~~~\nsrc/a.rs\n{block}~~~\n"),
        format!("Here it is, as you asked:\n\n  src/a.rs  \n\n```\n\n{block}```\nDone.\n"),
        format!("Changes:\n```\n`src/a.rs`\n{block}"),
        format!("src/a.rs\n{}", block.trim_end()),
        format!("src/a.rs\n{}", block.replace("SEARCH\n", "SEARCH \t\n").replace("==\n", "== \n")),
        format!("src/a.rs\n```\nsrc/a.rs\n{block}```\n"),
    ] {
        assert_eq!(parse(input.as_bytes()).unwrap(), expected, "{input}");
        assert_eq!(crate::format::parse(input.as_bytes(), &Reading::default()).unwrap(), expected);
    }
}

/// FO-10, Issue 27
#[test]
fn each_block_becomes_one_operation_in_input_order() {
    let (first, second) = (block("1\n", "2\n"), block("3\n", ""));
    let expected = [
        edit("a b", &["1"], &["2"]),
        edit("a b", &["3"], &[]),
        create("b/c", "x\n\ny\n"),
        edit("b/c", &["x"], &["z"]),
        create("empty", ""),
    ];
    let made = block("", "x\n\ny\n");
    let (changed, empty) = (block("x\n", "z\n"), block("", ""));
    let close = format!("`a b`\n{first}{second}\nb/c\n{made}\n{changed}\n\nempty\n{empty}");
    let fenced = format!(
        "First\n`a b`\n```\n{first}```\n\n```rust\n{second}```\nThen one more:\n\nb/c\n```\n{made}\n{changed}```\n\
         ```\nempty\n{empty}```\nThat is all.\n"
    );
    for input in [close, fenced] {
        assert_eq!(parse(input.as_bytes()).unwrap(), expected, "{input}");
    }
}

/// FO-10, Issue 27
#[test]
fn whole_lines_are_replaced_at_their_only_match() {
    let day = format!("a\n{}", block("day\n", "night\n"));
    assert_eq!(made(&day, b"good day\nday\n").unwrap(), b"good day\nnight\n");
    assert_eq!(made(&day, b"x\nday").unwrap(), b"x\nnight");
    assert_eq!(
        made(&day, b"day\nx\nday\n").unwrap_err(),
        "the lines of the chunk are in the file at lines 1, 3, so their place is ambiguous"
    );
    assert_eq!(
        made(&day, b" day\nx\n").unwrap_err(),
        "the lines of the chunk, starting with `day`, are not in the file one after another; line \
         1 contains the text as part of a longer line"
    );
    let gone = format!("a\n{}", block("day\n", ""));
    assert_eq!(made(&gone, b"a\nday\nb\n").unwrap(), b"a\nb\n");
    let bytes = b"a\n<<<<<<< SEARCH\n\xff\r\n=======\n\0\r\n>>>>>>> REPLACE\n";
    assert_eq!(made(bytes, b"x\r\n\xff\r\n").unwrap(), b"x\r\n\0\r\n");
}

/// FO-10, Issue 27
#[test]
fn block_path_may_be_non_utf8_or_absolute_below_the_root() {
    let input = b"\xff\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    let operations = parse(input).unwrap();
    let [Operation::Edit { path, .. }] = operations.as_slice() else { panic!("{operations:?}") };
    assert_eq!(path.as_bytes(), b"\xff");
    let root = RootPrefix::new(b"/w");
    let input = format!("/w/a.rs\n```\n{}```\n", block("1\n", "2\n"));
    let expected = [edit("a.rs", &["1"], &["2"])];
    assert_eq!(parse_with(input.as_bytes(), &root).unwrap(), expected);
    assert!(error(&input).contains("line 1, column 1"), "{}", error(&input));
}

/// D-4, Issue 27
#[test]
fn incomplete_or_malformed_block_is_rejected_with_its_line() {
    for (body, message) in [
        (
            "<<<<<<< SEARCH\n",
            "line 2, column 1: the block that starts here is incomplete: no `>>>>>>> REPLACE` line follows",
        ),
        (
            "<<<<<<< SEARCH\na\n=======\nb",
            "line 2, column 1: the block that starts here is incomplete: no `>>>>>>> REPLACE` line follows",
        ),
        (
            "<<<<<<< SEARCH\na\n=======\nb\n>>>>>> REPLACE\n",
            "line 2, column 1: the block that starts here is incomplete: no `>>>>>>> REPLACE` line follows",
        ),
        (
            "<<<<<<< SEARCH\na\n======\nb\n>>>>>>> REPLACE\n",
            "line 6, column 1: the block that starts at line 2 ends here, but it has no `=======` line",
        ),
        (
            "<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n=======\n>>>>>>> REPLACE\n",
            "line 4, column 1: a block starts here, but the block that starts at line 2 has not ended with `>>>>>>> REPLACE`",
        ),
        (
            "<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\n",
            "line 6, column 1: a block starts here, but the block that starts at line 2 has not ended with `>>>>>>> REPLACE`",
        ),
        (
            "<<<<<<< SEARCH\nTitle\n=======\n=======\nb\n>>>>>>> REPLACE\n",
            "line 5, column 1: the block that starts at line 2 has a `=======` line at line 4 and another one here, so it is unclear which of them separates its parts",
        ),
    ] {
        assert_eq!(error(format!("a\n{body}")), message, "{body}");
    }
}

/// D-4, Issue 27
#[test]
fn change_fragments_outside_a_block_are_rejected() {
    let good = block("1\n", "2\n");
    for line in [
        "=======",
        ">>>>>>> REPLACE",
        "<<<<<< SEARCH",
        "  <<<<<<< SEARCH",
        "> REPLACE",
        ">>>>>> REPLACE",
        "<<<<<<< HEAD",
    ] {
        let input = format!("a\n{good}{line}\n");
        match line {
            "> REPLACE" => assert_eq!(parse(input.as_bytes()).unwrap().len(), 1),
            _ => {
                let message = error(&input);
                let shown = Excerpt::new(line.as_bytes());
                let expected = format!("line 7, column 1: `{shown}` is outside a block");
                assert!(message.starts_with(&expected), "{message}");
            }
        }
    }
    for line in [
        "*** Begin Patch",
        "*** Update File: a",
        "diff --git a/a b/a",
        "--- a/a\n+++ b/a",
        "{\"path\": \"a\", \"old_str\": \"a\", \"new_str\": \"b\"}",
    ] {
        for input in [format!("a\n{good}{line}\n"), format!("{line}\na\n{good}")] {
            let message = error(&input);
            assert!(message.contains("belongs to a change in another format"), "{message}");
        }
    }
}

/// D-4, Issue 27
#[test]
fn missing_or_unclear_block_path_is_rejected() {
    let good = block("1\n", "2\n");
    let no_path = "the file path is missing; it must be on the line before the block or before its code fence";
    for (lead, message) in [
        ("", &*format!("line 1, column 1: {no_path}")),
        ("\n```python\n", &format!("line 3, column 1: {no_path}")),
        ("```\n```\n", &format!("line 3, column 1: {no_path}")),
        (
            "Change this file:\n",
            "line 1, column 1: expected the file path of the block, but `Change this file:` could be prose",
        ),
        (
            "### a.py\n```\n",
            "line 1, column 1: expected the file path of the block, but `### a.py` could be prose",
        ),
        (
            "**a.py**\n",
            "line 1, column 1: expected the file path of the block, but `**a.py**` could be prose",
        ),
        (
            "a.py:\n",
            "line 1, column 1: expected the file path of the block, but `a.py:` could be prose",
        ),
        (
            "a b.py\n",
            "line 1, column 1: expected the file path of the block, but `a b.py` could be prose",
        ),
        (
            "``a``\n",
            "line 1, column 1: expected the file path of the block, but ```a``` could be prose",
        ),
        (
            "a.py\n```\nb.py\n",
            "line 4, column 1: both `b.py` and `a.py` precede the block, so it is unclear which file it changes",
        ),
        (
            "a.py\n```src/b\n",
            "line 3, column 1: both `a.py` and `src/b` precede the block, so it is unclear which file it changes",
        ),
        (
            "a.py\r\n",
            "line 1, column 1: the line ends with CRLF, so the line endings of the blocks were converted; pass the blocks with their original line endings",
        ),
    ] {
        assert_eq!(error(format!("{lead}{good}")), message, "{lead}");
    }
    let second = |between: &str| error(format!("a.py\n{good}{between}{}", block("2\n", "3\n")));
    assert_eq!(
        second("```\nNow the other one:\n```\n"),
        "line 8, column 1: expected the file path of the block, but `Now the other one:` could be prose"
    );
    assert_eq!(
        second("```\n\n```b.py\n"),
        "line 10, column 1: both `a.py` and `b.py` precede the block, so it is unclear which file it changes"
    );
    assert!(error(format!("../a\n{good}")).starts_with("line 1, column 1: "));
    assert!(error(format!(".git/config\n{good}")).starts_with("line 1, column 1: "));
}

/// D-4, Issue 27
#[test]
fn block_with_an_unclear_effect_is_rejected() {
    let good = block("1\n", "2\n");
    assert_eq!(
        error(format!("a\n{good}\na\n{}", block("", "x\n"))),
        "line 9, column 1: a block without lines to search for creates a file, but the block at line 2 already changes \
         `a`; add the lines to search for"
    );
    assert!(
        error(format!("a\n{}", block(" \n\n", "x\n"))).contains("searches only for blank lines")
    );
    assert!(error(format!("a\n{}", block("x\n", "x\n"))).contains("the block changes nothing"));
    assert_eq!(
        error("a\nb\n"),
        "the input has no SEARCH/REPLACE blocks, which start with a `<<<<<<< SEARCH` line"
    );
}

/// D-4, Issue 27
#[test]
fn crlf_after_any_block_marker_is_rejected() {
    let good = format!("a\n{}", block("1\n", "2\n"));
    for marker in [HEAD, DIVIDER, TAIL] {
        let input = good.replace(marker, &format!("{marker}\r"));
        let message = error(&input);
        assert!(message.contains("the line ends with CRLF"), "{message}");
    }
    assert!(error(good.replace('\n', "\r\n")).contains("the line ends with CRLF"));
}

/// FO-10, Issue 27
#[test]
fn blocks_are_recognised_by_their_first_line_only() {
    let block = block("*** Begin Patch\n", "diff --git a/a b/a\n");
    let expected = [edit("a", &["*** Begin Patch"], &["diff --git a/a b/a"])];
    let input = format!("a\n{block}");
    assert_eq!(crate::format::parse(input.as_bytes(), &Reading::default()).unwrap(), expected);
    for (input, is_one) in [
        ("<<<<<<< SEARCH", true),
        ("x\n<<<<<<< SEARCH \t\r\n", true),
        (" <<<<<<< SEARCH\n", false),
        ("<<<<<<< SEARCHED\n", false),
        ("+<<<<<<< SEARCH\n", false),
        ("<<<<<< SEARCH\n", false),
    ] {
        assert_eq!(begins(input.as_bytes()), is_one, "{input}");
    }
    for format in [Format::CodexPatch, Format::GitDiff] {
        let reading = Reading { format: Some(format), ..Reading::default() };
        let patch = "*** Begin Patch\n*** Add File: b\n+b\n*** End Patch\n";
        let error =
            crate::format::parse(format!("a\n<<<<<<< SEARCH\n{patch}").as_bytes(), &reading);
        assert!(error.unwrap_err().to_string().contains("in another format"), "{format}");
    }
}

/// Issue 27
#[test]
fn parses_a_thousand_blocks_and_fifty_megabytes() {
    let blocks: String = (0..1_000)
        .map(|n| format!("d/{n}\n```\n{}```\n", block(&format!("{n}\n"), "x\n")))
        .collect();
    let operations = parse(blocks.as_bytes()).unwrap();
    assert_eq!(operations.len(), 1_000);
    assert_eq!(operations[999], edit("d/999", &["999"], &["x"]));
    let large = "0123456789abcde\n".repeat(50 * 1024 * 1024 / 16);
    let operations = parse(format!("a\n{}", block("", &large)).as_bytes()).unwrap();
    assert_eq!(operations, [create("a", &large)]);
    assert!(
        error(format!("a\n<<<<<<< SEARCH\n{large}"))
            .starts_with("line 2, column 1: the block that")
    );
}

/// Issue 27
#[test]
fn number_of_lines_in_a_block_is_limited() {
    let with = |count: usize| format!("a\n{}", block("x\n", &"y\n".repeat(count - 1)));
    assert_eq!(parse(with(LINES_MAX).as_bytes()).unwrap().len(), 1);
    assert_eq!(
        error(with(LINES_MAX + 1)),
        "line 2, column 1: the block has more than 1000000 lines; pass the change as a diff or as a whole file"
    );
}

proptest! {
    /// FO-10, Issue 27: for any lines, the parser either returns the block that was written or rejects the input.
    #[test]
    fn written_blocks_round_trip_or_are_rejected(
        search in prop::collection::vec("[a =<>`*-]{0,9}|=======|<<<<<<< SEARCH|>>>>>>> REPLACE", 1..5),
        replace in prop::collection::vec("[a =<>`*-]{0,9}|=======|```", 0..5),
        is_fenced in any::<bool>(),
    ) {
        let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let block = block(&lines(&search), &lines(&replace));
        let input = if is_fenced { format!("a.b\n```\n{block}```\n") } else { format!("a.b\n{block}") };
        let is_marker = |line: &String| marker(line.as_bytes()).is_some();
        let has_text = search.iter().any(|line| !line.trim().is_empty());
        match parse(input.as_bytes()) {
            Ok(operations) => {
                prop_assert!(!search.iter().chain(&replace).any(is_marker));
                let refs = |lines: &'_ [String]| lines.to_vec();
                let (search, replace) = (refs(&search), refs(&replace));
                let search: Vec<_> = search.iter().map(String::as_str).collect();
                let replace: Vec<_> = replace.iter().map(String::as_str).collect();
                prop_assert_eq!(operations, [edit("a.b", &search, &replace)]);
            }
            Err(error) => prop_assert!(
                search.iter().chain(&replace).any(is_marker) || !has_text || search == replace,
                "{}", error
            ),
        }
    }

    /// Issue 27: the parser returns one operation for each block or an error, and error messages have no control characters.
    #[test]
    fn arbitrary_text_around_markers_parses_or_fails_cleanly(
        lines in prop::collection::vec(
            "[a./ `*#:]{0,5}|=======|<<<<<<< SEARCH|>>>>>>> REPLACE|```[a./]{0,3}|>>>>>>", 0..14,
        ),
    ) {
        let input = lines.join("\n");
        match parse(input.as_bytes()) {
            Ok(operations) => {
                let heads = lines.iter().filter(|line| *line == HEAD).count();
                prop_assert_eq!(operations.len(), heads);
            }
            Err(error) => prop_assert!(!error.to_string().chars().any(char::is_control)),
        }
    }
}
