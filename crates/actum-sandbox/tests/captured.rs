//! The changes that a view reports lead from the original directory to the final state that the command saw, whatever it did.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use actum_sandbox::{
    Change, Ended, Helper, HostReport, Layer, Node, Outcome, SandboxPolicy, StagedLayer, Tier,
    View, Violation,
};
use proptest::prelude::*;

/// A directory tree, with the entry at each path.
type Tree = BTreeMap<PathBuf, Seen>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    File(Vec<u8>, u32),
    Directory(u32),
    Symlink(PathBuf),
}

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(root.join(&directory)).unwrap() {
            let path = directory.join(entry.unwrap().file_name());
            let metadata = fs::symlink_metadata(root.join(&path)).unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let seen = if metadata.is_symlink() {
                Seen::Symlink(fs::read_link(root.join(&path)).unwrap())
            } else if metadata.is_dir() {
                left.push(path.clone());
                Seen::Directory(mode)
            } else {
                Seen::File(fs::read(root.join(&path)).unwrap(), mode)
            };
            found.insert(path, seen);
        }
    }
    found
}

/// Applies the changes to the tree. Each change must start from the current content.
fn changed(mut tree: Tree, changes: &[Change], layer: &Layer) -> Tree {
    for Change { path, before, after, is_disturbed } in changes {
        assert!(!is_disturbed, "nobody else was there: {}", path.display());
        assert_eq!(tree.get(path).map(node), *before, "{}", path.display());
        let seen = after.as_ref().map(|after| match after {
            Node::File { mode, .. } => {
                let mut content = Vec::new();
                layer.open(path).unwrap().read_to_end(&mut content).unwrap();
                Seen::File(content, *mode)
            }
            Node::Directory { mode } => Seen::Directory(*mode),
            Node::Symlink { target } => Seen::Symlink(target.clone()),
            Node::Special { .. } => panic!("nothing special was made"),
        });
        match seen {
            Some(seen) => tree.insert(path.clone(), seen),
            None => {
                assert!(!tree.keys().any(|it| it != path && it.starts_with(path)));
                tree.remove(path)
            }
        };
    }
    tree
}

fn node(seen: &Seen) -> Node {
    match seen {
        Seen::File(content, mode) => Node::File { mode: *mode, size: content.len() as u64 },
        Seen::Directory(mode) => Node::Directory { mode: *mode },
        Seen::Symlink(target) => Node::Symlink { target: target.clone() },
    }
}

fn run(view: View, script: &str, out: &Path) -> Outcome {
    run_with(view, script, out, Vec::new())
}

fn run_with(view: View, script: &str, out: &Path, deny_write: Vec<PathBuf>) -> Outcome {
    let system: Vec<PathBuf> = ["/usr", "/bin", "/lib", "/lib64"]
        .into_iter()
        .map(PathBuf::from)
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    let cwd = view.base.clone();
    let policy = SandboxPolicy {
        read: system.clone(),
        exec: system,
        write: vec![out.to_owned()],
        deny_write,
        view: Some(view),
        floor: Tier::N,
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        ..SandboxPolicy::new(cwd)
    };
    let helper = Helper::at(env!("CARGO_BIN_EXE_sandbox-inside"));
    let command = ["/bin/sh", "-c", script].map(OsString::from);
    let plan = policy.plan(&HostReport::probe(&helper)).unwrap();
    plan.spawn(&helper, &command).unwrap().wait().unwrap()
}

struct Grounds {
    _directory: tempfile::TempDir,
    base: PathBuf,
    out: PathBuf,
    staged: PathBuf,
}

/// Creates a base directory with a few files, and a directory outside the view for a copy of the final state.
fn grounds() -> Grounds {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (base, out, staged) = (root.join("base"), root.join("out"), root.join("staged"));
    for made in ["base/a/b", "base/c", "out"] {
        fs::create_dir_all(root.join(made)).unwrap();
    }
    for file in ["a/x", "a/b/y", "c/z", "w"] {
        fs::write(base.join(file), format!("{file}\n")).unwrap();
    }
    std::os::unix::fs::symlink("w", base.join("l")).unwrap();
    Grounds { _directory: directory, base, out, staged }
}

