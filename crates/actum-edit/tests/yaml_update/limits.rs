//! Limits, tested on both sides.

use actum_core::json::DEPTH_MAX;
use actum_edit::edit::YAML_BYTES_MAX;

use super::{check, edited};

fn max() -> usize {
    usize::try_from(YAML_BYTES_MAX).unwrap()
}

/// EX-10
#[test]
fn file_size_is_limited() {
    let file = |bytes: usize| format!("a: 1 #{}\n", "x".repeat(bytes - 7));
    assert!(edited("$.a", "2", &file(max())).is_ok());
    assert_eq!(
        edited("$.a", "2", &file(max() + 1)).unwrap_err(),
        "the file has 4194305 bytes, but a YAML file may have at most 4194304 bytes"
    );
}

/// EX-10
#[test]
fn delta_result_size_is_limited_on_both_sides() {
    let value = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
    assert_eq!(edited("$.a", &value(max() - 4), "a: 1\n").unwrap().len(), max());
    assert_eq!(
        edited("$.a", &value(max() - 3), "a: 1\n").unwrap_err(),
        "the result would have more than 4194304 bytes"
    );
}

/// EX-10
#[test]
fn yaml_file_depth_is_limited() {
    let nested = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let path = |depth| format!("${}", "[0]".repeat(depth));
    let deepest = DEPTH_MAX - 1;
    assert!(edited(&path(deepest), "2", &nested(deepest)).is_ok());
    assert!(edited(&path(200), "2", &nested(200)).unwrap_err().contains("not valid YAML"));
}

/// EX-10: aliases may expand to more than memory can hold.
#[test]
fn alias_expansion_is_limited() {
    let mut file = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..20 {
        let all = vec![format!("*a{}", n - 1); 9].join(", ");
        file.push_str(&format!("a{n}: &a{n} [{all}]\n"));
    }
    file.push_str("b: 1\n");
    assert!(edited("$.b", "2", &file).unwrap_err().contains("not valid YAML"));
}

/// EX-10
#[test]
fn any_number_of_comments_may_separate_a_key_from_its_value() {
    let file = format!("a:\n{}  b: 1\nz: 1\n", "  # c\n".repeat(5000));
    check("$.z", "2", &file, &file.replace("z: 1", "z: 2"));
    check("$.a.b", "2", &file, &file.replace("b: 1", "b: 2"));
    let empty = format!("a:\n{}z: 1\n", "# c\n".repeat(5000));
    check("$.a", "2", &empty, &empty.replace("a:", "a: 2"));
    let tagged = format!("t: !!timestamp 2001-01-01\n{file}");
    check("$.z", "2", &tagged, &tagged.replace("z: 1", "z: 2"));
}
