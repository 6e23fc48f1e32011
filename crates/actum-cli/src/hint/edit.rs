//! Hints for edits.

use actum_edit::EditError;
use actum_edit::edit::{
    ChunkError, JsonPatchError, JsonValueError, OCCURRENCES_MAX, PathProblem, ReplacementError,
    YamlError,
};

use super::{AMBIGUOUS, AS_A_DIFF, OTHER_CONTENT};

/// Returns the hint for an edit that does not fit.
pub(super) fn after(error: &EditError) -> &'static str {
    match error {
        EditError::TooMuch { .. } => {
            "give the edits of a large file as one diff, or in several changes"
        }
        EditError::Replace(ReplacementError::Empty) => {
            "to make a file, give it whole: `{\"path\": \"FILE\", \"content\": \"…\"}`"
        }
        EditError::Replace(ReplacementError::Same { .. }) => "leave the edit out",
        // That many matches cannot be replaced at once either.
        EditError::Replace(ReplacementError::Ambiguous { lines, .. })
            if lines.0.len() > OCCURRENCES_MAX =>
        {
            "give more of the text around it, until there is only one such place"
        }
        EditError::Replace(ReplacementError::TooMany { .. } | ReplacementError::TooMuch { .. }) => {
            AS_A_DIFF
        }
        EditError::Replace(ReplacementError::Ambiguous { .. }) => {
            "give more of the text around it, until there is only one such place, or say \
             `\"replace_all\": true`"
        }
        EditError::Chunk(ChunkError::Ambiguous { .. }) => AMBIGUOUS,
        EditError::Chunk(ChunkError::NoContext { .. }) => {
            "repeat a line of the file as context, or write `*** End of File` to add at the end"
        }
        EditError::Binary(_) => "give the diff to the very file it was made from",
        EditError::Json(JsonPatchError::NotJson { .. }) => {
            "a JSON Patch changes strict JSON alone; change other files by an edit or a diff"
        }
        EditError::Json(JsonPatchError::TooMany { .. }) => "split the patch",
        EditError::JsonValue(JsonValueError::Path(problem))
        | EditError::Yaml(YamlError::Path(problem)) => of_path(problem),
        EditError::JsonValue(JsonValueError::Exists { .. }) => {
            "update the value of the property instead of adding it"
        }
        EditError::Yaml(YamlError::Alias { .. } | YamlError::Anchored { .. }) => {
            "change the value where it is written, by an edit or a diff that shows all places it is for"
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
            "read the file, and give the path of a place that is there"
        }
        PathProblem::Several { .. }
        | PathProblem::Repeated { .. }
        | PathProblem::Number { .. }
        | PathProblem::TooMuch { .. } => {
            "give the path of one place: names and indices, such as `$.list[0].name`"
        }
        PathProblem::Doubled { .. } => AS_A_DIFF,
    }
}
