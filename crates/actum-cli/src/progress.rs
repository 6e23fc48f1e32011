//! How far work that takes long has come, on a terminal.

use std::io::{self, IsTerminal, Write};

use crate::records;

/// Work that has begun.
pub(crate) struct Progress {
    noun: &'static str,
    began: i64,
    told: i64,
    shown: bool,
    is_seen: bool,
}

/// Until then nothing is told, in microseconds.
const QUIET_MICROS: i64 = 1_000_000;
/// And not more often than that.
const EVERY_MICROS: i64 = 100_000;

impl Progress {
    /// Work on so many of something begins.
    pub(crate) fn new(noun: &'static str) -> Self {
        let began = records::now().micros();
        Self { noun, began, told: began, shown: false, is_seen: io::stderr().is_terminal() }
    }

    /// So many are done.
    pub(crate) fn tell(&mut self, done: u64) {
        if !self.is_seen {
            return;
        }
        let now = records::now().micros();
        let is_due = now.saturating_sub(self.began) > QUIET_MICROS
            && now.saturating_sub(self.told) > EVERY_MICROS;
        if is_due {
            self.told = now;
            self.shown = true;
            let mut err = io::stderr().lock();
            // Where it cannot be told nobody misses it.
            drop(write!(err, "\r{done} {}", self.noun).and_then(|()| err.flush()));
        }
    }

    /// It is over; the line is empty again.
    pub(crate) fn end(&self) {
        if self.shown {
            drop(write!(io::stderr().lock(), "\r\x1b[K"));
        }
    }
}
