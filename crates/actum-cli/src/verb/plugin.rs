//! `actum plugin`: commands for authors of plugin action packages.

mod failure;
mod lint;
mod new;
pub(crate) mod phrases;
mod test;

pub(crate) use failure::PluginFailure;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;

/// Create, check and test packages of plugin actions
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    New(new::Arguments),
    Lint(lint::Arguments),
    Test(test::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::New(arguments) => new::run(arguments, session),
        Command::Lint(arguments) => lint::run(arguments, session),
        Command::Test(arguments) => test::run(arguments, session),
    }
}
