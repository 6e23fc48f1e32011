//! Steps of a worker, derived from a seed. Every process that knows the seed can compute each version of the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use actum_core::{Digest, FileMode, RelPath};
use actum_edit::{EmptyParents, LineHunk, ModeChange, Operation};

use super::Failure;
use super::random::Random;

/// Regular files and symbolic links of one version of the tree, by path. Its directories are the parents of these paths.
pub(super) type Version = BTreeMap<String, Leaf>;

/// A regular file, or a symbolic link whose content is its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) content: Rc<[u8]>,
    /// Permission bits, or [`LINK`].
    pub(super) mode: u32,
}

/// Mode of a symbolic link.
pub(super) const LINK: u32 = 0o120_000;

/// Work that leads from one version to the next.
#[derive(Debug)]
pub(super) enum Work {
    Apply(Vec<Operation>),
    /// Undoes the previous step.
    Undo,
}

/// All versions of the tree, computed on demand.
pub(super) struct Plan {
    seed: u64,
    versions: Vec<Version>,
}

/// File that contains the version number of a tree, so that two versions are equal only if one of them was undone.
const STAMP: &str = "version.txt";
const FILES_MIN: usize = 20;
const FILES_MAX: usize = 40;
/// File size in bytes above which the journal keeps the old content next to itself instead of storing it.
const LARGE_BYTES: usize = 1 << 20;
const MODES: [u32; 4] = [0o644, 0o600, 0o755, 0o444];

impl Plan {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::part(seed, 0);
        let mut draft = Draft { step: 0, files: Version::new(), operations: Vec::new() };
        draft.insert(STAMP.to_owned(), "step 0\n".into(), 0o644);
        while draft.files.len() < (FILES_MIN + FILES_MAX) / 2 {
            let Some(path) = draft.free_path(&mut random) else { continue };
            let content = text(&mut random, 0, &path);
            draft.insert(path, content, *random.pick(&MODES));
        }
        let content = large_text(&mut random, 0);
        draft.insert("large.txt".to_owned(), content, 0o644);
        Self { seed, versions: vec![draft.files] }
    }

    /// Returns the tree after step number `step`; step 0 is the tree before the first one.
    pub(super) fn version(&mut self, step: usize) -> Result<&Version, Failure> {
        while self.versions.len() <= step {
            let (_, version) = self.step(self.versions.len())?;
            self.versions.push(version);
        }
        Ok(&self.versions[step])
    }

    /// Returns the work of step number `step`, counted from 1.
    pub(super) fn work(&mut self, step: usize) -> Result<Work, Failure> {
        self.version(step - 1)?;
        Ok(self.step(step)?.0)
    }

    /// Returns the last version up to `newest` that equals `tree`.
    pub(super) fn newest_that(
        &mut self,
        newest: usize,
        is: impl Fn(&Version) -> bool,
    ) -> Result<Option<usize>, Failure> {
        self.version(newest)?;
        Ok((0..=newest).rev().find(|&step| is(&self.versions[step])))
    }

    fn step(&self, step: usize) -> Result<(Work, Version), Failure> {
        let mut random = Random::part(self.seed, step as u64);
        if step >= 2 && random.once_in(6) {
            return Ok((Work::Undo, self.versions[step - 2].clone()));
        }
        let files = self.versions[step - 1].clone();
        let mut draft = Draft { step, files, operations: Vec::new() };
        draft.write(STAMP, format!("step {step}\n").into_bytes())?;
        for _ in 0..8 + random.below(16) {
            draft.change(&mut random)?;
        }
        if random.once_in(6) {
            draft.change_large(&mut random)?;
        }
        Ok((Work::Apply(draft.operations), draft.files))
    }
}

/// Returns the parent directories of all files in a version.
pub(super) fn directories(version: &Version) -> BTreeSet<&str> {
    version.keys().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at])).collect()
}

/// Version under construction, and the operations that create it from the previous one.
struct Draft {
    step: usize,
    files: Version,
    operations: Vec<Operation>,
}

