//! System clock. No other module reads the current time.

use std::sync::Arc;

use actum::Clock;
use actum_core::Timestamp;

/// Returns the system clock as used by requests.
pub(crate) fn clock() -> Clock {
    Clock::new(now)
}

/// Returns the system clock as a function, as used by the ledger.
pub(crate) fn clock_function() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(now)
}

/// Returns the current time. A time before 1970 is returned as 0.
#[expect(clippy::disallowed_methods, reason = "this is the only place that reads the system clock")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Timestamp::from_micros(micros)
}
