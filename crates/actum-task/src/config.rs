//! System config, which contains the operator's settings for the tasks of a project (EX-2, EX-17, EX-19, EX-21).
//!
//! All settings are optional. The config can lower the limits of the seed but never raise them, and can add protected
//! paths but never remove them (D-5).

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
    /// Soft constraints that apply if a plan does not set them.
    pub constraints: Constraints,
    /// Time limits of tasks and their actions.
    pub timeouts: Timeouts,
    /// Limits on the size and number of files and on concurrency.
    pub limits: Limits,
    /// Time for which a rollback manifest is kept, or `None` to keep it forever.
    pub manifest_ttl: Option<Duration>,
    /// Whether a successful run is committed to the project's git repository (EX-17).
    pub commit: bool,
    /// Paths that are protected in addition to the built-in ones.
    pub protected: Vec<PathRule>,
}

/// Time limits of tasks and their actions (seed, 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Time limit of an action on a single file.
    pub file: Duration,
    /// Time limit of an action that updates a schema.
    pub schema: Duration,
    /// Time limit of an SQL step.
    pub sql: Duration,
    /// Time limit of a pipeline run.
    pub pipeline: Duration,
    /// Time limit of an entire task.
    pub task: Duration,
}

/// Limits on the size and number of files and on concurrency (seed, 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of files that a task touches.
    pub files_max: u32,
    /// Maximum size of a file, in bytes.
    pub file_bytes_max: u64,
    /// Maximum total size of the backups of a task, in bytes.
    pub backup_bytes_max: u64,
    /// Maximum number of actions that run concurrently.
    pub parallel_max: u32,
}

