//! Source of a policy, which is the owner of its file.

use serde::{Deserialize, Serialize};

/// Source of a policy, which determines who can edit it and what it may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// File of the machine's administrator, which can only tighten the rules.
    System,
    /// File of the operator.
    Operator,
    /// File in the workspace.
    Workspace,
    /// File in a directory that encloses the workspace.
    Enclosing,
}

impl Source {
    /// Returns a noun phrase for a policy from this source, for use in sentences.
    pub fn policy(self) -> &'static str {
        match self {
            Self::Operator => "the operator's policy",
            Self::Workspace => "this workspace's policy",
            Self::System => "the policy of this machine",
            Self::Enclosing => "the policy of an enclosing directory",
        }
    }
}
