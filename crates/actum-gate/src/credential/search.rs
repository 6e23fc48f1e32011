//! Searches content for the literals of all credential rules.
//!
//! Literals of three or four bytes are found with vector instructions. Longer literals are found by sampling
//! the content at every second position: the four bytes at that position, folded to lowercase, are looked up in
//! a small table. A literal of at least five bytes contains two four-byte windows with adjacent starts, and
//! exactly one of them starts at a sampled position. The cost therefore does not depend on the number of rules.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use super::rule::{Case, Rule, rules};

/// Occurrence of a literal in the scanned content.
pub(super) struct Hit {
    pub(super) at: Range<usize>,
    pub(super) rule: &'static Rule,
}

/// Returns every literal with its rule, in table order.
pub(super) fn literals() -> impl Iterator<Item = (&'static str, &'static Rule)> {
    rules().flat_map(|rule| rule.literals.iter().map(move |&literal| (literal, rule)))
}

/// Returns all occurrences of literals in `content`: first those of short literals, then those of long ones.
pub(super) fn hits(content: &[u8]) -> impl Iterator<Item = Hit> + '_ {
    SHORT.hits(content).chain(INDEX.hits(content))
}

const WINDOW: usize = 4;
const STRIDE: usize = 2;
const TABLE_BITS: u32 = 14;
/// Bit that distinguishes lowercase from uppercase ASCII letters, set in each of the four bytes of a window.
const FOLD: u32 = 0x2020_2020;

/// Index of the long literals, built on the first scan.
static INDEX: LazyLock<Index> = LazyLock::new(Index::new);
static SHORT: LazyLock<Short> = LazyLock::new(Short::new);

/// Literals that are too short to contain two windows.
struct Short {
    literals: Vec<(&'static str, &'static Rule)>,
    /// Vectorised searcher, or `None` if the processor lacks the necessary vector instructions.
    vectors: Option<Searcher>,
}

impl Short {
    fn new() -> Self {
        let literals: Vec<_> = literals().filter(|(literal, _)| literal.len() <= WINDOW).collect();
        let vectors = Searcher::new(literals.iter().map(|(literal, _)| literal));
        Self { literals, vectors }
    }

    fn hits<'a>(&'a self, content: &'a [u8]) -> impl Iterator<Item = Hit> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            let hit = match &self.vectors {
                Some(vectors) => self.next_by_vectors(vectors, content, from),
                None => self.next_by_comparison(content, from),
            }?;
            from = hit.at.start + 1;
            Some(hit)
        })
    }

    fn next_by_vectors(&self, vectors: &Searcher, content: &[u8], from: usize) -> Option<Hit> {
        let found = vectors.find_in(content, (from..content.len()).into())?;
        let &(_, rule) = self.literals.get(found.pattern().as_usize())?;
        Some(Hit { at: found.start()..found.end(), rule })
    }

    fn next_by_comparison(&self, content: &[u8], from: usize) -> Option<Hit> {
        (from..content.len()).find_map(|at| {
            let rest = content.get(at..)?;
            let begins = |literal: &str| rest.starts_with(literal.as_bytes());
            let &(literal, rule) = self.literals.iter().find(|(literal, _)| begins(literal))?;
            Some(Hit { at: at..at + literal.len(), rule })
        })
    }
}

struct Index {
    /// Table of window hashes. An entry is true if a pattern has a window with this hash, so one lookup rules out most
    /// positions of a text.
    table: Box<[bool; 1 << TABLE_BITS]>,
    /// Windows of all long literals, sorted by their folded bytes.
    windows: Vec<Window>,
}

/// Window of four bytes within a literal.
struct Window {
    folded: u32,
    literal: &'static str,
    rule: &'static Rule,
    /// Offset of the window from the start of the literal, in bytes.
    behind: usize,
}

impl Index {
    fn new() -> Self {
        let mut windows: Vec<_> =
            literals().flat_map(|(literal, rule)| Window::pair(literal, rule)).collect();
        windows.sort_by_key(|window| window.folded);
        let mut table = Box::new([false; 1 << TABLE_BITS]);
        for window in &windows {
            if let Some(is_known) = table.get_mut(hash(window.folded)) {
                *is_known = true;
            }
        }
        Self { table, windows }
    }

    fn hits<'a>(&'static self, content: &'a [u8]) -> impl Iterator<Item = Hit> + 'a {
        let mut from: usize = 0;
        let mut pending: std::slice::Iter<'static, Window> = [].iter();
        std::iter::from_fn(move || {
            loop {
                let at = from.saturating_sub(STRIDE);
                if let Some(hit) = pending.by_ref().find_map(|window| window.hit(content, at)) {
                    return Some(hit);
                }
                let at = self.next_candidate(content, from)?;
                pending = self.windows_at(content, at).iter();
                from = at + STRIDE;
            }
        })
    }

