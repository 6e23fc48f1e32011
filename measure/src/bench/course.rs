//! Complete run: every place, every work, and every contestant.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Failure;
use super::contestant::{Programs, Surroundings};
use super::format::milliseconds;
use super::machine::Machine;
use super::material::Stock;
use super::measurement::{Measurement, PlaceName, Times, Who, Work};
use super::memory::{self, Peak};
use super::options::Options;
use super::place::{Grounds, Place};
use super::rounds::{Clock, Entrant, Rounds, sync};
use super::syscalls::{self, Calls};
use super::verdict::{self, Verdict};
use crate::packages;

const WORKSPACES: [usize; 3] = [100, 1000, 10_000];
const CHANGES: [usize; 4] = [1, 10, 100, 1000];
/// Age that a workspace must reach before it is used. Until then, git considers files as young as its index possibly
/// modified.
const SETTLING: Duration = Duration::from_millis(1100);

/// Results of the entire benchmark.
pub(super) struct Results {
    pub(super) machine: Machine,
    pub(super) places: Vec<(PlaceName, String)>,
    /// Places that could not be measured, with the reasons.
    pub(super) absent: Vec<(PlaceName, String)>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) calls: Vec<(Who, Result<Calls, String>)>,
    pub(super) peaks: Vec<Peak>,
}

impl Results {
    pub(super) fn is_empty(&self) -> bool {
        self.measurements.is_empty() && self.calls.is_empty() && self.peaks.is_empty()
    }

    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        verdict::judge(&self.measurements)
    }
}

pub(super) fn run(
    options: &Options,
    programs: &Programs,
    grounds: &Grounds,
) -> Result<Results, Failure> {
    let mut results = Results {
        machine: Machine::this(&["git", "patch"]),
        places: Vec::new(),
        absent: Vec::new(),
        measurements: Vec::new(),
        calls: Vec::new(),
        peaks: Vec::new(),
    };
    let home = grounds.home()?;
    let surroundings = Surroundings::new(&home);
    let mut course = Course { options, programs, surroundings, round: 0, begun: Instant::now() };
    for name in PlaceName::ALL {
        let works = course.works(name);
        let own = name == PlaceName::Own;
        let watched = own && (options.selects("syscalls") || options.selects("memory"));
        if works.is_empty() && !watched {
            continue;
        }
        let place = match course.may_open(name).and_then(|()| grounds.open(name)) {
            Ok(place) => place,
            Err(why) => {
                eprintln!("{}: not measured: {why}", name.slug());
                results.absent.push((name, why.to_string()));
                continue;
            }
        };
        eprintln!("{}: {}", name.slug(), place.file_system);
        results.places.push((name, place.file_system.clone()));
        if own && options.selects("syscalls") {
            course.log("counting system calls");
            results.calls =
                syscalls::measure(&place.directory, course.programs, &course.surroundings);
        }
        if let Err(why) = course.measure(&place, &works, &mut results.measurements) {
            eprintln!("{}: cut short: {why}", name.slug());
            results.absent.push((name, format!("cut short: {why}")));
        }
        if own && options.selects("memory") {
            course.log("measuring memory");
            results.peaks = memory::measure(grounds, &place.directory, &home);
        }
        place.close()?;
    }
    Ok(results)
}

struct Course<'a> {
    options: &'a Options,
    programs: &'a Programs,
    surroundings: Surroundings,
    /// Counter for the rounds of all works.
    round: u64,
    begun: Instant,
}

