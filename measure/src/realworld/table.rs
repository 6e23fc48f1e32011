//! Output of `cargo xtask realworld`: one line for each pair, and a total.

use std::time::Duration;

use super::catalogue::Pair;
use super::counts::Counts;
use super::format::Format;
use super::judged::Judged;
use super::moved_down::Refusals;
use super::tree::TakenOut;
use super::trial::{Trial, Verdict};

/// Result of one pair.
pub(super) struct Row<'a> {
    pub(super) pair: &'a Pair,
    /// Findings about the pair, or the reason why its files are missing.
    pub(super) result: Result<Findings, String>,
}

pub(super) struct Findings {
    pub(super) counts: Counts,
    pub(super) paths: usize,
    pub(super) judged: Judged,
    pub(super) taken_out: TakenOut,
    /// Time of `git apply`, or the difference between its result and the published files. A time next to a wrong result would prove
    /// nothing.
    pub(super) git_apply: Result<Duration, String>,
    pub(super) trials: Vec<Trial>,
    pub(super) moved_down: Result<Refusals, String>,
}

impl Row<'_> {
    /// Returns all problems of the pair.
    pub(super) fn problems(&self) -> Vec<String> {
        let pair = self.pair;
        let findings = match &self.result {
            Err(why) => return vec![format!("{pair}: {why}")],
            Ok(findings) => findings,
        };
        let mut problems = Vec::new();
        if let Err(why) = &findings.git_apply {
            problems.push(format!("{pair}: git itself: {why}"));
        }
        for trial in &findings.trials {
            if let Verdict::Differs(why) = &trial.verdict {
                problems.push(format!("{pair}: {}: {why}", trial.format.name()));
            }
        }
        if let Err(why) = &findings.moved_down {
            problems.push(format!("{pair}: moved down: {why}"));
        }
        problems
    }
}

/// Formats the lines, with each column as wide as its content.
pub(super) fn table(rows: &[Row<'_>]) -> String {
    let mut lines = vec![headings()];
    lines.extend(rows.iter().map(cells));
    lines.push(total(rows));
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut table = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        table += cells.collect::<Vec<_>>().join("  ").trim_end();
        table += "\n";
    }
    table
}

