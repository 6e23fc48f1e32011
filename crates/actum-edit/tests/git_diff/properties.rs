//! Diffs between random trees, written in the simplest form that the format allows.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::{Digest, RelPath};
use actum_edit::Operation;
use actum_edit::format::git_diff::parse;
use proptest::prelude::*;

use crate::model::{File, Tree};

/// Pieces of text that have a meaning in a diff.
const NOISE: &str = "(@@ -1,2 [+]1 @@|--- |[+]{3} b/a|diff --git a/a b/a|rename to |\"|\\\\ |index 0..|[ +-]a\
     |GIT binary patch|literal 0|delta 3|HcmV[?]d00001|index e{40}[.]{2}0{40})?\n?";

/// Old paths of the renamed files, by their new paths.
type Origins = BTreeMap<RelPath, RelPath>;

/// Generates trees with few paths, so that two trees often share paths. No path is below another.
fn trees() -> impl Strategy<Value = Tree> {
    let name = "[ab]{1,2}( [cé\"])?(/[ab])?";
    let file = (proptest::collection::vec("[ab \\\\-]{0,2}\r?\n", 0..4), any::<bool>());
    proptest::collection::btree_map(name, (file, any::<bool>()), 0..6).prop_map(|files| {
        let mut tree = Tree::default();
        for (name, ((lines, newline), executable)) in files {
            let mut content = lines.concat();
            if !newline && content.ends_with('\n') && content.len() > 1 {
                content.pop();
            }
            let path = RelPath::new(name).unwrap();
            if !tree.0.keys().any(|p| p.starts_with(&path) || path.starts_with(p)) {
                tree.0.insert(path, (content.into_bytes(), executable));
            }
        }
        tree
    })
}

