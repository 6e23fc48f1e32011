//! Page of the ledger benchmark, which a full run writes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::{Bar, Contest, Results};
use crate::bench::format::{milliseconds, over, ratio, thousands};
use crate::bench::race::Finish;
use crate::bench::tables::markdown;

const HEAD: &str = "\
# Benchmarks of the ledger

Written by `cargo xtask bench ledger`; do not edit.

";

const HOW: &str = "
## How to run

```console
$ cargo xtask bench ledger            # everything, about five minutes; writes this page
$ cargo xtask bench ledger --quick    # few rounds, a tenth of the entries; prints only
$ cargo xtask bench ledger --only slowest --seconds 10
```

## How to read

- Those of one table take turns, and every other round goes backwards. Compare within a table. On a
  busy machine the minimum and the 10th percentile tell more than the median.
- Every append is durable when it is answered. Before each the entry exists already; its facts, its
  hash and the digest of its document are part of the time.
- *Plain insert* keeps the same rows with the same indexes in the same kind of database, one
  transaction each: without Merkle tree, without turnstile between processes, without a thread of its
  own, and without asking whether the entry may stand there.
- *Store alone* is the ledger without the thread that writes. Two changes of thread are what a single
  client pays for that; many clients share transactions.
- No checkpoints are signed here: the ledger signs one in 64 entries or more, after it has answered.
- Verifying computes every hash again, tells every column from the bytes of its entry, folds the
  runs, and looks at every document and every index. A checkpoint covers all entries, so that no
  signature of a receipt is looked at; what looks at signatures is not measured here. Those beside it
  do no more than hash the same number of bytes as leaves, on one processor and on all.
- *`actum log`* is a whole process that lists the newest 20 of its workspace's runs, each with its
  place in the ledger.
";

/// Time limit for `actum log`.
const LOG_MAX: Duration = Duration::from_millis(100);

pub(super) fn render(results: &Results) -> String {
    let (machine, file_system) = (&results.machine, &results.file_system);
    let mut text = format!("{HEAD}{machine} File system of the ledger: {file_system}.\n");
    text.extend(results.contests.iter().map(table));
    text.extend(verify(results));
    text.extend(log(results));
    text.extend(syncs(results));
    text.extend(crowd(results));
    text + HOW
}

fn microseconds(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e6)
}

fn table(contest: &Contest) -> String {
    let head = ["microseconds", "rounds", "minimum", "10th", "median", "95th", "ratio"];
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
            row.extend(ranks.map(microseconds));
            row.push(ratio(over(median, first)));
        }
        (Err(why), _, _) => row.push(format!("not measured: {why}")),
        (Ok(_), _, _) => row.push("not measured".to_owned()),
    }
    row
}

/// Returns the promise in words, and whether the median keeps it.
fn promise(contest: &Contest, bar: &Bar) -> String {
    let Bar { who, must, aim } = bar;
    let first = contest.finishes.first();
    let finish = contest.finishes.iter().find(|finish| finish.who == *who);
    let both = finish.and_then(Finish::median).zip(first.and_then(Finish::median));
    let reached = match both.map(|(one, other)| over(one, other)) {
        Some(found) if found <= *aim => "aim reached",
        Some(found) if found <= *must => "must reached",
        Some(_) => "NOT reached",
        None => "not measured",
    };
    let first = first.map_or("", |first| &first.who);
    format!("- {who}: must take {} of {first}, aim {}: {reached}\n", ratio(*must), ratio(*aim))
}

fn verify(results: &Results) -> Option<String> {
    let rate = results.verify.as_ref()?;
    let entries = thousands(usize::try_from(rate.entries).unwrap_or(usize::MAX));
    let mut text =
        format!("\n## Verifying {entries} entries of {} bytes in the mean\n\n", rate.bytes);
    let rows = rate.finishes.iter().map(|finish| {
        let mut row = vec![finish.who.clone()];
        match (finish.median(), finish.percentile(0)) {
            (Some(median), Some(best)) => {
                row.extend([best, median].map(milliseconds));
                row.extend([best, median].map(|time| per_second(rate.of(time))));
            }
            (None, _) | (_, None) => row.push("not measured".to_owned()),
        }
        row
    });
    let head = ["milliseconds", "minimum", "median", "best, entries a second", "entries a second"];
    text += &markdown(&head.map(str::to_owned), &rows.collect::<Vec<_>>());
    let found = rate.finishes.last().and_then(Finish::median).map(|time| rate.of(time));
    let reached = match found {
        Some(found) if found >= 1e6 => "aim reached",
        Some(found) if found >= 5e5 => "must reached",
        Some(_) => "NOT reached",
        None => "not measured",
    };
    writeln!(text, "\n- must 500,000 entries a second, aim 1,000,000: {reached}").ok()?;
    Some(text)
}

fn log(results: &Results) -> Option<String> {
    let log = results.log.as_ref()?;
    let entries = thousands(usize::try_from(log.entries).unwrap_or(usize::MAX));
    let mut text = format!("\n## `actum log` with a ledger of {entries} rows\n\n");
    let rows = log.finishes.iter().map(|finish| {
        let mut row = vec![finish.who.clone()];
        match &finish.times {
            Ok(_) => {
                let ranks = [0, 50, 95].into_iter().filter_map(|rank| finish.percentile(rank));
                row.extend(ranks.map(milliseconds));
            }
            Err(why) => row.push(format!("not measured: {why}")),
        }
        row
    });
    let head = ["milliseconds", "minimum", "median", "95th"].map(str::to_owned);
    text += &markdown(&head, &rows.collect::<Vec<_>>());
    let reached = match log.finishes.last().and_then(Finish::median) {
        Some(found) if found < LOG_MAX => "must reached",
        Some(_) => "NOT reached",
        None => "not measured",
    };
    writeln!(text, "\n- must take less than {} ms: {reached}", LOG_MAX.as_millis()).ok()?;
    Some(text)
}

fn per_second(rate: f64) -> String {
    format!("{:.0},000", rate / 1000.0)
}

fn syncs(results: &Results) -> Option<String> {
    let syncs = results.syncs.as_ref()?;
    let shown = |counts: &BTreeMap<&str, f64>| {
        let some = counts.iter().filter(|(_, count)| **count > 0.0);
        some.map(|(name, count)| format!("{count:.2} `{name}`")).collect::<Vec<_>>().join(", ")
    };
    Some(format!(
        "\n## Waiting for the disk\n\n\
         - Of one append among a thousand: {}; system calls in all: {:.0}. More than one sync is for \
         taking over the log of the database, which nobody waits for.\n\
         - Of a process that opens a ledger, appends twice and ends: {}.\n",
        shown(&syncs.each),
        syncs.calls,
        shown(&syncs.short)
    ))
}

fn crowd(results: &Results) -> Option<String> {
    let crowd = results.crowd.as_ref()?;
    let of_100 = |percent: usize| {
        let rank = (crowd.times.len() * percent).div_ceil(100).saturating_sub(1);
        crowd.times.get(rank).copied().map_or_else(|| "?".to_owned(), milliseconds)
    };
    let slowest = crowd.times.last().copied().map_or_else(|| "?".to_owned(), milliseconds);
    Some(format!(
        "\n## 64 clients for {} seconds\n\n\
         {} appends. Milliseconds of one: median {}, 99th {}, slowest {slowest}. The client with the \
         fewest made {}, the one with the most {}.\n",
        crowd.seconds,
        thousands(crowd.times.len()),
        of_100(50),
        of_100(99),
        thousands(crowd.fewest),
        thousands(crowd.most)
    ))
}