/// Explains the columns, and describes the content of the material.
pub(super) fn legend(rows: &[Row<'_>]) -> String {
    let findings = || rows.iter().filter_map(|row| row.result.as_ref().ok());
    let links: usize = findings().map(|findings| findings.taken_out.links).sum();
    let empty: usize = findings().map(|findings| findings.taken_out.empty_directories).sum();
    let kinds = all_counts(rows).kinds().map(|(kind, count)| format!("{count} {kind}"));
    format!(
        "\nfiles changed: {}\ntaken out beforehand: {links} symbolic links, {empty} empty \
         directories\nn/m: of m paths that change, the format carries n; x: how many times as long \
         as `git apply` of the same change (of the diff without renames, for formats that are no \
         diff)\nmoved down: diffs of one file that were refused because it had three lines more \
         at the top; `+n`: that fit there too\n",
        kinds.join(", ")
    )
}

/// Returns the sum of the counts of the pairs.
pub(super) fn all_counts(rows: &[Row<'_>]) -> Counts {
    let findings = rows.iter().filter_map(|row| row.result.as_ref().ok());
    Counts::sum(findings.map(|findings| findings.counts))
}

fn headings() -> Vec<String> {
    let files = ["package", "add", "del", "ren", "mod", "mode", "bin"];
    let formats = Format::ALL.map(Format::name);
    [files.as_slice(), &["git apply"], &formats, &["moved down"]]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
}

fn cells(row: &Row<'_>) -> Vec<String> {
    let mut cells = vec![row.pair.to_string()];
    let findings = match &row.result {
        Err(_) => {
            cells.push("FAILED".to_owned());
            return cells;
        }
        Ok(findings) => findings,
    };
    cells.extend(count_cells(&findings.counts));
    let git_time = findings.git_apply.as_ref().ok();
    cells.push(git_time.map_or("DIFFERS".to_owned(), |time| format!("{} ms", time.as_millis())));
    cells.extend(findings.trials.iter().map(|trial| {
        let carried = format!("{}/{}", trial.carried, findings.paths);
        match &trial.verdict {
            Verdict::Nothing => "-".to_owned(),
            Verdict::Differs(_) => format!("{carried} DIFFERS"),
            Verdict::Same(time) => format!("{carried} ok{}", ratio(*time, git_time)),
        }
    }));
    cells.push(match &findings.moved_down {
        Ok(refusals) => refusals_in_short(*refusals),
        Err(_) => "DIFFERS".to_owned(),
    });
    cells
}

fn total(rows: &[Row<'_>]) -> Vec<String> {
    let findings = || rows.iter().filter_map(|row| row.result.as_ref().ok());
    let mut cells = vec![format!("total: {}", rows.len())];
    cells.extend(count_cells(&all_counts(rows)));
    let count = findings().filter(|findings| findings.git_apply.is_ok()).count();
    cells.push(format!("{count}/{} ok", rows.len()));
    for format in Format::ALL {
        let (mut carried, mut paths, mut ok, mut pairs) = (0, 0, 0, 0);
        for findings in findings() {
            paths += findings.paths;
            for trial in findings.trials.iter().filter(|trial| trial.format == format) {
                carried += trial.carried;
                pairs += usize::from(trial.verdict != Verdict::Nothing);
                ok += usize::from(matches!(trial.verdict, Verdict::Same(_)));
            }
        }
        cells.push(format!("{carried}/{paths}, {ok}/{pairs} ok"));
    }
    let refusals = findings().filter_map(|findings| findings.moved_down.as_ref().ok());
    let refusals = refusals.fold(Refusals::default(), |sum, one| Refusals {
        refused: sum.refused + one.refused,
        by_chance: sum.by_chance + one.by_chance,
    });
    cells.push(refusals_in_short(refusals));
    cells
}

fn count_cells(counts: &Counts) -> Vec<String> {
    let Counts { added, deleted, renamed, modified, modes, binary, .. } = counts;
    [added, deleted, renamed, modified, modes, binary].map(usize::to_string).to_vec()
}

fn refusals_in_short(Refusals { refused, by_chance }: Refusals) -> String {
    match by_chance {
        0 => refused.to_string(),
        _ => format!("{refused} +{by_chance}"),
    }
}

fn ratio(time: Duration, git: Option<&Duration>) -> String {
    let git = git.filter(|git| !git.is_zero());
    git.map_or(String::new(), |git| format!(" {:.1}x", time.as_secs_f64() / git.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Kind;
    use super::*;

    const PAIR: Pair = Pair { kind: Kind::Crate, name: "a", old: "1.0.0", new: "2.0.0" };

    fn row(verdicts: [Verdict; 6]) -> Row<'static> {
        let trials = Format::ALL.into_iter().zip(verdicts).map(|(format, verdict)| Trial {
            format,
            carried: 3,
            verdict,
        });
        let findings = Findings {
            counts: Counts { added: 1, modified: 2, ..Counts::default() },
            paths: 4,
            judged: Judged::new(&[]).unwrap(),
            taken_out: TakenOut::default(),
            git_apply: Ok(Duration::from_millis(10)),
            trials: trials.collect(),
            moved_down: Ok(Refusals { refused: 2, by_chance: 1 }),
        };
        Row { pair: &PAIR, result: Ok(findings) }
    }

    fn same() -> Verdict {
        Verdict::Same(Duration::from_millis(25))
    }

    #[test]
    fn table_is_aligned_and_ends_with_the_total() {
        let differs = Verdict::Differs("why".to_owned());
        let rows = [
            row([same(), differs, same(), same(), same(), Verdict::Nothing]),
            Row { pair: &PAIR, result: Err("it is gone".to_owned()) },
        ];
        let table = table(&rows);
        let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = table.lines().map(line).collect();
        assert_eq!(
            lines,
            [
                "package add del ren mod mode bin git apply git git, no renames change set edits \
                 whole files codex moved down",
                "crate a 1.0.0..2.0.0 1 0 0 2 0 0 10 ms 3/4 ok 2.5x 3/4 DIFFERS 3/4 ok 2.5x \
                 3/4 ok 2.5x 3/4 ok 2.5x - 2 +1",
                "crate a 1.0.0..2.0.0 FAILED",
                "total: 2 1 0 0 2 0 0 1/2 ok 3/4, 1/1 ok 3/4, 0/1 ok 3/4, 1/1 ok 3/4, 1/1 ok 3/4, 1/1 ok 3/4, 0/0 ok 2 +1",
            ]
        );
        assert_eq!(
            rows.iter().flat_map(Row::problems).collect::<Vec<_>>(),
            ["crate a 1.0.0..2.0.0: git, no renames: why", "crate a 1.0.0..2.0.0: it is gone",]
        );
    }
}
