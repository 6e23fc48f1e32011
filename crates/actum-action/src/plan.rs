//! Plan envelope: proposed action of an agent (AA-1).

use actum_core::place::Excerpt;
use actum_core::{ActionName, NAME_CHARS_MAX, RiskTier, json};
use actum_document::reader::{self, Members};
use actum_document::{
    Characters, Diagnostic, Fault, Form, Member, ObjectSchema, Others, Problem, Text,
};
use actum_record::ledger::Confidence;
use serde::Serialize;
use serde_json::{Map, Value};

use super::limits::{
    ACTION_ID_CHARS_MAX, COMMAND_CHARS_MAX, COMMANDS_MAX, PLAN_BYTES_MAX, REASON_CHARS_MAX,
    ROLLBACK_PLAN_CHARS_MAX, SCOPE_PATH_CHARS_MAX, SCOPE_PATHS_MAX,
};

/// Proposed action. Fields are written in the order of the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanEnvelope {
    /// Name that the planner gave the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Type of the action.
    pub action_type: ActionName,
    /// Tier that the planner declared, if any. [`tier`](Self::tier) is the tier in force.
    #[serde(rename = "riskTier", skip_serializing_if = "Option::is_none")]
    pub declared_tier: Option<RiskTier>,
    /// Confidence of the planner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Reason for the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Input of the action.
    pub input: Map<String, Value>,
    /// Rollback of the action; a missing one is written as `null`.
    pub rollback_plan: Option<RollbackPlan>,
    /// Verification of the result.
    pub verification: VerificationPlan,
    /// Paths that it may write; none by default (AA-4).
    pub scope: PlanScope,
}

/// Rollback of an action, in the words of its planner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RollbackPlan {
    /// Text, which is not empty.
    Text(String),
    /// Object with any members.
    Object(Map<String, Value>),
}

/// Required verification, with its commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerificationPlan {
    /// Verification is required.
    pub required: bool,
    /// Commands, each as it would be typed.
    pub commands: Vec<String>,
}

/// Paths that a plan may write, as its planner declares them. A path that no list allows is not allowed, and a
/// forbidden path is never allowed (AA-4).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanScope {
    /// Files that may be written.
    pub allowed_files: Vec<String>,
    /// Directories below which files may be written.
    pub allowed_dirs: Vec<String>,
    /// Files that may not be written.
    pub forbidden_files: Vec<String>,
}

