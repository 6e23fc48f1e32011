//! System config: the operator's settings for the tasks of a project (EX-2, EX-17, EX-19, EX-21).
//!
//! All settings are optional. The config can lower the limits of the seed but never raise them, and can add
//! protected paths but never remove them (D-5).

use std::time::Duration;

use actum_core::PathRule;
use actum_core::json::Value;
use actum_core::path::PATH_BYTES_MAX;
use actum_document::reader::{flag, whole, word};
use actum_document::{Characters, Form, Member, ObjectSchema, Others, Text};

use super::diagnostics::Mistakes;
use super::limits::{
    BACKUP_BYTES_MAX, CONFIG_BYTES_MAX, FILE_BYTES_MAX, FILE_TIME, FILES_MAX, MANIFEST_DAYS_MAX,
    PARALLEL_MAX, PIPELINE_TIME, PROTECTED_RULES_MAX, SCHEMA_TIME, SQL_TIME, TASK_TIME,
};
use super::plan::{Action, ActionType, CONSTRAINT_FIELDS, Constraints, constraints};
use super::reader::{self, Faults, Fields, Taken};
use super::yaml::Node;

/// Settings for the tasks of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemConfig {
    /// Default soft constraints of plans.
    pub constraints: Constraints,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Size and count limits.
    pub limits: Limits,
    /// Retention of a rollback manifest; `None` means forever.
    pub manifest_ttl: Option<Duration>,
    /// True if a successful run is committed to the git repository of the project (EX-17).
    pub commit: bool,
    /// Paths that are protected in addition to the built-in ones.
    pub protected: Vec<PathRule>,
}

/// Time limits (seed, 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Limit of an action on one file.
    pub file: Duration,
    /// Limit of an update of a schema.
    pub schema: Duration,
    /// Limit of an SQL step.
    pub sql: Duration,
    /// Limit of a pipeline run.
    pub pipeline: Duration,
    /// Limit of a whole task.
    pub task: Duration,
}

/// Size and count limits (seed, 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of files that a task touches.
    pub files_max: u32,
    /// Maximum size of a file, in bytes.
    pub file_bytes_max: u64,
    /// Maximum size of all backups of a task, in bytes.
    pub backup_bytes_max: u64,
    /// Maximum number of concurrent actions.
    pub parallel_max: u32,
}

