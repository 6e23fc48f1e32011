//! `cargo xtask`: the project's own tools, one file for each subcommand.

mod bench;
mod crash;
mod fuzz;
mod packages;
mod realworld;
mod schemas;
mod share;
mod test;
mod tidy;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;

/// The project's own tools
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    Bench(bench::Options),
    /// What `bench ledger` starts to watch it from outside
    #[command(hide = true)]
    BenchAppender(bench::Appender),
    /// What `bench` starts to watch it from outside
    #[command(hide = true)]
    BenchChild(bench::Child),
    /// What `bench sandbox` starts to measure as another user
    #[command(hide = true)]
    BenchStarter(bench::Starter),
    Crash(crash::Options),
    /// What `crash` starts to take its power
    #[command(hide = true)]
    CrashWorker(crash::Job),
    Fuzz(fuzz::Options),
    Realworld(realworld::Options),
    Schemas(schemas::Options),
    Share(share::Options),
    /// All tests: format, lints, tidy, doc-tests, tests
    Test,
    /// House rules: crate arrows, files, fences, conformance table
    Tidy,
}

/// An error is work that could not be done; a subcommand that did its work and found something says
/// so itself.
type Outcome = Result<ExitCode, Box<dyn Error>>;

fn main() -> ExitCode {
    // `bench sandbox` starts commands confined, by way of this program.
    actum_sandbox::inside::enter();
    let root = root();
    let outcome = match CommandLine::parse().work {
        Work::Bench(options) => bench::run(&root, &options),
        Work::BenchAppender(appender) => bench::ledger::syncs::run(&appender),
        Work::BenchChild(child) => bench::in_child::run(&child),
        Work::BenchStarter(starter) => bench::sandbox::start::run(&starter),
        Work::Crash(options) => crash::run(&options),
        Work::CrashWorker(job) => crash::worker::run(&job).map(|()| ExitCode::SUCCESS),
        Work::Fuzz(options) => fuzz::run(&root, &options),
        Work::Realworld(options) => realworld::run(&root, &options),
        Work::Schemas(options) => schemas::run(&root, &options),
        Work::Share(options) => share::run(&root, &options),
        Work::Test => test::run(&root),
        Work::Tidy => tidy::run(&root),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error}");
        ExitCode::FAILURE
    })
}

/// The root of the repository.
fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// The cargo that runs us, standing in `directory`.
fn cargo(directory: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(directory);
    command
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        CommandLine::command().debug_assert();
    }
}
