//! Number of times that an append waits for the disk, counted with strace.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use super::material::{ledger, started};
use crate::Outcome;
use crate::bench::Failure;
use crate::bench::options::Appender;
use crate::bench::syscalls::{Counts, SYNCS, counts};

const FEW: u64 = 100;
const MANY: u64 = 1100;

/// Counted syncs and system calls.
pub(super) struct Syncs {
    /// Number of syncs for each append, including those for truncating the database's log.
    pub(super) each: BTreeMap<&'static str, f64>,
    /// Number of syncs in a process that appends twice to an existing ledger.
    pub(super) short: BTreeMap<&'static str, f64>,
    /// Number of all system calls for each append.
    pub(super) calls: f64,
}

pub(super) fn measure(directory: &Path) -> Result<Syncs, Failure> {
    drop(super::material::open(directory, actum_ledger::sqlite::SqliteOptions::default())?);
    let short = trace(directory, 2, 0)?;
    let few = trace(directory, FEW, 1_000_000)?;
    let many = trace(directory, MANY, 2_000_000)?;
    let count = |counts: &Counts, name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    let appends = (MANY - FEW) as f64;
    let each = |name| (count(&many, name) - count(&few, name)) / appends;
    let calls = |counts: &Counts| counts.values().sum::<u64>() as f64;
    Ok(Syncs {
        each: SYNCS.into_iter().map(|name| (name, each(name))).collect(),
        short: SYNCS.into_iter().map(|name| (name, count(&short, name))).collect(),
        calls: (calls(&many) - calls(&few)) / appends,
    })
}

fn trace(directory: &Path, appends: u64, first: u64) -> Result<Counts, Failure> {
    let report = directory.with_extension("calls");
    let mut strace = Command::new("strace");
    strace.args(["--follow-forks", "--summary-only", "--output"]).arg(&report).arg("--");
    strace.arg(std::env::current_exe()?).arg("bench-appender").arg(directory);
    strace.args([appends.to_string(), first.to_string()]);
    let output = strace.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("starting `strace`: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stderr = stderr.lines().last().unwrap_or("it said nothing").to_owned();
        return Err(format!("under `strace` ({}): {stderr}", output.status).into());
    }
    Ok(counts(&read_to_string(report)?))
}

pub(crate) fn run(appender: &Appender) -> Outcome {
    let ledger = ledger(&appender.directory);
    for number in appender.first..appender.first + appender.appends {
        ledger.append(vec![started(number)?]).wait()?;
    }
    Ok(ExitCode::SUCCESS)
}
