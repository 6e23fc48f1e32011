//! Limits on the size and depth of access policies.

/// Maximum total size of all access policies, in bytes.
pub const POLICY_BYTES_MAX: usize = 1024 * 1024;

/// Maximum number of access policies.
pub const POLICIES_MAX: usize = 10_000;

/// Maximum size of an `@id` or `@reason` annotation, in bytes.
pub const ANNOTATION_BYTES_MAX: usize = 1000;

/// Maximum nesting depth of brackets in a policy. With 2 MiB of stack, Cedar's parser can handle about four times as
/// many levels.
pub const POLICY_NESTING_MAX: usize = 20;

/// Maximum number of operators in a policy. Each operator can add a level to the syntax tree. With 2 MiB of stack,
/// Cedar's validator can handle at least three times as many.
pub const POLICY_OPERATORS_MAX: usize = 250;
