//! `actum lease`: leases, which let an agent do a part of what its user may do.

mod attenuate;
mod grant;
mod list;
mod new_lease;
mod revoke;
mod show;
mod terms;
mod verify;
mod view;
mod when;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;

/// Grant, narrow, show, check and revoke leases, which limit what an agent may do
///
/// `--lease FILE` or the variable `ACTUM_LEASE` passes a lease to a command that makes a run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Grant(Box<grant::Arguments>),
    Attenuate(Box<attenuate::Arguments>),
    Show(show::Arguments),
    Verify(verify::Arguments),
    List(list::Arguments),
    Revoke(revoke::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Grant(arguments) => grant::run(arguments, session),
        Command::Attenuate(arguments) => attenuate::run(arguments, session),
        Command::Show(arguments) => show::run(arguments, session),
        Command::Verify(arguments) => verify::run(arguments, session),
        Command::List(arguments) => list::run(arguments, session),
        Command::Revoke(arguments) => revoke::run(arguments, session),
    }
}
