//! Shared parts of the project's own tools: the repository path, cargo, and the required packages.

pub mod packages;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Result of a subcommand. An error means that the subcommand could not do its work; findings are reported by the subcommand
/// itself.
pub type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Returns a command that runs the current cargo in `directory`.
pub fn cargo(directory: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(directory);
    command
}

/// Returns the exit code of a tool, after printing any error under its name.
pub fn run(tool: &str, outcome: Outcome) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("{tool}: {error}");
        ExitCode::FAILURE
    })
}
