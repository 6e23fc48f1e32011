//! `cargo xtask fuzz`: looks for inputs that break a rule, each target for a while.
//!
//! libFuzzer makes the inputs up and is led by coverage; what each target holds is in
//! `actum-testkit`. It starts from `fuzz/corpus` and gathers what reaches new code in `fuzz/grown`.
//! Inputs that break something are kept in `fuzz/artifacts`; they belong into `fuzz/corpus`, which the
//! tests run again.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::{Outcome, cargo};

pub(crate) const SUMMARY: &str =
    "inputs that break a rule: --minutes N for each target [--target NAME]";

/// The version of `cargo-fuzz` that is installed where there is none.
const CARGO_FUZZ: &str = "0.13.2";
const MINUTES_DEFAULT: u64 = 1;
/// The largest input that is made up, in bytes.
const INPUT_BYTES_MAX: u32 = 4096;
/// How long one input may take, in seconds, and how much memory, in MiB.
const INPUT_SECONDS_MAX: u32 = 20;
const INPUT_MEMORY_MAX: u32 = 2048;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    minutes: u64,
    /// `None` for all of them.
    target: Option<String>,
}

/// How the fuzzing of one target ended.
struct Row {
    target: String,
    executions: Option<u64>,
    found: Found,
}

/// Whether a rule was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Something,
    /// The fuzzer itself did not run to its end, and kept no input.
    NotRun,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let options = options(arguments)?;
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

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { minutes: MINUTES_DEFAULT, target: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let value = arguments.next();
            value.ok_or_else(|| format!("`{argument}` needs a value; nothing was run"))
        };
        match argument.as_str() {
            "--minutes" => {
                let text = value()?;
                let minutes = text.parse().ok().filter(|minutes| (1..=1440).contains(minutes));
                options.minutes = minutes.ok_or_else(|| {
                    format!(
                        "`--minutes` wants a number from 1 to 1440, got `{text}`; nothing was run"
                    )
                })?;
            }
            "--target" => options.target = Some(value()?.clone()),
            other => return Err(format!("there is no option `{other}`; nothing was run")),
        }
    }
    Ok(options)
}

/// The targets, which are the directories of the corpus.
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
        // The sanitizers are options of a nightly compiler; the code is the same.
        .env("RUSTC_BOOTSTRAP", "1")
        // New inputs go into the first directory; the others are only read.
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
    let told = String::from_utf8_lossy(&output.stderr);
    let found = match (output.status.success(), kept(root, &target)? > kept_before) {
        (true, _) => Found::Nothing,
        (false, true) => Found::Something,
        (false, false) => Found::NotRun,
    };
    if found != Found::Nothing {
        eprint!("{told}");
    }
    Ok(Row { target, executions: executions(&told), found })
}

/// How many inputs of a target are kept that broke a rule.
fn kept(root: &Path, target: &str) -> Result<usize, std::io::Error> {
    match std::fs::read_dir(root.join("fuzz/artifacts").join(target)) {
        Ok(entries) => Ok(entries.count()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// The number of inputs that were run, by libFuzzer's last words.
fn executions(told: &str) -> Option<u64> {
    let line =
        told.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Options, String> {
        options(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn minutes_and_target_can_be_chosen() {
        assert_eq!(parsed(&[]), Ok(Options { minutes: 1, target: None }));
        let target = Some("json".to_owned());
        let asked = parsed(&["--minutes", "60", "--target", "json"]);
        assert_eq!(asked, Ok(Options { minutes: 60, target }));
        for wrong in [&["--minutes"][..], &["--minutes", "0"], &["--hours", "1"]] {
            assert!(parsed(wrong).unwrap_err().ends_with("nothing was run"));
        }
    }

    #[test]
    fn the_number_of_executions_is_read_from_the_last_words() {
        let told = "Done 12 runs\nstat::number_of_executed_units: 1234\nstat::x: 1\n";
        assert_eq!(executions(told), Some(1234));
        assert_eq!(executions("nothing"), None);
    }
}
