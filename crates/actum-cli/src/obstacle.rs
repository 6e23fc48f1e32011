//! Finds problems because of which every change in a workspace would be rejected.

use std::io::{self, Write};
use std::path::Path;

use actum_api::error::Refusal;

use crate::failure::Failure;
use crate::home::Tenant;
use crate::ledger_queue::Queue;
use crate::{policy, records};

/// Finds the problems because of which every change in the workspace at `root` would be rejected, without creating any
/// files. `ledger` is the ledger in use, if it could be opened.
pub(crate) fn find_all(root: &Path, ledger: Option<&Queue>, tenant: &Tenant) -> Vec<Refusal> {
    let own_root = match ledger {
        Some(ledger) => records::own_root_in(root, ledger),
        None => records::own_root(root, tenant),
    };
    let failures = [own_root.err(), policy::in_force(root).err()];
    let mut found: Vec<Refusal> = Vec::new();
    for failure in failures.into_iter().flatten() {
        let obstacle = refusal(&failure);
        if !found.contains(&obstacle) {
            found.push(obstacle);
        }
    }
    found
}

/// Converts a failure to an entry in a list of refusals.
fn refusal(failure: &Failure) -> Refusal {
    Refusal {
        reason: failure.reason().name().to_owned(),
        message: failure.to_string(),
        hints: failure.hints(),
    }
}

/// Writes the problem and its hints as lines of a list whose titles are `width` characters wide.
pub(crate) fn write(obstacle: &Refusal, out: &mut dyn Write, width: usize) -> io::Result<()> {
    let Refusal { reason, message, hints } = obstacle;
    writeln!(out, "{:width$}  every change is rejected ({reason}): {message}", "unusable")?;
    hints.iter().try_for_each(|hint| writeln!(out, "{:width$}  {hint}", ""))
}
