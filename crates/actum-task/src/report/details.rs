//! Details of an action that ran in a process of its own, for the execution report (EX-11, EX-13).

use actum_core::Digest;
use actum_document::{Characters, Form, Member, ObjectSchema, Others, Text};
use serde::{Deserialize, Serialize};

use super::clean_text::{CleanText, TEXT_CHARS_MAX};

/// Maximum number of listed statements of a step.
const STATEMENTS_MAX: usize = 1000;
/// Maximum number of listed steps of a pipeline: as many as a policy can declare.
const STEPS_MAX: usize = 100;

/// Details of an action, by the kind of process that ran it. They hold digests and counts, but no parameter
/// values or data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionDetails {
    /// An SQL step.
    Sql(Box<SqlDetails>),
    /// A pipeline.
    Pipeline(Box<PipelineDetails>),
}

/// Details of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineDetails {
    /// Name.
    pub name: CleanText,
    /// SHA-256 of its declaration in the operator's policy, as canonical JSON.
    pub declaration_sha256: Digest,
    /// Steps in their order, at most 100.
    pub steps: Vec<StepDetails>,
    /// Time of the steps together, in milliseconds.
    pub process_ms: u64,
    /// Confinement that was in force.
    pub confinement: ConfinementDetails,
    /// True if the result came from the cache made for the approval, so that no process ran this time.
    #[serde(default)]
    pub was_kept: bool,
}

/// Step of a pipeline that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDetails {
    /// Program, without its arguments.
    pub program: CleanText,
    /// Time, in milliseconds.
    pub process_ms: u64,
    /// SHA-256 of standard output.
    pub stdout_sha256: Digest,
    /// SHA-256 of standard error.
    pub stderr_sha256: Digest,
}

/// Details of an SQL step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlDetails {
    /// Database engine.
    pub engine: EngineDetails,
    /// SHA-256 of the library.
    pub library_sha256: Digest,
    /// SHA-256 of the query.
    pub query_sha256: Digest,
    /// SHA-256 of the parameters, as the plan writes them; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters_sha256: Option<Digest>,
    /// SHA-256 of the database before.
    pub database_sha256_before: Digest,
    /// SHA-256 of the database after.
    pub database_sha256_after: Digest,
    /// Statements in their order, at most 1,000.
    pub statements: Vec<StatementDetails>,
    /// Further statements.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub statements_left_out: u64,
    /// Rows that they changed together, as they counted them; more where the tables were compared and more differed.
    pub rows_changed: u64,
    /// Highest observed memory use of the process, in bytes.
    pub peak_memory_bytes: u64,
    /// Time of the process, in milliseconds.
    pub process_ms: u64,
    /// Confinement that was in force.
    pub confinement: ConfinementDetails,
    /// True if the result came from the cache made for the approval, so that no process ran this time.
    pub was_kept: bool,
}

/// Database engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineDetails {
    /// Name.
    pub name: CleanText,
    /// Version, as it names itself.
    pub version: CleanText,
}

/// Statement that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementDetails {
    /// Kind, such as `UPDATE`.
    pub kind: CleanText,
    /// Number of rows that it changed, or for a query the number of rows that it returned.
    pub rows: u64,
}

/// Confinement of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementDetails {
    /// Tier: `N` for namespaces, Landlock and seccomp.
    pub tier: CleanText,
    /// Version of Landlock's interface; absent where the host has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock: Option<u32>,
    /// True if the process ran as root, without capabilities.
    pub is_root: bool,
}

impl StatementDetails {
    /// Lists the statements up to the limit and counts the rest.
    pub fn list(statements: impl ExactSizeIterator<Item = Self>) -> (Vec<Self>, u64) {
        let left_out = statements.len().saturating_sub(STATEMENTS_MAX);
        (statements.take(STATEMENTS_MAX).collect(), u64::try_from(left_out).unwrap_or(u64::MAX))
    }
}

/// Condition for serde to omit a count.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

const WAS_KEPT: &str =
    "Whether the result had been kept when it was shown for approval, so that nothing ran now.";
const SHA256: Form = Form::Text(Text::filled(64, Characters::Sha256));
const LINES: Form = Form::Text(Text::any(TEXT_CHARS_MAX));
/// Count within the range that JSON readers do not round.
const COUNT: Form = Form::Whole { min: 0, max: (1 << 53) - 1 };

pub(super) const OF_ACTION: Member = Member::optional(
    "details",
    Form::Object(&ACTION_DETAILS),
    "Details of an action that ran in a process of its own, by what ran it.",
);

