//! Handling of signals. Termination signals are blocked during a run, and restore the state of the terminal before they
//! end the program.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

use actum_sandbox::Stop;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::Pid;

/// Maximum delay before a signal restores the terminal.
const STEP: Duration = Duration::from_millis(50);

/// Guard that blocks `SIGINT`, `SIGTERM` and `SIGHUP`. When it is dropped, it unblocks the signals that were not
/// blocked before.
#[derive(Debug)]
pub(crate) struct Held(Option<SigSet>);

/// Blocks the signals that ask the program to exit, until the returned guard is dropped.
#[must_use = "the signals are blocked only until the guard is dropped"]
pub(crate) fn hold() -> Held {
    let signals = asking_to_end();
    // If the signals cannot be blocked, one of them ends the run like a kill does, and recovery rolls the run back.
    let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok();
    Held(before.map(|before| signals.iter().filter(|signal| !before.contains(*signal)).collect()))
}

/// Blocks the signal that would end the program on a write beyond the file size limit (`RLIMIT_FSIZE`, setrlimit(2)).
/// Such a write then fails with an error that is reported.
pub(crate) fn hold_file_size() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().unwrap_or_default(); // on failure, the signal ends the program, as it does by default
}

/// Blocks all signals in this thread, and in the threads that it starts while the returned guard exists.
#[must_use = "the signals are blocked only until the guard is dropped"]
pub(crate) fn hold_all() -> HeldAll {
    HeldAll(SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK).ok())
}

/// Guard that blocks all signals. When it is dropped, it restores the earlier signal mask of the thread.
#[derive(Debug)]
pub(crate) struct HeldAll(Option<SigSet>);

impl Drop for HeldAll {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            before.thread_set_mask().unwrap_or_default();
        }
    }
}

/// Returns the signals that ask the program to exit, except those that the caller set to be ignored, such as `SIGHUP`
/// under nohup(1).
fn asking_to_end() -> SigSet {
    let ignored = ignored().unwrap_or(0);
    let is_heard = |signal: &Signal| ignored & (1 << (*signal as u64 - 1)) == 0;
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().filter(is_heard).collect()
}

/// Returns the bit mask of ignored signals from `/proc/self/status` (proc_pid_status(5)).
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel provides the mask in this file, and reading it needs no `unsafe`"
)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// File descriptor that becomes readable when a blocked signal is pending.
#[derive(Debug)]
pub(crate) struct Waiting(SignalFd);

/// Opens a descriptor that becomes readable when a blocked signal is pending.
///
/// # Errors
/// The descriptor cannot be opened.
pub(crate) fn waiting() -> io::Result<Waiting> {
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    Ok(Waiting(SignalFd::with_flags(&asking_to_end(), flags)?))
}

impl Waiting {
    /// Returns a stop request that is triggered by a pending signal.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated.
    pub(crate) fn stop(&self) -> io::Result<Stop> {
        self.0.as_fd().try_clone_to_owned().map(Stop::when_readable)
    }

    /// Returns whether a signal is pending, without consuming it.
    pub(crate) fn is_any(&self) -> bool {
        let mut asked = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut asked, PollTimeout::ZERO), Ok(ready) if ready > 0)
    }

    /// Blocks until a signal is pending.
    pub(crate) fn wait(&self) {
        let mut asked = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        while poll(&mut asked, PollTimeout::NONE) == Err(Errno::EINTR) {}
    }

    /// Discards pending signals, because the program has already done what they ask for.
    pub(crate) fn take(&self) {
        while let Ok(Some(_)) = self.0.read_signal() {}
    }
}

/// Guard during whose lifetime a termination signal restores the terminal at standard input before it has its usual
/// effect.
#[must_use = "a signal restores the terminal only until the guard is dropped"]
pub(crate) struct TerminalKept {
    is_over: Arc<AtomicBool>,
    _held: Held,
}

/// Saves the state of the terminal at standard input, and starts a thread that restores it on a termination signal.
///
/// # Errors
/// Standard input is not a terminal, or signals cannot be observed.
pub(crate) fn keep_terminal() -> io::Result<TerminalKept> {
    let terminal = tcgetattr(io::stdin())?;
    let held = hold();
    let is_over = Arc::new(AtomicBool::new(false));
    if held.0.is_some() {
        let signals = asking_to_end();
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let came = SignalFd::with_flags(&signals, flags)?;
        let is_over = Arc::clone(&is_over);
        let watch = move || watch(&came, signals, &terminal, &is_over);
        drop(thread::Builder::new().spawn(watch)?);
    }
    Ok(TerminalKept { is_over, _held: held })
}

/// Waits for a signal until the guard is dropped. On a signal, restores the terminal and ends the program.
fn watch(came: &SignalFd, signals: SigSet, terminal: &Termios, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        let Ok(Some(found)) = came.read_signal() else {
            thread::sleep(STEP);
            continue;
        };
        let signal = i32::try_from(found.ssi_signo).ok().and_then(|it| Signal::try_from(it).ok());
        // The program ends here, even if the terminal could not be restored.
        tcsetattr(io::stdin(), SetArg::TCSANOW, terminal).unwrap_or_default();
        signals.thread_unblock().unwrap_or_default();
        kill(Pid::this(), signal.unwrap_or(Signal::SIGTERM)).unwrap_or_default();
    }
}

impl Drop for TerminalKept {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(signals) = self.0 {
            // Unblocking cannot fail for signals that were blocked successfully.
            signals.thread_unblock().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-1: signals that were blocked twice stay blocked until the outer guard is dropped.
    #[test]
    fn signals_stay_blocked_until_the_outer_guard_is_dropped() {
        let is_held = || SigSet::thread_get_mask().unwrap().contains(Signal::SIGTERM);
        assert!(!is_held());
        let outer = hold();
        drop(hold());
        assert!(is_held());
        drop(outer);
        assert!(!is_held());
    }
}
