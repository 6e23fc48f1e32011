//! Parser for the answer of the plugin driver. A step succeeds only if its process writes exactly one valid line.

use actum_action::Check;
use actum_action::limits::{CHECKS_MAX, COMMANDS_MAX};
use actum_sandbox::{Ended, Outcome};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::PluginError;
use super::steps::{HEAP_MEBIBYTES_MAX, Step};

/// Maximum number of bytes reported from the end of a step's standard error.
const STDERR_BYTES_MAX: usize = 2000;
/// Maximum length of an error message or a check message, in characters.
const MESSAGE_CHARS_MAX: usize = 2000;
/// Maximum number of checks that one `verify.js` may report. The rest of the checks allowed in a result are reserved
/// for commands.
const STEP_CHECKS_MAX: usize = CHECKS_MAX - COMMANDS_MAX;
/// Maximum length of a check's name, in characters.
const CHECK_NAME_CHARS_MAX: usize = 200;
/// Error kinds that the driver may report.
const KINDS: [&str; 6] =
    ["threw", "did_not_settle", "not_json", "too_large", "no_default_export", "bad_input"];
/// Maximum length of the answer line in bytes: an output of 1 MiB plus the enclosing JSON.
const ANSWER_BYTES_MAX: usize = (1 << 20) + r#"{"actum":1,"ok":true,"output":}"#.len();
/// Text that V8 writes to standard error before it aborts because the heap is full.
const NO_MEMORY_LEFT: &str = "JavaScript heap out of memory";
/// Version of the answer format, which is the value of the field `actum`.
const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    actum: u64,
    ok: bool,
    /// Output of the step. `Some(Value::Null)` is a valid output, while `None` means that the field is missing.
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

/// Parses the answer of a finished step. If there is no valid answer, `why_not` is called to determine if an unusable
/// Node.js is the cause.
pub(super) fn read(
    step: Step,
    outcome: &Outcome,
    why_not: impl FnOnce() -> Option<PluginError>,
) -> Result<Value, PluginError> {
    let excerpt = || stderr_excerpt(&outcome.stderr);
    if let Some(why) = outcome.violated.first() {
        return Err(PluginError::Stopped { step, why: why.clone(), output_excerpt: excerpt() });
    }
    let failed = |kind: &str, message, at| {
        Err(PluginError::Failed {
            step,
            kind: kind.to_owned(),
            message,
            at,
            output_excerpt: excerpt(),
        })
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
                    format!("the code exited the process (exit code {code}) before it answered");
                failed("did_not_settle", why, None)
            }
            (None, Unanswered::OutOfMemory) => {
                let why = format!("the code used more than {HEAP_MEBIBYTES_MAX} MiB of memory");
                failed("threw", why, None)
            }
            (None, Unanswered::Otherwise(why)) => {
                Err(PluginError::NoAnswer { step, why, output_excerpt: excerpt() })
            }
        },
    }
}

/// Valid answer from the driver.
enum Given {
    Output(Value),
    Error(AnswerDocument),
}

/// Reason why the process of a step did not return a valid answer.
enum Unanswered {
    /// The process exited with this code and without any output.
    Ended(i32),
    /// The process exceeded the heap limit.
    OutOfMemory,
    /// Any other failure, with its description.
    Otherwise(String),
}

