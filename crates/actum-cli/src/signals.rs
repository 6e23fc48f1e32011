//! Signals that ask the program to end wait while a run is made.

use nix::sys::signal::{SigSet, Signal};

/// While it lives, `SIGINT`, `SIGTERM` and `SIGHUP` wait; then they do what they always do.
#[derive(Debug)]
pub(crate) struct Held(Option<SigSet>);

/// Lets signals that ask the program to end wait.
#[must_use = "they wait only as long as this lives"]
pub(crate) fn hold() -> Held {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    // Where they cannot be held, a signal ends the run as a kill does, and recovery takes it back.
    Held(signals.thread_block().is_ok().then_some(signals))
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(signals) = self.0 {
            // What could be held can be let go.
            signals.thread_unblock().unwrap_or_default();
        }
    }
}
