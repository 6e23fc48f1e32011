//! Result envelope, which contains the outcome of an action (AA-2).

use actum_core::canonical::COUNT_MAX;
use actum_core::{ActionName, NAME_CHARS_MAX, RiskTier, Status, json};
use actum_document::reader::{self, Members};
use actum_document::{Characters, Diagnostic, Fault, Form, Member, ObjectSchema, Others, Text};
use actum_record::ledger::Attempt;
use serde::Serialize;
use serde_json::{Map, Value};

use super::limits::{CHECK_NAME_CHARS_MAX, CHECK_TEXT_CHARS_MAX, CHECKS_MAX, RESULT_BYTES_MAX};
use super::plan::{TIERS, name, tier};

/// Outcome of an action. The fields are written in the order of the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultEnvelope {
    /// Final status of the action.
    pub status: Status,
    /// Type of the action.
    pub action_type: ActionName,
    /// Effective risk tier of the action.
    pub risk_tier: RiskTier,
    /// Output of the action.
    pub output: Value,
    /// Results of the checks.
    pub verification: VerificationResult,
    /// Attempt to repair a failed change. An action has at most one such attempt (AA-6).
    pub repair: Attempt,
    /// Attempt to roll the action back.
    pub rollback: Attempt,
    /// Feedback for later plans (AA-13).
    pub feedback: Map<String, Value>,
}

/// Results of all checks of an action.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VerificationResult {
    /// Whether all required checks passed.
    pub ok: bool,
    /// Results of the individual checks.
    pub checks: Vec<Check>,
}

/// Result of a single check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Command that was run, or the name of a built-in check.
    pub name: String,
    /// Whether the check passed.
    pub ok: bool,
    /// Exit code of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration of the check, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Standard output of the command, shortened by [`excerpt`](Self::excerpt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error of the command, shortened by [`excerpt`](Self::excerpt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Additional message about the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Error returned if bytes are not a valid result envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the result envelope cannot be used: {0}")]
pub struct ResultError(#[source] pub Diagnostic);

/// Names of the statuses, as written in documents.
const STATUSES: &[&str] = &["succeeded", "reverted", "queued", "rejected", "failed"];
const CHECK_TEXT: Form = Form::Text(Text::any(CHECK_TEXT_CHARS_MAX));
/// Range of exit codes, from `i32::MIN` to `i32::MAX`.
const EXIT_CODE: Form = Form::Whole { min: -(1 << 31), max: (1 << 31) - 1 };
/// Range of durations, up to [`COUNT_MAX`].
const DURATION: Form = Form::Whole { min: 0, max: (1 << 53) - 1 };

pub(super) static RESULT: ObjectSchema = ObjectSchema {
    name: "a result envelope",
    about: "Outcome of an action. Future versions may add members, so ignore unknown ones. At most 16 MiB large and nested at most 64 levels deep.",
    others: Others::PassedOver,
    members: &[
        Member::required("status", Form::Word(STATUSES), "Final status of the action."),
        Member::required(
            "actionType",
            Form::Text(Text::filled(NAME_CHARS_MAX, Characters::Name)),
            "Type of the action.",
        ),
        Member::required("riskTier", Form::Word(TIERS), "Effective risk tier of the action."),
        Member::required("output", Form::Any, "Output of the action."),
        Member::required("verification", Form::Object(&VERIFICATION), "Results of the checks."),
        Member::required(
            "repair",
            Form::Object(&ATTEMPT),
            "Attempt to repair a failed change. An action has at most one.",
        ),
        Member::required(
            "rollback",
            Form::Object(&ATTEMPT),
            "Attempt to roll back the changes of the action.",
        ),
        Member::required("feedback", Form::AnyObject, "Feedback for later plans."),
    ],
};

static VERIFICATION: ObjectSchema = ObjectSchema {
    name: "a verification result",
    about: "Results of the checks.",
    others: Others::PassedOver,
    members: &[
        Member::required("ok", Form::Flag, "Whether all required checks passed."),
        Member::required(
            "checks",
            Form::Objects { of: &CHECK, count_max: CHECKS_MAX },
            "Results of the individual checks.",
        ),
    ],
};

static CHECK: ObjectSchema = ObjectSchema {
    name: "a check",
    about: "Result of a single check.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "name",
            Form::Text(Text::filled(CHECK_NAME_CHARS_MAX, Characters::Any)),
            "Command that was run, or the name of a built-in check.",
        ),
        Member::required("ok", Form::Flag, "Whether the check passed."),
        Member::optional("exitCode", EXIT_CODE, "Exit code of the command."),
        Member::optional("durationMs", DURATION, "Duration of the check, in milliseconds."),
        Member::optional(
            "stdout",
            CHECK_TEXT,
            "Standard output of the command. If it is long, only the end is included.",
        ),
        Member::optional(
            "stderr",
            CHECK_TEXT,
            "Standard error of the command. If it is long, only the end is included.",
        ),
        Member::optional("message", CHECK_TEXT, "Additional message about the result."),
    ],
};

