//! The answer of the driver: one line, or the step has failed.

use actum_core::action::Check;
use actum_core::action::limits::{CHECKS_MAX, COMMANDS_MAX};
use actum_sandbox::{Ended, Outcome};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::PluginError;
use super::steps::Step;

/// How much of what a step wrote to standard error is told, in bytes.
const SAID_BYTES_MAX: usize = 2000;
/// The longest message, as the driver cuts it.
const MESSAGE_CHARS_MAX: usize = 2000;
/// The most checks of one `verify.js`: a result has room for these beside those of as many commands as there can be.
const STEP_CHECKS_MAX: usize = CHECKS_MAX - COMMANDS_MAX;
/// The longest name of a check.
const CHECK_NAME_CHARS_MAX: usize = 200;
/// What an answer says is wrong.
const KINDS: [&str; 7] = [
    "threw",
    "did_not_settle",
    "not_json",
    "too_large",
    "no_default_export",
    "bad_checks",
    "bad_input",
];
/// The version of the answer.
const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    actum: u64,
    ok: bool,
    /// `null` is an output.
    #[serde(default, deserialize_with = "given")]
    output: Option<Value>,
    #[serde(default)]
    error: Option<Told>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    kind: String,
    message: String,
    #[serde(default)]
    at: Option<String>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What a step that has ended gave.
pub(super) fn read(step: Step, outcome: &Outcome) -> Result<Value, PluginError> {
    let said = || said(&outcome.stderr);
    if let Some(why) = outcome.violated.first() {
        return Err(PluginError::Stopped { step, why: why.clone(), said: said() });
    }
    let none = |why: String| PluginError::NoAnswer { step, why, said: said() };
    match outcome.ended {
        Some(Ended::Code(0)) => {}
        Some(Ended::Code(code)) => return Err(none(format!("its process ended with {code}"))),
        Some(Ended::Signal(signal)) => {
            return Err(none(format!("its process was ended by signal {signal}")));
        }
        None => return Err(none("its process was ended".to_owned())),
    }
    let line = match outcome.stdout.split_last() {
        Some((b'\n', line)) if !line.contains(&b'\n') => line,
        Some(_) | None => {
            let lines = outcome.stdout.split(|byte| *byte == b'\n').count().saturating_sub(1);
            let why = "its process must write one line to standard output, and wrote";
            return Err(none(format!("{why} {lines}")));
        }
    };
    let answer: Answer = serde_json::from_slice(line).map_err(|_| {
        none("the line that its process wrote is no answer of the driver".to_owned())
    })?;
    match answer {
        Answer { actum: VERSION, ok: true, output: Some(output), error: None } => Ok(output),
        Answer { actum: VERSION, ok: false, output: None, error: Some(told) }
            if KINDS.contains(&told.kind.as_str()) =>
        {
            let Told { kind, message, at } = told;
            let (message, at) = (cut(&message), at.map(|at| cut(&at)));
            Err(PluginError::Failed { step, kind, message, at, said: said() })
        }
        Answer { .. } => Err(none("the line that its process wrote contradicts itself".to_owned())),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// The end of what a step wrote to standard error.
pub(super) fn said(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(SAID_BYTES_MAX);
    let end = String::from_utf8_lossy(stderr.get(from..).unwrap_or_default());
    end.trim_end().to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verified {
    checks: Vec<Found>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    name: String,
    ok: bool,
    #[serde(default)]
    message: Option<String>,
}

/// What `verify.js` found. The driver looks at it too, but code can write the line itself.
pub(super) fn checks(output: Value) -> Result<Vec<Check>, PluginError> {
    let bad = |message: String| PluginError::Failed {
        step: Step::Verify,
        kind: "bad_checks".to_owned(),
        message,
        at: None,
        said: String::new(),
    };
    let Verified { checks } = serde_json::from_value(output)
        .map_err(|_| bad("verify.js returned something else than checks".to_owned()))?;
    if checks.is_empty() {
        let why = "verify.js returned no check; what is not checked cannot be relied on";
        return Err(bad(why.to_owned()));
    }
    if checks.len() > STEP_CHECKS_MAX {
        return Err(bad(format!("verify.js returned over {STEP_CHECKS_MAX} checks")));
    }
    let is_named = |found: &Found| {
        !found.name.is_empty() && found.name.chars().count() <= CHECK_NAME_CHARS_MAX
    };
    if !checks.iter().all(is_named) {
        let why = format!(
            "verify.js returned a check without a name of 1 to {CHECK_NAME_CHARS_MAX} characters"
        );
        return Err(bad(why));
    }
    let check = |Found { name, ok, message }| Check {
        name,
        ok,
        exit_code: None,
        duration_ms: None,
        stdout: None,
        stderr: None,
        message: message.map(|message| cut(&message)),
    };
    Ok(checks.into_iter().map(check).collect())
}