    /// Returns the first sampled position at or after `from` where the window of a literal may start. Sampled
    /// positions are even.
    fn next_candidate(&self, content: &[u8], from: usize) -> Option<usize> {
        let is_known = |folded: u32| self.table.get(hash(folded)).is_some_and(|&known| known);
        let mut at = from;
        // Eight bytes contain three sampled windows, so each iteration advances by six bytes.
        while let Some(bytes) = content.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let bytes = u64::from_le_bytes(*bytes);
            let [first, second, third] = [0, 16, 32].map(|shift| {
                let bytes = (bytes >> shift).to_le_bytes();
                let [one, two, three, four, ..] = bytes;
                is_known(u32::from_le_bytes([one, two, three, four]) | FOLD)
            });
            if first | second | third {
                return Some(match (first, second) {
                    (true, _) => at,
                    (false, true) => at + STRIDE,
                    (false, false) => at + 2 * STRIDE,
                });
            }
            at += 3 * STRIDE;
        }
        // Windows at the end of the content are padded with zeros.
        (at..content.len()).step_by(STRIDE).find(|&at| is_known(folded_at(content, at)))
    }

    fn windows_at(&'static self, content: &[u8], at: usize) -> &'static [Window] {
        let folded = folded_at(content, at);
        let start = self.windows.partition_point(|window| window.folded < folded);
        let rest = self.windows.get(start..).unwrap_or_default();
        let end = rest.iter().take_while(|window| window.folded == folded).count();
        rest.get(..end).unwrap_or_default()
    }
}

impl Window {
    /// Returns the two windows of a long literal, or none for a short one. Their starts are adjacent, so one of
    /// them is at an even position wherever the literal occurs.
    fn pair(literal: &'static str, rule: &'static Rule) -> impl Iterator<Item = Self> {
        let bytes = literal.as_bytes();
        // A PEM header is searched by its end, because its dashes also occur in horizontal rules.
        let first =
            if literal.starts_with('-') { bytes.len().saturating_sub(WINDOW + 1) } else { 0 };
        let windows = bytes.windows(WINDOW).zip(0..).skip(first).take(STRIDE);
        let windows = windows.filter(|_| bytes.len() > WINDOW);
        windows.map(move |(window, behind)| Self {
            folded: folded_at(window, 0),
            literal,
            rule,
            behind,
        })
    }

    /// Returns the occurrence of the literal if the content around the window at `at` matches it completely.
    fn hit(&self, content: &[u8], at: usize) -> Option<Hit> {
        let start = at.checked_sub(self.behind)?;
        let end = start + self.literal.len();
        let found = content.get(start..end)?;
        let literal = self.literal.as_bytes();
        let is_it = match self.rule.case {
            Case::Exact => found == literal,
            Case::Any => found.eq_ignore_ascii_case(literal),
        };
        is_it.then_some(Hit { at: start..end, rule: self.rule })
    }
}

/// Returns the four bytes at `at`, folded to lowercase and padded with zeros past the end of the content.
fn folded_at(content: &[u8], at: usize) -> u32 {
    let mut window = [0; WINDOW];
    let found = content.get(at..).unwrap_or_default();
    window.iter_mut().zip(found).for_each(|(byte, &found)| *byte = found);
    u32::from_le_bytes(window) | FOLD
}

fn hash(folded: u32) -> usize {
    let hash = folded.wrapping_mul(0x9e37_79b1) >> (u32::BITS - TABLE_BITS);
    usize::try_from(hash).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EX-20: the vectorised searcher supports a limited number of literals. Beyond that, scans would be
    /// several times slower.
    #[test]
    fn short_literals_fit_the_vectorised_search() {
        assert!(SHORT.literals.len() <= 32, "{}", SHORT.literals.len());
    }

    /// EX-20
    #[test]
    fn search_without_vector_instructions_finds_the_same() {
        let all: Vec<&str> = literals().map(|(literal, _)| literal).collect();
        let content = format!("ci hf{} SG xox", all.join(" x"));
        let content = content.as_bytes();
        let first = SHORT.next_by_comparison(content, 0);
        let next = |hit: &Hit| SHORT.next_by_comparison(content, hit.at.start + 1);
        let slow = std::iter::successors(first, next).map(|hit| (hit.at, hit.rule.id));
        assert!(SHORT.hits(content).map(|hit| (hit.at, hit.rule.id)).eq(slow));
    }

    /// EX-20: every literal is found exactly once, regardless of its position in the content.
    #[test]
    fn every_literal_is_found_once_at_any_position() {
        for (literal, rule) in literals() {
            let shortest = if rule.case == Case::Any { WINDOW + 1 } else { 3 };
            assert!(literal.len() >= shortest, "{literal}");
            for before in 0..20 {
                for behind in 0..9 {
                    let content = format!("{}{literal}{}", "/".repeat(before), "/".repeat(behind));
                    let found = hits(content.as_bytes())
                        .filter(|hit| hit.at.start == before && std::ptr::eq(hit.rule, rule))
                        .filter(|hit| hit.at.len() == literal.len());
                    assert_eq!(found.count(), 1, "{content}");
                }
            }
        }
    }
}
