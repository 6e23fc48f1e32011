//! `cargo xtask crash`: cuts the power of real file systems under a worker that uses actum.

mod course;
mod grounds;
mod judge;
mod options;
mod plan;
mod random;
mod running_worker;
mod shaker;
mod tree;
pub(crate) mod worker;

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Outcome, packages};
use clap::ValueEnum;
use course::Tally;
use grounds::{FileSystem, Grounds};
pub(crate) use options::{Job, Options};
use options::{Writer, name};

type Failure = Box<dyn Error>;

/// Environment variable that marks a process as having its own mount namespace.
const OWN_MOUNTS: &str = "ACTUM_CRASH_OWN_MOUNTS";

pub(crate) fn run(options: &Options) -> Outcome {
    packages::require("crash")?;
    if !packages::is_root() {
        return Err(
            "only root can mount file systems and shut them down; nothing was mounted".into()
        );
    }
    if std::env::var_os(OWN_MOUNTS).is_none() {
        return Err(start_with_own_mounts().into());
    }
    let tallies = crash(options)?;
    print!("{}", table(&tallies));
    let refusals: Vec<String> = tallies.iter().filter_map(refusal).collect();
    for refusal in &refusals {
        eprintln!("crash: {refusal}");
    }
    Ok(if refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Replaces this process with one in its own mount namespace (unshare(1)), or returns the reason for a failure. In a shared
/// namespace, another process could copy the mounts. A file system would then remain mounted after its power cut, which looks like
/// data loss.
fn start_with_own_mounts() -> String {
    let failed =
        |error| format!("making a mount namespace with unshare(1): {error}; nothing was mounted");
    match std::env::current_exe() {
        Ok(program) => failed(
            Command::new("unshare")
                .arg("--mount")
                .arg(program)
                .args(std::env::args_os().skip(1))
                .env(OWN_MOUNTS, "1")
                .exec(),
        ),
        Err(error) => failed(error),
    }
}

fn crash(options: &Options) -> Result<Vec<Tally>, Failure> {
    let seed = match options.seed {
        Some(seed) => seed,
        None => u64::from(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos()),
    };
    eprintln!("seed {seed}");
    let grounds = Grounds::make()?;
    let mut tallies = Vec::new();
    for &file_system in FileSystem::value_variants() {
        if options.only.is_some_and(|only| only != file_system) {
            continue;
        }
        eprintln!("{}", name(&file_system));
        tallies.push(course::actum(&grounds, file_system, options.rounds.get(), seed)?);
        tallies.push(course::control(
            &grounds,
            file_system,
            options.rounds.get().div_ceil(2),
            seed,
        )?);
    }
    grounds.clear()?;
    Ok(tallies)
}

/// Returns the reason why the result is not acceptable, if there is one.
fn refusal(tally: &Tally) -> Option<String> {
    let slug = name(&tally.file_system);
    match (tally.writer, tally.violations) {
        (Writer::Actum, 0) => None,
        (Writer::Actum, count) => Some(format!("{count} rounds on {slug} violate FO-2")),
        (Writer::Plain, 0) => {
            Some(format!("on {slug} not even the control lost anything: the cuts prove nothing"))
        }
        (Writer::Plain, _) => None,
    }
}

fn table(tallies: &[Tally]) -> String {
    let mut table = format!(
        "{:<15} {:<7} {:>5} {:>6} {:>6} {:>7} {:>6} {:>11}\n",
        "file system", "writer", "cuts", "kills", "steps", "behind", "mixed", "violations"
    );
    for tally in tallies {
        let Tally { file_system, writer, cuts, kills, steps, behind, mixed, violations } = tally;
        let (slug, writer) = (name(file_system), name(writer));
        table += &format!(
            "{slug:<15} {writer:<7} {cuts:>5} {kills:>6} {steps:>6} {behind:>7} {mixed:>6} \
             {violations:>11}\n"
        );
    }
    table
        + "behind, mixed: cuts that left an older version of the tree, or none, for recovery to put \
           right.\nplain: writes and renames that nobody syncs, which must show violations.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(writer: Writer, violations: usize) -> Tally {
        let (cuts, kills, steps, behind, mixed) = (12, 3, 400, 5, 2);
        let file_system = FileSystem::Ext4;
        Tally { file_system, writer, cuts, kills, steps, behind, mixed, violations }
    }

    /// FO-2
    #[test]
    fn actum_violation_fails_and_so_does_a_control_without_violations() {
        assert_eq!(refusal(&tally(Writer::Actum, 0)), None);
        assert_eq!(refusal(&tally(Writer::Plain, 1)), None);
        assert!(refusal(&tally(Writer::Actum, 1)).is_some());
        assert!(refusal(&tally(Writer::Plain, 0)).is_some());
    }

    #[test]
    fn crash_table_columns_are_aligned() {
        let table = table(&[tally(Writer::Actum, 0)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "file system     writer   cuts  kills  steps  behind  mixed  violations",
                "ext4            actum      12      3    400       5      2           0",
            ]
        );
    }
}
