//! `cargo xtask fuzz`: runs each fuzz target for a limited time to find inputs that break a rule.
//!
//! libFuzzer generates inputs guided by coverage; the rules of each target are in `actum-testkit`. It starts from `fuzz/corpus` and
//! collects inputs that reach new code in `fuzz/grown`. Inputs that break a rule are saved in `fuzz/artifacts`. Move them to
//! `fuzz/corpus` so that the tests run them again.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::{Outcome, cargo};

/// Version of `cargo-fuzz` to install if it is missing.
const CARGO_FUZZ: &str = "0.13.2";
/// Maximum size of a generated input, in bytes.
const INPUT_BYTES_MAX: u32 = 4096;
/// Limits for one input: time in seconds, and memory in MiB.
const INPUT_SECONDS_MAX: u32 = 20;
const INPUT_MEMORY_MAX: u32 = 2048;

/// Look for inputs that break a rule, for some minutes per target
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Minutes for each target
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Run only this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

/// Result of fuzzing one target.
struct Row {
    target: String,
    executions: Option<u64>,
    found: Found,
}

/// Findings of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Something,
    /// The fuzzer itself did not finish, and saved no input.
    NotRun,
}

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    let mut targets = targets(root)?;
    if let Some(target) = &options.target {
        targets.retain(|known| known == target);
        if targets.is_empty() {
            return Err(format!("there is no target `{target}`; nothing was run").into());
        }
    }
    require_cargo_fuzz(root)?;
    let mut rows = Vec::new();
    for target in targets {
        eprintln!("xtask fuzz: {target}, {} minutes", options.minutes);
        rows.push(fuzz(root, target, options.minutes)?);
    }
    println!("\n{:14} {:>14}  result", "target", "executions");
    for Row { target, executions, found } in &rows {
        let executions = executions.map_or("unknown".to_owned(), |count| count.to_string());
        let result = match found {
            Found::Nothing => "nothing found",
            Found::Something => "A RULE IS BROKEN: see fuzz/artifacts",
            Found::NotRun => "NOT RUN: the messages above say why",
        };
        println!("{target:14} {executions:>14}  {result}");
    }
    let sound = rows.iter().all(|row| row.found == Found::Nothing);
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the targets, which are the directories of the corpus.
fn targets(root: &Path) -> Result<Vec<String>, std::io::Error> {
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(root.join("fuzz/corpus"))? {
        targets.push(entry?.file_name().to_string_lossy().into_owned());
    }
    targets.sort();
    Ok(targets)
}

fn require_cargo_fuzz(root: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let quiet = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    if quiet(cargo(root).args(["fuzz", "--version"])) {
        return Ok(());
    }
    eprintln!("xtask fuzz: installing cargo-fuzz {CARGO_FUZZ} with `cargo install`");
    let installed = cargo(root)
        .args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ])
        .status()?;
    if installed.success() { Ok(()) } else { Err("cargo-fuzz could not be installed".into()) }
}

fn fuzz(root: &Path, target: String, minutes: u64) -> Result<Row, std::io::Error> {
    let kept_before = kept(root, &target)?;
    let (grown, seeds) = (format!("fuzz/grown/{target}"), format!("fuzz/corpus/{target}"));
    std::fs::create_dir_all(root.join(&grown))?;
    let output = cargo(root)
        // The sanitizers need a nightly option of the compiler, but the code is the same.
        .env("RUSTC_BOOTSTRAP", "1")
        // New inputs are written to the first directory. The others are only read.
        .args(["fuzz", "run", "--fuzz-dir", "fuzz", &target, &grown, &seeds, "--"])
        .arg(format!("-max_total_time={}", minutes * 60))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg(format!("-rss_limit_mb={INPUT_MEMORY_MAX}"))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .stdout(Stdio::inherit())
        .stderr(Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let found = match (output.status.success(), kept(root, &target)? > kept_before) {
        (true, _) => Found::Nothing,
        (false, true) => Found::Something,
        (false, false) => Found::NotRun,
    };
    if found != Found::Nothing {
        eprint!("{stderr}");
    }
    Ok(Row { target, executions: executions(&stderr), found })
}

/// Returns the number of saved inputs of a target that broke a rule.
fn kept(root: &Path, target: &str) -> Result<usize, std::io::Error> {
    match std::fs::read_dir(root.join("fuzz/artifacts").join(target)) {
        Ok(entries) => Ok(entries.count()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Returns the number of inputs that were run, from libFuzzer's last message.
fn executions(stderr: &str) -> Option<u64> {
    let line =
        stderr.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execution_count_is_parsed_from_the_final_statistics() {
        let stderr = "Done 12 runs\nstat::number_of_executed_units: 1234\nstat::x: 1\n";
        assert_eq!(executions(stderr), Some(1234));
        assert_eq!(executions("nothing"), None);
    }
}
