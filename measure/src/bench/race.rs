//! Contestants take turns, so that all are exposed to the same noise.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Failure;

/// Contestant that does a work and returns the time it took.
pub(super) struct Contestant<'a> {
    pub(super) name: &'static str,
    pub(super) run: Box<dyn FnMut() -> Result<Duration, Failure> + 'a>,
}

impl<'a> Contestant<'a> {
    pub(super) fn new(
        name: &'static str,
        run: impl FnMut() -> Result<Duration, Failure> + 'a,
    ) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// Result of one contestant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finish {
    pub(super) who: String,
    /// All times, shortest first, or the reason why they are missing.
    pub(super) times: Result<Vec<Duration>, String>,
}

impl Finish {
    /// Returns the time that this percentage of the rounds did not exceed, by nearest rank.
    pub(super) fn percentile(&self, percent: usize) -> Option<Duration> {
        let times = self.times.as_ref().ok()?;
        let rank = (times.len() * percent).div_ceil(100);
        times.get(rank.saturating_sub(1)).copied()
    }

    pub(super) fn median(&self) -> Option<Duration> {
        self.percentile(50)
    }
}

/// Lets the contestants take turns. An additional first round, which is not counted, warms up. Every other round runs
/// in reverse order, so that a contestant does not always have the same predecessor. A contestant that fails is
/// excluded.
pub(super) fn race(mut contestants: Vec<Contestant<'_>>, rounds: usize) -> Vec<Finish> {
    let mut clocked: Vec<Result<Vec<Duration>, String>> =
        contestants.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..=rounds {
        let mut turns: Vec<_> = contestants.iter_mut().zip(&mut clocked).collect();
        if round % 2 == 1 {
            turns.reverse();
        }
        for (contestant, clocked) in turns {
            let Ok(times) = clocked else { continue };
            match (contestant.run)() {
                Ok(time) if round > 0 => times.push(time),
                Ok(_) => {}
                Err(why) => *clocked = Err(why.to_string()),
            }
        }
    }
    let sorted = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times
    };
    let finish = |(contestant, clocked): (Contestant<'_>, Result<Vec<Duration>, String>)| Finish {
        who: contestant.name.to_owned(),
        times: clocked.map(sorted),
    };
    contestants.into_iter().zip(clocked).map(finish).collect()
}

/// Measures the time that a work takes.
pub(super) fn time(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_contestant_is_excluded_from_the_race() {
        let mut left = 3;
        let contestants = vec![
            Contestant::new("good", || Ok(Duration::from_millis(7))),
            Contestant::new("bad", || {
                left -= 1;
                if left == 0 { Err("out of breath".into()) } else { Ok(Duration::ZERO) }
            }),
        ];
        let finishes = race(contestants, 4);
        assert_eq!(finishes[0].times, Ok(vec![Duration::from_millis(7); 4]));
        assert_eq!(finishes[1].times, Err("out of breath".to_owned()));
    }

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let times = (1..=10).map(Duration::from_millis).collect();
        let finish = Finish { who: "who".to_owned(), times: Ok(times) };
        let ranks = [0, 10, 50, 95].map(|percent| finish.percentile(percent).unwrap().as_millis());
        assert_eq!(ranks, [1, 1, 5, 10]);
    }
}
