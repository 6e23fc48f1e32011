//! Tests of the content rules, with accepted and rejected files for each rule.

use actum_task::TaskPlan;
use serde_json::{Value, json};

use super::*;

/// Builds an action of the given type by parsing a plan that contains only this action.
pub(super) fn action(kind: &str, target: &str, operation: Value) -> Action {
    let action =
        json!({ "action_id": "a", "action_type": kind, "target": target, "operation": operation });
    let plan = json!({ "plan_id": "p", "action_plan": [action] }).to_string();
    TaskPlan::read(plan.as_bytes()).unwrap().actions.remove(0)
}

/// Checks an edit from `before` to `after`, and returns the code and message of the problem, if any.
fn edited(target: &str, before: &str, after: &str) -> Option<(ErrorCode, String)> {
    let operation = json!({ "type": "text_replace", "pattern": "a", "replacement": "b" });
    judged(&action("FILE_MODIFY", target, operation), Some((target, before)), (target, after))
}

/// Checks the creation of a file, and returns the code and message of the problem, if any.
fn made(target: &str, content: &str) -> Option<(ErrorCode, String)> {
    let operation = json!({ "type": "create", "content": content });
    judged(&action("FILE_CREATE", target, operation), None, (target, content))
}

/// Checks the move of a file, and returns the code and message of the problem, if any.
fn moved(from: &str, to: &str, content: &str) -> Option<(ErrorCode, String)> {
    let action = action("FILE_RENAME", from, json!({ "type": "rename", "new_path": to }));
    judged(&action, Some((from, content)), (to, content))
}

/// Checks a `SCHEMA_UPDATE` that replaces the content of a file, and returns the code and message of the problem, if any.
fn schema_of(target: &str, content: &str) -> Option<(ErrorCode, String)> {
    let action = action("SCHEMA_UPDATE", target, json!({ "type": "content", "content": content }));
    judged(&action, Some((target, "{}")), (target, content))
}

fn judged(
    action: &Action,
    before: Option<(&str, &str)>,
    after: (&str, &str),
) -> Option<(ErrorCode, String)> {
    let paths =
        (before.map(|(path, _)| RelPath::new(path).unwrap()), RelPath::new(after.0).unwrap());
    let before = paths.0.as_ref().zip(before);
    let before = before.map(|(path, (_, content))| File { path, content: content.as_bytes() });
    let problem =
        judge(action, before, File { path: &paths.1, content: after.1.as_bytes() }).err()?;
    Some((problem.code, problem.message))
}

fn code(problem: Option<(ErrorCode, String)>) -> Option<ErrorCode> {
    problem.map(|(code, _)| code)
}

const UNPARSEABLE: Option<ErrorCode> = Some(ErrorCode::ResultNotParseable);
const NO_SCHEMA: Option<ErrorCode> = Some(ErrorCode::ResultNotSchema);
const RUNS: Option<ErrorCode> = Some(ErrorCode::UndeclaredExecutable);

/// EX-20
#[test]
fn new_and_previously_parseable_files_must_be_parseable() {
    assert_eq!(
        edited("c.json", "{}", "{\n  \"a\": 1,\n}"),
        Some((
            ErrorCode::ResultNotParseable,
            "`c.json` would not be valid JSON: line 3, column 1: trailing comma before this bracket"
                .to_owned()
        ))
    );
    assert_eq!(made("a.YML", "a: [1\n").unwrap().0, ErrorCode::ResultNotParseable);
    for (target, content) in [
        ("a.json", ""),
        ("a.json", "// x\n1"),
        ("a.geojson", "{"),
        ("a.jsonc", "{"),
        ("tsconfig.json", "{"),
        ("a.jsonl", "1\n{\n"),
        ("a.yaml", "a: 1\n b: 2\n"),
    ] {
        assert_eq!(code(made(target, content)), UNPARSEABLE, "{target}");
        assert_eq!(code(edited(target, "[1]", content)), UNPARSEABLE, "{target}");
    }
    for (target, content) in [
        ("a.json", "[1]\n"),
        ("a.jsonc", "// x\n[1,]"),
        ("tsconfig.build.json", "// x\n{}"),
        (".vscode/settings.json", "// x\n{}"),
        ("a.jsonl", "1\n\n{}\n"),
        ("a.yaml", "a: 1\n---\nb: 2\n"),
        // Files in other languages, and files whose names imply no language, are not checked.
        ("a.json5", "{a: 'b'}"),
        ("json", "{"),
        (".json", "{"),
        ("a.txt", "{"),
    ] {
        assert_eq!(made(target, content), None, "{target}");
    }
}

