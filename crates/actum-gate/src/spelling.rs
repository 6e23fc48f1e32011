//! Matches protection rules against all spellings of a path.

use std::borrow::Cow;
use std::collections::BTreeMap;

use actum_core::path_rule::NameEnd;
use actum_core::{PathRule, RelPath};

use crate::fold::{as_windows_opens, folded};

/// Directories where coding agents keep work trees of projects, although their parents hold agent
/// configuration. No tool reads configuration from inside these directories.
pub const WORK_TREES: [&str; 3] = [".claude/worktrees", ".codex/worktrees", ".cursor/worktrees"];

/// Directories above a workspace, with the facts that matter for protection rules.
#[derive(Debug, Default)]
pub(crate) struct Above<'b> {
    /// Names of the directories from the outermost on. The last one is that of the workspace root.
    pub(crate) names: Vec<&'b [u8]>,
    /// Number of leading names that rules must not match.
    pub(crate) unseen: usize,
    /// Number of leading names that form the path of each enclosing workspace or repository root.
    pub(crate) enclosing: Vec<usize>,
}

/// Spellings of a path to match rules against, including the names of the directories above the workspace.
pub(crate) struct Spellings<'p> {
    /// Names as written.
    written: Vec<&'p [u8]>,
    /// Names folded into one form that is equal for all spellings.
    folded: Vec<Cow<'p, [u8]>>,
    /// Folded names as Windows opens them, or `None` if no name differs.
    opened: Option<Vec<Vec<u8>>>,
    /// Directories above the workspace.
    above: &'p Above<'p>,
    /// Bit sets of the first bytes and of the last bytes of all names. `None` if a name has several forms or is
    /// not ASCII.
    ends: Option<(u128, u128)>,
}

/// Protection rule that applies to all spellings of a path.
pub(crate) struct Guard {
    /// Rule as written. It is kept because a wildcard may match other characters in the folded form.
    written: PathRule,
    /// Rule with folded names.
    folded: PathRule,
    kind: GuardKind,
}

/// Kind of path that a rule matches, which determines whether it applies to directories above the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardKind {
    /// The rule matches files. Names above the workspace may be part of the match, but the matching file name
    /// must be in the workspace.
    File,
    /// The rule matches directories, including those above the workspace.
    Directory,
    /// The rule matches directories relative to the root that this number of leading names forms.
    At(usize),
}

/// Ordered rules with associated values, indexed by a name that every matching path contains.
pub(crate) struct Guards<T> {
    all: Vec<(Guard, T)>,
    /// Indexes of the rules that only match paths that contain this name.
    by_name: BTreeMap<Vec<u8>, Vec<usize>>,
    /// Indexes of the rules without a literal name, with the first or last byte that some name in a matching
    /// path must have.
    others: Vec<(usize, Option<NameEnd>)>,
}

impl<'b> Above<'b> {
    /// Creates the list of directories above a workspace from their names and from the enclosing roots. A
    /// directory in an agent's work trees is a separate project, so rules do not match the names above it.
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
    /// No directories, for a path that is matched on its own.
    pub(crate) const NONE: &'static Self =
        &Self { names: Vec::new(), unseen: 0, enclosing: Vec::new() };
}

impl<'p> Spellings<'p> {
    pub(crate) fn from_path(path: &'p RelPath) -> Self {
        Self::below(Above::NONE, path)
    }

    /// Returns the spellings of a workspace root with these directories above it.
    pub(crate) fn around(above: &'p Above<'p>) -> Self {
        Self::new(above, above.names.clone())
    }

    /// Returns the spellings of a path in a workspace with these directories above it.
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

    /// Returns false if no name of the path has the first or last byte that a rule requires.
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
    /// Creates a guard from a policy rule, which may match a directory.
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

    /// Returns true if the rule matches the path. A rule that can begin anywhere is also matched against the
    /// names above the workspace. Every other rule is relative to the workspace root and to each enclosing
    /// root.
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

    /// Returns true if the rule matches the path on its own, in a workspace whose root is formed by the first
    /// `root` names.
    pub(crate) fn covers_within(&self, root: usize, path: &RelPath) -> bool {
        let path = Spellings::from_path(path);
        match self.kind {
            GuardKind::At(from) => {
                (from == root || self.written.begins_anywhere()) && self.covers_from(0, 0, &path)
            }
            GuardKind::File | GuardKind::Directory => self.covers(&path),
        }
    }

    /// Returns true if the rule matches `path` as a directory and may match paths below it
    /// (`PathRule::leads_below`). A link at `path` would replace that directory.
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

    /// Returns true if the rule matches the names from index `from` on, and the match ends after at least
    /// `least` names.
    fn covers_from(&self, from: usize, least: usize, path: &Spellings<'_>) -> bool {
        let folded = path.folded.iter().map(|name| &**name).skip(from);
        let opened = path.opened.as_ref();
        self.folded.covers_names_beyond(least, folded)
            || opened.is_some_and(|it| {
                let opened = it.iter().map(Vec::as_slice).skip(from);
                self.folded.covers_names_beyond(least, opened)
            })
            // Matching the written form is only needed for a path that has several forms. A plain path has the
            // same characters in both forms of a rule.
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
            // A name that matches as written also matches in its folded form, so the folded name is used as the
            // key.
            match guard.folded.name() {
                Some(name) => by_name.entry(name.to_owned()).or_default().push(place),
                None => others.push((place, guard.folded.end_of_name())),
            }
        }
        Self { all, by_name, others }
    }

    /// Creates guards from built-in rules. A test checks that all of them are valid.
    pub(crate) fn built_in(rules: impl IntoIterator<Item = (&'static str, GuardKind, T)>) -> Self {
        let read = |(rule, kind, of)| Some((Guard::of_kind(&PathRule::new(rule).ok()?, kind), of));
        Self::new(rules.into_iter().filter_map(read))
    }

    /// Returns the rules that match `path` as a directory and may match paths below it
    /// (`PathRule::leads_below`).
    pub(crate) fn reached_below(&self, path: &Spellings<'_>) -> impl Iterator<Item = &(Guard, T)> {
        self.all.iter().filter(|(guard, _)| guard.reaches_below(path))
    }

    /// Returns the rules that match `path`, in order.
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
        /// D-5: looking rules up by name finds every matching rule.
        #[test]
        fn guard_lookup_by_name_finds_every_matching_rule(
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
