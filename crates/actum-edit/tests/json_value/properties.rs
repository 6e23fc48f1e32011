//! Edits random documents with comments in any position. Another parser confirms that only the addressed value changed, and the
//! surrounding bytes must be unchanged.

use actum_edit::edit::JsonValueEdit;
use jsonc_parser::ast::{self, ObjectPropName};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{add, edited, remove, update};

fn document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        "[a\\\\\"é\n,:{}/*\\[\\]]{0,4}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 20, 4, |inner| {
        let name = prop::sample::select(vec!["a", "b'", "//", "", "é\"", "new"]);
        let member = (name.prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Generates text that may appear between two tokens. Each comment has a different number.
fn gap() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        "",
        " ",
        " ",
        "\n",
        "\n  ",
        "\r\n\t",
        "// N, }\n",
        "/* N ] */",
        " /* N\n ,*/ ",
        "//N\r\n ",
    ])
}

/// Writes `value` with random gaps, and sometimes with trailing commas.
fn text(value: &Value, gaps: &[&str], commas: u32) -> String {
    let mut writer = Writer { gaps: gaps.iter().cycle(), commas, comments: 0, text: String::new() };
    writer.gap();
    writer.value(value);
    writer.gap();
    writer.text
}

struct Writer<'g> {
    gaps: std::iter::Cycle<std::slice::Iter<'g, &'g str>>,
    commas: u32,
    comments: u32,
    text: String,
}

impl Writer<'_> {
    fn gap(&mut self) {
        let gap = self.gaps.next().unwrap();
        self.comments += 1;
        self.text.push_str(&gap.replace('N', &self.comments.to_string()));
    }

    fn children<'v>(
        &mut self,
        open: char,
        close: char,
        all: impl Iterator<Item = (Option<&'v String>, &'v Value)>,
    ) {
        self.text.push(open);
        self.gap();
        let mut all = all.peekable();
        while let Some((name, value)) = all.next() {
            if let Some(name) = name {
                self.text.push_str(&json!(name).to_string());
                self.gap();
                self.text.push(':');
                self.gap();
            }
            self.value(value);
            self.gap();
            self.commas = self.commas.rotate_left(1);
            if all.peek().is_some() || self.commas & 1 == 1 {
                self.text.push(',');
                self.gap();
            }
        }
        self.text.push(close);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(elements) => self.children('[', ']', elements.iter().map(|e| (None, e))),
            Value::Object(members) => {
                self.children('{', '}', members.iter().map(|(n, v)| (Some(n), v)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.text.push_str(&value.to_string());
            }
        }
    }
}

/// Parses the text with another JSON parser.
fn tree(text: &str) -> ast::Value<'_> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    parse_to_ast(text, &CollectOptions::default(), &options).unwrap().value.unwrap()
}

fn value(tree: &ast::Value<'_>) -> Value {
    match tree {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => literal.value.into(),
        ast::Value::NumberLit(literal) => serde_json::from_str(literal.value).unwrap(),
        ast::Value::StringLit(literal) => literal.value.clone().into_owned().into(),
        ast::Value::Array(array) => array.elements.iter().map(value).collect(),
        ast::Value::Object(object) => {
            let member = |p: &ast::ObjectProp<'_>| (name(&p.name), value(&p.value));
            Value::Object(object.properties.iter().map(member).collect())
        }
    }
}

fn name(name: &ObjectPropName<'_>) -> String {
    match name {
        ObjectPropName::String(literal) => literal.value.clone().into_owned(),
        ObjectPropName::Word(word) => word.value.to_owned(),
    }
}

