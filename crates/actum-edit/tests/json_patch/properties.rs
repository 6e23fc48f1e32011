//! An edit produces the same values as another implementation of RFC 6902, and changes no bytes outside the addressed values.

use actum_core::json::{Content, Value as Placed};
use actum_edit::Splice;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{patched, splices};

/// Style of a written document.
#[derive(Debug, Clone)]
struct Style {
    newline: &'static str,
    unit: &'static str,
    colon: &'static str,
    gap: &'static str,
    pad: &'static str,
    end: &'static str,
    /// One bit per container: whether it spans several lines if its parents do.
    lines: u64,
}

fn style() -> impl Strategy<Value = Style> {
    (
        prop_oneof![Just("\n"), Just("\r\n")],
        prop_oneof![Just("  "), Just("    "), Just("\t"), Just("")],
        prop_oneof![Just(": "), Just(":"), Just(" : ")],
        prop_oneof![Just(" "), Just("")],
        prop_oneof![Just(""), Just(" ")],
        prop_oneof![Just(""), Just("\n"), Just(" \r\n\n")],
        prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
    )
        .prop_map(|(newline, unit, colon, gap, pad, end, lines)| Style {
            newline,
            unit,
            colon,
            gap,
            pad,
            end,
            lines,
        })
}

impl Style {
    fn text(&self, value: &Value) -> String {
        let mut lines = self.lines;
        self.write(value, "", true, &mut lines) + self.end
    }

    fn write(&self, value: &Value, indent: &str, outer: bool, bits: &mut u64) -> String {
        let (open, close, items): (_, _, Vec<(String, &Value)>) = match value {
            Value::Array(items) => {
                ("[", "]", items.iter().map(|item| (String::new(), item)).collect())
            }
            Value::Object(members) => {
                let name = |name: &String| format!("{}{}", json!(name), self.colon);
                ("{", "}", members.iter().map(|(n, value)| (name(n), value)).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return value.to_string();
            }
        };
        if items.is_empty() {
            return format!("{open}{close}");
        }
        let lines = outer && *bits & 1 == 1;
        *bits = bits.rotate_right(1);
        let inner = format!("{indent}{}", self.unit);
        let line = |indent: &str| format!("{}{indent}", self.newline);
        let (first, next, last) = if lines {
            (line(&inner), line(&inner), line(indent))
        } else {
            (self.pad.to_owned(), self.gap.to_owned(), self.pad.to_owned())
        };
        let items: Vec<_> = items
            .into_iter()
            .map(|(name, value)| format!("{name}{}", self.write(value, &inner, lines, bits)))
            .collect();
        format!("{open}{first}{}{last}{close}", items.join(&format!(",{next}")))
    }
}

fn document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        "[a\\\\\"é\n,:{}\\[\\]]{0,4}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![Just("a"), Just("b/"), Just("~c"), Just("0"), Just(""), Just("é\"")];
        let name = name.prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Kind of an operation, the choice of its locations, and a value.
type Pick = (u8, prop::sample::Index, prop::sample::Index, u8, Value);

fn picks() -> impl Strategy<Value = Vec<Pick>> {
    let index = any::<prop::sample::Index>;
    prop::collection::vec((0u8..8, index(), index(), 0u8..6, document()), 1..6)
}

/// Collects the pointers to all values of a document.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let step = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| pointers(v, &step(&i.to_string()), all));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| pointers(value, &step(name), all));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns operations of which all but the last are certain to succeed, and the result if the last one succeeds as well.
fn operations(document: &Value, picks: &[Pick]) -> (Vec<Value>, Option<Value>) {
    let (mut now, mut operations) = (document.clone(), Vec::new());
    for (kind, one, other, step, value) in picks {
        let mut all = Vec::new();
        pointers(&now, "", &mut all);
        let (one, other) = (one.get(&all), other.get(&all));
        let steps = ["", "/a", "/-", "/0", "/new", "/1"];
        let new = format!("{other}{}", steps[usize::from(*step)]);
        let operation = match kind {
            0 | 1 => json!({"op": "add", "path": new, "value": value}),
            2 => json!({"op": "remove", "path": one}),
            3 => json!({"op": "replace", "path": one, "value": value}),
            4 => json!({"op": "move", "from": one, "path": new}),
            5 => json!({"op": "copy", "from": one, "path": new}),
            6 => json!({"op": "test", "path": one, "value": now.pointer(one)}),
            _ => json!({"op": "test", "path": one, "value": value}),
        };
        operations.push(operation.clone());
        // The other implementation rejects this if the value is the whole document.
        if *kind == 4 && *one == new {
            continue;
        }
        // The other implementation replaces a removed document with `null`.
        let is_root = one.is_empty() && matches!(kind, 2 | 4);
        let patch: json_patch::Patch = serde_json::from_value(json!([operation])).unwrap();
        if is_root || json_patch::patch(&mut now, &patch).is_err() {
            return (operations, None);
        }
    }
    (operations, Some(now))
}

fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// FO-10
    #[test]
    fn edited_values_match_another_implementation(
        document in document(),
        style in style(),
        picks in picks(),
    ) {
        let before = style.text(&document);
        let (operations, expected) = operations(&document, &picks);
        let patch = Value::from(operations).to_string();
        let after = patched(&patch, &before);
        prop_assert_eq!(
            after.as_deref().ok().map(value_of), expected, "{} {} {:?}", before, patch, after
        );
    }

    /// FO-10
    #[test]
    fn edits_stay_inside_the_addressed_container(
        document in document(),
        style in style(),
        pick in (0u8..4, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..6, self::document()),
    ) {
        let before = style.text(&document);
        let (operations, _) = operations(&document, &[pick]);
        let path = operations[0]["path"].as_str().unwrap().to_owned();
        let patch = Value::from(operations).to_string();
        if let Ok(splices) = splices(&patch, before.as_bytes()) {
            let whole = Placed::read(before.as_bytes()).unwrap();
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let span = span(&whole, parent);
            for splice in splices {
                let start = usize::try_from(splice.offset).unwrap();
                prop_assert!(span.start <= start && start + splice.old.len() <= span.end);
            }
        }
    }

    /// FO-5
    #[test]
    fn adding_and_removing_a_value_restores_the_bytes(
        document in document(),
        style in style(),
        place in any::<prop::sample::Index>(),
        value in self::document(),
    ) {
        let document = json!([document, 0]);
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        // An empty container may be replaced by an empty one of the other kind.
        all.retain(|pointer| match document.pointer(pointer).unwrap() {
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        });
        let parent = place.get(&all);
        let steps: Vec<_> = match document.pointer(parent).and_then(Value::as_array) {
            Some(items) => (0..=items.len()).map(|index| index.to_string()).collect(),
            None => vec!["new".to_owned()],
        };
        let before = style.text(&document);
        for step in steps {
            let path = format!("{parent}/{step}");
            let add = json!([{"op": "add", "path": path, "value": value}]).to_string();
            let remove = json!([{"op": "remove", "path": path}]).to_string();
            let with = patched(&add, &before).unwrap();
            let without = patched(&remove, &with).unwrap();
            prop_assert_eq!(&without, &before, "{} {}", path, with);
        }
    }

    /// FO-5
    #[test]
    fn inverse_of_an_edit_restores_the_bytes(
        document in document(),
        style in style(),
        picks in picks(),
    ) {
        let before = style.text(&document);
        let patch = Value::from(operations(&document, &picks).0).to_string();
        if let Ok(splices) = splices(&patch, before.as_bytes()) {
            let after = Splice::apply(&splices, before.as_bytes()).unwrap();
            let back = Splice::apply(&Splice::invert(&splices), &after).unwrap();
            prop_assert_eq!(String::from_utf8(back).unwrap(), before);
        }
    }
}

/// Returns the byte range of the value at a pointer.
fn span(value: &Placed<'_>, pointer: &str) -> std::ops::Range<usize> {
    let Some((step, rest)) = pointer.strip_prefix('/').map(|steps| {
        steps
            .split_once('/')
            .map_or((steps, String::new()), |(step, rest)| (step, format!("/{rest}")))
    }) else {
        return value.span.clone();
    };
    let step = step.replace("~1", "/").replace("~0", "~");
    let inside = if let Content::Array(items) = &value.content {
        &items[step.parse::<usize>().unwrap()]
    } else {
        &value.members().iter().find(|member| member.name == *step).unwrap().value
    };
    span(inside, &rest)
}