/// Generates one step of a command on paths that mostly do not exist yet.
fn step() -> impl Strategy<Value = String> {
    let path = || {
        let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just("w"), Just("x"), Just("l")];
        prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    };
    prop_oneof![
        path().prop_map(|path| format!("echo new > {path}")),
        path().prop_map(|path| format!("echo more >> {path}")),
        path().prop_map(|path| format!("mkdir -p {path}")),
        path().prop_map(|path| format!("rm -rf {path}")),
        path().prop_map(|path| format!("chmod 700 {path}")),
        path().prop_map(|path| format!("touch {path}")),
        (path(), path()).prop_map(|(from, to)| format!("mv -T {from} {to}")),
        (path(), path()).prop_map(|(from, to)| format!("ln -sfT {from} {to}")),
        (path(), path()).prop_map(|(from, to)| format!("ln -f {from} {to}")),
        (path(), path()).prop_map(|(from, to)| format!("cp -a {from} {to}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// AA-10
    #[test]
    fn captured_changes_reproduce_the_tree_the_command_saw(
        steps in prop::collection::vec(step(), 1..12),
    ) {
        let Grounds { _directory, base, out, .. } = grounds();
        let before = tree(&base);
        let view = View { base: base.clone(), staged: None, caches: Vec::new(), before: None, upper: None, max: 1 << 20 };
        let script = format!("({}) 2>/dev/null; cp -a . {}/end", steps.join("; "), out.display());
        let outcome = run(view, &script, &out);
        prop_assert_eq!(outcome.ended, Some(Ended::Code(0)), "{}: {}", script, String::from_utf8_lossy(&outcome.stderr));
        let layer = outcome.captured.unwrap();
        let changes = layer.changes().unwrap();
        prop_assert_eq!(tree(&base), before.clone(), "the base was touched: {}", script);
        let reported = changed(before, &changes, &layer);
        prop_assert_eq!(reported, tree(&out.join("end")), "{}", script);
        let real = changes.iter().all(|change| change.before != change.after
            || matches!(change.after, Some(Node::File { .. })));
        prop_assert!(real, "{:?}", changes);
    }
}

/// AA-10
#[test]
fn captures_only_changes_made_on_top_of_the_staged_layer() {
    let Grounds { _directory, base, out, staged } = grounds();
    let before = tree(&base);
    let layer = StagedLayer::create(&staged, &base).unwrap();
    layer.file(Path::new("a/x"), &b"staged\n"[..], 0o755).unwrap();
    layer.file(Path::new("new/deep/file"), &b"new\n"[..], 0o600).unwrap();
    layer.delete(Path::new("c")).unwrap();
    layer.delete(Path::new("a/b")).unwrap();
    layer.directory(Path::new("a/b"), 0o750).unwrap();
    layer.symlink(Path::new("s"), Path::new("a/x")).unwrap();
    let view = View {
        base: base.clone(),
        staged: Some(staged.clone()),
        caches: Vec::new(),
        before: None,
        upper: None,
        max: 1 << 20,
    };
    let script =
        format!("cp -a . {}/seen; rm a/x; mkdir c; echo z > c/z; echo changed > w", out.display());
    let outcome = run(view, &script, &out);
    assert_eq!(outcome.ended, Some(Ended::Code(0)), "{outcome:?}");
    let seen = tree(&out.join("seen"));
    let at = |path: &str| seen.get(Path::new(path)).cloned();
    assert_eq!(at("a/x"), Some(Seen::File(b"staged\n".to_vec(), 0o755)));
    assert_eq!(at("new/deep/file"), Some(Seen::File(b"new\n".to_vec(), 0o600)));
    assert_eq!((at("c"), at("c/z"), at("a/b/y")), (None, None, None));
    assert_eq!(at("a/b"), Some(Seen::Directory(0o750)));
    assert_eq!(at("s"), Some(Seen::Symlink("a/x".into())));
    let captured = outcome.captured.unwrap();
    let changes = captured.changes().unwrap();
    // The command starts with the staged changes in place.
    let reported = changed(seen, &changes, &captured);
    let paths: Vec<_> = changes.iter().map(|change| change.path.display().to_string()).collect();
    assert_eq!(paths, ["a/x", "c", "c/z", "w"]);
    assert_eq!(reported.get(Path::new("c/z")), Some(&Seen::File(b"z\n".to_vec(), 0o644)));
    assert_eq!(tree(&base), before);
}

/// AA-10
#[test]
fn base_is_visible_beside_the_view_unchanged_and_read_only() {
    let Grounds { _directory, base, out, staged } = grounds();
    let before = tree(&base);
    let layer = StagedLayer::create(&staged, &base).unwrap();
    layer.file(Path::new("w"), &b"staged\n"[..], 0o644).unwrap();
    layer.delete(Path::new("a")).unwrap();
    let place = Some(PathBuf::from("/actum/before"));
    let view = View {
        base: base.clone(),
        staged: Some(staged.clone()),
        caches: Vec::new(),
        before: place,
        upper: None,
        max: 1 << 20,
    };
    let script = format!(
        "cp -a /actum/before {}/seen; echo x > w; cat w /actum/before/w; \
         (echo x > /actum/before/w) 2>/dev/null || echo refused; \
         (rm -r /actum/before/a) 2>/dev/null || echo refused",
        out.display()
    );
    let outcome = run(view, &script, &out);
    let stdout = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(stdout, "x\nw\nrefused\nrefused\n", "{outcome:?}");
    assert_eq!(tree(&out.join("seen")), before);
    assert_eq!(tree(&base), before);
    let captured = outcome.captured.unwrap();
    let paths = captured.changes().unwrap().into_iter().map(|change| change.path);
    assert_eq!(paths.collect::<Vec<_>>(), [PathBuf::from("w")]);
    let mut old = String::new();
    captured.open_before(Path::new("w")).unwrap().read_to_string(&mut old).unwrap();
    assert_eq!(old, "staged\n");
    // A file whose removal is staged is missing from the view, although it still exists in the base.
    for gone in ["a/x", "a/b/y", "none", "w/x"] {
        assert!(captured.open_before(Path::new(gone)).is_err(), "{gone}");
    }
}

/// FE-12
#[test]
fn captured_changes_respect_the_size_limit() {
    let Grounds { _directory, base, out, .. } = grounds();
    let view =
        View { base, staged: None, caches: Vec::new(), before: None, upper: None, max: 1 << 20 };
    let outcome = run(view, "head -c 3000000 /dev/zero > big; stat -c %s big", &out);
    let reported = String::from_utf8_lossy(&outcome.stdout).trim().parse::<u64>().unwrap();
    assert!(reported <= 1 << 20, "{reported}");
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("No space left"), "{outcome:?}");
}

/// D-4
#[test]
fn staging_outside_the_layer_is_rejected() {
    let Grounds { _directory, base, staged, .. } = grounds();
    let layer = StagedLayer::create(&staged, &base).unwrap();
    for path in ["../x", "/x", "a/../../x", "", "."] {
        let refused = layer.file(Path::new(path), &b""[..], 0o644).unwrap_err().to_string();
        assert!(refused.contains("is not a valid path in a view"), "{path}: {refused}");
    }
    layer.symlink(Path::new("out"), Path::new("/")).unwrap();
    assert!(layer.file(Path::new("out/tmp/x"), &b""[..], 0o644).is_err());
    assert!(StagedLayer::create(&staged, &base).is_err(), "it is there already");
}

/// AA-10
#[test]
fn nested_caches_and_protected_paths_leave_the_base_unchanged() {
    let Grounds { _directory, base, out, .. } = grounds();
    fs::create_dir_all(base.join("a/b/cache")).unwrap();
    fs::create_dir_all(base.join("c/d/.git")).unwrap();
    let before = tree(&base);
    let caches = vec![base.join("a/b/cache")];
    let view =
        View { base: base.clone(), staged: None, caches, before: None, upper: None, max: 1 << 20 };
    let kept = vec![base.join("c/d/.git"), base.join("c/absent")];
    let script = "echo pwned > a/x; echo pwned > a/new; echo pwned > c/d/new; mv a moved; \
                  echo kept > c/d/.git/config; mkdir c/absent; echo cached > moved/b/cache/f";
    let outcome = run_with(view, script, &out, kept.clone());
    let mut expected = before;
    let cached = Seen::File(b"cached\n".to_vec(), 0o644);
    expected.insert("a/b/cache/f".into(), cached);
    let mut after = tree(&base);
    // A cache moves along with the directory that contains it.
    after.entry("a/b/cache/f".into()).or_insert(Seen::File(b"cached\n".to_vec(), 0o644));
    assert_eq!(after, expected, "{outcome:?}");
    assert_eq!(outcome.violated, [Violation::Made(kept[1].clone())]);
}
