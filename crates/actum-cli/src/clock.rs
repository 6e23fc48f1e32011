//! Clock: the only module that reads the time of the machine.

use std::sync::Arc;

use actum::Clock;
use actum_core::Timestamp;

/// Returns the clock of the machine.
pub(crate) fn clock() -> Clock {
    Clock::new(now)
}

/// Returns the clock of the machine, as the ledger takes it.
pub(crate) fn clock_function() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(now)
}

/// Returns the current time.
#[expect(clippy::disallowed_methods, reason = "here the clock becomes a value")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Timestamp::from_micros(micros)
}
