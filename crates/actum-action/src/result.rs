//! Result envelope: outcome of an action (AA-2).

use actum_core::canonical::COUNT_MAX;
use actum_core::{ActionName, NAME_CHARS_MAX, RiskTier, Status, json};
use actum_document::reader::{self, Members};
use actum_document::{Characters, Diagnostic, Fault, Form, Member, ObjectSchema, Others, Text};
use actum_record::ledger::Attempt;
use serde::Serialize;
use serde_json::{Map, Value};

use super::limits::{CHECK_NAME_CHARS_MAX, CHECK_TEXT_CHARS_MAX, CHECKS_MAX, RESULT_BYTES_MAX};
use super::plan::{TIERS, name, tier};

/// Outcome of an action. Fields are written in the order of the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultEnvelope {
    /// Status of the action.
    pub status: Status,
    /// Type of the action.
    pub action_type: ActionName,
    /// Tier in force.
    pub risk_tier: RiskTier,
    /// Output of the action.
    pub output: Value,
    /// Results of the checks.
    pub verification: VerificationResult,
    /// Repair attempt, at most one (AA-6).
    pub repair: Attempt,
    /// Rollback attempt.
    pub rollback: Attempt,
    /// Feedback for later plans (AA-13).
    pub feedback: Map<String, Value>,
}

/// Results of the checks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VerificationResult {
    /// All required checks passed.
    pub ok: bool,
    /// Individual checks.
    pub checks: Vec<Check>,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Command, or name of a built-in check.
    pub name: String,
    /// The check passed.
    pub ok: bool,
    /// Exit code of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Standard output of the command, shortened by [`excerpt`](Self::excerpt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Standard error of the command, shortened by [`excerpt`](Self::excerpt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Additional message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Error of bytes that are not a valid result envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the result envelope cannot be used: {0}")]
pub struct ResultError(#[source] pub Diagnostic);

/// Names of statuses.
const STATUSES: &[&str] = &["succeeded", "reverted", "queued", "rejected", "failed"];
const CHECK_TEXT: Form = Form::Text(Text::any(CHECK_TEXT_CHARS_MAX));
/// `i32::MIN` and `i32::MAX`.
const EXIT_CODE: Form = Form::Whole { min: -(1 << 31), max: (1 << 31) - 1 };
/// Up to [`COUNT_MAX`].
const DURATION: Form = Form::Whole { min: 0, max: (1 << 53) - 1 };

pub(super) static RESULT: ObjectSchema = ObjectSchema {
    name: "a result envelope",
    about: "What became of an action. Other members may come to it; pass over those that you do not know. At most 16 MiB, and nested at most 64 deep.",
    others: Others::PassedOver,
    members: &[
        Member::required("status", Form::Word(STATUSES), "How it ended."),
        Member::required(
            "actionType",
            Form::Text(Text::filled(NAME_CHARS_MAX, Characters::Name)),
            "Which action it was.",
        ),
        Member::required("riskTier", Form::Word(TIERS), "The tier that counted."),
        Member::required("output", Form::Any, "What the action gave."),
        Member::required("verification", Form::Object(&VERIFICATION), "What was checked."),
        Member::required("repair", Form::Object(&ATTEMPT), "The one try to repair it."),
        Member::required(
            "rollback",
            Form::Object(&ATTEMPT),
            "The try to put the workspace back as it was.",
        ),
        Member::required("feedback", Form::AnyObject, "What is to be learned from it."),
    ],
};

static VERIFICATION: ObjectSchema = ObjectSchema {
    name: "what was checked",
    about: "What was checked.",
    others: Others::PassedOver,
    members: &[
        Member::required("ok", Form::Flag, "Whether all that was required holds."),
        Member::required(
            "checks",
            Form::Objects { of: &CHECK, count_max: CHECKS_MAX },
            "Each check.",
        ),
    ],
};

static CHECK: ObjectSchema = ObjectSchema {
    name: "a check",
    about: "One check.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "name",
            Form::Text(Text::filled(CHECK_NAME_CHARS_MAX, Characters::Any)),
            "The command, or the name of a check that is built in.",
        ),
        Member::required("ok", Form::Flag, "Whether it holds."),
        Member::optional("exitCode", EXIT_CODE, "How the command ended."),
        Member::optional("durationMs", DURATION, "How long it took, in milliseconds."),
        Member::optional("stdout", CHECK_TEXT, "What the command wrote, or the end of it."),
        Member::optional(
            "stderr",
            CHECK_TEXT,
            "What the command wrote on standard error, or the end of it.",
        ),
        Member::optional("message", CHECK_TEXT, "What there is to say besides."),
    ],
};

static ATTEMPT: ObjectSchema = ObjectSchema {
    name: "an attempt",
    about: "Whether something was tried, and whether it was done.",
    others: Others::PassedOver,
    members: &[
        Member::required("attempted", Form::Flag, "Whether it was tried."),
        Member::required("ok", Form::Flag, "Whether it was done."),
    ],
};

impl ResultEnvelope {
    /// Creates a result without checks, attempts and output.
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

    /// Reads a result envelope. Ignores unknown fields.
    ///
    /// # Errors
    /// [`ResultError`] with the first error.
    pub fn read(bytes: &[u8]) -> Result<Self, ResultError> {
        reader::read(bytes, RESULT_BYTES_MAX, &RESULT, result).map_err(ResultError)
    }

    /// Writes the envelope in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// [`ResultError`] if a field violates the contract, such as a number in `output` that is too large.
    pub fn write(&self) -> Result<Vec<u8>, ResultError> {
        let bytes = reader::write(self).map_err(ResultError)?;
        Self::read(&bytes).map(|_| bytes)
    }
}

impl Check {
    /// Creates a check with a name and its result.
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

    /// Returns the excerpt of an output: all of it, or `…` and its end, where most programs report the failure. Bytes
    /// that are not UTF-8 become `U+FFFD`.
    pub fn excerpt(written: &[u8]) -> String {
        // A character has at most 4 bytes, and a cut character is removed below.
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
