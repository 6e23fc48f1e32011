//! Keeps what was displaced and no run recorded.

use std::collections::HashSet;
use std::io;

use super::Rebuilder;
use crate::disk::{Disk, Kind, Rename, Stat};
use crate::error::{Doing, Result, State};
use crate::journal::record::{Image, Intent, stage_name};
use crate::run::publish::{exchanged_name, gone_name};
use crate::transaction::node::Bytes;
use crate::tree::digest_of;

/// Part of the name of a displaced file in the stage directory.
pub(super) const DISPLACED: &[u8] = b".displaced";

/// The unit in which file systems lose data, in bytes.
pub(super) const BLOCK: usize = 4096;

impl<D: Disk> Rebuilder<'_, D> {
    /// Moves displaced files that a killed recovery or a killed run left in the stage directory to the lost directory.
    pub(super) fn rescue_displaced(&self) -> Result<()> {
        let doing = || "look for displaced files".to_owned();
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let staged = self.names_of_unfinished_runs();
        for name in disk.list(stage).doing(doing)? {
            let is_displaced = name.windows(DISPLACED.len()).any(|part| part == DISPLACED);
            if (is_displaced || staged.contains(&name))
                && let Some(stat) = disk.stat_at(stage, &name).doing(doing)?
                && !self.is_built(&name, &stat)?
            {
                self.save_displaced(&name, &stat)?;
            }
        }
        Ok(())
    }

    /// The names in the stage directory that hold the new files of unfinished runs, or what these displaced.
    fn names_of_unfinished_runs(&self) -> HashSet<Vec<u8>> {
        let unfinished = self.runs.iter().filter(|run| run.end.is_none()).map(|run| &run.intent);
        let names = |intent: &Intent, index| {
            [stage_name, gone_name, exchanged_name].map(|name| name(intent.run, index))
        };
        unfinished
            .flat_map(|intent| {
                (0..intent.entries.len()).flat_map(move |index| names(intent, index))
            })
            .collect()
    }

    /// Whether the content of a file is an image in the journal. A recovery that was killed before the exchange leaves such a file.
    pub(super) fn is_built(&self, name: &[u8], stat: &Stat) -> Result<bool> {
        if stat.kind != Kind::File {
            return Ok(true);
        }
        let doing = || "compare a file with the journal".to_owned();
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let file = disk.open_file(stage, name).doing(doing)?;
        let digest = digest_of(disk, &file).doing(doing)?;
        let entries = self.runs.iter().flat_map(|run| &run.intent.entries);
        let mut images = entries.flat_map(|entry| [&entry.pre, &entry.post]);
        Ok(images.any(|image| image.file().is_some_and(|file| file.digest == digest)))
    }

    /// Keeps a displaced file as [`Self::save_unrecorded`]. An error leaves the workspace to a further attempt.
    pub(super) fn save_displaced(&self, displaced: &[u8], stat: &Stat) -> Result<()> {
        let saved = self.save_unrecorded(displaced, stat);
        saved.map_err(|error| error.leaving(State::NeedsAttention))
    }

    /// Keeps a displaced file for a person, if the journal does not know what it holds.
    fn save_unrecorded(&self, displaced: &[u8], stat: &Stat) -> Result<()> {
        let doing = || "keep what was displaced".to_owned();
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        if stat.kind != Kind::File {
            return Ok(());
        }
        let file = disk.open_file(&home.stage, displaced).doing(doing)?;
        let digest = digest_of(disk, &file).doing(doing)?;
        let recorded = self.recorded.get(&stat.inode);
        if recorded.is_some_and(|recorded| self.is_an_image(recorded, &digest))
            || self.is_torn(stat, &file)?
        {
            return Ok(());
        }
        disk.rename(&home.stage, displaced, &home.lost, displaced, Rename::NoReplace)
            .doing(doing)?;
        self.saved.borrow_mut().push(String::from_utf8_lossy(displaced).into_owned());
        Ok(())
    }

    /// Whether every block of the file is that of an image recorded for its inode, or was never
    /// written.
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
                let filled = read_bytes(disk, image, &mut other, offset).doing(doing)?;
                // A file whose size was not written yet ends within the image's block, and one
                // whose size was written first goes on with zeros.
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

fn read_bytes<D: Disk>(
    disk: &D,
    bytes: &Bytes<D::Handle>,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    match bytes {
        Bytes::File(file, _) => disk.read_at(file, buffer, offset),
        Bytes::Memory(memory) => {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(memory.len());
            let rest = memory.get(start..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            for (to, from) in buffer.iter_mut().zip(rest) {
                *to = *from;
            }
            Ok(count)
        }
    }
}
