//! `cargo xtask bench tasks`: compares task plans with `git`, interleaved in one run, and measures parts of them that have targets
//! of their own.

mod edit;
mod memory;
mod page;
mod plan;

use std::fs::write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::contest::{Bar, Contest, Limit};
use super::contestant::{Programs, Surroundings};
use super::machine::Machine;
use super::material::{Expected, Stock};
use super::measurement::{Who, Work};
use super::options::Options;
use super::place::Grounds;
use super::race::{Contestant, race, time};
use super::rounds::sync;
use super::{Failure, finish, take_precedence};
use crate::{Outcome, packages};
use memory::Peak;
use plan::Fixture;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-tasks.md";
const FILES: usize = 1000;
const RUN: &str = "`actum run`";

/// Results of the measurement.
struct Results {
    machine: Machine,
    contests: Vec<Contest>,
    peaks: Vec<Peak>,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("bench tasks")?;
    take_precedence();
    let program = super::build_actum(root)?;
    let grounds = Grounds::make()?;
    let results = measure(options, program, &grounds);
    eprintln!("removing what was made");
    grounds.clear()?;
    let results = results?;
    if results.contests.is_empty() && results.peaks.is_empty() {
        return Err("the pattern selects nothing; nothing was measured".into());
    }
    let text = page::render(&results);
    finish(root, PAGE, &text, options)
}

fn measure(options: &Options, program: PathBuf, grounds: &Grounds) -> Result<Results, Failure> {
    let mut results =
        Results { machine: Machine::this(&["git"]), contests: Vec::new(), peaks: Vec::new() };
    let home = grounds.home()?;
    let programs = Programs { actum: Ok(program.clone()) };
    for (name, changed, first, limit) in
        [("ten", 10, Who::GitApply, 4.0), ("hundred", 100, Who::GitCommit, 1.5)]
    {
        if options.selects(name) {
            eprintln!("carrying out plans of {changed} actions");
            let place = home.join(name);
            let contest = Many { changed, first, limit, rounds: options.rounds(61, 7) };
            results.contests.push(contest.of(&place, &programs)?);
        }
    }
    if options.selects("edit") {
        eprintln!("editing a JSON file of 10 MB");
        results.contests.push(edit::contest(options.rounds(41, 5))?);
    }
    if options.selects("lint") {
        eprintln!("linting a plan of 10,000 lines");
        results.contests.push(plan::lint(&home.join("lint"), &program, options.rounds(41, 5))?);
    }
    if options.selects("memory") {
        eprintln!("measuring memory");
        results.peaks = memory::peaks(&home.join("memory"), &program)?;
    }
    Ok(results)
}

/// Result for plans that change this number of files, with their baseline.
struct Many {
    changed: usize,
    first: Who,
    limit: f64,
    rounds: usize,
}

impl Many {
    fn of(&self, place: &Path, programs: &Programs) -> Result<Contest, Failure> {
        let Self { changed, first, limit, rounds } = *self;
        let work = Work::Spread { changed, files: FILES };
        let stock = Stock::of_files(FILES);
        let others = [Who::GitApply, Who::GitCommit, Who::Process];
        let others = std::iter::once(first).chain(others.into_iter().filter(|who| *who != first));
        let mut contestants = Vec::new();
        for who in others {
            let place = place.join(who.directory());
            let workspace = place.join("workspace");
            stock.put(&workspace)?;
            let surroundings = Surroundings::new(&place);
            let mut contestant = who.enter(&workspace, programs, &surroundings)?;
            let (stock, mut round) = (&stock, 0);
            contestants.push(Contestant::new(who.name(), move || {
                round += 1;
                let change = stock.change(work, round)?;
                write(surroundings.diff(), &change.diff)?;
                sync(&workspace)?;
                let taken = time(|| contestant.apply(&change))?;
                change.check(&workspace, Expected::After)?;
                contestant.revert(&change)?;
                change.check(&workspace, Expected::Before)?;
                Ok(taken)
            }));
        }
        let program = programs.actum.as_ref().map_err(String::as_str)?;
        let desk = Fixture::make(&place.join("run"), program, &stock)?;
        let (stock, mut round) = (&stock, 0);
        contestants.push(Contestant::new(RUN, move || -> Result<Duration, Failure> {
            round += 1;
            let change = stock.change(work, round)?;
            desk.put(&plan::of_change(&change.change_set))?;
            sync(&desk.workspace)?;
            let taken = time(|| desk.run())?;
            change.check(&desk.workspace, Expected::After)?;
            desk.roll_back()?;
            change.check(&desk.workspace, Expected::Before)?;
            Ok(taken)
        }));
        Ok(Contest {
            title: format!("{changed} actions on {changed} of 1,000 files, whole processes"),
            finishes: race(contestants, rounds),
            bars: vec![Bar { who: RUN, limit: Limit::Times(limit) }],
        })
    }
}
