//! The page that a full run writes.

use std::time::Duration;

use super::{Bar, Contest, Limit, Results};
use crate::bench::format::{milliseconds, over, ratio};
use crate::bench::machine::Machine;
use crate::bench::race::Finish;
use crate::bench::tables::markdown;

const HEAD: &str = "\
# Benchmarks of the sandbox

Written by `cargo xtask bench sandbox`; do not edit. Times are milliseconds.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench sandbox           # everything, about two minutes; writes this page
$ cargo xtask bench sandbox --quick   # few rounds; prints only
$ cargo xtask bench sandbox --only start --rounds 500
```

## How to read

- Those of one table take turns, and every other round goes backwards. Compare within a table. On a
  busy machine the minimum and the 10th percentile tell more than the median.
- *plain* starts the same program without any confinement, and waits for it. *More* is the median less
  that of the first row.
- Times are from the call that starts a command until all is told about its end: in tier N also until
  its namespaces are gone. Making the plan and the probe of the host are not in them; a program does
  both once.
- The helper is the program that measures, started once more for each command. Its size is told above,
  since a larger program takes longer to start.
- *bubblewrap* makes the same namespaces and mounts the programs of the system, /proc and /dev. It sets
  neither Landlock nor seccomp, counts nothing and limits nothing.
- cargo builds into an empty directory each time, offline, with home and registry in a directory for
  temporary files.
";

pub(super) fn render(results: &Results) -> String {
    let Machine { processor, processors, memory, kernel, programs, load } = &results.machine;
    format!(
        "{HEAD}Measured on {processors} x {processor}, {memory} of memory, Linux {kernel}, {}. Load at \
         the start: {load}. The helper is a program of {} KiB.\n{}{HOW}",
        programs.join(", "),
        results.helper,
        tables(results)
    )
}

pub(super) fn tables(results: &Results) -> String {
    results.contests.iter().map(table).collect()
}

fn table(contest: &Contest) -> String {
    let head = ["", "rounds", "minimum", "10th", "median", "95th", "more", "ratio"];
    let first = contest.finishes.first().and_then(Finish::median);
    let rows: Vec<Vec<String>> = contest.finishes.iter().map(|finish| row(finish, first)).collect();
    let promises: String = contest.bars.iter().map(|bar| promise(contest, bar)).collect();
    let gap = if promises.is_empty() { "" } else { "\n" };
    let table = markdown(&head.map(str::to_owned), &rows);
    format!("\n## {}\n\n{table}{gap}{promises}", contest.title)
}

fn row(finish: &Finish, first: Option<Duration>) -> Vec<String> {
    let mut row = vec![finish.who.clone()];
    match (&finish.times, finish.median(), first) {
        (Ok(times), Some(median), Some(first)) => {
            row.push(times.len().to_string());
            let ranks = [0, 10, 50, 95].into_iter().filter_map(|rank| finish.percentile(rank));
            row.extend(ranks.map(milliseconds));
            row.push(format!("{:+.2}", difference(median, first)));
            row.push(ratio(over(median, first)));
        }
        (Err(why), _, _) => row.push(format!("not measured: {why}")),
        (Ok(_), _, _) => row.push("not measured".to_owned()),
    }
    row
}

/// In milliseconds.
fn difference(median: Duration, first: Duration) -> f64 {
    (median.as_secs_f64() - first.as_secs_f64()) * 1000.0
}

/// A promise in words, and whether the median keeps it.
fn promise(contest: &Contest, bar: &Bar) -> String {
    let median = |who: &str| {
        contest.finishes.iter().find(|finish| finish.who == who).and_then(Finish::median)
    };
    let first = contest.finishes.first().and_then(Finish::median);
    let (words, is_kept) = match bar.limit {
        Limit::More(ms) => {
            let kept = median(bar.who).zip(first).map(|(one, other)| difference(one, other) <= ms);
            (format!("at most {ms} ms more than plain"), kept)
        }
        Limit::Times(times) => {
            let kept = median(bar.who).zip(first).map(|(one, other)| over(one, other) <= times);
            (format!("at most {} plain", ratio(times)), kept)
        }
        Limit::InAll(ms) => {
            let kept = median(bar.who).map(|time| time.as_secs_f64() * 1000.0 <= ms);
            (format!("at most {ms} ms"), kept)
        }
        Limit::Under(other) => {
            let kept = median(bar.who).zip(median(other)).map(|(one, other)| one <= other);
            (format!("no longer than {other}"), kept)
        }
    };
    let verdict = match is_kept {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "not measured",
    };
    format!("- {}: {words}: {verdict}\n", bar.who)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_each_contestant_and_whether_promises_are_kept() {
        let finish = |who: &str, ms: u64| Finish {
            who: who.to_owned(),
            times: Ok(vec![Duration::from_millis(ms); 3]),
        };
        let gone = Finish { who: "gone".to_owned(), times: Err("why".to_owned()) };
        let contest = Contest {
            title: "Start".to_owned(),
            finishes: vec![finish("plain", 1), finish("tier N", 3), gone],
            bars: vec![
                Bar { who: "tier N", limit: Limit::More(2.0) },
                Bar { who: "tier N", limit: Limit::Times(2.5) },
                Bar { who: "tier N", limit: Limit::InAll(3.0) },
                Bar { who: "tier N", limit: Limit::Under("gone") },
            ],
        };
        assert_eq!(
            table(&contest),
            "\n## Start\n\n|  | rounds | minimum | 10th | median | 95th | more | ratio |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n\
             | plain | 3 | 1.00 | 1.00 | 1.00 | 1.00 | +0.00 | 1.00x |\n\
             | tier N | 3 | 3.00 | 3.00 | 3.00 | 3.00 | +2.00 | 3.00x |\n\
             | gone | not measured: why |\n\n\
             - tier N: at most 2 ms more than plain: yes\n\
             - tier N: at most 2.50x plain: NO\n\
             - tier N: at most 3 ms: yes\n\
             - tier N: no longer than gone: not measured\n"
        );
    }
}