/// Writes a section that turns the old file `old` into the new file `new`.
fn section(out: &mut Vec<u8>, old: Option<(&RelPath, &File)>, new: Option<(&RelPath, &File)>) {
    let name = |prefix: &str, path: &RelPath| {
        let escaped: String = path
            .as_bytes()
            .iter()
            .map(|b| match b {
                b'"' => "\\\"".to_owned(),
                0x80.. => format!("\\{b:03o}"),
                _ => char::from(*b).to_string(),
            })
            .collect();
        let quote = if escaped.contains('\\') { "\"" } else { "" };
        format!("{quote}{prefix}{escaped}{quote}")
    };
    let mode = |executable: bool| if executable { "100755" } else { "100644" };
    let (Some((any_old, _)), Some((any_new, _))) = (old.or(new), new.or(old)) else { return };
    let mut head = format!("diff --git {} {}\n", name("a/", any_old), name("b/", any_new));
    match (old, new) {
        (Some((from, (_, before))), Some((to, (_, after)))) => {
            if before != after {
                head += &format!("old mode {}\nnew mode {}\n", mode(*before), mode(*after));
            }
            if from != to {
                head += &format!("rename from {}\nrename to {}\n", name("", from), name("", to));
            }
        }
        (Some((_, (_, before))), None) => head += &format!("deleted file mode {}\n", mode(*before)),
        (None, Some((_, (_, after)))) => head += &format!("new file mode {}\n", mode(*after)),
        (None, None) => {}
    }
    out.extend_from_slice(head.as_bytes());
    let content = |file: Option<(&RelPath, &File)>| file.map(|f| f.1.0.clone()).unwrap_or_default();
    let (before, after) = (content(old), content(new));
    if before == after {
        return;
    }
    let side = |sign: &str, prefix: &str, file: Option<(&RelPath, &File)>| match file {
        Some((path, _)) => format!("{sign} {}\n", name(prefix, path)),
        None => format!("{sign} /dev/null\n"),
    };
    out.extend_from_slice(side("---", "a/", old).as_bytes());
    out.extend_from_slice(side("+++", "b/", new).as_bytes());
    let lines = |content: &[u8]| content.split_inclusive(|b| *b == b'\n').count();
    let range = |count: usize| format!("{},{count}", usize::from(count > 0));
    let (old_range, new_range) = (range(lines(&before)), range(lines(&after)));
    out.extend_from_slice(format!("@@ -{old_range} +{new_range} @@\n").as_bytes());
    for (sign, content) in [(b'-', before), (b'+', after)] {
        for line in content.split_inclusive(|b| *b == b'\n') {
            out.push(sign);
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
}

/// Returns the diff between two trees, in which the files in `origins` are renamed.
fn diff(before: &Tree, after: &Tree, origins: &Origins) -> Vec<u8> {
    let mut out = Vec::new();
    let moved: BTreeSet<&RelPath> = origins.values().collect();
    for path in before.0.keys().chain(after.0.keys()).collect::<BTreeSet<_>>() {
        let old = before.0.get_key_value(path).filter(|_| !moved.contains(path));
        let new = after.0.get_key_value(path);
        match origins.get(path) {
            Some(origin) => section(&mut out, before.0.get_key_value(origin), new),
            None if old != new => section(&mut out, old, new),
            None => {}
        }
    }
    out
}

/// Returns pairs of new and old paths that may be renames because neither path remains in place.
fn origins(before: &Tree, after: &Tree, picks: &[usize]) -> Origins {
    let old: Vec<_> = before.0.keys().collect();
    let mut origins = Origins::new();
    let mut used = BTreeSet::new();
    for (to, pick) in after.0.keys().zip(picks) {
        if let Some(from) = old.get(*pick)
            && *from != to
            && used.insert(*from)
        {
            origins.insert(to.clone(), (*from).clone());
        }
    }
    // A file at the target of a rename must move as well. Otherwise, git would not call it a rename.
    while let Some(to) = origins
        .keys()
        .find(|to| before.0.contains_key(*to) && !origins.values().any(|from| from == *to))
        .cloned()
    {
        origins.remove(&to);
    }
    origins
}

proptest! {
    /// FO-10
    #[test]
    fn a_diff_between_two_trees_turns_one_into_the_other(
        before in trees(),
        after in trees(),
        picks in proptest::collection::vec(0usize..8, 8),
    ) {
        let origins = origins(&before, &after, &picks);
        let diff = diff(&before, &after, &origins);
        if diff.is_empty() {
            return Ok(());
        }
        match parse(&diff) {
            Ok(operations) => prop_assert_eq!(before.apply(&operations), Ok(after)),
            // Only cyclic renames cannot be expressed.
            Err(error) => prop_assert!(
                !origins.is_empty() && error.to_string().contains("these moves form a cycle"),
                "{}\n{}", error, String::from_utf8_lossy(&diff)
            ),
        }
    }

    /// FO-10
    #[test]
    fn truncated_diff_is_rejected_or_applies_only_complete_hunks(
        before in trees(),
        after in trees(),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = diff(&before, &after, &Origins::new());
        if whole.is_empty() {
            return Ok(());
        }
        let operations = parse(&whole).unwrap();
        let (part, rest) = whole.split_at(cut.index(whole.len()));
        // The marker for a missing newline is a separate line, so its removal cannot be detected.
        let last = part.split_inclusive(|b| *b == b'\n').next_back().unwrap_or_default();
        if rest.starts_with(b"\\") || last.starts_with(b"\\") {
            return Ok(());
        }
        for operation in parse(part).unwrap_or_default() {
            let is_of_header = match &operation {
                Operation::Create { content, .. } => content.is_empty(),
                Operation::Delete { expected, .. } => *expected == Some(Digest::of(b"")),
                Operation::Patch { .. }
                | Operation::Edit { .. }
                | Operation::Write { .. }
                | Operation::ChmodDirectory { .. }
                | Operation::MakeDirectory { .. }
                | Operation::RemoveDirectory { .. }
                | Operation::Take { .. }
                | Operation::Link { .. } => false,
                Operation::Rename { .. } | Operation::Copy { .. } | Operation::Chmod { .. } => true,
            };
            prop_assert!(is_of_header || operations.contains(&operation), "{:?}", operation);
        }
    }

    /// FO-10
    #[test]
    fn parser_never_panics_or_reports_a_position_outside_the_input(
        before in trees(),
        after in trees(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        noise in proptest::collection::vec((any::<prop::sample::Index>(), NOISE), 0..4),
    ) {
        let mut input = diff(&before, &after, &Origins::new());
        for (at, byte) in &edits {
            if !input.is_empty() {
                let at = at.index(input.len());
                input[at] = *byte;
            }
        }
        for (at, text) in &noise {
            let at = at.index(input.len() + 1);
            input.splice(at..at, text.bytes());
        }
        if let Err(error) = parse(&input)
            && let Some(place) = error.place
        {
            let lines: Vec<&[u8]> = input.split_inclusive(|b| *b == b'\n').collect();
            let line = usize::try_from(place.line).unwrap();
            let length = lines.get(line - 1).map_or(1, |line| line.len() + 1);
            prop_assert!(line <= lines.len() + 1, "{}", error);
            prop_assert!((1..=length).contains(&usize::try_from(place.column).unwrap()), "{}", error);
        }
    }
}
