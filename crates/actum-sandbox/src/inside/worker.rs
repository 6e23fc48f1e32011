//! Byte worker: a second instance of this program that reads one file, optionally writes another, and has
//! access to nothing else.
//!
//! The worker has a single thread and an empty environment. Its only descriptors are the socket to its
//! supervisor and the files of its job. It cannot execute programs, open paths, use the network or map memory,
//! and other processes of the user cannot inspect it. It does a single job and exits.

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

/// Files of a job and a buffer for their bytes, all set up before the system call filter is installed.
pub struct Files {
    /// Source file, which the worker reads.
    pub source: OwnedFd,
    /// File to write, or `None` if the job only reads the source.
    pub staged: Option<OwnedFd>,
    /// Buffer for the bytes that are read.
    pub buffer: Vec<u8>,
}

/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Entry point of a byte worker, which the embedding program must call first in `main`. If the process was
/// started as a worker under `name`, this does one job with `work` and never returns.
pub fn enter_worker(name: &str, work: fn(&Job, &mut Files) -> Answer) {
    if std::env::args_os().next().is_some_and(|given| given == name) {
        sys::exit_at_once(match run(work) {
            Ok(()) => 0,
            Err(_) => 1, // the supervisor notices that the answer is missing
        });
    }
}

fn run(work: fn(&Job, &mut Files) -> Answer) -> io::Result<()> {
    sys::close_from(3)?;
    sys::default_signals();
    setsid()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // If the supervisor has exited already, its socket is closed, so no job is received below.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let Some((job, mut descriptors)) = receive_job(stdio::stdin())? else { return Ok(()) };
    let staged = (descriptors.len() > 1).then(|| descriptors.pop()).flatten();
    let Some(source) = descriptors.pop() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let numbers = (source.as_raw_fd(), staged.as_ref().map(AsRawFd::as_raw_fd));
    if !matches!(numbers, (SOURCE, None | Some(STAGED))) {
        return Err(io::Error::other("the files have unexpected descriptor numbers"));
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
    // Exit without dropping the files, because the filter does not allow close(2).
    sys::exit_at_once(i32::from(written != ANSWER_BYTES));
}

/// Returns the resident memory of this process in bytes (proc_pid_statm(5)). Once the filter is installed,
/// only pages of the program itself can be added to it.
fn resident() -> io::Result<u64> {
    let statm = openat(CWD, "/proc/self/statm", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = [0; 128];
    let count = rustix::io::read(&statm, &mut text)?;
    let text = std::str::from_utf8(text.get(..count).unwrap_or_default()).unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(u64::MAX);
    pages.map(|pages| pages.saturating_mul(page)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Drops all rights that the job does not need, and installs the system call filter.
fn confine(job: &Job) -> io::Result<()> {
    give_up_capabilities().map_err(|missing| io::Error::other(missing.to_string()))?;
    // The filter already denies access to all paths. Landlock adds a second barrier if it is available.
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.create())
        .and_then(landlock::RulesetCreated::restrict_self);
    ruleset.map_err(io::Error::other)?;
    // Set the limits after Landlock, which needs a new descriptor. The limits allow no more of them.
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::Fsize, job.size_max),
        (Resource::Nproc, Some(0)),
        (Resource::Nofile, Some(0)),
        (Resource::Data, job.memory_max),
    ];
    for (resource, max) in limits {
        let Some(max) = max else { continue };
        // Limits cannot be raised above the hard limits that this process was started with.
        let max = getrlimit(resource).maximum.map_or(max, |hard| max.min(hard));
        setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?;
    }
    let filter = worker_filter().map_err(io::Error::other)?;
    seccompiler::apply_filter(&filter).map_err(io::Error::other)
}