/// Error of an invalid system config, with its diagnostics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the system config cannot be used: {0}")]
pub struct SystemConfigError(#[source] pub Mistakes);

const FORMAT: &str = "actum.system-config/1";

/// Schema of the file `system_config.yaml`.
pub(super) static SYSTEM_CONFIG: ObjectSchema = ObjectSchema {
    name: "a system config",
    about: "Settings for the tasks of a project, all of which are optional. A config is rejected if it contains unknown members, repeats a name within an object, or exceeds 256 KiB.",
    others: Others::Refused,
    members: &[
        Member::optional("format", Form::Word(&[FORMAT]), "Format identifier of the document."),
        Member::optional(
            "soft_constraints",
            Form::Object(&SOFT_CONSTRAINTS),
            "Soft constraints that apply if a plan does not set them.",
        ),
        Member::optional(
            "timeouts",
            Form::Object(&TIMEOUTS),
            "Time limits of tasks and their actions.",
        ),
        Member::optional(
            "limits",
            Form::Object(&LIMITS),
            "Limits on the size and number of files and on concurrency.",
        ),
        Member::optional(
            "rollback_manifest",
            Form::Object(&ROLLBACK_MANIFEST),
            "Settings for rollback manifests.",
        ),
        Member::optional("git", Form::Object(&GIT), "Settings for the project's git repository."),
        Member::optional(
            "protected_files",
            Form::Texts {
                of: Text::filled(PATH_BYTES_MAX, Characters::Rule),
                count_max: PROTECTED_RULES_MAX,
            },
            "Rules for paths that are protected in addition to the built-in ones, such as `config/**` or `*.lock`. `*` matches within a name, and `**` matches any number of names.",
        ),
    ],
};

static SOFT_CONSTRAINTS: ObjectSchema = ObjectSchema {
    name: "soft constraints",
    about: "Soft constraints that a plan can override.",
    others: Others::Refused,
    members: &CONSTRAINT_FIELDS,
};

const fn seconds(name: &'static str, max: i64, about: &'static str) -> Member {
    Member::optional(name, Form::Whole { min: 1, max }, about)
}

static TIMEOUTS: ObjectSchema = ObjectSchema {
    name: "timeouts",
    about: "Time limits of tasks and their actions.",
    others: Others::Refused,
    members: &[
        seconds(
            "file_seconds",
            120,
            "Time limit of an action on a single file, in seconds. The default is 30.",
        ),
        seconds(
            "schema_seconds",
            60,
            "Time limit of an action that updates a schema, in seconds. The default is 30.",
        ),
        seconds("sql_seconds", 300, "Time limit of an SQL step, in seconds. The default is 60."),
        seconds(
            "pipeline_seconds",
            3600,
            "Time limit of a pipeline run, in seconds. The default is 300.",
        ),
        seconds(
            "task_seconds",
            3600,
            "Time limit of an entire task, in seconds. The default is 300.",
        ),
    ],
};

static LIMITS: ObjectSchema = ObjectSchema {
    name: "limits",
    about: "Limits on the size and number of files and on concurrency.",
    others: Others::Refused,
    members: &[
        Member::optional(
            "max_files",
            Form::Whole { min: 1, max: 100 },
            "Maximum number of files that a task touches. The default is 100.",
        ),
        Member::optional(
            "max_file_bytes",
            Form::Whole { min: 1, max: 50_000_000 },
            "Maximum size of a file, in bytes. The default is 50000000.",
        ),
        Member::optional(
            "max_backup_bytes",
            Form::Whole { min: 1, max: 500_000_000 },
            "Maximum total size of the backups of a task, in bytes. The default is 500000000.",
        ),
        Member::optional(
            "max_parallel",
            Form::Whole { min: 1, max: 4 },
            "Maximum number of actions that run concurrently. The default is 4.",
        ),
    ],
};

static ROLLBACK_MANIFEST: ObjectSchema = ObjectSchema {
    name: "rollback manifest settings",
    about: "Settings for rollback manifests.",
    others: Others::Refused,
    members: &[Member::optional(
        "ttl_days",
        Form::Whole { min: 1, max: 3650 },
        "Number of days for which a rollback manifest is kept. By default, it is kept forever.",
    )],
};

static GIT: ObjectSchema = ObjectSchema {
    name: "git settings",
    about: "Settings for the project's git repository.",
    others: Others::Refused,
    members: &[Member::optional(
        "commit",
        Form::Flag,
        "Whether a successful run is committed to git. The default is false.",
    )],
};

impl SystemConfig {
    /// Reads the content of a `system_config.yaml` file.
    ///
    /// # Errors
    /// Returns [`SystemConfigError`] with all problems, or only with the first one if the file is not valid YAML.
    pub fn read(bytes: &[u8]) -> Result<Self, SystemConfigError> {
        read(bytes).map_err(SystemConfigError)
    }

    /// Returns the time limit of an action, which is its own timeout or the configured one for its type.
    pub fn timeout(&self, action: &Action) -> Duration {
        action.timeout.unwrap_or_else(|| self.timeouts.of(action.action_type()))
    }
}

impl Timeouts {
    /// Returns the time limit of actions of the given type.
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
    // A config with only comments means the defaults. INVARIANT: a config is accepted only if it is UTF-8.
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

/// Reads an object that is nested in the config.
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
    let defaults = Timeouts::default();
    let mut seconds =
        |name, defaults| fields.optional(name, whole::<u64>).map_or(defaults, Duration::from_secs);
    Some(Timeouts {
        file: seconds("file_seconds", defaults.file),
        schema: seconds("schema_seconds", defaults.schema),
        sql: seconds("sql_seconds", defaults.sql),
        pipeline: seconds("pipeline_seconds", defaults.pipeline),
        task: seconds("task_seconds", defaults.task),
    })
}

fn limits(fields: &mut Fields<'_>) -> Option<Limits> {
    let defaults = Limits::default();
    Some(Limits {
        files_max: fields.optional("max_files", whole).unwrap_or(defaults.files_max),
        file_bytes_max: fields.optional("max_file_bytes", whole).unwrap_or(defaults.file_bytes_max),
        backup_bytes_max: fields
            .optional("max_backup_bytes", whole)
            .unwrap_or(defaults.backup_bytes_max),
        parallel_max: fields.optional("max_parallel", whole).unwrap_or(defaults.parallel_max),
    })
}
