//! Hints for inputs.

use actum_edit::format::{Problem, Remedy};

/// Returns the hint for a wrong input.
pub(crate) fn after(problem: &Problem) -> Option<String> {
    let hint = match problem.remedy()? {
        Remedy::RelativePaths => {
            "absolute paths are accepted below the root of the workspace, which `actum status` names; \
             `actum -C DIR apply FILE` changes another workspace"
        }
        Remedy::NameTarget => "`--target FILE` names it",
        Remedy::NoColour => "it is in colour; make the diff with `git diff --no-color`",
        Remedy::NoFences => "give only the text between the fences",
        Remedy::KnownFormat => "`actum help apply` lists the formats",
        Remedy::Recount => {
            "if the diff is complete, `--recount` counts the lines of its hunks anew"
        }
        Remedy::NameFile => {
            "put the path alone on the line before the block or before its fence; a path with blanks between backticks"
        }
        Remedy::OtherFormat => {
            "where such a line belongs to the file, give the change as edits in JSON or as a diff"
        }
        Remedy::WholeInput => {
            "give whole blocks: `<<<<<<< SEARCH`, the lines, `=======`, the new lines, `>>>>>>> REPLACE`"
        }
    };
    Some(hint.to_owned())
}
