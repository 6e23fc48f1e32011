//! Rounds on one file system: work, lose power, recover and compare.

use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::grounds::{Cut, FileSystem, Grounds, Mounted, Unmount};
use super::judge::{Found, judge, look};
use super::options::{Job, Writer, name};
use super::plan::Plan;
use super::random::Random;
use super::running_worker::{Acknowledged, RunningWorker};
use super::shaker::Shaker;
use super::{Failure, tree};

/// Results of all rounds of one writer on one file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) file_system: FileSystem,
    pub(super) writer: Writer,
    pub(super) cuts: usize,
    pub(super) kills: usize,
    pub(super) steps: usize,
    /// Number of cuts that left an older version.
    pub(super) behind: usize,
    /// Number of cuts that left no valid version at all.
    pub(super) mixed: usize,
    pub(super) violations: usize,
}

/// Number of rounds on one image, so that its history grows and power cuts follow each other.
const ROUNDS_ON_ONE_IMAGE: u64 = 4;
/// Maximum number of images kept for inspection.
const KEPT_MAX: usize = 3;

/// Runs the rounds of actum, each of which must succeed.
pub(super) fn actum(
    grounds: &Grounds,
    file_system: FileSystem,
    rounds: u64,
    seed: u64,
) -> Result<Tally, Failure> {
    let mut tally = Tally::new(file_system, Writer::Actum);
    let mut place: Option<Place<'_>> = None;
    for round in 0..rounds {
        let mut random = Random::part(seed, round);
        let mut here = match place.take() {
            Some(here) if round % ROUNDS_ON_ONE_IMAGE != 0 => here,
            earlier => {
                if let Some(earlier) = earlier {
                    earlier.mounted.close()?;
                }
                Place::open(grounds, file_system, &mut random)?
            }
        };
        let choices = Choices::random(&mut random);
        let violations = here.round(&choices, &mut random, &mut tally)?;
        if violations.is_empty() {
            place = Some(here);
            continue;
        }
        // An existing violation would be reported again in every following round on the same image.
        tally.report(&violations, round, &choices, &here.mounted)?;
        here.mounted.close()?;
    }
    if let Some(place) = place {
        place.mounted.close()?;
    }
    Ok(tally)
}

/// Runs the rounds of the control. It must lose something, or the method cannot detect losses.
pub(super) fn control(
    grounds: &Grounds,
    file_system: FileSystem,
    rounds: u64,
    seed: u64,
) -> Result<Tally, Failure> {
    let mut tally = Tally::new(file_system, Writer::Plain);
    for round in 0..rounds {
        let mut random = Random::part(!seed, round);
        let mut place = Place::open(grounds, file_system, &mut random)?;
        let choices = Choices::random(&mut random);
        let job = place.job(Writer::Plain, choices.shaker);
        let violations = place.lose_power(&job, &choices, true, &mut random, &mut tally)?;
        if let Some(first) = violations.first() {
            return Err(format!("the control: {first}").into());
        }
        if place.look(&mut tally)? != Found::AsAcknowledged {
            tally.violations += 1;
        }
        place.mounted.close()?;
    }
    Ok(tally)
}

/// A file system, and the known state of the tree on it.
struct Place<'g> {
    mounted: Mounted<'g>,
    plan: Plan,
    seed: u64,
    acknowledged: Acknowledged,
}

/// Choices for a round that are derived from the seed. Only the exact times of the cuts are not.
#[derive(Debug)]
struct Choices {
    shaker: Shaker,
    cut: Cut,
    unmount: Unmount,
    /// Number of times the worker is killed before the power is cut.
    kills: u64,
    /// Number of power cuts while the next worker opens the workspace and thereby recovers it.
    cuts_in_recovery: u64,
}

impl Choices {
    fn random(random: &mut Random) -> Self {
        Self {
            shaker: *random.pick(Shaker::value_variants()),
            cut: *random.pick(&[Cut::Nothing, Cut::Nothing, Cut::Log, Cut::Everything]),
            unmount: *random.pick(&[Unmount::Allowed, Unmount::TooLate]),
            kills: random.below(5).saturating_sub(2),
            cuts_in_recovery: random.below(4).saturating_sub(1),
        }
    }
}

