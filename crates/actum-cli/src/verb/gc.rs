//! `actum gc`: removes old history to free disk space.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use actum::Retained;
use actum::task::Backups;
use actum_api::gc::Gc;
use actum_workspace::{GcOptions, GcReport, View, Workspace};

use super::{Session, file};
use crate::count::{count, number};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::operator_key::OperatorKey;
use crate::output::Document;
use crate::run_prefix::RunPrefix;
use crate::size::Size;
use crate::{actor, clock, manifests, policy, records, recovery_note};

/// Forget the oldest runs beyond a limit, so that they can no longer be undone
///
/// Also removes data that no run needs, and the backups of tasks whose rollback manifest has expired. The files in the
/// workspace are not changed. The ledger records which runs were forgotten. Runs that the operator's `[retention]`
/// setting keeps (by default the newest 100 runs and all runs of the last 7 days) are forgotten only with the approval
/// key.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep at most N runs [default: 10000]
    #[arg(long, value_name = "N")]
    max_runs: Option<usize>,
    /// Keep at most SIZE of history, in bytes or with a binary unit such as `64K`, `500M` or `1G` [default: 1G]
    #[arg(long, value_name = "SIZE")]
    max_bytes: Option<Size>,
    /// Keep this run regardless of the limits
    #[arg(long, value_name = "RUN")]
    protect: Vec<RunPrefix>,
    /// Also forget runs that the retention setting keeps; requires the approval key
    #[arg(long, conflicts_with = "dry_run")]
    below_retention: bool,
    /// Read the passphrase of the approval key from FILE; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "below_retention")]
    passphrase_file: Option<PathBuf>,
    /// Report which runs would be forgotten, but do not forget them
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut workspace = records::own_root(session.root(), &session.tenant)?.open_existing()?;
    let view = View::open(session.root())?;
    let protected = arguments.protect.iter().map(|prefix| prefix.resolve(&view));
    let mut protected = protected.collect::<Result<BTreeSet<_>, Failure>>()?;
    // Until the receipt of a run is written, the history holds the only record of its outcome.
    protected.extend(records::open_runs(&view, &session.tenant)?);
    // Recovery references of deleted files point to these runs (FE-10).
    protected.extend(file::pinned_runs(&view, session)?);
    let GcOptions { runs_max, bytes_max, .. } = GcOptions::default();
    let options = GcOptions {
        runs_max: arguments.max_runs.unwrap_or(runs_max),
        bytes_max: arguments.max_bytes.map_or(bytes_max, |size| size.0),
        protected,
        ..GcOptions::default()
    };
    let report = collected(arguments, session, &mut workspace, &options);
    recovery_note::print(&session.screen, workspace.recovery());
    let mut report = report?;
    if !arguments.dry_run {
        let backups = manifests::update(session, Backups::Collect)?;
        report.removed_files += usize::try_from(backups).unwrap_or(usize::MAX);
        report.removed_files += records::sweep_captures(&workspace, &session.tenant)?;
    }
    let retained_runs = &report.retained_runs;
    if !retained_runs.is_empty() && !arguments.below_retention {
        let runs = count(number(retained_runs.len()), "run");
        session.screen.note(format_args!("the retention setting keeps {runs} beyond the limits"));
    }
    session.screen.show(&document(report, arguments.dry_run))?;
    Ok(Exit::Success)
}

/// Converts the report of a garbage collection to its document. In a dry run, nothing was removed.
pub(super) fn document(report: GcReport, dry_run: bool) -> Gc {
    let GcReport { removed_runs, kept_runs, freed_bytes, kept_bytes, removed_files, retained_runs } =
        report;
    Gc {
        dry_run,
        removed_runs,
        kept_runs: number(kept_runs),
        freed_bytes,
        kept_bytes,
        removed_files: number(removed_files),
        retained_runs,
    }
}

/// Removes old runs and unused data. With `--dry-run`, only determines which runs would be removed.
fn collected(
    arguments: &Arguments,
    session: &Session,
    workspace: &mut Workspace,
    options: &GcOptions,
) -> Result<GcReport, Failure> {
    let root = session.root();
    let retention = policy::in_force(root)?.retention;
    let clock = clock::clock();
    // If the user requested a limit that conflicts with the retention, fail. A default limit yields to the retention instead.
    let named = arguments.max_runs.is_some() || arguments.max_bytes.is_some();
    let kept = if named && !arguments.dry_run { Retained::Refuse } else { Retained::Keep };
    if arguments.dry_run {
        return Ok(actum::foresee(workspace, options, (retention, kept), &clock)?);
    }
    let key = match arguments.below_retention {
        true => {
            let question = "Forget runs that the retention setting keeps, so that they can no longer be undone?";
            let key =
                OperatorKey::approval(session, question, arguments.passphrase_file.as_deref())?;
            Some(key)
        }
        false => None,
    };
    let approver = key.as_ref().map(OperatorKey::approver);
    let retained = approver.as_ref().map_or(kept, Retained::Forget);
    let foreseen = actum::foresee(workspace, options, (retention, retained), &clock)?;
    let report = if foreseen.removed_runs.is_empty() {
        // Unused files are removed without a ledger entry, because no run needs them.
        workspace.gc(&GcOptions { only: Some(BTreeSet::new()), ..options.clone() })?
    } else {
        let asked = (retention, retained, actor::from_agent(None));
        records::open_for(root, &session.tenant)?
            .1
            .forget(workspace, root, &foreseen, options, asked)?
    };
    Ok(GcReport { retained_runs: foreseen.retained_runs, ..report })
}

impl Document for Gc {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let verb = if self.dry_run { "would forget" } else { "forgot" };
        for run in &self.removed_runs {
            writeln!(out, "{verb} run {run}")?;
        }
        writeln!(
            out,
            "{verb} {} ({}); {} remaining ({})",
            count(number(self.removed_runs.len()), "run"),
            Size(self.freed_bytes),
            count(self.kept_runs, "run"),
            Size(self.kept_bytes)
        )?;
        if self.dry_run {
            writeln!(out, "dry run: nothing was changed")
        } else {
            let left_over = count(self.removed_files, "unused data file");
            writeln!(out, "removed {left_over}")
        }
    }
}