impl Course<'_> {
    fn log(&self, what: &str) {
        eprintln!("[{:>3} s] {what}", self.begun.elapsed().as_secs());
    }

    /// Returns the selected works for a place, with the largest workspaces last.
    fn works(&self, place: PlaceName) -> Vec<Work> {
        if place != PlaceName::Own && self.options.quick {
            return Vec::new();
        }
        let mut works = WORKSPACES.map(|files| Work::OneDirectory { files }).to_vec();
        for files in WORKSPACES {
            let fitting = CHANGES.into_iter().filter(|&changed| changed <= files);
            works.extend(fitting.map(|changed| Work::Spread { changed, files }));
        }
        works.push(Work::LargeFile);
        works.retain(|work| self.options.selects(&format!("{}/{}", place.slug(), work.slug())));
        works
    }

    /// Checks that this process may mount file systems and that the programs that create them are installed.
    fn may_open(&self, place: PlaceName) -> Result<(), Failure> {
        match place {
            PlaceName::Own => Ok(()),
            PlaceName::Ext4 | PlaceName::Xfs if !packages::is_root() => {
                Err("only root can mount it from a file".into())
            }
            PlaceName::Ext4 | PlaceName::Xfs => Ok(packages::require("bench as root")?),
        }
    }

    fn rounds(&self, work: Work) -> Rounds {
        if let Some(rounds) = self.options.rounds.map(NonZeroUsize::get) {
            return Rounds { least: rounds, most: rounds, time: Duration::ZERO };
        }
        let seconds = Duration::from_secs;
        match (self.options.quick, work) {
            (false, Work::Spread { changed: 1000, .. } | Work::LargeFile) => {
                Rounds { least: 4, most: 9, time: seconds(12) }
            }
            (false, Work::Spread { .. }) => Rounds { least: 7, most: 41, time: seconds(6) },
            (false, Work::OneDirectory { .. }) => Rounds { least: 41, most: 201, time: seconds(6) },
            (true, Work::OneDirectory { .. }) => Rounds { least: 11, most: 41, time: seconds(2) },
            (true, Work::Spread { .. } | Work::LargeFile) => {
                Rounds { least: 2, most: 7, time: seconds(2) }
            }
        }
    }

    fn measure(
        &mut self,
        place: &Place,
        works: &[Work],
        measurements: &mut Vec<Measurement>,
    ) -> Result<(), Failure> {
        self.compare_sizes(place, works, measurements)?;
        for files in WORKSPACES {
            let works: Vec<Work> = works
                .iter()
                .copied()
                .filter(
                    |work| matches!(work, Work::Spread { files: in_all, .. } if *in_all == files),
                )
                .collect();
            if !works.is_empty() {
                let stock = Stock::of_files(files);
                self.compare(place, &format!("{files}-files"), &stock, &works, measurements)?;
            }
        }
        if works.contains(&Work::LargeFile) {
            let stock = Stock::of_one_large_file();
            self.compare(place, "large", &stock, &[Work::LargeFile], measurements)?;
        }
        Ok(())
    }

    /// Sets up all contestants with the same files, and then does the works.
    fn compare(
        &mut self,
        place: &Place,
        directory: &str,
        stock: &Stock,
        works: &[Work],
        measurements: &mut Vec<Measurement>,
    ) -> Result<(), Failure> {
        let directory = place.directory.join(directory);
        let mut entrants = self.enter(&directory, stock, &Who::ALL)?;
        let mut entrants: Vec<_> = entrants.iter_mut().collect();
        for &work in works {
            let rounds = self.rounds(work);
            let mut clock = Clock { surroundings: &self.surroundings, round: &mut self.round };
            let results = clock.interleave(&mut entrants, stock, work, rounds)?;
            let results: Vec<_> = entrants.iter().map(|entrant| entrant.who).zip(results).collect();
            self.report(place.name, work, &results);
            measurements.extend(results.into_iter().map(|(who, result)| Measurement {
                place: place.name,
                work,
                who,
                result,
            }));
        }
        Ok(())
    }

    /// Sets up the library in workspaces of every size, which take turns.
    fn compare_sizes(
        &mut self,
        place: &Place,
        works: &[Work],
        measurements: &mut Vec<Measurement>,
    ) -> Result<(), Failure> {
        let Some(&first @ Work::OneDirectory { files: smallest }) = works.first() else {
            return Ok(());
        };
        let mut entrants = Vec::new();
        for files in WORKSPACES {
            let directory = place.directory.join(format!("size-{files}"));
            entrants.extend(self.enter(&directory, &Stock::of_files(files), &[Who::Library])?);
        }
        let rounds = self.rounds(first);
        let mut clock = Clock { surroundings: &self.surroundings, round: &mut self.round };
        let mut entrants: Vec<_> = entrants.iter_mut().collect();
        // All stocks start with the files of the smallest one, and only those files change.
        let results = clock.interleave(&mut entrants, &Stock::of_files(smallest), first, rounds)?;
        for (files, result) in WORKSPACES.into_iter().zip(results) {
            let work = Work::OneDirectory { files };
            self.report(place.name, work, &[(Who::Library, result.clone())]);
            measurements.push(Measurement { place: place.name, work, who: Who::Library, result });
        }
        Ok(())
    }

    fn enter(&self, directory: &Path, stock: &Stock, who: &[Who]) -> Result<Vec<Entrant>, Failure> {
        for who in who {
            let workspace = directory.join(who.directory());
            if !workspace.exists() {
                stock.put(&workspace)?;
            }
        }
        sync(directory)?;
        std::thread::sleep(SETTLING);
        let enter = |&who: &Who| {
            let workspace = directory.join(who.directory());
            let contestant = who.enter(&workspace, self.programs, &self.surroundings);
            let contestant = contestant.map_err(|failure| failure.to_string());
            if let Err(why) = &contestant {
                eprintln!("{} does not take part: {why}", who.name());
            }
            Entrant { who, workspace, contestant }
        };
        Ok(who.iter().map(enter).collect())
    }

    fn report(&self, place: PlaceName, work: Work, results: &[(Who, Result<Times, String>)]) {
        let time = |(who, result): &(Who, Result<Times, String>)| match result {
            Ok(times) => format!("{} {}", who.name(), milliseconds(times.apply.median)),
            Err(_) => format!("{} -", who.name()),
        };
        let times: Vec<String> = results.iter().map(time).collect();
        self.log(&format!("{}: {work}: {} ms", place.slug(), times.join(", ")));
    }
}
