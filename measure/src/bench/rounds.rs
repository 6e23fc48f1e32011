//! Clock of the rounds, in which contestants take turns at the same change.

use std::fs::{File, write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::syncfs;

use super::Failure;
use super::contestant::{Contestant, Surroundings};
use super::material::{Change, Expected, Stock};
use super::measurement::{Summary, Times, Who, Work};

/// Number of rounds of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rounds {
    pub(super) least: usize,
    pub(super) most: usize,
    /// Time after which no further round begins, except to reach the minimum number.
    pub(super) time: Duration,
}

/// Contestant in its workspace.
pub(super) struct Entrant {
    pub(super) who: Who,
    pub(super) workspace: PathBuf,
    /// Contestant, or the reason why it was excluded.
    pub(super) contestant: Result<Box<dyn Contestant>, String>,
}

/// Times of one entrant.
#[derive(Default)]
struct Clocked {
    apply: Vec<Duration>,
    revert: Vec<Duration>,
    back_to_back: Option<Duration>,
}

/// Clock for the entrants, which run one after another so that all are exposed to the same noise. Each span begins with
/// a synced file system, so an entrant does not pay for another's pending writes.
pub(super) struct Clock<'a> {
    pub(super) surroundings: &'a Surroundings,
    /// Counter for all rounds of a run, each of which has its own change.
    pub(super) round: &'a mut u64,
}

impl Clock<'_> {
    /// Times every entrant. One that fails is excluded from this work and all later ones.
    pub(super) fn interleave(
        &mut self,
        entrants: &mut [&mut Entrant],
        stock: &Stock,
        work: Work,
        rounds: Rounds,
    ) -> Result<Vec<Result<Times, String>>, Failure> {
        let mut clocked: Vec<_> = entrants.iter().map(|_| Clocked::default()).collect();
        // The additional first round warms up and is not counted.
        let mut begun = Instant::now();
        for round in 0..=rounds.most {
            if round > rounds.least && begun.elapsed() > rounds.time {
                break;
            }
            let change = self.next_change(stock, work)?;
            for (entrant, clocked) in entrants.iter_mut().zip(&mut clocked) {
                let Some((apply, revert)) = entrant.timed(&change) else { continue };
                if round > 0 {
                    clocked.apply.push(apply);
                    clocked.revert.push(revert);
                }
            }
            if round == 0 {
                begun = Instant::now();
            }
        }
        for (entrant, clocked) in entrants.iter_mut().zip(&mut clocked) {
            if let Some(pairs) = pairs_back_to_back(entrant.who, work) {
                clocked.back_to_back = self.back_to_back(entrant, stock, work, pairs)?;
            }
        }
        Ok(entrants.iter().zip(clocked).map(|(entrant, clocked)| entrant.times(clocked)).collect())
    }

    /// Returns the mean time of a run without pauses for other entrants or syncs. It includes periodic cleanup, which
    /// the median hides.
    fn back_to_back(
        &mut self,
        entrant: &mut Entrant,
        stock: &Stock,
        work: Work,
        pairs: u32,
    ) -> Result<Option<Duration>, Failure> {
        let mut total = Duration::ZERO;
        if sync(&entrant.workspace).is_err() {
            return Ok(None);
        }
        for _ in 0..pairs {
            let change = self.next_change(stock, work)?;
            let Some(pair) = entrant.timed_without_pause(&change) else { return Ok(None) };
            total += pair;
        }
        Ok(Some(total / (2 * pairs)))
    }

    fn next_change<'s>(&mut self, stock: &'s Stock, work: Work) -> Result<Change<'s>, Failure> {
        *self.round += 1;
        let change = stock.change(work, *self.round)?;
        write(self.surroundings.diff(), &change.diff)?;
        Ok(change)
    }
}

/// Returns the number of pairs that a contestant runs back to back, which is large enough for several cleanups by
/// actum.
fn pairs_back_to_back(who: Who, work: Work) -> Option<u32> {
    let Work::Spread { changed, files: 10_000 } = work else { return None };
    match (who, changed) {
        (Who::Library, 10) => Some(50),
        (Who::Library, 100) => Some(12),
        (Who::Library, 1000) => Some(4),
        (Who::GitCommit, 10) => Some(10),
        (Who::GitCommit, 100) => Some(5),
        (Who::GitCommit, 1000) => Some(2),
        (
            Who::Library
            | Who::Process
            | Who::GitApply
            | Who::GitCommit
            | Who::Patch
            | Who::InPlace
            | Who::InPlaceChecked
            | Who::InPlaceLogged,
            _,
        ) => None,
    }
}

