//! Attacks that outlive their command. Each beats: it writes a byte to a file in the workspace
//! every few milliseconds. It does so for no longer than a few seconds, and not when the host asks
//! it to stop. The host looks whether that file still grows after the outcome.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use super::calls::{exit, fork, sleep_ms};
use crate::scene::Facts;

const EVERY_MS: u64 = 5;
/// Time limit of any beat.
const LIFE: Duration = Duration::from_secs(6);
/// Limit of the generations of a family.
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

/// Lets go of its parent, its session and its output.
fn leave() {
    // SAFETY: numbers.
    unsafe {
        libc::setsid();
        for fd in 0..3 {
            libc::close(fd);
        }
    }
}

/// A daemon, made in the old way.
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

/// The command itself, and a daemon besides. They do not end until they are ended.
pub(crate) fn stay(facts: &Facts) {
    start_daemon(facts);
    beat_on(facts);
}

/// Stays alive, and ignores every signal that can be ignored.
pub(crate) fn stay_deaf(facts: &Facts) {
    for signal in 1..64 {
        // SAFETY: numbers.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    stay(facts);
}

/// Stopped processes hear nothing but SIGKILL and SIGCONT.
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

/// Families in which each child starts the next and ends, so that no list of them is ever right.
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

/// A daemon whose parent is the parent of the command.
pub(crate) fn sibling(facts: &Facts) {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as fork(2), in a process of one thread.
    if unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } == 0 {
        leave();
        beat_on(facts);
    }
    wait_for_beat(facts);
}

/// A process that takes in the orphans itself.
pub(crate) fn own_reaper(facts: &Facts) {
    // SAFETY: numbers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    start_daemon(facts);
    wait_for_beat(facts);
}

/// Leaves a file by which the host sees that it ran, and a code by which it sees how it ended.
pub(crate) fn mark(facts: &Facts) {
    drop(std::fs::write(facts.workspace.join("marker"), "x"));
}

/// Ends with a code of its own.
pub(crate) fn end_with_seven(_: &Facts) {
    std::process::exit(7);
}
