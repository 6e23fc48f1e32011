//! Operations in documents: parsing a document returns the operations that were written.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use actum_core::canonical::{self, describe};
use actum_core::{Digest, FileMode, RelPath};
use actum_edit::edit::json_patch::{JsonText, PatchOperation, Pointer};
use actum_edit::edit::{
    BinaryChange, BinaryEdit, BlobId, Chunk, ChunkLine, JsonPatch, JsonPath, JsonValueEdit,
    LineDelete, LineInsert, Occurrences, Replacement, YamlUpdate,
};
use actum_edit::hunk::Side;
use actum_edit::{Edit, EmptyParents, LineHunk, ModeChange, Operation};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generates bytes, which are often text.
fn bytes() -> BoxedStrategy<Vec<u8>> {
    let text = any::<String>().prop_map(String::into_bytes);
    prop_oneof!["[ab\n\"\\\\ -]{0,9}".prop_map(String::into_bytes), text, vec(any::<u8>(), 0..9)]
        .boxed()
}

fn path() -> BoxedStrategy<RelPath> {
    let name = prop_oneof!["[a-c]{1,3}", "\\PC{1,3}"].prop_map(String::into_bytes);
    let name = prop_oneof![3 => name, 1 => vec(any::<u8>(), 1..4)];
    vec(name, 1..4).prop_filter_map("no path", |names| RelPath::new(names.join(&b'/')).ok()).boxed()
}

fn expected() -> impl Strategy<Value = Option<Digest>> {
    option::of(any::<[u8; 32]>().prop_map(Digest::from_bytes))
}

fn mode() -> impl Strategy<Value = ModeChange> {
    prop_oneof![
        any::<u32>().prop_map(|bits| ModeChange::Exact(FileMode::new(bits))),
        any::<bool>().prop_map(ModeChange::Executable),
    ]
}

fn parents() -> impl Strategy<Value = EmptyParents> {
    prop_oneof![Just(EmptyParents::Keep), Just(EmptyParents::Remove)]
}

fn hunk() -> impl Strategy<Value = LineHunk> {
    (any::<[u32; 4]>(), bytes(), any::<bool>()).prop_map(|(numbers, body, at_end)| {
        let [old_start, old_lines, new_start, new_lines] = numbers;
        LineHunk { old_start, old_lines, new_start, new_lines, body, at_end }
    })
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let side = prop_oneof![Just(Side::Context), Just(Side::Old), Just(Side::New)];
    let line = (side, bytes()).prop_map(|(side, bytes)| ChunkLine { side, bytes });
    (vec(bytes(), 0..3), vec(line, 0..4), any::<bool>())
        .prop_map(|(anchors, lines, at_end)| Chunk { anchors, lines, at_end })
}

fn blob_id() -> impl Strategy<Value = BlobId> {
    prop_oneof![
        any::<[u8; 20]>().prop_map(BlobId::Sha1),
        any::<[u8; 32]>().prop_map(BlobId::Sha256),
    ]
}

fn pointer() -> impl Strategy<Value = Pointer> {
    let step = prop_oneof!["[a~/0-]{0,3}", "\\PC{0,3}"];
    vec(step, 0..4).prop_map(|steps| {
        let escaped = steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
        let text: String = escaped.map(|step| format!("/{step}")).collect();
        Pointer::new(&text).unwrap()
    })
}

