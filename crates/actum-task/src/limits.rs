//! Limits of task plans, envelopes and configs. Lengths are in characters, as JSON Schema counts them.

use std::time::Duration;

/// Maximum size of a task plan, in bytes: 100 MiB. It may contain whole files.
pub const PLAN_BYTES_MAX: usize = 100 * 1024 * 1024;
/// Maximum size of a system config, in bytes: 256 KiB.
pub const CONFIG_BYTES_MAX: usize = 256 * 1024;
/// Maximum size of a task envelope, in bytes: 64 KiB.
pub const ENVELOPE_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of a signed task approval, in bytes: 4 MiB. It names each path of the change.
pub const APPROVAL_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of reported problems of one document.
pub const PROBLEMS_MAX: usize = 100;

/// Maximum length of `plan_id` and `task_id` (EX-2).
pub const ID_CHARS_MAX: usize = 128;
/// Maximum length of `action_id`.
pub const ACTION_ID_CHARS_MAX: usize = 128;
/// Maximum length of `description`.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// Maximum number of actions in a plan. The number of files they may touch is a separate limit.
pub const ACTIONS_MAX: usize = 10_000;
/// Maximum number of dependencies of one action: it can depend on all others.
pub const DEPENDENCIES_MAX: usize = ACTIONS_MAX;
/// Maximum number of preconditions of an action, and of its postconditions.
pub const CONDITIONS_MAX: usize = 32;
/// Maximum number of validation rules of a plan.
pub const VALIDATION_RULES_MAX: usize = 256;
/// Maximum number of hunks of one action.
pub const HUNKS_MAX: usize = 10_000;
/// Maximum length of a text in an action: the maximum size of a file.
pub const CONTENT_CHARS_MAX: usize = 50_000_000;
/// Maximum length of a path.
pub const PATH_CHARS_MAX: usize = actum_core::path::PATH_BYTES_MAX;
/// Maximum length of a JSONPath.
pub const SELECTOR_CHARS_MAX: usize = 4096;
/// Maximum length of a property name.
pub const KEY_CHARS_MAX: usize = 4096;
/// Maximum length of a pipeline name.
pub const PIPELINE_CHARS_MAX: usize = 4096;
/// Maximum number of additional protected path rules in a config.
pub const PROTECTED_RULES_MAX: usize = 256;

/// Default and maximum of a time limit (seed, 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// Default time limit.
    pub default: Duration,
    /// Maximum time limit.
    pub max: Duration,
}

/// Limit of an action on one file.
pub const FILE_TIME: TimeLimit = TimeLimit::seconds(30, 120);
/// Limit of an update of a schema.
pub const SCHEMA_TIME: TimeLimit = TimeLimit::seconds(30, 60);
/// Limit of an SQL step.
pub const SQL_TIME: TimeLimit = TimeLimit::seconds(60, 300);
/// Limit of a pipeline run.
pub const PIPELINE_TIME: TimeLimit = TimeLimit::seconds(300, 3600);
/// Limit of a whole task.
pub const TASK_TIME: TimeLimit = TimeLimit::seconds(300, 3600);

/// Maximum number of files that a task may touch (seed, 11.2).
pub const FILES_MAX: u32 = 100;
/// Maximum size of a file, in bytes: the seed's 50 MB, in decimal units.
pub const FILE_BYTES_MAX: u64 = 50_000_000;
/// Maximum size of all backups of a task, in bytes: the seed's 500 MB.
pub const BACKUP_BYTES_MAX: u64 = 500_000_000;
/// Maximum number of concurrent actions.
pub const PARALLEL_MAX: u32 = 4;
/// Maximum retention of a rollback manifest, in days: ten years.
pub const MANIFEST_DAYS_MAX: u32 = 3650;

impl TimeLimit {
    const fn seconds(default: u64, max: u64) -> Self {
        Self { default: Duration::from_secs(default), max: Duration::from_secs(max) }
    }
}
