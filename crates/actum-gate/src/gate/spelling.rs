//! A path in the spellings that protection holds for, and rules that are compared with them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use actum_core::path_rule::NameEnd;
use actum_core::{PathRule, RelPath};

use crate::fold::{as_windows_opens, folded};

/// A path as its names are compared, behind those of the directories that its workspace lies in.
pub(crate) struct Spellings<'p> {
    /// As they are.
    written: Vec<&'p [u8]>,
    /// In one form for all spellings.
    folded: Vec<Cow<'p, [u8]>>,
    /// The same as Windows opens them, where that is another.
    opened: Option<Vec<Vec<u8>>>,
    /// How many of them are of those directories.
    above: usize,
    /// The first and the last bytes of all names, one bit for each, where there is but one form of it, of ASCII.
    ends: Option<(u128, u128)>,
}

/// A rule that holds for all spellings of a path.
pub(crate) struct Guard {
    /// What a wildcard stands for may be another character in the form for all spellings.
    written: PathRule,
    /// In that form.
    folded: PathRule,
}

/// Many such rules in their order, each of something. Those that may speak of a path are found by its names.
pub(crate) struct Guards<T> {
    all: Vec<(Guard, T)>,
    /// Which of them speak of no path without this name.
    by_name: BTreeMap<Vec<u8>, Vec<usize>>,
    /// Which of them need no name in so many bytes, and how a name has to begin or end instead.
    others: Vec<(usize, Option<NameEnd>)>,
}

impl<'p> Spellings<'p> {
    pub(crate) fn of(path: &'p RelPath) -> Self {
        Self::below(&[], path)
    }

    /// The same in a workspace that lies in these directories, first to last.
    pub(crate) fn below(above: &[&'p [u8]], path: &'p RelPath) -> Self {
        let written: Vec<&[u8]> = above.iter().copied().chain(path.components()).collect();
        let folded: Vec<_> = written.iter().map(|name| folded(name)).collect();
        let differs = folded.iter().any(|name| as_windows_opens(name).len() != name.len());
        let opened =
            differs.then(|| folded.iter().map(|name| as_windows_opens(name).to_vec()).collect());
        let is_plain = folded.iter().all(|name| matches!(name, Cow::Borrowed(_)));
        let mut path = Self { written, folded, opened, above: above.len(), ends: None };
        path.ends = is_plain.then(|| {
            let bit =
                |byte: Option<&u8>| byte.map_or(0, |byte| 1u128.unbounded_shl(u32::from(*byte)));
            path.names().fold((0, 0), |(first, last), name| {
                (first | bit(name.first()), last | bit(name.last()))
            })
        });
        path
    }

    /// Whether a rule that needs such a name may speak of it.
    fn may_have(&self, end: Option<NameEnd>) -> bool {
        let Some(((first, last), end)) = self.ends.zip(end) else { return true };
        let has = |ends: u128, byte: u8| ends & 1u128.unbounded_shl(u32::from(byte)) != 0;
        match end {
            NameEnd::First(byte) => has(first, byte),
            NameEnd::Last(byte) => has(last, byte),
        }
    }

    /// All names, in each form that is not as they are written.
    fn names(&self) -> impl Iterator<Item = &[u8]> {
        let opened = self.opened.iter().flatten();
        self.folded.iter().map(|name| &**name).chain(opened.map(Vec::as_slice))
    }
}

impl Guard {
    pub(crate) fn new(rule: &PathRule) -> Self {
        let folded = rule.mapped(|name| folded(name).into_owned());
        Self { written: rule.clone(), folded }
    }

    /// The rule as it is written.
    pub(crate) fn rule(&self) -> &PathRule {
        &self.written
    }

