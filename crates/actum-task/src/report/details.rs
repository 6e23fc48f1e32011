//! Details in the execution report about an action that ran in its own process (EX-11, EX-13).

use actum_core::Digest;
use actum_document::{Characters, Form, Member, ObjectSchema, Others, Text};
use serde::{Deserialize, Serialize};

use super::clean_text::{CleanText, TEXT_CHARS_MAX};

/// Maximum number of SQL statements that the details of an action list.
const STATEMENTS_MAX: usize = 1000;
/// Maximum number of pipeline steps that the details of an action list, which is also the maximum in a policy.
const STEPS_MAX: usize = 100;

/// Details of an action, depending on the kind of process that ran it. They contain digests and counts, but no parameter values or
/// data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionDetails {
    /// Details of an action that ran SQL.
    Sql(Box<SqlDetails>),
    /// Details of an action that ran a pipeline.
    Pipeline(Box<PipelineDetails>),
}

/// Details of an action that ran a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineDetails {
    /// Name of the pipeline.
    pub name: CleanText,
    /// SHA-256 of the pipeline's declaration in the operator's policy, as canonical JSON.
    pub declaration_sha256: Digest,
    /// Steps of the pipeline in order, at most 100.
    pub steps: Vec<StepDetails>,
    /// Total duration of the steps, in milliseconds.
    pub process_ms: u64,
    /// Confinement of the processes.
    pub confinement: ConfinementDetails,
    /// Whether the result was cached when it was shown for approval, so that no process ran this time.
    #[serde(default)]
    pub was_kept: bool,
}

/// Step of a pipeline that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDetails {
    /// Program of the step, without its arguments.
    pub program: CleanText,
    /// Duration of the step, in milliseconds.
    pub process_ms: u64,
    /// SHA-256 of the step's standard output.
    pub stdout_sha256: Digest,
    /// SHA-256 of the step's standard error.
    pub stderr_sha256: Digest,
}

/// Details of an action that ran SQL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlDetails {
    /// Database engine that ran the statements.
    pub engine: EngineDetails,
    /// SHA-256 of the library of the database engine.
    pub library_sha256: Digest,
    /// SHA-256 of the query.
    pub query_sha256: Digest,
    /// SHA-256 of the parameters as written in the plan. Absent if the plan sets no parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters_sha256: Option<Digest>,
    /// SHA-256 of the database before the action.
    pub database_sha256_before: Digest,
    /// SHA-256 of the database after the action.
    pub database_sha256_after: Digest,
    /// Statements that ran, in order, at most 1,000.
    pub statements: Vec<StatementDetails>,
    /// Number of statements that ran but are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub statements_left_out: u64,
    /// Number of rows that the statements report as changed, or the number found by comparing the tables if that is higher.
    pub rows_changed: u64,
    /// Highest observed memory use of the process, in bytes.
    pub peak_memory_bytes: u64,
    /// Duration of the process, in milliseconds.
    pub process_ms: u64,
    /// Confinement of the process.
    pub confinement: ConfinementDetails,
    /// Whether the result was cached when it was shown for approval, so that no process ran this time.
    pub was_kept: bool,
}

/// Database engine that ran SQL statements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineDetails {
    /// Name of the database engine.
    pub name: CleanText,
    /// Version that the database engine reports.
    pub version: CleanText,
}

/// SQL statement that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementDetails {
    /// Kind of the statement, such as `UPDATE`.
    pub kind: CleanText,
    /// Number of rows that the statement changed or, for a query, returned.
    pub rows: u64,
}

/// Confinement of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementDetails {
    /// Confinement tier. `N` stands for namespaces, Landlock and seccomp.
    pub tier: CleanText,
    /// Landlock ABI version of the host. Absent if the host does not support Landlock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock: Option<u32>,
    /// Whether the process ran as root, without capabilities.
    pub is_root: bool,
}

impl StatementDetails {
    /// Lists the first statements up to the limit, and returns the number of the remaining ones.
    pub fn list(statements: impl ExactSizeIterator<Item = Self>) -> (Vec<Self>, u64) {
        let left_out = statements.len().saturating_sub(STATEMENTS_MAX);
        (statements.take(STATEMENTS_MAX).collect(), u64::try_from(left_out).unwrap_or(u64::MAX))
    }
}

/// Returns whether serde must omit the count.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

const WAS_KEPT: &str = "Whether the result was cached when it was shown for approval, so that no process ran this time.";
const SHA256: Form = Form::Text(Text::filled(64, Characters::Sha256));
const LINES: Form = Form::Text(Text::any(TEXT_CHARS_MAX));
/// Schema of a count. JSON parsers represent every number in this range exactly.
const COUNT: Form = Form::Whole { min: 0, max: (1 << 53) - 1 };

pub(super) const OF_ACTION: Member = Member::optional(
    "details",
    Form::Object(&ACTION_DETAILS),
    "Details of an action that ran in its own process.",
);

