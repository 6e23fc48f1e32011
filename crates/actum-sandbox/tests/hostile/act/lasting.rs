//! Attacks that outlive their command. Each sends a heartbeat: it writes a byte to a workspace file every few milliseconds. It
//! stops after a few seconds, or when the host asks it to. The host checks whether the file still grows after the outcome is
//! reported.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use super::calls::{exit, fork, sleep_ms};
use crate::scene::Facts;

const EVERY_MS: u64 = 5;
/// Maximum duration of a heartbeat.
const LIFE: Duration = Duration::from_secs(6);
/// Maximum number of generations of a process family.
const GENERATIONS: u32 = 1500;

fn beat(facts: &Facts) -> bool {
    let file = OpenOptions::new().append(true).create(true).open(facts.workspace.join("beat"));
    let written = file.and_then(|mut file| file.write_all(b"."));
    written.is_ok() && !facts.workspace.join("stop").exists()
}

fn beat_on(facts: &Facts) -> ! {
    let begun = Instant::now();
    while beat(facts) && begun.elapsed() < LIFE {
        sleep_ms(EVERY_MS);
    }
    exit()
}

fn has_begun(facts: &Facts) -> bool {
    facts.workspace.join("beat").exists()
}

fn wait_for_beat(facts: &Facts) {
    for _ in 0..400 {
        if has_begun(facts) {
            return;
        }
        sleep_ms(EVERY_MS);
    }
}

/// Detaches the process from its parent, session and output.
fn leave() {
    // SAFETY: the call takes only integers.
    unsafe {
        libc::setsid();
        for fd in 0..3 {
            libc::close(fd);
        }
    }
}

/// Starts a daemon in the classic way.
pub(crate) fn daemon(facts: &Facts) {
    start_daemon(facts);
    wait_for_beat(facts);
}

fn start_daemon(facts: &Facts) {
    if fork() == 0 {
        leave();
        if fork() == 0 {
            leave();
            beat_on(facts);
        }
        exit();
    }
}

/// Sends heartbeats from the command itself and from a daemon. Neither exits until it is stopped.
pub(crate) fn stay(facts: &Facts) {
    start_daemon(facts);
    beat_on(facts);
}

/// Stays alive and ignores every signal that can be ignored.
pub(crate) fn stay_deaf(facts: &Facts) {
    for signal in 1..64 {
        // SAFETY: the call takes only integers.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    stay(facts);
}

/// Starts a daemon that stops itself, because a stopped process reacts only to SIGKILL and SIGCONT.
pub(crate) fn daemon_that_stops_itself(facts: &Facts) {
    if fork() == 0 {
        leave();
        let us = std::process::id() as i32;
        if fork() == 0 {
            leave();
            for _ in 0..300 {
                sleep_ms(EVERY_MS);
                super::calls::kill(us, libc::SIGCONT);
            }
            exit();
        }
        for _ in 0..300 {
            if !beat(facts) {
                break;
            }
            super::calls::kill(us, libc::SIGSTOP);
        }
        exit();
    }
    wait_for_beat(facts);
}

/// Starts process families in which each child starts the next and exits, so that every process list is outdated.
pub(crate) fn churn(facts: &Facts) {
    let begun = Instant::now();
    for _ in 0..6 {
        if fork() == 0 {
            leave();
            for generation in 0..GENERATIONS {
                if generation % 8 == 0 && !beat(facts) || begun.elapsed() > LIFE {
                    exit();
                }
                if fork() != 0 {
                    exit();
                }
            }
            exit();
        }
    }
    wait_for_beat(facts);
}

/// Starts a daemon whose parent is the parent of the command.
pub(crate) fn sibling(facts: &Facts) {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: like fork(2), in a single-threaded process.
    if unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } == 0 {
        leave();
        beat_on(facts);
    }
    wait_for_beat(facts);
}

/// Starts a process that becomes the reaper of its own orphans.
pub(crate) fn own_reaper(facts: &Facts) {
    // SAFETY: the call takes only integers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    start_daemon(facts);
    wait_for_beat(facts);
}

/// Leaves a file that shows that the command ran, and exits with a code that shows how it ended.
pub(crate) fn mark(facts: &Facts) {
    drop(std::fs::write(facts.workspace.join("marker"), "x"));
}

/// Exits with code 7.
pub(crate) fn end_with_seven(_: &Facts) {
    std::process::exit(7);
}
