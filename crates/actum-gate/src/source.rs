//! Source of a policy: whose file it is.

use serde::{Deserialize, Serialize};

/// Owner of a policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The file of the machine's administrator, which only tightens.
    System,
    /// The operator's own file.
    Operator,
    /// The file in the workspace.
    Workspace,
    /// A file in a directory that the workspace lies in.
    Enclosing,
}

impl Source {
    /// The policy, in words.
    pub fn policy(self) -> &'static str {
        match self {
            Self::Operator => "the operator's policy",
            Self::Workspace => "this workspace's policy",
            Self::System => "the policy of this machine",
            Self::Enclosing => "the policy of an enclosing directory",
        }
    }
}