/// EX-20
#[test]
fn previously_unparseable_file_may_stay_unparseable() {
    assert_eq!(edited("a.json", "{", "{{"), None);
    assert_eq!(edited("a.yaml", "a: {{ .Values.a }}\n", "a: {{ .Values.b }}\n"), None);
    assert_eq!(edited("a.json", "{", "{}"), None);
    // A JSON file may keep existing comments, but a file without comments must not gain any.
    assert_eq!(edited("a.json", "// x\n{}", "// y\n{}"), None);
    assert_eq!(code(edited("a.json", "// x\n{}", "// y\n{")), UNPARSEABLE);
    assert_eq!(code(edited("a.json", "{}", "// y\n{}")), UNPARSEABLE);
}

/// EX-20
#[test]
fn moved_file_is_validated_by_its_new_name() {
    assert_eq!(code(moved("a.txt", "a.json", "{")), UNPARSEABLE);
    assert_eq!(code(moved("a.yaml", "a.json", "a: 1\n")), UNPARSEABLE);
    assert_eq!(moved("a.json", "b.json", "{"), None);
    assert_eq!(moved("tsconfig.json", "b.json", "// x\n{}"), None);
    assert_eq!(moved("a.json", "a.txt", "{}"), None);
}

/// EX-20
#[test]
fn file_too_large_to_validate_is_reported() {
    let operation = json!({ "type": "content", "content": "" });
    let action = action("FILE_MODIFY", "a.yaml", operation);
    let path = RelPath::new("a.yaml").unwrap();
    let content = vec![b'['; usize::try_from(Language::Yaml.bytes_max()).unwrap() + 1];
    let checked = judge(&action, None, File { path: &path, content: &content }).unwrap();
    assert_eq!(
        checked.note(),
        "; the file exceeds 4194304 bytes, so its YAML syntax was not checked"
    );
    // If a file was too large to be parsed before the action, its new content must parse like that of a new file.
    let (before, after) = (File { path: &path, content: &content }, &b"["[..]);
    assert!(judge(&action, Some(before), File { path: &path, content: after }).is_err());
}

