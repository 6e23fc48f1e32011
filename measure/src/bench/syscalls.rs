//! System calls of a run, counted by strace.

use std::collections::BTreeMap;
use std::fs::{read_to_string, write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::contestant::{Programs, Surroundings};
use super::material::Stock;
use super::measurement::{Who, Work};
use super::options::ChildExtent;
use super::{Failure, in_child};

/// System calls that wait for the disk.
pub(super) const SYNCS: [&str; 5] = ["fdatasync", "fsync", "sync", "sync_file_range", "syncfs"];
const FILES: usize = 10;
const MORE_FILES: usize = 20;

/// System calls of one process that applies a change.
#[derive(Debug, PartialEq)]
pub(super) struct Calls {
    pub(super) syncs: Vec<(&'static str, u64)>,
    pub(super) total: u64,
    /// Number of calls for each additional file, with the most frequent calls first.
    pub(super) per_file: Vec<(String, f64)>,
}

pub(super) type Counts = BTreeMap<String, u64>;

/// Returns the counts for the library and for the process, or the reason why they are missing.
pub(super) fn measure(
    directory: &Path,
    programs: &Programs,
    surroundings: &Surroundings,
) -> Vec<(Who, Result<Calls, String>)> {
    let of = |who: Who| {
        let trace = |files| trace(who, files, directory, programs, surroundings);
        let calls = trace(FILES).and_then(|few| Ok(Calls::new(&few, &trace(MORE_FILES)?)));
        (who, calls.map_err(|failure| failure.to_string()))
    };
    vec![of(Who::Library), of(Who::Process)]
}

fn trace(
    who: Who,
    changed: usize,
    directory: &Path,
    programs: &Programs,
    surroundings: &Surroundings,
) -> Result<Counts, Failure> {
    let workspace = directory.join(format!("syscalls-{changed}")).join(who.directory());
    let stock = Stock::of_files(100);
    let change = stock.change(Work::Spread { changed, files: 100 }, 0)?;
    stock.put(&workspace)?;
    drop(who.enter(&workspace, programs, surroundings)?);
    let traced = match (who, &programs.actum) {
        (Who::Process, Ok(actum)) => {
            write(surroundings.diff(), &change.diff)?;
            let mut command = Command::new(actum);
            command.arg("apply").arg(surroundings.diff());
            command
        }
        _ => {
            let input = workspace.with_extension("json");
            write(&input, serde_json::to_vec(&change.change_set)?)?;
            in_child::command(ChildExtent::Apply, &workspace, &input)?
        }
    };
    let report = workspace.with_extension("calls");
    let mut strace = Command::new("strace");
    strace.args(["--follow-forks", "--summary-only", "--output"]).arg(&report).arg("--");
    strace.arg(traced.get_program()).args(traced.get_args());
    strace.current_dir(&workspace).stdin(Stdio::null()).stdout(Stdio::null());
    let output = strace.output().map_err(|error| format!("starting `strace`: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stderr = stderr.lines().last().unwrap_or("it said nothing").to_owned();
        return Err(format!("under `strace` ({}): {stderr}", output.status).into());
    }
    change.check(&workspace, super::material::Expected::After)?;
    Ok(counts(&read_to_string(report)?))
}

impl Calls {
    fn new(few: &Counts, more: &Counts) -> Self {
        let count = |counts: &Counts, name: &str| counts.get(name).copied().unwrap_or(0);
        let syncs = SYNCS.into_iter().map(|name| (name, count(few, name)));
        let further = (MORE_FILES - FILES) as f64;
        let mut per_file: Vec<(String, f64)> = more
            .iter()
            .map(|(name, &calls)| (name, calls.saturating_sub(count(few, name)) as f64 / further))
            .filter(|(_, calls)| *calls >= 0.1)
            .map(|(name, calls)| (name.clone(), calls))
            .collect();
        per_file.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Self {
            syncs: syncs.filter(|(_, calls)| *calls > 0).collect(),
            total: few.values().sum(),
            per_file,
        }
    }
}

/// Parses strace's summary table, whose fourth column is the number of calls and whose last column is their name.
pub(super) fn counts(table: &str) -> Counts {
    let line = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let calls = columns.get(3)?.parse().ok()?;
        let name = columns.last().filter(|name| **name != "total")?;
        Some(((*name).to_owned(), calls))
    };
    table.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_table_is_parsed_with_and_without_errors() {
        let table = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000600          60        10           fdatasync
 40.00    0.000400           4       100        20 openat2
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           9       110        20 total
";
        let few = counts(table);
        assert_eq!(few, [("fdatasync".to_owned(), 10), ("openat2".to_owned(), 100)].into());
        let mut more = few.clone();
        more.insert("openat2".to_owned(), 135);
        more.insert("renameat2".to_owned(), 40);
        assert_eq!(
            Calls::new(&few, &more),
            Calls {
                syncs: vec![("fdatasync", 10)],
                total: 110,
                per_file: vec![("renameat2".to_owned(), 4.0), ("openat2".to_owned(), 3.5)],
            }
        );
    }
}
