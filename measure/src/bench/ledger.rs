//! `cargo xtask bench ledger`: compares appending with the same insert without a Merkle tree, many clients with one,
//! and long ledgers with short ones. It also measures verification and `actum log`.

mod append;
mod material;
mod page;
mod plain;
mod shop;
mod slowest;
pub(crate) mod syncs;
mod verify;

use std::path::Path;

use super::machine::Machine;
use super::options::Options;
use super::place::Grounds;
use super::race::Finish;
use super::{Failure, finish, take_precedence};
use crate::{Outcome, packages};
use shop::Shop;
use slowest::Crowd;
use syncs::Syncs;
use verify::Rate;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-ledger.md";

/// Results of the ledger benchmark.
struct Results {
    machine: Machine,
    file_system: String,
    contests: Vec<Contest>,
    verify: Option<Rate>,
    log: Option<Log>,
    syncs: Option<Syncs>,
    crowd: Option<Crowd>,
}

/// Time that `actum log` takes.
struct Log {
    /// Number of rows in the long ledger.
    entries: u64,
    finishes: Vec<Finish>,
}

/// Contestants that took turns at the same work. Times are for one append.
struct Contest {
    title: &'static str,
    /// Results of the contestants. The first one is the baseline for the others.
    finishes: Vec<Finish>,
    bars: Vec<Bar>,
}

/// Promise about one of the contestants: its time limit, as a multiple of the first contestant's time.
struct Bar {
    who: &'static str,
    must: f64,
    aim: f64,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("bench ledger")?;
    take_precedence();
    let grounds = Grounds::make()?;
    let results = measure(root, options, &grounds);
    eprintln!("removing what was made");
    grounds.clear()?;
    finish(root, PAGE, &page::render(&results?), options)
}

fn measure(root: &Path, options: &Options, grounds: &Grounds) -> Result<Results, Failure> {
    let home = grounds.home()?;
    let mut results = Results {
        machine: Machine::this(&["rustc"]),
        file_system: super::machine::file_system(&home)?,
        contests: Vec::new(),
        verify: None,
        log: None,
        syncs: None,
        crowd: None,
    };
    if options.selects("append") {
        eprintln!("appending with and without a Merkle tree");
        results.contests.push(append::one_writer(&home.join("append"), options.rounds(40, 8))?);
    }
    if options.selects("clients") {
        eprintln!("appending from 64 threads");
        results.contests.push(append::clients(&home.join("clients"), options.rounds(30, 6))?);
    }
    if options.selects("pages") {
        eprintln!("opening again and again");
        results.contests.push(append::pages(&home.join("pages"), options.rounds(20, 5))?);
    }
    if options.selects("syncs") {
        eprintln!("counting syncs");
        results.syncs = Some(syncs::measure(&home.join("syncs"))?);
    }
    if ["length", "verify", "log"].iter().any(|work| options.selects(work)) {
        let entries = if options.quick { 100_000 } else { 1_000_000 };
        eprintln!("making a ledger of {entries} entries");
        let program = super::build_actum(root)?;
        let mut shops = [
            Shop::open(&program, &home.join("short-log"))?,
            Shop::open(&program, &home.join("long-log"))?,
        ];
        let [short, long] = &mut shops;
        material::fill(&long.ledger(), entries)?;
        [&mut *short, &mut *long].into_iter().try_for_each(Shop::settle)?;
        let ledger = long.ledger();
        if options.selects("verify") {
            eprintln!("verifying it");
            results.verify = Some(verify::measure(&ledger, options.rounds(7, 3))?);
        }
        if options.selects("log") {
            eprintln!("looking back");
            let finishes = shop::log(short, long, options.rounds(40, 10));
            results.log = Some(Log { entries, finishes });
        }
        if options.selects("length") {
            eprintln!("appending to it");
            let short = home.join("short");
            results.contests.push(append::length(&ledger, &short, options.rounds(40, 8))?);
        }
    }
    if options.selects("slowest") {
        let seconds = if options.quick { options.seconds.min(5) } else { options.seconds };
        eprintln!("appending from 64 threads for {seconds} s");
        results.crowd = Some(slowest::measure(&home.join("slowest"), seconds)?);
    }
    Ok(results)
}
