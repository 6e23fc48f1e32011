//! `cargo xtask bench agent`: dispatches of goals in one process, replays, and whole processes compared with `actum
//! action run`.

mod goals;
mod page;
mod tables;

use std::fs::{remove_file, write};
use std::path::{Path, PathBuf};

use actum::Cedar;
use actum_agent::AgentGoalRequest;
use actum_dispatch::{Dispatcher, ReplayReport, Settings};
use actum_workspace::LinuxDisk;

use super::contest::{Bar, Contest, Limit};
use super::contestant::Surroundings;
use super::machine::Machine;
use super::options::Options;
use super::place::Grounds;
use super::race::{Contestant, race, time};
use super::rounds::sync;
use super::{Failure, finish, take_precedence};
use crate::{Outcome, packages};
use goals::Goals;

/// Page that a full run writes.
const PAGE: &str = "docs/benchmarks-agent.md";
const REFUSAL: &str = "a decision without a dispatch";
const DISPATCH: &str = "a dispatch of `file_create`";
const REPLAY: &str = "replaying a decision";
const ACTION: &str = "`actum action run`";
const AGENT: &str = "`actum agent dispatch`";
/// Number of decisions that are replayed in one measurement.
const REPLAYED: usize = 100;

/// Results of the agent benchmark.
struct Results {
    machine: Machine,
    contests: Vec<Contest>,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    packages::require("bench agent")?;
    take_precedence();
    let program = super::build_actum(root)?;
    let grounds = Grounds::make()?;
    let results = measure(options, &program, &grounds);
    eprintln!("removing what was made");
    grounds.clear()?;
    let results = results?;
    if results.contests.is_empty() {
        return Err("the pattern selects nothing; nothing was measured".into());
    }
    finish(root, PAGE, &page::render(&results), options)
}

fn measure(options: &Options, program: &Path, grounds: &Grounds) -> Result<Results, Failure> {
    let mut results = Results { machine: Machine::this(&[]), contests: Vec::new() };
    let home = grounds.home()?;
    if options.selects("dispatch") {
        eprintln!("dispatching goals in one process");
        results.contests.push(dispatches(&home.join("dispatch"), options.rounds(201, 15))?);
    }
    if options.selects("replay") {
        eprintln!("replaying decisions");
        results.contests.push(replays(&home.join("replay"), options.rounds(41, 5))?);
    }
    if options.selects("tables") {
        eprintln!("filling the tables of the core");
        let steps = if options.quick { 1_000 } else { tables::STEPS };
        let rounds = options.rounds(21, 3);
        results.contests.extend(tables::measure(&home.join("tables"), steps, rounds)?);
    }
    if options.selects("process") {
        eprintln!("dispatching goals as whole processes");
        let rounds = options.rounds(61, 7);
        results.contests.push(processes(&home.join("process"), program, rounds)?);
    }
    Ok(results)
}

/// Measures decisions and dispatches in one process.
fn dispatches(place: &Path, rounds: usize) -> Result<Contest, Failure> {
    let refusals = Goals::make(&place.join("refusals"))?;
    let goals = Goals::make(&place.join("goals"))?;
    let finishes = race(
        vec![
            Contestant::new(REFUSAL, || {
                let goal = refusals.next()?;
                let mut engine = refusals.engine()?;
                let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
                let caller = refusals.caller();
                sync(place)?;
                time(|| {
                    dispatcher.dispatch(&goal, &caller)?;
                    Ok(())
                })
            }),
            Contestant::new(DISPATCH, || {
                let goal = goals.next()?;
                let mut engine = goals.engine()?;
                let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
                confirmed(&mut dispatcher, &goals, &goal)?;
                let caller = goals.caller();
                sync(place)?;
                let taken = time(|| {
                    let dispatched = dispatcher.dispatch(&goal, &caller)?;
                    match dispatched.outcome.reason_code.clone() {
                        None => Ok(()),
                        Some(reason) => Err(reason.into()),
                    }
                })?;
                Ok(taken)
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "Goals in one process".to_owned(),
        finishes,
        bars: vec![
            Bar { who: REFUSAL, limit: Limit::MostlyInAll(3.0) },
            Bar { who: DISPATCH, limit: Limit::InAll(5.0) },
            Bar { who: DISPATCH, limit: Limit::MostlyInAll(10.0) },
        ],
    })
}

/// Requests the confirmation of a goal, and answers it.
fn confirmed(
    dispatcher: &mut Dispatcher<'_, LinuxDisk>,
    goals: &Goals,
    goal: &AgentGoalRequest,
) -> Result<(), Failure> {
    let asked = dispatcher.dispatch(goal, &goals.caller())?;
    let (_, prompt) = asked.prompt.ok_or("no prompt was emitted")?;
    dispatcher.confirm(&goals.yes(goal, &prompt), &goals.person(), None)?;
    Ok(())
}

/// Measures replays of recorded decisions.
fn replays(place: &Path, rounds: usize) -> Result<Contest, Failure> {
    let goals = Goals::make(place)?;
    let goal = goals.next()?;
    {
        let mut engine = goals.engine()?;
        let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
        for _ in 0..REPLAYED {
            dispatcher.dispatch(&goal, &goals.caller())?;
        }
    }
    let (records, cedar) = (goals.records(), Cedar::default());
    let replay = || {
        let mut decisions = 1;
        let taken = time(|| {
            let report = records
                .ledger()
                .read(|log| {
                    ReplayReport::new((log, records.keyring()), &goal.correlation_id, &cedar)
                })
                .map_err(actum::Error::from)?;
            decisions = report.decisions.len().max(1);
            if report.is_same() { Ok(()) } else { Err("a decision differs".into()) }
        })?;
        Ok(taken / u32::try_from(decisions)?)
    };
    Ok(Contest {
        title: "Decisions that are made again, each".to_owned(),
        finishes: race(vec![Contestant::new(REPLAY, replay)], rounds),
        bars: vec![Bar { who: REPLAY, limit: Limit::InAll(0.2) }],
    })
}

/// Measures dispatches as whole processes.
fn processes(place: &Path, program: &Path, rounds: usize) -> Result<Contest, Failure> {
    let goals = Goals::make(place)?;
    let workspace: PathBuf = goals.workspace();
    let surroundings = Surroundings::new(place);
    let call = |words: &[&str]| {
        let mut command = surroundings.command(program, &workspace)?;
        command.env("ACTUM_HOME", goals.home());
        command.args(words);
        surroundings.run(&mut command)
    };
    let finishes = race(
        vec![
            Contestant::new(ACTION, || {
                write(place.join("plan.json"), goals.plan()?)?;
                sync(place)?;
                time(|| call(&["action", "run", "../plan.json"]))
            }),
            Contestant::new(AGENT, || {
                let goal = goals.next()?;
                {
                    let mut engine = goals.engine()?;
                    let mut dispatcher = Dispatcher::new(&mut engine, Settings::default());
                    confirmed(&mut dispatcher, &goals, &goal)?;
                }
                write(place.join("goal.json"), serde_json::to_vec(&goal)?)?;
                sync(place)?;
                let taken = time(|| call(&["agent", "dispatch", "../goal.json"]))?;
                remove_file(place.join("goal.json"))?;
                Ok(taken)
            }),
        ],
        rounds,
    );
    Ok(Contest {
        title: "A file is made, whole processes".to_owned(),
        finishes,
        bars: vec![Bar { who: AGENT, limit: Limit::Times(1.3) }],
    })
}
