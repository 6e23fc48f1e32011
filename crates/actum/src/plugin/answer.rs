//! Answer of the driver: exactly one line, otherwise the step has failed.

use actum_action::Check;
use actum_action::limits::{CHECKS_MAX, COMMANDS_MAX};
use actum_sandbox::{Ended, Outcome};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::PluginError;
use super::steps::{HEAP_MEBIBYTES_MAX, Step};

/// Maximum number of bytes of a step's standard error that are reported.
const SAID_BYTES_MAX: usize = 2000;
/// Maximum length of a message, also that of a check, in characters.
const MESSAGE_CHARS_MAX: usize = 2000;
/// Maximum number of checks of one `verify.js`. Together with the maximum number of commands they fit into a result.
const STEP_CHECKS_MAX: usize = CHECKS_MAX - COMMANDS_MAX;
/// Maximum length of a check's name, in characters.
const CHECK_NAME_CHARS_MAX: usize = 200;
/// Kinds of errors that the driver reports.
const KINDS: [&str; 6] =
    ["threw", "did_not_settle", "not_json", "too_large", "no_default_export", "bad_input"];
/// Maximum length of the line: an output of 1 MiB, and the JSON around it.
const ANSWER_BYTES_MAX: usize = (1 << 20) + r#"{"actum":1,"ok":true,"output":}"#.len();
/// Text that V8 writes before it ends the process.
const NO_MEMORY_LEFT: &str = "JavaScript heap out of memory";
/// Version of the answer format.
const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    actum: u64,
    ok: bool,
    /// Output of the step; `null` is a valid output.
    #[serde(default, deserialize_with = "given")]
    output: Option<Value>,
    #[serde(default)]
    error: Option<AnswerDocument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerDocument {
    kind: String,
    message: String,
    #[serde(default)]
    at: Option<String>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads the answer of a step that has ended. If it is not an answer of the driver, `why_not` may name an unusable
/// Node.js as the cause.
pub(super) fn read(
    step: Step,
    outcome: &Outcome,
    why_not: impl FnOnce() -> Option<PluginError>,
) -> Result<Value, PluginError> {
    let said = || said(&outcome.stderr);
    if let Some(why) = outcome.violated.first() {
        return Err(PluginError::Stopped { step, why: why.clone(), said: said() });
    }
    let failed = |kind: &str, message, at| {
        Err(PluginError::Failed { step, kind: kind.to_owned(), message, at, said: said() })
    };
    match answered(outcome) {
        Ok(Given::Output(output)) => Ok(output),
        Ok(Given::Error(AnswerDocument { kind, message, at })) => {
            failed(&kind, cut(&message), at.map(|at| cut(&at)))
        }
        Err(none) => match (why_not(), none) {
            (Some(error), _) => Err(error),
            (None, Unanswered::Ended(code)) => {
                let why =
                    format!("the code ended its process (exit code {code}) before it answered");
                failed("did_not_settle", why, None)
            }
            (None, Unanswered::OutOfMemory) => {
                let why = format!("the code took more than {HEAP_MEBIBYTES_MAX} MiB of memory");
                failed("threw", why, None)
            }
            (None, Unanswered::Otherwise(why)) => {
                Err(PluginError::NoAnswer { step, why, said: said() })
            }
        },
    }
}

/// Valid answer of the driver.
enum Given {
    Output(Value),
    Error(AnswerDocument),
}

/// Failure of a process to answer.
enum Unanswered {
    /// Ended by itself without output.
    Ended(i32),
    /// Exceeded the memory limit for its objects.
    OutOfMemory,
    /// Another failure, in words.
    Otherwise(String),
}

/// Parses the line of the driver. Code of the package can write this line itself, so every part of it is checked here.
fn answered(outcome: &Outcome) -> Result<Given, Unanswered> {
    let none = |why: &str| Unanswered::Otherwise(why.to_owned());
    match outcome.ended {
        Some(Ended::Code(0)) if !outcome.stdout.is_empty() => {}
        Some(Ended::Code(code)) if outcome.stdout.is_empty() => {
            return Err(Unanswered::Ended(code));
        }
        Some(Ended::Code(code)) => {
            return Err(Unanswered::Otherwise(format!("its process ended with {code}")));
        }
        Some(Ended::Signal(_))
            if String::from_utf8_lossy(&outcome.stderr).contains(NO_MEMORY_LEFT) =>
        {
            return Err(Unanswered::OutOfMemory);
        }
        Some(Ended::Signal(signal)) => {
            let why = format!("its process was ended by signal {signal}");
            return Err(Unanswered::Otherwise(why));
        }
        None => return Err(none("its process was ended")),
    }
    let line = match outcome.stdout.split_last() {
        Some((b'\n', line)) if !line.contains(&b'\n') => line,
        Some(_) | None => {
            let lines = outcome.stdout.split(|byte| *byte == b'\n').count().saturating_sub(1);
            let why = "its process must write one line to standard output, and wrote";
            return Err(Unanswered::Otherwise(format!("{why} {lines}")));
        }
    };
    if line.len() > ANSWER_BYTES_MAX {
        return Err(none("the line that its process wrote is longer than any answer"));
    }
    let answer: Answer = serde_json::from_slice(line)
        .map_err(|_| none("the line that its process wrote is no answer of the driver"))?;
    match answer {
        Answer { actum: VERSION, ok: true, output: Some(output), error: None } => {
            Ok(Given::Output(output))
        }
        Answer { actum: VERSION, ok: false, output: None, error: Some(told) }
            if KINDS.contains(&told.kind.as_str()) =>
        {
            Ok(Given::Error(told))
        }
        Answer { .. } => Err(none("the line that its process wrote contradicts itself")),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// Returns the end of a step's standard error.
pub(super) fn said(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(SAID_BYTES_MAX);
    let end = String::from_utf8_lossy(stderr.get(from..).unwrap_or_default());
    end.trim_end().to_owned()
}

/// Returns the checks that `verify.js` reported.
pub(super) fn checks(output: &Value) -> Result<Vec<Check>, PluginError> {
    let bad = |problem: String| PluginError::Failed {
        step: Step::Verify,
        kind: "bad_checks".to_owned(),
        message: format!("verify.js returned {problem}"),
        at: None,
        said: String::new(),
    };
    let checks = output.as_object().filter(|fields| fields.len() == 1);
    let checks = checks.and_then(|fields| fields.get("checks")?.as_array());
    let checks = checks.ok_or_else(|| bad("something else than `{checks: [...]}`".to_owned()))?;
    if checks.is_empty() {
        return Err(bad("no check; what is not checked cannot be relied on".to_owned()));
    }
    if checks.len() > STEP_CHECKS_MAX {
        return Err(bad(format!("over {STEP_CHECKS_MAX} checks")));
    }
    let read = |(index, found)| {
        check(found).map_err(|problem| bad(format!("`checks[{index}]` {problem}")))
    };
    checks.iter().enumerate().map(read).collect()
}

fn check(found: &Value) -> Result<Check, String> {
    let fields = found.as_object().ok_or("that is no object")?;
    if fields.keys().any(|field| !["name", "ok", "message"].contains(&field.as_str())) {
        return Err("with other fields than `name`, `ok` and `message`".to_owned());
    }
    let text = |field, least, most| {
        let text = fields.get(field).and_then(Value::as_str);
        text.filter(|text| (least..=most).contains(&text.chars().count())).map(str::to_owned)
    };
    let name = text("name", 1, CHECK_NAME_CHARS_MAX).ok_or_else(|| {
        format!("with a `name` that is no text of 1 to {CHECK_NAME_CHARS_MAX} characters")
    })?;
    let ok = fields.get("ok").and_then(Value::as_bool);
    let ok = ok.ok_or("with an `ok` that is neither true nor false")?;
    let message = text("message", 0, MESSAGE_CHARS_MAX);
    if fields.contains_key("message") && message.is_none() {
        return Err(format!(
            "with a `message` that is no text of up to {MESSAGE_CHARS_MAX} characters"
        ));
    }
    Ok(Check { message, ..Check::new(&name, ok) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// AA-10
    #[test]
    fn verify_answers_with_checks_and_there_has_to_be_one() {
        let one = || json!({ "name": "a", "ok": true });
        let with = |field: &str, value: Value| {
            let mut check = one();
            check[field] = value;
            json!({ "checks": [check] })
        };
        let text = |length| Value::from("é".repeat(length));
        for output in [
            json!({ "checks": [one(), { "name": "b", "ok": false, "message": "m" }] }),
            json!({ "checks": vec![one(); 64] }),
            with("name", text(200)),
            with("message", text(2000)),
        ] {
            assert!(checks(&output).is_ok(), "{output}");
        }
        let other = "something else than `{checks: [...]}`";
        let name = "`checks[0]` with a `name` that is no text of 1 to 200 characters";
        let ok = "`checks[0]` with an `ok` that is neither true nor false";
        let message = "`checks[0]` with a `message` that is no text of up to 2000 characters";
        for (output, problem) in [
            (json!({ "checks": [] }), "no check; what is not checked cannot be relied on"),
            (json!({}), other),
            (json!(null), other),
            (json!({ "checks": [one()], "ok": true }), other),
            (json!({ "checks": { "0": one() } }), other),
            (json!({ "checks": [1] }), "`checks[0]` that is no object"),
            (json!({ "checks": [one(), []] }), "`checks[1]` that is no object"),
            (with("ok", json!(1)), ok),
            (with("ok", json!("true")), ok),
            (json!({ "checks": [{ "name": "a" }] }), ok),
            (json!({ "checks": [{ "ok": true }] }), name),
            (with("name", json!("")), name),
            (with("name", text(201)), name),
            (with("message", json!(null)), message),
            (with("message", text(2001)), message),
            (
                with("msg", json!("m")),
                "`checks[0]` with other fields than `name`, `ok` and `message`",
            ),
            (json!({ "checks": vec![one(); 65] }), "over 64 checks"),
        ] {
            let told = match checks(&output) {
                Err(PluginError::Failed { kind, message, .. }) => (kind, message),
                other => panic!("{output}: {other:?}"),
            };
            assert_eq!(told, ("bad_checks".into(), format!("verify.js returned {problem}")));
        }
    }
}
