//! Rejected binary patches and their error messages.

use actum_edit::format::git_diff::parse;

use super::{git, refused};
use crate::binary::id;
use crate::hunk_writer::{delta, hunk, literal, packed};

/// Old and new content used in the binary sections.
const CONTENTS: (&[u8], &[u8]) = (b"a\0b", b"a\0c");

/// Returns a section that changes a file with these binary hunks, which start at line 4.
fn binary(hunks: &str) -> String {
    let (old, new) = (id(CONTENTS.0), id(CONTENTS.1));
    git(&format!("index {old}..{new} 100644\nGIT binary patch\n{hunks}"))
}

/// FO-10
#[test]
fn binary_patch_with_an_incomplete_or_contradictory_index_is_rejected() {
    let (old, zero) = (id(CONTENTS.0), "0".repeat(40));
    let index = "a binary patch needs an `index` line with the full ids of both contents; create \
                 the diff with `git diff --binary`";
    let with = |header: &str| git(&format!("{header}GIT binary patch\n{}", literal(b"")));
    refused(&with(""), &format!("line 2, column 1: {index}"));
    for ids in ["20b5be9..88f3700".to_owned(), format!("{old}"), format!("{old}..{zero}{zero}")] {
        refused(&with(&format!("index {ids} 100644\n")), &format!("line 2, column 7: {index}"));
    }
    let upper = format!("index {}..{zero}\n", old.to_string().to_uppercase());
    refused(&with(&upper), &format!("line 2, column 7: {index}"));
    refused(
        &with(&format!("index {old}..{old}\n")),
        &format!(
            "line 2, column 7: both contents have the id `{old}`, so the binary patch changes \
             nothing"
        ),
    );
    refused(
        &with(&format!("index {old}..{zero}\n")),
        "line 2, column 7: the new id must not be zero because the file exists on the new side",
    );
    refused(
        &with(&format!("new file mode 100644\nindex {old}..{zero}\n")),
        &format!(
            "line 3, column 7: the old id is `{old}`, but the file does not exist on the old side, so it \
             must be zero"
        ),
    );
}

/// Checks that the hunks of [`binary`] are rejected at `place`, which is a line and a column.
#[track_caller]
fn hunks_refused(hunks: &str, place: (u64, u64), problem: &str) {
    let (line, column) = place;
    refused(&binary(hunks), &format!("line {line}, column {column}: {problem}"));
}

/// FO-10
#[test]
fn binary_hunk_with_an_invalid_first_line_is_rejected() {
    let none = "expected `literal SIZE` or `delta SIZE` after `GIT binary patch`, found";
    hunks_refused("", (4, 1), &format!("{none} the end of the input"));
    hunks_refused("zip 3\n", (4, 1), &format!("{none} `zip 3`"));
    hunks_refused("literal \n", (4, 9), "expected a decimal size, found ``");
    hunks_refused("delta +3\n", (4, 7), "expected a decimal size, found `+3`");
    hunks_refused(
        "literal 104857601\n",
        (4, 9),
        "the hunk declares 104857601 bytes, but may have at most 104857600 bytes",
    );
    let good = literal(CONTENTS.1);
    let over = "unexpected hunk after the end of the binary patch: `literal 3`";
    hunks_refused(&format!("{good}\n{good}"), (8, 1), over);
    hunks_refused(&format!("{good}{}{good}", literal(CONTENTS.0)), (10, 1), over);
}

/// FO-10
#[test]
fn damaged_binary_hunk_line_is_rejected_with_its_position() {
    // `literal 3`, a line of fifteen characters that encode eleven bytes, and a blank line.
    let good = literal(CONTENTS.1);
    let line = good.lines().nth(1).unwrap();
    assert_eq!((good.lines().count(), line.len()), (3, 16));
    let with = |line: &str| format!("literal 3\n{line}\n\n");
    hunks_refused(
        &with(&line.replacen('K', "k", 1)),
        (5, 1),
        "the line declares 37 bytes, which take 50 characters, but has 15",
    );
    hunks_refused(
        &with(&line[..15]),
        (5, 1),
        "the line declares 11 bytes, which take 15 characters, but has 14",
    );
    hunks_refused(
        &format!("{good}{}", with("A0")),
        (8, 1),
        "the line declares 1 bytes, which take 5 characters, but has 1",
    );
    let letter = "expected a line of a binary hunk, which starts with a length letter (`A` to `Z` or \
                  `a` to `z`), found";
    hunks_refused(&with("0cmYd"), (5, 1), &format!("{letter} `0cmYd`"));
    hunks_refused(
        &with(&format!("{}\"{}", &line[..7], &line[8..])),
        (5, 8),
        "`\"` is not a character of git's base-85 alphabet",
    );
    hunks_refused(
        &with(&format!("{}~~~~~{}", &line[..6], &line[11..])),
        (5, 7),
        "the base-85 group `~~~~~` does not fit into four bytes",
    );
    let converted = "the line ends with CRLF, so the line endings of the diff were converted; pass \
                     the diff with its original line endings";
    hunks_refused(&good.replace('\n', "\r\n"), (4, 1), converted);
    hunks_refused(&with(&format!("{line}\r")), (5, 1), converted);
}

