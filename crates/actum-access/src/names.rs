//! Names that policies can use: the actions, attributes and types of the Cedar schema.

use std::str::FromStr;

use cedar_policy::{EntityId, EntityTypeName, EntityUid, Schema};

use crate::problem::AccessError;

/// Cedar schema that all policies are validated against.
pub(crate) const SCHEMA: &str = include_str!("schema.cedarschema");

/// Attributes of `context`, in alphabetical order.
pub(crate) const CONTEXT: &[&str] =
    &["approvals", "deletes", "directories", "door", "files", "lines", "paths", "tier", "undo"];

/// Attributes of `principal`, in alphabetical order.
pub(crate) const USER: &[&str] = &["agent", "uid"];

/// Attributes of `resource`.
pub(crate) const WORKSPACE: &[&str] = &["tenant"];

/// Action that a request asks to perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessAction {
    /// Change files in the workspace.
    ChangeFiles,
    /// Run a command and capture its changes.
    RunCommand,
    /// Run an action from a catalog or a package.
    RunAction,
}

impl AccessAction {
    /// All actions that policies can name.
    pub const ALL: [Self; 3] = [Self::ChangeFiles, Self::RunCommand, Self::RunAction];

    /// Returns the name of the action in policies, for example `change_files` in `Action::"change_files"`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChangeFiles => "change_files",
            Self::RunCommand => "run_command",
            Self::RunAction => "run_action",
        }
    }
}

/// Cedar schema and the names of its entity types, parsed once.
#[derive(Debug, Clone)]
pub(crate) struct Types {
    pub(crate) schema: Schema,
    pub(crate) user: EntityTypeName,
    pub(crate) workspace: EntityTypeName,
    action: EntityTypeName,
}

impl Types {
    pub(crate) fn new() -> Result<Self, AccessError> {
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA).map_err(AccessError::built_in)?;
        let name = |name| EntityTypeName::from_str(name).map_err(AccessError::built_in);
        Ok(Self {
            schema,
            user: name("User")?,
            workspace: name("Workspace")?,
            action: name("Action")?,
        })
    }

    pub(crate) fn action(&self, action: AccessAction) -> EntityUid {
        EntityUid::from_type_name_and_id(self.action.clone(), EntityId::new(action.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use cedar_policy::SchemaFragment;

    use super::*;

    /// AEC-6: error messages list exactly the names that the schema defines.
    #[test]
    fn listed_names_match_the_schema() {
        let (fragment, _) = SchemaFragment::from_cedarschema_str(SCHEMA).unwrap();
        let schema = &fragment.to_json_value().unwrap()[""];
        let names = |place: &str| -> Vec<String> {
            schema.pointer(place).unwrap().as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(names("/commonTypes/Change/attributes"), CONTEXT);
        assert_eq!(names("/entityTypes/User/shape/attributes"), USER);
        assert_eq!(names("/entityTypes/Workspace/shape/attributes"), WORKSPACE);
        assert_eq!(names("/entityTypes"), ["User", "Workspace"]);
        let mut actions = AccessAction::ALL.map(AccessAction::as_str);
        actions.sort_unstable();
        assert_eq!(names("/actions"), actions);
    }
}
