//! Subcommands of the package `actum-measure`, which links the whole engine and is built when it is asked for.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::{Outcome, cargo};

/// Arguments for a subcommand of the package.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Its options; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(crate) as_typed: Vec<OsString>,
}

/// Builds the package, and runs one of its subcommands.
pub(crate) fn run(root: &Path, subcommand: &str, arguments: &Arguments) -> Outcome {
    eprintln!(
        "xtask {subcommand}: building `actum-measure` with the engine, some minutes the first time"
    );
    // In the caller's directory, to which paths among the arguments are relative.
    let here =
        std::env::current_dir().map_err(|error| format!("finding this directory: {error}"))?;
    let status = cargo(&here)
        .args(["run", "--package", "actum-measure", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .args(["--", subcommand])
        .args(&arguments.as_typed)
        .status()
        .map_err(|error| format!("starting cargo: {error}; nothing was done"))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
