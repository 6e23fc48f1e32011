//! Formats results as Markdown tables for the page, and as columns for the terminal.

use super::format::{milliseconds, over, ratio};
use super::measurement::{Measurement, PlaceName, Summary, Times, Who, Work, times};
use super::verdict::Verdict;

const NOTHING: &str = "–";

/// Formats a Markdown table. The first column is text and the others are numbers.
pub(super) fn markdown(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut rule = vec!["---".to_owned()];
    rule.resize(head.len(), "---:".to_owned());
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(head) + &line(&rule) + &rows
}

/// Formats the rows with columns of equal width.
fn columns(rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn verdict_rows(verdicts: &[Verdict]) -> Vec<Vec<String>> {
    let mut head = words(&["work", "must", "aim"]);
    head.extend(PlaceName::ALL.map(|place| place.slug().to_owned()));
    head.push("reached".to_owned());
    let row = |verdict: &Verdict| {
        let mut row = vec![verdict.promise.clone(), ratio(verdict.must), ratio(verdict.aim)];
        row.extend(
            PlaceName::ALL
                .map(|place| verdict.ratio(place).map_or_else(|| NOTHING.to_owned(), ratio)),
        );
        row.push(verdict.reached());
        row
    };
    std::iter::once(head).chain(verdicts.iter().map(row)).collect()
}

pub(super) fn verdicts(verdicts: &[Verdict]) -> String {
    match verdict_rows(verdicts).split_first() {
        Some((head, rows)) => markdown(head, rows),
        None => String::new(),
    }
}

pub(super) fn verdicts_in_terminal(verdicts: &[Verdict]) -> String {
    columns(&verdict_rows(verdicts))
}

/// Half of a measured round that a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Apply,
    Revert,
}

impl Half {
    fn of(self, times: &Times) -> Summary {
        match self {
            Self::Apply => times.apply,
            Self::Revert => times.revert,
        }
    }
}

/// Shows all contestants in one place side by side, with median and 95th percentile.
pub(super) fn contestants(
    measurements: &[Measurement],
    place: PlaceName,
    half: Half,
) -> Option<String> {
    let mut head = words(&["files changed", "rounds"]);
    head.extend(Who::ALL.map(|who| who.name().to_owned()));
    head.extend(words(&["library over commit", "library over in place"]));
    let works = works(measurements, place);
    let row = |&work: &Work| {
        let find = |who| times(measurements, place, work, who).map(|times| half.of(times));
        let library = find(Who::Library);
        let rounds = library.map_or(0, |summary| summary.rounds);
        let mut row = vec![work.to_string(), rounds.to_string()];
        row.extend(Who::ALL.map(|who| {
            find(who).map_or(NOTHING.to_owned(), |Summary { median, p95, .. }| {
                format!("{} / {}", milliseconds(median), milliseconds(p95))
            })
        }));
        row.extend([Who::GitCommit, Who::InPlace].map(|who| match (library, find(who)) {
            (Some(library), Some(other)) => ratio(over(library.median, other.median)),
            (None, _) | (_, None) => NOTHING.to_owned(),
        }));
        row
    };
    let rows: Vec<_> =
        works.iter().filter(|work| !matches!(work, Work::OneDirectory { .. })).map(row).collect();
    (!rows.is_empty()).then(|| markdown(&head, &rows))
}

/// Shows the library in workspaces of different sizes.
pub(super) fn sizes(measurements: &[Measurement], places: &[PlaceName]) -> Option<String> {
    let head = words(&["files in the workspace", "where", "rounds", "apply", "revert"]);
    let mut rows = Vec::new();
    for &place in places {
        for work in works(measurements, place) {
            let Work::OneDirectory { files } = work else { continue };
            let Some(times) = times(measurements, place, work, Who::Library) else { continue };
            let pair = |Summary { median, p95, .. }| {
                format!("{} / {}", milliseconds(median), milliseconds(p95))
            };
            rows.push(vec![
                super::format::thousands(files),
                place.slug().to_owned(),
                times.apply.rounds.to_string(),
                pair(times.apply),
                pair(times.revert),
            ]);
        }
    }
    (!rows.is_empty()).then(|| markdown(&head, &rows))
}

