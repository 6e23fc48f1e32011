//! Differing places of two texts, each with enough surrounding lines to be unique in the old text.

use std::ops::Range;

use actum_edit::LineHunk;
use actum_edit::line_diff::{CONTEXT_LINES, hunks};

/// Maximum number of places. If there are more, they are merged into fewer and larger ones.
const PLACES_MAX: usize = 200;

/// Whole lines of the old text, and the lines that replace them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) end: End,
}

/// Boundary at the end of the old text: the end of the file or of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    OfText,
    OfPlace,
}

/// A text, the start of each of its lines, and its end.
struct Text<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

/// Range of differing lines, numbered from 0.
struct Lines {
    old: Range<usize>,
    new: Range<usize>,
}

/// Differing places in ascending order, with unchanged text between them. No place is empty, unless the old text is.
pub(super) fn places<'a>(old: &'a str, new: &'a str) -> Vec<Place<'a>> {
    let (old, new) = (Text::new(old), Text::new(new));
    let changed: Vec<Lines> =
        hunks(old.text.as_bytes(), new.text.as_bytes(), 0).iter().map(Lines::from_hunk).collect();
    let mut places = with_context(&old, &new);
    loop {
        let mut grown = false;
        for place in &mut places {
            if *place != (0..old.count()) && !occurs_once(old.text, old.part(place)) {
                *place = around(place, old.count(), &changed);
                grown = true;
            }
        }
        if !grown {
            break;
        }
        places = merged(places);
    }
    let place = |lines: &Range<usize>| Place {
        old: old.part(lines),
        new: new.part(&in_new(lines, &changed)),
        end: if lines.end == old.count() { End::OfText } else { End::OfPlace },
    };
    places.iter().map(place).collect()
}

/// Whether `part` occurs exactly once in `text`, counting overlapping occurrences.
pub(super) fn occurs_once(text: &str, part: &str) -> bool {
    let Some((first, width)) = text.find(part).zip(part.chars().next().map(char::len_utf8)) else {
        return false;
    };
    text.get(first + width..).is_none_or(|rest| !rest.contains(part))
}

/// Returns the old lines shown by the hunks of a diff.
fn with_context(old: &Text<'_>, new: &Text<'_>) -> Vec<Range<usize>> {
    let mut context = CONTEXT_LINES;
    loop {
        let hunks = hunks(old.text.as_bytes(), new.text.as_bytes(), context);
        if hunks.len() <= PLACES_MAX {
            return hunks.iter().map(|hunk| Lines::from_hunk(hunk).old).collect();
        }
        context = context.saturating_mul(2);
    }
}

/// Extends a place by `count` lines on either side, so that it contains no change only partially.
fn around(place: &Range<usize>, count: usize, changed: &[Lines]) -> Range<usize> {
    let more = place.len().max(1);
    let (mut start, mut end) = (place.start.saturating_sub(more), (place.end + more).min(count));
    for Lines { old, .. } in changed {
        if old.start < start && start < old.end {
            start = old.start;
        }
        if old.start < end && end < old.end {
            end = old.end;
        }
    }
    start..end
}

/// Joins adjacent places. An extended place may begin before earlier places that it now covers.
fn merged(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| place.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for place in places {
        match merged.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            Some(_) | None => merged.push(place),
        }
    }
    merged
}

/// Returns the new lines that correspond to old ones, including insertions at either end.
fn in_new(place: &Range<usize>, changed: &[Lines]) -> Range<usize> {
    let shifted = |line: usize, before: Option<&Lines>| {
        before.map_or(line, |Lines { old, new }| new.end + (line - old.end))
    };
    let start = changed.iter().rev().find(|lines| lines.old.start < place.start);
    let end = changed.iter().rev().find(|lines| lines.old.start <= place.end);
    shifted(place.start, start)..shifted(place.end, end)
}

impl Lines {
    fn from_hunk(hunk: &LineHunk) -> Self {
        let range = |start: u32, count: u32| {
            let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
            let start = number(start.saturating_sub(u32::from(count > 0)));
            start..start + number(count)
        };
        Self {
            old: range(hunk.old_start, hunk.old_lines),
            new: range(hunk.new_start, hunk.new_lines),
        }
    }
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            starts.push(end);
        }
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn part(&self, lines: &Range<usize>) -> &'a str {
        let at = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text.get(at(lines.start)..at(lines.end)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn place_grows_until_it_is_unique() {
        let block = "{\n1\n2\n3\nb\n4\n5\n6\n}\n";
        let old = format!("one\n{block}two\n{block}three\n{block}");
        let new = format!("one\n{block}two\n{}three\n{block}", block.replace('b', "c\nd"));
        let places = places(&old, &new);
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].old, format!("b\n4\n5\n6\n}}\ntwo\n{block}three\n{{\n1\n2\n3\nb\n"));
        assert_eq!(places[0].end, End::OfPlace);
    }

    #[test]
    fn place_can_absorb_several_others() {
        assert_eq!(merged(vec![0..5, 10..12, 3..30, 31..32]), [0..30, 31..32]);
    }

    #[test]
    fn insertion_at_either_end_belongs_to_the_place() {
        let place = |old, new| places(old, new).remove(0);
        assert_eq!(place("a\n", "b\na\n"), Place { old: "a\n", new: "b\na\n", end: End::OfText });
        assert_eq!(place("a\n", "a\nb"), Place { old: "a\n", new: "a\nb", end: End::OfText });
        assert_eq!(place("a\na\n", "a\n"), Place { old: "a\na\n", new: "a\n", end: End::OfText });
    }

    #[test]
    fn overlapping_occurrences_are_counted_separately() {
        assert!(!occurs_once("aaa", "aa"));
        assert!(occurs_once("äaä", "aä"));
        assert!(!occurs_once("abc", ""));
        assert!(!occurs_once("abc", "d"));
    }

    proptest! {
        #[test]
        fn places_transform_the_old_text_into_the_new_one(
            old in "([ab]\n){0,40}[ab]?", new in "([abc]\n){0,40}[ab]?",
        ) {
            let places = places(&old, &new);
            let (mut made, mut rest) = (String::new(), old.as_str());
            for place in &places {
                prop_assert!(old.is_empty() || occurs_once(&old, place.old));
                let at = rest.find(place.old).unwrap();
                made += &rest[..at];
                made += place.new;
                rest = &rest[at + place.old.len()..];
                prop_assert_eq!(place.end == End::OfText, rest.is_empty());
            }
            prop_assert_eq!(made + rest, new);
        }
    }
}
