//! `cargo xtask`: the project's own tools, with one file for each subcommand.
//!
//! It builds in seconds. Subcommands that use the engine itself are in the package `actum-measure`, which is built on demand.

mod artifacts;
mod clients;
mod fuzz;
mod lexer;
mod measure;
mod prose;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::Parser;
use measure::Arguments;
use xtask::{Outcome, cargo, packages, root};

/// The project's own tools
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    /// Measure speed in comparison with alternatives
    #[command(disable_help_flag = true)]
    Bench(Arguments),
    /// Run real agent clients against a mock model: hooks, `protect` and MCP
    #[command(disable_help_flag = true)]
    Clients(Arguments),
    /// Cut the power on real file systems
    #[command(disable_help_flag = true)]
    Crash(Arguments),
    Fuzz(fuzz::Options),
    /// Derive or check the confirmation lexicon
    #[command(disable_help_flag = true)]
    Lexicon(Arguments),
    Prose(prose::Options),
    /// Apply and undo published changes
    #[command(disable_help_flag = true)]
    Realworld(Arguments),
    /// Write or check the published JSON Schemas
    #[command(disable_help_flag = true)]
    Schemas(Arguments),
    /// Count the commits of a history that would need an approval
    #[command(disable_help_flag = true)]
    Share(Arguments),
    /// Run all tests: format, lints, tidy, doc-tests, tests
    Test,
    /// Check the house rules: crate dependencies, files, fences, conformance table, language
    Tidy,
}

fn main() -> ExitCode {
    let root = root();
    let outcome = match CommandLine::parse().work {
        Work::Bench(arguments) => measure::run(&root, "bench", &arguments),
        Work::Crash(arguments) => measure::run(&root, "crash", &arguments),
        Work::Fuzz(options) => fuzz::run(&root, &options),
        Work::Lexicon(arguments) => measure::run(&root, "lexicon", &arguments),
        Work::Clients(arguments) => clients::run(&root, &arguments),
        Work::Prose(options) => prose::run(&root, &options),
        Work::Realworld(arguments) => measure::run(&root, "realworld", &arguments),
        Work::Schemas(arguments) => measure::run(&root, "schemas", &arguments),
        Work::Share(arguments) => measure::run(&root, "share", &arguments),
        Work::Test => test::run(&root),
        Work::Tidy => tidy::run(&root),
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

    #[test]
    fn bench_arguments_are_passed_through_unchanged() {
        let typed = ["xtask", "bench", "--quick", "--help", "ledger"];
        let parsed = CommandLine::try_parse_from(typed).map(|parsed| parsed.work);
        let Ok(Work::Bench(arguments)) = parsed else { panic!() };
        assert_eq!(arguments.as_typed, ["--quick", "--help", "ledger"]);
    }
}
