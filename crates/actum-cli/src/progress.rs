//! Progress display for work that takes longer than a second. It is written to standard error, and only if standard
//! error is a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::output::{Screen, Verbosity};
use crate::{clock, signals};

/// Counter of finished items, shown on the terminal while a command works through them.
pub(crate) struct Progress {
    noun: &'static str,
    began: i64,
    last_update: i64,
    shown: bool,
    is_seen: bool,
}

/// Delay before the counter is first shown, in microseconds.
const QUIET_MICROS: i64 = 1_000_000;
/// Minimum interval between two updates of the counter, in microseconds.
const EVERY_MICROS: i64 = 100_000;

impl Progress {
    /// Starts a counter of items, for which `noun` is the plural, such as `files`.
    pub(crate) fn new(screen: &Screen, noun: &'static str) -> Self {
        let began = clock::now().micros();
        Self { noun, began, last_update: began, shown: false, is_seen: is_seen(screen) }
    }

    /// Updates the displayed number of finished items, unless the last update was too recent.
    pub(crate) fn update(&mut self, done: u64) {
        if !self.is_seen {
            return;
        }
        let now = clock::now().micros();
        let is_due = now.saturating_sub(self.began) > QUIET_MICROS
            && now.saturating_sub(self.last_update) > EVERY_MICROS;
        if is_due {
            self.last_update = now;
            self.shown = true;
            let mut err = io::stderr().lock();
            // Progress is only informative, so a failure to print it is ignored.
            drop(write!(err, "\r{done} {}", self.noun).and_then(|()| err.flush()));
        }
    }

    /// Clears the line with the counter, if it was shown.
    pub(crate) fn end(&self) {
        if self.shown {
            drop(write!(io::stderr().lock(), "\r\x1b[K"));
        }
    }
}

/// Display of the elapsed time, for work of unknown duration. A thread updates it every second until this value is
/// dropped. No thread is started if the user would not see the display.
#[must_use = "the elapsed time is shown only until this value is dropped"]
pub(crate) struct Working(Option<(Sender<()>, JoinHandle<()>)>);

/// Interval between two updates of the elapsed time.
const STEP: Duration = Duration::from_secs(1);

impl Working {
    /// Starts to display `what`, a description of the work in progress, with the elapsed time.
    pub(crate) fn begin(screen: &Screen, what: &'static str) -> Self {
        if !is_seen(screen) {
            return Self(None);
        }
        let (over, is_over) = mpsc::channel();
        // Block all signals in the new thread, so that they are delivered to the working thread, which may hold them.
        let _held = signals::hold_all();
        let spawned = thread::Builder::new().spawn(move || show_time(what, &is_over));
        Self(spawned.ok().map(|thread| (over, thread)))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.0.take() {
            drop(over);
            // Wait for the thread to clear its line before any other output is written.
            thread.join().unwrap_or_default();
        }
    }
}

/// Returns whether the user sees progress: standard error is a terminal, and `--quiet` was not passed.
fn is_seen(screen: &Screen) -> bool {
    screen.verbosity == Verbosity::Normal && io::stderr().is_terminal()
}

fn show_time(what: &str, is_over: &Receiver<()>) {
    let mut seconds: u64 = 0;
    while is_over.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
        seconds = seconds.saturating_add(1);
        let mut err = io::stderr().lock();
        drop(write!(err, "\r{what}, {seconds} s\x1b[K").and_then(|()| err.flush()));
    }
    if seconds > 0 {
        drop(write!(io::stderr().lock(), "\r\x1b[K"));
    }
}
