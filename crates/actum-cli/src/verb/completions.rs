//! `actum completions`: a script that completes command lines.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;
use serde::Serialize;

use super::Session;
use crate::command_line::CommandLine;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Document;

/// Write a script that completes the command line in a shell
///
/// For bash: `actum completions bash > ~/.local/share/bash-completion/completions/actum`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "actum", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    session.screen.show(&Script { shell: arguments.shell.to_string(), script })?;
    Ok(Exit::Success)
}

impl Document for Script {
    fn format(&self) -> &'static str {
        "actum.completions/1"
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.script.as_bytes())
    }
}
