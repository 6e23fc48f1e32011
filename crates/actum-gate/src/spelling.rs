//! A path in the spellings that protection holds for, and rules that are compared with them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use actum_core::path_rule::NameEnd;
use actum_core::{PathRule, RelPath};

use crate::fold::{as_windows_opens, folded};

/// Where coding agents keep the work trees of projects, below a directory of their own configuration. No tool reads
/// configuration from inside of them.
pub const WORK_TREES: [&str; 3] = [".claude/worktrees", ".codex/worktrees", ".cursor/worktrees"];

/// The directories around a workspace, as far as protection looks at their names.
#[derive(Debug, Default)]
pub(crate) struct Above<'b> {
    /// Their names, first to last; the last is that of the workspace's root.
    pub(crate) names: Vec<&'b [u8]>,
    /// How many of them no rule matches.
    pub(crate) unseen: usize,
    /// How many lead to the root of each workspace and repository around this one.
    pub(crate) enclosing: Vec<usize>,
}

/// A path in the spellings in which its names are compared, behind the names of the directories around its workspace.
pub(crate) struct Spellings<'p> {
    /// As they are.
    written: Vec<&'p [u8]>,
    /// In one form for all spellings.
    folded: Vec<Cow<'p, [u8]>>,
    /// The same as Windows opens them, where that is another.
    opened: Option<Vec<Vec<u8>>>,
    /// Those directories.
    above: &'p Above<'p>,
    /// The first and the last bytes of all names, one bit for each, where there is but one form of it, of ASCII.
    ends: Option<(u128, u128)>,
}

/// A rule that holds for all spellings of a path.
pub(crate) struct Guard {
    /// What a wildcard stands for may be another character in the form for all spellings.
    written: PathRule,
    /// In that form.
    folded: PathRule,
    kind: GuardKind,
}

/// How a rule is compared with the directories around a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardKind {
    /// Matches files: the names above may lead to one, and its own name is in the workspace.
    File,
    /// Matches directories, also those that the workspace lies in.
    Directory,
    /// The same, written for the root that so many of the names above lead to.
    At(usize),
}

/// Many such rules in their order, each of something. Those that may match a path are found by its names.
pub(crate) struct Guards<T> {
    all: Vec<(Guard, T)>,
    /// Those that match no path without this name.
    by_name: BTreeMap<Vec<u8>, Vec<usize>>,
    /// Those that need no name in so many bytes, and how a name has to begin or end instead.
    others: Vec<(usize, Option<NameEnd>)>,
}

impl<'b> Above<'b> {
    /// Directories with these names, and the roots among them. What lies in a directory of an agent's work trees is a
    /// project of its own.
    pub(crate) fn new(names: Vec<&'b [u8]>, enclosing: Vec<usize>) -> Self {
        let is_boundary = |two: &[&[u8]]| {
            let mut boundaries = WORK_TREES.iter().map(|it| it.split('/').map(str::as_bytes));
            boundaries.any(|boundary| boundary.eq(two.iter().copied()))
        };
        let unseen = names.windows(2).rposition(is_boundary).map_or(0, |at| at + 2);
        Self { names, unseen, enclosing }
    }
}

impl Above<'static> {
    /// No directories: a path that is compared by itself.
    pub(crate) const NONE: &'static Self =
        &Self { names: Vec::new(), unseen: 0, enclosing: Vec::new() };
}

impl<'p> Spellings<'p> {
    pub(crate) fn of(path: &'p RelPath) -> Self {
        Self::below(Above::NONE, path)
    }

    /// The spellings of the root of a workspace with these directories around it.
    pub(crate) fn around(above: &'p Above<'p>) -> Self {
        Self::new(above, above.names.clone())
    }

    /// The spellings of a path in a workspace with these directories around it.
    pub(crate) fn below(above: &'p Above<'p>, path: &'p RelPath) -> Self {
        Self::new(above, above.names.iter().copied().chain(path.components()).collect())
    }

