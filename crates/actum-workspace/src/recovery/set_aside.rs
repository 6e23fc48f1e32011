//! Sets a damaged journal aside together with the files that it needs, and starts a new one.

use std::collections::BTreeSet;
use std::path::Path;

use actum_core::{FileMode, RunId};

use crate::disk::{Barrier, Disk, LinuxDisk, Rename};
use crate::error::{Error, ErrorKind, Result, ResultExt, State};
use crate::history;
use crate::home::lost_names::JOURNAL_IMAGES_ENDING;
use crate::home::{Home, IfMissing, STATE_DIRECTORY};
use crate::journal::runs::RunReader;
use crate::journal::{Scan, salvage};
use crate::run::lost::Lost;
use crate::workspace::Workspace;

/// Journal that was set aside, with the files that were kept for it. Paths are relative to the root of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetAside {
    /// Path of the old journal, if there was one.
    pub journal: Option<String>,
    /// Directory with the displaced and kept files that only the old journal refers to, if there are any.
    pub images: Option<String>,
    /// Run in the old journal that had begun and has no readable end. Its paths are blocked.
    pub unfinished: Option<RunId>,
}

impl Workspace<LinuxDisk> {
    /// Sets a damaged journal aside, or accepts that it is missing, and starts a new one. The files of the workspace
    /// are not changed, so the user must check those that the old journal would still have rolled back. Files in
    /// `stage` and `keep` that the old journal needs are kept next to it.
    ///
    /// # Errors
    /// `JournalSound` if the journal is not damaged; `Busy`, `NotAWorkspace`, `NewerFormat`, `Io`.
    pub fn set_aside_journal(root: impl AsRef<Path>) -> Result<SetAside> {
        Self::set_aside_journal_on(LinuxDisk, root.as_ref())
    }
}

impl<D: Disk> Workspace<D> {
    /// Sets a damaged journal aside on another [`Disk`], like [`Workspace::set_aside_journal`].
    ///
    /// # Errors
    /// Same errors as [`Workspace::set_aside_journal`].
    pub fn set_aside_journal_on(disk: D, root: &Path) -> Result<SetAside> {
        let home = Home::open(&disk, root, IfMissing::Tolerate)?;
        let epoch =
            disk.epoch(&home.root).doing(|| "determine the current boot and mount".to_owned())?;
        let _lock = home.lock(&disk, false, "setting the journal aside")?;
        let journal = home.journal(&disk).and_then(|mut journal| {
            let scan = Scan::new(journal.epoch(), epoch);
            RunReader::without_post_bytes().read_all(&mut journal, &disk, scan)
        });
        match journal {
            Ok(_) => return Err(ErrorKind::JournalSound.into()),
            Err(Error { kind: ErrorKind::Damaged { .. }, .. }) => {}
            Err(Error { kind: ErrorKind::Io { source, .. }, .. })
                if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(other) => return Err(other),
        }
        // If anything fails from here on, some files may already have been moved.
        Self::set_aside_with_images(&disk, &home)
            .map_err(|error| error.leaving(State::NeedsAttention))
    }

    fn set_aside_with_images(disk: &D, home: &Home<D::Handle>) -> Result<SetAside> {
        let mut aside = SetAside::default();
        let name = format!("journal.{}", disk.now().0);
        // The images are moved first. If the command is interrupted, it finds the damaged journal again.
        if let Some(journal) = home.damaged_journal(disk)?
            && let Some(intent) = salvage::unfinished(disk, &journal)?
        {
            let mut blocked = home.read_blocked(disk)?;
            let mut lost = Lost { disk, home, blocked: &mut blocked };
            lost.set_aside(&intent, &(0..intent.entries.len()).collect::<Vec<_>>())?;
            aside.unfinished = Some(intent.run);
        }
        let runs = history::list(disk, &home.history)?;
        if keep_images(disk, home, &format!("{name}{JOURNAL_IMAGES_ENDING}"), &runs)? {
            aside.images = Some(format!("{STATE_DIRECTORY}/lost/{name}{JOURNAL_IMAGES_ENDING}"));
        }
        let newest = runs.last().map_or(0, |run| run.sequence);
        if home.set_aside_journal(disk, &name, newest)? {
            aside.journal = Some(format!("{STATE_DIRECTORY}/lost/{name}"));
        }
        Ok(aside)
    }
}

/// Moves all staged and displaced files to the directory `name` in `lost`, together with the kept images of runs
/// without a readable history record. Without the old journal, they would be swept. Returns true if anything was moved.
fn keep_images<D: Disk>(
    disk: &D,
    home: &Home<D::Handle>,
    name: &str,
    runs: &[history::RunRef],
) -> Result<bool> {
    let doing = || "save the files that only the damaged journal refers to".to_owned();
    let is_readable = |run: &&history::RunRef| history::read(disk, &home.history, run).is_ok();
    let known: BTreeSet<_> =
        runs.iter().filter(is_readable).map(|run| format!("{}.", run.run).into_bytes()).collect();
    let mut found: Vec<(&D::Handle, Vec<u8>)> = Vec::new();
    for file in disk.list(&home.stage).doing(doing)? {
        found.push((&home.stage, file));
    }
    for file in disk.list(&home.keep).doing(doing)? {
        if !known.iter().any(|run| file.starts_with(run)) {
            found.push((&home.keep, file));
        }
    }
    if found.is_empty() {
        return Ok(false);
    }
    disk.make_directory(&home.lost, name.as_bytes(), FileMode::PRIVATE_DIRECTORY).doing(doing)?;
    let images = disk.open_directory(&home.lost, name.as_bytes()).doing(doing)?;
    for (directory, file) in found {
        disk.rename(directory, &file, &images, &file, Rename::NoReplace).doing(doing)?;
    }
    disk.sync(&images, Barrier::Lost).doing(doing)?;
    disk.sync(&home.lost, Barrier::Lost).doing(doing)?;
    Ok(true)
}
