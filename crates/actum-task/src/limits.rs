//! Limits of task plans, envelopes and configs. Lengths are numbers of characters, as in JSON Schema.

use std::time::Duration;

/// Maximum size of a task plan in bytes, 100 MiB. A plan may contain the content of entire files.
pub const PLAN_BYTES_MAX: usize = 100 * 1024 * 1024;
/// Maximum size of a system config in bytes, 256 KiB.
pub const CONFIG_BYTES_MAX: usize = 256 * 1024;
/// Maximum size of a task envelope in bytes, 64 KiB.
pub const ENVELOPE_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of a signed task approval in bytes, 4 MiB. An approval lists every path that the task changes.
pub const APPROVAL_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of problems that are reported for one document.
pub const PROBLEMS_MAX: usize = 100;

/// Maximum length of a `plan_id` or `task_id` (EX-2).
pub const ID_CHARS_MAX: usize = 128;
/// Maximum length of an `action_id`.
pub const ACTION_ID_CHARS_MAX: usize = 128;
/// Maximum length of the `description` of a plan or an action.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// Maximum number of actions in a plan. The number of files that the plan may touch is limited separately.
pub const ACTIONS_MAX: usize = 10_000;
/// Maximum number of dependencies of an action, which is high enough to depend on all other actions.
pub const DEPENDENCIES_MAX: usize = ACTIONS_MAX;
/// Maximum number of preconditions of an action, and also of its postconditions.
pub const CONDITIONS_MAX: usize = 32;
/// Maximum number of validation rules in a plan.
pub const VALIDATION_RULES_MAX: usize = 256;
/// Maximum number of hunks in one action.
pub const HUNKS_MAX: usize = 10_000;
/// Maximum length of a text in an action, such as the new content of a file. It equals the maximum file size in bytes.
pub const CONTENT_CHARS_MAX: usize = 50_000_000;
/// Maximum length of a path in a plan or a config.
pub const PATH_CHARS_MAX: usize = actum_core::path::PATH_BYTES_MAX;
/// Maximum length of a JSONPath.
pub const SELECTOR_CHARS_MAX: usize = 4096;
/// Maximum length of a property name in an edit of JSON.
pub const KEY_CHARS_MAX: usize = 4096;
/// Maximum length of the name of a pipeline.
pub const PIPELINE_CHARS_MAX: usize = 4096;
/// Maximum number of path rules for protected files that a config may add.
pub const PROTECTED_RULES_MAX: usize = 256;

/// Default value and upper bound of a configurable time limit (seed, 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// Time limit that is used if none is configured.
    pub default: Duration,
    /// Highest time limit that can be configured.
    pub max: Duration,
}

/// Time limit of an action that changes one file.
pub const FILE_TIME: TimeLimit = TimeLimit::seconds(30, 120);
/// Time limit of an action that updates a schema.
pub const SCHEMA_TIME: TimeLimit = TimeLimit::seconds(30, 60);
/// Time limit of an action that runs SQL.
pub const SQL_TIME: TimeLimit = TimeLimit::seconds(60, 300);
/// Time limit of an action that runs a pipeline.
pub const PIPELINE_TIME: TimeLimit = TimeLimit::seconds(300, 3600);
/// Time limit of an entire task.
pub const TASK_TIME: TimeLimit = TimeLimit::seconds(300, 3600);

/// Maximum number of files that a task may touch (seed, 11.2).
pub const FILES_MAX: u32 = 100;
/// Maximum size of a file in bytes. The 50 MB of the seed are decimal megabytes.
pub const FILE_BYTES_MAX: u64 = 50_000_000;
/// Maximum total size of the backups of a task in bytes, the 500 MB of the seed.
pub const BACKUP_BYTES_MAX: u64 = 500_000_000;
/// Maximum number of actions that run at the same time.
pub const PARALLEL_MAX: u32 = 4;
/// Maximum number of days for which a rollback manifest can be kept, about ten years.
pub const MANIFEST_DAYS_MAX: u32 = 3650;

impl TimeLimit {
    const fn seconds(default: u64, max: u64) -> Self {
        Self { default: Duration::from_secs(default), max: Duration::from_secs(max) }
    }
}
