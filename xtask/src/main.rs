//! `cargo xtask`: the project's own tools, one file for each subcommand.

mod bench;
mod crash;
mod fuzz;
mod packages;
mod realworld;
mod test;
mod tidy;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Every subcommand: its name, what it is for, and what runs it.
const SUBCOMMANDS: &[(&str, &str, Run)] = &[
    ("bench", bench::SUMMARY, bench::run),
    ("crash", crash::SUMMARY, crash::run),
    ("fuzz", fuzz::SUMMARY, fuzz::run),
    ("realworld", realworld::SUMMARY, realworld::run),
    ("test", test::SUMMARY, test::run),
    ("tidy", tidy::SUMMARY, tidy::run),
];

/// Gets the root of the repository and the arguments after the subcommand's name. An error is work
/// that could not be done; a subcommand that did its work and found something says so itself.
type Run = fn(&Path, &[String]) -> Outcome;
type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Exit code of a call that names no work.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", usage());
        return ExitCode::from(USAGE);
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some((_, _, run)) = SUBCOMMANDS.iter().find(|(known, ..)| known == name) else {
        eprint!("xtask: there is no subcommand `{name}`\n\n{}", usage());
        return ExitCode::from(USAGE);
    };
    run(&root(), rest).unwrap_or_else(|error| {
        eprintln!("xtask {name}: {error}");
        ExitCode::FAILURE
    })
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask SUBCOMMAND\n\n");
    for (name, summary, _) in SUBCOMMANDS {
        text += &format!("  {name:<9} {summary}\n");
    }
    text
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

/// The refusal of every subcommand that takes no arguments.
fn no_arguments(arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        None => Ok(()),
        Some(first) => Err(format!("takes no arguments, got `{first}`; nothing was run")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_lists_every_subcommand_once() {
        assert_eq!(
            usage(),
            format!(
                "usage: cargo xtask SUBCOMMAND\n\n  bench     {}\n  crash     {}\n  fuzz      {}\n  \
                 realworld {}\n  test      {}\n  tidy      {}\n",
                bench::SUMMARY,
                crash::SUMMARY,
                fuzz::SUMMARY,
                realworld::SUMMARY,
                test::SUMMARY,
                tidy::SUMMARY
            )
        );
    }
}