/// Generates values, some of them in spellings that are not canonical.
fn json_text() -> impl Strategy<Value = JsonText> {
    let text = prop_oneof![
        prop::sample::select(vec![
            "1.0",
            "1e400",
            "-0",
            "{ \"b\" : 1,\n\"a\":[ ] }",
            "\"\\u0061\""
        ])
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    text.prop_map(|text| JsonText::new(&text).unwrap())
}

fn patch_operation() -> impl Strategy<Value = PatchOperation> {
    let value = || (pointer(), json_text());
    let two = || (pointer(), pointer());
    prop_oneof![
        value().prop_map(|(path, value)| PatchOperation::Add { path, value }),
        pointer().prop_map(|path| PatchOperation::Remove { path }),
        value().prop_map(|(path, value)| PatchOperation::Replace { path, value }),
        two().prop_map(|(from, path)| PatchOperation::Move { from, path }),
        two().prop_map(|(from, path)| PatchOperation::Copy { from, path }),
        value().prop_map(|(path, value)| PatchOperation::Test { path, value }),
    ]
}

fn json_path() -> impl Strategy<Value = JsonPath> {
    let paths = vec!["$", "$.a['b c'][0]", "$..a", "$[?@.a == 'é\"']", "$[\"\\u0061\"]"];
    prop::sample::select(paths).prop_map(|path| JsonPath::new(path).unwrap())
}

fn json_value() -> impl Strategy<Value = JsonValueEdit> {
    prop_oneof![
        (json_path(), any::<String>(), json_text())
            .prop_map(|(path, key, value)| JsonValueEdit::AddProperty { path, key, value }),
        (json_path(), any::<String>())
            .prop_map(|(path, key)| JsonValueEdit::RemoveProperty { path, key }),
        (json_path(), json_text())
            .prop_map(|(path, value)| JsonValueEdit::UpdateValue { path, value }),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let occurrences = prop_oneof![Just(Occurrences::One), Just(Occurrences::All)];
    let change = prop_oneof![
        bytes().prop_map(BinaryChange::Literal),
        bytes().prop_map(BinaryChange::Delta),
    ];
    prop_oneof![
        (bytes(), bytes(), occurrences).prop_map(|(old, new, occurrences)| {
            Edit::Replace(Replacement { old, new, occurrences })
        }),
        vec(chunk(), 0..3).prop_map(Edit::Chunks),
        (blob_id(), blob_id(), change).prop_map(|(before, after, change)| {
            Edit::Binary(BinaryEdit { before, after, change })
        }),
        vec(patch_operation(), 0..3).prop_map(|operations| Edit::Json(JsonPatch { operations })),
        (any::<u32>(), bytes()).prop_map(|(line_number, content)| {
            Edit::LineInsert(LineInsert { line_number, content })
        }),
        any::<[u32; 2]>().prop_map(|[start_line, end_line]| {
            Edit::LineDelete(LineDelete { start_line, end_line })
        }),
        json_value().prop_map(Edit::JsonValue),
        (json_path(), any::<u32>(), json_text()).prop_map(|(path, document, value)| {
            let document = std::num::NonZeroU32::new(document % 3);
            Edit::Yaml(YamlUpdate { path, document, value })
        }),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (path(), vec(hunk(), 0..3), expected())
            .prop_map(|(path, hunks, expected)| Operation::Patch { path, hunks, expected }),
        (path(), edit(), expected()).prop_map(|(path, edit, expected)| Operation::Edit {
            path,
            edit,
            expected
        }),
        (path(), bytes(), expected()).prop_map(|(path, content, expected)| Operation::Write {
            path,
            content,
            expected
        }),
        (path(), bytes(), option::of(mode())).prop_map(|(path, content, mode)| Operation::Create {
            path,
            content,
            mode
        }),
        (path(), expected(), parents()).prop_map(|(path, expected, parents)| Operation::Delete {
            path,
            expected,
            parents
        }),
        (path(), path(), parents()).prop_map(|(from, to, parents)| Operation::Rename {
            from,
            to,
            parents
        }),
        (path(), path()).prop_map(|(from, to)| Operation::Copy { from, to }),
        (path(), mode()).prop_map(|(path, mode)| Operation::Chmod { path, mode }),
        (path(), 0u32..0o10000, 0u32..0o10000).prop_map(|(path, mode, expected)| {
            let [mode, expected] = [mode, expected].map(FileMode::new);
            Operation::ChmodDirectory { path, mode, expected }
        }),
        (path(), option::of(0u32..0o10000)).prop_map(|(path, mode)| {
            let mode = mode.map(FileMode::new);
            Operation::MakeDirectory { path, mode }
        }),
        path().prop_map(|path| Operation::RemoveDirectory { path }),
    ]
}

proptest! {
    /// AA-5: the operations that are applied are those the approver agreed to.
    #[test]
    fn operations_round_trip_through_their_document(operations in vec(operation(), 0..5)) {
        let written = canonical::to_vec(&operations).unwrap();
        let value = canonical::read(&written).unwrap();
        let read: Vec<Operation> = serde_json::from_value(value).unwrap();
        prop_assert_eq!(&read, &operations);
        prop_assert_eq!(Operation::digest(&read), Operation::digest(&operations));
        prop_assert_eq!(canonical::to_vec(&read).unwrap(), written.clone());
        let streamed: Vec<Operation> = serde_json::from_slice(&written).unwrap();
        prop_assert_eq!(streamed, operations);
    }
}

fn problem(operation: Value) -> String {
    describe(&serde_json::from_value::<Operation>(operation).unwrap_err())
}

/// D-4
#[test]
fn invalid_stored_operations_are_rejected() {
    let id = "0".repeat(40);
    let edit = |edit: Value| json!({"edit": {"path": "a", "edit": edit, "expected": null}});
    let patch = |operation: Value| edit(json!({"json": {"operations": [operation]}}));
    for (operation, message) in [
        (json!({"copy": {"from": "a", "to": "../b"}}), "it contains `..`"),
        (json!({"copy": {"from": ".git/config", "to": "b"}}), "it is part of `.git` or `.actum`"),
        (json!({"copy": {"from": {"hex": "00"}, "to": "b"}}), "it contains a NUL byte"),
        (json!({"copy": {"from": "a"}}), "missing field `to`"),
        (json!({"copy": {"from": "a", "to": "b", "mode": "0644"}}), "unknown field `mode`"),
        (json!({"hard_link": {"from": "a", "to": "b"}}), "unknown variant `hard_link`"),
        (json!({"chmod": {"path": "a", "mode": {"exact": "10644"}}}), "expected four octal digits"),
        (json!({"write": {"path": "a", "content": ""}}), "missing field `expected`"),
        (json!({"create": {"path": "a", "content": ""}}), "missing field `mode`"),
        (
            json!({"write": {"path": "a", "content": "", "expected": "0"}}),
            "is not a SHA-256 digest",
        ),
        (
            edit(json!({"chunks": [{"anchors": [], "lines": ["a"], "at_end": true}]})),
            "must begin with",
        ),
        (
            edit(json!({"chunks": [{"anchors": [], "lines": [""], "at_end": true}]})),
            "must begin with",
        ),
        (
            edit(json!({"binary": {"before": id, "after": "0", "change": {"literal": ""}}})),
            "`0` is not a git object id",
        ),
        (patch(json!({"remove": {"path": "a"}})), "is not a valid JSON Pointer"),
        (patch(json!({"add": {"path": "", "value": "[1,]"}})), "trailing comma"),
        (patch(json!({"add": {"path": "", "value": "{\"a\":1,\"a\":2}"}})), "duplicate field"),
        (patch(json!({"add": {"path": "", "value": 1}})), "expected a string"),
    ] {
        let error = problem(operation.clone());
        assert!(error.contains(message), "{operation}: {error}");
    }
    let hunk = json!({
        "old_start": -1, "old_lines": 1, "new_start": 1, "new_lines": 1, "body": "", "at_end": true
    });
    let error = problem(json!({"patch": {"path": "a", "hunks": [hunk], "expected": null}}));
    assert!(error.starts_with("invalid value: integer `-1`"), "{error}");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let error = problem(patch(json!({"add": {"path": "", "value": deep}})));
    assert_eq!(error, "arrays and objects are nested more than 127 levels deep");
}
