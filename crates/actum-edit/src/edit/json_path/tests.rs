//! Tests for parsing JSONPaths, for the places that they select, and for their limits.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn selected(path: &str, document: &Value) -> Result<String, String> {
    let path = JsonPath::new(path).map_err(|error| error.to_string())?;
    let places = path.places(std::slice::from_ref(document)).map_err(|e| e.to_string())?;
    let only = path.only(places, |_, way| way.to_string());
    only.map(|(_, way)| way.to_string()).map_err(|error| error.to_string())
}

/// EX-10
#[test]
fn path_selects_exactly_one_node() {
    let document = json!({"a": [{"id": 1, "n": "x"}, {"id": 2}], "it's": {"b": null}});
    for (path, way) in [
        ("$", "$"),
        ("$.a[1]", "$['a'][1]"),
        ("$.a[-1].id", "$['a'][1]['id']"),
        ("$.a[?@.id == 2]", "$['a'][1]"),
        ("$..b", "$['it\\'s']['b']"),
        ("$[\"it's\"]['b']", "$['it\\'s']['b']"),
        ("$.a[?length(@.n) == 1].n", "$['a'][0]['n']"),
    ] {
        assert_eq!(selected(path, &document), Ok(way.to_owned()), "{path}");
    }
}

/// EX-10
#[test]
fn path_that_selects_no_node_or_several_nodes_is_refused() {
    let document = json!({"a": [{"b": 1}, {"b": 2}, {"b": 3}, {"b": 4}]});
    assert_eq!(
        selected("$.c", &document).unwrap_err(),
        "the path `$.c` selects nothing in the file"
    );
    assert_eq!(
        selected("$..b", &document).unwrap_err(),
        "the path `$..b` selects 4 places (`$['a'][0]['b']`, `$['a'][1]['b']`, `$['a'][2]['b']`, \
         …), but must select exactly one"
    );
    assert_eq!(
        selected("$.a[0:2].b", &document).unwrap_err(),
        "the path `$.a[0:2].b` selects 2 places (`$['a'][0]['b']`, `$['a'][1]['b']`), but must \
         select exactly one"
    );
    let long = format!("$.c{}", "d".repeat(200));
    assert!(selected(&long, &document).unwrap_err().len() < 150);
}

/// EX-10
#[test]
fn invalid_json_path_reports_the_byte_offset() {
    let error = |path: &str| JsonPath::new(path).unwrap_err().to_string();
    assert_eq!(
        error("a.b"),
        "`a.b` is not a valid JSONPath: it violates the syntax of RFC 9535 at byte 1 (`a`); \
         `$.name`, `$['any name']` and `$.list[0]` are valid paths"
    );
    for path in ["", "$.", "$.a b", "$[01]", "$['a]", "/a/b", "$..", " $", "$ "] {
        assert!(JsonPath::new(path).is_err(), "{path}");
    }
    assert!(error("$\u{1b}").contains("`$\\033`"));
    assert!(serde_json::from_str::<JsonPath>("\"a\"").is_err());
    let path = JsonPath::new("$['a']").unwrap();
    assert_eq!(serde_json::to_string(&path).unwrap(), "\"$['a']\"");
    assert_eq!(serde_json::from_str::<JsonPath>("\"$['a']\"").unwrap(), path);
}

/// EX-10
#[test]
fn regex_functions_are_refused_because_of_their_cost() {
    let error = |path: &str| JsonPath::new(path).unwrap_err().to_string();
    assert_eq!(
        error("$[?match(@.a, 'b')]"),
        "`$[?match(@.a, 'b')]` is not a valid JSONPath: the function `match` is not supported \
         because the cost of its regular expression is unbounded; use a path of names and indices"
    );
    assert!(error("$[?!search(@.a, @.b)]").contains("the function `search` is not supported"));
    for other in ["$[?@.a == 'match('", "$[?rematch(@.a)]", "$.match(", "$[?@.match (1)]"] {
        assert!(error(other).contains("violates the syntax of RFC 9535"), "{other}");
    }
}

/// EX-10
#[test]
fn node_that_is_selected_twice_is_refused() {
    let document = json!({"a": [{"id": 1}, {"id": 2}], "b": {"b": {"c": 1}}});
    assert_eq!(
        selected("$.a[0,0].id", &document).unwrap_err(),
        "the path `$.a[0,0].id` selects `$['a'][0]['id']` 2 times, but must select exactly one \
         node; remove the repeated selectors"
    );
    assert!(selected("$.a[-1,1]", &document).unwrap_err().contains("`$['a'][1]` 2 times"));
    assert!(selected("$..b..c", &document).unwrap_err().contains("2 times"));
    assert!(selected("$.a[0,0,1]", &document).unwrap_err().contains("selects 2 places"));
}

