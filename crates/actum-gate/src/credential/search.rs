//! Where the literals of the rules are.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use super::rule::{RULES, Rule};

/// A place where a literal of a rule stands.
pub(super) struct Hit {
    pub(super) at: Range<usize>,
    pub(super) rule: &'static Rule,
}

/// Each literal and its rule, in the order of the table.
pub(super) fn literals() -> impl Iterator<Item = (&'static str, &'static Rule)> {
    RULES.iter().flat_map(|rule| rule.literals.iter().map(move |&literal| (literal, rule)))
}

/// All the places, in their order. No literal begins inside another one where it could be the
/// beginning of a secret.
pub(super) fn hits(content: &[u8]) -> impl Iterator<Item = Hit> {
    let [mut short, mut long] = SEARCHES.each_ref().map(|search| search.hits(content).peekable());
    std::iter::from_fn(move || {
        let start = |hit: Option<&Hit>| hit.map(|hit| Reverse(hit.at.start));
        if start(short.peek()) > start(long.peek()) { short.next() } else { long.next() }
    })
}

/// The length of the shortest literals.
const SHORT: usize = 3;

/// The short literals, and all the others. Together they would be sought by their first three bytes,
/// which the others share with much else; two passes take half the time of that one. Made at the
/// first scan, in some 40 µs.
static SEARCHES: LazyLock<[Search; 2]> = LazyLock::new(|| {
    [Search::of(|literal| literal.len() == SHORT), Search::of(|literal| literal.len() > SHORT)]
});

/// A search for some of the literals.
struct Search {
    literals: Vec<(&'static str, &'static Rule)>,
    /// None where the processor has no vectors that it could use.
    vectors: Option<Searcher>,
}

impl Search {
    fn of(is_sought: impl Fn(&str) -> bool) -> Self {
        let literals: Vec<_> = literals().filter(|(literal, _)| is_sought(literal)).collect();
        let vectors = Searcher::new(literals.iter().map(|(literal, _)| literal));
        Self { literals, vectors }
    }

    fn hits<'a>(&'a self, content: &'a [u8]) -> impl Iterator<Item = Hit> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            let hit = match &self.vectors {
                Some(vectors) => self.first_by_vectors(vectors, content, from),
                None => self.first_by_table(content, from),
            }?;
            from = hit.at.end;
            Some(hit)
        })
    }

    fn first_by_vectors(&self, vectors: &Searcher, content: &[u8], from: usize) -> Option<Hit> {
        let found = vectors.find_in(content, (from..content.len()).into())?;
        let &(_, rule) = self.literals.get(found.pattern().as_usize())?;
        Some(Hit { at: found.start()..found.end(), rule })
    }

    fn first_by_table(&self, content: &[u8], from: usize) -> Option<Hit> {
        let windows = content.get(from..)?.windows(SHORT).zip(from..);
        let mut places = windows.filter(|(window, _)| may_begin_literal(window));
        places.find_map(|(_, at)| {
            let rest = content.get(at..)?;
            let begins = |literal: &str| rest.starts_with(literal.as_bytes());
            let &(literal, rule) = self.literals.iter().find(|(literal, _)| begins(literal))?;
            Some(Hit { at: at..at + literal.len(), rule })
        })
    }
}

/// Which of the hashed beginnings some literal has.
static BEGINNINGS: [bool; 1 << 12] = beginnings();

fn may_begin_literal(window: &[u8]) -> bool {
    match window {
        &[one, two, three] => BEGINNINGS.get(hashed(one, two, three)).is_none_or(|&may| may),
        _ => true,
    }
}

const fn hashed(one: u8, two: u8, three: u8) -> usize {
    let together = u32::from_be_bytes([0, one, two, three]);
    (together.wrapping_mul(0x9e37_79b1) >> 20) as usize
}

#[expect(clippy::indexing_slicing, reason = "at compile time, where a panic is an error")]
const fn beginnings() -> [bool; 1 << 12] {
    let mut beginnings = [false; 1 << 12];
    let mut rule = 0;
    while rule < RULES.len() {
        let literals = RULES[rule].literals;
        let mut literal = 0;
        while literal < literals.len() {
            let bytes = literals[literal].as_bytes();
            beginnings[hashed(bytes[0], bytes[1], bytes[2])] = true;
            literal += 1;
        }
        rule += 1;
    }
    beginnings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-20: with a literal more the vectors could not be used, and every scan would take several
    /// times as long.
    #[test]
    fn there_are_no_more_literals_than_the_vectors_take() {
        let [short, long] = SEARCHES.each_ref().map(|search| search.literals.len());
        assert!(short <= 4 && long <= 64, "{short} and {long}");
        assert_eq!(short + long, literals().count());
    }

    /// EX-20
    #[test]
    fn a_processor_without_vectors_finds_the_same() {
        let all: Vec<&str> = literals().map(|(literal, _)| literal).collect();
        let content = format!("ci hf{} SG xox", all.join(" x"));
        let content = content.as_bytes();
        let told = |hit: Hit| (hit.at.start, hit.at.end, hit.rule.id);
        let mut slow: Vec<_> = Vec::new();
        for search in SEARCHES.iter() {
            let first = search.first_by_table(content, 0);
            let all =
                std::iter::successors(first, |hit| search.first_by_table(content, hit.at.end));
            slow.extend(all.map(told));
        }
        slow.sort_unstable();
        let fast: Vec<_> = hits(content).map(told).collect();
        assert_eq!(slow, fast);
        assert_eq!(fast.len(), all.len());
    }
}
