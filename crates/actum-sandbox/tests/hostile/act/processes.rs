//! Attacks on a process of the host, whose state the host then compares.

use super::calls::{c, sleep_ms, wait};
use crate::scene::Facts;

pub(crate) fn kill(facts: &Facts) {
    super::calls::kill(facts.victim, libc::SIGKILL);
}

pub(crate) fn kill_group(facts: &Facts) {
    // SAFETY: the call takes only integers. The victim has its own process group.
    unsafe { libc::killpg(facts.victim, libc::SIGKILL) };
}

pub(crate) fn kill_thread(facts: &Facts) {
    let victim = facts.victim;
    // SAFETY: the call takes only integers.
    unsafe {
        libc::syscall(libc::SYS_tgkill, victim, victim, libc::SIGKILL);
        libc::syscall(libc::SYS_tkill, victim, libc::SIGKILL);
    }
}

pub(crate) fn queue_signal(facts: &Facts) {
    let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
    // SAFETY: the call takes only integers.
    unsafe { libc::sigqueue(facts.victim, libc::SIGKILL, value) };
}

pub(crate) fn signal_by_pidfd(facts: &Facts) {
    // SAFETY: the call takes only integers and a null pointer.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, facts.victim, 0);
        let none = std::ptr::null::<u8>();
        libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, none, 0);
    }
}

/// Makes the kernel send a chosen signal to the owner of a pipe when data is written to it.
pub(crate) fn signal_by_pipe(facts: &Facts) {
    const F_SETSIG: i32 = 10;
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two integers, and the other arguments are integers.
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
    // SAFETY: the call takes only integers.
    unsafe {
        if libc::ptrace(libc::PTRACE_ATTACH, facts.victim, none, none) == 0 {
            wait(facts.victim);
            libc::ptrace(libc::PTRACE_KILL, facts.victim, none, none);
        }
    }
}

/// Writes to the memory of the sandbox runner, which then checks it.
pub(crate) fn write_memory(facts: &Facts) {
    let text = b"pwned";
    let ours = libc::iovec { iov_base: text.as_ptr() as *mut _, iov_len: text.len() };
    let theirs = libc::iovec { iov_base: facts.written as *mut _, iov_len: text.len() };
    // SAFETY: both structures describe valid memory with its length.
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
    // SAFETY: the structure has the type that the call expects.
    unsafe {
        libc::prlimit(facts.victim, libc::RLIMIT_NOFILE, &raw const limit, std::ptr::null_mut());
    }
}

pub(crate) fn priority(facts: &Facts) {
    // SAFETY: the call takes only integers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, facts.victim as u32, 19) };
}

/// Lowers the priority of all processes of the calling user, which user ID 0 stands for.
pub(crate) fn priority_of_user(_: &Facts) {
    // SAFETY: the call takes only integers.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_USER, 0, now + 1);
    }
}

pub(crate) fn storage_priority(facts: &Facts) {
    const IOPRIO_WHO_PROCESS: i32 = 1;
    const IDLE: i32 = 3 << 13;
    // SAFETY: the call takes only integers.
    unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, facts.victim, IDLE) };
}

pub(crate) fn scheduling(facts: &Facts) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: both structures have the type that the call expects, and zeros are valid for the second one.
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

/// Suspends the process.
pub(crate) fn stop(facts: &Facts) {
    super::calls::kill(facts.victim, libc::SIGSTOP);
    sleep_ms(5);
}

/// Removes the segment by its ID, which needs no call that creates or finds one.
pub(crate) fn remove_shared(facts: &Facts) {
    // SAFETY: the call takes only integers.
    unsafe { libc::shmctl(facts.shared, libc::IPC_RMID, std::ptr::null_mut()) };
}

pub(crate) fn core_pattern(_: &Facts) {
    // Write back the current value, so that the test does not change the machine.
    let path = c("/proc/sys/kernel/core_pattern");
    let mut text = [0_u8; 256];
    // SAFETY: the path is a C string, and the buffer is passed with its length.
    unsafe {
        let read = libc::open(path.as_ptr(), libc::O_RDONLY);
        let length = libc::read(read, text.as_mut_ptr().cast(), text.len());
        let write = libc::open(path.as_ptr(), libc::O_WRONLY);
        if length > 0 && libc::write(write, text.as_ptr().cast(), length as usize) > 0 {
            super::calls::got("the kernel took another core_pattern");
        }
    }
}
