//! Options of `cargo xtask bench`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Measure speed and memory beside alternatives; writes docs/benchmarks.md, or the page of its
/// subject
///
/// A run with neither --quick nor --only writes its page. As root it also measures changes on ext4
/// with a journal and on xfs, loop-mounted from files that are removed at the end, and the sandbox
/// as an ordinary user.
#[derive(Args)]
pub(crate) struct Options {
    /// Subject of the measurement
    #[arg(value_enum, default_value_t = Subject::Changes)]
    pub(super) subject: Subject,
    /// Few rounds, on the machine's own file system alone
    #[arg(long)]
    pub(super) quick: bool,
    /// Exactly N rounds of each work, instead of as many as the time allows
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<NonZeroUsize>,
    /// Only works whose name contains PATTERN, such as `own/10-of-10000`, `ext4/`, `/50-mb`,
    /// `/size`, `syscalls`, `memory`; of the sandbox `start`, `view`, `build`, `exec`, `action`; of
    /// tasks `ten`, `hundred`, `edit`, `lint`, `memory`; of file `small`, `again`, `lease`, `copy`,
    /// `memory`; of agent `dispatch`, `replay`, `process`; of hooks `event`, `turn`, `mcp`; of the
    /// ledger `append`, `clients`, `length`, `pages`, `verify`, `log`, `syncs`, `slowest`
    #[arg(long, value_name = "PATTERN")]
    pub(super) only: Option<String>,
    /// Time in which 64 clients of the ledger append
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(super) seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Subject {
    /// Applying and reverting, beside git and patch
    Changes,
    /// Appending to a ledger, beside the same without a Merkle tree; verifying it
    Ledger,
    /// Deciding about a change, beside hashing the same content
    Gates,
    /// Running a command confined, beside running it plainly and in bubblewrap
    Sandbox,
    /// Carrying out task plans, beside git
    Tasks,
    /// Carrying out file tasks, beside `actum apply` and cp
    File,
    /// Dispatching goals of agents, beside `actum action run`
    Agent,
    /// Hooks of agents' clients, beside `true` and `git status`; calls of the MCP server
    #[value(alias = "agents")]
    Hooks,
}

/// Process that starts `true` in many ways and reports the time of each.
#[derive(Args)]
pub(crate) struct Starter {
    pub(super) rounds: NonZeroUsize,
}

/// Process that appends to a ledger while it is observed.
#[derive(Args)]
pub(crate) struct Appender {
    /// Existing directory of the ledger.
    pub(super) directory: PathBuf,
    /// Number of appends.
    pub(super) appends: u64,
    /// Number of the first run.
    pub(super) first: u64,
}

/// Process that is measured from outside.
#[derive(Args)]
pub(crate) struct Child {
    pub(super) extent: ChildExtent,
    pub(super) workspace: PathBuf,
    /// Path of the JSON file with the change set.
    pub(super) change_set: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ChildExtent {
    Apply,
    ApplyAndRevert,
}

impl Options {
    /// Returns the requested number of rounds, or the default for a full or a quick run.
    pub(super) fn rounds(&self, full: usize, quick: usize) -> usize {
        let usual = if self.quick { quick } else { full };
        self.rounds.map_or(usual, NonZeroUsize::get)
    }

    /// Returns true if the options select the work of this name.
    pub(super) fn selects(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| name.contains(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_selects_by_part_of_the_name() {
        let only = Some("ext4/".to_owned());
        let options =
            Options { subject: Subject::Changes, quick: false, rounds: None, only, seconds: 1 };
        assert!(options.selects("ext4/10-of-10000"));
        assert!(!options.selects("own/10-of-10000"));
    }
}
