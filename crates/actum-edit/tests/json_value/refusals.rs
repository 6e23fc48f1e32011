//! Refused edits, each once, and the words with the place.

use actum_edit::edit::JsonValueEdit;

use super::{add, edited, remove, update};

fn refused(edit: JsonValueEdit, file: &str) -> String {
    edited(edit, file).unwrap_err()
}

/// EX-10
#[test]
fn what_is_there_or_missing_is_said_with_its_line() {
    assert_eq!(
        refused(add("$.a", "b", "1"), "{\n\"a\": {\n  \"b\": 1}}"),
        "the property `b` is there already, at line 3, column 3"
    );
    assert_eq!(
        refused(add("$", "b", "1"), "{\"\\u0062\": 1}"),
        "the property `b` is there already, at line 1, column 2"
    );
    assert_eq!(
        refused(remove("$.a", "c"), "{\n\"a\": {\n  \"b\": 1}}"),
        "the object at line 2, column 6 has no property `c`"
    );
    assert_eq!(
        refused(remove("$.a", "c"), "\u{feff}{\"a\": [1]}"),
        "`$.a` leads to line 1, column 10, where an array is: only an object has properties"
    );
    assert_eq!(
        refused(add("$", &"\n".repeat(100), "1"), &format!("{{\"{}\": 1}}", "\\n".repeat(100))),
        format!("the property `{}…` is there already, at line 1, column 2", "\\n".repeat(80))
    );
}

/// EX-10
#[test]
fn a_path_that_stops_says_where() {
    let file = "{\"a\": [{\"b\": 1}]}";
    for (path, end) in [
        ("$.c", "there is no `c` at `$`"),
        ("$.a[1].b", "there is no element 1, of 1, at `$['a']`"),
        ("$.a[0].c", "there is no `c` at `$['a'][0]`"),
        ("$.a.b", "what has a member `b` must be an object, but an array is at `$['a']`"),
        (
            "$.a[0].b.c",
            "what has a member `c` must be an object, but a number is at `$['a'][0]['b']`",
        ),
        ("$[0]", "what has an element 0 must be an array, but an object is at `$`"),
    ] {
        assert_eq!(
            refused(update(path, "1"), file),
            format!("the path `{path}` selects nothing in the file: {end}")
        );
    }
    assert_eq!(refused(update("$..c", "1"), file), "the path `$..c` selects nothing in the file");
    assert_eq!(
        refused(update("$.*", "1"), "[1,2]"),
        "the path `$.*` selects 2 places (`$[0]`, `$[1]`), so it is not clear which is meant"
    );
}

/// EX-10
#[test]
fn an_object_with_a_name_twice_is_not_gone_through() {
    let doubled = |line, column| {
        format!(
            "the name `a` stands a second time in its object at line {line}, column {column}, so it is \
             not clear what the path means"
        )
    };
    assert_eq!(refused(update("$.a", "1"), "{\"a\": 1,\n \"a\": 2}"), doubled(2, 2));
    assert_eq!(refused(update("$.b", "1"), "{\"a\": 1, \"b\": 2, \"\\u0061\": 2}"), doubled(1, 18));
    assert_eq!(refused(add("$", "b", "1"), "{\"a\": 1, \"a\": 2}"), doubled(1, 10));
    assert_eq!(refused(update("$..b", "1"), "{\"b\": {\"a\": 1, \"a\": 2}}"), doubled(1, 16));
    // What is beside the way, or gone, may be what it is.
    let file = "{\"b\": {\"a\": 1, \"a\": 2}, \"c\": 1}";
    assert!(edited(update("$.c", "2"), file).is_ok());
    assert_eq!(edited(update("$.b", "2"), file).as_deref(), Ok("{\"b\": 2, \"c\": 1}"));
}

/// EX-10, EX-20
#[test]
fn what_is_no_json_with_comments_is_refused_at_its_place() {
    for (file, error) in [
        ("{\n a: 1}", "line 2, column 2: expected a name in double quotes here, but found `a`"),
        ("[1,,]", "line 1, column 4: expected a value here, but found `,`"),
        (
            "/* x */\n[1 2] // y",
            "line 2, column 4: expected `,` or `]` after the value, but found `2`",
        ),
        ("", "line 1, column 1: there is nothing in it"),
        ("// x", "line 1, column 1: there is nothing in it"),
        ("['a']", "line 1, column 2: expected a value here, but found `'`"),
        ("{\"\\ud800\": 1}", "line 1, column 2: the `\\u` escapes here stand for no character"),
    ] {
        let expected = format!("the file is not JSON, with or without comments: {error}");
        assert_eq!(refused(update("$.x", "1"), file), expected, "{file:?}");
    }
    assert_eq!(
        refused(update("$", "1"), "[1]\n/* x"),
        "the comment at line 2, column 1 has no end"
    );
    assert_eq!(
        refused(update("$", "1"), "[1 // x\r]\n]"),
        "in the comment at line 1, column 8 is a carriage return without a line feed, which ends it for \
         some readers and not for others"
    );
    let bytes = actum_edit::Edit::JsonValue(update("$", "1")).splices(b"[\"\xff\"]").unwrap_err();
    assert_eq!(
        bytes.to_string(),
        "the file is not JSON, with or without comments: line 1, column 3: JSON is UTF-8, and the byte \
         here is not"
    );
}

/// EX-10
#[test]
fn a_number_that_a_filter_cannot_compare_is_refused() {
    assert_eq!(
        refused(
            update("$[?@.id == 1].n", "1"),
            "[{\"id\": 1, \"n\": 0},\n{\"id\": 9007199254740993}]"
        ),
        "the number `9007199254740993` at line 2, column 8 cannot be compared exactly, so it is not clear \
         what the filter in the path means; give a path of names and indices"
    );
}
