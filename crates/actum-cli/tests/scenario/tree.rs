//! Files, links and directories of a workspace, excluding `.actum`.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Content of a directory. Modes are included only where they matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree(BTreeMap<PathBuf, Node>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory { mode: Option<u32> },
    File { content: Content, executable: bool, mode: Option<u32> },
    Link(PathBuf),
}

#[derive(Clone, PartialEq, Eq)]
struct Content(Vec<u8>);

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl Tree {
    /// Reads the files of a scenario in `directory`, with the modes that the file `modes` lists for `side`. From the
    /// fixture's own modes only the executable bit is used, because git keeps no more.
    pub(crate) fn of_fixture(directory: &Path, modes: &Path, side: &str) -> Self {
        let mut tree = Self(BTreeMap::new());
        if directory.exists() {
            collect(directory, Path::new(""), &mut tree.0);
        }
        let mut tree = tree.with_modes_where(|_| false);
        let modes = if modes.exists() { fs::read_to_string(modes).unwrap() } else { String::new() };
        for line in modes.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [line_side, mode, path] = fields[..] else {
                panic!("modes: `{line}` has not 3 fields")
            };
            let mode = u32::from_str_radix(mode, 8).expect("a mode is octal");
            if line_side == side {
                set_mode(&mut tree.0, path, mode);
            }
        }
        tree
    }

    /// Reads a workspace, including modes where `expected` has them.
    pub(crate) fn of_workspace(directory: &Path, expected: &Self) -> Self {
        let mut nodes = BTreeMap::new();
        collect(directory, Path::new(""), &mut nodes);
        Self(nodes).with_modes_where(|path| match expected.0.get(path) {
            Some(Node::Directory { mode } | Node::File { mode, .. }) => mode.is_some(),
            Some(Node::Link(_)) | None => false,
        })
    }

    /// Writes the tree to `directory`.
    pub(crate) fn write(&self, directory: &Path) {
        for (path, node) in &self.0 {
            let path = directory.join(path);
            let mode = match node {
                Node::Directory { mode } => {
                    fs::create_dir(&path).unwrap();
                    mode.unwrap_or(0o755)
                }
                Node::File { content, executable, mode } => {
                    fs::write(&path, &content.0).unwrap();
                    mode.unwrap_or(if *executable { 0o755 } else { 0o644 })
                }
                Node::Link(target) => {
                    symlink(target, &path).unwrap();
                    continue;
                }
            };
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
    }

    fn with_modes_where(mut self, matters: impl Fn(&Path) -> bool) -> Self {
        for (path, node) in &mut self.0 {
            match node {
                Node::Directory { mode } | Node::File { mode, .. } if !matters(path) => {
                    *mode = None;
                }
                Node::Directory { .. } | Node::File { .. } | Node::Link(_) => {}
            }
        }
        self
    }
}

fn set_mode(nodes: &mut BTreeMap<PathBuf, Node>, path: &str, wanted: u32) {
    if let Some(directory) = path.strip_suffix('/') {
        nodes.insert(directory.into(), Node::Directory { mode: Some(wanted) });
        return;
    }
    match nodes.get_mut(Path::new(path)) {
        Some(Node::File { mode, executable, .. }) => {
            *mode = Some(wanted);
            *executable = wanted & 0o100 != 0;
        }
        found => panic!("modes: `{path}` is {found:?}"),
    }
}

fn collect(root: &Path, below: &Path, nodes: &mut BTreeMap<PathBuf, Node>) {
    for entry in fs::read_dir(root.join(below)).unwrap().map(Result::unwrap) {
        let (path, kind) = (below.join(entry.file_name()), entry.file_type().unwrap());
        if path == Path::new(".actum") {
            continue;
        }
        let found = entry.metadata().unwrap().permissions().mode() & 0o7777;
        let mode = Some(found);
        let node = if kind.is_dir() {
            collect(root, &path, nodes);
            Node::Directory { mode }
        } else if kind.is_symlink() {
            Node::Link(fs::read_link(entry.path()).unwrap())
        } else {
            let content = Content(fs::read(entry.path()).unwrap());
            Node::File { content, executable: found & 0o100 != 0, mode }
        };
        nodes.insert(path, node);
    }
}