/// EX-10: the comparisons in the table of RFC 9535, section 2.3.5.3, and some more.
#[test]
fn filter_comparison_follows_rfc_9535() {
    let number = |spelled| Value::Number(comparable(spelled).unwrap());
    let document = json!({
        "obj": {"x": "y"}, "arr": [2, 3], "here": [0],
        "one": [[number("1")], {"a": number("1")}], "same": [[number("1.0")], {"a": number("1e0")}],
    });
    for (comparison, holds) in [
        ("$.absent1 == $.absent2", true),
        ("$.absent1 <= $.absent2", true),
        ("$.absent1 >= $.absent2", true),
        ("$.absent1 < $.absent2", false),
        ("$.absent1 > $.absent2", false),
        ("$.absent == 'g'", false),
        ("$.absent1 != $.absent2", false),
        ("$.absent != 'g'", true),
        ("$.absent <= 1", false),
        ("$.absent >= null", false),
        ("1 <= 2", true),
        ("1 > 2", false),
        ("2 >= 2.0", true),
        ("13 == '13'", false),
        ("'a' <= 'b'", true),
        ("'a' > 'b'", false),
        ("'b' >= 'a'", true),
        ("$.obj == $.arr", false),
        ("$.obj != $.arr", true),
        ("$.obj == $.obj", true),
        ("$.obj != $.obj", false),
        ("$.arr == $.arr", true),
        ("$.obj == 17", false),
        ("$.obj != 17", true),
        ("$.obj <= $.arr", false),
        ("$.obj < $.arr", false),
        ("$.obj > $.one", false),
        ("$.arr >= $.one", false),
        ("$.arr > $.one", false),
        ("$.obj <= $.obj", true),
        ("$.obj >= $.obj", true),
        ("$.arr <= $.arr", true),
        ("1 <= $.arr", false),
        ("1 >= $.arr", false),
        ("1 > $.arr", false),
        ("1 < $.arr", false),
        ("true <= true", true),
        ("true > true", false),
        ("true > false", false),
        ("true >= false", false),
        ("null >= null", true),
        ("null > null", false),
        ("$.one == $.same", true),
        ("$.one <= $.same", true),
    ] {
        let found = selected(&format!("$.here[?{comparison}]"), &document);
        assert_eq!(found.is_ok(), holds, "{comparison}: {found:?}");
    }
}

/// EX-10
#[test]
fn the_length_and_the_nesting_of_a_path_are_limited_on_both_sides() {
    let long = |bytes: usize| format!("$.{}", "a".repeat(bytes - 2));
    assert!(JsonPath::new(&long(PATH_BYTES_MAX)).is_ok());
    let error = JsonPath::new(&long(PATH_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.problem, JsonPathSyntax::TooLong { bytes: PATH_BYTES_MAX + 1 });
    let nested = |deep: usize| format!("$[?{}@.a{}]", "(".repeat(deep - 1), ")".repeat(deep - 1));
    assert!(JsonPath::new(&nested(PATH_NESTING_MAX)).is_ok());
    let error = JsonPath::new(&nested(PATH_NESTING_MAX + 1)).unwrap_err();
    assert_eq!(error.problem, JsonPathSyntax::TooDeep);
    // Brackets in quotes do not count as nesting.
    assert!(JsonPath::new(&format!("$['{}\\'(']", "[".repeat(100))).is_ok());
}

/// EX-10
#[test]
fn the_work_of_a_query_is_limited_on_both_sides() {
    let nested = |deep: usize| (0..deep).fold(json!(1), |inside, _| json!([inside]));
    let document = nested(100);
    // With 101 values and a depth of 101, the estimate is 101 * 101^2 for the first path and 101 * 101^3 for the second.
    assert!(selected("$..a..a..a", &document).unwrap_err().contains("selects nothing"));
    assert_eq!(
        selected("$..a..a..a..a", &document).unwrap_err(),
        "evaluating the path `$..a..a..a..a` in a file of this size could take too long; use a \
         path of names and indices"
    );
    let unions = format!("$.a{}", "[0,0]".repeat(40));
    assert!(selected(&unions, &document).unwrap_err().contains("could take too long"));
    let again = "$..[?$..[?$..[?$..a]]]";
    assert!(selected(again, &document).unwrap_err().contains("could take too long"));
}

#[test]
fn numbers_are_compared_only_when_exact() {
    for number in
        ["0", "-0", "0.0", "1", "-12.50", "123456789012345", "1e300", "1000000000000000000"]
    {
        assert!(comparable(number).is_some(), "{number}");
    }
    for number in ["1234567890123456", "9007199254740993", "1e400", "1e-400", "0.12345678901234567"]
    {
        assert!(comparable(number).is_none(), "{number}");
    }
}

/// EX-10
#[test]
fn escapes_in_names_are_decoded() {
    let name = |path: &str| {
        let NodePath(steps) = JsonPath::new(path).unwrap().steps()?;
        let [Step::Name(name)] = &*steps else { panic!("{path}") };
        Some(name.clone())
    };
    assert_eq!(name(r"$['it\'s?']").unwrap(), "it's?");
    assert_eq!(name(r#"$["\u0064\"\/\\\n"]"#).unwrap(), "d\"/\\\n");
    assert_eq!(name(r"$['\u00e9\b\f\r\t']").unwrap(), "é\u{8}\u{c}\r\t");
}

proptest! {
    /// EX-10
    #[test]
    fn plain_path_steps_match_the_parser(
        path in "\\$(\\.[ab_é]{1,2}|\\['[ab\"\\\\ ]{0,2}'\\]|\\['(a|\\\\['\\\\/bfnrt]|\\\\u00[4-6][1-9a-fA-F]){0,2}'\\]|\\[\"[ab']{0,2}\"\\]|\\[[01]{1,2}\\]|\\[ 0\\]|\\.\\*|\\.\\.a){0,3}",
        names in proptest::collection::vec("[ab_é\"' ]{0,2}", 0..4),
    ) {
        let Ok(path) = JsonPath::new(&path) else { return Ok(()) };
        let Some(way) = path.steps() else { return Ok(()) };
        // Build a document in which the path exists and has siblings at each level.
        let document = way.0.iter().rev().fold(json!("here"), |inside, step| match step {
            Step::Name(name) => {
                let mut members: serde_json::Map<_, _> =
                    names.iter().map(|name| (name.clone(), json!(0))).collect();
                members.insert(name.clone(), inside);
                Value::Object(members)
            }
            Step::Index(index) => {
                let mut elements = vec![json!(0); *index + 2];
                elements[*index] = inside;
                Value::Array(elements)
            }
        });
        prop_assert_eq!(path.places(&[document]).unwrap(), vec![(0, way)]);
    }
}
