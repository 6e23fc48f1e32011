//! Grounds of access policies.

use serde::{Deserialize, Serialize};

/// Ground of an answer of access policies. In JSON it has the same form as [`Ground`](super::Ground).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AccessGround {
    /// No policy permits the change.
    NotPermitted,
    /// A policy forbids the change.
    Forbidden {
        /// Policy.
        policy: AccessPolicyName,
        /// Reason that its author gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A policy permits the change.
    Permitted {
        /// Number of required approvals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approvals: Option<u32>,
        /// Policy.
        policy: AccessPolicyName,
        /// Reason that its author gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A policy cannot be evaluated.
    NotEvaluated {
        /// Policy.
        policy: AccessPolicyName,
        /// Reason why it cannot be evaluated.
        problem: EvaluationProblem,
    },
    /// Policies cannot be asked about the change.
    NotAsked {
        /// Reason why they cannot be asked.
        problem: RequestProblem,
    },
}

/// Name of an access policy: its id or, without one, its number in its file. A built-in one may have neither.
/// Policies with an id are sorted first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessPolicyName {
    /// Number, counted from 1; absent if there is an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Id that its author gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// File.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Reason why a policy cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationProblem {
    /// A number overflows.
    Overflow,
    /// Policy names an attribute of another user or workspace.
    OtherEntity,
    /// A function gets an argument that it does not accept.
    Function,
    /// Policy is nested too deeply.
    TooDeep,
    /// A value is of the wrong type.
    Type,
}

/// Reason why policies cannot be asked about a change, which is then denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestProblem {
    /// Unknown tier.
    Tier(u8),
    /// More paths than policies can be asked about.
    Paths {
        /// Number of paths.
        count: usize,
        /// Maximum number.
        max: usize,
    },
    /// Number beyond the range of a policy.
    Count {
        /// Counted items.
        what: Counted,
        /// Number of items.
        count: u64,
    },
    /// The request does not match the schema, which would be a bug in actum.
    Schema,
}

/// Number in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Changed files.
    Files,
    /// Added and removed lines.
    Lines,
    /// Deleted files.
    Deletes,
}

/// Reason why access policies cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessUnknownKind {
    /// This program was built without Cedar.
    NoCedar,
    /// Policies cannot be read.
    Unreadable,
    /// A path is too long as seen from an enclosing root.
    PathTooLong,
}