impl<'g> Place<'g> {
    fn open(
        grounds: &'g Grounds,
        file_system: FileSystem,
        random: &mut Random,
    ) -> Result<Self, Failure> {
        let options = random.pick(file_system.mount_options());
        let mounted = grounds.mount_new(file_system, options)?;
        let seed = random.next();
        let mut plan = Plan::new(seed);
        std::fs::create_dir(mounted.tree())?;
        tree::write(&mounted.tree(), plan.version(0)?)?;
        mounted.settle()?;
        Ok(Self { mounted, plan, seed, acknowledged: Acknowledged(0) })
    }

    fn job(&self, writer: Writer, shaker: Shaker) -> Job {
        Job { writer, shaker, seed: self.seed, root: self.mounted.tree() }
    }

    /// Runs one round and returns the violations.
    fn round(
        &mut self,
        choices: &Choices,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<Vec<String>, Failure> {
        let job = self.job(Writer::Actum, choices.shaker);
        for _ in 0..choices.kills {
            let worker = RunningWorker::start(&job)?;
            sleep(some_time(random));
            tally.kills += 1;
            let violations = self.end(worker, Instant::now(), tally)?;
            if !violations.is_empty() {
                return Ok(violations);
            }
        }
        for cut in 0..=choices.cuts_in_recovery {
            let violations = self.lose_power(&job, choices, cut == 0, random, tally)?;
            if !violations.is_empty() {
                return Ok(violations);
            }
            self.look(tally)?;
        }
        match judge(&self.mounted.tree(), &mut self.plan, self.acknowledged) {
            Ok(step) => {
                self.acknowledged = Acknowledged(step);
                Ok(Vec::new())
            }
            Err(violation) => Ok(vec![violation.to_string()]),
        }
    }

    /// Lets a worker run, cuts the power, and restarts the file system.
    fn lose_power(
        &mut self,
        job: &Job,
        choices: &Choices,
        first: bool,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<Vec<String>, Failure> {
        let worker = RunningWorker::start(job)?;
        sleep(if first { some_time(random) } else { short_time(random) });
        let blameless = Instant::now();
        let cut = self.mounted.cut(choices.cut);
        tally.cuts += 1;
        let violations = self.end(worker, blameless, tally)?;
        cut?;
        self.mounted.restart(choices.unmount)?;
        Ok(violations)
    }

    fn end(
        &mut self,
        worker: RunningWorker,
        blameless: Instant,
        tally: &mut Tally,
    ) -> Result<Vec<String>, Failure> {
        let before = self.acknowledged.0;
        let violations = worker.end(&mut self.acknowledged, blameless)?;
        tally.steps += self.acknowledged.0.saturating_sub(before);
        Ok(violations)
    }

    fn look(&mut self, tally: &mut Tally) -> Result<Found, Failure> {
        let found = look(&self.mounted.tree(), &mut self.plan, self.acknowledged)?;
        match found {
            Found::AsAcknowledged => {}
            Found::Behind => tally.behind += 1,
            Found::Mixed => tally.mixed += 1,
        }
        Ok(found)
    }
}

/// Returns a time in which a worker starts, opens the workspace and recovers it.
fn short_time(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(40_000))
}

/// Returns a time in which a worker usually takes many steps, and sometimes none.
fn some_time(random: &mut Random) -> Duration {
    match random.below(4) {
        0 => short_time(random),
        _ => Duration::from_micros(20_000 + random.below(400_000)),
    }
}

impl Tally {
    fn new(file_system: FileSystem, writer: Writer) -> Self {
        let (cuts, kills, steps, behind, mixed, violations) = (0, 0, 0, 0, 0, 0);
        Self { file_system, writer, cuts, kills, steps, behind, mixed, violations }
    }

    fn report(
        &mut self,
        violations: &[String],
        round: u64,
        choices: &Choices,
        mounted: &Mounted<'_>,
    ) -> Result<(), Failure> {
        self.violations += 1;
        let slug = name(&self.file_system);
        let options = mounted.options();
        eprintln!("VIOLATION on {slug} in round {round} (mounted with `{options}`, {choices:?}):");
        for violation in violations {
            eprintln!("  {violation}");
        }
        if self.violations <= KEPT_MAX {
            let kept = mounted.keep_image(&format!("{slug}-round-{round}"))?;
            eprintln!("  the disk after the cut, before recovery: {}", kept.display());
        }
        Ok(())
    }
}
