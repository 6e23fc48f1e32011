//! Tree of files that can be read from a package or workspace, written, and compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;

use actum_core::path::Quoted;
use actum_workspace::STATE_DIRECTORY;

/// Maximum number of differences that are reported.
const SHOWN_MAX: usize = 4;
/// The only permission bit that git stores.
const EXECUTABLE: u32 = 0o100;
/// Entries in a workspace root that are not part of its files.
const STATE: [&str; 2] = [".git", STATE_DIRECTORY];

/// Files of a tree, by their paths relative to the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tree {
    pub(super) files: BTreeMap<Vec<u8>, Leaf>,
    /// Permission bits of the directories.
    directories: BTreeMap<Vec<u8>, u32>,
    /// Entries that are neither files nor directories.
    others: BTreeSet<Vec<u8>>,
}

/// File with its content and mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) content: Rc<[u8]>,
    mode: u32,
}

/// How precisely file modes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modes {
    /// Compares only whether a file is executable, which is all that a diff records.
    Executable,
    /// Compares all permission bits, including those of directories.
    All,
}

/// Entries of a package that git cannot store, or that actum does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TakenOut {
    pub(super) links: usize,
    pub(super) empty_directories: usize,
}

impl Leaf {
    /// Returns the file with different content.
    pub(super) fn with_content(&self, content: Vec<u8>) -> Self {
        Self { content: content.into(), mode: self.mode }
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode & EXECUTABLE != 0
    }
}

impl Tree {
    /// Reads everything below `root`, except the state of git and actum.
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_below(root, &[])?;
        Ok(tree)
    }

    fn read_below(&mut self, root: &Path, at: &[u8]) -> io::Result<()> {
        for entry in std::fs::read_dir(root.join(OsStr::from_bytes(at)))? {
            let name = entry?.file_name().into_vec();
            if at.is_empty() && STATE.iter().any(|state| state.as_bytes() == name) {
                continue;
            }
            let path = if at.is_empty() { name } else { [at, b"/", &name].concat() };
            let full = root.join(OsStr::from_bytes(&path));
            let found = std::fs::symlink_metadata(&full)?;
            let mode = found.mode() & 0o7777;
            if found.is_dir() {
                self.directories.insert(path.clone(), mode);
                self.read_below(root, &path)?;
            } else if found.is_file() {
                let content = std::fs::read(&full)?.into();
                self.files.insert(path, Leaf { content, mode });
            } else {
                self.others.insert(path);
            }
        }
        Ok(())
    }

    /// Removes everything except files and the directories that contain them.
    pub(super) fn take_out(&mut self) -> TakenOut {
        let links = std::mem::take(&mut self.others).len();
        let leading = leading(self.files.keys());
        let directories = self.directories.len();
        self.directories.retain(|path, _| leading.contains(path));
        TakenOut { links, empty_directories: directories - self.directories.len() }
    }

    /// Creates the directory `root` and writes the tree into it.
    pub(super) fn write(&self, root: &Path) -> io::Result<()> {
        std::fs::create_dir(root)?;
        for path in leading(self.files.keys()) {
            std::fs::create_dir(root.join(OsStr::from_bytes(&path)))?;
        }
        for (path, Leaf { content, mode }) in &self.files {
            let mut file = File::create_new(root.join(OsStr::from_bytes(path)))?;
            file.write_all(content)?;
            // The owner must be able to read a file for the comparison.
            file.set_permissions(Permissions::from_mode(mode | 0o600))?;
        }
        Ok(())
    }

    pub(super) fn put(&mut self, path: &[u8], leaf: Leaf) {
        self.files.insert(path.to_vec(), leaf);
    }

    /// Removes the entry at a path, and everything below it.
    pub(super) fn forget(&mut self, path: &[u8]) {
        let is_below = |other: &[u8]| {
            other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.files.retain(|other, _| !is_below(other));
        self.directories.retain(|other, _| !is_below(other));
    }

    pub(super) fn remove(&mut self, path: &[u8]) {
        self.files.remove(path);
    }

    /// Whether no parent of `path` is a file, and `path` itself is not a directory.
    pub(super) fn has_room_for(&self, path: &[u8]) -> bool {
        let on_the_way = leading([path.to_vec()].iter());
        let below = [path, b"/"].concat();
        !on_the_way.iter().any(|directory| self.files.contains_key(directory))
            && !self.files.range(below.clone()..).next().is_some_and(|(p, _)| p.starts_with(&below))
    }

    /// Describes the differences between `self` and `wanted`. Returns an empty list if they are equal.
    pub(super) fn differences(&self, wanted: &Self, modes: Modes) -> Vec<String> {
        let mut list = Vec::new();
        for (path, leaf) in &self.files {
            match wanted.files.get(path) {
                None => list.push(format!("`{}` should not be there", Quoted(path))),
                Some(wanted) => {
                    let what = leaf.difference(wanted, modes);
                    list.extend(what.map(|what| format!("`{}` {what}", Quoted(path))));
                }
            }
        }
        let missing = wanted.files.keys().filter(|path| !self.files.contains_key(*path));
        list.extend(missing.map(|path| format!("`{}` is missing", Quoted(path))));
        let wanted_directories = match modes {
            // The directories that git creates are determined by the files.
            Modes::Executable => leading(wanted.files.keys()),
            Modes::All => wanted.directories.keys().cloned().collect(),
        };
        for (path, mode) in &self.directories {
            if !wanted_directories.contains(path) {
                list.push(format!("the directory `{}` should not be there", Quoted(path)));
            } else if modes == Modes::All && wanted.directories.get(path) != Some(mode) {
                list.push(format!("the directory `{}` has mode {mode:o}", Quoted(path)));
            }
        }
        let missing =
            wanted_directories.iter().filter(|path| !self.directories.contains_key(*path));
        list.extend(missing.map(|path| format!("the directory `{}` is missing", Quoted(path))));
        let others = self.others.iter().filter(|path| !wanted.others.contains(*path));
        list.extend(others.map(|path| format!("`{}` is no file", Quoted(path))));
        list
    }

    /// Returns an error with the first differences if the tree is not equal to `wanted`.
    pub(super) fn check_same(&self, wanted: &Self, modes: Modes) -> Result<(), String> {
        let differences = self.differences(wanted, modes);
        if differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(SHOWN_MAX);
        let mut text = differences.into_iter().take(SHOWN_MAX).collect::<Vec<_>>().join("; ");
        if more > 0 {
            text += &format!("; and {more} more");
        }
        Err(text)
    }
}

