//! Limits of envelopes and manifests. Lengths are in characters, as JSON Schema counts them.

/// Largest plan envelope, in bytes: 16 MiB. Its `input` may hold whole files.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest result envelope, in bytes: 16 MiB.
pub const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest `action.json`, in bytes: 1 MiB.
pub const MANIFEST_BYTES_MAX: usize = 1024 * 1024;

/// Longest `actionId`.
pub const ACTION_ID_CHARS_MAX: usize = 256;
/// Longest `reason`.
pub const REASON_CHARS_MAX: usize = 4096;
/// Longest `rollbackPlan` that is a text.
pub const ROLLBACK_PLAN_CHARS_MAX: usize = 65_536;
/// Most commands in one list.
pub const COMMANDS_MAX: usize = 64;
/// Longest command.
pub const COMMAND_CHARS_MAX: usize = 4096;
/// Most paths in one list of a scope.
pub const SCOPE_PATHS_MAX: usize = 4096;
/// Longest path in a scope.
pub const SCOPE_PATH_CHARS_MAX: usize = 4095;

/// Most checks in a result: one for each command, and as many built-in ones.
pub const CHECKS_MAX: usize = 2 * COMMANDS_MAX;
/// Longest name of a check, which may be a whole command.
pub const CHECK_NAME_CHARS_MAX: usize = COMMAND_CHARS_MAX;
/// Longest message of a check, and longest excerpt of its output.
pub const CHECK_TEXT_CHARS_MAX: usize = 65_536;

/// Longest `version` of a package.
pub const VERSION_CHARS_MAX: usize = 64;
/// Longest `description` of a package.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// Most languages of a package's phrases.
pub const PHRASE_LANGUAGES_MAX: usize = 32;
/// Most phrases of a package in one language.
pub const PHRASES_MAX: usize = 16;
/// Longest phrase of a package.
pub const PHRASE_CHARS_MAX: usize = 128;
