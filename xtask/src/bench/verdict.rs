//! What was promised for speed, and whether it is kept.

use super::format::over;
use super::measurement::{Measurement, PlaceName, Summary, Times, Who, Work, times};

/// A promise: a ratio that must be reached, and one to aim for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) promise: String,
    pub(super) place: PlaceName,
    pub(super) must: f64,
    pub(super) aim: f64,
    /// `None` when one of the two sides was not measured.
    pub(super) measured: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Aim,
    Must,
    Neither,
    NotMeasured,
}

impl Verdict {
    pub(super) fn reached(&self) -> Reached {
        match self.measured {
            None => Reached::NotMeasured,
            Some(ratio) if ratio <= self.aim => Reached::Aim,
            Some(ratio) if ratio <= self.must => Reached::Must,
            Some(_) => Reached::Neither,
        }
    }
}

const TEN: Work = Work::Spread { changed: 10, files: 10_000 };
const HUNDRED: Work = Work::Spread { changed: 100, files: 10_000 };
const THOUSAND: Work = Work::Spread { changed: 1000, files: 10_000 };

/// The promises in the order of the design's table. `journalled` is where ext4 has a journal:
/// without one it makes new files slowly for a minute after many were deleted, whoever makes them.
pub(super) fn judge(measurements: &[Measurement], journalled: PlaceName) -> Vec<Verdict> {
    let own = PlaceName::Own;
    let ratio =
        |first: Option<Summary>, second: Option<Summary>| Some(over(first?.median, second?.median));
    let against = |place, work: Work, who: Who, other: Who, (must, aim)| {
        let apply = |who| times(measurements, place, work, who).map(|times| times.apply);
        Verdict {
            promise: format!("{work}: {} over {}", who.name(), other.name()),
            place,
            must,
            aim,
            measured: ratio(apply(who), apply(other)),
        }
    };
    let revert = |place, work: Work| {
        let found = times(measurements, place, work, Who::Library);
        let of = |part: fn(&Times) -> Summary| found.map(part);
        Verdict {
            promise: format!("{work}: revert over apply, library"),
            place,
            must: 1.0,
            aim: 0.8,
            measured: ratio(of(|times| times.revert), of(|times| times.apply)),
        }
    };
    let size = |files| {
        let work = Work::OneDirectory { files };
        times(measurements, own, work, Who::Library).map(|times| times.apply)
    };
    let (library, commit) = (Who::Library, Who::GitCommit);
    vec![
        against(own, TEN, library, commit, (1.0 / 20.0, 1.0 / 30.0)),
        against(own, TEN, library, Who::InPlace, (5.0, 3.5)),
        against(own, TEN, library, Who::InPlaceChecked, (5.0, 3.5)),
        against(own, HUNDRED, library, commit, (1.0 / 8.0, 1.0 / 12.0)),
        against(journalled, THOUSAND, library, commit, (1.0 / 5.0, 1.0 / 8.0)),
        revert(own, TEN),
        revert(own, HUNDRED),
        revert(journalled, THOUSAND),
        against(own, TEN, Who::Process, Who::GitApply, (2.0, 1.0)),
        Verdict {
            promise: "10 files: workspace of 10,000 over one of 100, library".to_owned(),
            place: own,
            must: 1.2,
            aim: 1.05,
            measured: ratio(size(10_000), size(100)),
        },
        against(own, Work::LargeFile, library, commit, (1.0 / 3.0, 1.0 / 5.0)),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(work: Work, who: Who, apply_ms: u64, revert_ms: u64) -> Measurement {
        let summary = |ms| {
            let time = Duration::from_millis(ms);
            Summary { rounds: 1, median: time, p95: time }
        };
        let times =
            Times { apply: summary(apply_ms), revert: summary(revert_ms), back_to_back: None };
        Measurement { place: PlaceName::Own, work, who, result: Ok(times) }
    }

    #[test]
    fn a_promise_is_judged_by_the_ratio_of_medians() {
        let measurements = [
            measured(TEN, Who::Library, 2, 3),
            measured(TEN, Who::GitCommit, 70, 1),
            measured(HUNDRED, Who::Library, 10, 9),
            measured(HUNDRED, Who::GitCommit, 90, 1),
            measured(Work::OneDirectory { files: 100 }, Who::Library, 10, 1),
            measured(Work::OneDirectory { files: 10_000 }, Who::Library, 13, 1),
        ];
        let verdicts = judge(&measurements, PlaceName::Ext4);
        let reached: Vec<Reached> = verdicts.iter().map(Verdict::reached).collect();
        assert_eq!(
            reached,
            [
                Reached::Aim,         // 1/35
                Reached::NotMeasured, // in place
                Reached::NotMeasured,
                Reached::Must, // 1/9
                Reached::NotMeasured,
                Reached::Neither, // revert 1.5x
                Reached::Must,    // revert 0.9x
                Reached::NotMeasured,
                Reached::NotMeasured,
                Reached::Neither, // 1.3x
                Reached::NotMeasured,
            ]
        );
        assert_eq!(
            verdicts[0].promise,
            "10 of 10,000: actum, library over `git apply --index` + commit"
        );
    }
}
