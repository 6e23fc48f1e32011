//! Invalid documents are rejected with a readable message that names the location of the error.

use actum_action::{Manifest, PlanEnvelope, ResultEnvelope};
use actum_core::{ActionName, CORE_ACTIONS};
use actum_record::ledger::Confidence;
use serde_json::{Map, Value, json};

use crate::examples::{MANIFEST, PLAN, RESULT};

fn plan(text: impl AsRef<[u8]>) -> String {
    error_message(PlanEnvelope::read(text.as_ref()), "the plan envelope cannot be used: ")
}

fn result(text: &str) -> String {
    error_message(ResultEnvelope::read(text.as_bytes()), "the result envelope cannot be used: ")
}

fn manifest(text: &str) -> String {
    error_message(Manifest::read(text.as_bytes()), "`action.json` cannot be used: ")
}

fn error_message<T, E: std::error::Error>(read: Result<T, E>, prefix: &str) -> String {
    let message = read.err().unwrap().to_string();
    message.strip_prefix(prefix).unwrap().to_owned()
}

/// AA-1, D-4
#[test]
fn input_that_is_not_a_json_object_is_rejected_in_plain_words() {
    for (bytes, message) in [
        (&b""[..], "line 1, column 1: invalid JSON: the text contains no JSON value"),
        (b" \n", "line 1, column 1: invalid JSON: the text contains no JSON value"),
        (
            b"{\n\"actionType\": \"\xff\"}",
            "line 2, column 16: invalid JSON: this byte is not valid UTF-8",
        ),
        (b"\xff\xfe{\0}\0", "line 1, column 1: invalid JSON: this byte is not valid UTF-8"),
        (
            b"\xef\xbb\xbf{}",
            "line 1, column 1: invalid JSON: the text starts with a byte order mark",
        ),
        (
            b"[]",
            "line 1, column 1: expected a plan envelope, which is an object, but found an array",
        ),
        (
            b" null",
            "line 1, column 2: expected a plan envelope, which is an object, but found `null`",
        ),
        (b"{\"input\":", "line 1, column 10: invalid JSON: unexpected end of the text"),
        (
            b"{} {}",
            "line 1, column 4: invalid JSON: unexpected `{` after the end of the JSON value",
        ),
        (
            br#"{"reason":"\ud800"}"#,
            "line 1, column 12: invalid JSON: invalid `\\u` escape: it does not encode a character",
        ),
    ] {
        assert_eq!(plan(bytes), message, "{}", bytes.escape_ascii());
    }
}

