//! Attacks that use more than was allowed. Each has an end of its own, well below what would harm
//! the machine, and prints when it got there.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::calls::{c, exit, fork, got, kill, sleep_ms, wait};
use crate::scene::Facts;

/// Memory that the bombs try to use; the limit is 128 MiB.
const MEMORY: usize = 400 << 20;
const PAGE: usize = 4096;
/// Pause between two steps, in milliseconds. From the limit to the end of an attack so much is left
/// to do that polling every 10 ms sees it also on a busy machine.
const PATIENCE: u64 = 10;
/// Bytes that they try to write; the limits are 8 MiB for a file and 8 MiB for all.
pub(crate) const STORAGE: usize = 24 << 20;
const MIB: usize = 1 << 20;
/// The processes that a bomb starts; the limit is 64.
const PROCESSES: usize = 400;
/// The processor time that is burnt by one process; the limit is 400 ms for all.
/// One process stays far below the limit of 400 ms, so that the start of the attack on a loaded machine
/// does not reach it.
const BURN_MS: u64 = 150;
const BURNERS: usize = 10;
/// Burners that run one after the other: enough to exceed the limit, and short on a loaded machine.
const BURNERS_IN_TURN: usize = 4;

/// Takes memory and writes to each page, slowly enough to be seen. Returns how much it got.
fn take(flags: i32, size: usize) -> usize {
    let mut taken = 0;
    while taken < size {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new memory; each byte written lies in it.
        unsafe {
            let flags = flags | libc::MAP_ANONYMOUS;
            let at = libc::mmap(std::ptr::null_mut(), 4 * MIB, protection, flags, -1, 0);
            if at == libc::MAP_FAILED {
                return taken;
            }
            for page in (0..4 * MIB).step_by(PAGE) {
                at.cast::<u8>().add(page).write_volatile(1);
            }
        }
        taken += 4 * MIB;
        sleep_ms(PATIENCE);
    }
    taken
}

fn report_if_all(taken: usize, size: usize) -> bool {
    if taken >= size {
        got(format_args!("{} MiB of memory at one time", taken / MIB));
    }
    taken >= size
}

pub(crate) fn memory(_: &Facts) {
    report_if_all(take(libc::MAP_PRIVATE, MEMORY), MEMORY);
}

pub(crate) fn shared_memory(_: &Facts) {
    report_if_all(take(libc::MAP_SHARED, MEMORY), MEMORY);
}

/// Shared memory is there as long as it is mapped, whether or not a process has its pages.
pub(crate) fn hidden_memory(_: &Facts) {
    let mut taken = 0;
    while taken < MEMORY {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: new memory; each byte written lies in it, and the kernel keeps what is in it.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), 4 * MIB, protection, flags, -1, 0);
            if at == libc::MAP_FAILED {
                return;
            }
            for page in (0..4 * MIB).step_by(PAGE) {
                at.cast::<u8>().add(page).write_volatile(1);
            }
            libc::madvise(at, 4 * MIB, libc::MADV_DONTNEED);
            // It is still what was written.
            if at.cast::<u8>().add(PAGE).read_volatile() != 1 {
                return;
            }
        }
        taken += 4 * MIB;
        sleep_ms(PATIENCE);
    }
    report_if_all(taken, MEMORY);
}

/// Four processes, each with a part that is allowed to one.
pub(crate) fn memory_of_four(_: &Facts) {
    let mut ends = [0; 2];
    // SAFETY: two numbers are written.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    let children: Vec<i32> = (0..4)
        .map(|_| match fork() {
            0 => {
                let taken = take(libc::MAP_PRIVATE, MEMORY / 4);
                if taken >= MEMORY / 4 {
                    // SAFETY: one byte.
                    unsafe { libc::write(ends[1], b".".as_ptr().cast(), 1) };
                }
                sleep_ms(1500);
                exit()
            }
            child => child,
        })
        .collect();
    // SAFETY: numbers; the end that is read ends with the children.
    unsafe { libc::close(ends[1]) };
    let mut all = 0;
    let mut byte = 0_u8;
    // SAFETY: one byte.
    while all < 4 && unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) } == 1 {
        all += 1;
    }
    report_if_all(all * MEMORY / 4, MEMORY);
    for child in children {
        kill(child, libc::SIGKILL);
        wait(child);
    }
}

