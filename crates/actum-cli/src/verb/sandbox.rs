//! `actum sandbox`: runs a command confined and limited.

mod failure;
mod limit;
mod policy;
mod program;
mod report;
mod run;

pub(crate) use failure::SandboxFailure;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;

/// Run a command confined and limited
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(Box<run::Arguments>),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, session),
    }
}
