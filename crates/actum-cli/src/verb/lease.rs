//! `actum lease`: manages leases, which give an agent a limited part of its user's rights.

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
/// To use a lease, pass `--lease FILE` to a command that makes a run, or set the variable `ACTUM_LEASE`.
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