/// AA-1, D-4
#[test]
fn unknown_missing_or_duplicate_fields_are_reported_with_their_path() {
    let known = "fields of a plan envelope: `actionId`, `actionType`, `riskTier`, `confidence`, `reason`, \
                 `input`, `rollbackPlan`, `verification`, `scope`";
    assert_eq!(
        plan("{\n  \"action_type\": \"a\"\n}"),
        format!(
            "line 2, column 3: `action_type`: unknown field (did you mean `actionType`?); {known}"
        )
    );
    assert_eq!(
        plan("{\"\\u001b\": 1}"),
        format!("line 1, column 2: `[\"\\033\"]`: unknown field; {known}")
    );
    assert_eq!(
        plan(PLAN.replace("allowedDirs", "alowedDirs")),
        "line 15, column 5: `scope.alowedDirs`: unknown field (did you mean `allowedDirs`?); \
         fields of a scope: `allowedFiles`, `allowedDirs`, `forbiddenFiles`"
    );
    assert_eq!(
        plan(
            r#"{"verification":{"required":true,"ok":1}}"#
                .replace('{', "{\n")
                .replace("\"v", "\"actionType\":\"a\",\"input\":{},\"v")
        ),
        "line 3, column 17: `verification.ok`: unknown field; fields of a verification: \
         `required`, `commands`"
    );
    assert_eq!(
        plan("{}"),
        "line 1, column 1: `actionType`: missing field; expected a string of 1 to 64 characters \
         (a-z, 0-9 and `_`, starting with a letter)"
    );
    assert_eq!(
        plan(r#"{"actionType":"a","input":{},"verification":{}}"#),
        "line 1, column 45: `verification.required`: missing field; expected `true` or `false`"
    );
    assert_eq!(
        plan(r#"{"actionType":"a","\u0061ctionType":"b"}"#),
        "line 1, column 19: `actionType`: duplicate field"
    );
    assert_eq!(
        plan(r#"{"input":{"list":[0,{"a b":1,"a b":2}]}}"#),
        "line 1, column 30: `input.list[1][\"a b\"]`: duplicate field"
    );
}

/// AA-1, AA-3
#[test]
fn exactly_the_required_fields_are_reported_missing() {
    type Read = fn(&[u8]) -> Option<String>;
    let documents: [(&str, Read, &[&str]); 3] = [
        (
            PLAN,
            |bytes| PlanEnvelope::read(bytes).err().map(|error| error.to_string()),
            &["actionType", "input", "verification"],
        ),
        (
            RESULT,
            |bytes| ResultEnvelope::read(bytes).err().map(|error| error.to_string()),
            &[
                "status",
                "actionType",
                "riskTier",
                "output",
                "verification",
                "repair",
                "rollback",
                "feedback",
            ],
        ),
        (
            MANIFEST,
            |bytes| Manifest::read(bytes).err().map(|error| error.to_string()),
            &[
                "name",
                "riskTier",
                "inputSchema",
                "outputSchema",
                "permissions",
                "verification",
                "rollback",
            ],
        ),
    ];
    for (text, read, required) in documents {
        let whole: Map<String, Value> = serde_json::from_str(text).unwrap();
        for field in whole.keys() {
            let mut rest = whole.clone();
            rest.remove(field);
            let refused = read(Value::Object(rest).to_string().as_bytes());
            let is_missed = refused
                .is_some_and(|message| message.contains(&format!("`{field}`: missing field")));
            assert_eq!(is_missed, required.contains(&&**field), "{field}");
        }
    }
}

/// AA-1, D-4
#[test]
fn invalid_values_are_reported_with_the_expected_form() {
    let with = |pointer: &str, value: Value| {
        let mut text: Value = serde_json::from_str(PLAN).unwrap();
        *text.pointer_mut(pointer).unwrap() = value;
        let message = plan(text.to_string());
        message.split_once(": ").unwrap().1.to_owned()
    };
    for (pointer, value, message) in [
        (
            "/scope/allowedDirs",
            json!(["a", "b", 3]),
            "`scope.allowedDirs[2]`: expected a string of 1 to 4095 characters without NUL, but \
             found a number",
        ),
        (
            "/scope/allowedDirs",
            json!("src"),
            "`scope.allowedDirs`: expected a list of at most 4096 strings, each of 1 to 4095 \
             characters without NUL, but found a string",
        ),
        (
            "/scope/allowedFiles",
            json!(["a\0"]),
            "`scope.allowedFiles[0]`: expected a string of 1 to 4095 characters without NUL, but \
             found `a\\000`",
        ),
        (
            "/verification/commands",
            json!(["a\nb"]),
            "`verification.commands[0]`: expected a string of 1 to 4096 characters without control \
             characters, but found `a\\nb`",
        ),
        (
            "/verification/required",
            json!("true"),
            "`verification.required`: expected `true` or `false`, but found a string",
        ),
        (
            "/riskTier",
            json!("r2"),
            "`riskTier`: expected `R0`, `R1`, `R2`, `R3` or `R4`, but found `r2` (did you mean \
             `R2`?)",
        ),
        (
            "/riskTier",
            json!(null),
            "`riskTier`: expected `R0`, `R1`, `R2`, `R3` or `R4`, but found `null`",
        ),
        (
            "/confidence",
            json!(1.01),
            "`confidence`: expected a number from 0 to 1, but found `1.01`",
        ),
        (
            "/confidence",
            json!("0.5"),
            "`confidence`: expected a number from 0 to 1, but found a string",
        ),
        ("/input", json!([]), "`input`: expected an object, but found an array"),
        ("/scope", json!([]), "`scope`: expected a scope, which is an object, but found an array"),
        (
            "/rollbackPlan",
            json!(7),
            "`rollbackPlan`: expected `null`, an object or a string of 1 to 65536 characters, but \
             found a number",
        ),
        (
            "/rollbackPlan",
            json!(""),
            "`rollbackPlan`: expected a string of 1 to 65536 characters, but found 0 characters",
        ),
        (
            "/actionType",
            json!("File.Create"),
            "`actionType`: expected a string of 1 to 64 characters (a-z, 0-9 and `_`, starting \
             with a letter), but found `File.Create`",
        ),
        (
            "/input",
            json!({ "id": 9007199254740992u64 }),
            "`input.id`: the number `9007199254740992` is outside ±(2^53 − 1), so parsers may \
             round it; write it as a string",
        ),
    ] {
        assert_eq!(with(pointer, value), message);
    }
    for unseen in ['\0', '\n', '\u{1f}', '\u{7f}', '\u{80}', '\u{9f}'] {
        let message = with("/actionId", json!(format!("a{unseen}")));
        assert!(message.contains("without control characters"), "{message}");
    }
    let huge = PLAN.replace("0.9", "1e400");
    assert!(plan(huge).contains("`confidence`: the number `1e400` is outside"));
}

/// AA-2
#[test]
fn malformed_checks_are_reported_with_their_index() {
    let with = |check: &str| {
        result(&RESULT.replace("[]", &format!("[{{\"name\":\"a\",\"ok\":true}},{check}]")))
    };
    assert_eq!(
        with("{\"name\":\"b\"}"),
        "line 8, column 39: `verification.checks[1].ok`: missing field; expected `true` or `false`"
    );
    assert_eq!(
        with("7"),
        "line 8, column 39: `verification.checks[1]`: expected a check, which is an object, but \
         found a number"
    );
    assert_eq!(
        with("{\"name\":\"b\",\"ok\":true,\"durationMs\":1.5}"),
        "line 8, column 74: `verification.checks[1].durationMs`: expected a whole number from 0 to \
         9007199254740991, but found `1.5`"
    );
    assert_eq!(
        result(&RESULT.replace("succeeded", "sucseeded")),
        "line 2, column 13: `status`: expected `succeeded`, `reverted`, `queued`, `rejected` or \
         `failed`, but found `sucseeded` (did you mean `succeeded`?)"
    );
}

/// AA-8, AA-9
#[test]
fn a_package_cannot_have_the_name_of_a_core_action() {
    for core in CORE_ACTIONS {
        assert_eq!(
            manifest(&MANIFEST.replace("example_action", core)),
            format!(
                "line 2, column 11: `name`: `{core}` is a core action, which a package cannot \
                 replace; choose a different name"
            )
        );
        assert!(core.parse::<ActionName>().unwrap().is_core());
    }
    for beside in ["run_commands", "undo", "file_create_"] {
        let text = MANIFEST.replace("example_action", beside);
        assert!(!Manifest::read(text.as_bytes()).unwrap().name.is_core());
    }
    for wrong in ["", "_a", "1a", "A", "a-b", "a/b", "..", "a b", "é", "a\\u0000", "a\\n"] {
        let text = MANIFEST.replace("example_action", wrong);
        assert!(Manifest::read(text.as_bytes()).is_err(), "{wrong}");
    }
}

/// AA-7, AA-8
#[test]
fn package_verifies_only_with_commands_from_its_permissions() {
    assert_eq!(
        manifest(&MANIFEST.replace(
            "\"required\": true,\n    \"commands\": [",
            "\"required\": true,\n    \"commands\": [\"node --check src/file.js\", \"node  --check src/file.js\", "
        )),
        "line 12, column 46: `verification.commands[1]`: the command `node \\040--check \
         src/file.js` is not listed verbatim in `permissions.commands`"
    );
    let more = MANIFEST.replace("\"commands\": [", "\"commands\": [\"true\", ");
    assert!(Manifest::read(more.as_bytes()).is_ok());
}

/// AA-8, D-4
#[test]
fn manifest_with_an_unknown_field_or_value_is_rejected() {
    assert_eq!(
        manifest(&MANIFEST.replace("\"filesystem\"", "\"network\": true,\n    \"filesystem\"")),
        "line 8, column 5: `permissions.network`: unknown field; fields of the permissions: \
         `commands`, `filesystem`"
    );
    assert_eq!(
        manifest(&MANIFEST.replace("\"workspace\"", "\"write\"")),
        "line 8, column 19: `permissions.filesystem`: expected `none`, `read` or `workspace`, but \
         found `write`"
    );
}

/// AA-1, AA-2, AA-8
#[test]
fn invalid_documents_are_not_written() {
    let mut plan = PlanEnvelope::read(PLAN.as_bytes()).unwrap();
    plan.action_id = Some(String::new());
    assert!(plan.write().is_err());
    let mut result = ResultEnvelope::read(RESULT.as_bytes()).unwrap();
    result.output = json!(u64::MAX);
    assert_eq!(
        result.write().unwrap_err().to_string(),
        "the result envelope cannot be used: line 1, column 78: `output`: the number \
         `18446744073709551615` is outside ±(2^53 − 1), so parsers may round it; write it as a \
         string"
    );
    let mut manifest = Manifest::read(MANIFEST.as_bytes()).unwrap();
    manifest.permissions.commands.clear();
    assert!(manifest.write().is_err());
    for (share, is_one) in
        [(0.0, true), (1.0, true), (-0.1, false), (1.1, false), (f64::NAN, false)]
    {
        assert_eq!(Confidence::new(share).is_some(), is_one, "{share}");
    }
    assert_eq!(Confidence::new(-0.0).unwrap().get().to_bits(), 0.0f64.to_bits());
}

/// AA-8, AEC-2
#[test]
fn malformed_phrases_are_rejected_with_their_path() {
    let texts = "expected a string of 1 to 128 characters without control characters, but found";
    let language = "expected a string of 2 to 3 characters (a-z), but found";
    for (phrases, path, message) in [
        (json!({ "en": ["tidy up\n"] }), "phrases.en[0]", format!("{texts} `tidy up\\n`")),
        (json!({ "en": ["tidy", ""] }), "phrases.en[1]", format!("{texts} 0 characters")),
        (json!({ "EN": ["tidy"] }), "phrases.EN", format!("{language} `EN`")),
        (json!({ "de-AT": ["tidy"] }), "phrases[\"de-AT\"]", format!("{language} 5 characters")),
        (json!({ "": ["tidy"] }), "phrases[\"\"]", format!("{language} 0 characters")),
    ] {
        let mut text: Value = serde_json::from_str(MANIFEST).unwrap();
        text["phrases"] = phrases;
        let found = manifest(&text.to_string());
        let (_, found) = found.split_once(": ").unwrap();
        assert_eq!(found, format!("`{path}`: {message}"));
    }
    for wrong in [json!(["tidy"]), json!({ "en": "tidy" }), json!({ "en": [1] }), json!(null)] {
        let mut text: Value = serde_json::from_str(MANIFEST).unwrap();
        text["phrases"] = wrong;
        assert!(manifest(&text.to_string()).contains("`phrases"));
    }
    let doubled = MANIFEST.replacen('{', r#"{"phrases": {"en": [], "en": []},"#, 1);
    assert!(manifest(&doubled).contains("duplicate field"));
}