/// Shows the mean time of runs without pauses, next to the medians of apply and revert.
pub(super) fn back_to_back(measurements: &[Measurement], places: &[PlaceName]) -> Option<String> {
    let head = words(&["files changed", "where", "library", "`git` with commits", "ratio"]);
    let mut rows = Vec::new();
    for &place in places {
        for work in works(measurements, place) {
            let mean = |who| times(measurements, place, work, who)?.back_to_back;
            let Some(library) = mean(Who::Library) else { continue };
            let git = mean(Who::GitCommit);
            rows.push(vec![
                work.to_string(),
                place.slug().to_owned(),
                milliseconds(library),
                git.map_or(NOTHING.to_owned(), milliseconds),
                git.map_or(NOTHING.to_owned(), |git| ratio(over(library, git))),
            ]);
        }
    }
    (!rows.is_empty()).then(|| markdown(&head, &rows))
}

/// Lists the contestants that did not take part in some place, and each reason once.
pub(super) fn absences(measurements: &[Measurement]) -> Vec<String> {
    let mut lines = Vec::new();
    for Measurement { place, work, who, result } in measurements {
        if let Err(why) = result {
            let known =
                |line: &String| line.ends_with(why.as_str()) && line.starts_with(who.name());
            if !lines.iter().any(known) {
                lines.push(format!(
                    "{} ({}: {work}, and after it): {why}",
                    who.name(),
                    place.slug()
                ));
            }
        }
    }
    lines
}

/// Returns the works measured in a place, without duplicates and in the order of execution.
fn works(measurements: &[Measurement], place: PlaceName) -> Vec<Work> {
    let mut works = Vec::new();
    for one in measurements.iter().filter(|one| one.place == place) {
        if !works.contains(&one.work) {
            works.push(one.work);
        }
    }
    works
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn row_shows_every_measured_contestant() {
        let work = Work::Spread { changed: 10, files: 1000 };
        let measured = |who, result| Measurement { place: PlaceName::Xfs, work, who, result };
        let times = |ms| {
            let median = Duration::from_millis(ms);
            let summary = Summary { rounds: 9, median, p95: median * 2 };
            Ok(Times { apply: summary, revert: summary, back_to_back: Some(median) })
        };
        let measurements = [
            measured(Who::Library, times(1)),
            measured(Who::GitCommit, times(30)),
            measured(Who::Patch, Err("gone".to_owned())),
        ];
        let table = contestants(&measurements, PlaceName::Xfs, Half::Apply).unwrap();
        assert_eq!(
            table.lines().nth(2).unwrap(),
            "| 10 of 1,000 | 9 | 1.00 / 2.00 | – | – | 30.0 / 60.0 | – | – | – | – | 1/30 | – |"
        );
        assert_eq!(contestants(&measurements, PlaceName::Own, Half::Apply), None);
        assert_eq!(absences(&measurements), ["GNU `patch` (xfs: 10 of 1,000, and after it): gone"]);
        let pace = back_to_back(&measurements, &PlaceName::ALL).unwrap();
        assert_eq!(pace.lines().nth(2).unwrap(), "| 10 of 1,000 | xfs | 1.00 | 30.0 | 1/30 |");
    }

    #[test]
    fn verdict_reports_the_reached_targets() {
        let verdict = |own: Option<f64>| Verdict {
            promise: "fast".to_owned(),
            must: 1.0,
            aim: 0.8,
            measured: own
                .map(|ratio| (PlaceName::Own, ratio))
                .into_iter()
                .chain([(PlaceName::Xfs, 0.1)])
                .collect(),
        };
        let list = [verdict(Some(0.7)), verdict(Some(0.9)), verdict(Some(1.1)), verdict(None)];
        assert_eq!(
            verdicts_in_terminal(&list),
            "work  must   aim    own    ext4  xfs   reached\n\
             fast  1.00x  0.80x  0.70x  –     1/10  yes, and the aim\n\
             fast  1.00x  0.80x  0.90x  –     1/10  yes; the aim on xfs\n\
             fast  1.00x  0.80x  1.10x  –     1/10  xfs alone; the aim on xfs\n\
             fast  1.00x  0.80x  –      –     1/10  yes, and the aim\n"
        );
    }
}
