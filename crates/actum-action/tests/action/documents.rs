//! Random documents generated from the published JSON Schemas, and random damage to them.

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Generates a document that is either valid or damaged in up to two places.
pub(crate) fn document(schema: &Value) -> BoxedStrategy<Value> {
    let sound = sound(schema);
    let damages = prop_oneof![3 => Just(0usize), 2 => Just(1), 1 => Just(2)];
    let damages = damages.prop_flat_map(|count| vec(damage(), count));
    let damaged = |(mut value, damages): (Value, Vec<Damage>)| {
        damages.into_iter().for_each(|damage| damage.apply(&mut value));
        value
    };
    (sound, damages).prop_map(damaged).boxed()
}

/// Generates the bytes of a document and overwrites some of them.
pub(crate) fn bytes(schema: &Value) -> BoxedStrategy<Vec<u8>> {
    let damage = prop_oneof![
        4 => Just(None),
        1 => (any::<Index>(), 0usize..3, vec(any::<u8>(), 0..3)).prop_map(Some),
        1 => (any::<Index>(), 0usize..9, "[\\[\\]{}\":,0-9.eE+ \\\\u-]{0,3}".prop_map(String::into_bytes))
            .prop_map(Some),
    ];
    let damaged = |(value, damage): (Value, Option<(Index, usize, Vec<u8>)>)| {
        let mut bytes = value.to_string().into_bytes();
        if let Some((at, count, others)) = damage {
            let start = at.index(bytes.len() + 1);
            let end = (start + count).min(bytes.len());
            bytes.splice(start..end, others);
        }
        bytes
    };
    (document(schema), damage).prop_map(damaged).boxed()
}

/// Generates a value that satisfies the schema, or almost satisfies it.
fn sound(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(words) = schema["enum"].as_array() {
        return select(words.clone()).boxed();
    }
    if !schema["const"].is_null() {
        return Just(schema["const"].clone()).boxed();
    }
    if let Some(kinds) = schema["kinds"].as_array() {
        return proptest::strategy::Union::new(kinds.iter().map(sound)).boxed();
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return any_value(),
    };
    let each = kinds.into_iter().map(|kind| match kind {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::Bool).boxed(),
        "number" => {
            let sound = select(vec![json!(0), json!(0.5), json!(1), json!(1.0), json!(-0.0)]);
            prop_oneof![9 => sound, 1 => select(vec![json!(-5e-324), json!(1.0 + f64::EPSILON)])]
                .boxed()
        }
        "integer" => {
            let edge = |name: &str| schema[name].as_i64().unwrap_or_default();
            let (min, max) = (edge("minimum"), edge("maximum"));
            let over = vec![json!(min - 1), json!(max + 1), json!(0.5)];
            prop_oneof![
                9 => prop_oneof![Just(min), Just(max), 0i64..99]
                    .prop_map(move |number| Value::from(number.clamp(min, max))),
                1 => select(over),
            ]
            .boxed()
        }
        "string" => text(schema),
        "array" => vec(sound(&schema["items"]), 0..4).prop_map(Value::Array).boxed(),
        _ => object(schema),
    });
    proptest::strategy::Union::new(each).boxed()
}

fn text(schema: &Value) -> BoxedStrategy<Value> {
    let text = match schema["pattern"].as_str() {
        Some("^[0-9A-Fa-f]*$") => "[0-9a-fA-F]{64}",
        Some("^[A-Za-z0-9._-]*$") => "[A-Za-z0-9._-]{1,4}",
        Some("^\\$") => "\\$(\\.[a-z]{1,2}){0,2}",
        Some(pattern) if pattern.starts_with("^(?!") => "[a-c]{1,2}(/\\.?[a-z]{1,3}){0,2}",
        Some(pattern) if pattern.contains('\\') => "[0-9]\\.[0-9]{1,2}\\.[0-9](-[a-z.-]{1,3})?",
        Some(_) => "[a-z][a-z0-9_]{0,8}",
        None => "[ab]|a|a|a",
    };
    let odd = "a?[\0\n\u{1f}\u{7f}\u{80}\u{9f}\u{a0}]a?";
    let others = prop_oneof![odd, "\\PC{0,8}", any::<String>()];
    prop_oneof![19 => text.prop_map(Value::from), 1 => others.prop_map(Value::from)].boxed()
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    if schema["propertyNames"].is_object() {
        let members = hash_map("[a-c]{2,3}", sound(&schema["additionalProperties"]), 0..3);
        return members.prop_map(|it| Value::Object(it.into_iter().collect())).boxed();
    }
    let Some(properties) = schema["properties"].as_object() else { return any_object() };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let none = Just(Map::new()).boxed();
    let members = properties.iter().fold(none, |members, (name, schema)| {
        let odds = if required.contains(&json!(name)) { 0.98 } else { 0.6 };
        let member = proptest::option::weighted(odds, sound(schema));
        let name = name.clone();
        let with = move |(mut members, member): (Map<String, Value>, Option<Value>)| {
            members.extend(member.map(|member| (name.clone(), member)));
            members
        };
        (members, member).prop_map(with).boxed()
    });
    let nests = schema["nests"].as_bool().unwrap_or_default();
    let places = vec(any::<bool>(), if nests { 0..6 } else { 0..1 });
    let nested = |(mut members, places): (Map<String, Value>, Vec<bool>)| {
        let names: Vec<String> = members.keys().filter(|name| *name != "type").cloned().collect();
        let inner: Vec<_> =
            names.into_iter().zip(places).filter(|(_, is_inner)| *is_inner).collect();
        let inner = inner.into_iter().filter_map(|(name, _)| members.remove_entry(&name));
        let inner: Map<String, Value> = inner.collect();
        if !inner.is_empty() {
            members.insert("details".to_owned(), Value::Object(inner));
        }
        Value::Object(members)
    };
    (members, places).prop_map(nested).boxed()
}