/// Parses and checks the answer line. Package code runs in the same process and can write this line itself, so no part
/// of it is trusted.
fn answered(outcome: &Outcome) -> Result<Given, Unanswered> {
    let none = |why: &str| Unanswered::Otherwise(why.to_owned());
    match outcome.ended {
        Some(Ended::Code(0)) if !outcome.stdout.is_empty() => {}
        Some(Ended::Code(code)) if outcome.stdout.is_empty() => {
            return Err(Unanswered::Ended(code));
        }
        Some(Ended::Code(code)) => {
            return Err(Unanswered::Otherwise(format!("its process exited with code {code}")));
        }
        Some(Ended::Signal(_))
            if String::from_utf8_lossy(&outcome.stderr).contains(NO_MEMORY_LEFT) =>
        {
            return Err(Unanswered::OutOfMemory);
        }
        Some(Ended::Signal(signal)) => {
            let why = format!("its process was killed by signal {signal}");
            return Err(Unanswered::Otherwise(why));
        }
        None => return Err(none("its process was killed")),
    }
    let line = match outcome.stdout.split_last() {
        Some((b'\n', line)) if !line.contains(&b'\n') => line,
        Some(_) | None => {
            let lines = outcome.stdout.split(|byte| *byte == b'\n').count().saturating_sub(1);
            let why = "its process must write exactly one line to standard output, but wrote";
            return Err(Unanswered::Otherwise(format!("{why} {lines}")));
        }
    };
    if line.len() > ANSWER_BYTES_MAX {
        return Err(none("the line that its process wrote is longer than the maximum answer"));
    }
    let answer: Answer = serde_json::from_slice(line)
        .map_err(|_| none("the line that its process wrote is not a valid driver answer"))?;
    match answer {
        Answer { actum: VERSION, ok: true, output: Some(output), error: None } => {
            Ok(Given::Output(output))
        }
        Answer { actum: VERSION, ok: false, output: None, error: Some(error) }
            if KINDS.contains(&error.kind.as_str()) =>
        {
            Ok(Given::Error(error))
        }
        Answer { .. } => Err(none("the line that its process wrote has contradictory fields")),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// Returns the last part of a step's standard error as text, at most [`STDERR_BYTES_MAX`] bytes of it.
pub(super) fn stderr_excerpt(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(STDERR_BYTES_MAX);
    let end = String::from_utf8_lossy(stderr.get(from..).unwrap_or_default());
    end.trim_end().to_owned()
}

/// Parses the checks that `verify.js` returned. At least one check is required.
pub(super) fn checks(output: &Value) -> Result<Vec<Check>, PluginError> {
    let bad = |problem: String| PluginError::Failed {
        step: Step::Verify,
        kind: "bad_checks".to_owned(),
        message: format!("verify.js returned {problem}"),
        at: None,
        output_excerpt: String::new(),
    };
    let checks = output.as_object().filter(|fields| fields.len() == 1);
    let checks = checks.and_then(|fields| fields.get("checks")?.as_array());
    let checks = checks.ok_or_else(|| bad("a value other than `{checks: [...]}`".to_owned()))?;
    if checks.is_empty() {
        return Err(bad("no checks; at least one is required".to_owned()));
    }
    if checks.len() > STEP_CHECKS_MAX {
        return Err(bad(format!("more than {STEP_CHECKS_MAX} checks")));
    }
    let read = |(index, found)| {
        check(found).map_err(|problem| bad(format!("`checks[{index}]` {problem}")))
    };
    checks.iter().enumerate().map(read).collect()
}

fn check(found: &Value) -> Result<Check, String> {
    let fields = found.as_object().ok_or("that is not an object")?;
    if fields.keys().any(|field| !["name", "ok", "message"].contains(&field.as_str())) {
        return Err("with fields other than `name`, `ok` and `message`".to_owned());
    }
    let text = |field, least, most| {
        let text = fields.get(field).and_then(Value::as_str);
        text.filter(|text| (least..=most).contains(&text.chars().count())).map(str::to_owned)
    };
    let name = text("name", 1, CHECK_NAME_CHARS_MAX).ok_or_else(|| {
        format!("whose `name` is not a string of 1 to {CHECK_NAME_CHARS_MAX} characters")
    })?;
    let ok = fields.get("ok").and_then(Value::as_bool);
    let ok = ok.ok_or("whose `ok` is not a boolean")?;
    let message = text("message", 0, MESSAGE_CHARS_MAX);
    if fields.contains_key("message") && message.is_none() {
        return Err(format!(
            "whose `message` is not a string of at most {MESSAGE_CHARS_MAX} characters"
        ));
    }
    Ok(Check { message, ..Check::new(&name, ok) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// AA-10: `verify` must return at least one check, and each check must have valid fields.
    #[test]
    fn verify_requires_at_least_one_valid_check() {
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
        let other = "a value other than `{checks: [...]}`";
        let name = "`checks[0]` whose `name` is not a string of 1 to 200 characters";
        let ok = "`checks[0]` whose `ok` is not a boolean";
        let message = "`checks[0]` whose `message` is not a string of at most 2000 characters";
        for (output, problem) in [
            (json!({ "checks": [] }), "no checks; at least one is required"),
            (json!({}), other),
            (json!(null), other),
            (json!({ "checks": [one()], "ok": true }), other),
            (json!({ "checks": { "0": one() } }), other),
            (json!({ "checks": [1] }), "`checks[0]` that is not an object"),
            (json!({ "checks": [one(), []] }), "`checks[1]` that is not an object"),
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
                "`checks[0]` with fields other than `name`, `ok` and `message`",
            ),
            (json!({ "checks": vec![one(); 65] }), "more than 64 checks"),
        ] {
            let problem_reported = match checks(&output) {
                Err(PluginError::Failed { kind, message, .. }) => (kind, message),
                other => panic!("{output}: {other:?}"),
            };
            assert_eq!(
                problem_reported,
                ("bad_checks".into(), format!("verify.js returned {problem}"))
            );
        }
    }
}
