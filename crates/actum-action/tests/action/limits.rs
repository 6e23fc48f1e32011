//! The limits of the contract, tested at the limit and just beyond it.

use actum_action::limits::*;
use actum_action::{Check, Manifest, PlanEnvelope, ResultEnvelope};
use actum_core::NAME_CHARS_MAX;
use actum_document::DEPTH_MAX;
use serde_json::{Value, json};

use crate::examples::{MANIFEST, PLAN, RESULT};

/// Sets one value of an example, and returns the parse error, or `None` if the document is accepted.
fn problem(example: &str, pointer: &str, value: Value) -> Option<String> {
    let mut text: Value = serde_json::from_str(example).unwrap();
    let (object, name) = pointer.rsplit_once('/').unwrap();
    text.pointer_mut(object).unwrap()[name] = value;
    read(example, text.to_string().as_bytes())
}

fn read(example: &str, bytes: &[u8]) -> Option<String> {
    match example {
        PLAN => PlanEnvelope::read(bytes).err().map(|error| error.to_string()),
        RESULT => ResultEnvelope::read(bytes).err().map(|error| error.to_string()),
        _ => Manifest::read(bytes).err().map(|error| error.to_string()),
    }
}

fn letters(count: usize) -> Value {
    json!("é".repeat(count))
}

/// AA-1, AA-2, AA-8
#[test]
fn each_text_has_a_length_limit_in_characters() {
    let in_check = |name: &str, text: Value| {
        let mut check = json!({ "name": "a", "ok": true });
        check[name] = text;
        json!([check])
    };
    type Place = (&'static str, &'static str, usize, fn(usize) -> Value);
    let places: &[Place] = &[
        (PLAN, "/actionId", ACTION_ID_CHARS_MAX, letters),
        (PLAN, "/reason", REASON_CHARS_MAX, letters),
        (PLAN, "/rollbackPlan", ROLLBACK_PLAN_CHARS_MAX, letters),
        (PLAN, "/actionType", NAME_CHARS_MAX, |count| json!("a".repeat(count))),
        (PLAN, "/verification/commands", COMMAND_CHARS_MAX, |count| json!([letters(count)])),
        (PLAN, "/scope/allowedFiles", SCOPE_PATH_CHARS_MAX, |count| json!([letters(count)])),
        (RESULT, "/actionType", NAME_CHARS_MAX, |count| json!("a".repeat(count))),
        (MANIFEST, "/name", NAME_CHARS_MAX, |count| json!("a".repeat(count))),
        (MANIFEST, "/permissions/commands", COMMAND_CHARS_MAX, |count| {
            json!(["node --check src/file.js", letters(count)])
        }),
        (MANIFEST, "/version", VERSION_CHARS_MAX, |count| {
            json!(format!("1.0.0-{}", "a".repeat(count - 6)))
        }),
        (MANIFEST, "/description", DESCRIPTION_CHARS_MAX, letters),
        (MANIFEST, "/phrases", PHRASE_CHARS_MAX, |count| json!({ "en": [letters(count)] })),
        (MANIFEST, "/phrases", 3, |count| json!({ "a".repeat(count): [] })),
    ];
    for (example, pointer, chars_max, text) in places {
        assert_eq!(problem(example, pointer, text(*chars_max)), None, "{pointer}");
        let message = problem(example, pointer, text(chars_max + 1)).unwrap();
        let found = format!("but found {} characters", chars_max + 1);
        assert!(message.ends_with(&found), "{message}");
    }
    for (name, chars_max) in [
        ("name", CHECK_NAME_CHARS_MAX),
        ("stdout", CHECK_TEXT_CHARS_MAX),
        ("stderr", CHECK_TEXT_CHARS_MAX),
        ("message", CHECK_TEXT_CHARS_MAX),
    ] {
        let check = |count| problem(RESULT, "/verification/checks", in_check(name, letters(count)));
        assert_eq!(check(chars_max), None, "{name}");
        assert!(check(chars_max + 1).unwrap().contains("characters"), "{name}");
    }
}

