//! Content of a directory, and the result of running a command in a copy of it.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Mode and content by path. The content of a link is its target.
pub(crate) type Tree = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

/// Returns all files in a directory, except the state of actum.
pub(crate) fn tree(root: &Path) -> Tree {
    fn walk(at: &Path, root: &Path, found: &mut Tree) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".actum") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_file() {
                Some(fs::read(&path).unwrap())
            } else if metadata.is_symlink() {
                Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else {
                None
            };
            let name = path.strip_prefix(root).unwrap().to_owned();
            found.insert(name, (metadata.permissions().mode() & 0o7777, content));
            if metadata.is_dir() {
                walk(&path, root, found);
            }
        }
    }
    let mut found = Tree::new();
    walk(root, root, &mut found);
    found
}

/// Creates a script at this path, runs it directly on a copy of the tree, and returns the resulting files.
pub(crate) fn plain_run(root: &Path, script: &str) -> Tree {
    let held = root.with_file_name("held");
    fs::rename(root, &held).unwrap();
    let copied = Command::new("cp").arg("-a").arg(&held).arg(root).status().unwrap();
    assert!(copied.success());
    let home = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask 022; {script}")]).current_dir(root);
    shell.env_clear().env("HOME", home.path()).env("TMPDIR", home.path());
    shell.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    assert!(shell.status().unwrap().success(), "{script}");
    let found = tree(root);
    fs::remove_dir_all(root).unwrap();
    fs::rename(&held, root).unwrap();
    found
}
