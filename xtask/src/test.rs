//! `cargo xtask test`: runs all tests in order and stops at the first step that fails.

mod programs;
mod tally;

use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::artifacts::build_program;
use crate::{Outcome, cargo, packages, tidy};
use tally::Tally;

struct Step {
    name: &'static str,
    work: Work,
    /// Advice for a failure, if reading the output is not enough.
    remedy: Option<&'static str>,
}

enum Work {
    /// Passes if cargo succeeds with these arguments.
    Cargo(&'static [&'static str]),
    /// Passes if cargo succeeds with these arguments. Its test results are counted.
    DocTests(&'static [&'static str]),
    /// Builds a program of the workspace, and passes if the program succeeds with this argument.
    Program(&'static str, &'static str),
    Tidy,
    /// Passes if all test programs of the workspace succeed.
    Tests,
}

/// Steps in order. The tests are last, so that the output ends with their summary.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        work: Work::Cargo(&["fmt", "--all", "--check"]),
        remedy: Some("`cargo fmt --all` mends it"),
    },
    Step {
        name: "lints",
        work: Work::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        remedy: None,
    },
    Step { name: "tidy", work: Work::Tidy, remedy: None },
    Step {
        name: "DuckDB library",
        work: Work::Program("actum-sql-worker", "install"),
        remedy: Some("pip fetches it from PyPI; nothing else installs it for the tests"),
    },
    Step {
        name: "doc-tests",
        work: Work::DocTests(&["test", "--workspace", "--doc", "--no-fail-fast"]),
        remedy: None,
    },
    Step { name: "tests", work: Work::Tests, remedy: None },
];

/// Parts of the Rust toolchain that may be missing from an installation.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

pub(crate) fn run(root: &Path) -> Outcome {
    packages::require("test")?;
    require_components(root)?;

    let mut tally = Tally::default();
    for (index, step) in STEPS.iter().enumerate() {
        eprintln!("[{}/{}] {}: {}", index + 1, STEPS.len(), step.name, step.work);
        let passed = step
            .work
            .passes(root, &mut tally)
            .map_err(|error| format!("the step `{}` ({}): {error}", step.name, step.work))?;
        if !passed {
            let remedy = step.remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
            eprintln!("xtask test: the step `{}` failed ({}){remedy}", step.name, step.work);
            if matches!(step.work, Work::DocTests(_) | Work::Tests) {
                // A test program that does not build or is killed counts as one failed test. Otherwise, the total would look like a
                // success.
                tally.failed = tally.failed.max(1);
                println!("{tally}");
            }
            return Ok(ExitCode::FAILURE);
        }
    }
    if tally.passed == 0 {
        return Err("every step passed, but no test was counted".into());
    }
    println!("{tally}");
    Ok(ExitCode::SUCCESS)
}

impl Work {
    fn passes(&self, root: &Path, tally: &mut Tally) -> Result<bool, Box<dyn std::error::Error>> {
        match self {
            Self::Cargo(arguments) => Ok(cargo(root).args(*arguments).status()?.success()),
            Self::DocTests(arguments) => {
                let mut child = cargo(root).args(*arguments).stdout(Stdio::piped()).spawn()?;
                if let Some(report) = child.stdout.take() {
                    tally.count(BufReader::new(report), io::stdout().lock())?;
                }
                Ok(child.wait()?.success())
            }
            Self::Program(name, argument) => match build_program(root, name)? {
                None => Ok(false),
                Some(program) => {
                    Ok(Command::new(program).current_dir(root).arg(argument).status()?.success())
                }
            },
            Self::Tidy => tidy::is_tidy(root),
            Self::Tests => programs::pass(root, tally),
        }
    }
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cargo(arguments) | Self::DocTests(arguments) => {
                write!(f, "`cargo {}`", arguments.join(" "))
            }
            Self::Program(name, argument) => write!(f, "`{name} {argument}`"),
            Self::Tidy => f.write_str("`cargo xtask tidy`"),
            Self::Tests => f.write_str("`cargo test --workspace --tests`"),
        }
    }
}

fn require_components(root: &Path) -> Result<(), String> {
    for (subcommand, component) in COMPONENTS {
        let there = cargo(root)
            .args([subcommand, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !there {
            return Err(format!(
                "missing: `cargo {subcommand}`. Install with `rustup component add {component}`, or \
                 with the package manager that Rust came from; nothing was run"
            ));
        }
    }
    Ok(())
}
