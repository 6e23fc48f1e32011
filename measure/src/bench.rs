//! `cargo xtask bench`: compares actum with alternatives, interleaved in a single run.

mod agent;
mod contest;
mod contestant;
mod course;
mod file;
mod format;
mod gates;
mod hooks;
pub(crate) mod in_child;
pub(crate) mod ledger;
mod machine;
mod material;
mod measurement;
mod memory;
mod options;
mod page;
mod peak;
mod place;
mod race;
mod rounds;
pub(crate) mod sandbox;
mod syscalls;
mod tables;
mod tasks;
mod verdict;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use actum_testkit::known_home;

use crate::{Outcome, cargo, packages};
use contestant::Programs;
use options::Subject;
pub(crate) use options::{Appender, Child, Options, Starter};
use place::Grounds;

type Failure = Box<dyn Error>;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks.md";

pub(crate) fn run(root: &Path, options: &Options) -> Outcome {
    if cfg!(debug_assertions) {
        return in_release(root);
    }
    match options.subject {
        Subject::Changes => {}
        Subject::Ledger => return ledger::run(root, options),
        Subject::Gates => return gates::run(root, options),
        Subject::Sandbox => return sandbox::run(root, options),
        Subject::Tasks => return tasks::run(root, options),
        Subject::File => return file::run(root, options),
        Subject::Agent => return agent::run(root, options),
        Subject::Hooks => return hooks::run(root, options),
    }
    packages::require("bench")?;
    take_precedence();
    let programs = Programs { actum: build_actum(root) };
    let grounds = Grounds::make()?;
    let results = course::run(options, &programs, &grounds)?;
    eprintln!("removing what was made");
    grounds.clear()?;
    if results.is_empty() {
        return Err("the pattern selects nothing; nothing was measured".into());
    }
    println!("{}", tables::verdicts_in_terminal(&results.verdicts()));
    finish(root, PAGE, &page::render(&results), options)
}

/// Restarts this program in an optimised build, because measurements of an unoptimised one would be meaningless.
fn in_release(root: &Path) -> Outcome {
    eprintln!("building with optimisation");
    let status = cargo(root)
        .args(["run", "--quiet", "--release", "--package", "actum-measure", "--"])
        .args(std::env::args_os().skip(1))
        .status()
        .map_err(|error| format!("starting cargo: {error}; nothing was measured"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the `actum` binary beside this one. If the build fails, only the whole-process contestants are excluded.
fn build_actum(root: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--release", "--package", "actum-cli"];
    let status = cargo(root).args(arguments).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => return Err("`actum` does not build".to_owned()),
        Err(error) => return Err(format!("starting cargo to build `actum`: {error}")),
    }
    let us = std::env::current_exe().map_err(|error| format!("finding `actum`: {error}"))?;
    let actum = us.with_file_name("actum");
    if actum.is_file() { Ok(actum) } else { Err("`actum` was built elsewhere".to_owned()) }
}

/// Raises the priority of this process and its children if it runs as root, so that other processes disturb the times
/// less. Without root the times are noisier, but the ratios remain usable.
fn take_precedence() {
    const NICE: i32 = -15;
    if packages::is_root()
        && let Err(error) = rustix::process::setpriority_process(None, NICE)
    {
        eprintln!("going before other processes: {error}; the times will be noisier");
    }
}

/// Environment variable with the home directory that the password database names.
const HOME: &str = "ACTUM_BENCH_HOME";

/// Configuration directory in the home directory of the password database, where all of an operator's policy applies.
/// Returns `None` unless [`at_known_home`] restarted this program.
fn known_configuration() -> Option<PathBuf> {
    std::env::var_os(HOME).map(|home| Path::new(&home).join(".config"))
}

/// Restarts this program with a home directory in the password database that has no configuration. An operator's
/// permissions for programs apply only there.
fn at_known_home() -> Outcome {
    let home = std::env::temp_dir().join(format!("actum-bench-home-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).env(HOME, &home);
    let status = known_home::command(&command, known_home::User::Own, &home).status();
    std::fs::remove_dir_all(&home)?;
    Ok(if status?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the text of a page. A full run also writes it to the file `page` of the project.
fn finish(root: &Path, page: &str, text: &str, options: &Options) -> Outcome {
    print!("{text}");
    if options.quick || options.only.is_some() {
        eprintln!("only a full run writes {page}; this was a part");
    } else {
        std::fs::write(root.join(page), text)
            .map_err(|error| format!("writing `{page}`: {error}"))?;
        eprintln!("wrote {page}");
    }
    Ok(ExitCode::SUCCESS)
}
