//! Termination signals: they are held while a run is made, and leave the terminal in its original state.

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

/// Longest delay of a signal while the terminal is in another state.
const STEP: Duration = Duration::from_millis(50);

/// Guard that holds `SIGINT`, `SIGTERM` and `SIGHUP`. When it is dropped, those that were not held before have their
/// usual effect.
#[derive(Debug)]
pub(crate) struct Held(Option<SigSet>);

/// Holds the signals that ask the program to end.
#[must_use = "they wait only as long as this lives"]
pub(crate) fn hold() -> Held {
    let signals = asking_to_end();
    // If they cannot be held, a signal ends the run as a kill does, and recovery rolls it back.
    let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).ok();
    Held(before.map(|before| signals.iter().filter(|signal| !before.contains(*signal)).collect()))
}

/// Holds the signal that ends a program on a write beyond the limit of file sizes (`RLIMIT_FSIZE`, setrlimit(2)). The
/// write then fails, and the failure is reported.
pub(crate) fn hold_file_size() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().unwrap_or_default(); // it ends the program then, as it does by default
}

/// Holds all signals, for this thread and those that it starts meanwhile.
#[must_use = "they wait only as long as this lives"]
pub(crate) fn hold_all() -> HeldAll {
    HeldAll(SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK).ok())
}

/// Guard that holds all signals. When it is dropped, the thread has its earlier mask.
#[derive(Debug)]
pub(crate) struct HeldAll(Option<SigSet>);

impl Drop for HeldAll {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            before.thread_set_mask().unwrap_or_default();
        }
    }
}

/// Returns the signals that ask the program to end. A signal that the caller had set to be ignored (nohup(1)) is left
/// out.
fn asking_to_end() -> SigSet {
    let ignored = ignored().unwrap_or(0);
    let is_heard = |signal: &Signal| ignored & (1 << (*signal as u64 - 1)) == 0;
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().filter(is_heard).collect()
}

/// Returns the ignored signals, a bit each (proc_pid_status(5)).
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel tells it there, and asking it needs no `unsafe`"
)]
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Descriptor that reports a held signal.
#[derive(Debug)]
pub(crate) struct Waiting(SignalFd);

/// Opens a descriptor that reports held signals.
///
/// # Errors
/// The descriptor cannot be opened.
pub(crate) fn waiting() -> io::Result<Waiting> {
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    Ok(Waiting(SignalFd::with_flags(&asking_to_end(), flags)?))
}

impl Waiting {
    /// Returns a stop request that a held signal triggers.
    ///
    /// # Errors
    /// The descriptor cannot be duplicated.
    pub(crate) fn stop(&self) -> io::Result<Stop> {
        self.0.as_fd().try_clone_to_owned().map(Stop::when_readable)
    }

    /// Returns true if a signal is held.
    pub(crate) fn is_any(&self) -> bool {
        // Polled without reading the signal.
        let mut asked = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut asked, PollTimeout::ZERO), Ok(ready) if ready > 0)
    }

    /// Waits for a signal.
    pub(crate) fn wait(&self) {
        let mut asked = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        while poll(&mut asked, PollTimeout::NONE) == Err(Errno::EINTR) {}
    }

    /// Discards the held signals, since their request was carried out.
    pub(crate) fn take(&self) {
        while let Ok(Some(_)) = self.0.read_signal() {}
    }
}

/// Guard under which the same signals restore the terminal at standard input before they have their usual effect.
#[must_use = "the terminal is put back only as long as this lives"]
pub(crate) struct TerminalKept {
    is_over: Arc<AtomicBool>,
    _held: Held,
}

/// Saves the state of the terminal at standard input, and restores it on a signal.
///
/// # Errors
/// There is no terminal, or signals cannot be observed.
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

/// Waits for a signal, until the guard is dropped.
fn watch(came: &SignalFd, signals: SigSet, terminal: &Termios, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        let Ok(Some(found)) = came.read_signal() else {
            thread::sleep(STEP);
            continue;
        };
        let signal = i32::try_from(found.ssi_signo).ok().and_then(|it| Signal::try_from(it).ok());
        // The program ends here, whether the terminal could be restored or not.
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
            // A signal that could be held can be released.
            signals.thread_unblock().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FE-1: signals held twice wait until the outer holder releases them.
    #[test]
    fn signals_wait_until_the_first_holder_lets_them_go() {
        let is_held = || SigSet::thread_get_mask().unwrap().contains(Signal::SIGTERM);
        assert!(!is_held());
        let outer = hold();
        drop(hold());
        assert!(is_held());
        drop(outer);
        assert!(!is_held());
    }
}
