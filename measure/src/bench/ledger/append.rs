//! Appends, both sequential and concurrent.

use std::cell::Cell;
use std::fs::remove_dir_all;
use std::path::Path;
use std::time::Duration;

use actum_core::Status;
use actum_ledger::sqlite::SqliteOptions;
use actum_ledger::{Ledger, Log, NewEntry, Prepared, SqliteStore, Store};

use super::material::{ledger, open, sample, started};
use super::plain::Plain;
use super::{Bar, Contest};
use crate::bench::Failure;
use crate::bench::race::{Contestant, race, time};

/// Number of appends in one round.
const APPENDS: u32 = 100;
/// Number of appends by each client in one round.
const OF_CLIENT: u32 = 8;
const CLIENTS: u32 = 64;
/// Number of sequential processes in one round.
const VISITS: u32 = 20;
const LEDGER: &str = "ledger";
const MANY: &str = "64 clients";
const LONG: &str = "a long ledger";

/// Generator of unused run numbers.
struct Numbers(Cell<u64>);

impl Numbers {
    fn entries(&self, count: u32) -> Result<Vec<NewEntry>, Failure> {
        let from = self.0.get();
        self.0.set(from + u64::from(count));
        (from..from + u64::from(count)).map(started).collect()
    }
}

fn each(taken: Duration, count: u32) -> Duration {
    taken / count
}

pub(super) fn one_writer(home: &Path, rounds: usize) -> Result<Contest, Failure> {
    let numbers = Numbers(Cell::new(0));
    let plain = Plain::make(&home.join("plain"), SqliteOptions::default().log_pages)?;
    let mut store = open(&home.join("store"), SqliteOptions::default())?;
    let ledger = ledger(&home.join("ledger"));
    let finishes = race(
        vec![
            Contestant::new("plain insert", || {
                let entries = numbers.entries(APPENDS)?;
                let taken = time(|| {
                    entries.iter().try_for_each(|entry| {
                        plain.put(entry)?;
                        plain.tidy()
                    })
                });
                Ok(each(taken?, APPENDS))
            }),
            Contestant::new("store alone", || {
                let entries = numbers.entries(APPENDS)?;
                Ok(each(time(|| in_store(&mut store, entries))?, APPENDS))
            }),
            Contestant::new(LEDGER, || {
                let entries = numbers.entries(APPENDS)?;
                Ok(each(time(|| one_by_one(&ledger, entries))?, APPENDS))
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "One writer, an entry of 1 KiB and its document in each transaction",
        finishes,
        bars: vec![Bar { who: LEDGER, must: 1.3, aim: 1.1 }],
    })
}

fn in_store(store: &mut SqliteStore, entries: Vec<NewEntry>) -> Result<(), Failure> {
    for entry in entries {
        for result in store.append(&[vec![Prepared::new(entry)?]])? {
            result?;
        }
        store.tidy()?;
    }
    Ok(())
}

fn one_by_one(ledger: &Ledger, entries: Vec<NewEntry>) -> Result<(), Failure> {
    for entry in entries {
        ledger.append(vec![entry]).wait()?;
    }
    Ok(())
}

pub(super) fn clients(home: &Path, rounds: usize) -> Result<Contest, Failure> {
    let numbers = Numbers(Cell::new(0));
    let one = ledger(&home.join("one"));
    let many = ledger(&home.join("many"));
    let finishes = race(
        vec![
            Contestant::new("one client", || {
                let entries = numbers.entries(APPENDS)?;
                Ok(each(time(|| one_by_one(&one, entries))?, APPENDS))
            }),
            Contestant::new(MANY, || {
                let shares: Result<Vec<_>, _> =
                    (0..CLIENTS).map(|_| numbers.entries(OF_CLIENT)).collect();
                let shares = shares?;
                let taken = time(|| {
                    std::thread::scope(|scope| {
                        let clients: Vec<_> = shares
                            .into_iter()
                            .map(|share| {
                                let many = &many;
                                let work =
                                    move || one_by_one(many, share).map_err(|e| e.to_string());
                                scope.spawn(work)
                            })
                            .collect();
                        clients.into_iter().try_for_each(|client| {
                            client.join().map_err(|_| "a client panicked")?.map_err(Into::into)
                        })
                    })
                });
                Ok(each(taken?, CLIENTS * OF_CLIENT))
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "One client and 64, each waiting for its answer before it asks again",
        finishes,
        bars: vec![Bar { who: MANY, must: 1.0 / 3.0, aim: 1.0 / 5.0 }],
    })
}

/// Compares appending to the ledger in `long` with appending to one of 1,000 entries.
pub(super) fn length(long: &Path, short: &Path, rounds: usize) -> Result<Contest, Failure> {
    let numbers = Numbers(Cell::new(1 << 40));
    super::material::fill(short, 1000)?;
    let mut stores = [short, long].map(|place| open(place, SqliteOptions::default()));
    let [short, long] = &mut stores;
    let (short, long) = (short.as_mut(), long.as_mut());
    let (short, long) =
        (short.map_err(|error| error.to_string())?, long.map_err(|error| error.to_string())?);
    let finishes = race(
        vec![
            Contestant::new("a ledger of 1,000", || {
                let entries = numbers.entries(APPENDS)?;
                Ok(each(time(|| in_store(short, entries))?, APPENDS))
            }),
            Contestant::new(LONG, || {
                let entries = numbers.entries(APPENDS)?;
                Ok(each(time(|| in_store(long, entries))?, APPENDS))
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "A ledger of 1,000 entries and one of 1,000,000",
        finishes,
        bars: vec![Bar { who: LONG, must: 1.3, aim: 1.1 }],
    })
}

/// Times short sessions that open the ledger, append both entries of a run, and close it.
pub(super) fn pages(home: &Path, rounds: usize) -> Result<Contest, Failure> {
    let numbers = Cell::new(0);
    let visits = |pages: u32| {
        let options = SqliteOptions { log_pages: pages, ..SqliteOptions::default() };
        let (directory, numbers) = (home.join(pages.to_string()), &numbers);
        move || {
            let from = numbers.get();
            numbers.set(from + u64::from(VISITS));
            let visit = |number| {
                let mut store = open(&directory, options)?;
                let run = sample(number);
                // The first entry is appended after all existing ones, so its index is the current size.
                let started = store.size()?;
                for entry in [run.started()?, run.done(Status::Succeeded, started)?] {
                    for result in store.append(&[vec![Prepared::new(entry)?]])? {
                        result?;
                    }
                    store.tidy()?;
                }
                Ok(())
            };
            let all = || (from..from + u64::from(VISITS)).try_for_each(visit);
            Ok(each(time(all)?, VISITS))
        }
    };
    remove_dir_all(home).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let finishes = race(
        vec![
            Contestant::new("16 pages", visits(16)),
            Contestant::new("32 pages", visits(32)),
            Contestant::new("64 pages", visits(64)),
            Contestant::new("128 pages", visits(128)),
            Contestant::new("256 pages", visits(256)),
            Contestant::new("1,000 pages", visits(1000)),
        ],
        rounds,
    );
    Ok(Contest {
        title: "A visit of a short process, by how long the log of the database may get",
        finishes,
        bars: Vec::new(),
    })
}
