//! Reads the branch that is checked out, and its commit.

use git2::{Oid, ReferenceType, Repository as Raw};

use crate::problem::{GitProblem, ResultExt};

/// Branch that HEAD refers to, and its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Full name of the branch, such as `refs/heads/main`.
    pub(crate) branch: String,
    /// Commit that the branch points to.
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
            // For a branch that refers to another branch, it is unclear which of the two would move.
            (Some(ReferenceType::Direct | ReferenceType::Symbolic) | None, _) => {
                Err(GitProblem::DetachedHead)
            }
        }
    }

    /// Returns the short name of the branch, such as `main`.
    pub(crate) fn branch_name(&self) -> String {
        short(&self.branch)
    }
}

fn short(branch: &str) -> String {
    branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned()
}
