//! Commits and reverts random changes of random trees, and compares the results with git.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::repo::{Repo, Step};

type Files = BTreeMap<String, (Vec<u8>, bool)>;

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "a.b", "a-b", "ü", "c d"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn file() -> impl Strategy<Value = (Vec<u8>, bool)> {
    let text =
        prop::collection::vec(prop::sample::select(vec![&b"x\n"[..], b"y\n", b"\0", b"z"]), 0..4);
    (text.prop_map(|parts| parts.concat()), any::<bool>())
}

/// Generates files such that none is below another.
fn files() -> impl Strategy<Value = Files> {
    prop::collection::btree_map(path(), file(), 1..8).prop_map(|files| {
        let names: BTreeSet<String> = files.keys().cloned().collect();
        let below = |name: &str| names.iter().any(|other| name.starts_with(&format!("{other}/")));
        files.into_iter().filter(|(name, _)| !below(name)).collect()
    })
}

fn steps<'a>(old: &'a Files, new: &'a Files) -> Vec<Step<'a>> {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths.into_iter().filter(|path| old.get(*path) != new.get(*path));
    changed
        .map(|path| (path.as_str(), new.get(path).map(|(bytes, x)| (bytes.as_slice(), *x))))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// EX-17: any change is committed as git would commit it, and its revert restores the previous tree.
    #[test]
    fn reverting_a_commit_restores_the_previous_tree(old in files(), new in files()) {
        let repo = Repo::with(&[]);
        let empty = Files::new();
        repo.apply(&steps(&empty, &old));
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "old"]);
        let before = repo.tree();
        let steps = steps(&old, &new);
        prop_assume!(!steps.is_empty());
        let id = repo.run(&steps);
        // Committing the entire work tree with git itself would produce the same tree.
        repo.git(&["diff-index", "--quiet", "--cached", "HEAD"]);
        prop_assert_eq!(repo.status(), "");
        repo.git(&["read-tree", "--empty"]);
        repo.git(&["add", "-A"]);
        prop_assert_eq!(repo.git(&["write-tree"]).trim().to_owned(), repo.tree());
        let revert = repo.revert(id).unwrap();
        repo.commit_revert(&revert);
        prop_assert_eq!(repo.tree(), before);
        prop_assert_eq!(repo.status(), "");
        repo.git(&["read-tree", "HEAD"]);
        repo.git(&["update-index", "-q", "--refresh"]);
        repo.git(&["diff-index", "--quiet", "HEAD"]);
        prop_assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
    }
}
