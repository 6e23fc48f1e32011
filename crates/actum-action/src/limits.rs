//! Limits on envelopes and manifests. Lengths are counted in characters, as in JSON Schema.

/// Maximum size of a plan envelope, in bytes (16 MiB). This is large because `input` may contain whole files.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum size of a result envelope, in bytes (16 MiB).
pub const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum size of `action.json`, in bytes (1 MiB).
pub const MANIFEST_BYTES_MAX: usize = 1024 * 1024;

/// Maximum length of `actionId`.
pub const ACTION_ID_CHARS_MAX: usize = 256;
/// Maximum length of `reason` in a plan envelope.
pub const REASON_CHARS_MAX: usize = 4096;
/// Maximum length of `rollbackPlan` if it is given as text.
pub const ROLLBACK_PLAN_CHARS_MAX: usize = 65_536;
/// Maximum number of commands in a list.
pub const COMMANDS_MAX: usize = 64;
/// Maximum length of a command.
pub const COMMAND_CHARS_MAX: usize = 4096;
/// Maximum number of paths in each list of a scope.
pub const SCOPE_PATHS_MAX: usize = 4096;
/// Maximum length of a path in a scope.
pub const SCOPE_PATH_CHARS_MAX: usize = 4095;

/// Maximum number of checks in a result. It allows one check per command and as many built-in checks.
pub const CHECKS_MAX: usize = 2 * COMMANDS_MAX;
/// Maximum length of the name of a check, which may be a complete command.
pub const CHECK_NAME_CHARS_MAX: usize = COMMAND_CHARS_MAX;
/// Maximum length of a check's message, and of the excerpt of its output.
pub const CHECK_TEXT_CHARS_MAX: usize = 65_536;

/// Maximum length of the `version` of a package.
pub const VERSION_CHARS_MAX: usize = 64;
/// Maximum length of the `description` of a package.
pub const DESCRIPTION_CHARS_MAX: usize = 4096;
/// Maximum number of languages for which a package can define phrases.
pub const PHRASE_LANGUAGES_MAX: usize = 32;
/// Maximum number of phrases that a package can define per language.
pub const PHRASES_MAX: usize = 16;
/// Maximum length of a phrase in a package.
pub const PHRASE_CHARS_MAX: usize = 128;