impl Entrant {
    /// Applies and undoes the change, checking each step. Returns `None` if the entrant was excluded or has just
    /// failed.
    fn timed(&mut self, change: &Change<'_>) -> Option<(Duration, Duration)> {
        let workspace = self.workspace.clone();
        self.attempt(|contestant| {
            sync(&workspace)?;
            let apply = time(|| contestant.apply(change))?;
            change.check(&workspace, Expected::After)?;
            sync(&workspace)?;
            let revert = time(|| contestant.revert(change))?;
            change.check(&workspace, Expected::Before)?;
            Ok((apply, revert))
        })
    }

    /// Applies and undoes the change without checks or pauses.
    fn timed_without_pause(&mut self, change: &Change<'_>) -> Option<Duration> {
        self.attempt(|contestant| {
            let apply = time(|| contestant.apply(change))?;
            Ok(apply + time(|| contestant.revert(change))?)
        })
    }

    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Contestant) -> Result<T, Failure>,
    ) -> Option<T> {
        let contestant = self.contestant.as_mut().ok()?;
        match work(contestant.as_mut()) {
            Ok(result) => Some(result),
            Err(failure) => {
                self.contestant = Err(failure.to_string());
                None
            }
        }
    }

    fn times(&self, clocked: Clocked) -> Result<Times, String> {
        if let Err(why) = &self.contestant {
            return Err(why.clone());
        }
        let summary = |times: &[Duration]| Summary::new(times).ok_or("no round was timed");
        Ok(Times {
            apply: summary(&clocked.apply)?,
            revert: summary(&clocked.revert)?,
            back_to_back: clocked.back_to_back,
        })
    }
}

fn time(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

/// Makes everything on the file system that holds `directory` durable.
pub(super) fn sync(directory: &Path) -> Result<(), Failure> {
    Ok(syncfs(File::open(directory)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fake contestant that writes the change, or fails at call number `fails_at`.
    struct Fake {
        workspace: PathBuf,
        stock: Vec<u8>,
        fails_at: u32,
        calls: u32,
    }

    impl Contestant for Fake {
        fn apply(&mut self, change: &Change<'_>) -> Result<(), Failure> {
            self.calls += 1;
            if self.calls == self.fails_at {
                return Err("out of breath".into());
            }
            let [line] = change.change_set.patches[0].hunks.as_slice() else { unreachable!() };
            let new = line.lines.lines().find_map(|line| line.strip_prefix('+')).unwrap();
            let text = String::from_utf8(self.stock.clone()).unwrap();
            let old = text.lines().nth(72).unwrap();
            Ok(write(self.workspace.join("file"), text.replace(old, new))?)
        }

        fn revert(&mut self, _: &Change<'_>) -> Result<(), Failure> {
            Ok(write(self.workspace.join("file"), &self.stock)?)
        }
    }

    #[test]
    fn failure_excludes_only_the_entrant_that_failed() {
        let directory = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(directory.path());
        let content = Stock::of_files(1).first_content().to_vec();
        let stock = Stock::of_one_file("file", content.clone());
        let entrant = |who: Who, fails_at| {
            let workspace = directory.path().join(who.directory());
            stock.put(&workspace).unwrap();
            let fake =
                Fake { workspace: workspace.clone(), stock: content.clone(), fails_at, calls: 0 };
            Entrant { who, workspace, contestant: Ok(Box::new(fake)) }
        };
        let (mut good, mut bad) = (entrant(Who::Library, 0), entrant(Who::Patch, 3));
        let mut round = 0;
        let rounds = Rounds { least: 4, most: 4, time: Duration::ZERO };
        let results = Clock { surroundings: &surroundings, round: &mut round }
            .interleave(
                &mut [&mut bad, &mut good],
                &stock,
                Work::Spread { changed: 1, files: 1 },
                rounds,
            )
            .unwrap();
        assert_eq!(results[0], Err("out of breath".to_owned()));
        assert_eq!(results[1].as_ref().unwrap().apply.rounds, 4);
        assert_eq!(round, 5);
    }
}
