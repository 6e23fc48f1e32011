//! Grounds for the decisions of access policies.

use serde::{Deserialize, Serialize};

/// Ground for a decision of the access policies. Its JSON form follows the rules of [`Ground`](super::Ground).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AccessGround {
    /// No access policy permits the change.
    NotPermitted,
    /// An access policy forbids the change.
    Forbidden {
        /// Policy that forbids the change.
        policy: AccessPolicyName,
        /// Reason given by the author of the policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An access policy permits the change.
    Permitted {
        /// Number of approvals that the permit requires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approvals: Option<u32>,
        /// Policy that permits the change.
        policy: AccessPolicyName,
        /// Reason given by the author of the policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An access policy could not be evaluated.
    NotEvaluated {
        /// Policy that could not be evaluated.
        policy: AccessPolicyName,
        /// Reason why the evaluation failed.
        problem: EvaluationProblem,
    },
    /// The access policies cannot be evaluated for this change at all.
    NotAsked {
        /// Reason why no policy can be evaluated.
        problem: RequestProblem,
    },
}

/// Name of an access policy: its id or, without an id, its position in its file. A built-in policy may have
/// neither. Policies with an id are sorted first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessPolicyName {
    /// Position in the file, starting at 1, or `None` if the policy has an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Id given by the author of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the file that contains the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Reason why an access policy could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationProblem {
    /// Computing a number caused an overflow.
    Overflow,
    /// The policy refers to an attribute of a different user or workspace.
    OtherEntity,
    /// A function was called with an argument that it does not accept.
    Function,
    /// The policy is nested too deeply.
    TooDeep,
    /// A value has the wrong type.
    Type,
}

/// Reason why no access policy can be evaluated for a change, which is then denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestProblem {
    /// The risk tier is unknown.
    Tier(u8),
    /// The change has more paths than the policies can be evaluated for.
    Paths {
        /// Number of paths in the change.
        count: usize,
        /// Maximum number of paths.
        max: usize,
    },
    /// A number is too large for the policy language.
    Count {
        /// Kind of item that was counted.
        what: Counted,
        /// Number of items.
        count: u64,
    },
    /// The request does not match the schema of the policies, which is a bug in actum.
    Schema,
}

/// Item whose number is part of an access request.
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

/// Reason why the access policies as a whole cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessUnknownKind {
    /// This program was built without Cedar.
    NoCedar,
    /// The access policies cannot be read.
    Unreadable,
    /// A path is too long relative to an enclosing root.
    PathTooLong,
}
