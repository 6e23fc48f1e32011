//! Finds the processes of a command and measures their usage in /proc (proc_pid_stat(5), proc_pid_io(5)).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use super::{Result, Trying};
use crate::host::Missing;
use crate::outcome::Usage;
use crate::sys;

/// Criterion by which the processes of a command are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    /// All processes in this PID namespace except the first one.
    Namespace,
    /// All descendants of this process.
    Descendants,
}

/// Result of measuring all processes of a command.
pub(super) enum Look {
    Seen(Usage),
    /// A process could not be inspected for too long.
    Hidden,
}

/// Processes of a command, as seen from the process that reaps them.
pub(super) struct Processes {
    kin: Kin,
    us: Pid,
    /// Content of the file in /proc that was read last, kept to reuse its memory.
    text: Vec<u8>,
    /// Bytes that this process itself had read and written before the command was started.
    before: (u64, u64),
    /// Processes that could not be inspected, with the number of consecutive failures.
    hidden: BTreeMap<i32, u32>,
}

/// Time limit for an exact measurement of memory.
const SHARE_MAX: Duration = Duration::from_millis(50);
/// Number of consecutive failures after which a process counts as hidden. Some kernels (7.3) briefly deny
/// access to a process while it executes another program.
const HIDDEN_MAX: u32 = 10;

/// Resource usage of one process, from /proc/PID/stat.
struct Stat {
    parent: i32,
    /// CPU time in clock ticks, including that of children the process has waited for.
    cpu: u64,
    threads: u64,
    /// Whether the process has released its memory and is about to end.
    is_ending: bool,
    /// Resident memory, in pages.
    resident: u64,
}

impl Processes {
    /// Prepares the measurement before the command is started, and checks that the kernel provides the
    /// necessary files. Without them, every process would seem to use nothing.
    ///
    /// # Errors
    /// Returns an error if the kernel was built without CONFIG_TASK_IO_ACCOUNTING or, for
    /// [`Kin::Descendants`], without CONFIG_PROC_CHILDREN.
    pub(super) fn new(kin: Kin) -> Result<Self> {
        let mut processes =
            Self { kin, us: getpid(), text: Vec::new(), before: (0, 0), hidden: BTreeMap::new() };
        let missing = |what: &str, why: &str| Missing::of_host(what.to_owned(), why.to_owned());
        let storage = processes.storage("self").trying(|| "read /proc/self/io".to_owned())?;
        processes.before = storage.ok_or_else(|| {
            missing("read /proc/self/io", "the kernel does not count storage I/O")
        })?;
        if kin == Kin::Descendants && !processes.read("/proc/thread-self/children").unwrap_or(false)
        {
            let step = "list the processes of the command";
            return Err(missing(step, "the kernel does not list the children of a process"));
        }
        Ok(processes)
    }

    pub(super) fn kin(&self) -> Kin {
        self.kin
    }

    /// Lists the processes of the command. Processes that start during the listing may be missing.
    pub(super) fn list(&mut self) -> io::Result<Vec<Pid>> {
        match self.kin {
            Kin::Namespace => {
                let mut all = numbers("/proc")?;
                all.retain(|process| *process != self.us);
                Ok(all)
            }
            Kin::Descendants => {
                let mut all = self.children(self.us)?;
                let mut next = 0;
                while let Some(parent) = all.get(next).copied() {
                    all.extend(self.children(parent)?);
                    next += 1;
                }
                Ok(all)
            }
        }
    }

    /// Returns the children of all threads of a process, or an empty list if the process has ended.
    fn children(&mut self, of: Pid) -> io::Result<Vec<Pid>> {
        let mut found = Vec::new();
        let tasks = format!("/proc/{of}/task");
        let threads = match numbers(&tasks) {
            Ok(threads) => threads,
            Err(error) if is_gone(&error) => return Ok(found),
            Err(error) => return Err(error),
        };
        for thread in threads {
            if self.read(&format!("{tasks}/{thread}/children"))? {
                let words = self.text.split(|byte| *byte == b' ');
                found.extend(words.filter_map(|word| Pid::from_raw(parse(word)?)));
            }
        }
        Ok(found)
    }

