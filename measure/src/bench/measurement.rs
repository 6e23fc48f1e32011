//! Works that are measured, and their results.

use std::fmt;
use std::time::Duration;

use super::format::thousands;

/// Result of one contestant for one work in one place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measurement {
    pub(super) place: PlaceName,
    pub(super) work: Work,
    pub(super) who: Who,
    pub(super) result: Result<Times, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Times {
    pub(super) apply: Summary,
    pub(super) revert: Summary,
    /// Mean time of a run if apply and revert follow each other without a pause.
    pub(super) back_to_back: Option<Duration>,
}

/// Place of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceName {
    /// File system of the machine itself.
    Own,
    /// ext4 with a journal, loop-mounted.
    Ext4,
    /// xfs, loop-mounted.
    Xfs,
}

impl PlaceName {
    pub(super) const ALL: [Self; 3] = [Self::Own, Self::Ext4, Self::Xfs];

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }
}

/// Files that are changed, and the workspace around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Changes files that are distributed over a workspace.
    Spread { changed: usize, files: usize },
    /// Changes ten files in one directory, to compare workspaces of different sizes.
    OneDirectory { files: usize },
    /// Changes one hunk in the middle of a large file.
    LargeFile,
}

/// Number of files that the work in one directory changes.
pub(super) const ONE_DIRECTORY_CHANGED: usize = 10;

impl Work {
    /// Returns the name that `--only` matches, without that of the place.
    pub(super) fn slug(self) -> String {
        match self {
            Self::Spread { changed, files } => format!("{changed}-of-{files}"),
            Self::OneDirectory { .. } => "size".to_owned(),
            Self::LargeFile => "50-mb".to_owned(),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Spread { changed, files } => {
                write!(f, "{} of {}", thousands(changed), thousands(files))
            }
            Self::OneDirectory { files } => {
                write!(f, "{ONE_DIRECTORY_CHANGED} of {}, one directory", thousands(files))
            }
            Self::LargeFile => f.write_str("one hunk in 50 MB"),
        }
    }
}

/// Contestant that does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Library,
    Process,
    GitApply,
    GitCommit,
    Patch,
    InPlace,
    InPlaceChecked,
    InPlaceLogged,
}

impl Who {
    /// All contestants, in the order in which they take turns.
    pub(super) const ALL: [Self; 8] = [
        Self::Library,
        Self::Process,
        Self::GitApply,
        Self::GitCommit,
        Self::Patch,
        Self::InPlace,
        Self::InPlaceChecked,
        Self::InPlaceLogged,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Library => "actum, library",
            Self::Process => "actum, process",
            Self::GitApply => "`git apply`",
            Self::GitCommit => "`git apply --index` + commit",
            Self::Patch => "GNU `patch`",
            Self::InPlace => "in place",
            Self::InPlaceChecked => "in place, checked",
            Self::InPlaceLogged => "in place, two syncs",
        }
    }
}

/// Summary of several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) rounds: usize,
    pub(super) median: Duration,
    /// Time that 95 of 100 rounds did not exceed, by nearest rank.
    pub(super) p95: Duration,
}

impl Summary {
    /// Returns a summary, or `None` if there are no times.
    pub(super) fn new(times: &[Duration]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let rounds = sorted.len();
        let upper = *sorted.get(rounds / 2)?;
        let lower = *sorted.get(rounds.saturating_sub(1) / 2)?;
        let rank = (rounds * 95).div_ceil(100);
        let p95 = *sorted.get(rank.saturating_sub(1))?;
        Some(Self { rounds, median: (lower + upper) / 2, p95 })
    }
}

/// Returns the median times of a contestant if it was measured.
pub(super) fn times(
    measurements: &[Measurement],
    place: PlaceName,
    work: Work,
    who: Who,
) -> Option<&Times> {
    let found =
        measurements.iter().find(|one| (one.place, one.work, one.who) == (place, work, who));
    found?.result.as_ref().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(times: impl IntoIterator<Item = u64>) -> Option<(u64, u64)> {
        let times: Vec<_> = times.into_iter().map(Duration::from_micros).collect();
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap();
        Summary::new(&times).map(|summary| (micros(summary.median), micros(summary.p95)))
    }

    #[test]
    fn median_and_95th_percentile_are_ranks() {
        assert_eq!(summary([]), None);
        assert_eq!(summary([7]), Some((7, 7)));
        assert_eq!(summary([9, 1]), Some((5, 9)));
        assert_eq!(summary([3, 1, 2]), Some((2, 3)));
        assert_eq!(summary((1..=100).rev()), Some((50, 95)));
        assert_eq!(summary(1..=20), Some((10, 19)));
    }
}
