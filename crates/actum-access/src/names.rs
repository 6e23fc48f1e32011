//! Names in policies: actions, attributes and types of the schema.

use std::str::FromStr;

use cedar_policy::{EntityId, EntityTypeName, EntityUid, Schema};

use crate::problem::AccessError;

/// Schema of the policies.
pub(crate) const SCHEMA: &str = include_str!("schema.cedarschema");

/// Attributes of `context`, sorted.
pub(crate) const CONTEXT: &[&str] =
    &["approvals", "deletes", "directories", "door", "files", "lines", "paths", "tier", "undo"];

/// Attributes of `principal`, sorted.
pub(crate) const USER: &[&str] = &["agent", "uid"];

/// Attributes of `resource`.
pub(crate) const WORKSPACE: &[&str] = &["tenant"];

/// Requested action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessAction {
    /// Change files.
    ChangeFiles,
    /// Run a command, whose changes are captured.
    RunCommand,
    /// Run an action of a catalog or a package.
    RunAction,
}

impl AccessAction {
    /// All actions.
    pub const ALL: [Self; 3] = [Self::ChangeFiles, Self::RunCommand, Self::RunAction];

    /// Returns the name in policies: `Action::"change_files"`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChangeFiles => "change_files",
            Self::RunCommand => "run_command",
            Self::RunAction => "run_action",
        }
    }
}

/// Schema and its names, read once.
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

    /// AEC-6: the names in error messages are the names of the schema.
    #[test]
    fn the_names_that_are_told_are_those_of_the_schema() {
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
