//! The branch that is checked out, and the commit that it is at.

use git2::{Oid, ReferenceType, Repository as Raw};

use crate::problem::{GitProblem, ResultExt};

/// The branch that HEAD names, and its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The whole name of the branch: `refs/heads/main`.
    pub(crate) branch: String,
    /// The commit.
    pub(crate) commit: Oid,
}

const DOING: &str = "reading HEAD";

impl Head {
    pub(crate) fn read(raw: &Raw) -> Result<Self, GitProblem> {
        let head = raw.find_reference("HEAD").doing(DOING)?;
        let Some(branch) = head.symbolic_target().doing(DOING)? else {
            return Err(GitProblem::DetachedHead);
        };
        let branch = branch.to_owned();
        if !branch.starts_with("refs/heads/") {
            return Err(GitProblem::DetachedHead);
        }
        let reference = match raw.find_reference(&branch) {
            Ok(reference) => reference,
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                return Err(GitProblem::UnbornHead { branch: short(&branch) });
            }
            Err(source) => return Err(GitProblem::Git { doing: DOING, source }),
        };
        match (reference.kind(), reference.target()) {
            (Some(ReferenceType::Direct), Some(commit)) => Ok(Self { branch, commit }),
            // A branch that stands for another one: which of them would move is not plain.
            (Some(ReferenceType::Direct | ReferenceType::Symbolic) | None, _) => {
                Err(GitProblem::DetachedHead)
            }
        }
    }

    /// The name of the branch as people write it.
    pub(crate) fn branch_name(&self) -> String {
        short(&self.branch)
    }
}

fn short(branch: &str) -> String {
    branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned()
}
