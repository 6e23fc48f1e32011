//! File trees on disk and in memory, and the effect of a run on them.

#![expect(clippy::disallowed_methods, reason = "the script works on files")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use actum_core::plain_id::PlainId;
use actum_core::{Digest, FileMode, FileState, RelPath};
use actum_task::report::{
    BackupDelta, Checkpoint, DirectoryChange, FileChange, ReportName, Rollback,
};

/// Size of a block, in bytes.
pub(crate) const BLOCK: usize = 4096;

/// Content and mode of each file, by path.
pub(crate) type Files = BTreeMap<Vec<u8>, (Vec<u8>, u32)>;

/// A run, described by the files before and after it and by its renames.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(crate) before: Files,
    pub(crate) after: Files,
    /// Empty directories, and directories with explicit modes.
    pub(crate) before_directories: BTreeMap<Vec<u8>, u32>,
    pub(crate) renamed: Vec<(Vec<u8>, Vec<u8>)>,
    /// Modified files whose backup is a delta.
    pub(crate) deltas: BTreeSet<Vec<u8>>,
}

/// Kind with mode, and content, of everything in a directory.
pub(crate) type Snapshot = BTreeMap<Vec<u8>, (String, Vec<u8>)>;

pub(crate) fn path(bytes: &[u8]) -> RelPath {
    RelPath::new(bytes).unwrap()
}

pub(crate) fn at(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}

fn parents(files: &Files) -> BTreeSet<Vec<u8>> {
    let all = files.keys().flat_map(|file| {
        let ends = file.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.map(|(end, _)| file.iter().copied().take(end).collect())
    });
    all.collect()
}

impl Run {
    /// Returns the directories before the run with their modes, and the directories after it.
    fn directories(&self) -> (BTreeMap<Vec<u8>, u32>, BTreeSet<Vec<u8>>) {
        let parents_before = parents(&self.before).into_iter().map(|directory| (directory, 0o755));
        let mut before: BTreeMap<_, _> = parents_before.collect();
        before.extend(self.before_directories.clone());
        // The run removes directories that it leaves empty.
        (before, parents(&self.after))
    }

    fn state(files: &Files, path: &[u8]) -> FileState {
        let (content, mode) = files.get(path).unwrap();
        let size = u64::try_from(content.len()).unwrap();
        FileState { sha256: Digest::of(content), size, mode: FileMode::new(*mode) }
    }

    pub(crate) fn rollback(&self) -> Rollback {
        let (kept, left) = (
            |path: &[u8]| Self::state(&self.before, path),
            |path: &[u8]| Self::state(&self.after, path),
        );
        let is_renamed = |from: &Vec<u8>, to: &Vec<u8>| {
            !self.after.contains_key(from) && !self.before.contains_key(to)
        };
        let renamed: Vec<_> =
            self.renamed.iter().filter(|(from, to)| is_renamed(from, to)).collect();
        let mut changes: BTreeMap<&[u8], FileChange> = BTreeMap::new();
        for (from, to) in &renamed {
            let change = FileChange::Renamed { to: path(to), kept: kept(from), left: left(to) };
            changes.insert(from, change);
        }
        for file in self.before.keys().chain(self.after.keys()) {
            let is_of_rename = renamed.iter().any(|(from, to)| file == from || file == to);
            let change = match (self.before.get(file), self.after.get(file)) {
                (before, after) if is_of_rename || before == after => continue,
                (Some(_), Some(_)) => FileChange::Modified { kept: kept(file), left: left(file) },
                (Some(_), None) => FileChange::Deleted { kept: kept(file) },
                (None, _) => FileChange::Created { left: left(file) },
            };
            changes.insert(file, change);
        }
        let checkpoints = changes.into_iter().zip(0u64..).map(|((file, change), number)| {
            let mut random = [0; 16];
            random[8..].copy_from_slice(&number.to_be_bytes());
            Checkpoint { id: PlainId::random(random), path: path(file), change }
        });
        let (before, after) = self.directories();
        let created = after.iter().filter(|directory| !before.contains_key(*directory));
        let removed = before.iter().filter(|(directory, _)| !after.contains(*directory));
        let directories =
            created.map(|directory| DirectoryChange::Created(path(directory))).chain(removed.map(
                |(directory, mode)| DirectoryChange::Removed(path(directory), FileMode::new(*mode)),
            ));
        let mut rollback = Rollback::new(checkpoints.collect(), directories.collect()).unwrap();
        for file in &self.deltas {
            let (sha256, blocks) = (Digest::of(&self.delta(file).0), self.delta(file).1);
            rollback.keep_delta(path(file), BackupDelta { sha256, blocks });
        }
        rollback
    }

