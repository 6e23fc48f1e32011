//! The frozen contract, v4.0.17: the published documents honour it, and every breach is detected (AA-12).

use actum_action::PACKAGE_FILES;
use actum_core::{Digest, Status};
use serde_json::{Value, json};

use crate::schemas::published;

const CONTRACT: &str = include_str!("../../../../schemas/frozen/v4.0.17/contract.json");
/// Digest of the frozen contract. A changed contract must be published as a new file.
const CONTRACT_DIGEST: &str = "b44ea1e382c53588d4e682f0a86d13ca9b240536068085885d0158e000c0631c";
const CONFORMANCE: &str = include_str!("../../../../docs/conformance.md");
/// Requirements that enforce a rule of the contract. Each is added together with its row in the table, and never removed.
const KEPT: &[&str] = &["AA-5", "AA-7", "AA-9", "AA-10", "AA-11"];

/// Schemas and other files that are published with the contract.
#[derive(Debug, Clone)]
struct Published {
    /// Schema of each document, under the name of the document.
    schemas: Vec<(String, Value)>,
    statuses: Vec<String>,
    package_files: Vec<String>,
}

fn now(contract: &Value) -> Published {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let schemas = each(&contract["documents"]).map(|document| {
        let name = document["document"].as_str().unwrap();
        (name.to_owned(), published(name))
    });
    Published {
        schemas: schemas.collect(),
        statuses: texts(&Status::ALL.map(Status::as_str)),
        package_files: texts(&PACKAGE_FILES),
    }
}

fn each(list: &Value) -> std::slice::Iter<'_, Value> {
    list.as_array().unwrap().iter()
}

/// Lists every rule of `contract` that the `published` documents break.
fn breaches(contract: &Value, published: &Published) -> Vec<String> {
    let mut found = Vec::new();
    for document in each(&contract["documents"]) {
        let name = document["document"].as_str().unwrap();
        let schema = published.schemas.iter().find(|(published, _)| published == name);
        let Some((_, schema)) = schema else {
            found.push(format!("{name} is gone"));
            continue;
        };
        for field in each(&document["fields"]) {
            let path = field["field"].as_str().unwrap();
            found
                .extend(of_field(field, path, schema).map(|how| format!("{name}: `{path}` {how}")));
        }
        for object in objects(document) {
            let how = of_object(document, object, schema);
            found.extend(how.into_iter().map(|how| format!("{name}: `{object}` {how}")));
        }
    }
    if json!(published.statuses) != contract["statuses"] {
        found.push(format!("the statuses are {:?}", published.statuses));
    }
    let is_there = |file: &&Value| !published.package_files.iter().any(|it| *file == it);
    let missing = each(&contract["packageFiles"]).filter(is_there);
    found.extend(missing.map(|file| format!("the file {file} of a package is gone")));
    found
}

fn of_field(field: &Value, path: &str, schema: &Value) -> Option<String> {
    let (object, name) = path.rsplit_once('.').unwrap_or(("", path));
    let object = at(schema, object);
    let Some(now) = object["properties"].get(name) else { return Some("is gone".to_owned()) };
    let need = if requires(object, name) { "required" } else { "optional" };
    if field["need"] != need {
        return Some(format!("is {need}"));
    }
    let types = &now["type"];
    let types = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
    let mut types: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
    types.sort_unstable();
    if field["types"] != json!(types) {
        return Some(format!("has the types {types:?}"));
    }
    match (&field["words"], &now["enum"]) {
        (Value::Array(words), Value::Array(now)) => {
            words.iter().find(|word| !now.contains(word)).map(|word| format!("has no {word}"))
        }
        (Value::Null, Value::Null) => None,
        (_, now) => Some(format!("has the words {now}")),
    }
}

/// Returns the paths of all objects whose fields the contract fixes, starting with the document itself.
fn objects(document: &Value) -> Vec<&str> {
    let paths = each(&document["fields"]).map(|field| field["field"].as_str().unwrap());
    let mut objects: Vec<&str> =
        paths.map(|path| path.rsplit_once('.').map_or("", |(object, _)| object)).collect();
    objects.sort_unstable();
    objects.dedup();
    objects
}