/// EX-9, EX-20
#[test]
fn updated_schema_is_validated_against_its_draft() {
    for schema in [
        "{ \"type\": \"object\" }",
        "// kept\n{ \"type\": \"object\", }",
        "true",
        "{ \"$schema\": \"http://json-schema.org/draft-04/schema#\", \"exclusiveMinimum\": true, \"minimum\": 1 }",
        "{ \"$schema\": \"http://json-schema.org/draft-06/schema#\", \"exclusiveMinimum\": 1 }",
        "{ \"$schema\": \"https://json-schema.org/draft-07/schema\", \"if\": true }",
        "{ \"$schema\": \"https://json-schema.org/draft/2019-09/schema\", \"$recursiveRef\": \"#\" }",
        "{ \"$ref\": \"https://example.com/never-fetched\", \"pattern\": \"(\" }",
    ] {
        let target = if schema.starts_with("//") { "a.jsonc" } else { "a.json" };
        assert_eq!(schema_of(target, schema), None, "{schema}");
    }
    assert_eq!(
        schema_of("a.json", "{ \"properties\": { \"a\": { \"type\": \"text\" } } }").unwrap().1,
        "`a.json` would not be a valid JSON Schema: at `/properties/a/type`: the value is not valid under any of \
         the schemas listed in the 'anyOf' keyword"
    );
    for schema in [
        "1",
        "{ \"$schema\": \"http://json-schema.org/draft-04/schema#\", \"exclusiveMinimum\": 1 }",
        "{ \"$schema\": \"http://json-schema.org/draft-07/schema#\", \"exclusiveMinimum\": true }",
        "{ \"required\": [\"a\", \"a\"] }",
        "{ \"items\": { \"items\": { \"minLength\": -1 } } }",
        "{ \"$schema\": 1 }",
    ] {
        assert_eq!(code(schema_of("a.json", schema)), NO_SCHEMA, "{schema}");
    }
    let unknown = schema_of("a.json", "{ \"$schema\": \"https://example.com/mine\" }").unwrap().1;
    assert!(unknown.contains("`/$schema`: expected one of the published drafts"), "{unknown}");
    // In YAML files, only documents with `$schema` are treated as schemas.
    assert_eq!(schema_of("a.yaml", "type: text\n"), None);
    let yaml = "$schema: https://json-schema.org/draft/2020-12/schema\ntype: text\n";
    assert_eq!(code(schema_of("a.yaml", yaml)), NO_SCHEMA);
    assert_eq!(code(schema_of("a.yaml", "a: [")), UNPARSEABLE);
    assert_eq!(schema_of("a.yaml", &yaml.replace("text", "string")), None);
    // Unlike other files, a schema must parse after the update even if it did not parse before.
    let content = json!({ "type": "content", "content": "{" });
    let update = action("SCHEMA_UPDATE", "a.json", content);
    assert_eq!(code(judged(&update, Some(("a.json", "{")), ("a.json", "{"))), UNPARSEABLE);
}

/// EX-20: deep nesting, many members and expensive regular expressions do not slow down the schema check.
#[test]
fn hostile_schema_is_validated_at_low_cost() {
    let nested = |before: &str, inner: &str, behind: &str, levels: usize| {
        before.repeat(levels) + inner + &behind.repeat(levels)
    };
    let wrong = "{\"type\":5}";
    let many = |text: &str| vec![text; 20_000].join(",");
    let wide = "\\\\w{1000}".repeat(50);
    let cases = [
        ("not", nested("{\"not\":", "{}", "}", 120), None),
        ("not", nested("{\"not\":", wrong, "}", 120), NO_SCHEMA),
        ("items", nested("{\"items\":", wrong, "}", 120), NO_SCHEMA),
        ("items", nested("{\"items\":", "[[]]", "}", 120), NO_SCHEMA),
        ("items", nested("{\"items\":[", wrong, "]}", 60), NO_SCHEMA),
        ("additionalProperties", nested("{\"additionalProperties\":", "5", "}", 120), NO_SCHEMA),
        ("dependencies", nested("{\"dependencies\":{\"a\":", wrong, "}}", 60), NO_SCHEMA),
        ("anyOf", nested("{\"anyOf\":[", wrong, "]}", 60), NO_SCHEMA),
        ("anyOf", nested("{\"anyOf\":[{},", wrong, "]}", 60), NO_SCHEMA),
        ("$defs", nested("{\"$defs\":{\"a\":", "{}", "}}", 60), None),
        ("pattern", format!("{{\"pattern\":\"{wide}(\"}}"), None),
        ("allOf", format!("{{\"allOf\":[{}]}}", many("{\"pattern\":\"(\\\\w{999}){999}\"}")), None),
        (
            "patternProperties",
            format!("{{\"patternProperties\":{{\"(\\\\w{{999}}){{999}}{wide}\":{{}}}}}}"),
            None,
        ),
        ("required", format!("{{\"required\":[{},\"b\"]}}", many("\"a\"")), NO_SCHEMA),
        ("deep", nested("[", "", "]", 100_000), UNPARSEABLE),
        ("deep", nested("{\"not\":", "{}", "}", 100_000), UNPARSEABLE),
    ];
    for (rules, _) in schema::DRAFTS {
        for (name, schema, expected) in &cases {
            let schema = schema.replacen('{', &format!("{{\"$schema\":\"{rules}\","), 1);
            assert_eq!(code(schema_of("a.jsonc", &schema)), *expected, "{rules} {name}");
        }
    }
}

