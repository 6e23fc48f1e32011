//! Attacks on a process of the host. The host looks whether it lives as before.

use super::calls::{c, sleep_ms, wait};
use crate::scene::Facts;

pub(crate) fn kill(facts: &Facts) {
    super::calls::kill(facts.victim, libc::SIGKILL);
}

pub(crate) fn kill_group(facts: &Facts) {
    // SAFETY: the victim has a process group of its own.
    unsafe { libc::killpg(facts.victim, libc::SIGKILL) };
}

pub(crate) fn kill_thread(facts: &Facts) {
    let victim = facts.victim;
    // SAFETY: numbers.
    unsafe {
        libc::syscall(libc::SYS_tgkill, victim, victim, libc::SIGKILL);
        libc::syscall(libc::SYS_tkill, victim, libc::SIGKILL);
    }
}

pub(crate) fn queue_signal(facts: &Facts) {
    let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
    // SAFETY: numbers.
    unsafe { libc::sigqueue(facts.victim, libc::SIGKILL, value) };
}

pub(crate) fn signal_by_pidfd(facts: &Facts) {
    // SAFETY: numbers, and no information.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, facts.victim, 0);
        let none = std::ptr::null::<u8>();
        libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, none, 0);
    }
}

/// The owner of a pipe gets a signal of our choice when something is written to it.
pub(crate) fn signal_by_pipe(facts: &Facts) {
    const F_SETSIG: i32 = 10;
    let mut ends = [0; 2];
    // SAFETY: two numbers are written, and numbers passed.
    unsafe {
        libc::pipe(ends.as_mut_ptr());
        libc::fcntl(ends[0], libc::F_SETOWN, facts.victim);
        libc::fcntl(ends[0], F_SETSIG, libc::SIGKILL);
        libc::fcntl(ends[0], libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK);
        libc::write(ends[1], b"x".as_ptr().cast(), 1);
    }
}

pub(crate) fn trace(facts: &Facts) {
    let none = std::ptr::null::<u8>();
    // SAFETY: numbers.
    unsafe {
        if libc::ptrace(libc::PTRACE_ATTACH, facts.victim, none, none) == 0 {
            wait(facts.victim);
            libc::ptrace(libc::PTRACE_KILL, facts.victim, none, none);
        }
    }
}

/// The host looks at its own memory.
pub(crate) fn write_memory(facts: &Facts) {
    let text = b"pwned";
    let ours = libc::iovec { iov_base: text.as_ptr() as *mut _, iov_len: text.len() };
    let theirs = libc::iovec { iov_base: facts.written as *mut _, iov_len: text.len() };
    // SAFETY: the kernel reads no more than is there.
    unsafe { libc::process_vm_writev(facts.runner, &raw const ours, 1, &raw const theirs, 1, 0) };
    use std::os::unix::fs::FileExt;
    let memory =
        std::fs::OpenOptions::new().write(true).open(format!("/proc/{}/mem", facts.runner));
    if let Ok(memory) = memory {
        drop(memory.write_at(text, facts.written));
    }
}

pub(crate) fn limit(facts: &Facts) {
    let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
    // SAFETY: a structure of the right type.
    unsafe {
        libc::prlimit(facts.victim, libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut());
    }
}

pub(crate) fn priority(facts: &Facts) {
    // SAFETY: numbers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, facts.victim as u32, 19) };
}

/// Zero is the user of the caller here, and means all processes of that user.
pub(crate) fn priority_of_user(_: &Facts) {
    // SAFETY: numbers.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_USER, 0, now + 1);
    }
}

pub(crate) fn storage_priority(facts: &Facts) {
    const IOPRIO_WHO_PROCESS: i32 = 1;
    const IDLE: i32 = 3 << 13;
    // SAFETY: numbers.
    unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, facts.victim, IDLE) };
}

pub(crate) fn scheduling(facts: &Facts) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: structures of the right types, of which the second is all zeros first.
    unsafe {
        libc::sched_setscheduler(facts.victim, libc::SCHED_BATCH, &raw const parameters);
        let mut first: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(0, &mut first);
        libc::sched_setaffinity(facts.victim, size_of_val(&first), &raw const first);
    }
}

pub(crate) fn memory_score(facts: &Facts) {
    drop(std::fs::write(format!("/proc/{}/oom_score_adj", facts.victim), "1000"));
}

/// Stops the process, so that it does nothing.
pub(crate) fn stop(facts: &Facts) {
    super::calls::kill(facts.victim, libc::SIGSTOP);
    sleep_ms(5);
}

/// By its number, which needs no call that makes or finds it.
pub(crate) fn remove_shared(facts: &Facts) {
    // SAFETY: numbers.
    unsafe { libc::shmctl(facts.shared, libc::IPC_RMID, std::ptr::null_mut()) };
}

pub(crate) fn core_pattern(_: &Facts) {
    // What it says already, so that no machine is changed by the test.
    let path = c("/proc/sys/kernel/core_pattern");
    let mut text = [0_u8; 256];
    // SAFETY: a path and a buffer with its length.
    unsafe {
        let read = libc::open(path.as_ptr(), libc::O_RDONLY);
        let length = libc::read(read, text.as_mut_ptr().cast(), text.len());
        let write = libc::open(path.as_ptr(), libc::O_WRONLY);
        if length > 0 && libc::write(write, text.as_ptr().cast(), length as usize) > 0 {
            super::calls::got("the kernel took another core_pattern");
        }
    }
}
