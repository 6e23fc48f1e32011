//! What can be typed.

use std::path::PathBuf;

use clap::Parser;

use crate::exit::Exit;
use crate::verb::Verb;

/// Makes changes to a directory transactions: applied all or nothing, durable, and undoable
#[derive(Parser)]
#[command(
    name = "actum",
    version,
    after_help = Exit::table(),
    arg_required_else_help = true,
    infer_subcommands = false
)]
pub(crate) struct CommandLine {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, display_order = 90)]
    pub(crate) directory: Option<PathBuf>,
    /// Write one JSON document to standard output, errors included
    #[arg(long, global = true, display_order = 91)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::CommandLine::command().debug_assert();
    }
}
