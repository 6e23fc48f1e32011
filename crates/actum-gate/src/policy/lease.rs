//! Entry points at which a request needs a lease: `[lease]` (D-7).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::diagnostic::Diagnostic;
use super::written::{Secret, Table};

/// Kind of requests for which a policy can require a lease. File tasks always need one (FE-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeasedWork {
    /// `actum apply`, `undo` and `redo`, and the library.
    Apply,
    /// `actum exec`.
    Exec,
    /// The action API.
    Action,
    /// `actum run` and `actum rollback` of task plans.
    Task,
}

impl LeasedWork {
    const ALL: [Self; 4] = [Self::Apply, Self::Exec, Self::Action, Self::Task];

    /// Returns the word used in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Exec => "exec",
            Self::Action => "action",
            Self::Task => "task",
        }
    }

    /// Returns the kind of requests of an entry point; `None` for an unknown one.
    fn of_door(door: &str) -> Option<Self> {
        Some(match door {
            "library" | "command line" => Self::Apply,
            "exec" => Self::Exec,
            "action" => Self::Action,
            "task plan" => Self::Task,
            _ => return None,
        })
    }

    /// Returns true if a policy with these requirements requires a lease at an entry point. An unknown entry
    /// point needs one if any does.
    pub(crate) fn is_required(required: &BTreeSet<Self>, door: &str) -> bool {
        Self::of_door(door).map_or(!required.is_empty(), |work| required.contains(&work))
    }

    /// Reads the table.
    pub(super) fn read(table: Option<Table<'_>>) -> Result<BTreeSet<Self>, Diagnostic> {
        let Some(table) = table else { return Ok(BTreeSet::new()) };
        table.only(&["required"], Secret::No)?;
        let required = table.list("required", "kinds of requests", |value| {
            value.one_of(&Self::ALL, Self::as_str)
        })?;
        Ok(required.unwrap_or_default().into_iter().collect())
    }
}
