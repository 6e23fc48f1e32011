//! Attacks that exceed a resource limit. Each stops by itself well before it would harm the machine, and prints a line when it gets
//! that far.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::calls::{c, exit, fork, got, kill, sleep_ms, wait};
use crate::scene::Facts;

/// Number of bytes of memory that the attacks try to use. The limit is 128 MiB.
const MEMORY: usize = 400 << 20;
const PAGE: usize = 4096;
/// Pause between two steps, in milliseconds. Even on a busy machine, this is slow enough for a check every 10 ms to notice the
/// excess before the attack ends.
const PATIENCE: u64 = 10;
/// Number of bytes that the attacks try to write. The limits are 8 MiB for one file and 8 MiB in total.
pub(crate) const STORAGE: usize = 24 << 20;
const MIB: usize = 1 << 20;
/// Number of processes that an attack starts. The limit is 64.
const PROCESSES: usize = 400;
/// Processor time that one process uses, in milliseconds. This is far below the limit of 400 ms for all processes, so that the
/// start of an attack on a loaded machine does not exceed it.
const BURN_MS: u64 = 150;
const BURNERS: usize = 10;
/// Number of processes that use processor time one after the other: enough to exceed the limit, but quick on a loaded machine.
const BURNERS_IN_TURN: usize = 4;

/// Maps memory and writes to each page, slowly enough for polling to notice. Returns the number of bytes it got.
fn take(flags: i32, size: usize) -> usize {
    let mut taken = 0;
    while taken < size {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the memory is newly mapped, and every write stays inside it.
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

/// Uses shared memory, which exists as long as it is mapped, even if no process has its pages resident.
pub(crate) fn hidden_memory(_: &Facts) {
    let mut taken = 0;
    while taken < MEMORY {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: the memory is newly mapped, every write stays inside it, and the kernel keeps its content.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), 4 * MIB, protection, flags, -1, 0);
            if at == libc::MAP_FAILED {
                return;
            }
            for page in (0..4 * MIB).step_by(PAGE) {
                at.cast::<u8>().add(page).write_volatile(1);
            }
            libc::madvise(at, 4 * MIB, libc::MADV_DONTNEED);
            // Check that the kernel has kept the written content.
            if at.cast::<u8>().add(PAGE).read_volatile() != 1 {
                return;
            }
        }
        taken += 4 * MIB;
        sleep_ms(PATIENCE);
    }
    report_if_all(taken, MEMORY);
}

/// Starts four processes that each use an amount of memory that is allowed for one.
pub(crate) fn memory_of_four(_: &Facts) {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two integers into the array.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    let children: Vec<i32> = (0..4)
        .map(|_| match fork() {
            0 => {
                let taken = take(libc::MAP_PRIVATE, MEMORY / 4);
                if taken >= MEMORY / 4 {
                    // SAFETY: the buffer holds one byte.
                    unsafe { libc::write(ends[1], b".".as_ptr().cast(), 1) };
                }
                sleep_ms(1500);
                exit()
            }
            child => child,
        })
        .collect();
    // SAFETY: `close` takes only an integer. The read end reports EOF once all children have exited.
    unsafe { libc::close(ends[1]) };
    let mut all = 0;
    let mut byte = 0_u8;
    // SAFETY: the buffer holds one byte.
    while all < 4 && unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) } == 1 {
        all += 1;
    }
    report_if_all(all * MEMORY / 4, MEMORY);
    for child in children {
        kill(child, libc::SIGKILL);
        wait(child);
    }
}

/// Writes files to every writable in-memory file system.
pub(crate) fn memory_as_files(_: &Facts) {
    for place in ["/dev/shm", "/tmp", "/run", "/"] {
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the structure has the type that the kernel fills.
        unsafe { libc::statfs(c(place).as_ptr(), &raw mut found) };
        if found.f_type as i64 != 0x0102_1994 {
            continue;
        }
        let path =
            std::path::Path::new(place).join(format!("actum-hostile-{}", std::process::id()));
        let mut taken = 0;
        if let Ok(mut file) = fs::File::create(&path) {
            // The pages of the file are mapped by no process.
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
    // SAFETY: `signal` takes only integers. With SIGXFSZ ignored, exceeding the file size is an error.
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

/// Writes many files, slowly enough for polling to notice.
pub(crate) fn many_files(facts: &Facts) {
    for at in 0..STORAGE / MIB {
        write_one(facts, at);
        sleep_ms(5 * PATIENCE);
    }
}

/// Writes each file in a separate child process that is never waited for.
pub(crate) fn many_files_unwaited(facts: &Facts) {
    // SAFETY: `signal` takes only integers. With SIGCHLD ignored, the kernel reaps children by itself.
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

/// Reserves storage without writing any data.
pub(crate) fn reserved(facts: &Facts) {
    if let Ok(file) = fs::File::create(facts.workspace.join("many-reserved")) {
        // SAFETY: the call takes only integers.
        unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, STORAGE as i64) };
    }
}

/// Writes to storage through a memory-mapped file.
pub(crate) fn mapped(facts: &Facts) {
    for at in 0..STORAGE / MIB {
        let path = facts.workspace.join(format!("many-{at}"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let Ok(file) = file else { return };
        drop(file.set_len(MIB as u64));
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the mapping is no longer than the file.
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

/// Fills sockets with data that is never read, which stays in kernel memory. One process may hold only a limited amount, so four do
/// it.
pub(crate) fn memory_in_sockets(_: &Facts) {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two integers into the array.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    let children: Vec<i32> = (0..4)
        .map(|_| match fork() {
            0 => {
                let held = fill_sockets(MEMORY / 4);
                if held >= MEMORY / 4 {
                    // SAFETY: the buffer holds one byte.
                    unsafe { libc::write(ends[1], b".".as_ptr().cast(), 1) };
                }
                sleep_ms(1500);
                exit()
            }
            child => child,
        })
        .collect();
    // SAFETY: `close` takes only an integer. The read end reports EOF once all children have exited.
    unsafe { libc::close(ends[1]) };
    let (mut all, mut byte) = (0, 0_u8);
    // SAFETY: the buffer holds one byte.
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

/// Writes into socket pairs until they hold `size` bytes, or until no more can be created.
fn fill_sockets(size: usize) -> usize {
    let bytes = [1_u8; 65536];
    let mut held = 0;
    while held < size {
        let mut pair = [0; 2];
        // SAFETY: the kernel writes two integers, and the buffer is passed with its length.
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

/// Uses a fixed amount of processor time as measured by the kernel. Returns whether it succeeded.
fn burn() -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        let mut used: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        for round in 0_u64..200_000 {
            std::hint::black_box(round);
        }
        // SAFETY: the structure has the type that the kernel fills.
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

/// Runs processes one after the other without waiting for them, so that the kernel discards their usage.
pub(crate) fn processor_unwaited(_: &Facts) {
    // SAFETY: `signal` takes only integers. With SIGCHLD ignored, the kernel reaps children by itself.
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

/// Starts idle processes, one at a time.
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

/// Starts threads, which count as processes.
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
    // SAFETY: the call takes only integers.
    let opened = (0..400).filter(|_| unsafe { libc::dup(1) } >= 0).count();
    if opened == 400 {
        got("400 open files");
    }
}
