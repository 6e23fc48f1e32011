//! `cargo xtask bench sandbox`: compares confined commands with the same commands run directly, interleaved in a single
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

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-sandbox.md";

/// Results of the sandbox benchmark.
struct Results {
    machine: Machine,
    /// Size of the helper program, in KiB.
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

/// Checks that a command did its work.
fn succeeded(outcome: &actum_sandbox::Outcome) -> Result<(), Failure> {
    if outcome.ended == Some(Ended::Code(0)) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let stderr = stderr.lines().last().unwrap_or("it said nothing").to_owned();
    Err(format!("the command ended as {:?} ({:?}): {stderr}", outcome.ended, outcome.violated)
        .into())
}

/// Returns this program as the helper, because its `main` enters the sandbox first.
fn helper() -> Helper {
    Helper::this_program()
}

/// Returns a policy that allows only the programs of the system.
fn system() -> SandboxPolicy {
    let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"];
    let present = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok();
    let system: Vec<_> = system.map(PathBuf::from).into_iter().filter(present).collect();
    SandboxPolicy { read: system.clone(), exec: system, ..SandboxPolicy::new("/usr") }
}

/// Returns the report of this host. For tier L, it claims that namespaces are unavailable.
fn host(tier: Tier) -> HostReport {
    let found = HostReport::probe(&helper());
    let missing = || Missing::of_host("create namespaces".to_owned(), "unwanted".to_owned());
    match tier {
        Tier::N => found,
        Tier::L => HostReport { tier_n: Err(missing()), ..found },
    }
}
