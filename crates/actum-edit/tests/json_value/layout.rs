//! Layout: new values are laid out like their surroundings, and nothing else changes.

use super::{add, check, remove, update};

const SCHEMA: &str = r#"{
  "properties": {
    "id": {"type": "integer"},
    "tags": {
      "type": "array"
    }
  },
  "required": ["id"],
  "big": 12345678901234567890123,
  "empty": {}
}
"#;

/// EX-10
#[test]
fn property_is_appended_in_the_layout_of_its_object() {
    check(
        add("$.properties", "new_field", r#"{"type": "string"}"#),
        SCHEMA,
        &SCHEMA.replace(
            "\"array\"\n    }\n",
            "\"array\"\n    },\n    \"new_field\": {\n      \"type\": \"string\"\n    }\n",
        ),
    );
    check(
        add("$.properties.id", "n", "1E+2"),
        SCHEMA,
        &SCHEMA.replace("\"integer\"}", "\"integer\", \"n\": 1E+2}"),
    );
    check(
        add("$.empty", "a", "[1,2]"),
        SCHEMA,
        &SCHEMA.replace("{}\n}", "{\n    \"a\": [1, 2]\n  }\n}"),
    );
    check(add("$", "z\"", "1e400"), "{}", "{\"z\\\"\": 1e400}");
    check(add("$", "a", "1"), "{ }\n", "{\n  \"a\": 1\n}\n");
    check(add("$", "b", "-0"), "{ \"a\" : 1 }", "{ \"a\" : 1, \"b\" : -0 }");
    check(
        add("$[1]", "b", "{\"c\":[]}"),
        "[{\"a\":1},{\"a\":2}]",
        "[{\"a\":1},{\"a\":2,\"b\":{\"c\":[]}}]",
    );
    check(add("$", "b", "1"), "{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"b\": 1\r\n}");
    check(add("$", "b", "1"), "\u{feff}{\"a\": 1}", "\u{feff}{\"a\": 1, \"b\": 1}");
    check(add("$", "b", "1"), "{\n\"x\": 1, \"a\": 2\n}", "{\n\"x\": 1, \"a\": 2, \"b\": 1\n}");
}

/// EX-10
#[test]
fn removing_a_property_removes_its_comma_and_line() {
    let big = "  \"big\": 12345678901234567890123,\n";
    check(remove("$", "big"), SCHEMA, &SCHEMA.replace(big, ""));
    check(remove("$", "empty"), SCHEMA, &SCHEMA.replace(",\n  \"empty\": {}", ""));
    check(
        remove("$.properties", "id"),
        SCHEMA,
        &SCHEMA.replace("    \"id\": {\"type\": \"integer\"},\n", ""),
    );
    check(
        remove("$.properties.tags", "type"),
        SCHEMA,
        &SCHEMA.replace("{\n      \"type\": \"array\"\n    }", "{}"),
    );
    for (key, before, after) in [
        ("a", "{ \"a\": 1 }", "{}"),
        ("a", "{ \"a\": 1, \"b\": 2 }", "{ \"b\": 2 }"),
        ("b", "{ \"a\": 1, \"b\": 2 }", "{ \"a\": 1 }"),
        ("b", "{ \"a\": 1, \"b\": 2, \"c\": 3 }", "{ \"a\": 1, \"c\": 3 }"),
        ("b", "{\n\"a\": 1, \"b\": 2,\n\"c\": 3\n}", "{\n\"a\": 1,\n\"c\": 3\n}"),
        ("b", "{\n\"a\": 1,\n  \"b\": 2, \"c\": 3\n}", "{\n\"a\": 1,\n  \"c\": 3\n}"),
        ("b", "{\r\n \"a\": 1,\r\n \"b\": 2\r\n}", "{\r\n \"a\": 1\r\n}"),
        ("a", "{\r\n \"a\": 1,\r\n \"b\": 2\r\n}", "{\r\n \"b\": 2\r\n}"),
    ] {
        check(remove("$", key), before, after);
    }
}

/// EX-10
#[test]
fn value_is_replaced_in_place() {
    check(update("$.big", "1.50"), SCHEMA, &SCHEMA.replace("12345678901234567890123", "1.50"));
    check(
        update("$.properties.id", "{\"type\":\"string\",\"a\":[]}"),
        SCHEMA,
        &SCHEMA.replace("{\"type\": \"integer\"}", "{\"type\": \"string\", \"a\": []}"),
    );
    check(
        update("$.required[0]", "\"\\u0061\""),
        SCHEMA,
        &SCHEMA.replace("[\"id\"]", "[\"\\u0061\"]"),
    );
    check(
        update("$.properties.tags", "{\"b\":1}"),
        SCHEMA,
        &SCHEMA.replace("\"type\": \"array\"", "\"b\": 1"),
    );
    check(update("$", "null"), " [1] \n", " null \n");
    check(update("$", "[1]"), "0\n", "[\n  1\n]\n");
    check(
        update("$['a'][?@.id == 2].n", "3"),
        "{\"a\":[{\"id\":1},{\"id\":2,\"n\":1}]}",
        "{\"a\":[{\"id\":1},{\"id\":2,\"n\":3}]}",
    );
    check(
        update("$..n", "3"),
        "{\"a\":[{\"id\":1e400},{\"id\":2,\"n\":1}]}",
        "{\"a\":[{\"id\":1e400},{\"id\":2,\"n\":3}]}",
    );
    check(update("$[-1]", "3"), "[1,2]", "[1,3]");
    // A different spelling is a different value to write; an identical spelling is no change.
    check(update("$[0]", "1.0"), "[1]", "[1.0]");
    check(update("$[0]", "1"), "[1]", "[1]");
    // A name matches regardless of how it is escaped.
    check(update("$.ab", "2"), "{\"a\\u0062\": 1}", "{\"a\\u0062\": 2}");
}