/// Error of bytes that are not a valid plan envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plan envelope cannot be used: {0}")]
pub struct PlanError(#[source] pub Diagnostic);

/// Names of tiers.
pub(super) const TIERS: &[&str] = &["R0", "R1", "R2", "R3", "R4"];

pub(super) const COMMAND: Text = Text::filled(COMMAND_CHARS_MAX, Characters::OneLine);
pub(super) const COMMANDS: Form = Form::Texts { of: COMMAND, count_max: COMMANDS_MAX };
const PATHS: Form = Form::Texts {
    of: Text::filled(SCOPE_PATH_CHARS_MAX, Characters::NoNul),
    count_max: SCOPE_PATHS_MAX,
};
const NAME: Text = Text::filled(NAME_CHARS_MAX, Characters::Name);

pub(super) static PLAN: ObjectSchema = ObjectSchema {
    name: "a plan envelope",
    about: "An action that is proposed. A plan with other members, or with a name twice in one object, is refused; so is one of more than 16 MiB, or nested more than 64 deep.",
    others: Others::Refused,
    members: &[
        Member::optional(
            "actionId",
            Form::Text(Text::filled(ACTION_ID_CHARS_MAX, Characters::OneLine)),
            "How the planner calls this action.",
        ),
        Member::required("actionType", Form::Text(NAME), "Which core or registered action it is."),
        Member::optional(
            "riskTier",
            Form::Word(TIERS),
            "How much is at stake. A plan without it counts as R4.",
        ),
        Member::optional("confidence", Form::Share, "How sure the planner is."),
        Member::optional(
            "reason",
            Form::Text(Text::any(REASON_CHARS_MAX)),
            "Why the action is proposed.",
        ),
        Member::required("input", Form::AnyObject, "What the action is given."),
        Member::optional(
            "rollbackPlan",
            Form::NullTextOrObject(Text::filled(ROLLBACK_PLAN_CHARS_MAX, Characters::Any)),
            "How the action is taken back. Required for R2 actions that write; absent is the same as null.",
        ),
        Member::required(
            "verification",
            Form::Object(&VERIFICATION),
            "How the action is checked. R2 writes require verification.",
        ),
        Member::optional(
            "scope",
            Form::Object(&SCOPE),
            "Where the action may write. Absent, or without allowed files and directories, it permits no write.",
        ),
    ],
};

pub(super) static VERIFICATION: ObjectSchema = ObjectSchema {
    name: "a verification",
    about: "Whether something must be checked, and how.",
    others: Others::Refused,
    members: &[
        Member::required(
            "required",
            Form::Flag,
            "Whether the action counts only when it was checked.",
        ),
        Member::optional(
            "commands",
            COMMANDS,
            "The commands that check it. Each also has to pass the allow-list and runs in the sandbox.",
        ),
    ],
};

static SCOPE: ObjectSchema = ObjectSchema {
    name: "a scope",
    about: "Where an action may write. What is forbidden wins over what is allowed.",
    others: Others::Refused,
    members: &[
        Member::optional("allowedFiles", PATHS, "Files that may be written."),
        Member::optional("allowedDirs", PATHS, "Directories below which may be written."),
        Member::optional("forbiddenFiles", PATHS, "Files that may not be written."),
    ],
};

impl PlanEnvelope {
    /// Reads a plan envelope.
    ///
    /// # Errors
    /// [`PlanError`] with the first error: unsound JSON or a duplicate name first, then a wrong form, object by object.
    pub fn read(bytes: &[u8]) -> Result<Self, PlanError> {
        reader::read(bytes, PLAN_BYTES_MAX, &PLAN, plan).map_err(PlanError)
    }

    /// Writes the envelope in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// [`PlanError`] if a field violates the contract.
    pub fn write(&self) -> Result<Vec<u8>, PlanError> {
        let bytes = reader::write(self).map_err(PlanError)?;
        Self::read(&bytes).map(|_| bytes)
    }

    /// Returns the tier in force: without a declared tier the highest.
    pub fn tier(&self) -> RiskTier {
        self.declared_tier.unwrap_or(RiskTier::R4)
    }
}

impl PlanScope {
    /// Returns true if no write is permitted.
    pub fn permits_nothing(&self) -> bool {
        self.allowed_files.is_empty() && self.allowed_dirs.is_empty()
    }
}

fn plan(members: &Members<'_>) -> Result<PlanEnvelope, Fault> {
    Ok(PlanEnvelope {
        action_id: members.optional("actionId", reader::text)?,
        action_type: members.required("actionType", name)?,
        declared_tier: members.optional("riskTier", tier)?,
        confidence: members.optional("confidence", confidence)?,
        reason: members.optional("reason", reader::text)?,
        input: members.required("input", reader::any_object)?,
        rollback_plan: members.optional("rollbackPlan", rollback_plan)?.flatten(),
        verification: members.required("verification", verification)?,
        scope: members.optional("scope", scope)?.unwrap_or_default(),
    })
}

pub(super) fn name(form: Form, value: &json::Value<'_>) -> Result<ActionName, Fault> {
    let text = reader::text(form, value)?;
    text.parse().map_err(|_| {
        let found = Excerpt::new(text.as_bytes());
        Fault::at(value.span.start, Problem::Characters { expected: NAME, found })
    })
}

pub(super) fn tier(form: Form, value: &json::Value<'_>) -> Result<RiskTier, Fault> {
    reader::word(form, value, |word| word.parse().ok())
}

fn confidence(form: Form, value: &json::Value<'_>) -> Result<Confidence, Fault> {
    Confidence::new(reader::share(form, value)?).ok_or_else(|| reader::not(form, value))
}

fn rollback_plan(form: Form, value: &json::Value<'_>) -> Result<Option<RollbackPlan>, Fault> {
    let Form::NullTextOrObject(text) = form else { return Err(reader::not(form, value)) };
    match value.kind() {
        json::Kind::Null => Ok(None),
        json::Kind::String => {
            reader::text(Form::Text(text), value).map(|text| Some(RollbackPlan::Text(text)))
        }
        json::Kind::Boolean | json::Kind::Number | json::Kind::Array | json::Kind::Object => {
            reader::any_object(form, value).map(|object| Some(RollbackPlan::Object(object)))
        }
    }
}

pub(super) fn verification<'v>(
    form: Form,
    value: &'v json::Value<'v>,
) -> Result<VerificationPlan, Fault> {
    let members = reader::object(form, value)?;
    Ok(VerificationPlan {
        required: members.required("required", reader::flag)?,
        commands: members.optional("commands", reader::texts)?.unwrap_or_default(),
    })
}

fn scope<'v>(form: Form, value: &'v json::Value<'v>) -> Result<PlanScope, Fault> {
    let members = reader::object(form, value)?;
    let paths = |name| Ok(members.optional(name, reader::texts)?.unwrap_or_default());
    Ok(PlanScope {
        allowed_files: paths("allowedFiles")?,
        allowed_dirs: paths("allowedDirs")?,
        forbidden_files: paths("forbiddenFiles")?,
    })
}
