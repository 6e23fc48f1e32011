//! Refused edits, each once, and the words with the place.

use actum_edit::Edit;

use super::{edited, edited_in, update};

fn refused(path: &str, file: &str) -> String {
    edited(path, "0", file).unwrap_err()
}

/// EX-10
#[test]
fn a_path_that_stops_says_where() {
    let file = "a:\n  - b: 1\n1: x\n";
    for (path, end) in [
        ("$.c.d", "there is no `c` at `$`"),
        ("$.a[1].b", "there is no element 1, of 1, at `$['a']`"),
        ("$.a[0].c.d", "there is no `c` at `$['a'][0]`"),
        ("$.a.b", "what has a member `b` must be an object, but a sequence is at `$['a']`"),
        ("$[0]", "what has an element 0 must be an array, but a mapping is at `$`"),
        // A number is no string.
        ("$['1'].a", "there is no `1` at `$`"),
    ] {
        assert_eq!(
            refused(path, file),
            format!("the path `{path}` selects nothing in the file: {end}")
        );
    }
    assert_eq!(refused("$", ""), "the path `$` selects nothing in the file");
    let alike = refused("$['1']", file);
    assert!(alike.starts_with("the name at line 3, column 1 is no plain string"), "{alike}");
}

/// EX-10
#[test]
fn a_path_that_selects_several_places_names_them_over_all_documents() {
    assert_eq!(
        refused("$.a", "a: 1\n---\nb: 1\n---\na: 2\n"),
        "the path `$.a` selects 2 places (`document 1: $['a']`, `document 3: $['a']`), so it is not clear \
         which is meant"
    );
    assert_eq!(refused("$.c", "a: 1\n---\nb: 1\n"), "the path `$.c` selects nothing in the file");
    assert_eq!(
        refused("$..b", "- b: 1\n- b: 2\n"),
        "the path `$..b` selects 2 places (`$[0]['b']`, `$[1]['b']`), so it is not clear which is meant"
    );
    // An alias shows what it stands for at another place.
    assert_eq!(
        refused("$..b", "- &x {b: 1}\n- *x\n"),
        "the path `$..b` selects 2 places (`$[0]['b']`, `$[1]['b']`), so it is not clear which is meant"
    );
}

/// EX-10
#[test]
fn nothing_is_written_through_an_alias_or_under_one() {
    let alias = "the path leads through the alias `*x` at line 2, column 4: what it stands for is written \
                 elsewhere, and is changed only there";
    assert_eq!(refused("$.b", "a: &x {c: 1}\nb: *x\n"), alias);
    assert_eq!(refused("$.b.c", "a: &x {c: 1}\nb: *x\n"), alias);
    assert_eq!(refused("$.b[?@ == 1]", "a: &x {c: 1}\nb: *x\n"), alias);
    let anchored = |anchor| {
        format!(
            "what the anchor `&x` at line 1, column {anchor} stands for would change, and the alias at \
             line 2, column 4 refers to it"
        )
    };
    assert_eq!(refused("$.a", "a: &x 1\nb: *x\n"), anchored(4));
    assert_eq!(refused("$.a", "a: {q: &x 1}\nb: *x\n"), anchored(8));
    assert_eq!(refused("$.a.q", "a: {q: &x 1}\nb: *x\n"), anchored(8));
    // What would change what an anchor around it stands for, changes elsewhere as well.
    assert_eq!(refused("$.a.q", "a: &x {q: 1}\nb: *x\n"), anchored(4));
}

/// EX-10
#[test]
fn a_value_with_a_tag_is_not_written_over() {
    let tagged = |tag| {
        format!(
            "the value at line 1, column 4 has the tag `{tag}`, which says what it is; it is not written \
             over"
        )
    };
    assert_eq!(refused("$.a", "a: !!str 1\n"), tagged("!!str"));
    assert_eq!(refused("$.a", "a: !t\n  - 1\n"), tagged("!t"));
    // Elsewhere it stays.
    let file = "a: !!str 1\nb: &x !!int 2\nc: 1\n";
    assert_eq!(edited("$.c", "2", file).as_deref(), Ok("a: !!str 1\nb: &x !!int 2\nc: 2\n"));
}

/// EX-10, EX-20
#[test]
fn what_is_no_strict_yaml_is_refused_at_its_place() {
    let brackets = "a `[` or `{` is not closed, or a `,` is missing between two of its values";
    let entry = "no entry of a mapping or sequence can begin here; a value with `: ` needs quotes";
    for (file, line, column, problem) in [
        ("a: 1\nb: [1\n", 2, 4, brackets),
        ("a: 1\n\tb: 2\n", 1, 4, "a tab stands where only blanks may indent"),
        ("a: 1\na: 2\n", 2, 1, "a key stands a second time in its mapping"),
        ("x: {a: 1, a: 2}\n", 1, 11, "a key stands a second time in its mapping"),
        ("a: *x\n", 1, 4, "an alias refers to no anchor before it"),
        ("a: b: c\n", 1, 5, entry),
    ] {
        let error = refused("$.a", file);
        let start = format!("the file is not strict YAML: line {line}, column {column}: ");
        assert_eq!(error, format!("{start}{problem}"), "{file:?}");
    }
    let error = Edit::Yaml(update("$.a", "0")).splices(b"a: 1\nb: \xff\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "YAML is edited as UTF-8, and the byte at line 2, column 4 is not"
    );
}

/// EX-10
#[test]
fn a_query_over_names_that_are_no_strings_is_refused() {
    let name = |line, column| {
        format!(
            "the name at line {line}, column {column} is no plain string, so it is not clear what the \
             path means; give a path of names and indices"
        )
    };
    assert_eq!(refused("$..a", "1: x\nb: {a: 1}\n"), name(1, 1));
    assert_eq!(refused("$..a", "b: &x {a: 1}\nc:\n  <<: *x\n"), name(3, 3));
    assert_eq!(
        refused("$[?@.id == 1].a", "- id: 1\n  a: 2\n- id: 0x1\n"),
        "the number `0x1` at line 3, column 7 cannot be compared exactly, so it is not clear what the \
         filter in the path means; give a path of names and indices"
    );
    assert_eq!(edited("$..a", "3", "- id: 0x1\n  a: 2\n").as_deref(), Ok("- id: 0x1\n  a: 3\n"));
}

/// EX-10
#[test]
fn a_document_in_which_nothing_is_has_no_place() {
    assert_eq!(
        refused("$", "---\n"),
        "the document at line 1, column 4 is empty, so there is no value to replace"
    );
}

/// EX-10
#[test]
fn a_document_is_chosen_by_its_number() {
    let file = "a: 1\n---\n---\na: 2 # x\n...\n---\n- a: 3\n";
    let edited = |document, path| edited_in(document, path, "0", file);
    assert_eq!(edited(1, "$.a").unwrap(), file.replace("a: 1", "a: 0"));
    assert_eq!(edited(3, "$.a").unwrap(), file.replace("a: 2", "a: 0"));
    assert_eq!(edited(4, "$..a").unwrap(), file.replace("a: 3", "a: 0"));
    assert_eq!(
        edited(4, "$.a").unwrap_err(),
        "the path `$.a` selects nothing in the file: what has a member `a` must be an object, but a \
         sequence is at `$`"
    );
    assert!(edited(2, "$").unwrap_err().contains("is empty, so there is no value to replace"));
    assert_eq!(edited(5, "$.a").unwrap_err(), "the file has no document 5: it has 4");
}
