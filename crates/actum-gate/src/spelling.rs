//! Spellings of a path for protection, and the rules that are compared with them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use actum_core::path_rule::NameEnd;
use actum_core::{PathRule, RelPath};

use crate::fold::{as_windows_opens, folded};

/// Directories of coding agents for the work trees of projects, below a directory of their configuration. No
/// tool reads configuration from inside them.
pub const WORK_TREES: [&str; 3] = [".claude/worktrees", ".codex/worktrees", ".cursor/worktrees"];

/// Directories around a workspace, as far as their names affect protection.
#[derive(Debug, Default)]
pub(crate) struct Above<'b> {
    /// Names, first to last; the last is that of the workspace root.
    pub(crate) names: Vec<&'b [u8]>,
    /// Number of leading names that no rule matches.
    pub(crate) unseen: usize,
    /// Number of names that lead to the root of each enclosing workspace and repository.
    pub(crate) enclosing: Vec<usize>,
}

/// Spellings of a path for the comparison of its names, preceded by the names of the directories around its
/// workspace.
pub(crate) struct Spellings<'p> {
    /// Names as written.
    written: Vec<&'p [u8]>,
    /// Names folded into one form for all spellings.
    folded: Vec<Cow<'p, [u8]>>,
    /// Folded names as Windows opens them, if any of them differs.
    opened: Option<Vec<Vec<u8>>>,
    /// Directories around the workspace.
    above: &'p Above<'p>,
    /// Sets of the first and the last bytes of all names, as bits; `None` if a name has several forms or is
    /// not ASCII.
    ends: Option<(u128, u128)>,
}

/// Rule that applies to all spellings of a path.
pub(crate) struct Guard {
    /// Rule as written. A wildcard may stand for another character in the folded form.
    written: PathRule,
    /// Rule in the folded form.
    folded: PathRule,
    kind: GuardKind,
}

/// Comparison of a rule with the directories around a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardKind {
    /// Matches files: the names above may lead to one, but its own name is in the workspace.
    File,
    /// Matches directories, including those around the workspace.
    Directory,
    /// Matches directories, relative to the root that this number of names above leads to.
    At(usize),
}

/// Ordered rules with their values, indexed by name.
pub(crate) struct Guards<T> {
    all: Vec<(Guard, T)>,
    /// Indexes of the rules that match only paths with this name.
    by_name: BTreeMap<Vec<u8>, Vec<usize>>,
    /// Indexes of the rules without a literal name, with the required first or last byte of a name.
    others: Vec<(usize, Option<NameEnd>)>,
}

impl<'b> Above<'b> {
    /// Collects directories with these names, and the roots among them. A directory in an agent's work trees
    /// is a separate project.
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
    /// No directories: a path that is compared on its own.
    pub(crate) const NONE: &'static Self =
        &Self { names: Vec::new(), unseen: 0, enclosing: Vec::new() };
}

impl<'p> Spellings<'p> {
    pub(crate) fn from_path(path: &'p RelPath) -> Self {
        Self::below(Above::NONE, path)
    }

    /// Returns the spellings of the root of a workspace with these directories around it.
    pub(crate) fn around(above: &'p Above<'p>) -> Self {
        Self::new(above, above.names.clone())
    }

    /// Returns the spellings of a path in a workspace with these directories around it.
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

    /// Returns true if a rule that needs such a name may match the path.
    fn may_have(&self, end: Option<NameEnd>) -> bool {
        let Some(((first, last), end)) = self.ends.zip(end) else { return true };
        let has = |ends: u128, byte: u8| ends & 1u128.unbounded_shl(u32::from(byte)) != 0;
        match end {
            NameEnd::First(byte) => has(first, byte),
            NameEnd::Last(byte) => has(last, byte),
        }
    }

    /// Returns all names in each folded form.
    fn names(&self) -> impl Iterator<Item = &[u8]> {
        let opened = self.opened.iter().flatten();
        self.folded.iter().map(|name| &**name).chain(opened.map(Vec::as_slice))
    }
}

impl Guard {
    /// Makes a guard from a policy rule, which may match a directory.
    pub(crate) fn new(rule: &PathRule) -> Self {
        Self::of_kind(rule, GuardKind::Directory)
    }

    pub(crate) fn of_kind(rule: &PathRule, kind: GuardKind) -> Self {
        let folded = rule.mapped(|name| folded(name).into_owned());
        Self { written: rule.clone(), folded, kind }
    }

    /// Returns the rule as written.
    pub(crate) fn rule(&self) -> &PathRule {
        &self.written
    }

    /// Returns true if the rule matches the path. A rule that can begin anywhere is also compared with the
    /// names above. Any other rule is relative to the root of the workspace and to the enclosing roots.
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

    /// Returns true if the rule matches the path on its own, in a workspace whose root this number of names leads to.
    pub(crate) fn covers_within(&self, root: usize, path: &RelPath) -> bool {
        let path = Spellings::from_path(path);
        match self.kind {
            GuardKind::At(from) => {
                (from == root || self.written.begins_anywhere()) && self.covers_from(0, 0, &path)
            }
            GuardKind::File | GuardKind::Directory => self.covers(&path),
        }
    }

    /// Returns true if the rule names the path as a directory and may match below it
    /// (`PathRule::leads_below`). A link at the path replaces that directory.
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

    /// Returns true if the rule matches from the name at `from` on, with a match that ends after at least
    /// `least` names.
    fn covers_from(&self, from: usize, least: usize, path: &Spellings<'_>) -> bool {
        let folded = path.folded.iter().map(|name| &**name).skip(from);
        let opened = path.opened.as_ref();
        self.folded.covers_names_beyond(least, folded)
            || opened.is_some_and(|it| {
                let opened = it.iter().map(Vec::as_slice).skip(from);
                self.folded.covers_names_beyond(least, opened)
            })
            // A plain path has the same characters in a rule and in its folded form.
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
            // A name that matches as written also matches in its folded form.
            match guard.folded.name() {
                Some(name) => by_name.entry(name.to_owned()).or_default().push(place),
                None => others.push((place, guard.folded.end_of_name())),
            }
        }
        Self { all, by_name, others }
    }

    /// Collects built-in rules. They are valid: a test reads all of them.
    pub(crate) fn built_in(rules: impl IntoIterator<Item = (&'static str, GuardKind, T)>) -> Self {
        let read = |(rule, kind, of)| Some((Guard::of_kind(&PathRule::new(rule).ok()?, kind), of));
        Self::new(rules.into_iter().filter_map(read))
    }

    /// Returns the rules that name a path as a directory and may match below it (`PathRule::leads_below`).
    pub(crate) fn reached_below(&self, path: &Spellings<'_>) -> impl Iterator<Item = &(Guard, T)> {
        self.all.iter().filter(|(guard, _)| guard.reaches_below(path))
    }

    /// Returns the rules that match a path, in order.
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
        /// D-5: the index by name omits no matching rule.
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
