//! Minimal work: each file is read, edited in memory, and overwritten. After a crash, or if a hunk in a later file does
//! not match, some files are changed and others are not.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use actum_core::Digest;
use actum_edit::hunk::Patcher;
use actum_edit::{LineHunk, Operation};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::Contestant;
use crate::bench::Failure;
use crate::bench::material::Change;

/// Size of the log, which must hold everything that one change writes.
const LOG_BYTES: usize = 64 << 20;
const PAGE: usize = 4096;

/// Contestant that opens, reads, edits and writes each file.
pub(super) struct Plain {
    root: PathBuf,
}

/// Contestant that edits in place with the additional checks of actum: no links are followed, and files are hashed
/// before and after.
pub(super) struct Checked {
    root: File,
}

/// Minimal work that survives a power cut. All new contents are written to a log and synced, then written over the
/// files, and finally a completion note is synced. This needs two syncs, like actum, but cannot be undone, and
/// concurrent readers may see a partial file.
pub(super) struct Logged {
    root: PathBuf,
    log: File,
}

impl Plain {
    pub(super) fn enter(workspace: &Path) -> Self {
        Self { root: workspace.to_owned() }
    }

    fn work(&self, operations: &[Operation]) -> Result<(), Failure> {
        for_each(operations, |path, hunks| {
            let file = OpenOptions::new().read(true).write(true).open(self.root.join(path))?;
            let before = content(&file)?;
            let after = edited(&before, hunks)?;
            overwrite(&file, &before, &after)
        })
    }
}

impl Checked {
    pub(super) fn enter(workspace: &Path) -> Result<Self, Failure> {
        Ok(Self { root: File::open(workspace)? })
    }

    fn work(&self, operations: &[Operation]) -> Result<(), Failure> {
        let confined = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        for_each(operations, |path, hunks| {
            let flags = OFlags::RDWR | OFlags::CLOEXEC;
            let file = openat2(&self.root, path, flags, Mode::empty(), confined)?.into();
            let before = content(&file)?;
            std::hint::black_box(Digest::of(&before));
            let after = edited(&before, hunks)?;
            std::hint::black_box(Digest::of(&after));
            overwrite(&file, &before, &after)
        })
    }
}

impl Logged {
    /// Creates the log. It is filled with zeros and synced beforehand.
    pub(super) fn enter(workspace: &Path) -> Result<Self, Failure> {
        let log = File::create(workspace.with_extension("log"))?;
        log.write_all_at(&vec![0; LOG_BYTES], 0)?;
        log.sync_all()?;
        Ok(Self { root: workspace.to_owned(), log })
    }

    fn work(&self, operations: &[Operation]) -> Result<(), Failure> {
        let (mut edits, mut record) = (Vec::new(), Vec::new());
        for_each(operations, |path, hunks| {
            let file = OpenOptions::new().read(true).write(true).open(self.root.join(path))?;
            let before = content(&file)?;
            let after = edited(&before, hunks)?;
            record.extend_from_slice(&after);
            edits.push((file, before, after));
            Ok(())
        })?;
        record.resize(record.len().next_multiple_of(PAGE), 0);
        self.log.write_all_at(&record, PAGE as u64)?;
        self.log.sync_data()?;
        for (file, before, after) in &edits {
            overwrite(file, before, after)?;
        }
        self.log.write_all_at(&[1; PAGE], 0)?;
        Ok(self.log.sync_data()?)
    }
}

impl Contestant for Logged {
    fn apply(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.work(&change.operations)
    }

    fn revert(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.work(&change.inverse)
    }
}

impl Contestant for Plain {
    fn apply(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.work(&change.operations)
    }

    fn revert(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.work(&change.inverse)
    }
}

impl Contestant for Checked {
    fn apply(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.work(&change.operations)
    }

    fn revert(&mut self, change: &Change<'_>) -> Result<(), Failure> {
        self.work(&change.inverse)
    }
}

fn for_each(
    operations: &[Operation],
    mut each: impl FnMut(&str, &[LineHunk]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for operation in operations {
        if let Operation::Patch { path, hunks, .. } = operation {
            each(std::str::from_utf8(path.as_bytes())?, hunks)?;
        }
    }
    Ok(())
}

fn content(mut file: &File) -> Result<Vec<u8>, Failure> {
    let size = usize::try_from(file.metadata()?.len())?;
    let mut content = Vec::with_capacity(size.saturating_add(1));
    file.read_to_end(&mut content)?;
    Ok(content)
}

fn edited(content: &[u8], hunks: &[LineHunk]) -> Result<Vec<u8>, Failure> {
    let mut result = Vec::with_capacity(content.len());
    let mut patcher = Patcher::new(hunks)?;
    patcher.feed(content, |bytes| result.extend_from_slice(bytes))?;
    patcher.finish(|bytes| result.extend_from_slice(bytes))?;
    Ok(result)
}

fn overwrite(file: &File, before: &[u8], after: &[u8]) -> Result<(), Failure> {
    file.write_all_at(after, 0)?;
    if after.len() < before.len() {
        file.set_len(u64::try_from(after.len())?)?;
    }
    Ok(())
}
