//! The limits of task plans, envelopes and configs. Lengths are in characters, as JSON Schema counts them.

use std::time::Duration;

/// The largest task plan, in bytes: 100 MiB. It may hold whole files.
pub const PLAN_BYTES_MAX: usize = 100 * 1024 * 1024;
/// The largest system config, in bytes: 256 KiB.
pub const CONFIG_BYTES_MAX: usize = 256 * 1024;
/// The largest task envelope, in bytes: 64 KiB.
pub const ENVELOPE_BYTES_MAX: usize = 64 * 1024;
/// The largest signed approval of a task, in bytes: 4 MiB. It names each path of the change.
pub const APPROVAL_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many problems of one document are told.
pub const PROBLEMS_MAX: usize = 100;

/// The longest `plan_id` and `task_id` (EX-2).
pub const ID_CHARS_MAX: usize = 128;
/// The longest `action_id`.
pub const ACTION_ID_CHARS_MAX: usize = 128;
/// The longest `description`.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// The most actions in a plan. How many files they may touch is another limit.
pub const ACTIONS_MAX: usize = 10_000;
/// The most dependencies of one action: it can wait for all others.
pub const DEPENDENCIES_MAX: usize = ACTIONS_MAX;
/// The most preconditions of an action, and the most postconditions.
pub const CONDITIONS_MAX: usize = 32;
/// The most validation rules of a plan.
pub const VALIDATION_RULES_MAX: usize = 256;
/// The most hunks of one action.
pub const HUNKS_MAX: usize = 10_000;
/// The longest text in an action: as long as a file may be.
pub const CONTENT_CHARS_MAX: usize = 50_000_000;
/// The longest path.
pub const PATH_CHARS_MAX: usize = actum_core::path::PATH_BYTES_MAX;
/// The longest JSONPath.
pub const SELECTOR_CHARS_MAX: usize = 4096;
/// The longest name of a property.
pub const KEY_CHARS_MAX: usize = 4096;
/// The longest name of a pipeline.
pub const PIPELINE_CHARS_MAX: usize = 4096;
/// The most rules for paths that a config protects besides.
pub const PROTECTED_RULES_MAX: usize = 256;

/// How long something may take if nobody says otherwise, and at most (seed, 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit {
    /// What counts where nothing is said.
    pub default: Duration,
    /// The most that can be asked for.
    pub max: Duration,
}

/// An action on one file.
pub const FILE_TIME: TimeLimit = TimeLimit::seconds(30, 120);
/// An update of a schema.
pub const SCHEMA_TIME: TimeLimit = TimeLimit::seconds(30, 60);
/// An SQL step.
pub const SQL_TIME: TimeLimit = TimeLimit::seconds(60, 300);
/// A run of a pipeline.
pub const PIPELINE_TIME: TimeLimit = TimeLimit::seconds(300, 3600);
/// A whole task.
pub const TASK_TIME: TimeLimit = TimeLimit::seconds(300, 3600);

/// The most files that a task may touch (seed, 11.2).
pub const FILES_MAX: u32 = 100;
/// The largest file, in bytes: the seed's 50 MB, counted as written.
pub const FILE_BYTES_MAX: u64 = 50_000_000;
/// The most bytes of backups of a task: the seed's 500 MB.
pub const BACKUP_BYTES_MAX: u64 = 500_000_000;
/// The most actions at once.
pub const PARALLEL_MAX: u32 = 4;
/// The longest that a rollback manifest can be kept, in days: ten years.
pub const MANIFEST_DAYS_MAX: u32 = 3650;

impl TimeLimit {
    const fn seconds(default: u64, max: u64) -> Self {
        Self { default: Duration::from_secs(default), max: Duration::from_secs(max) }
    }
}
