//! Contests in which contestants take turns at the same work, and the promises about their times.

use std::time::Duration;

use super::format::{milliseconds, over, ratio};
use super::race::Finish;
use super::tables::markdown;

/// Contestants that took turns at the same work.
pub(super) struct Contest {
    pub(super) title: String,
    /// Results of the contestants. The first one is the baseline for the others.
    pub(super) finishes: Vec<Finish>,
    pub(super) bars: Vec<Bar>,
}

/// Promise about one of the contestants.
pub(super) struct Bar {
    pub(super) who: &'static str,
    pub(super) limit: Limit,
}

pub(super) enum Limit {
    /// At most this many milliseconds more than the first contestant.
    More(f64),
    /// At most this many times as long as the first contestant.
    Times(f64),
    /// At most this many milliseconds in total.
    InAll(f64),
    /// At most this many milliseconds in 95 of 100 rounds.
    MostlyInAll(f64),
    /// At most as long as another contestant.
    Under(&'static str),
}

/// Returns the contests as Markdown tables.
pub(super) fn tables(contests: &[Contest]) -> String {
    contests.iter().map(table).collect()
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

/// Returns the difference between two times in milliseconds.
fn difference(median: Duration, first: Duration) -> f64 {
    (median.as_secs_f64() - first.as_secs_f64()) * 1000.0
}

/// Returns the promise in words, and whether the median keeps it.
fn promise(contest: &Contest, bar: &Bar) -> String {
    let median = |who: &str| {
        contest.finishes.iter().find(|finish| finish.who == who).and_then(Finish::median)
    };
    let who = contest.finishes.first().map_or("", |finish| &finish.who);
    let first = contest.finishes.first().and_then(Finish::median);
    let (words, is_kept) = match bar.limit {
        Limit::More(ms) => {
            let kept = median(bar.who).zip(first).map(|(one, other)| difference(one, other) <= ms);
            (format!("at most {ms} ms more than {who}"), kept)
        }
        Limit::Times(times) => {
            let kept = median(bar.who).zip(first).map(|(one, other)| over(one, other) <= times);
            (format!("at most {} {who}", ratio(times)), kept)
        }
        Limit::InAll(ms) => {
            let kept = median(bar.who).map(|time| time.as_secs_f64() * 1000.0 <= ms);
            (format!("at most {ms} ms"), kept)
        }
        Limit::MostlyInAll(ms) => {
            let most = contest.finishes.iter().find(|finish| finish.who == bar.who);
            let most = most.and_then(|finish| finish.percentile(95));
            let kept = most.map(|time| time.as_secs_f64() * 1000.0 <= ms);
            (format!("at most {ms} ms in 95 of 100 rounds"), kept)
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
    fn table_shows_each_contestant_and_its_verdicts() {
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
                Bar { who: "tier N", limit: Limit::MostlyInAll(2.5) },
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
             - tier N: at most 2.5 ms in 95 of 100 rounds: NO\n\
             - tier N: no longer than gone: not measured\n"
        );
    }
}
