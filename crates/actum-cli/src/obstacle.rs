//! Conditions under which every change of a workspace is rejected.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
use crate::home::Tenant;
use crate::ledger_queue::Queue;
use crate::{policy, records};

/// A condition under which no change is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Obstacle {
    /// Name of the reason with which changes are rejected.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    hints: Vec<String>,
}

impl Obstacle {
    /// Finds those that a command would meet in the workspace at `root`; makes nothing. `ledger` is the one in use,
    /// where it could be opened.
    pub(crate) fn find_all(root: &Path, ledger: Option<&Queue>, tenant: &Tenant) -> Vec<Self> {
        let own_root = match ledger {
            Some(ledger) => records::own_root_in(root, ledger),
            None => records::own_root(root, tenant),
        };
        let failures = [own_root.err(), policy::in_force(root).err()];
        let mut found: Vec<Self> = Vec::new();
        for failure in failures.into_iter().flatten() {
            let obstacle = Self::from(&failure);
            if !found.contains(&obstacle) {
                found.push(obstacle);
            }
        }
        found
    }

    /// Lines for a list whose titles are `width` characters wide.
    pub(crate) fn write(&self, out: &mut dyn Write, width: usize) -> io::Result<()> {
        let Self { reason, message, hints } = self;
        writeln!(out, "{:width$}  every change is rejected ({reason}): {message}", "unusable")?;
        hints.iter().try_for_each(|hint| writeln!(out, "{:width$}  {hint}", ""))
    }
}

impl From<&Failure> for Obstacle {
    fn from(failure: &Failure) -> Self {
        let reason = failure.reason().name();
        Self { reason, message: failure.to_string(), hints: failure.hints() }
    }
}