impl Leaf {
    fn difference(&self, wanted: &Self, modes: Modes) -> Option<String> {
        if self.content != wanted.content {
            let at = self.content.iter().zip(&*wanted.content).take_while(|(a, b)| a == b).count();
            return Some(format!("differs from byte {at} on"));
        }
        match modes {
            Modes::Executable if self.is_executable() == wanted.is_executable() => None,
            Modes::All if self.mode == wanted.mode => None,
            Modes::Executable | Modes::All => {
                Some(format!("has mode {:o}, and should have {:o}", self.mode, wanted.mode))
            }
        }
    }
}

/// Returns the parent directories of the files, with outer directories first.
fn leading<'a>(files: impl Iterator<Item = &'a Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let mut directories = BTreeSet::new();
    for path in files {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        directories.extend(slashes.filter_map(|(at, _)| path.get(..at).map(<[u8]>::to_vec)));
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Tree {
        /// Creates a tree from these files, each with content and mode.
        pub(in super::super) fn new(files: &[(&str, &[u8], u32)]) -> Self {
            let mut tree = Self::default();
            for (path, content, mode) in files {
                tree.put(path.as_bytes(), Leaf { content: (*content).into(), mode: *mode });
            }
            tree
        }
    }

    const NOTHING: &[u8] = b"";

    #[test]
    fn written_tree_round_trips() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        let written =
            Tree::new(&[("a/b/c", b"1", 0o644), ("a/run", b"2", 0o755), ("d", NOTHING, 0o600)]);
        written.write(&root).unwrap();
        let read = Tree::read(&root).unwrap();
        assert_eq!(read.check_same(&written, Modes::Executable), Ok(()));
        assert_eq!(read.files, written.files);
    }

    #[test]
    fn links_and_empty_directories_are_excluded_and_counted() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("empty/emptier")).unwrap();
        std::fs::create_dir(root.path().join("full")).unwrap();
        std::fs::write(root.path().join("full/file"), "").unwrap();
        std::os::unix::fs::symlink("full", root.path().join("link")).unwrap();
        let mut tree = Tree::read(root.path()).unwrap();
        assert_eq!(tree.take_out(), TakenOut { links: 1, empty_directories: 2 });
        assert_eq!(tree.take_out(), TakenOut::default());
        assert_eq!(tree.directories.keys().collect::<Vec<_>>(), [b"full"]);
    }

    #[test]
    fn every_type_of_difference_is_reported() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        let files: [(&str, &[u8], u32); 4] = [
            ("a", b"one", 0o644),
            ("b", NOTHING, 0o755),
            ("c", NOTHING, 0o644),
            ("e/f", NOTHING, 0o644),
        ];
        Tree::new(&files).write(&root).unwrap();
        let found = Tree::read(&root).unwrap();
        let files: [(&str, &[u8], u32); 4] = [
            ("a", b"ore", 0o644),
            ("b", NOTHING, 0o644),
            ("d/g", NOTHING, 0o644),
            ("c", NOTHING, 0o604),
        ];
        assert_eq!(
            found.differences(&Tree::new(&files), Modes::Executable),
            [
                "`a` differs from byte 1 on",
                "`b` has mode 755, and should have 644",
                "`e/f` should not be there",
                "`d/g` is missing",
                "the directory `e` should not be there",
                "the directory `d` is missing",
            ]
        );
        let mut narrower = found.clone();
        narrower.directories.insert(b"e".to_vec(), 0o700);
        assert!(found.check_same(&narrower, Modes::Executable).is_ok());
        assert!(found.check_same(&narrower, Modes::All).is_err());
    }

    #[test]
    fn no_path_fits_below_a_file_or_at_a_directory() {
        let tree = Tree::new(&[("a/b", NOTHING, 0o644)]);
        let room = |path: &str| tree.has_room_for(path.as_bytes());
        assert_eq!(["a", "a/b/c", "a/c", "a-", "b"].map(room), [false, false, true, true, true]);
    }
}