impl Draft {
    fn change(&mut self, random: &mut Random) -> Result<(), Failure> {
        let kind = match random.below(23) {
            20..=22 => return self.link(random),
            12..=14 if self.files.len() <= FILES_MIN => 10,
            9..=11 if self.files.len() >= FILES_MAX => 12,
            kind => kind,
        };
        let small = |(path, leaf): (&String, &Leaf)| {
            (path != STAMP && leaf.content.len() <= LARGE_BYTES).then(|| path.clone())
        };
        let small: Vec<String> = self.files.iter().filter_map(small).collect();
        let path = random.pick(&small).clone();
        let is_link = self.files[&path].mode == LINK;
        match kind {
            0..=8 | 18 if is_link => self.retarget(random, &path),
            0..=4 => {
                let content = text(random, self.step, &path);
                self.write(&path, content)
            }
            5..=8 => self.patch(random, &path),
            9..=11 => {
                let Some(path) = self.free_path(random) else { return Ok(()) };
                let mode = *random.pick(&MODES);
                let content = text(random, self.step, &path);
                self.operations.push(Operation::Create {
                    path: rel_path(&path)?,
                    content: content.clone(),
                    mode: Some(ModeChange::Exact(FileMode::new(mode))),
                });
                self.insert(path, content, mode);
                Ok(())
            }
            12..=14 => {
                self.files.remove(&path);
                self.operations.push(Operation::Delete {
                    path: rel_path(&path)?,
                    expected: None,
                    parents: EmptyParents::Remove,
                });
                Ok(())
            }
            15..=17 => self.rename(random, &path),
            18 => self.chmod(random, &path),
            _ => {
                let Some(to) = self.free_path(random) else { return Ok(()) };
                let (from, copy) = (rel_path(&path)?, self.files[&path].clone());
                self.operations.push(Operation::Copy { from, to: rel_path(&to)? });
                self.files.insert(to, copy);
                Ok(())
            }
        }
    }

    /// Creates a symbolic link, whose target may be too long to fit into an inode.
    fn link(&mut self, random: &mut Random) -> Result<(), Failure> {
        let Some(path) = self.free_path(random).filter(|_| self.files.len() < FILES_MAX) else {
            return Ok(());
        };
        let target = target(random, self.step);
        self.operations.push(Operation::Link {
            path: rel_path(&path)?,
            target: target.clone(),
            expected: None,
        });
        self.insert(path, target, LINK);
        Ok(())
    }

    fn retarget(&mut self, random: &mut Random, path: &str) -> Result<(), Failure> {
        let target = target(random, self.step);
        let expected = Some(Digest::of(&self.files[path].content));
        self.operations.push(Operation::Link {
            path: rel_path(path)?,
            target: target.clone(),
            expected,
        });
        self.insert(path.to_owned(), target, LINK);
        Ok(())
    }

    fn change_large(&mut self, random: &mut Random) -> Result<(), Failure> {
        let large = self.files.iter().find(|(_, leaf)| leaf.content.len() > LARGE_BYTES);
        let Some(path) = large.map(|(path, _)| path.clone()) else { return Ok(()) };
        match random.below(6) {
            0 | 1 => {
                let content = large_text(random, self.step);
                self.write(&path, content)
            }
            2 | 3 => self.patch(random, &path),
            4 => self.rename(random, &path),
            _ => self.chmod(random, &path),
        }
    }

    fn write(&mut self, path: &str, content: Vec<u8>) -> Result<(), Failure> {
        let mode = self.files[path].mode;
        self.insert(path.to_owned(), content.clone(), mode);
        self.operations.push(Operation::Write { path: rel_path(path)?, content, expected: None });
        Ok(())
    }

    /// Replaces one line of a file, unless the file is empty.
    fn patch(&mut self, random: &mut Random, path: &str) -> Result<(), Failure> {
        let Leaf { content, mode } = self.files[path].clone();
        let mut lines: Vec<&[u8]> = content.split_inclusive(|&byte| byte == b'\n').collect();
        if lines.is_empty() {
            return Ok(());
        }
        let at = usize::try_from(random.below(lines.len() as u64)).unwrap_or(0);
        let new = format!("line patched in step {} {:x}\n", self.step, random.next());
        let body = [b"-", lines[at], b"+", new.as_bytes()].concat();
        lines[at] = new.as_bytes();
        let content = lines.concat();
        let start = u32::try_from(at + 1)?;
        let hunk = LineHunk {
            old_start: start,
            old_lines: 1,
            new_start: start,
            new_lines: 1,
            body,
            at_end: false,
        };
        self.insert(path.to_owned(), content, mode);
        let path = rel_path(path)?;
        self.operations.push(Operation::Patch { path, hunks: vec![hunk], expected: None });
        Ok(())
    }

