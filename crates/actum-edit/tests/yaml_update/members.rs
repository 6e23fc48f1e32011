//! Adding members to a mapping, and removing them.

use std::num::NonZeroU32;

use actum_edit::edit::{JsonPath, YamlRemove};
use actum_edit::{Edit, Splice};

use super::{check, edited, edited_in};

/// Applies a removal to `file`.
pub(super) fn removed(path: &str, file: &str) -> Result<String, String> {
    removed_in(None, path, file)
}

fn removed_in(document: Option<u32>, path: &str, file: &str) -> Result<String, String> {
    let (path, document) = (JsonPath::new(path).unwrap(), document.and_then(NonZeroU32::new));
    let splices = Edit::YamlRemove(YamlRemove { path, document }).splices(file.as_bytes());
    let splices = splices.map_err(|error| error.to_string())?;
    Ok(String::from_utf8(Splice::apply(&splices, file.as_bytes()).unwrap()).unwrap())
}

fn check_removed(path: &str, before: &str, after: &str) {
    assert_eq!(removed(path, before).as_deref(), Ok(after), "{path} {before:?}");
}

/// EX-10: a missing name is added after the last member of its mapping, and every other byte is unchanged.
#[test]
fn member_is_added_after_the_last_of_its_mapping() {
    check("$.b", "2", "# c\na: 1 # d\n", "# c\na: 1 # d\nb: 2\n");
    check("$.b", "2", "a: 1", "a: 1\nb: 2");
    check("$.b", "2", "a:\r\n  c: 1\r\n# end\r\n", "a:\r\n  c: 1\r\nb: 2\r\n# end\r\n");
    check("$.a.b", "\"x\"", "a:\n    c: 1\nd: 2\n", "a:\n    c: 1\n    b: x\nd: 2\n");
    check("$[0].b", "true", "- a: 1\n- c: 2\n", "- a: 1\n  b: true\n- c: 2\n");
    check("$.b", "{\"c\": [1]}", "a:\n   d: 1\n", "a:\n   d: 1\nb:\n   c:\n      - 1\n");
    check("$.b", "1", "a: |\n  text\n\n# end\n", "a: |\n  text\nb: 1\n\n# end\n");
    check("$['on']", "1", "a:\n", "a:\n\"on\": 1\n");
    // In flow style, and in an empty mapping.
    check("$.a.b", "[1]", "a: {}\n", "a: {b: [1]}\n");
    check("$.a.b", "2", "a: { c: 1 } # d\n", "a: { c: 1, b: 2 } # d\n");
    check("$.a.b", "2", "a: {c: 1,\n  d: 2, # e\n}\n", "a: {c: 1,\n  d: 2, b: 2, # e\n}\n");
    check("$.b", "2", "{}", "{b: 2}");
    // Next to an anchor that an alias refers to.
    check("$.b.e", "2", "b:\n  c: &k 1\nd: *k\n", "b:\n  c: &k 1\n  e: 2\nd: *k\n");
}

/// EX-10: only the last name of the path may be missing, and only from one mapping.
#[test]
fn member_is_added_only_to_one_existing_mapping() {
    for (path, file) in [("$.b.c", "a: 1\n"), ("$[1]", "- 1\n"), ("$.a.b", "a: 1\n"), ("$.a", "")] {
        let error = edited(path, "1", file).unwrap_err();
        assert!(error.contains("selects nothing in the file"), "{error}");
    }
    let two = "a: 1\n---\na: 2\n";
    let error = edited("$.b", "1", two).unwrap_err();
    assert!(error.contains("selects nothing in the file"), "{error}");
    assert_eq!(edited_in(2, "$.b", "1", two).as_deref(), Ok("a: 1\n---\na: 2\nb: 1\n"));
    assert_eq!(edited("$.b", "1", "- 1\n---\na: 2\n").as_deref(), Ok("- 1\n---\na: 2\nb: 1\n"));
    let error = edited("$.a.c", "1", "a: &k {b: 1}\nd: *k\n").unwrap_err();
    assert!(error.starts_with("the edit would change the value of the anchor `&k`"), "{error}");
    let error = edited("$[0].b", "1", "[a: 1]\n").unwrap_err();
    assert!(error.starts_with("cannot determine where"), "{error}");
}

/// EX-10: a removed member takes its lines or its comma with it, and every other byte is unchanged.
#[test]
fn removing_a_yaml_member_removes_its_lines_or_comma() {
    check_removed("$.b", "# c\na: 1 # d\nb: 2 # e\n# f\n", "# c\na: 1 # d\n# f\n");
    check_removed("$.a", "# c\r\na: 1\r\nb: 2\r\n", "# c\r\nb: 2\r\n");
    check_removed("$.b", "a: 1\nb: 2", "a: 1");
    check_removed("$.a", "a:\n  - 1\n  # in it\n  - 2\nb: |\n  x\n", "b: |\n  x\n");
    check_removed("$.b", "a: 1\nb: |\n  x\n  y\nc: 2\n", "a: 1\nc: 2\n");
    check_removed("$[0].a", "- a: 1\n  b: 2\n", "- b: 2\n");
    check_removed("$[0].b", "- a: 1\n  b: 2\n- 3\n", "- a: 1\n- 3\n");
    check_removed("$.a", "{a: 1, b: 2}\n", "{b: 2}\n");
    check_removed("$.b", "{ a: 1, b: 2 }\n", "{ a: 1 }\n");
    check_removed("$.b", "{a: 1, # c\n b: 2}\n", "{a: 1 # c\n }\n");
    check_removed("$.a", "{a: 1}\n", "{}\n");
    // A mapping remains a mapping after its last member is removed.
    check_removed("$.a", "a: 1\n", "{}\n");
    check_removed("$.a.b", "a:\n  b: 1\nc: 2\n", "a: {}\nc: 2\n");
    check_removed("$..b", "a:\n  b: 1\n  c: 2\n", "a:\n  c: 2\n");
    assert_eq!(
        removed_in(Some(2), "$.b", "b: 1\n---\na: 2\nb: 3\n").as_deref(),
        Ok("b: 1\n---\na: 2\n")
    );
}

/// EX-10
#[test]
fn non_members_and_aliased_members_are_not_removed() {
    for (path, file, error) in [
        ("$.b", "a: 1\n", "the path `$.b` selects nothing in the file: there is no `b` at `$`"),
        ("$.a[0]", "a: [1]\n", "cannot remove `$['a'][0]`: it is not a member of a mapping"),
        ("$", "a: 1\n", "cannot remove `$`: it is not a member of a mapping"),
        (
            "$.a",
            "? a\n: 1\nb: 2\n",
            "cannot determine where the value at line 1, column 3 begins or ends",
        ),
    ] {
        assert_eq!(removed(path, file).unwrap_err(), error);
    }
    let error = removed("$.a", "a: &k 1\nb: *k\n").unwrap_err();
    assert!(error.starts_with("the edit would change the value of the anchor `&k`"), "{error}");
    let error = removed("$.b.c", "a: &k {c: 1, d: 2}\nb: *k\n").unwrap_err();
    assert!(error.contains("through the alias"), "{error}");
}
