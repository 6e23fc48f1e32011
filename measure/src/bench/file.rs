//! `cargo xtask bench file`: compares file tasks with `actum apply` and cp, interleaved in a single run, and measures
//! the verification of a lease.

mod again;
mod copy;
mod executor;
mod lease;
mod memory;
mod page;
mod small;

use std::path::{Path, PathBuf};

use super::contest::Contest;
use super::machine::Machine;
use super::options::Options;
use super::place::Grounds;
use super::{Failure, at_known_home, finish, known_configuration, take_precedence};
use crate::{Outcome, packages};
use executor::Executor;
use memory::Peak;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-file.md";

/// Results of the file benchmark.
struct Results {
    machine: Machine,
    contests: Vec<Contest>,
    peaks: Vec<Peak>,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("bench file")?;
    let Some(configuration) = known_configuration() else { return at_known_home() };
    take_precedence();
    let program = super::build_actum(root)?;
    let grounds = Grounds::make()?;
    let results = measure(options, program, &configuration, &grounds);
    eprintln!("removing what was made");
    grounds.clear()?;
    let results = results?;
    if results.contests.is_empty() && results.peaks.is_empty() {
        return Err("the pattern selects nothing; nothing was measured".into());
    }
    let text = page::render(&results);
    finish(root, PAGE, &text, options)
}

fn measure(
    options: &Options,
    program: PathBuf,
    configuration: &Path,
    grounds: &Grounds,
) -> Result<Results, Failure> {
    let mut results =
        Results { machine: Machine::this(&["cp"]), contests: Vec::new(), peaks: Vec::new() };
    let executor = Executor::make(&grounds.home()?, program, configuration)?;
    if options.selects("small") {
        eprintln!("moving, copying and deleting a file");
        results.contests.push(small::contest(&executor, options.rounds(101, 9))?);
    }
    if options.selects("again") {
        eprintln!("asking for a task again");
        results.contests.push(again::contest(&executor, options.rounds(101, 9))?);
    }
    if options.selects("lease") {
        eprintln!("verifying leases");
        results.contests.push(lease::contest(&executor, options.rounds(1001, 51))?);
    }
    if options.selects("copy") {
        let megabytes = if options.quick { 100 } else { 1000 };
        eprintln!("copying files of {megabytes} MB");
        results.contests.extend(copy::contests(&executor, megabytes, options.rounds(11, 3))?);
    }
    if options.selects("memory") {
        eprintln!("measuring memory");
        let sizes: &[usize] = if options.quick { &[1, 100] } else { &[1, 100, 1000] };
        results.peaks = memory::peaks(&executor, sizes)?;
    }
    Ok(results)
}
