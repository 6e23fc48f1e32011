//! Examples of RFC 6902, appendix A, and cases that implementations are known to get wrong.

use serde_json::Value;

use super::patched;

/// A document, a patch, and the result, which is `None` if the patch must be rejected.
const RFC: &[(&str, &str, Option<&str>)] = &[
    // A.1 to A.10
    (
        r#"{"foo":"bar"}"#,
        r#"[{"op":"add","path":"/baz","value":"qux"}]"#,
        Some(r#"{"baz":"qux","foo":"bar"}"#),
    ),
    (
        r#"{"foo":["bar","baz"]}"#,
        r#"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
        Some(r#"{"foo":["bar","qux","baz"]}"#),
    ),
    (
        r#"{"baz":"qux","foo":"bar"}"#,
        r#"[{"op":"remove","path":"/baz"}]"#,
        Some(r#"{"foo":"bar"}"#),
    ),
    (
        r#"{"foo":["bar","qux","baz"]}"#,
        r#"[{"op":"remove","path":"/foo/1"}]"#,
        Some(r#"{"foo":["bar","baz"]}"#),
    ),
    (
        r#"{"baz":"qux","foo":"bar"}"#,
        r#"[{"op":"replace","path":"/baz","value":"boo"}]"#,
        Some(r#"{"baz":"boo","foo":"bar"}"#),
    ),
    (
        r#"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
        r#"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
        Some(r#"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
    ),
    (
        r#"{"foo":["all","grass","cows","eat"]}"#,
        r#"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
        Some(r#"{"foo":["all","cows","eat","grass"]}"#),
    ),
    (
        r#"{"baz":"qux","foo":["a",2,"c"]}"#,
        r#"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
        Some(r#"{"baz":"qux","foo":["a",2,"c"]}"#),
    ),
    (r#"{"baz":"qux"}"#, r#"[{"op":"test","path":"/baz","value":"bar"}]"#, None),
    (
        r#"{"foo":"bar"}"#,
        r#"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
        Some(r#"{"foo":"bar","child":{"grandchild":{}}}"#),
    ),
    // A.11 ignores an unknown field, but D-4 requires that it is rejected.
    (r#"{"foo":"bar"}"#, r#"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#, None),
    // A.12 to A.16
    (r#"{"foo":"bar"}"#, r#"[{"op":"add","path":"/baz/bat","value":"qux"}]"#, None),
    (r#"{"foo":"bar"}"#, r#"[{"op":"add","path":"/baz","value":"qux","op":"remove"}]"#, None),
    (
        r#"{"/":9,"~1":10}"#,
        r#"[{"op":"test","path":"/~01","value":10}]"#,
        Some(r#"{"/":9,"~1":10}"#),
    ),
    (r#"{"/":9,"~1":10}"#, r#"[{"op":"test","path":"/~01","value":"10"}]"#, None),
    (
        r#"{"foo":["bar"]}"#,
        r#"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
        Some(r#"{"foo":["bar",["abc","def"]]}"#),
    ),
];

const OTHERS: &[(&str, &str, Option<&str>)] = &[
    ("{}", r#"[{"op":"add","path":"/foo","value":1}]"#, Some(r#"{"foo":1}"#)),
    ("[]", r#"[{"op":"add","path":"/0","value":"foo"}]"#, Some(r#"["foo"]"#)),
    ("[]", r#"[{"op":"add","path":"/-","value":"foo"}]"#, Some(r#"["foo"]"#)),
    ("[]", r#"[{"op":"add","path":"/1","value":"foo"}]"#, None),
    ("{}", r#"[{"op":"add","path":"/","value":1}]"#, Some(r#"{"":1}"#)),
    (r#"{"foo":{}}"#, r#"[{"op":"add","path":"/foo/","value":1}]"#, Some(r#"{"foo":{"":1}}"#)),
    ("[1,2]", r#"[{"op":"add","path":"/2","value":3}]"#, Some("[1,2,3]")),
    ("[1,2]", r#"[{"op":"add","path":"/3","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"add","path":"/-1","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"add","path":"/01","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"add","path":"/1e0","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"add","path":"/bar","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"replace","path":"/1e0","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"remove","path":"/-"}]"#, None),
    ("[1,2]", r#"[{"op":"replace","path":"/-","value":3}]"#, None),
    ("[1,2]", r#"[{"op":"test","path":"/00","value":1}]"#, None),
    ("[1,2]", r#"[{"op":"copy","from":"/-","path":"/0"}]"#, None),
    (r#"{"0":1}"#, r#"[{"op":"replace","path":"/0","value":2}]"#, Some(r#"{"0":2}"#)),
    (r#"{"-":1}"#, r#"[{"op":"remove","path":"/-"}]"#, Some("{}")),
    (r#"{"foo":1}"#, r#"[{"op":"add","path":"","value":[1]}]"#, Some("[1]")),
    (r#"{"foo":1}"#, r#"[{"op":"replace","path":"","value":null}]"#, Some("null")),
    (r#"{"foo":1}"#, r#"[{"op":"remove","path":""}]"#, None),
    ("1", r#"[{"op":"add","path":"/a","value":1}]"#, None),
    (
        r#"{"foo":null}"#,
        r#"[{"op":"test","path":"/foo","value":null},{"op":"move","from":"/foo","path":"/bar"}]"#,
        Some(r#"{"bar":null}"#),
    ),
    (r#"{"foo":1}"#, r#"[{"op":"add","path":"/foo","value":null}]"#, Some(r#"{"foo":null}"#)),
    (r#"{"foo":1}"#, r#"[{"op":"move","from":"/foo","path":"/foo"}]"#, Some(r#"{"foo":1}"#)),
    (r#"{"foo":1}"#, r#"[{"op":"move","from":"/bar","path":"/bar"}]"#, None),
    (r#"{"foo":{"bar":1}}"#, r#"[{"op":"move","from":"/foo","path":"/foo/bar"}]"#, None),
    (
        r#"{"foo":1}"#,
        r#"[{"op":"copy","from":"","path":"/bar"}]"#,
        Some(r#"{"foo":1,"bar":{"foo":1}}"#),
    ),
    (r#"{"foo":{"bar":1}}"#, r#"[{"op":"move","from":"/foo/bar","path":""}]"#, Some("1")),
    (r#"{"foo":[1,2]}"#, r#"[{"op":"test","path":"/foo","value":[2,1]}]"#, None),
    (
        r#"{"foo":{"a":1,"b":[2]}}"#,
        r#"[{"op":"test","path":"/foo","value":{"b":[2.0],"a":1}}]"#,
        Some(r#"{"foo":{"a":1,"b":[2]}}"#),
    ),
    (r#"{"é":1}"#, r#"[{"op":"test","path":"/\u00e9","value":1}]"#, Some(r#"{"é":1}"#)),
    (r#"{"\u00e9":1}"#, r#"[{"op":"remove","path":"/é"}]"#, Some("{}")),
    // The operations before a failed one have no effect.
    (
        r#"{"foo":1}"#,
        r#"[{"op":"add","path":"/bar","value":1},{"op":"test","path":"/foo","value":2}]"#,
        None,
    ),
];

/// FO-10
#[test]
fn rfc_6902_examples_produce_the_specified_results() {
    for (document, patch, expected) in RFC.iter().chain(OTHERS) {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let found = patched(patch, document);
        assert_eq!(
            found.as_deref().ok().map(value),
            expected.map(value),
            "{document} {patch}: {found:?}"
        );
    }
}
