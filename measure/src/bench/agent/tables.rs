//! Core tables in a ledger with many steps: rebuilding the projection, and the SLO gate.

use std::path::Path;

use actum_core::Timestamp;
use actum_dispatch::SloReport;
use actum_ledger::conformance::sample::SampleStep;
use actum_record::ledger::{AgentEventKind, AgentState};

use super::goals::Goals;
use crate::bench::Failure;
use crate::bench::contest::{Bar, Contest, Limit};
use crate::bench::race::{Contestant, race, time};

/// Number of steps in a full run, each with a start and an outcome.
pub(super) const STEPS: u64 = 100_000;
const REBUILD: &str = "rebuilding `agent_execution_current`";
const GATE: &str = "the SLO gate over a day";
/// Number of steps that are appended in one batch.
const BATCH: u64 = 50;
/// Microseconds in a day, over which the steps are distributed.
const DAY_US: u64 = 24 * 60 * 60 * 1_000_000;

pub(super) fn measure(place: &Path, steps: u64, rounds: usize) -> Result<Vec<Contest>, Failure> {
    let goals = Goals::make(place)?;
    let records = goals.records();
    let begin = records.now();
    fill(&goals, begin, steps)?;
    let rebuild = || {
        time(|| {
            records.ledger().rebuild_agent_current().wait().map_err(actum::Error::from)?;
            Ok(())
        })
    };
    let gate = || {
        time(|| {
            let read = records
                .ledger()
                .read(|log| SloReport::read((log, records.keyring()), begin, records.now()));
            let report = read.map_err(actum::Error::from)?;
            match report.counters.total == steps {
                true => Ok(()),
                false => Err("the counters are of other steps".into()),
            }
        })
    };
    let contest = |title: String, contestant, who, limit| Contest {
        title,
        finishes: race(vec![contestant], rounds),
        bars: vec![Bar { who, limit: Limit::InAll(limit) }],
    };
    let (title, rows) = (format!("Rebuild of {steps} steps"), steps * 2);
    Ok(vec![
        contest(title, Contestant::new(REBUILD, rebuild), REBUILD, 3000.0),
        contest(format!("SLO gate over {rows} rows"), Contestant::new(GATE, gate), GATE, 20.0),
    ])
}

fn fill(goals: &Goals, begin: Timestamp, steps: u64) -> Result<(), Failure> {
    let records = goals.records();
    let ledger = records.ledger();
    for first in (0..steps).step_by(usize::try_from(BATCH)?) {
        let mut entries = Vec::new();
        for number in first..steps.min(first + BATCH) {
            let after = i64::try_from(DAY_US / steps * number)?;
            let time = Timestamp::from_micros(begin.micros() + after);
            let step = SampleStep { time, ..SampleStep::numbered(number) };
            entries.extend(step.started()?);
            entries.push(step.event(AgentEventKind::Outcome, AgentState::Succeeded)?);
        }
        ledger.append(entries).wait().map_err(actum::Error::from)?;
    }
    Ok(())
}