/// Collects the pointers and paths of all values of a document.
fn places(value: &Value, pointer: &str, path: &str, all: &mut Vec<(String, String)>) {
    all.push((pointer.to_owned(), path.to_owned()));
    match value {
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                places(element, &format!("{pointer}/{index}"), &format!("{path}[{index}]"), all);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let step = name.replace('~', "~0").replace('/', "~1");
                let quoted = name.replace('\'', "\\'");
                places(value, &format!("{pointer}/{step}"), &format!("{path}['{quoted}']"), all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the range of the value at `pointer`, and the ranges of its direct children.
fn spans(tree: &ast::Value<'_>, pointer: &str) -> ((usize, usize), Vec<(usize, usize)>) {
    let span = |r: jsonc_parser::common::Range| (r.start, r.end);
    let Some((step, rest)) = pointer.strip_prefix('/').map(|p| {
        let end = p.find('/').unwrap_or(p.len());
        (p[..end].replace("~1", "/").replace("~0", "~"), &p[end..])
    }) else {
        let children = match tree {
            ast::Value::Object(object) => {
                let ends = |p: &ast::ObjectProp<'_>| (p.name.range().start, p.value.range().end);
                object.properties.iter().map(ends).collect()
            }
            ast::Value::Array(_)
            | ast::Value::StringLit(_)
            | ast::Value::NumberLit(_)
            | ast::Value::BooleanLit(_)
            | ast::Value::NullKeyword(_) => Vec::new(),
        };
        return (span(tree.range()), children);
    };
    match tree {
        ast::Value::Array(array) => spans(&array.elements[step.parse::<usize>().unwrap()], rest),
        ast::Value::Object(object) => {
            spans(&object.properties.iter().find(|p| name(&p.name) == step).unwrap().value, rest)
        }
        ast::Value::StringLit(_)
        | ast::Value::NumberLit(_)
        | ast::Value::BooleanLit(_)
        | ast::Value::NullKeyword(_) => panic!("{pointer}"),
    }
}

/// Returns the comments in a piece of text between values.
fn comments(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        rest = &rest[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap()
        } else {
            rest.find("*/").unwrap() + 2
        };
        all.push(rest[..end].trim_end().to_owned());
        rest = &rest[end..];
    }
    all
}

/// Returns the text between the brackets of an object that belongs to none of its members.
fn gaps_of(text: &str, (start, end): (usize, usize), members: &[(usize, usize)]) -> String {
    let mut gaps = String::new();
    let mut reached = start + 1;
    for (from, to) in members {
        gaps.push_str(&text[reached..*from]);
        reached = *to;
    }
    gaps + &text[reached..end - 1]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// EX-10
    #[test]
    fn edits_change_only_the_addressed_value_and_its_bytes(
        before in document(),
        gaps in prop::collection::vec(gap(), 1..40),
        commas in any::<u32>(),
        place in any::<prop::sample::Index>(),
        kind in 0u8..3,
        key in prop::sample::select(vec!["a", "b'", "//", "", "é\"", "new"]),
        new in document(),
    ) {
        let file = text(&before, &gaps, commas);
        let mut all = Vec::new();
        places(&before, "", "$", &mut all);
        let (pointer, path) = place.get(&all);
        let old = before.pointer(pointer).unwrap();
        let mut after = before.clone();
        let target = after.pointer_mut(pointer).unwrap();
        let (edit, fits): (JsonValueEdit, bool) = match (kind, &mut *target) {
            (0, target) => {
                *target = new.clone();
                (update(path, &new.to_string()), true)
            }
            (1, Value::Object(members)) => {
                let fits = !members.contains_key(key);
                members.insert(key.to_owned(), new.clone());
                (add(path, key, &new.to_string()), fits)
            }
            (1, _) => (add(path, key, &new.to_string()), false),
            (_, Value::Object(members)) => {
                let fits = members.remove(key).is_some();
                (remove(path, key), fits)
            }
            (_, _) => (remove(path, key), false),
        };
        let result = edited(edit, &file);
        prop_assert_eq!(result.is_ok(), fits, "{:?} {:?}", result, file);
        let Ok(result) = result else { return Ok(()) };
        let ((start, end), members) = spans(&tree(&file), pointer);
        let ((new_start, new_end), new_members) = spans(&tree(&result), pointer);
        prop_assert_eq!(value(&tree(&result)), after);
        // All bytes around the edited value must be unchanged.
        prop_assert_eq!(&file[..start], &result[..new_start]);
        prop_assert_eq!(&file[end..], &result[new_end..]);
        if kind == 0 {
            return Ok(());
        }
        // All other members, and all comments between them, must be unchanged.
        let kept = |text: &str, members: &[(usize, usize)], but: Option<usize>| {
            let others = members.iter().enumerate().filter(|(index, _)| Some(*index) != but);
            others.map(|(_, (from, to))| text[*from..*to].to_owned()).collect::<Vec<_>>()
        };
        let position = |text: &str| {
            let Value::Object(members) = value(&tree(text)).pointer(pointer).unwrap().clone() else { panic!() };
            members.len()
        };
        let index = members.iter().position(|(from, to)| {
            value(&tree(&format!("{{{}}}", &file[*from..*to]))).get(key).is_some()
        });
        let old_kept = kept(&file, &members, if kind == 2 { index } else { None });
        let added = (kind == 1).then(|| position(&result) - 1);
        prop_assert_eq!(old_kept, kept(&result, &new_members, added));
        prop_assert_eq!(
            comments(&gaps_of(&file, (start, end), &members)),
            comments(&gaps_of(&result, (new_start, new_end), &new_members)),
            "{:?} {:?} {:?}", file, result, old
        );
    }
}
