//! Limits of access policies.

/// How long the text of all policies may be.
pub const POLICY_BYTES_MAX: usize = 1024 * 1024;

/// How many policies there may be.
pub const POLICIES_MAX: usize = 10_000;

/// How long an `@id` and a `@reason` may be.
pub const ANNOTATION_BYTES_MAX: usize = 1000;

/// How deep brackets may be nested. Cedar's parser takes about four times as many in 2 MiB of stack.
pub const POLICY_NESTING_MAX: usize = 20;

/// How many operators one policy may have; each may be one more level of its tree. Cedar's validator
/// takes at least three times as many in 2 MiB of stack.
pub const POLICY_OPERATORS_MAX: usize = 250;