    /// Whether it speaks of the path. Where the workspace lies counts for a rule that begins anywhere alone.
    pub(crate) fn covers(&self, path: &Spellings<'_>) -> bool {
        let above = if self.written.begins_anywhere() { 0 } else { path.above };
        let opened = path.opened.as_ref();
        self.folded.covers_names(path.folded.iter().skip(above).map(|name| &**name))
            || opened.is_some_and(|it| {
                self.folded.covers_names(it.iter().skip(above).map(Vec::as_slice))
            })
            // What a plain path is made of is the same in a rule and in its folded form.
            || path.ends.is_none()
                && self.written.covers_names(path.written.iter().skip(above).copied())
    }
}

impl<T> Guards<T> {
    pub(crate) fn new(rules: impl IntoIterator<Item = (Guard, T)>) -> Self {
        let all: Vec<_> = rules.into_iter().collect();
        let mut by_name: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        let mut others = Vec::new();
        for (place, (guard, _)) in all.iter().enumerate() {
            // A name that is met as it is written is met as it is folded as well.
            match guard.folded.name() {
                Some(name) => by_name.entry(name.to_owned()).or_default().push(place),
                None => others.push((place, guard.folded.end_of_name())),
            }
        }
        Self { all, by_name, others }
    }

    /// Those of rules that are built in. They are sound: a test reads all of them.
    pub(crate) fn built_in(rules: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        let read = |(rule, of)| Some((Guard::new(&PathRule::new(rule).ok()?), of));
        Self::new(rules.into_iter().filter_map(read))
    }

    /// Those that speak of a path, in their order.
    pub(crate) fn covering(&self, path: &Spellings<'_>) -> impl Iterator<Item = &(Guard, T)> {
        let named = path.names().filter_map(|name| self.by_name.get(name)).flatten();
        let others = self.others.iter().filter(|(_, end)| path.may_have(*end));
        let mut places: Vec<usize> = named.chain(others.map(|(place, _)| place)).copied().collect();
        places.sort_unstable();
        places.dedup();
        let may_cover = places.into_iter().filter_map(|place| self.all.get(place));
        may_cover.filter(|(guard, _)| guard.covers(path))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const NAMES: [&str; 14] = [
        "a",
        "A",
        "b",
        "ab",
        "Ab",
        "a.",
        "a:b",
        "fi",
        "\u{fb01}",
        "\u{e4}",
        "a\u{308}",
        "\u{130}",
        "i",
        "a\u{200b}",
    ];
    const PATTERNS: [&str; 8] = ["*", "**", "?", "a*", "*A", "?b", "f?", "*\u{308}"];

    proptest! {
        /// D-5: no rule is passed over because of how it is looked for.
        #[test]
        fn guards_that_are_found_by_names_are_those_that_speak_of_the_path(
            rules in vec((vec(select([&NAMES[..], &PATTERNS[..]].concat()), 1..4), any::<bool>()), 0..12),
            paths in vec((vec(select(&NAMES[..]), 0..3), vec(select(&NAMES[..]), 1..4)), 1..6),
        ) {
            let text = |(names, below): (Vec<&str>, bool)| names.join("/") + if below { "/" } else { "" };
            let rules: Vec<_> = rules.into_iter().filter_map(|it| PathRule::new(text(it)).ok()).collect();
            let guards = Guards::new(rules.iter().map(Guard::new).zip(0..));
            for (above, path) in paths {
                let above: Vec<&[u8]> = above.into_iter().map(str::as_bytes).collect();
                let path = RelPath::new(path.join("/")).unwrap();
                let path = Spellings::below(&above, &path);
                let covers = |rule: &PathRule| {
                    let Guard { written, folded } = Guard::new(rule);
                    let from = if rule.begins_anywhere() { 0 } else { above.len() };
                    let opened = path.opened.iter().any(|it| folded.covers_names(it[from..].iter().map(|name| &**name)));
                    let seen = folded.covers_names(path.folded[from..].iter().map(|name| &**name));
                    opened || seen || written.covers_names(path.written[from..].iter().copied())
                };
                let all: Vec<usize> = (0..rules.len()).filter(|&of| covers(&rules[of])).collect();
                let found: Vec<usize> = guards.covering(&path).map(|(_, of)| *of).collect();
                prop_assert_eq!(all, found);
            }
        }
    }
}