    /// Returns the delta for a modified file, and its number of blocks.
    fn delta(&self, file: &[u8]) -> (Vec<u8>, u64) {
        let [before, after] = [&self.before, &self.after].map(|files| &files.get(file).unwrap().0);
        let (mut blocks, mut runs) = (Vec::new(), Vec::<(usize, usize)>::new());
        for (number, block) in before.chunks(BLOCK).enumerate() {
            if after.chunks(BLOCK).nth(number).is_some_and(|after| after.starts_with(block)) {
                continue;
            }
            blocks.extend_from_slice(block);
            blocks.resize(blocks.len().next_multiple_of(BLOCK), 0);
            match runs.last_mut() {
                Some((first, count)) if *first + *count == number => *count += 1,
                _ => runs.push((number, 1)),
            }
        }
        let count = blocks.len() / BLOCK;
        let lines = runs.iter().map(|(first, count)| format!("{first} {count}\n"));
        let lines = lines.chain([format!("actum blocks 1 {count}\n")]).collect::<String>();
        ([blocks, lines.into_bytes()].concat(), u64::try_from(count).unwrap())
    }

    /// Writes the files as they were before the run.
    pub(crate) fn write_before(&self, root: &Path) {
        let (directories, _) = self.directories();
        write_files(root, &self.before, directories.keys());
        for (directory, mode) in &directories {
            fs::set_permissions(at(root, directory), fs::Permissions::from_mode(*mode)).unwrap();
        }
    }

    /// Writes the files as they are after the run, and a report directory with the script and backups. Returns the path of the
    /// script.
    pub(crate) fn write_after(&self, root: &Path) -> PathBuf {
        let (before, after) = self.directories();
        write_files(root, &self.after, after.iter());
        for (directory, mode) in before.iter().filter(|(directory, _)| after.contains(*directory)) {
            fs::set_permissions(at(root, directory), fs::Permissions::from_mode(*mode)).unwrap();
        }
        let rollback = self.rollback();
        let report = report_name();
        let directory = root.join(report.directory());
        fs::create_dir_all(directory.join("backups")).unwrap();
        for (path, state) in rollback.backups() {
            let (content, _) = self.before.get(path.as_bytes()).unwrap();
            assert_eq!(Digest::of(content), state.sha256);
            let backup = root.join(report.backup(path));
            match self.deltas.contains(path.as_bytes()) {
                true => fs::write(&backup, self.delta(path.as_bytes()).0).unwrap(),
                false => fs::write(&backup, content).unwrap(),
            }
            fs::set_permissions(&backup, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let script = directory.join("rollback.sh");
        fs::write(&script, rollback.script(&PlainId::random([9; 16]), &report)).unwrap();
        script
    }
}

pub(crate) fn report_name() -> ReportName {
    let time = "2026-02-03T15:03:22.000000Z".parse().unwrap();
    ReportName::new(time, &"plan-001".parse().unwrap(), 2)
}

fn write_files<'d>(root: &Path, files: &Files, directories: impl Iterator<Item = &'d Vec<u8>>) {
    directories.for_each(|directory| fs::create_dir_all(at(root, directory)).unwrap());
    for (file, (content, mode)) in files {
        fs::write(at(root, file), content).unwrap();
        fs::set_permissions(at(root, file), fs::Permissions::from_mode(*mode)).unwrap();
    }
}

/// Returns everything below a directory except the reports: kind with mode, and content.
pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    look(root, b"", &mut all);
    all
}

fn look(root: &Path, below: &[u8], all: &mut Snapshot) {
    for entry in fs::read_dir(at(root, below)).unwrap() {
        let name = entry.unwrap().file_name();
        let path = if below.is_empty() {
            name.as_bytes().to_vec()
        } else {
            [below, b"/", name.as_bytes()].concat()
        };
        if path == b"agent" {
            continue;
        }
        let data = fs::symlink_metadata(at(root, &path)).unwrap();
        let mode = data.permissions().mode() & 0o7777;
        if data.is_symlink() {
            let to = fs::read_link(at(root, &path)).unwrap();
            all.insert(path, ("link".to_owned(), to.as_os_str().as_bytes().to_vec()));
        } else if data.is_dir() {
            all.insert(path.clone(), (format!("directory {mode:04o}"), Vec::new()));
            look(root, &path, all);
        } else {
            let content = fs::read(at(root, &path)).unwrap();
            all.insert(path, (format!("file {mode:04o}"), content));
        }
    }
}