/// Memory as files, wherever a file system in memory can be written.
pub(crate) fn memory_as_files(_: &Facts) {
    for place in ["/dev/shm", "/tmp", "/run", "/"] {
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills the structure.
        unsafe { libc::statfs(c(place).as_ptr(), &raw mut found) };
        if found.f_type as i64 != 0x0102_1994 {
            continue;
        }
        let path =
            std::path::Path::new(place).join(format!("actum-hostile-{}", std::process::id()));
        let mut taken = 0;
        if let Ok(mut file) = fs::File::create(&path) {
            // No page of it remains with a process.
            while taken < MEMORY && file.write_all(&vec![1; MIB]).is_ok() {
                taken += MIB;
            }
            let all = report_if_all(taken, MEMORY);
            drop(fs::remove_file(&path));
            if all {
                return;
            }
        }
    }
}

pub(crate) fn huge_file(facts: &Facts) {
    // SAFETY: numbers. What would end it is an error then.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let file = OpenOptions::new().append(true).create(true).open(facts.workspace.join("many-huge"));
    let Ok(mut file) = file else { return };
    for _ in 0..STORAGE / MIB {
        if file.write_all(&vec![1; MIB]).is_err() {
            return;
        }
    }
}

fn write_one(facts: &Facts, at: usize) {
    drop(fs::write(facts.workspace.join(format!("many-{at}")), vec![1; MIB]));
}

/// Slowly enough to be seen.
pub(crate) fn many_files(facts: &Facts) {
    for at in 0..STORAGE / MIB {
        write_one(facts, at);
        sleep_ms(5 * PATIENCE);
    }
}

/// Each file by a process of its own, which is never waited for.
pub(crate) fn many_files_unwaited(facts: &Facts) {
    // SAFETY: numbers. Children end without a trace then.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    for at in 0..STORAGE / MIB {
        let child = fork();
        if child == 0 {
            write_one(facts, at);
            exit();
        }
        wait(child);
        sleep_ms(5 * PATIENCE);
    }
}

/// Storage that is taken without anything being written.
pub(crate) fn reserved(facts: &Facts) {
    if let Ok(file) = fs::File::create(facts.workspace.join("many-reserved")) {
        // SAFETY: numbers.
        unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, STORAGE as i64) };
    }
}

/// Storage that is written by way of memory.
pub(crate) fn mapped(facts: &Facts) {
    for at in 0..STORAGE / MIB {
        let path = facts.workspace.join(format!("many-{at}"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let Ok(file) = file else { return };
        drop(file.set_len(MIB as u64));
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: memory of a file of this length.
        unsafe {
            let to = libc::mmap(
                std::ptr::null_mut(),
                MIB,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            );
            if to == libc::MAP_FAILED {
                return;
            }
            for page in (0..MIB).step_by(PAGE) {
                to.cast::<u8>().add(page).write_volatile(1);
            }
            libc::munmap(to, MIB);
        }
        sleep_ms(5 * PATIENCE);
    }
}

/// Bytes that are written to sockets and never read stay in the kernel. Three processes, since one
/// has a limit.
pub(crate) fn memory_in_sockets(_: &Facts) {
    let mut ends = [0; 2];
    // SAFETY: two numbers are written.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    let children: Vec<i32> = (0..4)
        .map(|_| match fork() {
            0 => {
                let held = fill_sockets(MEMORY / 4);
                if held >= MEMORY / 4 {
                    // SAFETY: one byte.
                    unsafe { libc::write(ends[1], b".".as_ptr().cast(), 1) };
                }
                sleep_ms(1500);
                exit()
            }
            child => child,
        })
        .collect();
    // SAFETY: numbers; the end that is read ends with the children.
    unsafe { libc::close(ends[1]) };
    let (mut all, mut byte) = (0, 0_u8);
    // SAFETY: one byte.
    while all < 4 && unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) } == 1 {
        all += 1;
    }
    sleep_ms(40);
    report_if_all(all * MEMORY / 4, MEMORY);
    for child in children {
        kill(child, libc::SIGKILL);
        wait(child);
    }
}

