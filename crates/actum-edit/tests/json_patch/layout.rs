//! Layout: new values are laid out like their surroundings, and nothing else changes.

use super::patched;

/// Checks a file as a whole before and after one patch.
fn check(patch: &str, before: &str, after: &str) {
    assert_eq!(patched(patch, before).as_deref(), Ok(after), "{patch}");
}

const PACKAGE: &str = r#"{
  "name": "x",
  "version": "1.0.0",

  "scripts": {
    "test": "jest"
  },
  "files": ["dist", "src"],
  "engines": { "node": ">=18" },
  "empty": {}
}
"#;

#[test]
fn new_member_is_appended_on_its_own_line() {
    check(
        r#"[{"op":"add","path":"/scripts/build","value":"tsc"}]"#,
        PACKAGE,
        &PACKAGE.replace("\"jest\"\n", "\"jest\",\n    \"build\": \"tsc\"\n"),
    );
    check(
        r#"[{"op":"add","path":"/type","value":"module"}]"#,
        PACKAGE,
        &PACKAGE.replace("\"empty\": {}\n", "\"empty\": {},\n  \"type\": \"module\"\n"),
    );
}

#[test]
fn single_line_container_stays_on_one_line() {
    check(
        r#"[{"op":"add","path":"/files/-","value":"bin"},
            {"op":"add","path":"/files/0","value":{"a":[1,{}]}},
            {"op":"add","path":"/engines/npm","value":"9"}]"#,
        PACKAGE,
        &PACKAGE
            .replace(r#"["dist", "src"]"#, r#"[{ "a": [1, {}] }, "dist", "src", "bin"]"#)
            .replace(r#"{ "node": ">=18" }"#, r#"{ "node": ">=18", "npm": "9" }"#),
    );
    check(
        r#"[{"op":"add","path":"/engines/node","value":18},
            {"op":"replace","path":"/files","value":["a","b","c"]}]"#,
        PACKAGE,
        &PACKAGE.replace(r#"">=18""#, "18").replace(r#"["dist", "src"]"#, r#"["a", "b", "c"]"#),
    );
}

#[test]
fn empty_container_opens_in_the_layout_of_its_siblings() {
    check(
        r#"[{"op":"add","path":"/empty/a","value":1}]"#,
        &PACKAGE.replace("  \"engines\": { \"node\": \">=18\" },\n", ""),
        &PACKAGE
            .replace("  \"engines\": { \"node\": \">=18\" },\n", "")
            .replace("\"empty\": {}", "\"empty\": {\n    \"a\": 1\n  }"),
    );
    check(
        r#"[{"op":"add","path":"/empty/a","value":1}]"#,
        PACKAGE,
        &PACKAGE.replace("\"empty\": {}", "\"empty\": { \"a\": 1 }"),
    );
    check(r#"[{"op":"add","path":"/a","value":1}]"#, "{}\n", "{\n  \"a\": 1\n}\n");
    check(r#"[{"op":"add","path":"/a","value":1}]"#, "{ }", "{\"a\": 1}");
    check(r#"[{"op":"add","path":"/-","value":1}]"#, "[\n]\n", "[\n  1\n]\n");
}

#[test]
fn removing_a_member_removes_its_comma_and_line() {
    let without = |line: &str| PACKAGE.replace(line, "");
    check(r#"[{"op":"remove","path":"/name"}]"#, PACKAGE, &without("  \"name\": \"x\",\n"));
    check(
        r#"[{"op":"remove","path":"/version"}]"#,
        PACKAGE,
        &without("  \"version\": \"1.0.0\",\n"),
    );
    check(
        r#"[{"op":"remove","path":"/empty"}]"#,
        PACKAGE,
        &PACKAGE.replace(",\n  \"empty\": {}", ""),
    );
    check(
        r#"[{"op":"remove","path":"/scripts/test"}]"#,
        PACKAGE,
        &PACKAGE.replace("{\n    \"test\": \"jest\"\n  }", "{}"),
    );
    check(
        r#"[{"op":"remove","path":"/files/0"},{"op":"remove","path":"/engines/node"}]"#,
        PACKAGE,
        &PACKAGE.replace(r#"["dist", "src"]"#, r#"["src"]"#).replace(r#"{ "node": ">=18" }"#, "{}"),
    );
    check(r#"[{"op":"remove","path":"/files/1"}]"#, PACKAGE, &without(r#", "src""#));
}

#[test]
fn nested_value_follows_the_indentation_of_the_file() {
    let patch = r#"[{"op":"add","path":"/b","value":{"c":[{"d":1},[]],"e":{}}}]"#;
    check(
        patch,
        "{\n\t\"a\" : {\n\t\t\"x\" : 1\n\t}\n}",
        "{\n\t\"a\" : {\n\t\t\"x\" : 1\n\t},\n\t\"b\" : {\n\t\t\"c\" : [\n\t\t\t{\n\t\t\t\t\"d\" : \
         1\n\t\t\t},\n\t\t\t[]\n\t\t],\n\t\t\"e\" : {}\n\t}\n}",
    );
    check(
        patch,
        "{\r\n    \"a\": 1\r\n}\r\n",
        "{\r\n    \"a\": 1,\r\n    \"b\": {\r\n        \"c\": [\r\n            {\r\n                \
         \"d\": 1\r\n            },\r\n            []\r\n        ],\r\n        \"e\": {}\r\n    }\r\n}\r\n",
    );
    check(patch, r#"{"a":1}"#, r#"{"a":1,"b":{"c":[{"d":1},[]],"e":{}}}"#);
    check(patch, r#"{"a": 1}"#, r#"{"a": 1, "b": {"c": [{"d": 1}, []], "e": {}}}"#);
    check(patch, r#"{ "a": 1 }"#, r#"{ "a": 1, "b": { "c": [{ "d": 1 }, []], "e": {} } }"#);
}

#[test]
fn short_lists_follow_the_layout_of_other_lists() {
    check(
        r#"[{"op":"add","path":"/b","value":{"x":["p","q"],"y":[["r"]]}}]"#,
        "{\n  \"a\": {\n    \"l\": [ 1, 2 ]\n  }\n}\n",
        "{\n  \"a\": {\n    \"l\": [ 1, 2 ]\n  },\n  \"b\": {\n    \"x\": [ \"p\", \"q\" ],\n    \
         \"y\": [\n      [ \"r\" ]\n    ]\n  }\n}\n",
    );
}

#[test]
fn elements_sharing_lines_keep_sharing_them() {
    let wrapped = "[\n  1, 2,\n  3, 4\n]";
    check(r#"[{"op":"add","path":"/-","value":5}]"#, wrapped, "[\n  1, 2,\n  3, 4, 5\n]");
    check(r#"[{"op":"add","path":"/0","value":0}]"#, wrapped, "[\n  0, 1, 2,\n  3, 4\n]");
    check(r#"[{"op":"remove","path":"/2"}]"#, wrapped, "[\n  1, 2,\n  4\n]");
    check(r#"[{"op":"remove","path":"/0"}]"#, wrapped, "[\n  2,\n  3, 4\n]");
    check(r#"[{"op":"remove","path":"/3"}]"#, wrapped, "[\n  1, 2,\n  3\n]");
}

#[test]
fn moved_value_keeps_its_layout_and_is_reindented() {
    let before = "{\n  \"a\": {\n    \"b\": {\n      \"c\": [1, 2],\n      \"d\": {}\n    },\n    \
                  \"e\": 1\n  },\n  \"f\": [0]\n}\n";
    check(
        r#"[{"op":"move","from":"/a/b","path":"/b"}]"#,
        before,
        "{\n  \"a\": {\n    \"e\": 1\n  },\n  \"f\": [0],\n  \"b\": {\n    \"c\": [1, 2],\n    \
         \"d\": {}\n  }\n}\n",
    );
    check(
        r#"[{"op":"copy","from":"/a","path":"/f/0"}]"#,
        before,
        &before.replace("[0]", r#"[{"b": {"c": [1, 2], "d": {}}, "e": 1}, 0]"#),
    );
    check(
        r#"[{"op":"copy","from":"/f","path":"/a/b/d"}]"#,
        before,
        &before.replace("\"d\": {}", "\"d\": [0]"),
    );
}

#[test]
fn values_keep_their_spelling_from_the_patch() {
    check(
        r#"[{"op":"replace","path":"/a","value": 12345678901234567890.50e-0 },
            {"op":"add","path":"/b","value":"\u00e9\/"},
            {"op":"add","path":"/c\"\n","value":{"\u0061" : -0}}]"#,
        "{\"a\":1}",
        "{\"a\":12345678901234567890.50e-0,\"b\":\"\\u00e9\\/\",\"c\\\"\\n\":{\"\\u0061\":-0}}",
    );
}

#[test]
fn unrelated_content_is_not_rewritten() {
    let odd = "\u{feff} \n{\"k\\u0065y\":1e400,  \"a\\/b\" :[ ],\t\"x\": -0.0,\"dup\":1,\"dup\":2}\r\n \n";
    check(
        r#"[{"op":"replace","path":"/x","value":1},{"op":"test","path":"/key","value":1e400}]"#,
        odd,
        &odd.replace("-0.0", "1"),
    );
    check(r#"[{"op":"remove","path":"/a~1b"}]"#, odd, &odd.replace("  \"a\\/b\" :[ ],", ""));
}

#[test]
fn inserted_element_shifts_the_following_ones() {
    let lines = "[\n  1,\n\n  2\n]";
    check(r#"[{"op":"add","path":"/0","value":0}]"#, lines, "[\n  0,\n  1,\n\n  2\n]");
    check(r#"[{"op":"add","path":"/1","value":9}]"#, lines, "[\n  1,\n  9,\n\n  2\n]");
    check(r#"[{"op":"add","path":"/2","value":9}]"#, lines, "[\n  1,\n\n  2,\n  9\n]");
    check(r#"[{"op":"add","path":"/0","value":0}]"#, "[1]", "[0, 1]");
    check(r#"[{"op":"add","path":"/0","value":0}]"#, "[ 1 ]", "[ 0, 1 ]");
    check(r#"[{"op":"add","path":"/1","value":0}]"#, "[ 1,2 ]", "[ 1,0,2 ]");
    check(r#"[{"op":"add","path":"/-","value":0}]"#, "[1 , 2 ]", "[1 , 2 , 0 ]");
}

#[test]
fn later_operations_see_earlier_results() {
    check(
        r#"[{"op":"add","path":"/a/b","value":{}},
            {"op":"add","path":"/a/b/c","value":[]},
            {"op":"add","path":"/a/b/c/-","value":true},
            {"op":"test","path":"/a","value":{"b":{"c":[true]}}},
            {"op":"copy","from":"/a/b/c","path":"/d"},
            {"op":"remove","path":"/a/b/c/0"}]"#,
        "{\n  \"a\": {}\n}\n",
        "{\n  \"a\": {\n    \"b\": {\n      \"c\": []\n    }\n  },\n  \"d\": [\n    true\n  ]\n}\n",
    );
}

/// FO-5
#[test]
fn splices_cover_only_the_changed_bytes() {
    let before = "{\n  \"a\": 1,\n  \"b\": [1, 2, 3],\n  \"c\": 3\n}\n";
    let patch = r#"[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/b/1"},
        {"op":"add","path":"/d","value":4}]"#;
    let found: Vec<_> = super::splices(patch, before.as_bytes())
        .unwrap()
        .into_iter()
        .map(|splice| {
            (
                splice.offset,
                String::from_utf8(splice.old).unwrap(),
                String::from_utf8(splice.new).unwrap(),
            )
        })
        .collect();
    let expected = [(9, "1", "2"), (22, " 2,", ""), (38, "", ",\n  \"d\": 4")];
    assert_eq!(found, expected.map(|(offset, old, new)| (offset, old.to_owned(), new.to_owned())));
    assert_eq!(
        super::splices(r#"[{"op":"test","path":"/a","value":1}]"#, before.as_bytes()),
        Ok(vec![])
    );
}