static ACTION_DETAILS: ObjectSchema = ObjectSchema {
    name: "details of an action",
    about: "Details of an action: digests and counts, and neither values of parameters nor data.",
    others: Others::PassedOver,
    members: &[
        Member::optional("sql", Form::Object(&SQL_DETAILS), "An SQL step."),
        Member::optional("pipeline", Form::Object(&PIPELINE_DETAILS), "A pipeline."),
    ],
};

static PIPELINE_DETAILS: ObjectSchema = ObjectSchema {
    name: "details of a pipeline",
    about: "Details of a pipeline.",
    others: Others::PassedOver,
    members: &[
        Member::required("name", LINES, "Name."),
        Member::required(
            "declaration_sha256",
            SHA256,
            "SHA-256 of its declaration in the operator's policy, as canonical JSON.",
        ),
        Member::required(
            "steps",
            Form::Objects { of: &STEP, count_max: STEPS_MAX },
            "Steps in their order.",
        ),
        Member::required("process_ms", COUNT, "Time of the steps together, in milliseconds."),
        Member::required(
            "confinement",
            Form::Object(&CONFINEMENT),
            "Confinement that was in force.",
        ),
        Member::optional("was_kept", Form::Flag, WAS_KEPT),
    ],
};

static STEP: ObjectSchema = ObjectSchema {
    name: "a step",
    about: "Step that ran.",
    others: Others::PassedOver,
    members: &[
        Member::required("program", LINES, "Program, without its arguments."),
        Member::required("process_ms", COUNT, "Time, in milliseconds."),
        Member::required("stdout_sha256", SHA256, "SHA-256 of standard output."),
        Member::required("stderr_sha256", SHA256, "SHA-256 of standard error."),
    ],
};

static SQL_DETAILS: ObjectSchema = ObjectSchema {
    name: "details of an SQL step",
    about: "Details of an SQL step.",
    others: Others::PassedOver,
    members: &[
        Member::required("engine", Form::Object(&ENGINE), "Database engine."),
        Member::required("library_sha256", SHA256, "SHA-256 of the library."),
        Member::required("query_sha256", SHA256, "SHA-256 of the query."),
        Member::optional(
            "parameters_sha256",
            SHA256,
            "SHA-256 of the parameters, as the plan writes them.",
        ),
        Member::required("database_sha256_before", SHA256, "SHA-256 of the database before."),
        Member::required("database_sha256_after", SHA256, "SHA-256 of the database after."),
        Member::required(
            "statements",
            Form::Objects { of: &STATEMENT, count_max: STATEMENTS_MAX },
            "Statements in their order.",
        ),
        Member::optional("statements_left_out", COUNT, "Further statements."),
        Member::required(
            "rows_changed",
            COUNT,
            "Rows that the statements changed together; more where the tables were compared and more differed.",
        ),
        Member::required(
            "peak_memory_bytes",
            COUNT,
            "Most memory of the process that was seen, in bytes.",
        ),
        Member::required("process_ms", COUNT, "Time of the process, in milliseconds."),
        Member::required(
            "confinement",
            Form::Object(&CONFINEMENT),
            "Confinement that was in force.",
        ),
        Member::required("was_kept", Form::Flag, WAS_KEPT),
    ],
};

static ENGINE: ObjectSchema = ObjectSchema {
    name: "a database engine",
    about: "Database engine.",
    others: Others::PassedOver,
    members: &[
        Member::required("name", LINES, "Name."),
        Member::required("version", LINES, "Version, as it names itself."),
    ],
};

static STATEMENT: ObjectSchema = ObjectSchema {
    name: "a statement",
    about: "Statement that ran.",
    others: Others::PassedOver,
    members: &[
        Member::required("kind", LINES, "Kind, such as `UPDATE`."),
        Member::required("rows", COUNT, "Rows that it changed; of a query the rows that it gave."),
    ],
};

static CONFINEMENT: ObjectSchema = ObjectSchema {
    name: "a confinement",
    about: "Confinement of a process.",
    others: Others::PassedOver,
    members: &[
        Member::required("tier", LINES, "Tier: `N` for namespaces, Landlock and seccomp."),
        Member::optional(
            "landlock",
            Form::Whole { min: 0, max: (1 << 32) - 1 },
            "Version of Landlock's interface.",
        ),
        Member::required("is_root", Form::Flag, "Whether it ran as root, without capabilities."),
    ],
};
