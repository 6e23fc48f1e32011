//! Maps git problems to the error codes of task reports (EX-18).

use actum_git::GitProblem;
use actum_task::ErrorCode;

/// Returns the error code under which a git problem is reported.
pub(super) fn code_of(problem: &GitProblem) -> ErrorCode {
    match problem {
        // There is no repository that actum can commit to.
        GitProblem::NoRepository { .. }
        | GitProblem::OtherOwner { .. }
        | GitProblem::Unsupported { .. } => ErrorCode::NoRepository,
        GitProblem::Bare { .. } => ErrorCode::BareRepository,
        GitProblem::LinkedWorktree { .. } => ErrorCode::LinkedWorktree,
        GitProblem::DetachedHead => ErrorCode::DetachedHead,
        GitProblem::UnbornHead { .. } => ErrorCode::UnbornHead,
        // Another operation on the repository is in progress.
        GitProblem::InProgress { .. } | GitProblem::HeadMoved { .. } | GitProblem::Busy { .. } => {
            ErrorCode::MergeInProgress
        }
        GitProblem::Shallow { .. } => ErrorCode::ShallowRepository,
        // The commit or the output of `git status` would include changes that are not part of the run.
        GitProblem::Dirty { .. } | GitProblem::Unfit { .. } => ErrorCode::DirtyTarget,
        GitProblem::RevertConflict { .. } | GitProblem::NotOfRun { .. } => {
            ErrorCode::RevertConflict
        }
        GitProblem::NotChecked { .. } => ErrorCode::InternalError,
        GitProblem::Git { .. } | GitProblem::Disk { .. } | GitProblem::NotDurable { .. } => {
            ErrorCode::InputOutput
        }
    }
}

#[cfg(test)]
mod tests {
    use actum_git::Dirt;

    use super::*;

    /// EX-17, EX-18
    #[test]
    fn each_git_problem_has_a_distinct_error_code() {
        let root = || "repository".into();
        let path = actum_core::RelPath::new("a").unwrap();
        for (problem, code) in [
            (GitProblem::NoRepository { root: root() }, ErrorCode::NoRepository),
            (GitProblem::Bare { root: root() }, ErrorCode::BareRepository),
            (GitProblem::LinkedWorktree { root: root() }, ErrorCode::LinkedWorktree),
            (GitProblem::DetachedHead, ErrorCode::DetachedHead),
            (GitProblem::UnbornHead { branch: "main".to_owned() }, ErrorCode::UnbornHead),
            (GitProblem::InProgress { what: "a merge" }, ErrorCode::MergeInProgress),
            (GitProblem::Dirty { path, dirt: Dirt::Content }, ErrorCode::DirtyTarget),
        ] {
            assert_eq!(code_of(&problem), code, "{problem}");
        }
    }
}