fn of_object(document: &Value, object: &str, schema: &Value) -> Vec<String> {
    let now = at(schema, object);
    let path =
        |name: &str| if object.is_empty() { name.into() } else { format!("{object}.{name}") };
    let is_frozen =
        |name: &str| each(&document["fields"]).any(|field| field["field"] == path(name));
    let names = now["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut found: Vec<String> = names
        .filter(|name| !is_frozen(name))
        .map(|name| format!("requires `{name}`, which was not there"))
        .collect();
    let others =
        if now["additionalProperties"] == json!(false) { "refused" } else { "passed over" };
    if document["otherFields"] != others {
        found.push(format!("has other fields {others}"));
    }
    found
}

/// Returns the schema of the object at `path`.
fn at<'s>(schema: &'s Value, path: &str) -> &'s Value {
    let names = path.split('.').filter(|name| !name.is_empty());
    names.fold(schema, |schema, name| schema["properties"].get(name).unwrap_or(&Value::Null))
}

fn requires(object: &Value, name: &str) -> bool {
    object["required"].as_array().is_some_and(|required| required.contains(&json!(name)))
}

fn contract() -> Value {
    serde_json::from_str(CONTRACT).unwrap()
}

/// AA-12
#[test]
fn frozen_contract_digest_is_unchanged() {
    assert_eq!(Digest::of(CONTRACT.as_bytes()).to_string(), CONTRACT_DIGEST);
}

/// AA-12
#[test]
fn published_schemas_do_not_break_the_frozen_contract() {
    let contract = contract();
    assert_eq!(breaches(&contract, &now(&contract)), [""; 0]);
}

/// AA-12
#[test]
fn each_contract_rule_has_a_requirement_in_the_conformance_table() {
    let contract = contract();
    let rules: Vec<(u64, &str)> = each(&contract["rules"])
        .map(|rule| (rule["number"].as_u64().unwrap(), rule["requirement"].as_str().unwrap()))
        .collect();
    let expected = [(1, "AA-9"), (2, "AA-9"), (3, "AA-10"), (4, "AA-5"), (5, "AA-7"), (6, "AA-11")];
    assert_eq!(rules, expected);
    for requirement in KEPT {
        assert!(rules.iter().any(|(_, kept_by)| kept_by == requirement), "{requirement}");
        assert!(CONFORMANCE.contains(&format!("\n| {requirement} | ")), "{requirement}");
    }
}

/// Returns a copy of the published documents with a modified schema for the object at `path` in `document`.
fn changed(
    published: &Published,
    document: &str,
    path: &str,
    change: impl FnOnce(&mut Value),
) -> Published {
    let mut published = published.clone();
    let (_, schema) = published.schemas.iter_mut().find(|(name, _)| name == document).unwrap();
    let names = path.split('.').filter(|name| !name.is_empty());
    change(names.fold(schema, |schema, name| schema["properties"].get_mut(name).unwrap()));
    published
}

fn remove(object: &mut Value, name: &str) -> Value {
    release(object, name);
    object["properties"].as_object_mut().unwrap().remove(name).unwrap()
}

fn release(object: &mut Value, name: &str) {
    object["required"].as_array_mut().unwrap().retain(|required| required != name);
}

fn require(object: &mut Value, name: &str) {
    object["required"].as_array_mut().unwrap().push(json!(name));
}

/// A field that the contract fixes, which the tests then modify in various ways.
struct Field<'c> {
    document: &'c str,
    object: &'c str,
    name: &'c str,
    path: &'c str,
    is_required: bool,
    words: Vec<Value>,
}

fn fields(contract: &Value) -> impl Iterator<Item = Field<'_>> {
    each(&contract["documents"]).flat_map(|document| {
        each(&document["fields"]).map(|field| {
            let path = field["field"].as_str().unwrap();
            let (object, name) = path.rsplit_once('.').unwrap_or(("", path));
            Field {
                document: document["document"].as_str().unwrap(),
                object,
                name,
                path,
                is_required: field["need"] == "required",
                words: field["words"].as_array().cloned().unwrap_or_default(),
            }
        })
    })
}

