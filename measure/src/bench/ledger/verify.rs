//! Number of entries that are verified per second.

use std::path::Path;
use std::time::Duration;

use actum_ledger::verify::{Checks, Receipts, verify};
use actum_ledger::{LedgerView, Log};
use actum_record::merkle::leaf_hash;

use crate::bench::Failure;
use crate::bench::race::{Contestant, Finish, race, time};

/// Result of a verification.
pub(super) struct Rate {
    pub(super) entries: u64,
    /// Mean size of an entry's body.
    pub(super) bytes: u64,
    /// Times of hashing the same number of bytes on one processor and on all of them, as a reference for the machine,
    /// and of verifying.
    pub(super) finishes: Vec<Finish>,
}

pub(super) fn measure(directory: &Path, rounds: usize) -> Result<Rate, Failure> {
    let open = || LedgerView::open_directory(directory)?.ok_or_else(|| Failure::from("it is gone"));
    let entries = open()?.size()?;
    let bodies: Vec<Vec<u8>> =
        open()?.entries(1, 10_000)?.into_iter().map(|entry| entry.body).collect();
    let count = u64::try_from(bodies.len())?;
    let bytes = bodies.iter().map(|body| body.len() as u64).sum::<u64>() / count;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let times = entries / count;
    let hash = |threads: usize| {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let bodies = &bodies;
                scope.spawn(move || {
                    for _ in 0..times {
                        for body in bodies.iter().skip(thread).step_by(threads) {
                            std::hint::black_box(leaf_hash(body));
                        }
                    }
                });
            }
        });
        Ok(())
    };
    let finishes = race(
        vec![
            Contestant::new("`sha2` alone, one processor", || time(|| hash(1))),
            Contestant::new("`sha2` alone, all processors", || time(|| hash(all))),
            Contestant::new("verifying", || {
                let view = open()?;
                time(|| {
                    // Signatures are measured elsewhere. Here, a checkpoint covers all receipts.
                    let mut checks = Checks {
                        note: &mut |_| Ok(()),
                        entry: &mut |_, _| Ok(()),
                        receipts: Receipts::NotCovered,
                    };
                    let result = verify(&view, &mut checks, &mut |_| {})?;
                    match result.findings.first() {
                        None => Ok(()),
                        Some(finding) => Err(finding.to_string().into()),
                    }
                })
            }),
        ],
        rounds,
    );
    Ok(Rate { entries, bytes, finishes })
}

impl Rate {
    /// Returns the number of entries per second.
    pub(super) fn of(&self, time: Duration) -> f64 {
        self.entries as f64 / time.as_secs_f64()
    }
}
