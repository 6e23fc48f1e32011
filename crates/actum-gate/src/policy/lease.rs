//! Reads which kinds of requests need a lease, as set under `[lease]` (D-7).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Kind of request for which a policy can require a lease. File tasks always need one (FE-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeasedWork {
    /// Changes by `actum apply`, `undo` and `redo`, and by programs that use the library.
    Apply,
    /// Commands that run under `actum exec`.
    Exec,
    /// Actions that are requested through the action API.
    Action,
    /// Task plans that `actum run` executes or `actum rollback` rolls back.
    Task,
}

impl LeasedWork {
    const ALL: [Self; 4] = [Self::Apply, Self::Exec, Self::Action, Self::Task];

    /// Returns the word for this kind of request in a policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Exec => "exec",
            Self::Action => "action",
            Self::Task => "task",
        }
    }

    /// Returns the kind of request that an entry point makes, or `None` for an unknown entry point.
    fn from_entry_point(entry_point: &str) -> Option<Self> {
        Some(match entry_point {
            "library" | "command line" => Self::Apply,
            "exec" => Self::Exec,
            "action" => Self::Action,
            "task plan" => Self::Task,
            _ => return None,
        })
    }

    /// Returns true if a policy with the requirements `required` requires a lease at an entry point. An unknown
    /// entry point needs a lease if any kind of request does.
    pub(crate) fn is_required(required: &BTreeSet<Self>, entry_point: &str) -> bool {
        Self::from_entry_point(entry_point)
            .map_or(!required.is_empty(), |work| required.contains(&work))
    }

    /// Reads the `[lease]` table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<BTreeSet<Self>, Diagnostic> {
        let Some(table) = table else { return Ok(BTreeSet::new()) };
        table.only(&["required"], Secret::No)?;
        let required = table.list("required", "kinds of requests", |value| {
            value.one_of(&Self::ALL, Self::as_str)
        })?;
        Ok(required.unwrap_or_default().into_iter().collect())
    }
}
