//! The last steps before the command: everything is given up that it must not have.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource as Kernel, Rlimit, chdir, setrlimit, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::{Result, Trying, landlock};
use crate::channel::Start;
use crate::host::Missing;
use crate::limits::{Limits, Resource};

/// Becomes the command. Returns only where that fails.
pub(super) fn execute(start: &Start, stdio: &[OwnedFd]) -> Result<Infallible> {
    let policy = &start.plan.policy;
    setsid().trying(|| "start a session of its own".to_owned())?;
    let [input, output, error] = stdio else {
        return Err(Missing {
            step: "take over its files".to_owned(),
            why: "not three".to_owned(),
        });
    };
    let moved =
        dup2_stdin(input).and_then(|()| dup2_stdout(output)).and_then(|()| dup2_stderr(error));
    moved.trying(|| "take over its files".to_owned())?;
    chdir(&policy.cwd).trying(|| format!("start in `{}`", policy.cwd.display()))?;
    limit(&policy.limits)?;
    give_up_capabilities()?;
    if let Some(abi) = start.plan.landlock {
        landlock::confine(policy, start.plan.tier, abi)?;
    }
    for program in start.filters.programs() {
        seccompiler::apply_filter(&program).trying(|| "filter system calls".to_owned())?;
    }
    let [program, arguments @ ..] = start.command.as_slice() else {
        return Err(Missing {
            step: "start a command".to_owned(),
            why: "there is none".to_owned(),
        });
    };
    let error: io::Error =
        Command::new(program).args(arguments).env_clear().envs(&policy.env).exec();
    Err(error).trying(|| format!("execute `{}`", program.display()))
}

/// The limits that each process has for itself.
fn limit(limits: &Limits) -> Result<()> {
    let whole_seconds = |milliseconds: u64| milliseconds.div_ceil(1000);
    let each = [
        (Kernel::Core, 0),
        (Kernel::Cpu, whole_seconds(limits.of(Resource::Cpu).max)),
        (Kernel::Fsize, limits.of(Resource::FileSize).max),
        (Kernel::Nofile, limits.of(Resource::OpenFiles).max),
        (Kernel::Data, limits.of(Resource::Memory).max),
    ];
    for (resource, max) in each {
        let limit = Rlimit { current: Some(max), maximum: Some(max) };
        setrlimit(resource, limit).trying(|| format!("limit {resource:?} to {max}"))?;
    }
    Ok(())
}

/// Gives up all capabilities, and the way to any: no program it starts gets more than it has.
fn give_up_capabilities() -> Result<()> {
    let doing = || "give up capabilities".to_owned();
    clear_ambient_capability_set().trying(doing)?;
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // The kernel does not know all that we know.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error).trying(doing),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).trying(doing)?;
    set_no_new_privs(true).trying(doing)
}
