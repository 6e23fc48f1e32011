//! `actum man`: generates the manual pages.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use actum_api::program;
use clap::Command;
use clap_mangen::Man;

use super::Session;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::home::Tenant;
use crate::output::Document;
use crate::output_file::{Existing, OutputFile};
use crate::own_format;
use crate::verb::command_line::CommandLine;

/// Print the manual page, or write the pages of all commands to a directory
///
/// To read the manual page, run `actum man | man -l -`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write a page for each command into DIR, which must exist
    #[arg(long = "directory", value_name = "DIR")]
    pages_directory: Option<PathBuf>,
    /// Replace existing pages
    #[arg(long, requires = "pages_directory")]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let pages = match &arguments.pages_directory {
        None => program::Man::Page { page: page() },
        Some(directory) => {
            let directory = session.start.join(directory);
            let mut command = CommandLine::described().disable_help_subcommand(true);
            command.build();
            write_pages(command, &directory, Existing::forced(arguments.force), &session.tenant)?;
            let verbs = CommandLine::described();
            let verbs = verbs.get_subcommands().map(|verb| format!("actum-{}.1", verb.get_name()));
            program::Man::Pages {
                pages: std::iter::once("actum.1".to_owned()).chain(verbs).collect(),
            }
        }
    };
    session.screen.show(&pages)?;
    Ok(Exit::Success)
}

/// Writes the manual pages of a command and of all its visible subcommands.
fn write_pages(
    command: Command,
    directory: &Path,
    existing: Existing,
    tenant: &Tenant,
) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below.clone(), directory, existing, tenant)?;
    }
    let man = Man::new(command);
    let path = directory.join(man.get_filename());
    OutputFile::write(&path, existing, &rendered(&man), tenant)
}

fn page() -> String {
    String::from_utf8_lossy(&rendered(&Man::new(CommandLine::described()))).into_owned()
}

/// Renders a manual page, and adds the line that marks the file as output of actum.
fn rendered(man: &Man) -> Vec<u8> {
    let mut page = Vec::new();
    // Writing to a vector cannot fail.
    drop(man.render(&mut page));
    own_format::mark_page(&mut page);
    page
}

impl Document for program::Man {
    type Api = Self;

    fn document(&self) -> impl Borrow<Self> {
        self
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Page { page } => out.write_all(page.as_bytes()),
            Self::Pages { pages } => pages.iter().try_for_each(|page| writeln!(out, "{page}")),
        }
    }
}
