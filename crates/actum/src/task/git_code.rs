//! Error codes of git problems in a task report (EX-18).

use actum_git::GitProblem;
use actum_task::ErrorCode;

/// Returns the code of a problem.
pub(super) fn code_of(problem: &GitProblem) -> ErrorCode {
    match problem {
        // No repository that could be committed to.
        GitProblem::NoRepository { .. }
        | GitProblem::OtherOwner { .. }
        | GitProblem::Unsupported { .. } => ErrorCode::NoRepository,
        GitProblem::Bare { .. } => ErrorCode::BareRepository,
        GitProblem::LinkedWorktree { .. } => ErrorCode::LinkedWorktree,
        GitProblem::DetachedHead => ErrorCode::DetachedHead,
        GitProblem::UnbornHead { .. } => ErrorCode::UnbornHead,
        // Another process is at work in the repository.
        GitProblem::InProgress { .. } | GitProblem::HeadMoved { .. } | GitProblem::Busy { .. } => {
            ErrorCode::MergeInProgress
        }
        GitProblem::Shallow { .. } => ErrorCode::ShallowRepository,
        // The commit, or git's status, would show something other than the run's changes.
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
    fn what_git_refuses_has_a_code_of_its_own_in_the_report() {
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