/// Error of an invalid system config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the system config cannot be used: {0}")]
pub struct SystemConfigError(#[source] pub Mistakes);

const FORMAT: &str = "actum.system-config/1";

/// Schema of `system_config.yaml`.
pub(super) static SYSTEM_CONFIG: ObjectSchema = ObjectSchema {
    name: "a system config",
    about: "What holds for the tasks of a project. All of it can be left out. A config with other members, or with a name twice in one object, is refused; so is one of more than 256 KiB.",
    others: Others::Refused,
    members: &[
        Member::optional("format", Form::Word(&[FORMAT]), "Which format it is in."),
        Member::optional(
            "soft_constraints",
            Form::Object(&SOFT_CONSTRAINTS),
            "The soft constraints of plans that say nothing else.",
        ),
        Member::optional("timeouts", Form::Object(&TIMEOUTS), "How long things may take."),
        Member::optional("limits", Form::Object(&LIMITS), "How much of things there may be."),
        Member::optional(
            "rollback_manifest",
            Form::Object(&ROLLBACK_MANIFEST),
            "What becomes of rollback manifests.",
        ),
        Member::optional("git", Form::Object(&GIT), "What becomes of the repository."),
        Member::optional(
            "protected_files",
            Form::Texts {
                of: Text::filled(PATH_BYTES_MAX, Characters::Rule),
                count_max: PROTECTED_RULES_MAX,
            },
            "Rules for paths that are protected besides those that always are: `config/**`, `*.lock`. `*` stands within a name, `**` for any number of names.",
        ),
    ],
};

static SOFT_CONSTRAINTS: ObjectSchema = ObjectSchema {
    name: "soft constraints",
    about: "What a plan can set otherwise.",
    others: Others::Refused,
    members: &CONSTRAINT_FIELDS,
};

const fn seconds(name: &'static str, max: i64, about: &'static str) -> Member {
    Member::optional(name, Form::Whole { min: 1, max }, about)
}

static TIMEOUTS: ObjectSchema = ObjectSchema {
    name: "timeouts",
    about: "How long things may take.",
    others: Others::Refused,
    members: &[
        seconds("file_seconds", 120, "An action on one file; absent is the same as 30."),
        seconds("schema_seconds", 60, "An update of a schema; absent is the same as 30."),
        seconds("sql_seconds", 300, "An SQL step; absent is the same as 60."),
        seconds("pipeline_seconds", 3600, "A run of a pipeline; absent is the same as 300."),
        seconds("task_seconds", 3600, "A whole task; absent is the same as 300."),
    ],
};

static LIMITS: ObjectSchema = ObjectSchema {
    name: "limits",
    about: "How much of things there may be.",
    others: Others::Refused,
    members: &[
        Member::optional(
            "max_files",
            Form::Whole { min: 1, max: 100 },
            "Files that a task touches; absent is the same as 100.",
        ),
        Member::optional(
            "max_file_bytes",
            Form::Whole { min: 1, max: 50_000_000 },
            "The bytes of one file; absent is the same as 50000000.",
        ),
        Member::optional(
            "max_backup_bytes",
            Form::Whole { min: 1, max: 500_000_000 },
            "The bytes of all backups of a task; absent is the same as 500000000.",
        ),
        Member::optional(
            "max_parallel",
            Form::Whole { min: 1, max: 4 },
            "Actions at once; absent is the same as 4.",
        ),
    ],
};

static ROLLBACK_MANIFEST: ObjectSchema = ObjectSchema {
    name: "a rollback manifest's settings",
    about: "What becomes of rollback manifests.",
    others: Others::Refused,
    members: &[Member::optional(
        "ttl_days",
        Form::Whole { min: 1, max: 3650 },
        "How many days one is kept; absent is the same as for ever.",
    )],
};

static GIT: ObjectSchema = ObjectSchema {
    name: "git settings",
    about: "What becomes of the repository.",
    others: Others::Refused,
    members: &[Member::optional(
        "commit",
        Form::Flag,
        "Whether a run that succeeds is committed; absent is the same as false.",
    )],
};

impl SystemConfig {
    /// Reads a `system_config.yaml`.
    ///
    /// # Errors
    /// [`SystemConfigError`] with all problems, or only the first if the text is not YAML.
    pub fn read(bytes: &[u8]) -> Result<Self, SystemConfigError> {
        read(bytes).map_err(SystemConfigError)
    }

    /// Returns the time limit of an action.
    pub fn timeout(&self, action: &Action) -> Duration {
        action.timeout.unwrap_or_else(|| self.timeouts.of(action.action_type()))
    }
}

impl Timeouts {
    /// Returns the time limit of actions of this type.
    pub fn of(&self, action_type: ActionType) -> Duration {
        match action_type {
            ActionType::FileCreate
            | ActionType::FileModify
            | ActionType::FileDelete
            | ActionType::FileRename => self.file,
            ActionType::SchemaUpdate => self.schema,
            ActionType::SqlExecute => self.sql,
            ActionType::PipelineRun => self.pipeline,
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            file: FILE_TIME.default,
            schema: SCHEMA_TIME.default,
            sql: SQL_TIME.default,
            pipeline: PIPELINE_TIME.default,
            task: TASK_TIME.default,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files_max: FILES_MAX,
            file_bytes_max: FILE_BYTES_MAX,
            backup_bytes_max: BACKUP_BYTES_MAX,
            parallel_max: PARALLEL_MAX,
        }
    }
}

fn read(bytes: &[u8]) -> Result<SystemConfig, Mistakes> {
    reader::check_size(bytes, CONFIG_BYTES_MAX)?;
    // A text of comments only means the defaults. INVARIANT: a config that is read is UTF-8.
    let says_nothing = |line: &[u8]| line.trim_ascii().is_empty() || line.starts_with(b"#");
    let is_text = std::str::from_utf8(bytes).is_ok();
    if is_text && bytes.split(|&byte| byte == b'\n').all(says_nothing) {
        return Ok(SystemConfig::default());
    }
    let node = Node::read(bytes).map_err(Mistakes::of_one)?;
    reader::take_all(bytes, &node.value(), config)
}

fn config(value: &Value<'_>) -> Taken<SystemConfig> {
    let mut fields = reader::object(&SYSTEM_CONFIG, Form::Object(&SYSTEM_CONFIG), value)?;
    fields.optional("format", |form, value| word(form, value, |_| Some(())));
    let soft = fields.optional("soft_constraints", |form, value| {
        inner(form, value, |fields| Some(constraints(fields)))
    });
    let timeouts = fields.optional("timeouts", |form, value| inner(form, value, timeouts));
    let limits = fields.optional("limits", |form, value| inner(form, value, limits));
    let ttl_days = fields.optional("rollback_manifest", |form, value| {
        inner(form, value, |fields| Some(fields.optional("ttl_days", whole::<u32>)))
    });
    let commit = fields.optional("git", |form, value| {
        inner(form, value, |fields| Some(fields.optional("commit", flag)))
    });
    let protected = fields.optional("protected_files", reader::rules);
    fields.finish(Some(SystemConfig {
        constraints: soft.unwrap_or_default().over(Constraints::default()),
        timeouts: timeouts.unwrap_or_default(),
        limits: limits.unwrap_or_default(),
        manifest_ttl: ttl_days.flatten().map(days),
        commit: commit.flatten().unwrap_or_default(),
        protected: protected.unwrap_or_default(),
    }))
}

fn days(days: u32) -> Duration {
    Duration::from_secs(u64::from(days.min(MANIFEST_DAYS_MAX)).saturating_mul(24 * 60 * 60))
}

/// Reads an object inside the config.
fn inner<'v, T>(
    form: Form,
    value: &'v Value<'v>,
    take: impl FnOnce(&mut Fields<'v>) -> Option<T>,
) -> Taken<T> {
    let Form::Object(shape) = form else { return Err(Faults::default()) };
    let mut fields = reader::object(shape, form, value)?;
    let taken = take(&mut fields);
    fields.finish(taken)
}

fn timeouts(fields: &mut Fields<'_>) -> Option<Timeouts> {
    let unsaid = Timeouts::default();
    let mut seconds =
        |name, unsaid| fields.optional(name, whole::<u64>).map_or(unsaid, Duration::from_secs);
    Some(Timeouts {
        file: seconds("file_seconds", unsaid.file),
        schema: seconds("schema_seconds", unsaid.schema),
        sql: seconds("sql_seconds", unsaid.sql),
        pipeline: seconds("pipeline_seconds", unsaid.pipeline),
        task: seconds("task_seconds", unsaid.task),
    })
}

fn limits(fields: &mut Fields<'_>) -> Option<Limits> {
    let unsaid = Limits::default();
    Some(Limits {
        files_max: fields.optional("max_files", whole).unwrap_or(unsaid.files_max),
        file_bytes_max: fields.optional("max_file_bytes", whole).unwrap_or(unsaid.file_bytes_max),
        backup_bytes_max: fields
            .optional("max_backup_bytes", whole)
            .unwrap_or(unsaid.backup_bytes_max),
        parallel_max: fields.optional("max_parallel", whole).unwrap_or(unsaid.parallel_max),
    })
}
