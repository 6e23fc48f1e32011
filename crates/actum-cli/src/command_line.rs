//! What can be typed.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::Parser;

use crate::exit::Exit;
use crate::output::{Form, Paging, Screen};
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
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto, global = true,
        hide_possible_values = false, display_order = 92)]
    pub(crate) color: Color,
    /// Write long text straight to the terminal
    #[arg(long, global = true, display_order = 93)]
    pub(crate) no_pager: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// At a terminal that knows them, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl CommandLine {
    /// Where the results go.
    pub(crate) fn screen(&self) -> Screen {
        Screen {
            form: if self.json { Form::Json } else { Form::Text },
            paging: if self.no_pager { Paging::Never } else { Paging::Auto },
            color: match self.color {
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::CommandLine::command().debug_assert();
    }
}
