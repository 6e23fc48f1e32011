//! Saves displaced files whose content no run has recorded.

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

/// Part of the names in the stage directory that marks files displaced by a recovery.
pub(super) const DISPLACED: &str = "displaced";

/// Returns the part of a file name that identifies the entry, or `None` if the file was not displaced by a recovery.
fn displaced_stem(name: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(name, format!(".{DISPLACED}").as_bytes())?;
    name.get(..at)
}

/// Relation of a displaced file's content to the images in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// An image that the journal records for the path, or an empty directory.
    Known,
    /// Parts of a recorded image, as a power cut leaves them.
    Torn,
    /// Any other content, including special files and files that cannot be read.
    Unknown,
}

/// Size of the unit in which file systems lose data, in bytes.
pub(super) const BLOCK: usize = 4096;

impl<D: Disk> Rebuilder<'_, D> {
    /// Moves displaced files from the stage directory to the lost directory. A killed run or recovery left them there,
    /// or a refused step of this recovery did.
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
                // The file belongs to a run that is not in the journal.
                (None, Some(_)) => self.save(&name)?,
                (Some(_) | None, None) | (Some(_), Some(_)) => {}
            }
        }
        Ok(())
    }

    /// Removes displaced files that need not be saved. Otherwise, a later recovery would save them as edits, because
    /// its journal no longer records their content.
    pub(super) fn drop_displaced(&self) -> Result<()> {
        self.rescue_displaced()?;
        let stage = &self.workspace.home.stage;
        let names = self.workspace.disk.list(stage).doing(|| "look for displaced files".to_owned());
        for name in names?.iter().filter(|name| displaced_stem(name).is_some()) {
            self.workspace.remove(stage, name);
        }
        Ok(())
    }

    /// Returns each name that a run or its rollback can use in the stage directory, with the run and the index of the
    /// entry.
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

    /// Moves a file that was displaced from `path` to the lost directory, unless its content is known or torn. After an
    /// error, the next recovery tries again.
    pub(super) fn save_unknown(&self, path: &RelPath, name: &[u8], stat: &Stat) -> Result<()> {
        match self.content(path, name, stat)? {
            Content::Known | Content::Torn => Ok(()),
            Content::Unknown => self.save(name),
        }
    }

    /// Moves a file that was displaced from `path` to the lost directory, unless its content is torn. This is for paths
    /// that a committed run left empty. A user may have moved the file back there, and its new path may contain another
    /// file by now.
    pub(super) fn save_removed(&self, path: &RelPath, name: &[u8], stat: &Stat) -> Result<()> {
        match self.content(path, name, stat)? {
            Content::Torn => Ok(()),
            Content::Known | Content::Unknown => self.save(name),
        }
    }

    /// Moves a displaced file to an unused name in the lost directory.
    fn save(&self, name: &[u8]) -> Result<()> {
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        let mut to = name.to_vec();
        for attempt in 1u32.. {
            match disk.rename(&home.stage, name, &home.lost, &to, Rename::NoReplace) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    to = [name, format!(".{attempt}").as_bytes()].concat();
                }
                moved => {
                    let moved = moved.doing(|| "save a displaced file".to_owned());
                    moved.map_err(|error| error.leaving(State::NeedsAttention))?;
                    break;
                }
            }
        }
        self.saved.borrow_mut().push(String::from_utf8_lossy(&to).into_owned());
        Ok(())
    }

    /// Classifies the content of a file in the stage directory that was displaced from `path`, or that was staged for
    /// it.
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
        // A complete image of another path is not torn, because a program moved it here.
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
                // If the size was not written yet, the file ends within a block of the image. If the size was written
                // first, zeros follow.
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
