//! Measurements and trials of the engine itself, with one file for each subcommand of `cargo xtask`.

mod bench;
mod crash;
mod lexicon;
mod realworld;
mod schemas;
mod share;

use std::process::ExitCode;

use clap::Parser;
use xtask::{Outcome, cargo, packages, root};

/// Measure and try out the engine itself
#[derive(Parser)]
#[command(name = "actum-measure", bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    Bench(bench::Options),
    /// Append for `bench ledger`, which watches this process from outside
    #[command(hide = true)]
    BenchAppender(bench::Appender),
    /// Work for `bench`, which watches this process from outside
    #[command(hide = true)]
    BenchChild(bench::Child),
    /// Start commands for `bench sandbox` as another user
    #[command(hide = true)]
    BenchStarter(bench::Starter),
    Crash(crash::Options),
    /// Write for `crash`, which cuts the power of this process
    #[command(hide = true)]
    CrashWorker(crash::Job),
    Lexicon(lexicon::Options),
    Realworld(realworld::Options),
    Schemas(schemas::Options),
    Share(share::Options),
}

fn main() -> ExitCode {
    // `bench sandbox` starts confined commands through this program.
    actum_sandbox::inside::enter();
    let root = root();
    let outcome = match CommandLine::parse().work {
        Work::Bench(options) => bench::run(&root, &options),
        Work::BenchAppender(appender) => bench::ledger::syncs::run(&appender),
        Work::BenchChild(child) => bench::in_child::run(&child),
        Work::BenchStarter(starter) => bench::sandbox::start::run(&starter),
        Work::Crash(options) => crash::run(&options),
        Work::CrashWorker(job) => crash::worker::run(&job).map(|()| ExitCode::SUCCESS),
        Work::Lexicon(options) => lexicon::run(&root, &options),
        Work::Realworld(options) => realworld::run(&root, &options),
        Work::Schemas(options) => schemas::run(&root, &options),
        Work::Share(options) => share::run(&root, &options),
    };
    xtask::run("xtask", outcome)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        CommandLine::command().debug_assert();
    }
}
