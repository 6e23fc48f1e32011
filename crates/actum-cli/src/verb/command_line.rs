//! Definition of the command line: global options and the verb.

mod groups;

use std::path::PathBuf;

use actum_record::ledger::TenantId;
use anstream::ColorChoice;
use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::exit::Exit;
use crate::output::{Detail, Form, Paging, Screen, Verbosity};
use crate::verb::{DescribedVerb, Verb};

/// Applies every change to a directory as a transaction: completely or not at all, durable and undoable
#[derive(Parser)]
#[command(
    name = "actum",
    version,
    after_help = Exit::table(),
    arg_required_else_help = true,
    infer_subcommands = false
)]
pub(crate) struct CommandLine<V: Subcommand = Verb> {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, display_order = 90)]
    pub(crate) directory: Option<PathBuf>,
    /// Write one JSON document to standard output, even for an error; the brief form has only the status, reason, hint,
    /// run, and paths with their new digests
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "full",
        global = true,
        display_order = 91
    )]
    pub(crate) json: Option<Detail>,
    /// Set the use of colours; `auto` colours the output of a capable terminal, unless `NO_COLOR` is set
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t = Color::Auto,
        global = true,
        display_order = 92
    )]
    pub(crate) color: Color,
    /// Write long text to the terminal without a pager
    #[arg(long, global = true, display_order = 93)]
    pub(crate) no_pager: bool,
    /// Do not report successful changes or progress; data, warnings and errors are still printed
    #[arg(long, short, global = true, display_order = 93)]
    pub(crate) quiet: bool,
    /// Use the ledger of the tenant NAME; by default, the tenant is `ACTUM_TENANT`, or else `default`
    #[arg(long, value_name = "NAME", global = true, display_order = 94)]
    pub(crate) tenant: Option<TenantId>,
    #[command(subcommand)]
    pub(crate) verb: V,
}

/// Setting for the use of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl CommandLine {
    /// Returns the command line with the descriptions of all verbs and their arguments.
    pub(crate) fn described() -> Command {
        groups::grouped(CommandLine::<DescribedVerb>::command())
    }

    /// Parses `arguments` with the descriptions of all verbs. Returns the error, or `None` if the arguments are valid.
    pub(crate) fn error(arguments: impl IntoIterator<Item = String>) -> Option<clap::Error> {
        Self::described().try_get_matches_from(arguments).err()
    }

    /// Returns the form and the destinations of results and messages.
    pub(crate) fn screen(&self) -> Screen {
        Screen {
            form: self.json.map_or(Form::Text, Form::Json),
            paging: if self.no_pager { Paging::Never } else { Paging::Auto },
            verbosity: if self.quiet { Verbosity::Quiet } else { Verbosity::Normal },
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
    use super::*;

    /// Page with the help of every command, which `UPDATE_DOCS=1` regenerates.
    const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    const COLUMNS: usize = 90;

    #[test]
    fn command_line_definition_is_valid() {
        CommandLine::described().debug_assert();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test compares or regenerates a file")]
    fn command_line_reference_matches_the_help() {
        let mut command =
            CommandLine::described().term_width(COLUMNS).disable_help_subcommand(true);
        command.build();
        let mut page = String::from(
            "# Command line\n\nThis page lists every command and option, as `actum help COMMAND` shows them.\n",
        );
        let mut add = |title: &str, command: &mut clap::Command| {
            let help = command.render_long_help().to_string();
            let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
            page += &format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
        };
        add("actum", &mut command);
        for verb in command.get_subcommands_mut() {
            let title = format!("actum {}", verb.get_name());
            *verb = verb.clone().term_width(COLUMNS);
            add(&title, verb);
            for part in verb.get_subcommands_mut() {
                *part = part.clone().term_width(COLUMNS);
                add(&format!("{title} {}", part.get_name()), part);
            }
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(REFERENCE, &page).unwrap();
        }
        assert!(
            std::fs::read_to_string(REFERENCE).unwrap_or_default() == page,
            "docs/cli.md differs from the help of the program; regenerate it with UPDATE_DOCS=1"
        );
    }
}