/// FO-10
#[test]
fn truncated_binary_hunk_is_rejected() {
    let good = literal(CONTENTS.1);
    let line = good.lines().nth(1).unwrap();
    hunks_refused(
        good.trim_end(),
        (5, 1),
        &format!(
            "the input ends inside `{line}`; pass the complete diff, including its final newline"
        ),
    );
    let open = &good[..good.len() - 1];
    let cut = "expected a blank line after the binary hunk, found";
    hunks_refused(open, (6, 1), &format!("{cut} the end of the input; pass the whole diff"));
    hunks_refused(
        &format!("{open}diff --git a/y b/y\n"),
        (6, 1),
        &format!("{cut} `diff --git a/y b/y`; pass the whole diff"),
    );
    assert!(parse(binary(&good).as_bytes()).is_ok());
}

/// FO-10; the last hunk would expand to 50 MB.
#[test]
fn binary_hunk_that_does_not_inflate_to_its_size_is_rejected() {
    let whole = packed(CONTENTS.1);
    let damaged = "the hunk cannot be decompressed because its data is damaged or incomplete";
    for packed in [&whole[..8], b"", b"no zlib stream"] {
        hunks_refused(&hunk("literal", 3, packed), (4, 1), damaged);
    }
    let size = |announced| hunk("literal", announced, &whole);
    hunks_refused(&size(4), (4, 1), "the hunk declares 4 bytes, but contains 3");
    hunks_refused(&size(2), (4, 1), "the hunk declares 2 bytes, but contains more");
    let bomb = hunk("literal", 3, &packed(&vec![0; 50_000_000]));
    hunks_refused(&bomb, (4, 1), "the hunk declares 3 bytes, but contains more");
}

/// FO-10
#[test]
fn binary_patch_result_that_differs_from_its_header_is_rejected() {
    let (old, new) = (id(CONTENTS.0), id(CONTENTS.1));
    let good = literal(CONTENTS.1);
    let wrong = |expected, content: &[u8]| {
        let found = id(content);
        format!(
            "the content of the hunk has the id `{found}`, but the `index` line says `{expected}`"
        )
    };
    refused(&binary(&literal(b"else")), &format!("line 4, column 1: {}", wrong(new, b"else")));
    let twice = format!("{good}{good}");
    refused(&binary(&twice), &format!("line 7, column 1: {}", wrong(old, CONTENTS.1)));
    for (instructions, problem) in [
        (
            &b"\x03\x04\x90\x04"[..],
            "the delta copies 4 bytes at offset 0, beyond the end of its base of 3 bytes",
        ),
        (b"\x03\x03\x90\x02", "the delta declares a result of 3 bytes, but produces 2"),
        (b"\x03\x03\x03ab", "the delta ends in the middle of a size or an instruction"),
        (b"\x03\x03\x90\x02\x00", "the delta contains instruction 0, which git reserves"),
        (
            b"\x03\xff\xff\xff\xff\x7f",
            "the delta produces 34359738367 bytes, but at most 104857600 are allowed",
        ),
    ] {
        refused(&binary(&delta(instructions)), &format!("line 4, column 1: {problem}"));
        let reverse = format!("{good}{}", delta(instructions));
        refused(&binary(&reverse), &format!("line 7, column 1: {problem}"));
    }
}

/// FO-6, FO-10
#[test]
fn binary_creation_and_deletion_require_the_full_content() {
    let (id, zero) = (id(CONTENTS.0), "0".repeat(40));
    let (nothing, content) = (literal(b""), literal(CONTENTS.0));
    let created = |hunks: &str| {
        let header = format!("new file mode 100644\nindex {zero}..{id}\nGIT binary patch\n");
        git(&format!("{header}{hunks}"))
    };
    let deleted = |hunks: &str| {
        let header = format!("deleted file mode 100644\nindex {id}..{zero}\nGIT binary patch\n");
        git(&format!("{header}{hunks}"))
    };
    let start = "there is no content to apply a delta to, so the hunk must be `literal SIZE`";
    let end = "the hunk removes the file, so it must be `literal 0`";
    let insert = delta(b"\x00\x03\x03a\0b");
    refused(&created(&insert), &format!("line 5, column 1: {start}"));
    refused(&created(&format!("{content}{content}")), &format!("line 8, column 1: {end}"));
    refused(&created(&format!("{content}{insert}")), &format!("line 8, column 1: {end}"));
    assert!(parse(created(&content).as_bytes()).is_ok());

    refused(&deleted(&content), &format!("line 5, column 1: {end}"));
    refused(&deleted(&format!("{nothing}{insert}")), &format!("line 8, column 1: {start}"));
    refused(
        &deleted(&nothing),
        "line 5, column 1: the section deletes `x`, but has no second hunk with the deleted content; \
         create the diff with `git diff --binary`",
    );
    let other = deleted(&format!("{nothing}{}", literal(b"else")));
    assert!(
        parse(other.as_bytes())
            .unwrap_err()
            .to_string()
            .starts_with("line 8, column 1: the content")
    );
    assert!(parse(deleted(&format!("{nothing}{content}")).as_bytes()).is_ok());
}
