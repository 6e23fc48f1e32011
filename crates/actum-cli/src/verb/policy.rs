//! `actum policy`: checks, tests and explains the policies that apply to a workspace, and suggests rules.

mod check;
mod explain;
mod suggest;
mod test;

use actum_api::policy::PolicySource;
use actum_gate::policy::Source;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;

/// Check, test and explain the rules that you write in `actum.toml`, and suggest rules
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(check::Arguments),
    Test(test::Arguments),
    Explain(explain::Arguments),
    Suggest(suggest::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Check(arguments) => check::run(arguments, session),
        Command::Test(arguments) => test::run(arguments, session),
        Command::Explain(arguments) => explain::run(arguments, session),
        Command::Suggest(arguments) => suggest::run(arguments, session),
    }
}

/// Converts the source of a policy file to its type in documents.
fn source(source: Source) -> PolicySource {
    match source {
        Source::System => PolicySource::System,
        Source::Operator => PolicySource::Operator,
        Source::Workspace => PolicySource::Workspace,
        Source::Enclosing => PolicySource::Enclosing,
    }
}