    /// Returns whether a process descends from this one, judging by the current parent of each process.
    pub(super) fn is_ours(&mut self, process: Pid) -> io::Result<bool> {
        let mut at = process;
        // The largest possible number of processes bounds the depth of the tree.
        for _ in 0..1 << 22 {
            if at == self.us {
                return Ok(true);
            }
            let Some(stat) = self.stat(at)? else { return Ok(false) };
            match Pid::from_raw(stat.parent) {
                Some(parent) => at = parent,
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Returns the total usage of all running and ended processes. If the sum of their memory exceeds
    /// `memory_max`, measures it again in a way that counts shared pages only once.
    pub(super) fn look(&mut self, memory_max: u64) -> io::Result<Look> {
        // Ended processes use no memory now, so do not add their peak.
        let mut sum = Usage { memory: 0, ..self.ended()? };
        let all = self.list()?;
        let mut hidden = BTreeMap::new();
        for &process in &all {
            let Some(stat) = self.stat(process)? else { continue };
            sum.cpu += milliseconds(stat.cpu);
            sum.processes += stat.threads;
            sum.memory += stat.resident * page_size();
            if stat.is_ending {
                continue;
            }
            match self.storage(&process.to_string()) {
                Ok(Some((read, written))) => {
                    sum.storage_read += read;
                    sum.storage_write += written;
                }
                Ok(None) => {}
                Err(Errno::ACCESS | Errno::PERM) => {
                    if self.stat(process)?.is_some_and(|stat| !stat.is_ending) {
                        let times = self
                            .hidden
                            .get(&process.as_raw_nonzero().get())
                            .map_or(1, |times| times + 1);
                        if times >= HIDDEN_MAX {
                            return Ok(Look::Hidden);
                        }
                        hidden.insert(process.as_raw_nonzero().get(), times);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.hidden = hidden;
        if sum.memory > memory_max {
            sum.memory = self.share(&all, sum.memory)?;
        }
        Ok(Look::Seen(sum))
    }

    /// Returns the usage of the processes that have ended and have been reaped.
    pub(super) fn ended(&mut self) -> io::Result<Usage> {
        let (read, written) = self.storage("self")?.unwrap_or_default();
        let (cpu, memory) = sys::used_by_children()?;
        Ok(Usage {
            cpu,
            memory,
            storage_read: read.saturating_sub(self.before.0),
            storage_write: written.saturating_sub(self.before.1),
            ..Usage::default()
        })
    }

    /// Returns the total memory of the processes in bytes, dividing each shared page among the processes
    /// that share it. Returns `seen` instead if the measurement takes too long.
    fn share(&mut self, all: &[Pid], seen: u64) -> io::Result<u64> {
        let begun = Instant::now();
        let mut sum = 0;
        for process in all {
            if begun.elapsed() > SHARE_MAX {
                return Ok(seen);
            }
            // After vfork(2), a child uses its parent's memory until it calls execve(2). Count it only once.
            let parent = self.stat(*process)?.and_then(|stat| Pid::from_raw(stat.parent));
            if parent
                .is_some_and(|parent| parent != self.us && sys::shares_memory(parent, *process))
            {
                continue;
            }
            match self.read(&format!("/proc/{process}/smaps_rollup")) {
                Ok(true) => sum += field(&self.text, b"Pss:").unwrap_or(0) * 1024,
                Ok(false) => {}
                // Such a process was recorded as hidden already, or is about to end.
                Err(Errno::ACCESS | Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sum)
    }

    fn stat(&mut self, process: Pid) -> io::Result<Option<Stat>> {
        if !self.read(&format!("/proc/{process}/stat"))? {
            return Ok(None);
        }
        stat(&self.text).map(Some).ok_or_else(|| io::Error::other("cannot parse /proc/PID/stat"))
    }

    /// Returns the bytes that a process and its ended children have read from and written to storage.
    fn storage(&mut self, process: &str) -> rustix::io::Result<Option<(u64, u64)>> {
        if !self.read(&format!("/proc/{process}/io"))? {
            return Ok(None);
        }
        Ok(field(&self.text, b"read_bytes:").zip(field(&self.text, b"write_bytes:")))
    }

    /// Reads a whole file into `text`. Returns whether the file exists.
    fn read(&mut self, path: &str) -> rustix::io::Result<bool> {
        const STEP: usize = 4096;
        self.text.clear();
        let file = match open(path, OFlags::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error),
        };
        loop {
            let length = self.text.len();
            self.text.resize(length + STEP, 0);
            let room = self.text.get_mut(length..).unwrap_or_default();
            match rustix::io::read(&file, room) {
                Ok(count) => {
                    self.text.truncate(length + count);
                    if count == 0 {
                        return Ok(true);
                    }
                }
                Err(Errno::INTR) => self.text.truncate(length),
                Err(Errno::SRCH | Errno::NOENT) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}

fn open(path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(CWD, path, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::SRCH].map(|errno| Some(errno.raw_os_error()));
    gone.contains(&error.raw_os_error())
}

/// Returns the entries of a directory in /proc whose names are process or thread IDs.
fn numbers(directory: &str) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in Dir::new(open(directory, OFlags::DIRECTORY)?)? {
        let entry = entry?;
        found.extend(parse(entry.file_name().to_bytes()).and_then(Pid::from_raw));
    }
    Ok(found)
}

fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Returns the number after `name` on the first line that starts with it.
fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    parse(line.split(|byte| *byte == b'k').next()?)
}

/// Parses the content of /proc/PID/stat. The process chooses the name in parentheses, which may itself
/// contain spaces and parentheses.
fn stat(text: &[u8]) -> Option<Stat> {
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = text.get(name_end + 1..)?;
    let fields: Vec<&[u8]> =
        rest.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty()).collect();
    // Field numbers are those of the manual page, where the first field after the name is number 3.
    let number = |field: usize| parse::<i64>(fields.get(field - 3)?);
    let amount = |field: usize| number(field).map(|it| u64::try_from(it).unwrap_or(0));
    // The size of the address space is unsigned, unlike the other fields.
    let addressed = parse::<u64>(fields.get(23 - 3)?)?;
    Some(Stat {
        parent: i32::try_from(number(4)?).ok()?,
        cpu: amount(14)? + amount(15)? + amount(16)? + amount(17)?,
        threads: amount(20)?,
        is_ending: addressed == 0,
        resident: amount(24)?,
    })
}

/// Converts clock ticks to milliseconds (sysconf(3)).
fn milliseconds(ticks: u64) -> u64 {
    ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Returns the page size in bytes.
fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-12
    #[test]
    fn process_name_cannot_spoof_proc_stat_fields() {
        let text = b"7 (x) R 1 1 1) S 3 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 5 0 99 4096 12 1844";
        let stat = stat(text).unwrap();
        assert_eq!((stat.parent, stat.cpu, stat.threads, stat.resident), (3, 100, 5, 12));
        assert!(!stat.is_ending);
        assert!(super::stat(b"7 (x) S 3").is_none());
    }
}
