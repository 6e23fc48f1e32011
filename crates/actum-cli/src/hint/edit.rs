//! Hints for edits that could not be applied.

use actum_edit::EditError;
use actum_edit::edit::{
    ChunkError, JsonPatchError, JsonValueError, OCCURRENCES_MAX, PathProblem, ReplacementError,
    YamlError,
};

use super::{AMBIGUOUS, AS_A_DIFF, OTHER_CONTENT};

/// Returns the hint for an edit that could not be applied to its file.
pub(super) fn after(error: &EditError) -> &'static str {
    match error {
        EditError::TooMuch { .. } => {
            "combine the edits of a large file into one diff, or split them into several changes"
        }
        EditError::Replace(ReplacementError::Empty) => {
            "to create a file, provide its whole content: `{\"path\": \"FILE\", \"content\": \"…\"}`"
        }
        EditError::Replace(ReplacementError::Same { .. }) => "omit the edit",
        // `replace_all` could not replace that many matches either, so it is not suggested.
        EditError::Replace(ReplacementError::Ambiguous { lines, .. })
            if lines.0.len() > OCCURRENCES_MAX =>
        {
            "include more surrounding text, so that only one place matches"
        }
        EditError::Replace(ReplacementError::TooMany { .. } | ReplacementError::TooMuch { .. }) => {
            AS_A_DIFF
        }
        EditError::Replace(ReplacementError::Ambiguous { .. }) => {
            "include more surrounding text, so that only one place matches, or set `\"replace_all\": true`"
        }
        EditError::Chunk(ChunkError::Ambiguous { .. }) => AMBIGUOUS,
        EditError::Chunk(ChunkError::NoContext { .. }) => {
            "include a line of the file as context, or write `*** End of File` to append at the end"
        }
        EditError::Binary(_) => {
            "apply the diff to the exact version of the file that it was made from"
        }
        EditError::Json(JsonPatchError::NotJson { .. }) => {
            "use an edit or a diff for this file, because a JSON Patch can change only strict JSON"
        }
        EditError::Json(JsonPatchError::TooMany { .. }) => "split the patch",
        EditError::JsonValue(JsonValueError::Path(problem))
        | EditError::Yaml(YamlError::Path(problem)) => of_path(problem),
        EditError::JsonValue(JsonValueError::Exists { .. }) => {
            "update the existing property instead of adding it"
        }
        EditError::Yaml(YamlError::Alias { .. } | YamlError::Anchored { .. }) => {
            "use an edit or a diff to change the value where it is defined, which affects every place that refers to it"
        }
        EditError::JsonValue(JsonValueError::Unproven { .. })
        | EditError::Yaml(
            YamlError::Unproven { .. } | YamlError::Unclear { .. } | YamlError::Tagged { .. },
        ) => AS_A_DIFF,
        EditError::JsonValue(_) | EditError::Yaml(_) | EditError::Lines(_) => OTHER_CONTENT,
        EditError::Json(_) | EditError::Replace(_) | EditError::Chunk(_) => OTHER_CONTENT,
    }
}

fn of_path(problem: &PathProblem) -> &'static str {
    match problem {
        PathProblem::Nothing { .. } | PathProblem::Stops { .. } => {
            "read the file, and use a path that exists in it"
        }
        PathProblem::Several { .. }
        | PathProblem::Repeated { .. }
        | PathProblem::Number { .. }
        | PathProblem::TooMuch { .. } => {
            "use a path of names and indices that selects one place, such as `$.list[0].name`"
        }
        PathProblem::Doubled { .. } => AS_A_DIFF,
    }
}