/// AA-12
#[test]
fn removed_renamed_loosened_or_tightened_fields_are_breaches() {
    let contract = contract();
    let now = now(&contract);
    for Field { document, object, name, path, is_required, .. } in fields(&contract) {
        let first = |change: &dyn Fn(&mut Value)| {
            let changed = changed(&now, document, object, change);
            breaches(&contract, &changed).into_iter().next()
        };
        let expected = |how: &str| Some(format!("{document}: `{path}` {how}"));
        assert_eq!(first(&|object| drop(remove(object, name))), expected("is gone"));
        let renamed = |object: &mut Value| {
            let field = remove(object, name);
            object["properties"][format!("{name}2")] = field;
            if is_required {
                require(object, &format!("{name}2"));
            }
        };
        assert_eq!(first(&renamed), expected("is gone"));
        let needed = |object: &mut Value| {
            if is_required { release(object, name) } else { require(object, name) }
        };
        assert_eq!(
            first(&needed),
            expected(if is_required { "is optional" } else { "is required" })
        );
        let typed = |object: &mut Value| object["properties"][name]["type"] = json!("integer");
        assert_eq!(first(&typed), expected("has the types [\"integer\"]"));
    }
}

/// AA-12
#[test]
fn removed_renamed_or_newly_restricted_enum_values_are_breaches() {
    let contract = contract();
    let now = now(&contract);
    for Field { document, path, words, .. } in fields(&contract) {
        let first = |words: Vec<Value>| {
            let changed = changed(&now, document, path, |field| field["enum"] = json!(words));
            breaches(&contract, &changed).into_iter().next()
        };
        if words.is_empty() {
            assert!(first(vec![json!("only")]).unwrap().contains("has the words"));
        }
        for word in &words {
            let rest = words.iter().filter(|other| *other != word).cloned();
            let expected = Some(format!("{document}: `{path}` has no {word}"));
            assert_eq!(first(rest.clone().collect()), expected);
            assert_eq!(first(rest.chain([json!("other")]).collect()), expected);
        }
    }
}

/// AA-2, AA-12
#[test]
fn removed_or_renamed_statuses_and_files_are_breaches() {
    let contract = contract();
    let now = now(&contract);
    let count = |change: &dyn Fn(&mut Published)| {
        let mut changed = now.clone();
        change(&mut changed);
        breaches(&contract, &changed).len()
    };
    for index in 0..now.statuses.len() {
        assert_eq!(count(&|it| drop(it.statuses.remove(index))), 1);
        assert_eq!(count(&|it| it.statuses[index].push('x')), 1);
    }
    assert_eq!(count(&|it| it.statuses.push("paused".to_owned())), 1);
    for index in 0..now.package_files.len() {
        assert_eq!(count(&|it| drop(it.package_files.remove(index))), 1);
        assert_eq!(count(&|it| it.package_files[index].push('x')), 1);
    }
    for index in 0..now.schemas.len() {
        assert_eq!(count(&|it| drop(it.schemas.remove(index))), 1);
    }
}

/// AA-12, D-4
#[test]
fn added_fields_are_allowed_unless_required_and_strictness_is_fixed() {
    let contract = contract();
    let now = now(&contract);
    for document in each(&contract["documents"]) {
        let name = document["document"].as_str().unwrap();
        for object in objects(document) {
            let breaches = |change: &dyn Fn(&mut Value)| {
                breaches(&contract, &changed(&now, name, object, change))
            };
            let added = |object: &mut Value| object["properties"]["later"] = json!({});
            assert_eq!(breaches(&added), [""; 0]);
            let demanded = |object: &mut Value| {
                added(object);
                require(object, "later");
            };
            let expected = format!("{name}: `{object}` requires `later`, which was not there");
            assert_eq!(breaches(&demanded), [expected]);
            let turned = |object: &mut Value| {
                let is_strict = object["additionalProperties"] == json!(false);
                object["additionalProperties"] = json!(is_strict);
            };
            let others =
                if document["otherFields"] == "refused" { "passed over" } else { "refused" };
            assert_eq!(
                breaches(&turned),
                [format!("{name}: `{object}` has other fields {others}")]
            );
        }
    }
}