/// EX-20
#[test]
fn executable_content_must_be_declared() {
    assert_eq!(
        made("run.sh", "#!/bin/sh\n").unwrap(),
        (
            ErrorCode::UndeclaredExecutable,
            "`run.sh` would start with a `#!` interpreter line, but the operation does not set \
             `\"executable\": true`"
                .to_owned()
        )
    );
    assert_eq!(code(edited("run.sh", "echo\n", "#!/bin/sh\necho\n")), RUNS);
    assert_eq!(code(edited("run.sh", "#!/bin/sh\n", "#!/bin/bash\n")), RUNS);
    assert_eq!(edited("run.sh", "#!/bin/sh\r\n", "#! /bin/sh\n"), None);
    assert_eq!(edited("run.sh", "#!/bin/sh\n", "#!/bin/sh\necho; rm $x\n"), None);
    assert_eq!(edited("run.sh", "#!/bin/sh\n", "echo\n"), None);
    assert_eq!(moved("run.sh", "sub/run.sh", "#!/bin/sh\n"), None);
    // A Rust attribute also begins with `#!`, but in any other file it would be an interpreter line.
    assert_eq!(made("lib.rs", "#![allow(dead_code)]\n"), None);
    assert_eq!(code(made("lib.sh", "#![allow(dead_code)]\n")), RUNS);
    assert_eq!(code(moved("lib.rs", "lib.sh", "#![allow(dead_code)]\n")), RUNS);
    for path in
        [".husky/pre-commit", "x/.GitHooks/a/b", "hooks/pre-push", "server.git/Hooks/update"]
    {
        assert_eq!(code(made(path, "x")), RUNS, "{path}");
        assert_eq!(code(moved("a.txt", path, "x")), RUNS, "{path}");
        assert_eq!(edited(path, "x", "y"), None, "{path}");
        let declared = json!({ "type": "create", "content": "#!/bin/sh\n", "executable": true });
        let declared = action("FILE_CREATE", path, declared);
        assert_eq!(judged(&declared, None, (path, "#!/bin/sh\n")), None, "{path}");
    }
    for path in ["hooks/useCart.ts", "src/pre-push", "hooks/pre-push/notes.txt", "githooks"] {
        assert_eq!(made(path, "x"), None, "{path}");
    }
}

/// EX-20
#[test]
fn messages_never_show_possible_secrets() {
    let secret = ["AKIA", "ZX5VQ7LMNP3RSTUW"].concat();
    for (target, content) in
        [("a.json", format!("{{\"a\": {secret}}}")), ("a.yaml", format!("a: {{\n{secret}: [\n"))]
    {
        let (_, message) = made(target, &content).unwrap();
        assert!(!message.contains(&secret), "{message}");
        assert!(message.contains("line "), "{message}");
    }
    let schema = format!(
        "{{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"type\": \"{secret}\"}}"
    );
    assert!(!schema_of("a.json", &schema).unwrap().1.contains(&secret));
}

/// EX-20
#[test]
fn schema_size_limit_is_enforced_exactly() {
    let max = usize::try_from(schema::SCHEMA_BYTES_MAX).unwrap();
    let schema = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    assert_eq!(schema_of("a.json", &schema(max)), None);
    assert_eq!(code(schema_of("a.json", &schema(max + 1))), Some(ErrorCode::FileTooLarge));
}
