//! Last steps before the command is executed: dropping all rights that it must not have.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::unistd::execve;
use rustix::process::{
    Resource as Kernel, Rlimit, chdir, getegid, geteuid, getrlimit, ioctl_tiocsctty, setrlimit,
    setsid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::{Result, Trying, landlock};
use crate::channel::{HelperMessage, Start};
use crate::filter::filter;
use crate::host::{HostReport, Missing};
use crate::limits::Resource;
use crate::plan::{OUR_PROCESSES, Plan};
use crate::policy::{Stdin, Tier};
use crate::sys;

/// Arguments for execve(2).
pub(super) struct Words {
    program: CString,
    arguments: Vec<CString>,
    variables: Vec<CString>,
}

/// Confines this process and drops all rights that the command must not have. Returns the program to
/// execute, or `None` if the sandbox is only being probed.
pub(super) fn confine(start: &Start, stdio: &[OwnedFd]) -> Result<Option<Words>> {
    let policy = &start.plan.policy;
    let in_force = &start.plan.in_force;
    let words = words(start)?;
    setsid().trying(|| "start a new session".to_owned())?;
    let (Some([input, output, error]), entrance) = (stdio.first_chunk(), stdio.get(3)) else {
        let why = "fewer than three descriptors were received".to_owned();
        return Err(Missing::of_host("set up its standard streams".to_owned(), why));
    };
    let moved =
        dup2_stdin(input).and_then(|()| dup2_stdout(output)).and_then(|()| dup2_stderr(error));
    moved.trying(|| "set up its standard streams".to_owned())?;
    if policy.stdin == Stdin::Terminal {
        // With a controlling terminal, Ctrl-C reaches the command and programs can open `/dev/tty`.
        ioctl_tiocsctty(rustix::stdio::stdin())
            .trying(|| "set its controlling terminal".to_owned())?;
    }
    if let Some(entrance) = entrance {
        rustix::io::write(entrance, b"0").trying(|| "enter its control group".to_owned())?;
    }
    chdir(&policy.cwd).trying(|| format!("start in `{}`", policy.cwd.display()))?;
    limit(&start.plan)?;
    give_up_capabilities()?;
    match (in_force.landlock, in_force.tier) {
        (Some(abi), tier) => landlock::confine(policy, tier, abi, start.scratch.as_deref())?,
        (None, Tier::N) => {}
        (None, Tier::L) => return Err(HostReport::missing_landlock(None)),
    }
    let doing = || "install the system call filter".to_owned();
    let us = (geteuid().as_raw(), getegid().as_raw());
    let program = filter(in_force.tier, policy.net, us).trying(doing)?;
    seccompiler::apply_filter(&program).trying(doing)?;
    Ok(words)
}

fn words(start: &Start) -> Result<Option<Words>> {
    let Some(program) = start.command.first() else { return Ok(None) };
    let doing = || executing(start);
    let text = |bytes: &[u8]| CString::new(bytes).trying(doing);
    let arguments = start.command.iter().map(|word| text(word.as_bytes()));
    let env = start.plan.policy.env.iter();
    let variables = env.map(|(name, value)| text(format!("{name}={value}").as_bytes()));
    Ok(Some(Words {
        program: text(program.as_bytes())?,
        arguments: arguments.collect::<Result<_>>()?,
        variables: variables.collect::<Result<_>>()?,
    }))
}

fn executing(start: &Start) -> String {
    format!("execute `{}`", start.command.first().map(Path::new).unwrap_or(Path::new("")).display())
}

/// Replaces this process with the command. If the kernel refuses to execute it, returns the message that
/// reports the failure to the supervisor.
pub(super) fn execute(start: &Start, words: &Option<Words>) -> HelperMessage {
    let Some(Words { program, arguments, variables }) = words else { sys::exit_at_once(0) };
    let Err(errno) = execve(program, arguments, variables);
    let error = io::Error::from(errno);
    let missing = Missing::of_host(executing(start), why(&error));
    HelperMessage::NotExecuted(missing, error.raw_os_error())
}

/// Explains errors of execve(2) whose standard message does not help the user.
fn why(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOEXEC) => {
            "it is neither a program for this machine nor a script that starts with `#!`".to_owned()
        }
        Some(libc::ENOENT) => format!(
            "{error}: the program, its interpreter or its dynamic loader is not visible under the \
             policy"
        ),
        Some(libc::EACCES) => {
            format!("{error}: it is not executable, or the policy does not allow executing it")
        }
        _ => error.to_string(),
    }
}

/// Sets the resource limits that the kernel enforces for each process separately.
fn limit(plan: &Plan) -> Result<()> {
    let limits = &plan.policy.limits;
    let whole_seconds = |milliseconds: u64| milliseconds.div_ceil(1000);
    let each = [
        (Kernel::Core, 0),
        // Add one second, so that the polled limit on all processes together takes effect first.
        (Kernel::Cpu, whole_seconds(limits.of(Resource::Cpu).max) + 1),
        (Kernel::Fsize, limits.of(Resource::FileSize).max),
        (Kernel::Nofile, limits.of(Resource::OpenFiles).max),
        (Kernel::Data, limits.of(Resource::Memory).max),
    ];
    // In its own user namespace, RLIMIT_NPROC counts only the processes of the command and of the helper.
    // Elsewhere it would count all processes of the user.
    let processes = limits.of(Resource::Processes).max + OUR_PROCESSES;
    let counted = plan.in_force.tier == Tier::N;
    // Limits cannot be raised above the hard limits that this process was started with.
    let allowed =
        |resource: Kernel, max: u64| getrlimit(resource).maximum.map_or(max, |hard| max.min(hard));
    for (resource, max) in each.into_iter().chain(counted.then_some((Kernel::Nproc, processes))) {
        let max = allowed(resource, max);
        let limit = Rlimit { current: Some(max), maximum: Some(max) };
        setrlimit(resource, limit).trying(|| format!("set the limit {resource:?} to {max}"))?;
    }
    Ok(())
}

/// Drops all capabilities and all ways to regain them, so that no program started later gains privileges.
pub(super) fn give_up_capabilities() -> Result<()> {
    let doing = || "drop all capabilities".to_owned();
    clear_ambient_capability_set().trying(doing)?;
    let has_any = !capabilities(None).trying(doing)?.permitted.is_empty();
    // A process without capabilities cannot shrink its bounding set. No program gains a capability even
    // so, because `no_new_privs` is set below.
    for capability in CapabilitySet::all().iter().filter(|_| has_any) {
        match remove_capability_from_bounding_set(capability) {
            // This kernel may be too old to know the capability.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error).trying(doing),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).trying(doing)?;
    set_no_new_privs(true).trying(doing)
}