/// Writes into pairs of sockets until they hold so much, or no more are to be had.
fn fill_sockets(size: usize) -> usize {
    let bytes = [1_u8; 65536];
    let mut held = 0;
    while held < size {
        let mut pair = [0; 2];
        // SAFETY: two numbers are written, and bytes with their length are read.
        unsafe {
            let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
            if libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) != 0 {
                return held;
            }
            for end in pair {
                while let Ok(written @ 1..) =
                    usize::try_from(libc::write(end, bytes.as_ptr().cast(), bytes.len()))
                {
                    held += written;
                }
            }
        }
    }
    held
}

/// Uses this much processor time, as the kernel counts it, and gives whether it could.
fn burn() -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        let mut used: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        for round in 0_u64..200_000 {
            std::hint::black_box(round);
        }
        // SAFETY: the kernel fills the structure.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut used) };
        if used.tv_sec as u64 * 1000 + used.tv_nsec as u64 / 1_000_000 >= BURN_MS {
            return true;
        }
    }
    false
}

fn report_burnt(burners: usize) {
    got(format_args!("{} ms of processor time", BURN_MS * burners as u64));
}

pub(crate) fn processor(_: &Facts) {
    let children: Vec<i32> = (0..BURNERS)
        .map(|_| match fork() {
            0 => {
                burn();
                exit()
            }
            child => child,
        })
        .collect();
    for child in children {
        wait(child);
    }
    report_burnt(BURNERS);
}

/// One after the other, never waited for, so that their usage is forgotten.
pub(crate) fn processor_unwaited(_: &Facts) {
    // SAFETY: numbers. Children end without a trace then.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    for _ in 0..BURNERS_IN_TURN {
        let child = fork();
        if child == 0 {
            burn();
            exit();
        }
        wait(child);
    }
    report_burnt(BURNERS_IN_TURN);
}

/// Starts processes that do nothing, one by one.
pub(crate) fn processes(_: &Facts) {
    let begun = Instant::now();
    let mut children = Vec::new();
    while children.len() < PROCESSES && begun.elapsed() < Duration::from_secs(8) {
        match fork() {
            0 => {
                sleep_ms(20_000);
                exit()
            }
            child if child > 0 => children.push(child),
            _ => sleep_ms(1),
        }
        sleep_ms(PATIENCE / 2);
    }
    if children.len() >= PROCESSES {
        got(format_args!("{PROCESSES} processes at one time"));
    }
    for child in children {
        kill(child, libc::SIGKILL);
        wait(child);
    }
}

/// Threads count as well.
pub(crate) fn threads(_: &Facts) {
    let begun = Instant::now();
    let mut started = 0;
    while started < PROCESSES && begun.elapsed() < Duration::from_secs(8) {
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(|| sleep_ms(20_000));
        started += usize::from(thread.is_ok());
        sleep_ms(PATIENCE / 2);
    }
    if started >= PROCESSES {
        got(format_args!("{PROCESSES} threads at one time"));
    }
    exit();
}

pub(crate) fn output(_: &Facts) {
    let line = [b'x'; 4096];
    for _ in 0..1024 {
        if std::io::stdout().write_all(&line).is_err() {
            return;
        }
    }
    got("4 MiB of output");
}

pub(crate) fn two_outputs(_: &Facts) {
    let bytes = [b'x'; 40 << 10];
    drop(std::io::stdout().write_all(&bytes));
    drop(std::io::stdout().flush());
    drop(std::io::stderr().write_all(&bytes));
}

pub(crate) fn descriptors(_: &Facts) {
    // SAFETY: numbers.
    let opened = (0..400).filter(|_| unsafe { libc::dup(1) } >= 0).count();
    if opened == 400 {
        got("400 open files");
    }
}
