//! Rejected edits, one example each, and the position in their error messages.

use actum_edit::edit::JsonValueEdit;

use super::{add, edited, remove, update};

fn refused(edit: JsonValueEdit, file: &str) -> String {
    edited(edit, file).unwrap_err()
}

/// EX-10
#[test]
fn existing_and_missing_properties_are_reported_with_their_line() {
    assert_eq!(
        refused(add("$.a", "b", "1"), "{\n\"a\": {\n  \"b\": 1}}"),
        "the property `b` already exists at line 3, column 3"
    );
    assert_eq!(
        refused(add("$", "b", "1"), "{\"\\u0062\": 1}"),
        "the property `b` already exists at line 1, column 2"
    );
    assert_eq!(
        refused(remove("$.a", "c"), "{\n\"a\": {\n  \"b\": 1}}"),
        "the object at line 2, column 6 has no property `c`"
    );
    assert_eq!(
        refused(remove("$.a", "c"), "\u{feff}{\"a\": [1]}"),
        "`$.a` leads to an array at line 1, column 10, but only objects have properties"
    );
    assert_eq!(
        refused(add("$", &"\n".repeat(100), "1"), &format!("{{\"{}\": 1}}", "\\n".repeat(100))),
        format!("the property `{}…` already exists at line 1, column 2", "\\n".repeat(80))
    );
}

/// EX-10
#[test]
fn unresolved_path_reports_where_it_stops() {
    let file = "{\"a\": [{\"b\": 1}]}";
    for (path, end) in [
        ("$.c", "there is no `c` at `$`"),
        ("$.a[1].b", "there is no element 1 (number of elements: 1) at `$['a']`"),
        ("$.a[0].c", "there is no `c` at `$['a'][0]`"),
        ("$.a.b", "the member `b` requires an object, but there is an array at `$['a']`"),
        (
            "$.a[0].b.c",
            "the member `c` requires an object, but there is a number at `$['a'][0]['b']`",
        ),
        ("$[0]", "element 0 requires an array, but there is an object at `$`"),
    ] {
        assert_eq!(
            refused(update(path, "1"), file),
            format!("the path `{path}` selects nothing in the file: {end}")
        );
    }
    assert_eq!(refused(update("$..c", "1"), file), "the path `$..c` selects nothing in the file");
    assert_eq!(
        refused(update("$.*", "1"), "[1,2]"),
        "the path `$.*` selects 2 places (`$[0]`, `$[1]`), but must select exactly one"
    );
}

/// EX-10
#[test]
fn object_with_duplicate_names_is_not_traversed() {
    let doubled = |line, column| {
        format!(
            "the name `a` occurs again in its object at line {line}, column {column}, so the path \
             is ambiguous"
        )
    };
    assert_eq!(refused(update("$.a", "1"), "{\"a\": 1,\n \"a\": 2}"), doubled(2, 2));
    assert_eq!(refused(update("$.b", "1"), "{\"a\": 1, \"b\": 2, \"\\u0061\": 2}"), doubled(1, 18));
    assert_eq!(refused(add("$", "b", "1"), "{\"a\": 1, \"a\": 2}"), doubled(1, 10));
    assert_eq!(refused(update("$..b", "1"), "{\"b\": {\"a\": 1, \"a\": 2}}"), doubled(1, 16));
    // Values outside the edited path, or already removed, may be invalid.
    let file = "{\"b\": {\"a\": 1, \"a\": 2}, \"c\": 1}";
    assert!(edited(update("$.c", "2"), file).is_ok());
    assert_eq!(edited(update("$.b", "2"), file).as_deref(), Ok("{\"b\": 2, \"c\": 1}"));
}

/// EX-10, EX-20
#[test]
fn invalid_json_with_comments_is_rejected_with_its_position() {
    for (file, error) in [
        ("{\n a: 1}", "line 2, column 2: expected a name in double quotes, found `a`"),
        ("[1,,]", "line 1, column 4: expected a value, found `,`"),
        ("/* x */\n[1 2] // y", "line 2, column 4: expected `,` or `]` after the value, found `2`"),
        ("", "line 1, column 1: the text contains no JSON value"),
        ("// x", "line 1, column 1: the text contains no JSON value"),
        ("['a']", "line 1, column 2: expected a value, found `'`"),
        (
            "{\"\\ud800\": 1}",
            "line 1, column 2: invalid `\\u` escape: it does not encode a character",
        ),
    ] {
        let expected = format!("the file is neither JSON nor JSON with comments: {error}");
        assert_eq!(refused(update("$.x", "1"), file), expected, "{file:?}");
    }
    assert_eq!(
        refused(update("$", "1"), "[1]\n/* x"),
        "the comment at line 2, column 1 is not closed"
    );
    assert_eq!(
        refused(update("$", "1"), "[1 // x\r]\n]"),
        "the carriage return without a line feed at line 1, column 8 ends the comment in some \
         parsers only"
    );
    let bytes = actum_edit::Edit::JsonValue(update("$", "1")).splices(b"[\"\xff\"]").unwrap_err();
    assert_eq!(
        bytes.to_string(),
        "the file is neither JSON nor JSON with comments: line 1, column 3: this byte is not valid \
         UTF-8"
    );
}

/// EX-10
#[test]
fn number_a_filter_cannot_compare_exactly_is_rejected() {
    assert_eq!(
        refused(
            update("$[?@.id == 1].n", "1"),
            "[{\"id\": 1, \"n\": 0},\n{\"id\": 9007199254740993}]"
        ),
        "the number `9007199254740993` at line 2, column 8 cannot be compared exactly, so the \
         filter in the path is ambiguous; use a path of names and indices"
    );
}
