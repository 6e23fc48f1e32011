//! Rejected edits, one example each, and the position in their error messages.

use actum_edit::Edit;

use super::{edited, edited_in, update};

fn refused(path: &str, file: &str) -> String {
    edited(path, "0", file).unwrap_err()
}

/// EX-10
#[test]
fn unresolved_path_reports_where_it_stops() {
    let file = "a:\n  - b: 1\n1: x\n";
    for (path, end) in [
        ("$.c.d", "there is no `c` at `$`"),
        ("$.a[1].b", "there is no element 1 (number of elements: 1) at `$['a']`"),
        ("$.a[0].c.d", "there is no `c` at `$['a'][0]`"),
        ("$.a.b", "the member `b` requires an object, but there is a sequence at `$['a']`"),
        ("$[0]", "element 0 requires an array, but there is a mapping at `$`"),
        // A number is not a string.
        ("$['1'].a", "there is no `1` at `$`"),
    ] {
        assert_eq!(
            refused(path, file),
            format!("the path `{path}` selects nothing in the file: {end}")
        );
    }
    assert_eq!(refused("$", ""), "the path `$` selects nothing in the file");
    let alike = refused("$['1']", file);
    assert!(alike.starts_with("the key at line 3, column 1 is not a plain string"), "{alike}");
}

/// EX-10
#[test]
fn ambiguous_path_lists_its_matches_in_all_documents() {
    assert_eq!(
        refused("$.a", "a: 1\n---\nb: 1\n---\na: 2\n"),
        "the path `$.a` selects 2 places (`document 1: $['a']`, `document 3: $['a']`), but must \
         select exactly one"
    );
    assert_eq!(refused("$.c", "a: 1\n---\nb: 1\n"), "the path `$.c` selects nothing in the file");
    assert_eq!(
        refused("$..b", "- b: 1\n- b: 2\n"),
        "the path `$..b` selects 2 places (`$[0]['b']`, `$[1]['b']`), but must select exactly one"
    );
    // An alias repeats the anchored value at another place, so the path selects two places.
    assert_eq!(
        refused("$..b", "- &x {b: 1}\n- *x\n"),
        "the path `$..b` selects 2 places (`$[0]['b']`, `$[1]['b']`), but must select exactly one"
    );
}

/// EX-10
#[test]
fn aliased_values_are_not_modified() {
    let alias = "the path leads through the alias `*x` at line 2, column 4; edit the value at its anchor \
                 instead";
    assert_eq!(refused("$.b", "a: &x {c: 1}\nb: *x\n"), alias);
    assert_eq!(refused("$.b.c", "a: &x {c: 1}\nb: *x\n"), alias);
    assert_eq!(refused("$.b[?@ == 1]", "a: &x {c: 1}\nb: *x\n"), alias);
    let anchored = |anchor| {
        format!(
            "the edit would change the value of the anchor `&x` at line 1, column {anchor}, which the alias \
             at line 2, column 4 refers to"
        )
    };
    assert_eq!(refused("$.a", "a: &x 1\nb: *x\n"), anchored(4));
    assert_eq!(refused("$.a", "a: {q: &x 1}\nb: *x\n"), anchored(8));
    assert_eq!(refused("$.a.q", "a: {q: &x 1}\nb: *x\n"), anchored(8));
    // Editing a value inside an anchored one would also change the places where an alias refers to it.
    assert_eq!(refused("$.a.q", "a: &x {q: 1}\nb: *x\n"), anchored(4));
}

/// EX-10
#[test]
fn tagged_value_is_not_replaced() {
    let tagged = |tag| {
        format!(
            "the value at line 1, column 4 has the tag `{tag}`; values with a tag cannot be replaced"
        )
    };
    assert_eq!(refused("$.a", "a: !!str 1\n"), tagged("!!str"));
    assert_eq!(refused("$.a", "a: !t\n  - 1\n"), tagged("!t"));
    // Tags and anchors of other values are unchanged.
    let file = "a: !!str 1\nb: &x !!int 2\nc: 1\n";
    assert_eq!(edited("$.c", "2", file).as_deref(), Ok("a: !!str 1\nb: &x !!int 2\nc: 2\n"));
}

/// EX-10, EX-20
#[test]
fn invalid_yaml_is_rejected_with_its_position() {
    let brackets = "a `[` or `{` is not closed, or a `,` is missing between two of its values";
    let entry = "a mapping or sequence entry cannot begin here; quote a value that contains `: `";
    for (file, line, column, problem) in [
        ("a: 1\nb: [1\n", 2, 4, brackets),
        ("a: 1\n\tb: 2\n", 1, 4, "a tab is used for indentation, where only spaces are allowed"),
        ("a: 1\na: 2\n", 2, 1, "this key is already in the mapping"),
        ("x: {a: 1, a: 2}\n", 1, 11, "this key is already in the mapping"),
        ("a: *x\n", 1, 4, "an alias refers to an anchor that is not defined before it"),
        ("a: b: c\n", 1, 5, entry),
    ] {
        let error = refused("$.a", file);
        let start = format!("the file is not valid YAML: line {line}, column {column}: ");
        assert_eq!(error, format!("{start}{problem}"), "{file:?}");
    }
    let error = Edit::Yaml(update("$.a", "0")).splices(b"a: 1\nb: \xff\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "YAML must be UTF-8, but the byte at line 2, column 4 is invalid"
    );
}

/// EX-10
#[test]
fn query_over_keys_that_are_not_strings_is_rejected() {
    let name = |line, column| {
        format!(
            "the key at line {line}, column {column} is not a plain string, so the path is ambiguous; use \
             a path of names and indices"
        )
    };
    assert_eq!(refused("$..a", "1: x\nb: {a: 1}\n"), name(1, 1));
    assert_eq!(refused("$..a", "b: &x {a: 1}\nc:\n  <<: *x\n"), name(3, 3));
    assert_eq!(
        refused("$[?@.id == 1].a", "- id: 1\n  a: 2\n- id: 0x1\n"),
        "the number `0x1` at line 3, column 7 cannot be compared exactly, so the filter in the \
         path is ambiguous; use a path of names and indices"
    );
    assert_eq!(edited("$..a", "3", "- id: 0x1\n  a: 2\n").as_deref(), Ok("- id: 0x1\n  a: 3\n"));
}

/// EX-10
#[test]
fn empty_document_has_no_value_to_replace() {
    assert_eq!(
        refused("$", "---\n"),
        "the document at line 1, column 4 is empty, so there is no value to replace"
    );
}

/// EX-10
#[test]
fn document_is_selected_by_its_number() {
    let file = "a: 1\n---\n---\na: 2 # x\n...\n---\n- a: 3\n";
    let edited = |document, path| edited_in(document, path, "0", file);
    assert_eq!(edited(1, "$.a").unwrap(), file.replace("a: 1", "a: 0"));
    assert_eq!(edited(3, "$.a").unwrap(), file.replace("a: 2", "a: 0"));
    assert_eq!(edited(4, "$..a").unwrap(), file.replace("a: 3", "a: 0"));
    assert_eq!(
        edited(4, "$.a").unwrap_err(),
        "the path `$.a` selects nothing in the file: the member `a` requires an object, but there \
         is a sequence at `$`"
    );
    assert!(edited(2, "$").unwrap_err().contains("is empty, so there is no value to replace"));
    assert_eq!(
        edited(5, "$.a").unwrap_err(),
        "document 5 does not exist (number of documents in the file: 4)"
    );
}