    fn new(above: &'p Above<'p>, written: Vec<&'p [u8]>) -> Self {
        let folded: Vec<_> = written.iter().map(|name| folded(name)).collect();
        let differs = folded.iter().any(|name| as_windows_opens(name).len() != name.len());
        let opened =
            differs.then(|| folded.iter().map(|name| as_windows_opens(name).to_vec()).collect());
        let is_plain = folded.iter().all(|name| matches!(name, Cow::Borrowed(_)));
        let mut path = Self { written, folded, opened, above, ends: None };
        path.ends = is_plain.then(|| {
            let bit =
                |byte: Option<&u8>| byte.map_or(0, |byte| 1u128.unbounded_shl(u32::from(*byte)));
            path.names().fold((0, 0), |(first, last), name| {
                (first | bit(name.first()), last | bit(name.last()))
            })
        });
        path
    }

    /// Whether a rule that needs such a name may match it.
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
    /// A rule of a policy: it may match a directory.
    pub(crate) fn new(rule: &PathRule) -> Self {
        Self::of_kind(rule, GuardKind::Directory)
    }

    pub(crate) fn of_kind(rule: &PathRule, kind: GuardKind) -> Self {
        let folded = rule.mapped(|name| folded(name).into_owned());
        Self { written: rule.clone(), folded, kind }
    }

    /// The rule as it is written.
    pub(crate) fn rule(&self) -> &PathRule {
        &self.written
    }

    /// Whether it matches the path. A rule that begins anywhere is compared with the names above as well, and another
    /// one from the root of the workspace and from those around it.
    pub(crate) fn covers(&self, path: &Spellings<'_>) -> bool {
        let Above { names, unseen, enclosing } = path.above;
        let root = names.len();
        if self.written.begins_anywhere() {
            let least = match self.kind {
                GuardKind::File => root.saturating_sub(*unseen),
                GuardKind::Directory | GuardKind::At(_) => 0,
            };
            return self.covers_from(*unseen, least, path);
        }
        match self.kind {
            GuardKind::At(from) => from <= root && self.covers_from(from, 0, path),
            GuardKind::File | GuardKind::Directory => {
                enclosing.iter().chain([&root]).any(|&from| self.covers_from(from, 0, path))
            }
        }
    }

    /// Whether it matches the path by itself, in a workspace whose root so many names lead to.
    pub(crate) fn covers_within(&self, root: usize, path: &RelPath) -> bool {
        let path = Spellings::of(path);
        match self.kind {
            GuardKind::At(from) => {
                (from == root || self.written.begins_anywhere()) && self.covers_from(0, 0, &path)
            }
            GuardKind::File | GuardKind::Directory => self.covers(&path),
        }
    }

    /// Whether it names the path as a directory and may match below it (`PathRule::leads_below`). A link at the path replaces that
    /// directory.
    fn reaches_below(&self, path: &Spellings<'_>) -> bool {
        let Above { names, unseen, enclosing } = path.above;
        let root = names.len();
        let from_there = |from: usize| {
            let folded = path.folded.iter().map(|name| &**name).skip(from);
            let opened = path.opened.as_ref();
            self.folded.leads_below_names(folded)
                || opened.is_some_and(|it| {
                    self.folded.leads_below_names(it.iter().map(Vec::as_slice).skip(from))
                })
        };
        if self.written.begins_anywhere() {
            return from_there(*unseen);
        }
        match self.kind {
            GuardKind::At(from) => from <= root && from_there(from),
            GuardKind::File | GuardKind::Directory => {
                enclosing.iter().chain([&root]).any(|&from| from_there(from))
            }
        }
    }

