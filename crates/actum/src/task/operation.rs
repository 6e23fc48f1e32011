//! Translates the actions of a plan into workspace operations (EX-9, EX-10).

use actum_edit::edit::{
    JsonPath, JsonValueEdit, LineDelete, LineInsert, Occurrences, Replacement, YamlRemove,
    YamlUpdate,
};
use actum_edit::operation::{EmptyParents, ModeChange};
use actum_edit::{Edit, LineHunk, Operation};
use actum_task::{Action, Change, ErrorCode, SchemaChange, StructureEdit, Work};

use super::problem::ActionProblem;

/// Returns the workspace operation for an action. Returns an error for actions that are not file operations.
pub(super) fn from_action(action: &Action) -> Result<Operation, ActionProblem> {
    let (path, expected) = (action.target.clone(), action.expected);
    Ok(match &action.work {
        Work::Create { content, executable } => {
            let content = content.clone().into_bytes();
            let mode = executable.then_some(ModeChange::Executable(true));
            Operation::Create { path, content, mode }
        }
        Work::Modify(Change::Content(content))
        | Work::UpdateSchema(SchemaChange::Content(content)) => {
            Operation::Write { path, content: content.clone().into_bytes(), expected }
        }
        Work::Modify(Change::Hunks(hunks)) => {
            let hunks = hunks.iter().map(LineHunk::from).collect();
            Operation::Patch { path, hunks, expected }
        }
        Work::Modify(Change::ReplaceText { pattern, replacement, count }) => {
            let occurrences = if *count == 1 { Occurrences::One } else { Occurrences::All };
            let (old, new) = (pattern.clone().into_bytes(), replacement.clone().into_bytes());
            let edit = Edit::Replace(Replacement { old, new, occurrences });
            Operation::Edit { path, edit, expected }
        }
        Work::Modify(Change::InsertLines { line, content }) => {
            let content = content.clone().into_bytes();
            let edit = Edit::LineInsert(LineInsert { line_number: *line, content });
            Operation::Edit { path, edit, expected }
        }
        Work::Modify(Change::DeleteLines { start, end }) => {
            let edit = Edit::LineDelete(LineDelete { start_line: *start, end_line: *end });
            Operation::Edit { path, edit, expected }
        }
        Work::Modify(Change::Structure(edit))
        | Work::UpdateSchema(SchemaChange::Structure(edit)) => {
            Operation::Edit { path, edit: structure(edit)?, expected }
        }
        // Only the paths that the plan lists are changed, so a directory that becomes empty is kept.
        Work::Delete => Operation::Delete { path, expected, parents: EmptyParents::Keep },
        Work::Rename { new_path } => {
            Operation::Rename { from: path, to: new_path.clone(), parents: EmptyParents::Keep }
        }
        Work::ExecuteSql(_) | Work::RunPipeline(_) => {
            let message = format!("{} is not available in this build", action.action_type());
            return Err(ActionProblem::new(ErrorCode::NotAvailable, message));
        }
    })
}

fn structure(edit: &StructureEdit) -> Result<Edit, ActionProblem> {
    let place = |path: &actum_task::Selector| {
        JsonPath::new(path.as_str())
            .map_err(|error| ActionProblem::new(ErrorCode::SelectorInvalid, error.to_string()))
    };
    Ok(match edit.clone() {
        StructureEdit::JsonAddProperty { path, key, value } => {
            Edit::JsonValue(JsonValueEdit::AddProperty { path: place(&path)?, key, value })
        }
        StructureEdit::JsonRemoveProperty { path, key } => {
            Edit::JsonValue(JsonValueEdit::RemoveProperty { path: place(&path)?, key })
        }
        StructureEdit::JsonUpdateValue { path, value } => {
            Edit::JsonValue(JsonValueEdit::UpdateValue { path: place(&path)?, value })
        }
        StructureEdit::YamlUpdate { path, document, value } => {
            Edit::Yaml(YamlUpdate { path: place(&path)?, document, value })
        }
        StructureEdit::YamlRemove { path, document } => {
            Edit::YamlRemove(YamlRemove { path: place(&path)?, document })
        }
    })
}
