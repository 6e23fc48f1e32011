//! Limits, tested on both sides.

use actum_core::json::DEPTH_MAX;
use actum_edit::edit::json_patch::{JSON_BYTES_MAX, OPERATIONS_MAX};

use super::{patched, splices};

#[test]
fn number_of_operations_is_limited() {
    let tests = |count| vec![r#"{"op":"test","path":"","value":1}"#; count].join(",");
    assert_eq!(splices(&format!("[{}]", tests(OPERATIONS_MAX)), b"1"), Ok(vec![]));
    assert_eq!(
        splices(&format!("[{}]", tests(OPERATIONS_MAX + 1)), b"1").unwrap_err(),
        "the patch has 1001 operations, but at most 1000 are allowed"
    );
}

#[test]
fn file_size_is_limited() {
    let patch = r#"[{"op":"replace","path":"","value":1}]"#;
    let file = |bytes: u64| format!("\"{}\"", "x".repeat(usize::try_from(bytes).unwrap() - 2));
    assert_eq!(patched(patch, &file(JSON_BYTES_MAX)).as_deref(), Ok("1"));
    assert_eq!(
        patched(patch, &file(JSON_BYTES_MAX + 1)).unwrap_err(),
        "the file has 16777217 bytes, but a JSON file may have at most 16777216 bytes"
    );
}

#[test]
fn delta_result_size_is_limited_on_both_sides() {
    // Each copy of the document into itself doubles its size.
    let copies = |count| vec![r#"{"op":"copy","from":"","path":"/-"}"#; count].join(",");
    assert!(patched(&format!("[{}]", copies(15)), "[1]").is_ok());
    assert_eq!(
        patched(&format!("[{}]", copies(30)), "[1]").unwrap_err(),
        "operation 22 (`copy` at `/-`): the result would have more than 16777216 bytes"
    );
    // A removed value makes room for an added one.
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(9_000_000));
    let there = r#"{"op":"move","from":"/a","path":"/b"},{"op":"move","from":"/b","path":"/a"}"#;
    let there = format!("[{}]", [there; 10].join(","));
    assert_eq!(patched(&there, &large).as_deref(), Ok(&*large));
    let twice = r#"[{"op":"copy","from":"/a","path":"/b"}]"#;
    assert!(patched(twice, &large).unwrap_err().contains("more than 16777216 bytes"));
}

#[test]
fn result_depth_is_limited() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let pointer = "/0".repeat(DEPTH_MAX - 11) + "/-";
    let add =
        |depth| format!("[{{\"op\":\"add\",\"path\":\"{pointer}\",\"value\":{}}}]", nested(depth));
    let file = nested(DEPTH_MAX - 10);
    assert_eq!(patched(&add(10), &file), Ok(nested(DEPTH_MAX)));
    assert_eq!(
        patched(&add(11), &file).unwrap_err().split("): ").last().unwrap(),
        "the result would be nested more than 127 levels deep"
    );
}

/// Agents write patches, so even the worst patch must terminate.
#[test]
fn indentation_growth_is_limited() {
    let deep = format!("{{\n{}\"a\": [\n]\n}}", " ".repeat(1_000_000));
    let patch =
        format!("[{{\"op\":\"add\",\"path\":\"/a\",\"value\":[{}[]]}}]", "[[]],".repeat(1000));
    assert!(patched(&patch, &deep).unwrap_err().contains("more than 16777216 bytes"));
}
