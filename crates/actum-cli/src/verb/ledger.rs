//! `actum ledger`: shows, verifies, proves and exports the entries of a ledger.

mod checkpoint;
mod export;
mod prove;
mod show;
mod verify;

pub(super) use prove::path;

use actum::{ForgottenRun, forgotten_run};
use actum_core::RunId;
use actum_ledger::{LedgerHome, LedgerView, Log, RunRow, SignedCheckpoint};
use actum_record::ledger::TenantId;
use actum_workspace::View;

use super::Session;
use super::key::existing;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::ledger_failure::LedgerFailure;
use crate::run_prefix::{RunPrefix, newest};
use crate::{home, records};

/// Show, verify, prove and export the entries of the ledger
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Show(show::Arguments),
    Verify(verify::Arguments),
    Prove(prove::Arguments),
    Checkpoint(checkpoint::Arguments),
    Export(export::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Show(arguments) => show::run(arguments, session),
        Command::Verify(arguments) => verify::run(arguments, session),
        Command::Prove(arguments) => prove::run(arguments, session),
        Command::Checkpoint(arguments) => checkpoint::run(arguments, session),
        Command::Export(arguments) => export::run(arguments, session),
    }
}

/// Ledger of a tenant that is open for reading only.
pub(super) struct Opened {
    pub(super) tenant: TenantId,
    pub(super) log: LedgerView,
}

/// Looks in the ledger for the newest run that `actum gc` forgot and whose id begins with `prefix`. Returns `None` if there is no
/// such run or no ledger.
pub(crate) fn forgotten(
    prefix: &RunPrefix,
    session: &Session,
) -> Result<Option<ForgottenRun>, Failure> {
    let Some(opened) = Opened::if_there(&session.tenant)? else { return Ok(None) };
    let (_, keys) = existing()?;
    let found = forgotten_run(&opened.log, keys.keyring(), |_, run| prefix.begins(run));
    Ok(found.map_err(actum::Error::from)?)
}

impl Opened {
    /// Opens the ledger of a tenant, and returns an error if it does not exist.
    pub(super) fn existing(tenant: &Tenant) -> Result<Self, Failure> {
        let (home, id) = (home::path()?, tenant.id()?);
        let none = || LedgerFailure::NoLedger { tenant: id, home };
        Ok(Self::if_there(tenant)?.ok_or_else(none)?)
    }

    /// Opens the ledger of a tenant, or returns `None` if it does not exist.
    pub(super) fn if_there(tenant: &Tenant) -> Result<Option<Self>, Failure> {
        let tenant = tenant.id()?;
        let home = LedgerHome::open_existing(&home::path()?).map_err(actum::Error::from)?;
        let log = home.map(|home| LedgerView::open(&home, &tenant)).transpose();
        Ok(log.map_err(actum::Error::from)?.flatten().map(|log| Self { tenant, log }))
    }

    /// Returns the ledger's record of a run, or of the newest run in this workspace if `run` is `None`. A shortened id is
    /// resolved among the runs of this workspace, whereas a complete id may belong to a different one.
    pub(super) fn run(
        &self,
        run: Option<&RunPrefix>,
        session: &Session,
    ) -> Result<RunRow, Failure> {
        let workspace = || View::open(session.root());
        let run: RunId = match run {
            Some(prefix) => match prefix.whole() {
                Some(run) => run,
                None => prefix.resolve(&workspace()?)?,
            },
            None => newest(&workspace()?)?,
        };
        let row = self.log.run(run).map_err(actum::Error::from)?;
        row.ok_or_else(|| LedgerFailure::NotRecorded { run, tenant: self.tenant.clone() }.into())
    }

    /// Returns a signed checkpoint that covers at least the given number of entries. If it does not exist, signs a new checkpoint
    /// that covers all entries, which requires the checkpoint key, and reopens the log.
    pub(super) fn checkpoint(self, entries: u64) -> Result<(Self, SignedCheckpoint), Failure> {
        let there = self.log.checkpoints(entries, 1).map_err(actum::Error::from)?;
        if let Some(checkpoint) = there.into_iter().next() {
            return Ok((self, checkpoint));
        }
        // Close the log first: SQLite cannot open a database for writing in a process that has it open for reading only.
        let Self { tenant, log } = self;
        drop(log);
        let tenant = Tenant::new(Some(tenant));
        let made =
            records::open(&tenant)?.ledger().checkpoint().wait().map_err(actum::Error::from)?;
        let checkpoint = made.ok_or(LedgerFailure::NoEntry { index: 0, size: 0 })?;
        Ok((Self::existing(&tenant)?, checkpoint))
    }
}

pub(super) fn entries_of(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}
