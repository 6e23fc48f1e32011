//! JSON with comments: comments are preserved, and new values are placed where they leave room.

use super::{add, check, remove, update};

const SETTINGS: &str = "// Settings, of: {\n{\n  // The first, \"one\".\n  \"a\": 1, // about a\n  /* b, too */\n  \"b\": [1, /* two */ 2,], // about b\n  // the end\n}\n// really\n";

/// EX-10
#[test]
fn a_value_is_replaced_between_comments() {
    check(update("$.a", "2"), SETTINGS, &SETTINGS.replace("\"a\": 1", "\"a\": 2"));
    check(update("$.b[1]", "3"), SETTINGS, &SETTINGS.replace("*/ 2", "*/ 3"));
    check(update("$.b", "3"), SETTINGS, &SETTINGS.replace("[1, /* two */ 2,]", "3"));
    check(update("$.a", "[{}]"), "{\"a\": /* x */ 1 /* y */}", "{\"a\": /* x */ [{}] /* y */}");
    check(
        update("$..x", "2"),
        "{\"a\": [{\"x\": 1}, // {\"x\": 1}\n]}",
        "{\"a\": [{\"x\": 2}, // {\"x\": 1}\n]}",
    );
}

/// EX-10
#[test]
fn property_is_added_after_trailing_comments_of_the_last_one() {
    check(
        add("$", "c", "3"),
        SETTINGS,
        &SETTINGS.replace("// about b\n", "// about b\n  \"c\": 3,\n"),
    );
    for (before, after) in [
        ("{\n  \"a\": 1 // x\n}", "{\n  \"a\": 1, // x\n  \"n\": 0\n}"),
        (
            "{\n  \"a\": 1 /* x */ // y\n  // z\n}",
            "{\n  \"a\": 1, /* x */ // y\n  \"n\": 0\n  // z\n}",
        ),
        ("{\r\n  \"a\": 1 // x\r\n}", "{\r\n  \"a\": 1, // x\r\n  \"n\": 0\r\n}"),
        ("{ \"a\": 1 /* x */ }", "{ \"a\": 1, /* x */ \"n\": 0 }"),
        ("{ \"a\": 1, }", "{ \"a\": 1, \"n\": 0, }"),
        ("{ \"a\": 1 // x\n}", "{ \"a\": 1, // x\n\"n\": 0\n}"),
        ("{\n  /* x */ \"a\": 1\n}", "{\n  /* x */ \"a\": 1,\n  \"n\": 0\n}"),
        ("{ // x\n}", "{ // x\n  \"n\": 0\n}"),
        ("{ /* x */ }", "{ /* x */ \"n\": 0 }"),
        ("{\n  // x\n}", "{\n  // x\n  \"n\": 0\n}"),
        ("{\n  /* x */ }", "{\n  /* x */\n  \"n\": 0\n}"),
        ("/* x\n */ {}", "/* x\n */ {\n   \"n\": 0\n }"),
        ("{\n  \"a\": /* x */ 1\n}", "{\n  \"a\": /* x */ 1,\n  \"n\": 0\n}"),
    ] {
        check(add("$", "n", "0"), before, after);
    }
}

/// EX-10
#[test]
fn removing_a_property_keeps_the_comments_around_it() {
    check(remove("$", "a"), SETTINGS, &SETTINGS.replace("\"a\": 1, ", ""));
    check(remove("$", "b"), SETTINGS, &SETTINGS.replace("\"b\": [1, /* two */ 2,], ", ""));
    for (key, before, after) in [
        ("b", "{\n  \"a\": 1, // a\n  \"b\": 2\n}", "{\n  \"a\": 1 // a\n}"),
        ("b", "{\n  \"a\": 1, // a\n  \"b\": 2 // b\n}", "{\n  \"a\": 1 // a\n  // b\n}"),
        ("a", "{\n  \"a\": 1, // a\n  \"b\": 2 // b\n}", "{\n  // a\n  \"b\": 2 // b\n}"),
        ("b", "{ \"a\": 1, \"b\": 2 /* x */ }", "{ \"a\": 1 /* x */ }"),
        ("b", "{ \"a\": 1, /* x */ \"b\": 2 }", "{ \"a\": 1 /* x */ }"),
        ("a", "{ \"a\": 1 /* x */, \"b\": 2 }", "{ /* x */ \"b\": 2 }"),
        ("b", "{ \"a\": 1, \"b\": 2, }", "{ \"a\": 1, }"),
        ("a", "{ /* x */ \"a\": /* in */ 1 /* y */ }", "{ /* x */ /* y */ }"),
        ("a", "{ \"a\": 1, }", "{}"),
        ("a", "{\n  // x\n  \"a\": 1,\n}", "{\n  // x\n}"),
    ] {
        check(remove("$", key), before, after);
    }
}