static ACTION_DETAILS: ObjectSchema = ObjectSchema {
    name: "details of an action",
    about: "Details of an action. They contain digests and counts, but no parameter values or data.",
    others: Others::PassedOver,
    members: &[
        Member::optional("sql", Form::Object(&SQL_DETAILS), "Details of an action that ran SQL."),
        Member::optional(
            "pipeline",
            Form::Object(&PIPELINE_DETAILS),
            "Details of an action that ran a pipeline.",
        ),
    ],
};

static PIPELINE_DETAILS: ObjectSchema = ObjectSchema {
    name: "details of a pipeline",
    about: "Details of an action that ran a pipeline.",
    others: Others::PassedOver,
    members: &[
        Member::required("name", LINES, "Name of the pipeline."),
        Member::required(
            "declaration_sha256",
            SHA256,
            "SHA-256 of the pipeline's declaration in the operator's policy, as canonical JSON.",
        ),
        Member::required(
            "steps",
            Form::Objects { of: &STEP, count_max: STEPS_MAX },
            "Steps of the pipeline, in order.",
        ),
        Member::required("process_ms", COUNT, "Total duration of the steps, in milliseconds."),
        Member::required(
            "confinement",
            Form::Object(&CONFINEMENT),
            "Confinement of the processes.",
        ),
        Member::optional("was_kept", Form::Flag, WAS_KEPT),
    ],
};

static STEP: ObjectSchema = ObjectSchema {
    name: "a step",
    about: "Step of a pipeline that ran.",
    others: Others::PassedOver,
    members: &[
        Member::required("program", LINES, "Program of the step, without its arguments."),
        Member::required("process_ms", COUNT, "Duration of the step, in milliseconds."),
        Member::required("stdout_sha256", SHA256, "SHA-256 of the step's standard output."),
        Member::required("stderr_sha256", SHA256, "SHA-256 of the step's standard error."),
    ],
};

static SQL_DETAILS: ObjectSchema = ObjectSchema {
    name: "details of an SQL step",
    about: "Details of an action that ran SQL.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "engine",
            Form::Object(&ENGINE),
            "Database engine that ran the statements.",
        ),
        Member::required(
            "library_sha256",
            SHA256,
            "SHA-256 of the library of the database engine.",
        ),
        Member::required("query_sha256", SHA256, "SHA-256 of the query."),
        Member::optional(
            "parameters_sha256",
            SHA256,
            "SHA-256 of the parameters as written in the plan.",
        ),
        Member::required(
            "database_sha256_before",
            SHA256,
            "SHA-256 of the database before the action.",
        ),
        Member::required(
            "database_sha256_after",
            SHA256,
            "SHA-256 of the database after the action.",
        ),
        Member::required(
            "statements",
            Form::Objects { of: &STATEMENT, count_max: STATEMENTS_MAX },
            "Statements that ran, in order.",
        ),
        Member::optional(
            "statements_left_out",
            COUNT,
            "Number of statements that ran but are not listed.",
        ),
        Member::required(
            "rows_changed",
            COUNT,
            "Number of rows that the statements report as changed, or the number found by comparing the tables if that is higher.",
        ),
        Member::required(
            "peak_memory_bytes",
            COUNT,
            "Highest observed memory use of the process, in bytes.",
        ),
        Member::required("process_ms", COUNT, "Duration of the process, in milliseconds."),
        Member::required("confinement", Form::Object(&CONFINEMENT), "Confinement of the process."),
        Member::required("was_kept", Form::Flag, WAS_KEPT),
    ],
};

static ENGINE: ObjectSchema = ObjectSchema {
    name: "a database engine",
    about: "Database engine that ran SQL statements.",
    others: Others::PassedOver,
    members: &[
        Member::required("name", LINES, "Name of the database engine."),
        Member::required("version", LINES, "Version that the database engine reports."),
    ],
};

static STATEMENT: ObjectSchema = ObjectSchema {
    name: "a statement",
    about: "SQL statement that ran.",
    others: Others::PassedOver,
    members: &[
        Member::required("kind", LINES, "Kind of the statement, such as `UPDATE`."),
        Member::required(
            "rows",
            COUNT,
            "Number of rows that the statement changed or, for a query, returned.",
        ),
    ],
};

static CONFINEMENT: ObjectSchema = ObjectSchema {
    name: "a confinement",
    about: "Confinement of a process.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "tier",
            LINES,
            "Confinement tier. `N` stands for namespaces, Landlock and seccomp.",
        ),
        Member::optional(
            "landlock",
            Form::Whole { min: 0, max: (1 << 32) - 1 },
            "Landlock ABI version of the host.",
        ),
        Member::required(
            "is_root",
            Form::Flag,
            "Whether the process ran as root, without capabilities.",
        ),
    ],
};