    fn rename(&mut self, random: &mut Random, path: &str) -> Result<(), Failure> {
        let Some(to) = self.free_path(random) else { return Ok(()) };
        self.operations.push(Operation::Rename {
            from: rel_path(path)?,
            to: rel_path(&to)?,
            parents: EmptyParents::Remove,
        });
        if let Some(leaf) = self.files.remove(path) {
            self.files.insert(to, leaf);
        }
        Ok(())
    }

    fn chmod(&mut self, random: &mut Random, path: &str) -> Result<(), Failure> {
        let mode = *random.pick(&MODES);
        let exact = ModeChange::Exact(FileMode::new(mode));
        self.operations.push(Operation::Chmod { path: rel_path(path)?, mode: exact });
        if let Some(leaf) = self.files.get_mut(path) {
            leaf.mode = mode;
        }
        Ok(())
    }

    fn insert(&mut self, path: String, content: Vec<u8>, mode: u32) {
        self.files.insert(path, Leaf { content: content.into(), mode });
    }

    /// Returns a path where nothing exists and none of whose parents is a file. Some paths are a file in one version and a
    /// directory in another.
    fn free_path(&self, random: &mut Random) -> Option<String> {
        let above = match random.below(8) {
            0 | 1 => String::new(),
            2..=4 => format!("dir{}/", random.below(4)),
            5 | 6 => format!("dir{}/deep{}/", random.below(4), random.below(3)),
            _ => format!("file{:02}/", random.below(60)),
        };
        let path = format!("{above}file{:02}", random.below(60));
        let directories = directories(&self.files);
        let is_in_the_way = |at: usize| self.files.contains_key(&path[..at]);
        let is_free = !self.files.contains_key(&path)
            && !directories.contains(path.as_str())
            && !path.match_indices('/').any(|(at, _)| is_in_the_way(at));
        is_free.then_some(path)
    }
}

fn rel_path(path: &str) -> Result<RelPath, Failure> {
    Ok(RelPath::new(path)?)
}

fn target(random: &mut Random, step: usize) -> Vec<u8> {
    let up = if random.once_in(2) { "../".repeat(30) } else { String::new() };
    format!("{up}step{step}/{:016x}", random.next()).into_bytes()
}

/// Returns lines of text that may fill several file system blocks.
fn text(random: &mut Random, step: usize, path: &str) -> Vec<u8> {
    let mut lines = random.below(160);
    if random.once_in(3) {
        lines /= 20; // small files are common
    }
    let mut text = String::new();
    for line in 0..lines {
        text += &format!("step {step} {path} line {line} {:016x}\n", random.next());
    }
    text.into_bytes()
}

fn large_text(random: &mut Random, step: usize) -> Vec<u8> {
    let bytes = LARGE_BYTES + usize::try_from(random.below(LARGE_BYTES as u64 / 4)).unwrap_or(0);
    let mut text = String::with_capacity(bytes + 100);
    while text.len() <= bytes {
        text += &format!("step {step} {:016x}{:016x}\n", random.next(), random.next());
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_versions_and_another_seed_gives_others() {
        let version = |seed: u64| Plan::new(seed).version(30).unwrap().clone();
        assert_eq!(version(1), version(1));
        assert_ne!(version(1), version(2));
    }

    #[test]
    fn plan_covers_every_change_type_and_keeps_the_tree_size() {
        let mut plan = Plan::new(3);
        let mut kinds = BTreeSet::new();
        for step in 1..=100 {
            match plan.work(step).unwrap() {
                Work::Undo => drop(kinds.insert("undo")),
                Work::Apply(operations) => kinds.extend(operations.iter().map(|one| match one {
                    Operation::Patch { .. } => "patch",
                    Operation::Edit { .. } => "edit",
                    Operation::Write { .. } => "write",
                    Operation::Create { .. } => "create",
                    Operation::Delete { .. } => "delete",
                    Operation::Rename { .. } => "rename",
                    Operation::Copy { .. } => "copy",
                    Operation::Chmod { .. } | Operation::ChmodDirectory { .. } => "chmod",
                    Operation::MakeDirectory { .. } => "make directory",
                    Operation::RemoveDirectory { .. } => "remove directory",
                    Operation::Link { .. } => "link",
                    Operation::Take { .. } => "take",
                })),
            }
            let version = plan.version(step).unwrap();
            assert!((FILES_MIN - 1..=FILES_MAX + 10).contains(&version.len()), "{}", version.len());
            assert!(version.values().any(|leaf| leaf.content.len() > LARGE_BYTES));
        }
        let all = ["chmod", "copy", "create", "delete", "link", "patch", "rename", "undo", "write"];
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
    }
}
