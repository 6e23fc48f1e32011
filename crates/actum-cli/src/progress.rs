//! Progress of work that takes longer than a second, on standard error if that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{clock, signals};

/// Work that has begun.
pub(crate) struct Progress {
    noun: &'static str,
    began: i64,
    told: i64,
    shown: bool,
    is_seen: bool,
}

/// Time before the first output, in microseconds.
const QUIET_MICROS: i64 = 1_000_000;
/// Minimum time between outputs, in microseconds.
const EVERY_MICROS: i64 = 100_000;

impl Progress {
    /// Starts the progress of work on items, which `noun` names.
    pub(crate) fn new(noun: &'static str) -> Self {
        let began = clock::now().micros();
        Self { noun, began, told: began, shown: false, is_seen: io::stderr().is_terminal() }
    }

    /// Shows the number of finished items.
    pub(crate) fn tell(&mut self, done: u64) {
        if !self.is_seen {
            return;
        }
        let now = clock::now().micros();
        let is_due = now.saturating_sub(self.began) > QUIET_MICROS
            && now.saturating_sub(self.told) > EVERY_MICROS;
        if is_due {
            self.told = now;
            self.shown = true;
            let mut err = io::stderr().lock();
            // A failure to print is ignored.
            drop(write!(err, "\r{done} {}", self.noun).and_then(|()| err.flush()));
        }
    }

    /// Ends the progress and clears the line.
    pub(crate) fn end(&self) {
        if self.shown {
            drop(write!(io::stderr().lock(), "\r\x1b[K"));
        }
    }
}

/// Work of unknown duration. Until it is dropped, a thread shows the elapsed time. If standard error is no terminal,
/// there is no thread.
#[must_use = "progress is shown only as long as this lives"]
pub(crate) struct Working(Option<(Sender<()>, JoinHandle<()>)>);

/// Step of the shown time.
const STEP: Duration = Duration::from_secs(1);

impl Working {
    /// Starts to show `what`, the work in progress.
    pub(crate) fn begin(what: &'static str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let (over, is_over) = mpsc::channel();
        // A signal is for the working thread, which may hold it back.
        let _held = signals::hold_all();
        let spawned = thread::Builder::new().spawn(move || show_time(what, &is_over));
        Self(spawned.ok().map(|thread| (over, thread)))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.0.take() {
            drop(over);
            // No other output is written before the line is cleared.
            thread.join().unwrap_or_default();
        }
    }
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
