//! Shared parts of the project's own tools: the path of the repository, cargo, and the packages
//! that they need.

pub mod packages;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Result of a subcommand. An error is work that could not be done; a subcommand that did its work
/// and found something reports that itself.
pub type Outcome = Result<ExitCode, Box<dyn Error>>;

/// The root of the repository.
pub fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// The cargo that runs us, in `directory`.
pub fn cargo(directory: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(directory);
    command
}

/// Runs the command line of a tool, and prints an error under its name.
pub fn run(tool: &str, outcome: Outcome) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("{tool}: {error}");
        ExitCode::FAILURE
    })
}
