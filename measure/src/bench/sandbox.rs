//! `cargo xtask bench sandbox`: commands confined beside the same commands plain, interleaved in one
//! run.

mod action;
mod build;
mod exec;
mod page;
pub(crate) mod start;
mod view;

use std::path::{Path, PathBuf};

use super::contest::Contest;
use super::machine::Machine;
use super::options::Options;
use super::place::Grounds;
use super::{Failure, at_known_home, finish, known_configuration, take_precedence};
use crate::{Outcome, packages};
use actum_sandbox::{Ended, Helper, HostReport, Missing, SandboxPolicy, Tier};

/// Written by a full run.
const PAGE: &str = "docs/benchmarks-sandbox.md";

/// Results of the measurement.
struct Results {
    machine: Machine,
    /// The size of the program that is the helper, in KiB.
    helper: u64,
    contests: Vec<Contest>,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("bench sandbox")?;
    let Some(configuration) = known_configuration() else { return at_known_home() };
    take_precedence();
    let program = super::build_actum(root)?;
    let grounds = Grounds::make()?;
    let results = measure(root, options, &program, &grounds, &configuration);
    eprintln!("removing what was made");
    grounds.clear()?;
    let results = results?;
    if results.contests.is_empty() {
        return Err("the pattern selects nothing; nothing was measured".into());
    }
    let text = page::render(&results);
    finish(root, PAGE, &text, options)
}

fn measure(
    root: &Path,
    options: &Options,
    program: &Path,
    grounds: &Grounds,
    configuration: &Path,
) -> Result<Results, Failure> {
    let mut results = Results {
        machine: Machine::this(&["bwrap", "cargo"]),
        helper: std::fs::metadata("/proc/self/exe")?.len() >> 10,
        contests: Vec::new(),
    };
    if options.selects("start") {
        results.contests.extend(start::contests(options.rounds(200, 20))?);
    }
    let home = grounds.home()?;
    if options.selects("view") {
        eprintln!("laying a view over 10,000 files");
        results.contests.extend(view::contests(&home, options.rounds(40, 5))?);
    }
    if options.selects("build") {
        eprintln!("building a crate");
        results.contests.push(build::contest(&home, options.rounds(8, 2))?);
    }
    if options.selects("exec") {
        eprintln!("running commands through `actum exec`");
        results.contests.extend(exec::contests(
            program,
            configuration,
            &home,
            options.rounds(40, 5),
        )?);
        results.contests.push(exec::build(program, configuration, &home, options.rounds(8, 2))?);
    }
    if options.selects("action") {
        eprintln!("carrying out actions");
        let shop = exec::Shop::new(program, configuration, &home.join("action"));
        results.contests.extend(action::contests(root, &shop, options.rounds(40, 5))?);
    }
    Ok(results)
}

/// Checks that a command did what it was to do.
fn succeeded(outcome: &actum_sandbox::Outcome) -> Result<(), Failure> {
    if outcome.ended == Some(Ended::Code(0)) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let stderr = stderr.lines().last().unwrap_or("it said nothing").to_owned();
    Err(format!("the command ended as {:?} ({:?}): {stderr}", outcome.ended, outcome.violated)
        .into())
}

/// This program, whose `main` enters the sandbox first of all.
fn helper() -> Helper {
    Helper::this_program()
}

/// The programs of the system, and nothing else.
fn system() -> SandboxPolicy {
    let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"];
    let present = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok();
    let system: Vec<_> = system.map(PathBuf::from).into_iter().filter(present).collect();
    SandboxPolicy { read: system.clone(), exec: system, ..SandboxPolicy::new("/usr") }
}

/// This host; and for tier L the same, as if it had no namespaces.
fn host(tier: Tier) -> HostReport {
    let found = HostReport::probe(&helper());
    let missing = || Missing::of_host("create namespaces".to_owned(), "unwanted".to_owned());
    match tier {
        Tier::N => found,
        Tier::L => HostReport { tier_n: Err(missing()), ..found },
    }
}
