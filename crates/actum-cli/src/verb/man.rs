//! `actum man`: the manual pages.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::CommandFactory;
use serde::Serialize;

use super::Session;
use crate::command_line::CommandLine;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;

/// Write the manual page, or all pages into a directory
///
/// To read one: `actum man | man -l -`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write a page for each command into DIR, which must exist
    #[arg(long = "directory", value_name = "DIR")]
    pages_directory: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Pages {
    Here { page: String },
    Written { pages: Vec<String> },
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let pages = match &arguments.pages_directory {
        None => Pages::Here { page: page() },
        Some(directory) => {
            let directory = session.start.join(directory);
            clap_mangen::generate_to(
                CommandLine::command().disable_help_subcommand(true),
                &directory,
            )
            .map_err(|source| Failure::PageUnwritten { path: directory, source })?;
            let verbs = CommandLine::command();
            let verbs = verbs.get_subcommands().map(|verb| format!("actum-{}.1", verb.get_name()));
            Pages::Written { pages: std::iter::once("actum.1".to_owned()).chain(verbs).collect() }
        }
    };
    session.screen.show(&pages)?;
    Ok(Exit::Success)
}

fn page() -> String {
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    drop(clap_mangen::Man::new(CommandLine::command()).render(&mut page));
    String::from_utf8_lossy(&page).into_owned()
}

impl Document for Pages {
    fn format(&self) -> &'static str {
        "actum.man/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Here { page } => out.write_all(page.as_bytes()),
            Self::Written { pages } => pages.iter().try_for_each(|page| writeln!(out, "{page}")),
        }
    }
}
