//! `actum catalog`: shows the registered actions, and changes their states.

mod change;
mod lint;
mod listed;

use actum::{Catalog, Standing};
use actum_core::ActionName;
use actum_ledger::Log;
use actum_record::keyring::Keyring;
use actum_record::ledger::EntryKind;

use super::Session;
use super::ledger::Opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::trusted::Trusted;

/// List, show and check the actions that agents can request, and activate or retire them
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(ListArguments),
    Show(ShowArguments),
    Lint(lint::Arguments),
    Activate(change::ActivateArguments),
    Retire(change::RetireArguments),
}

/// List the actions of the catalog
///
/// Each line shows the state of an action, its name, the lowest risk tier of its runs, its origin and its purpose. A
/// `DRAFT` action is registered but cannot be used yet, and a `RETIRED` action can no longer be used.
#[derive(clap::Args)]
struct ListArguments {}

/// Show one action of the catalog: its purpose, its input and its output
#[derive(clap::Args)]
struct ShowArguments {
    /// Name of the action, such as `file_modify`
    name: ActionName,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::List(ListArguments {}) => list(session),
        Command::Show(arguments) => show(arguments, session),
        Command::Lint(arguments) => lint::run(arguments, session),
        Command::Activate(arguments) => change::activate(arguments, session),
        Command::Retire(arguments) => change::retire(arguments, session),
    }
}

fn list(session: &Session) -> Result<Exit, Failure> {
    session.screen.show(&listed::all(&in_force(session)?)?)?;
    Ok(Exit::Success)
}

fn show(arguments: &ShowArguments, session: &Session) -> Result<Exit, Failure> {
    let catalog = in_force(session)?;
    let unknown = || actum::CatalogError::Unknown { action: arguments.name.clone() };
    let registered = catalog.find(&arguments.name).ok_or_else(unknown);
    let registered = registered.map_err(actum::Error::from)?;
    session.screen.show(&listed::one(&catalog, registered)?)?;
    Ok(Exit::Success)
}

/// Returns the catalog in force, which consists of the core actions if no catalog is recorded.
fn in_force(session: &Session) -> Result<Catalog, Failure> {
    let catalog = standing(session)?.map_or_else(Catalog::core, Standing::in_force);
    Ok(catalog.map_err(actum::Error::from)?)
}

/// Returns the recorded catalog, or `None` if there is no ledger. Creates nothing.
fn standing(session: &Session) -> Result<Option<Standing>, Failure> {
    let Some(Opened { log, .. }) = Opened::if_there(&session.tenant)? else { return Ok(None) };
    let changes = log.newest_of_kind(EntryKind::CatalogChanged, None, 1);
    // No keys are needed if no change of the catalog is recorded.
    let keyring = match changes.map_err(actum::Error::from)?.is_empty() {
        true => Keyring::new(Vec::new()),
        false => Trusted::own()?.keyring,
    };
    Ok(Some(Standing::read(&log, &keyring).map_err(actum::Error::from)?))
}