    /// The same from the name at `from` on, with a match that ends behind `least` names from there.
    fn covers_from(&self, from: usize, least: usize, path: &Spellings<'_>) -> bool {
        let folded = path.folded.iter().map(|name| &**name).skip(from);
        let opened = path.opened.as_ref();
        self.folded.covers_names_beyond(least, folded)
            || opened.is_some_and(|it| {
                let opened = it.iter().map(Vec::as_slice).skip(from);
                self.folded.covers_names_beyond(least, opened)
            })
            // What a plain path is made of is the same in a rule and in its folded form.
            || path.ends.is_none()
                && self.written.covers_names_beyond(least, path.written.iter().copied().skip(from))
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

    /// Those of built-in rules. They are sound: a test reads all of them.
    pub(crate) fn built_in(rules: impl IntoIterator<Item = (&'static str, GuardKind, T)>) -> Self {
        let read = |(rule, kind, of)| Some((Guard::of_kind(&PathRule::new(rule).ok()?, kind), of));
        Self::new(rules.into_iter().filter_map(read))
    }

    /// Those that name a path as a directory and may match below it (`PathRule::leads_below`).
    pub(crate) fn reached_below(&self, path: &Spellings<'_>) -> impl Iterator<Item = &(Guard, T)> {
        self.all.iter().filter(|(guard, _)| guard.reaches_below(path))
    }

    /// Those that match a path, in their order.
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
        fn guards_that_are_found_by_names_are_those_that_match_the_path(
            rules in vec((vec(select([&NAMES[..], &PATTERNS[..]].concat()), 1..4), any::<bool>(), 0usize..5), 0..12),
            paths in vec((vec(select(&NAMES[..]), 0..3), 0usize..3, 0usize..3, vec(select(&NAMES[..]), 1..4)), 1..6),
        ) {
            let text = |names: Vec<&str>, below: bool| names.join("/") + if below { "/" } else { "" };
            let kinds = [GuardKind::File, GuardKind::Directory, GuardKind::At(0), GuardKind::At(1), GuardKind::At(2)];
            let rules: Vec<_> = rules
                .into_iter()
                .filter_map(|(names, below, kind)| Some((PathRule::new(text(names, below)).ok()?, kinds[kind])))
                .collect();
            let guards = Guards::new(rules.iter().map(|(rule, kind)| Guard::of_kind(rule, *kind)).zip(0..));
            for (names, unseen, enclosing, path) in paths {
                let names: Vec<&[u8]> = names.into_iter().map(str::as_bytes).collect();
                let root = names.len();
                let enclosing = vec![enclosing.min(root)];
                let above = Above { unseen: unseen.min(root), names, enclosing };
                let path = RelPath::new(path.join("/")).unwrap();
                let path = Spellings::below(&above, &path);
                let covers = |(rule, kind): &(PathRule, GuardKind)| {
                    let Guard { written, folded, .. } = Guard::of_kind(rule, *kind);
                    let anywhere = rule.begins_anywhere();
                    let from: Vec<usize> = match (anywhere, *kind) {
                        (true, _) => vec![above.unseen],
                        (false, GuardKind::At(from)) => vec![from],
                        (false, _) => vec![root, above.enclosing[0]],
                    };
                    let least = if anywhere && *kind == GuardKind::File { root - above.unseen } else { 0 };
                    from.into_iter().filter(|&from| from <= root).any(|from| {
                        let in_form = |rule: &PathRule, names: Vec<&[u8]>| {
                            rule.covers_names_beyond(least, names[from..].iter().copied())
                        };
                        let opened = path.opened.iter().any(|it| in_form(&folded, it.iter().map(|name| &**name).collect()));
                        let seen = in_form(&folded, path.folded.iter().map(|name| &**name).collect());
                        opened || seen || in_form(&written, path.written.clone())
                    })
                };
                let all: Vec<usize> = (0..rules.len()).filter(|&of| covers(&rules[of])).collect();
                let found: Vec<usize> = guards.covering(&path).map(|(_, of)| *of).collect();
                prop_assert_eq!(all, found);
            }
        }
    }
}
