//! Grounds of access policies.

use serde::{Deserialize, Serialize};

/// One ground of an answer of access policies. In JSON as [`Ground`](super::Ground).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AccessGround {
    /// No policy permits it.
    NotPermitted,
    /// A policy forbids it.
    Forbidden {
        /// Policy.
        policy: AccessPolicyName,
        /// Reason that its author gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A policy permits it.
    Permitted {
        /// Approvals that it needs.
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
        /// Why not.
        problem: EvaluationProblem,
    },
    /// Policies cannot be asked about the change.
    NotAsked {
        /// Why not.
        problem: RequestProblem,
    },
}

/// Name of an access policy: its id or, without one, its number in its file. A built-in one may have neither. Those with an
/// id come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessPolicyName {
    /// Number, counted from 1; absent where there is an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Id that its author gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// File.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Why a policy cannot be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationProblem {
    /// A number becomes too large.
    Overflow,
    /// It names an attribute of another user or workspace.
    OtherEntity,
    /// A function gets an argument that it does not take.
    Function,
    /// It is nested too deeply.
    TooDeep,
    /// A value is of another type.
    Type,
}

/// Why policies cannot be asked about a change; it is denied then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestProblem {
    /// There is no such tier.
    Tier(u8),
    /// It has more paths than policies can be asked about.
    Paths {
        /// How many.
        count: usize,
        /// How many there can be.
        max: usize,
    },
    /// More than a policy can count to.
    Count {
        /// What is counted.
        what: Counted,
        /// How many.
        count: u64,
    },
    /// The request does not match the schema, which would be a defect of actum.
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

/// Why access policies cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessUnknownKind {
    /// This program does not know Cedar.
    NoCedar,
    /// They cannot be read.
    Unreadable,
    /// A path is too long to be seen from a root around the workspace.
    PathTooLong,
}
