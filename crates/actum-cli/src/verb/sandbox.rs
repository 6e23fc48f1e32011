//! `actum sandbox`: runs a command in a sandbox that confines its access and limits its resources.

mod allowed;
mod confinement;
mod detect;
mod failure;
mod limit;
pub(crate) mod policy;
pub(crate) mod program;
pub(crate) mod report;
mod run;

pub(crate) use confinement::Confinement;
pub(crate) use failure::SandboxFailure;
pub(crate) use run::known_host;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;

/// Run a command in a sandbox
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Detect(detect::Arguments),
    Run(Box<run::Arguments>),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Detect(arguments) => detect::run(arguments, session),
        Command::Run(arguments) => run::run(arguments, session),
    }
}
