//! 64 clients that append for a minute, to check that no client waits long.

use std::path::Path;
use std::time::{Duration, Instant};

use super::material::{ledger, started};
use crate::bench::Failure;

const CLIENTS: u64 = 64;

/// Result of the crowd measurement.
pub(super) struct Crowd {
    pub(super) seconds: u64,
    /// All append times, shortest first.
    pub(super) times: Vec<Duration>,
    /// Appends of the client with the fewest, and of the one with the most.
    pub(super) fewest: usize,
    pub(super) most: usize,
}

pub(super) fn measure(directory: &Path, seconds: u64) -> Result<Crowd, Failure> {
    let ledger = ledger(directory);
    ledger.origin()?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let clients: Result<Vec<Vec<Duration>>, String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let ledger = &ledger;
                scope.spawn(move || {
                    let mut times = Vec::new();
                    let mut number = client << 32;
                    while Instant::now() < end {
                        let entry = started(number).map_err(|error| error.to_string())?;
                        let begun = Instant::now();
                        ledger.append(vec![entry]).wait().map_err(|error| error.to_string())?;
                        times.push(begun.elapsed());
                        number += 1;
                    }
                    Ok(times)
                })
            })
            .collect();
        let join = |client: std::thread::ScopedJoinHandle<'_, Result<_, String>>| {
            client.join().unwrap_or_else(|_| Err("a client panicked".to_owned()))
        };
        clients.into_iter().map(join).collect()
    });
    let clients = clients?;
    let counts = || clients.iter().map(Vec::len);
    let (fewest, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let mut times: Vec<Duration> = clients.into_iter().flatten().collect();
    times.sort_unstable();
    Ok(Crowd { seconds, times, fewest, most })
}