static ATTEMPT: ObjectSchema = ObjectSchema {
    name: "an attempt",
    about: "Whether a repair or rollback was attempted, and whether it succeeded.",
    others: Others::PassedOver,
    members: &[
        Member::required("attempted", Form::Flag, "Whether the attempt was made."),
        Member::required("ok", Form::Flag, "Whether the attempt succeeded."),
    ],
};

impl ResultEnvelope {
    /// Creates a result with empty output, and without checks or attempts.
    pub fn new(status: Status, action_type: ActionName, risk_tier: RiskTier) -> Self {
        Self {
            status,
            action_type,
            risk_tier,
            output: Value::Object(Map::new()),
            verification: VerificationResult::default(),
            repair: Attempt::default(),
            rollback: Attempt::default(),
            feedback: Map::new(),
        }
    }

    /// Parses and validates a result envelope. Ignores unknown members.
    ///
    /// # Errors
    /// Returns a [`ResultError`] with the first error.
    pub fn read(bytes: &[u8]) -> Result<Self, ResultError> {
        reader::read(bytes, RESULT_BYTES_MAX, &RESULT, result).map_err(ResultError)
    }

    /// Serializes the envelope in a form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns a [`ResultError`] if a field violates the contract, for example if `output` contains a number that is
    /// too large.
    pub fn write(&self) -> Result<Vec<u8>, ResultError> {
        let bytes = reader::write(self).map_err(ResultError)?;
        Self::read(&bytes).map(|_| bytes)
    }
}

impl Check {
    /// Creates a check from its name and result, without further details.
    pub fn new(name: impl Into<String>, ok: bool) -> Self {
        Self {
            name: name.into(),
            ok,
            exit_code: None,
            duration_ms: None,
            stdout: None,
            stderr: None,
            message: None,
        }
    }

    /// Returns the output of a command as text, shortened to fit into a check. Long output is cut to `…` and its end,
    /// because most programs report failures last. Bytes that are not UTF-8 become `U+FFFD`.
    pub fn excerpt(written: &[u8]) -> String {
        // A character has at most 4 bytes. If this cut splits a character, the cut below removes the rest of it.
        let end = written.len().saturating_sub(4 * (CHECK_TEXT_CHARS_MAX + 1));
        let text = String::from_utf8_lossy(written.get(end..).unwrap_or_default());
        match text.char_indices().rev().nth(CHECK_TEXT_CHARS_MAX - 1) {
            Some((start, _)) if start > 0 => {
                let kept = text.char_indices().rev().nth(CHECK_TEXT_CHARS_MAX - 2);
                let kept = kept.and_then(|(start, _)| text.get(start..)).unwrap_or_default();
                format!("…{kept}")
            }
            Some(_) | None => text.into_owned(),
        }
    }
}

fn result(members: &Members<'_>) -> Result<ResultEnvelope, Fault> {
    Ok(ResultEnvelope {
        status: members.required("status", status)?,
        action_type: members.required("actionType", name)?,
        risk_tier: members.required("riskTier", tier)?,
        output: members.required("output", reader::any)?,
        verification: members.required("verification", verification)?,
        repair: members.required("repair", attempt)?,
        rollback: members.required("rollback", attempt)?,
        feedback: members.required("feedback", reader::any_object)?,
    })
}

fn status(form: Form, value: &json::Value<'_>) -> Result<Status, Fault> {
    let meaning = |word: &str| Status::ALL.into_iter().find(|status| status.as_str() == word);
    reader::word(form, value, meaning)
}

fn verification<'v>(form: Form, value: &'v json::Value<'v>) -> Result<VerificationResult, Fault> {
    let members = reader::object(form, value)?;
    Ok(VerificationResult {
        ok: members.required("ok", reader::flag)?,
        checks: members.required("checks", checks)?,
    })
}

fn checks<'v>(form: Form, value: &'v json::Value<'v>) -> Result<Vec<Check>, Fault> {
    let objects = reader::objects(form, value)?.into_iter().enumerate();
    objects.map(|(index, members)| check(&members).map_err(|f| f.in_element(index))).collect()
}

fn check(members: &Members<'_>) -> Result<Check, Fault> {
    Ok(Check {
        name: members.required("name", reader::text)?,
        ok: members.required("ok", reader::flag)?,
        exit_code: members.optional("exitCode", reader::whole)?,
        duration_ms: members.optional("durationMs", reader::whole)?,
        stdout: members.optional("stdout", reader::text)?,
        stderr: members.optional("stderr", reader::text)?,
        message: members.optional("message", reader::text)?,
    })
}

fn attempt<'v>(form: Form, value: &'v json::Value<'v>) -> Result<Attempt, Fault> {
    let members = reader::object(form, value)?;
    Ok(Attempt {
        attempted: members.required("attempted", reader::flag)?,
        ok: members.required("ok", reader::flag)?,
    })
}

const _: () = assert!(COUNT_MAX == (1 << 53) - 1);
