//! Plan envelope, which contains an action proposed by an agent (AA-1).

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

/// Action proposed by an agent. The fields are written in the order of the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanEnvelope {
    /// Id that the planner gave the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Type of the action to perform.
    pub action_type: ActionName,
    /// Risk tier that the planner declared, if any. Use [`tier`](Self::tier) to get the effective tier.
    #[serde(rename = "riskTier", skip_serializing_if = "Option::is_none")]
    pub declared_tier: Option<RiskTier>,
    /// Confidence of the planner in the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Reason for the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Input of the action.
    pub input: Map<String, Value>,
    /// Plan for rolling the action back. If it is missing, it is written as `null`.
    pub rollback_plan: Option<RollbackPlan>,
    /// Verification of the action's result.
    pub verification: VerificationPlan,
    /// Paths that the action may write. Empty by default, which permits no write (AA-4).
    pub scope: PlanScope,
}

/// Plan for rolling an action back, as stated by its planner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RollbackPlan {
    /// Non-empty description of the rollback.
    Text(String),
    /// Object with arbitrary members.
    Object(Map<String, Value>),
}

/// Verification of an action, with the commands that perform it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerificationPlan {
    /// Whether the action counts as successful only if verification passes.
    pub required: bool,
    /// Commands to run, each written as on a command line.
    pub commands: Vec<String>,
}

/// Paths that a plan may write, as declared by its planner. A path may be written only if one of the lists allows it
/// and it is not forbidden (AA-4).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanScope {
    /// Files that the action may write.
    pub allowed_files: Vec<String>,
    /// Directories that the action may write files below.
    pub allowed_dirs: Vec<String>,
    /// Files that the action may not write, even if they are allowed otherwise.
    pub forbidden_files: Vec<String>,
}

/// Error returned if bytes are not a valid plan envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plan envelope cannot be used: {0}")]
pub struct PlanError(#[source] pub Diagnostic);

/// Names of the risk tiers, as written in documents.
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
    about: "Action proposed by an agent. A plan is rejected if it has unknown members, repeats a name within an object, is larger than 16 MiB, or is nested more than 64 levels deep.",
    others: Others::Refused,
    members: &[
        Member::optional(
            "actionId",
            Form::Text(Text::filled(ACTION_ID_CHARS_MAX, Characters::OneLine)),
            "Id that the planner gives the action.",
        ),
        Member::required(
            "actionType",
            Form::Text(NAME),
            "Type of the action: the name of a core action or a registered action.",
        ),
        Member::optional(
            "riskTier",
            Form::Word(TIERS),
            "Risk tier that the planner declares. Without it, the plan is treated as R4.",
        ),
        Member::optional("confidence", Form::Share, "Confidence of the planner in the proposal."),
        Member::optional(
            "reason",
            Form::Text(Text::any(REASON_CHARS_MAX)),
            "Reason for the proposal.",
        ),
        Member::required("input", Form::AnyObject, "Input of the action."),
        Member::optional(
            "rollbackPlan",
            Form::NullTextOrObject(Text::filled(ROLLBACK_PLAN_CHARS_MAX, Characters::Any)),
            "Plan for rolling the action back. Required for R2 actions that write. Omitting it is the same as null.",
        ),
        Member::required(
            "verification",
            Form::Object(&VERIFICATION),
            "How the result of the action is verified. Verification is required for R2 actions that write.",
        ),
        Member::optional(
            "scope",
            Form::Object(&SCOPE),
            "Paths that the action may write. If it is missing, or allows no files or directories, the action may not write.",
        ),
    ],
};

pub(super) static VERIFICATION: ObjectSchema = ObjectSchema {
    name: "a verification",
    about: "Whether and how the result of an action is verified.",
    others: Others::Refused,
    members: &[
        Member::required(
            "required",
            Form::Flag,
            "Whether the action counts as successful only if verification passes.",
        ),
        Member::optional(
            "commands",
            COMMANDS,
            "Commands that verify the result. Each must be on the allow-list, and runs in the sandbox.",
        ),
    ],
};

static SCOPE: ObjectSchema = ObjectSchema {
    name: "a scope",
    about: "Paths that an action may write. A forbidden path takes precedence over an allowed one.",
    others: Others::Refused,
    members: &[
        Member::optional("allowedFiles", PATHS, "Files that the action may write."),
        Member::optional(
            "allowedDirs",
            PATHS,
            "Directories that the action may write files below.",
        ),
        Member::optional("forbiddenFiles", PATHS, "Files that the action may not write."),
    ],
};

impl PlanEnvelope {
    /// Parses and validates a plan envelope.
    ///
    /// # Errors
    /// Returns a [`PlanError`] with the first error. Invalid JSON and duplicate names are reported before members of
    /// the wrong form, which are checked object by object.
    pub fn read(bytes: &[u8]) -> Result<Self, PlanError> {
        reader::read(bytes, PLAN_BYTES_MAX, &PLAN, plan).map_err(PlanError)
    }

    /// Serializes the envelope in a form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns a [`PlanError`] if a field violates the contract.
    pub fn write(&self) -> Result<Vec<u8>, PlanError> {
        let bytes = reader::write(self).map_err(PlanError)?;
        Self::read(&bytes).map(|_| bytes)
    }

    /// Returns the effective risk tier, which is the highest tier if none is declared.
    pub fn tier(&self) -> RiskTier {
        self.declared_tier.unwrap_or(RiskTier::R4)
    }
}

impl PlanScope {
    /// Checks whether the scope permits no write at all.
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
