//! Output of `cargo xtask share`: shares by history and profile, the rules, and each commit that is held back.

use std::collections::BTreeMap;
use std::fmt::Write;

use actum_gate::Verdict;

use super::rules::Rule;
use super::{Judged, Kind, PROFILES, Row};

/// Number of commits with each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    commits: u32,
    ask: u32,
    denied: u32,
}

impl Tally {
    /// Counts the verdicts of one profile.
    fn from_judged<'a>(judged: impl Iterator<Item = &'a Judged>, profile: usize) -> Self {
        let mut tally = Self::default();
        for verdict in judged.filter_map(|it| it.verdicts.get(profile)) {
            tally.commits += 1;
            match verdict {
                Verdict::Allow => {}
                Verdict::NeedsApproval => tally.ask += 1,
                Verdict::Deny => tally.denied += 1,
            }
        }
        tally
    }

    fn columns(self) -> String {
        let Self { commits, ask, denied } = self;
        let share = |count| {
            let (low, high) = interval(count, commits);
            format!("{count:>4} {:>5.1} % ({low:.1} to {high:.1})", percent(count, commits))
        };
        format!("{commits:>7}  {:<26} {}", share(ask), share(denied))
    }
}

/// Formats the whole output.
pub(super) fn report(rows: &[Row]) -> String {
    let mut text = String::new();
    let head = "commits  ask, 95 % interval         denied, 95 % interval";
    let mut line = |name: &str, rest: &str| {
        let _never_fails = writeln!(text, "{name:<48} {rest}");
    };
    line("history", head);
    for row in rows {
        let tally = Tally::from_judged(row.judged(), 0);
        // Packages have few patches, and most of them contain none that is held back.
        if row.kind == Kind::Whole || tally.ask + tally.denied > 0 {
            line(&row.name, &tally.columns());
        }
    }
    let kinds = Kind::ALL.map(|kind| (kind.as_str(), vec![kind]));
    for (name, kinds) in kinds.into_iter().chain([("all of them", Kind::ALL.to_vec())]) {
        let rows = || rows.iter().filter(|row| kinds.contains(&row.kind));
        for (at, profile) in PROFILES.iter().enumerate().filter(|_| rows().next().is_some()) {
            let name = format!("{name} ({}), {profile}", rows().count());
            line(&name, &Tally::from_judged(rows().flat_map(Row::judged), at).columns());
        }
    }
    let left_out: usize = rows.iter().map(|row| row.left_out).sum();
    text += &format!("links and submodules left out: {left_out}\n\n");
    text += &rules(rows);
    text += "\n";
    for row in rows {
        for (id, judged) in row.judged.iter().filter(|(_, judged)| !judged.grounds.is_empty()) {
            let (id, grounds) = (id.get(..12).unwrap_or(id), judged.grounds.join("; "));
            text += &format!("{} {id}: {grounds}\n", row.name);
        }
    }
    text
}

impl Row {
    fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().map(|(_, judged)| judged)
    }
}

/// Formats one line for each rule: the number of commits it holds back, and of those it holds back alone.
fn rules(rows: &[Row]) -> String {
    let mut counts: BTreeMap<&Rule, (usize, usize)> = BTreeMap::new();
    for judged in rows.iter().flat_map(Row::judged) {
        for rule in &judged.rules {
            let (all, alone) = counts.entry(rule).or_default();
            *all += 1;
            *alone += usize::from(judged.rules.len() == 1);
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(rule, (all, _))| (std::cmp::Reverse(*all), *rule));
    let mut text = format!("commits  alone  gate and rule ({})\n", PROFILES[0]);
    for (Rule { gate, name }, (all, alone)) in counts {
        text += &format!("{all:>7} {alone:>6}  {gate}: {name}\n");
    }
    text
}

fn percent(count: u32, of: u32) -> f64 {
    100.0 * f64::from(count) / f64::from(of.max(1))
}

/// Returns the 95 % confidence interval of a share, in percent (Wilson's score interval).
fn interval(count: u32, of: u32) -> (f64, f64) {
    const Z: f64 = 1.96;
    let (share, n) = (percent(count, of) / 100.0, f64::from(of.max(1)));
    let middle = share + Z * Z / (2.0 * n);
    let reach = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let bound = |value: f64| 100.0 * (value / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
    (bound(middle - reach), bound(middle + reach))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_interval_is_the_wilson_interval() {
        let rounded = |(low, high): (f64, f64)| (format!("{low:.2}"), format!("{high:.2}"));
        assert_eq!(rounded(interval(6, 184)), ("1.50".to_owned(), "6.93".to_owned()));
        assert_eq!(rounded(interval(0, 100)), ("0.00".to_owned(), "3.70".to_owned()));
    }
}
