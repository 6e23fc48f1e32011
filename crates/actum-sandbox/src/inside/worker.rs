//! The byte worker: this program once more, which reads one file and writes another through their
//! handles, and owns nothing else.
//!
//! It has one thread, no environment, and no descriptor but the line to its supervisor and the two
//! files. It executes nothing, reaches no path and no network, maps no memory, and cannot be looked
//! into. It does one job and ends.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit, setsid,
};
use rustix::stdio;

use crate::filter::worker::{SOURCE, STAGED, worker_filter};
use crate::job::{ANSWER_BYTES, Answer, Job, receive_job};
use crate::sys;

use super::payload::give_up_capabilities;

/// Files of a job, and memory to read them with. All of it exists before the filter does.
pub struct Files {
    /// File that is read.
    pub source: OwnedFd,
    /// File that is written; `None` if the source is only read.
    pub staged: Option<OwnedFd>,
    /// Memory for the bytes.
    pub buffer: Vec<u8>,
}

/// Size of the memory for the bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Does the work of a byte worker and never returns, in a process that was started as one under
/// `name`. The embedding program calls it first of all in `main`.
pub fn enter_worker(name: &str, work: fn(&Job, &mut Files) -> Answer) {
    if std::env::args_os().next().is_some_and(|given| given == name) {
        sys::exit_at_once(match run(work) {
            Ok(()) => 0,
            Err(_) => 1, // the supervisor finds no answer
        });
    }
}

fn run(work: fn(&Job, &mut Files) -> Answer) -> io::Result<()> {
    sys::close_from(3)?;
    sys::default_signals();
    setsid()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // If the supervisor ended before this, its channel has ended, too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let Some((job, mut descriptors)) = receive_job(stdio::stdin())? else { return Ok(()) };
    let staged = (descriptors.len() > 1).then(|| descriptors.pop()).flatten();
    let Some(source) = descriptors.pop() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let numbers = (source.as_raw_fd(), staged.as_ref().map(AsRawFd::as_raw_fd));
    if !matches!(numbers, (SOURCE, None | Some(STAGED))) {
        return Err(io::Error::other("the files came under other numbers"));
    }
    let mut files = Files { source, staged, buffer: vec![0; BUFFER_BYTES] };
    let answer = match job.memory_max.is_some_and(|max| resident().map_or(true, |held| held > max))
    {
        true => Answer::OverMemory,
        false => {
            confine(&job)?;
            work(&job, &mut files)
        }
    };
    let answer: [u8; ANSWER_BYTES] = answer.to_bytes();
    let written = rustix::io::write(stdio::stdin(), &answer)?;
    // Nothing is dropped: to close a file is no call that the filter allows.
    sys::exit_at_once(i32::from(written != ANSWER_BYTES));
}

/// Memory that this process holds, in bytes (proc_pid_statm(5)). From here on it only grows by
/// pages of the program itself.
fn resident() -> io::Result<u64> {
    let statm = openat(CWD, "/proc/self/statm", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = [0; 128];
    let count = rustix::io::read(&statm, &mut text)?;
    let text = std::str::from_utf8(text.get(..count).unwrap_or_default()).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(u64::MAX);
    pages.map(|pages| pages.saturating_mul(page)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn confine(job: &Job) -> io::Result<()> {
    give_up_capabilities().map_err(|missing| io::Error::other(missing.to_string()))?;
    // The filter alone keeps it from every path. Landlock, if the kernel has it, does so, too.
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.create())
        .and_then(landlock::RulesetCreated::restrict_self);
    ruleset.map_err(io::Error::other)?;
    // From here on no file can be opened, for which Landlock needed a descriptor.
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::Fsize, job.size_max),
        (Resource::Nproc, Some(0)),
        (Resource::Nofile, Some(0)),
        (Resource::Data, job.memory_max),
    ];
    for (resource, max) in limits {
        let Some(max) = max else { continue };
        // The program may have been started with less already, and less it stays.
        let max = getrlimit(resource).maximum.map_or(max, |hard| max.min(hard));
        setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?;
    }
    let filter = worker_filter().map_err(io::Error::other)?;
    seccompiler::apply_filter(&filter).map_err(io::Error::other)
}
