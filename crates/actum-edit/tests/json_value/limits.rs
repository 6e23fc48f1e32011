//! Limits, tested on both sides.

use actum_core::json::DEPTH_MAX;
use actum_edit::edit::json_patch::JSON_BYTES_MAX;

use super::{add, edited, update};

/// EX-10
#[test]
fn file_size_is_limited() {
    let file = |bytes: u64| format!("\"{}\"", "x".repeat(usize::try_from(bytes).unwrap() - 2));
    assert_eq!(edited(update("$", "1"), &file(JSON_BYTES_MAX)).as_deref(), Ok("1"));
    assert_eq!(
        edited(update("$", "1"), &file(JSON_BYTES_MAX + 1)).unwrap_err(),
        "the file has 16777217 bytes, but a JSON file may have at most 16777216 bytes"
    );
}

/// EX-10
#[test]
fn delta_result_size_is_limited_on_both_sides() {
    let value = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let max = usize::try_from(JSON_BYTES_MAX).unwrap();
    assert_eq!(edited(update("$[0]", &value(max - 2)), "[1]").unwrap().len(), max);
    let error = edited(update("$[0]", &value(max - 1)), "[1]").unwrap_err();
    assert_eq!(error, "the result would have more than 16777216 bytes");
    let file = format!("{{\"a\":{}}}", value(max - 100));
    assert!(edited(add("$", "b", &value(50)), &file).is_ok());
    assert!(edited(add("$", "b", &value(100)), &file).unwrap_err().contains("more than 16777216"));
    assert!(edited(add("$", &value(100), "1"), &file).unwrap_err().contains("more than 16777216"));
}

/// EX-10
#[test]
fn result_depth_is_limited() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let file = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let path = format!("${}", "[0]".repeat(100));
    assert_eq!(edited(update(&path, &nested(DEPTH_MAX - 100)), &file), Ok(nested(DEPTH_MAX)));
    assert_eq!(
        edited(update(&path, &nested(DEPTH_MAX - 99)), &file).unwrap_err(),
        "the result would be nested more than 127 levels deep"
    );
    let object = "{\"a\":1}";
    assert!(edited(add("$", "b", &nested(DEPTH_MAX - 1)), object).is_ok());
    let error = edited(add("$", "b", &nested(DEPTH_MAX)), object).unwrap_err();
    assert_eq!(error, "the result would be nested more than 127 levels deep");
}

/// EX-10: containers with more children than are examined for their layout, and large containers beside the edited path.
#[test]
fn large_containers_are_edited_like_small_ones() {
    let element = format!("{{\"x\": \"{}\"}}", "y".repeat(100));
    let all = |middle: &str| {
        let many = vec![format!("  {element}"); 2_000].join(",\n");
        format!("[\n{many},\n  {middle},\n{many}\n]\n")
    };
    assert_eq!(
        edited(add("$[2000]", "b", "1"), &all("{\"a\": {}}")),
        Ok(all("{\"a\": {}, \"b\": 1}"))
    );
    let members = |count: usize| {
        let all: Vec<_> = (0..count).map(|n| format!("  \"{n}\": 0")).collect();
        format!("{{\n{}\n}}\n", all.join(",\n"))
    };
    assert_eq!(edited(add("$", "3000", "0"), &members(3_000)), Ok(members(3_001)));
    assert_eq!(edited(super::remove("$", "3000"), &members(3_001)), Ok(members(3_000)));
}
