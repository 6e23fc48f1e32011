//! Limits of access policies.

/// Longest text of all policies, in bytes.
pub const POLICY_BYTES_MAX: usize = 1024 * 1024;

/// Most policies.
pub const POLICIES_MAX: usize = 10_000;

/// Longest `@id` or `@reason`, in bytes.
pub const ANNOTATION_BYTES_MAX: usize = 1000;

/// Deepest nesting of brackets. Cedar's parser takes about four times as many in 2 MiB of stack.
pub const POLICY_NESTING_MAX: usize = 20;

/// Most operators of one policy; each may add a level to its tree. Cedar's validator takes at least three times as
/// many in 2 MiB of stack.
pub const POLICY_OPERATORS_MAX: usize = 250;
