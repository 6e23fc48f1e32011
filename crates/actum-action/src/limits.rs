//! The limits of envelopes and manifests. Lengths are in characters, as JSON Schema counts them.

/// The largest plan envelope, in bytes: 16 MiB. Its `input` may hold whole files.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The largest result envelope, in bytes: 16 MiB.
pub const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The largest `action.json`, in bytes: 1 MiB.
pub const MANIFEST_BYTES_MAX: usize = 1024 * 1024;

/// The longest `actionId`.
pub const ACTION_ID_CHARS_MAX: usize = 256;
/// The longest `reason`.
pub const REASON_CHARS_MAX: usize = 4096;
/// The longest `rollbackPlan` that is a text.
pub const ROLLBACK_PLAN_CHARS_MAX: usize = 65_536;
/// The most commands in one list.
pub const COMMANDS_MAX: usize = 64;
/// The longest command.
pub const COMMAND_CHARS_MAX: usize = 4096;
/// The most paths in one list of a scope.
pub const SCOPE_PATHS_MAX: usize = 4096;
/// The longest path in a scope.
pub const SCOPE_PATH_CHARS_MAX: usize = 4095;

/// The most checks in a result: room for each command, and as many that are built in.
pub const CHECKS_MAX: usize = 2 * COMMANDS_MAX;
/// The longest name of a check, which may be a whole command.
pub const CHECK_NAME_CHARS_MAX: usize = COMMAND_CHARS_MAX;
/// The longest message of a check, and the longest excerpt of what it wrote.
pub const CHECK_TEXT_CHARS_MAX: usize = 65_536;

/// The longest `version` of a package.
pub const VERSION_CHARS_MAX: usize = 64;
/// The longest `description` of a package.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// The most languages of a package's phrases.
pub const PHRASE_LANGUAGES_MAX: usize = 32;
/// The most phrases of a package in one language.
pub const PHRASES_MAX: usize = 16;
/// The longest phrase of a package.
pub const PHRASE_CHARS_MAX: usize = 128;
