//! Runs subcommands of the package `actum-measure`, which links the whole engine and is built on demand.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::Outcome;
use crate::artifacts::build_program;

/// Arguments passed on to a subcommand of `actum-measure`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Options of the subcommand; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(crate) as_typed: Vec<OsString>,
}

/// Builds `actum-measure`, and runs one of its subcommands.
pub(crate) fn run(root: &Path, subcommand: &str, arguments: &Arguments) -> Outcome {
    eprintln!(
        "xtask {subcommand}: building `actum-measure` with the engine, some minutes the first time"
    );
    let Some(program) = build_program(root, "actum-measure")? else {
        return Ok(ExitCode::FAILURE);
    };
    // Runs in the caller's directory, because paths among the arguments are relative to it.
    let status =
        Command::new(&program).arg(subcommand).args(&arguments.as_typed).status().map_err(
            |error| format!("starting `{}`: {error}; nothing was done", program.display()),
        )?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