/// AA-1, AA-2, AA-8
#[test]
fn each_list_has_a_length_limit() {
    let texts = |count: usize| json!(vec!["a"; count]);
    let checks = |count: usize| json!(vec![json!({ "name": "a", "ok": true }); count]);
    for (example, pointer, count_max) in [
        (PLAN, "/verification/commands", COMMANDS_MAX),
        (PLAN, "/scope/allowedFiles", SCOPE_PATHS_MAX),
        (PLAN, "/scope/allowedDirs", SCOPE_PATHS_MAX),
        (PLAN, "/scope/forbiddenFiles", SCOPE_PATHS_MAX),
        (RESULT, "/verification/checks", CHECKS_MAX),
    ] {
        let list = |count| if example == RESULT { checks(count) } else { texts(count) };
        assert_eq!(problem(example, pointer, list(count_max)), None, "{pointer}");
        let message = problem(example, pointer, list(count_max + 1)).unwrap();
        assert!(message.ends_with(&format!("but found {}", count_max + 1)), "{message}");
    }
    let languages = |count: usize| {
        let letter = |index: usize| char::from(b'a' + u8::try_from(index).unwrap());
        let code = |index: usize| format!("{}{}", letter(index / 26), letter(index % 26));
        Value::Object((0..count).map(|index| (code(index), json!([]))).collect())
    };
    let phrases = |count: usize| json!({ "en": vec!["a"; count] });
    type List<'a> = &'a dyn Fn(usize) -> Value;
    for (count_max, value) in
        [(PHRASE_LANGUAGES_MAX, &languages as List<'_>), (PHRASES_MAX, &phrases)]
    {
        assert_eq!(problem(MANIFEST, "/phrases", value(count_max)), None);
        let message = problem(MANIFEST, "/phrases", value(count_max + 1)).unwrap();
        assert!(message.ends_with(&format!("but found {}", count_max + 1)), "{message}");
    }
    let commands = |count: usize| json!(vec!["node --check src/file.js"; count]);
    for pointer in ["/permissions/commands", "/verification/commands"] {
        assert_eq!(problem(MANIFEST, pointer, commands(COMMANDS_MAX)), None);
        assert!(problem(MANIFEST, pointer, commands(COMMANDS_MAX + 1)).is_some());
    }
}

/// AA-1, AA-2, AA-8
#[test]
fn each_document_has_a_size_limit() {
    for (example, bytes_max) in
        [(PLAN, PLAN_BYTES_MAX), (RESULT, RESULT_BYTES_MAX), (MANIFEST, MANIFEST_BYTES_MAX)]
    {
        let full = format!("{example}{}", " ".repeat(bytes_max - example.len()));
        assert_eq!(read(example, full.as_bytes()), None);
        let message = read(example, format!("{full} ").as_bytes()).unwrap();
        let found = format!(
            "the document has {} bytes, but at most {bytes_max} are allowed",
            bytes_max + 1
        );
        assert!(message.ends_with(&found), "{message}");
    }
}

/// AA-1, AA-2, AA-8
#[test]
fn each_document_has_a_nesting_limit() {
    // The document is the outermost level, and the number in the innermost array is the deepest.
    let nested = |arrays: usize| format!("{}7{}", "[".repeat(arrays), "]".repeat(arrays));
    let places = [(PLAN, "input", "{}"), (RESULT, "output", "{}"), (MANIFEST, "inputSchema", "{}")];
    for (example, name, empty) in places {
        let with = |arrays| {
            let field = format!("\"{name}\": {empty}");
            assert!(example.contains(&field));
            let object = format!("\"{name}\": {{\"a\": {}}}", nested(arrays));
            read(example, example.replace(&field, &object).as_bytes())
        };
        assert_eq!(with(DEPTH_MAX - 2), None);
        for deeper in [DEPTH_MAX - 1, 2 * DEPTH_MAX, 100_000] {
            let message = with(deeper).unwrap();
            let found = ": arrays and objects are nested more than 64 levels deep";
            assert!(message.ends_with(found), "{message}");
            assert!(message.len() < 250, "{message}");
        }
    }
    let message = read(PLAN, PLAN.replace("{}", &format!("{{\"a\":{}}}", nested(63))).as_bytes());
    assert_eq!(
        message.as_deref(),
        Some(
            "the plan envelope cannot be used: line 7, column 79: \
             `input.a[0][0][0]…[0][0][0][0][0]`: arrays and objects are nested more than 64 levels \
             deep"
        )
    );
}

/// AA-2, AA-7
#[test]
fn numbers_of_a_check_have_limits_on_both_sides() {
    let problem = |name: &str, number: &str| {
        let check = format!("[{{\"name\":\"a\",\"ok\":true,\"{name}\":{number}}}]");
        read(RESULT, RESULT.replace("[]", &check).as_bytes())
    };
    for number in ["0", "255", "-2147483648", "2147483647", "1.0", "1e2"] {
        assert_eq!(problem("exitCode", number), None, "{number}");
    }
    for number in ["-2147483649", "2147483648", "0.5", "\"0\"", "null", "1e10"] {
        assert!(problem("exitCode", number).is_some(), "{number}");
    }
    for number in ["0", "9007199254740991", "-0"] {
        assert_eq!(problem("durationMs", number), None, "{number}");
    }
    for number in ["-1", "9007199254740992", "1e400"] {
        assert!(problem("durationMs", number).is_some(), "{number}");
    }
}

/// AA-7
#[test]
fn output_excerpt_fits_the_limit_and_keeps_the_end() {
    assert_eq!(Check::excerpt(b""), "");
    assert_eq!(Check::excerpt(b"a\xffb"), "a\u{fffd}b");
    let full = "é".repeat(CHECK_TEXT_CHARS_MAX);
    assert_eq!(Check::excerpt(full.as_bytes()), full);
    for (before, end) in [("x", "é"), ("€€", "end"), ("😀", "😀\n")] {
        let written = format!("{}{full}{end}", before.repeat(CHECK_TEXT_CHARS_MAX));
        let excerpt = Check::excerpt(written.as_bytes());
        assert_eq!(excerpt.chars().count(), CHECK_TEXT_CHARS_MAX);
        assert!(excerpt.starts_with("…é") && excerpt.ends_with(end));
    }
    let over = format!("x{full}");
    assert_eq!(Check::excerpt(over.as_bytes()).chars().count(), CHECK_TEXT_CHARS_MAX);
    let wide = "😀".repeat(CHECK_TEXT_CHARS_MAX);
    for extra in 0..6 {
        let written = format!("{}{wide}", "x".repeat(extra));
        assert_eq!(Check::excerpt(written.as_bytes()).chars().count(), CHECK_TEXT_CHARS_MAX);
    }
    for cut in 1..4 {
        let written = wide.repeat(2);
        let excerpt = Check::excerpt(&written.as_bytes()[cut..]);
        assert_eq!(excerpt, format!("…{}", "😀".repeat(CHECK_TEXT_CHARS_MAX - 1)));
    }
}
