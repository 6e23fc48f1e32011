//! Core actions, defined in a single table in the order in which they are documented.

use std::fmt;

/// Calls a macro with the table of core actions, in which each row has a variant, a name and an effect.
///
/// Another crate can define its own macro for this table to add information about each action. The compiler then
/// ensures that a new action is not forgotten there.
#[doc(hidden)]
#[macro_export]
macro_rules! core_actions {
    ($callback:ident) => {
        $callback! {
            ApplyChangeset = "apply_changeset" ChangesFiles,
            FileCreate = "file_create" ChangesFiles,
            FileModify = "file_modify" ChangesFiles,
            FileDelete = "file_delete" ChangesFiles,
            FileRename = "file_rename" ChangesFiles,
            FileCopy = "file_copy" ChangesFiles,
            RunCommand = "run_command" RunsCommand,
            DiagnoseError = "diagnose_error" Diagnoses,
            UndoRun = "undo_run" ChangesFiles,
        }
    };
}

macro_rules! define {
    ($($action:ident = $name:literal $effect:ident,)*) => {
        /// Action that is built into actum.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is documented in docs/actions.md")]
        pub enum CoreAction {
            $($action,)*
        }

        impl CoreAction {
            /// All core actions, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$action,)*];

            /// Returns the name of the action in plans and in the catalog.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)*
                }
            }

            /// Returns the effect of the action on the workspace.
            pub fn effect(self) -> CoreEffect {
                match self {
                    $(Self::$action => CoreEffect::$effect,)*
                }
            }
        }

        /// Names of the core actions, which no package may use as its own name (AA-9).
        pub const CORE_ACTIONS: [&str; [$($name,)*].len()] = [$($name,)*];
    };
}

/// Effect of a core action on the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreEffect {
    /// The action changes files, and can be undone.
    ChangesFiles,
    /// The action runs a command and keeps the command's changes, which can be undone.
    RunsCommand,
    /// The action runs commands and discards all of their changes.
    Diagnoses,
}

core_actions!(define);

impl CoreAction {
    /// Returns the core action with this name. Returns `None` if no core action has this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.as_str() == name)
    }
}

impl fmt::Display for CoreAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
