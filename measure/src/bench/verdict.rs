//! Speed targets, and whether they are met.

use super::format::over;
use super::measurement::{Measurement, PlaceName, Summary, Who, Work, times};

/// Speed target: a ratio that must be reached, and one to aim for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) promise: String,
    pub(super) must: f64,
    pub(super) aim: f64,
    /// Measured ratio in each place where both sides were measured.
    pub(super) measured: Vec<(PlaceName, f64)>,
}

impl Verdict {
    fn new(
        promise: String,
        (must, aim): (f64, f64),
        ratio: impl Fn(PlaceName) -> Option<f64>,
    ) -> Self {
        let measured = PlaceName::ALL.into_iter();
        let measured = measured.filter_map(|place| Some((place, ratio(place)?))).collect();
        Self { promise, must, aim, measured }
    }

    pub(super) fn ratio(&self, place: PlaceName) -> Option<f64> {
        self.measured.iter().find(|(measured, _)| *measured == place).map(|(_, ratio)| *ratio)
    }

    /// Describes in how many of the measured places the target was reached.
    pub(super) fn reached(&self) -> String {
        let within = |bound: f64| -> Vec<&str> {
            let places = self.measured.iter().filter(|(_, ratio)| *ratio <= bound);
            places.map(|(place, _)| place.slug()).collect()
        };
        let all = self.measured.len();
        let named = |places: &[&str]| match places.len() {
            0 => "NO".to_owned(),
            count if count == all => "yes".to_owned(),
            _ => format!("{} alone", places.join(" and ")),
        };
        let (must, aim) = (within(self.must), within(self.aim));
        match (all, aim.len()) {
            (0, _) => "not measured".to_owned(),
            (_, 0) => named(&must),
            (all, aims) if aims == all => "yes, and the aim".to_owned(),
            _ => format!("{}; the aim on {}", named(&must), aim.join(" and ")),
        }
    }
}

const TEN: Work = Work::Spread { changed: 10, files: 10_000 };
const HUNDRED: Work = Work::Spread { changed: 100, files: 10_000 };
const THOUSAND: Work = Work::Spread { changed: 1000, files: 10_000 };

/// Returns the verdicts in the order of the table in the design.
pub(super) fn judge(measurements: &[Measurement]) -> Vec<Verdict> {
    let of = |place, work, who| times(measurements, place, work, who);
    let medians =
        |first: Option<Summary>, second: Option<Summary>| Some(over(first?.median, second?.median));
    let against = |work: Work, who: Who, other: Who, bounds| {
        let promise = format!("{work}: {} over {}", who.name(), other.name());
        let apply = |place, who| of(place, work, who).map(|times| times.apply);
        Verdict::new(promise, bounds, |place| medians(apply(place, who), apply(place, other)))
    };
    let revert = |work: Work| {
        let promise = format!("{work}: revert over apply, library");
        Verdict::new(promise, (1.0, 0.8), |place| {
            let times = of(place, work, Who::Library)?;
            medians(Some(times.revert), Some(times.apply))
        })
    };
    let size = {
        let promise = "10 files: a workspace of 10,000 over one of 100, library".to_owned();
        Verdict::new(promise, (1.2, 1.05), |place| {
            let apply = |files| {
                let times = of(place, Work::OneDirectory { files }, Who::Library);
                times.map(|times| times.apply)
            };
            medians(apply(10_000), apply(100))
        })
    };
    let (library, commit) = (Who::Library, Who::GitCommit);
    vec![
        against(TEN, library, commit, (1.0 / 20.0, 1.0 / 30.0)),
        against(TEN, library, Who::InPlace, (5.0, 3.5)),
        against(TEN, library, Who::InPlaceChecked, (5.0, 3.5)),
        against(HUNDRED, library, commit, (1.0 / 8.0, 1.0 / 12.0)),
        against(THOUSAND, library, commit, (1.0 / 5.0, 1.0 / 8.0)),
        revert(TEN),
        revert(HUNDRED),
        revert(THOUSAND),
        against(TEN, Who::Process, Who::GitApply, (2.0, 1.0)),
        size,
        against(Work::LargeFile, library, commit, (1.0 / 3.0, 1.0 / 5.0)),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::measurement::Times;

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
        let verdicts = judge(&measurements);
        let reached: Vec<String> = verdicts.iter().map(Verdict::reached).collect();
        assert_eq!(
            reached,
            [
                "yes, and the aim", // 1/35
                "not measured",     // in place
                "not measured",
                "yes", // 1/9
                "not measured",
                "NO",  // revert 1.5x
                "yes", // revert 0.9x
                "not measured",
                "not measured",
                "NO", // 1.3x
                "not measured",
            ]
        );
        assert_eq!(
            verdicts[0].promise,
            "10 of 10,000: actum, library over `git apply --index` + commit"
        );
    }
}
