//! Core actions: one table, in the order in which they are documented.

use std::fmt;

/// Calls a macro with the table of core actions: a variant, its name and its effect in each row.
///
/// A crate that has more to say about each action defines a macro for it, so that a new row cannot be missed.
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
        /// Action that is built in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is documented in docs/actions.md")]
        pub enum CoreAction {
            $($action,)*
        }

        impl CoreAction {
            /// All core actions.
            pub const ALL: &'static [Self] = &[$(Self::$action,)*];

            /// Name in plans and in the catalog.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)*
                }
            }

            /// Effect on the workspace.
            pub fn effect(self) -> CoreEffect {
                match self {
                    $(Self::$action => CoreEffect::$effect,)*
                }
            }
        }

        /// Names of the core actions. No package can have one of these names (AA-9).
        pub const CORE_ACTIONS: [&str; [$($name,)*].len()] = [$($name,)*];
    };
}

/// Effect of a core action on the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreEffect {
    /// Changes files, and can be undone.
    ChangesFiles,
    /// Runs a command and keeps the changes that it makes, which can be undone.
    RunsCommand,
    /// Runs commands and keeps nothing that they change.
    Diagnoses,
}

core_actions!(define);

impl CoreAction {
    /// Reads a name; `None` if it is of no core action.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.as_str() == name)
    }
}

impl fmt::Display for CoreAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
