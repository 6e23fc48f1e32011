//! `actum gc`: gives back the space of old history.

use std::collections::BTreeSet;
use std::io::{self, Write};

use actum_core::RunId;
use actum_workspace::{GcOptions, GcReport, View, Workspace};
use serde::Serialize;

use super::Session;
use crate::change_list::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;
use crate::records;
use crate::recovery_note;
use crate::run_prefix::RunPrefix;
use crate::size::Size;

/// How much history stays where nothing is said.
const MAX_BYTES: &str = "1G";

/// Forget the oldest runs beyond a limit, which can then no longer be undone
///
/// Also removes what no run needs. The files of the workspace are not touched.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep at most this many runs
    #[arg(long, value_name = "N", default_value_t = GcOptions::default().runs_max)]
    max_runs: usize,
    /// Keep at most this much history: bytes, or `64K`, `500M`, `1G`, which count by 1024
    #[arg(long, value_name = "SIZE", default_value = MAX_BYTES)]
    max_bytes: Size,
    /// Keep this run whatever the limits say
    #[arg(long, value_name = "RUN")]
    protect: Vec<RunPrefix>,
    /// Say what would be forgotten, and forget nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Collected {
    dry_run: bool,
    removed_runs: Vec<RunId>,
    kept_runs: usize,
    freed_bytes: u64,
    kept_bytes: u64,
    removed_files: usize,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut workspace = Workspace::open_existing(session.root())?;
    let view = View::open(session.root())?;
    let protected = arguments.protect.iter().map(|prefix| prefix.resolve(&view));
    let mut protected = protected.collect::<Result<BTreeSet<_>, Failure>>()?;
    // How these ended is known nowhere else until their receipts are written.
    protected.extend(records::open_runs(&view)?);
    let options = GcOptions {
        runs_max: arguments.max_runs,
        bytes_max: arguments.max_bytes.0,
        dry_run: arguments.dry_run,
        protected,
    };
    let report = workspace.gc(&options);
    recovery_note::tell(&session.screen, workspace.recovery());
    let GcReport { removed_runs, kept_runs, freed_bytes, kept_bytes, removed_files } = report?;
    let dry_run = arguments.dry_run;
    session.screen.show(&Collected {
        dry_run,
        removed_runs,
        kept_runs,
        freed_bytes,
        kept_bytes,
        removed_files,
    })?;
    Ok(Exit::Success)
}

impl Document for Collected {
    fn format(&self) -> &'static str {
        "actum.gc/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let verb = if self.dry_run { "would forget" } else { "forgot" };
        for run in &self.removed_runs {
            writeln!(out, "{verb} run {run}")?;
        }
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        writeln!(
            out,
            "{verb} {}, {}; {} of {} stay",
            count(number(self.removed_runs.len()), "run"),
            Size(self.freed_bytes),
            count(number(self.kept_runs), "run"),
            Size(self.kept_bytes)
        )?;
        if self.dry_run {
            writeln!(out, "dry run: nothing was changed")
        } else {
            let left_over = count(number(self.removed_files), "left-over file");
            writeln!(out, "removed {left_over} of actum's own")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_that_of_the_library() {
        assert_eq!(MAX_BYTES.parse(), Ok(Size(GcOptions::default().bytes_max)));
    }
}
