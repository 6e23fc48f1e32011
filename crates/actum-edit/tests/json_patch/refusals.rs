//! Rejected patches and their error messages.

use super::{patched, splices};

fn refused(patch: &str, content: &str) -> String {
    patched(patch, content).unwrap_err()
}

/// FO-10
#[test]
fn failed_operation_reports_its_number_pointer_and_reason() {
    let document = r#"{"a":{"b":[1,2]},"s":"text","d":1,"d":2}"#;
    for (operation, message) in [
        (
            r#"{"op":"remove","path":"/a/x"}"#,
            "operation 2 (`remove` at `/a/x`): there is no member `x` in `/a`",
        ),
        (
            r#"{"op":"replace","path":"/x\n","value":1}"#,
            "operation 2 (`replace` at `/x\\n`): there is no member `x\\n` at the top level",
        ),
        (
            r#"{"op":"add","path":"/a/b/3","value":1}"#,
            "operation 2 (`add` at `/a/b/3`): there is no element 3 in `/a/b` (number of elements: \
             2)",
        ),
        (
            r#"{"op":"test","path":"/a/b/-","value":1}"#,
            "operation 2 (`test` at `/a/b/-`): there is no element - in `/a/b` (number of \
             elements: 2)",
        ),
        (
            r#"{"op":"remove","path":"/a/b/01"}"#,
            "operation 2 (`remove` at `/a/b/01`): `01` is not a valid array index in `/a/b`: \
             expected digits without leading zeros",
        ),
        (
            r#"{"op":"add","path":"/s/x","value":1}"#,
            "operation 2 (`add` at `/s/x`): the value at `/s` is a string, which cannot contain \
             other values",
        ),
        (
            r#"{"op":"copy","from":"/nothing","path":"/s"}"#,
            "operation 2 (`copy` at `/nothing`): there is no member `nothing` at the top level",
        ),
        (
            r#"{"op":"move","from":"/a","path":"/a/b/0"}"#,
            "operation 2 (`move` at `/a`): a value cannot be moved into itself, to `/a/b/0`",
        ),
        (
            r#"{"op":"remove","path":""}"#,
            "operation 2 (`remove` of the whole document): the whole document cannot be removed",
        ),
        (
            r#"{"op":"replace","path":"/d","value":1}"#,
            "operation 2 (`replace` at `/d`): the member `d` occurs more than once at the top \
             level, so the pointer is ambiguous",
        ),
        (
            r#"{"op":"test","path":"/a/b","value":[1, 3]}"#,
            "operation 2 (`test` at `/a/b`): the value is `[1,2]`, not `[1, 3]`",
        ),
    ] {
        let patch = format!(r#"[{{"op":"test","path":"/a/b/0","value":1}},{operation}]"#);
        assert_eq!(refused(&patch, document), message);
    }
    let long = format!("{{\"s\":\"{}\"}}", "x".repeat(500));
    let message = refused(r#"[{"op":"test","path":"/s","value":1}]"#, &long);
    assert!(message.len() < 200 && message.contains('…'), "{message}");
}

/// D-4
#[test]
fn file_that_is_not_strict_json_is_rejected() {
    let patch = r#"[{"op":"remove","path":"/a"}]"#;
    assert_eq!(
        refused(patch, "{\n  // comment\n  \"a\": 1\n}\n"),
        "the file is not strict JSON without comments: line 2, column 3: expected a name in double \
         quotes, found `/`"
    );
    for content in ["", "{\"a\":1,}", "{a:1}", "{\"a\":\"\t\"}", "{'a':1}", "{\"a\":01}", "{} {}"] {
        assert!(patched(patch, content).is_err(), "{content}");
    }
    assert!(splices(patch, b"{\"a\":\"\xff\"}").unwrap_err().contains("not valid UTF-8"));
    assert_eq!(
        refused(patch, "\u{feff}x"),
        "the file is not strict JSON without comments: line 1, column 4: expected a value, found \
         `x`"
    );
}