fn any_object() -> BoxedStrategy<Value> {
    let members = hash_map("[a-c]{0,2}|\\PC", any_value(), 0..3);
    members.prop_map(|members| Value::Object(members.into_iter().collect())).boxed()
}

fn any_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        (-1.0..2.0).prop_map(|share: f64| json!(share)),
        select(vec![json!(u64::MAX), json!(i64::MIN), json!(1e300), json!(5e-324), json!(-0.0)]),
        select(vec![json!((1i64 << 53) - 1), json!(1i64 << 53), json!(-(1i64 << 53))]),
        "[a-zR]{0,3}[0-9]?".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        let members = hash_map("[a-c]{0,2}|\\PC", inner.clone(), 0..3);
        prop_oneof![
            vec(inner, 0..3).prop_map(Value::Array),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Kinds of damage to a single value of a document.
#[derive(Debug, Clone)]
enum Damage {
    Replace(Vec<Index>, Value),
    Remove(Vec<Index>),
    Rename(Vec<Index>, String),
    Add(Vec<Index>, String, Value),
}

fn damage() -> impl Strategy<Value = Damage> {
    let way = || vec(any::<Index>(), 0..4);
    let name = || prop_oneof!["[a-z]{1,4}", Just("later".to_owned()), Just("ok".to_owned())];
    prop_oneof![
        (way(), any_value()).prop_map(|(way, value)| Damage::Replace(way, value)),
        way().prop_map(Damage::Remove),
        (way(), name()).prop_map(|(way, name)| Damage::Rename(way, name)),
        (way(), name(), any_value()).prop_map(|(way, name, value)| Damage::Add(way, name, value)),
    ]
}

impl Damage {
    fn apply(self, document: &mut Value) {
        match self {
            Self::Replace(way, value) => *reached(document, &way) = value,
            Self::Remove(way) => {
                if let Some((members, name)) = member(document, &way) {
                    members.remove(&name);
                }
            }
            Self::Rename(way, other) => {
                if let Some((members, name)) = member(document, &way) {
                    let value = members.remove(&name).unwrap_or_default();
                    members.insert(other, value);
                }
            }
            Self::Add(way, name, value) => {
                if let Value::Object(members) = reached(document, &way) {
                    members.insert(name, value);
                }
            }
        }
    }
}

/// Picks a value inside `value`, choosing an existing member at each level.
fn reached<'v>(value: &'v mut Value, way: &[Index]) -> &'v mut Value {
    let Some((first, rest)) = way.split_first() else { return value };
    let count = value.as_array().map(Vec::len).or(value.as_object().map(Map::len));
    let Some(index) = count.filter(|count| *count > 0).map(|count| first.index(count)) else {
        return value;
    };
    let next = match value {
        Value::Array(elements) => elements.get_mut(index),
        Value::Object(members) => members.values_mut().nth(index),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    reached(next.unwrap(), rest)
}

/// Picks an object inside `value`, and returns it with the name of one of its members.
fn member<'v>(value: &'v mut Value, way: &[Index]) -> Option<(&'v mut Map<String, Value>, String)> {
    let (last, way) = way.split_last()?;
    let members = reached(value, way).as_object_mut().filter(|members| !members.is_empty())?;
    let name = members.keys().nth(last.index(members.len())).cloned()?;
    Some((members, name))
}
