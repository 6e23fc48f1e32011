//! Saves displaced files that no run recorded.

use std::collections::HashMap;
use std::io;

use actum_core::RelPath;

use super::Rebuilder;
use crate::disk::{Disk, Kind, Rename, Stat};
use crate::error::{Result, ResultExt, State};
use crate::journal::record::{Image, stage_name};
use crate::journal::runs::LoggedRun;
use crate::run::publish::{exchanged_name, gone_name};
use crate::run::second_name::Moves;
use crate::tree::{digest_of, open_content};

/// Part of the name of a displaced file in the stage directory.
pub(super) const DISPLACED: &str = "displaced";

/// Returns the name of the entry in the name of a file that a recovery displaced; `None` for another name.
fn displaced_stem(name: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(name, format!(".{DISPLACED}").as_bytes())?;
    name.get(..at)
}

/// Content of a displaced file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// An image that the journal records for the path, or an empty directory.
    Known,
    /// Parts of such an image, after a power cut.
    Torn,
    /// Any other content, links, and files that cannot be read.
    Unknown,
}

/// Unit in which file systems lose data, in bytes.
pub(super) const BLOCK: usize = 4096;

impl<D: Disk> Rebuilder<'_, D> {
    /// Moves displaced files that a killed run or recovery left in the stage directory, or a refused step of this one,
    /// to the lost directory.
    pub(super) fn rescue_displaced(&self) -> Result<()> {
        let doing = || "look for displaced files".to_owned();
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let names = disk.list(stage).doing(doing)?;
        if names.is_empty() {
            return Ok(());
        }
        let entries = self.staged_entries();
        let mut moves = HashMap::new();
        for name in names {
            let stem = displaced_stem(&name);
            let Some(stat) = disk.stat_at(stage, &name).doing(doing)? else { continue };
            match (entries.get(stem.unwrap_or(&name)), stem) {
                (Some((run, index)), stem) if stem.is_some() || run.end.is_none() => {
                    let Some(entry) = run.intent.entries.get(*index) else { continue };
                    let moves =
                        moves.entry(run.intent.run).or_insert_with(|| Moves::new(&run.intent));
                    if stem.is_some() || !moves.is_second_name(&self.tree, *index, &stat)? {
                        self.save_unknown(&entry.path, &name, &stat)?;
                    }
                }
                // It belongs to a run that the journal does not know.
                (None, Some(_)) => self.save(&name)?,
                (Some(_) | None, None) | (Some(_), Some(_)) => {}
            }
        }
        Ok(())
    }

    /// Removes the displaced files that need not be saved. Later recoveries, whose journal does not record their
    /// content, would save them as edits.
    pub(super) fn drop_displaced(&self) -> Result<()> {
        self.rescue_displaced()?;
        let stage = &self.workspace.home.stage;
        let names = self.workspace.disk.list(stage).doing(|| "look for displaced files".to_owned());
        for name in names?.iter().filter(|name| displaced_stem(name).is_some()) {
            self.workspace.remove(stage, name);
        }
        Ok(())
    }

    /// Finds the entry of each name that a run or its rollback may have in the stage directory: the run, and the index
    /// of the entry in it.
    fn staged_entries(&self) -> HashMap<Vec<u8>, (&LoggedRun, usize)> {
        let mut entries = HashMap::new();
        for run in self.runs {
            for index in 0..run.intent.entries.len() {
                for name in [stage_name, gone_name, exchanged_name] {
                    entries.insert(name(run.intent.run, index), (run, index));
                }
            }
        }
        entries
    }

    /// Moves a file that was displaced from `path` to the lost directory, unless it is known or torn. An error leaves
    /// the workspace to a further attempt.
    pub(super) fn save_unknown(&self, path: &RelPath, name: &[u8], stat: &Stat) -> Result<()> {
        match self.content(path, name, stat)? {
            Content::Known | Content::Torn => Ok(()),
            Content::Unknown => self.save(name),
        }
    }

    /// Moves a file that was displaced from `path` to the lost directory, unless it is torn. For paths that a committed
    /// run left empty: a user may have moved the file back there, and its new path may hold another file.
    pub(super) fn save_removed(&self, path: &RelPath, name: &[u8], stat: &Stat) -> Result<()> {
        match self.content(path, name, stat)? {
            Content::Torn => Ok(()),
            Content::Known | Content::Unknown => self.save(name),
        }
    }

    /// Moves a displaced file to the lost directory, under a free name.
    fn save(&self, name: &[u8]) -> Result<()> {
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        let mut to = name.to_vec();
        for attempt in 1u32.. {
            match disk.rename(&home.stage, name, &home.lost, &to, Rename::NoReplace) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    to = [name, format!(".{attempt}").as_bytes()].concat();
                }
                moved => {
                    let moved = moved.doing(|| "keep what was displaced".to_owned());
                    moved.map_err(|error| error.leaving(State::NeedsAttention))?;
                    break;
                }
            }
        }
        self.saved.borrow_mut().push(String::from_utf8_lossy(&to).into_owned());
        Ok(())
    }

    /// Classifies a file in the stage directory that was displaced from `path`, or staged for it.
    fn content(&self, path: &RelPath, name: &[u8], stat: &Stat) -> Result<Content> {
        let content = self.content_of(path, name, stat);
        content.map_err(|error| error.leaving(State::NeedsAttention))
    }

    fn content_of(&self, path: &RelPath, name: &[u8], stat: &Stat) -> Result<Content> {
        let doing = || "compare a file with the journal".to_owned();
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        match stat.kind {
            Kind::File | Kind::Symlink => {}
            Kind::Directory => {
                let directory = disk.open_directory(stage, name).doing(doing)?;
                let is_empty = disk.list(&directory).doing(doing)?.is_empty();
                return Ok(if is_empty { Content::Known } else { Content::Unknown });
            }
            Kind::Special => return Ok(Content::Unknown),
        }
        let file = match open_content(disk, stage, name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Content::Unknown);
            }
            file => file.doing(doing)?,
        };
        let digest = digest_of(disk, &file).doing(doing)?;
        let entries = self.runs.iter().flat_map(|run| &run.intent.entries);
        let mut entries = entries.filter(|entry| entry.path == *path);
        if entries.any(|entry| entry.has_image_of((digest, stat.mode.is_link()))) {
            return Ok(Content::Known);
        }
        // A whole image of another path was moved here.
        let recorded = self.recorded_before(stat).filter(|it| !self.is_an_image(it, stat, &digest));
        let is_torn = recorded.is_some() && self.is_torn(stat, &file)?;
        Ok(if is_torn { Content::Torn } else { Content::Unknown })
    }

    /// Returns true if every block of the file is that of an image recorded for its inode, or was never written.
    pub(super) fn is_torn(&self, stat: &Stat, file: &D::Handle) -> Result<bool> {
        let doing = || "compare a file with the journal".to_owned();
        let Some(recorded) = self.recorded.get(&stat.inode) else { return Ok(false) };
        let (mut longest, mut known) = (0, Vec::new());
        for &of in &recorded.images {
            let Some(image) = self.image(of).and_then(Image::file) else { continue };
            longest = longest.max(image.size);
            known.extend(self.bytes(&recorded.images, of)?);
        }
        if stat.size > longest {
            return Ok(false);
        }
        let disk = &self.workspace.disk;
        let (mut block, mut other) = ([0; BLOCK], [0; BLOCK]);
        let mut offset = 0u64;
        loop {
            let read = disk.read_at(file, &mut block, offset).doing(doing)?;
            let Some(seen) = block.get(..read).filter(|seen| !seen.is_empty()) else {
                return Ok(true);
            };
            let mut matches = seen.iter().all(|&b| b == 0);
            for image in &known {
                if matches {
                    break;
                }
                let filled = image.read_at(disk, &mut other, offset).doing(doing)?;
                // A file whose size was not written yet ends within the image's block, and one whose size was written
                // first continues with zeros.
                let (common, rest) = seen.split_at(read.min(filled));
                matches = other.get(..common.len()) == Some(common) && rest.iter().all(|&b| b == 0);
            }
            if !matches {
                return Ok(false);
            }
            offset = offset.saturating_add(BLOCK as u64);
        }
    }
}
