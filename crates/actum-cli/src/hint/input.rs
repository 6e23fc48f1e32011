//! Hints for inputs that could not be parsed as a change.

use actum_edit::format::{Problem, Remedy};

/// Returns the hint for an input that could not be parsed, if there is a known remedy.
pub(crate) fn after(problem: &Problem) -> Option<String> {
    let hint = match problem.remedy()? {
        Remedy::RelativePaths => {
            "absolute paths must be below the workspace root, which `actum status` prints; to change a different workspace, \
             run `actum -C DIR apply FILE`"
        }
        Remedy::NameTarget => "pass `--target FILE` to name the file",
        Remedy::NoColour => "the diff contains colour codes; create it with `git diff --no-color`",
        Remedy::NoFences => "provide only the text between the fences",
        Remedy::KnownFormat => "`actum help apply` lists the formats",
        Remedy::Recount => {
            "if the diff is complete, pass `--recount` to recompute the line counts of its hunks"
        }
        Remedy::NameFile => {
            "put only the path on the line before the block or its fence; enclose a path that contains spaces in backticks"
        }
        Remedy::OtherFormat => {
            "if the file really contains such a line, provide the change as JSON edits or as a diff"
        }
        Remedy::WholeInput => {
            "provide whole blocks: `<<<<<<< SEARCH`, the lines, `=======`, the new lines, `>>>>>>> REPLACE`"
        }
    };
    Some(hint.to_owned())
}
