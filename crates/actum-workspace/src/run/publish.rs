//! Publishing and verification of a run. Publishing moves staged inodes into place, and verification checks that only
//! the expected files were displaced.

use std::collections::BTreeSet;

use actum_core::{RelPath, RunId};

use crate::attributes::{Attributes, set_attributes, set_attributes_beside};
use crate::disk::{Disk, Rename, Stat, Time};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::home::Home;
use crate::journal::record::{Body, Entry, FileImage, Image, Intent, Side, keep_name, stage_name};
use crate::tree::{Tree, digest_of, open_content};

/// Kind of publishing step. The variants are declared in the order in which a run carries them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Changes the attributes of a directory so that its owner can create and remove entries in it. Parents come before
    /// children.
    OpenDirectory,
    /// Moves a file from its path into the stage directory.
    Remove,
    /// Removes an empty directory. Children come before parents.
    RemoveDirectory,
    /// Moves a staged directory to its final path. Parents come before children.
    MakeDirectory,
    /// Atomically exchanges a staged file with the file at its path.
    Replace,
    /// Moves a staged file to an unused path.
    Place,
    /// Changes only the attributes of a file, without replacing its inode.
    SetAttributes,
    /// Changes the attributes of a directory so that its owner can no longer create and remove entries in it. Children
    /// come before parents, and all other changes are verified first.
    CloseDirectory,
}

/// Returns the publishing steps of a run in execution order. A rollback reverts them in the opposite order.
pub(crate) fn steps(entries: &[Entry]) -> Vec<(Step, usize)> {
    let mut steps = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        match (&entry.pre, &entry.post) {
            (Image::File(_), Image::File(_)) if entry.only_attributes() => {
                steps.push((Step::SetAttributes, index));
            }
            (Image::File(_), Image::File(_)) => steps.push((Step::Replace, index)),
            (Image::Directory(_), Image::Directory(after)) if entry.changes_directory() => {
                let step = if is_open(after) { Step::OpenDirectory } else { Step::CloseDirectory };
                steps.push((step, index));
            }
            (pre, post) => {
                match pre {
                    Image::File(_) => steps.push((Step::Remove, index)),
                    Image::Directory(_) if !post.is_directory() => {
                        steps.push((Step::RemoveDirectory, index));
                    }
                    Image::Directory(_) | Image::Absent => {}
                }
                match post {
                    Image::File(_) => steps.push((Step::Place, index)),
                    Image::Directory(_) if !pre.is_directory() => {
                        steps.push((Step::MakeDirectory, index));
                    }
                    Image::Directory(_) | Image::Absent => {}
                }
            }
        }
    }
    // Entries are sorted by path, so a parent directory always has a lower index than its children.
    steps.sort_by_key(|&(step, index)| {
        let deepest_first = matches!(step, Step::RemoveDirectory | Step::CloseDirectory);
        (step, if deepest_first { usize::MAX - index } else { index })
    });
    steps
}

/// Returns the name under which a removed file is kept in the stage directory.
pub(crate) fn gone_name(run: RunId, entry: usize) -> Vec<u8> {
    [stage_name(run, entry), b".gone".to_vec()].concat()
}

/// Returns the stage-directory name that a rollback uses while it exchanges the published file for a rebuilt copy of
/// the old one.
pub(crate) fn exchanged_name(run: RunId, entry: usize) -> Vec<u8> {
    [stage_name(run, entry), b".exchanged".to_vec()].concat()
}

/// Links the kept images that a run publishes from the keep directory into the stage directory.
///
/// This must not happen before the intent is durable. Linking changes the inode's change time, so recovery identifies
/// the inode by the number recorded in the intent. The name in the keep directory remains until the tree is durable.
///
/// # Errors
/// `Conflict` if a kept image is not the inode that the intent names; `Io`.
pub(crate) fn take_kept<D: Disk>(disk: &D, home: &Home<D::Handle>, intent: &Intent) -> Result<()> {
    for (index, entry) in intent.entries.iter().enumerate() {
        let Some(FileImage { body: Body::Taken(run, of), inode, .. }) = entry.post.file() else {
            continue;
        };
        let doing = || format!("reuse the kept copy of `{}`", entry.path);
        let kept = keep_name(*run, usize::try_from(*of).unwrap_or(usize::MAX), Side::Pre);
        let staged = stage_name(intent.run, index);
        disk.link(&home.keep, &kept, &home.stage, &staged).doing(doing)?;
        if disk.stat_at(&home.stage, &staged).doing(doing)?.map(|stat| stat.inode) != Some(*inode) {
            return Err(replaced(&entry.path));
        }
    }
    Ok(())
}

/// Carries out one publishing step.
///
/// # Errors
/// `Conflict` if the file to displace was replaced by another one; `Io`; `Attributes`.
pub(crate) fn publish<D: Disk>(
    tree: &Tree<'_, D>,
    stage: &D::Handle,
    run: RunId,
    entries: &[Entry],
    displaced: &mut [Displaced],
    (step, index): (Step, usize),
) -> Result<()> {
    let Some(entry) = entries.get(index) else { return Ok(()) };
    let path = &entry.path;
    let parent = tree.existing_parent(path)?;
    let (disk, name, staged) = (tree.disk, path.name(), stage_name(run, index));
    let mut displaced = match step {
        Step::OpenDirectory | Step::CloseDirectory => {
            return change_directory(tree, &parent, entry, (&entry.pre, &entry.post));
        }
        Step::SetAttributes => {
            let Some(known) = displaced.get_mut(index) else { return Ok(()) };
            return known.change_in_place(tree, &parent, entry);
        }
        Step::Remove | Step::Replace => displaced.get_mut(index),
        Step::RemoveDirectory | Step::MakeDirectory | Step::Place => None,
    };
    if let Some(displaced) = &mut displaced {
        displaced.look_again(disk, &parent, path)?;
    }
    match step {
        Step::Remove => {
            let gone = gone_name(run, index);
            disk.rename(&parent, name, stage, &gone, Rename::NoReplace)
        }
        Step::RemoveDirectory => {
            tree.forget(path);
            disk.remove_directory(&parent, name)
        }
        Step::MakeDirectory | Step::Place => {
            disk.rename(stage, &staged, &parent, name, Rename::NoReplace)
        }
        Step::Replace => disk.rename(stage, &staged, &parent, name, Rename::Exchange),
        // These steps returned early above.
        Step::OpenDirectory | Step::CloseDirectory | Step::SetAttributes => return Ok(()),
    }
    .doing(|| match step {
        Step::Remove => format!("remove `{path}`"),
        Step::RemoveDirectory => format!("remove the directory `{path}`"),
        Step::OpenDirectory
        | Step::CloseDirectory
        | Step::MakeDirectory
        | Step::Replace
        | Step::Place
        | Step::SetAttributes => {
            format!("move the new `{path}` into place")
        }
    })?;
    if let Some(displaced) = displaced {
        displaced.taken_at = Some(disk.now());
    }
    Ok(())
}

/// Returns true if the owner of a directory with these attributes can create and remove entries in it.
pub(crate) fn is_open(attributes: &Attributes) -> bool {
    const OWNER_WRITES: u32 = 0o300;
    attributes.mode.bits() & OWNER_WRITES == OWNER_WRITES
}

/// Changes the attributes of a directory from those of the image `from` to those of the image `to`.
///
/// # Errors
/// `Conflict` if another program changed the attributes or replaced the directory; `Io`; `Attributes`.
fn change_directory<D: Disk>(
    tree: &Tree<'_, D>,
    parent: &D::Handle,
    entry: &Entry,
    (from, to): (&Image, &Image),
) -> Result<()> {
    let path = &entry.path;
    let (Image::Directory(from), Image::Directory(to)) = (from, to) else { return Ok(()) };
    let doing = || format!("change the attributes of the directory `{path}`");
    let directory = match tree.disk.open_directory(parent, path.name()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(replaced(path));
        }
        opened => opened.doing(doing)?,
    };
    let stat = tree.disk.stat(&directory).doing(doing)?;
    let now = tree.attributes(&directory, &stat).doing(doing)?;
    if now != *from {
        return Err(altered(path));
    }
    set_attributes_beside(tree.disk, &directory, &stat, to, &now.xattrs)
        .map_err(|(what, source)| ErrorKind::Attributes { path: path.clone(), what, source }.into())
}

/// Restores the attributes that the directory of `entry` had before the run, provided that it still has those set by
/// the run.
///
/// # Errors
/// Same errors as [`change_directory`].
pub(crate) fn set_directory_back<D: Disk>(tree: &Tree<'_, D>, entry: &Entry) -> Result<()> {
    let parent = tree.existing_parent(&entry.path)?;
    change_directory(tree, &parent, entry, (&entry.post, &entry.pre))
}

/// Sets the attributes of the file or directory of `entry` to those of `image`, provided that it was not replaced in
/// the meantime.
pub(crate) fn set_in_place<D: Disk>(
    tree: &Tree<'_, D>,
    entry: &Entry,
    image: &Image,
) -> Result<()> {
    let path = &entry.path;
    if let Image::Directory(_) = image {
        let other = if *image == entry.pre { &entry.post } else { &entry.pre };
        let parent = tree.existing_parent(path)?;
        return change_directory(tree, &parent, entry, (other, image));
    }
    let (Some(image), Some(pre)) = (image.file(), entry.pre.file()) else { return Ok(()) };
    let doing = || format!("change the attributes of `{path}`");
    let parent = tree.existing_parent(path)?;
    let file = open_content(tree.disk, &parent, path.name()).doing(doing)?;
    if tree.disk.stat(&file).doing(doing)?.inode != pre.inode {
        return Err(replaced(path));
    }
    set_attributes(tree.disk, &file, &image.attributes)
        .map(drop)
        .map_err(|(what, source)| ErrorKind::Attributes { path: path.clone(), what, source }.into())
}

/// Parts of a displaced file that may have changed even though its timestamps do not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// The timestamps prove that the file is unchanged.
    None,
    /// The content may have changed without moving the modification time, so it must be compared again.
    Content,
    /// The change time moved, so both the content and the extended attributes must be compared again.
    All,
}

/// Facts used to verify that a file was unchanged when the run displaced it or changed its attributes.
///
/// Any process that can write to a file can also set its modification time, but no process can set the change time.
/// Displacing the file updates the change time, so it is compared just before that.
pub(crate) struct Displaced {
    /// File metadata at the time of reading; `None` if the entry had no file before the run.
    pub(crate) stat: Option<Stat>,
    /// Change time that proves that the file is unchanged since it was read. `None` for a file that remains at another
    /// path, because the links that the run creates for it move the change time.
    pub(crate) changed: Option<Time>,
    /// Expected number of hard links, counting those that the run adds; `None` if the number is not checked. Through
    /// any further link, another process could write to the kept image.
    pub(crate) names: Option<u64>,
    /// Parts of the file to compare again after it was displaced.
    pub(crate) doubt: Doubt,
    /// Time at which the file was displaced.
    pub(crate) taken_at: Option<Time>,
}

impl Displaced {
    /// Facts for an entry that had no file before the run.
    pub(crate) const NOTHING: Self =
        Self { stat: None, changed: None, names: None, doubt: Doubt::None, taken_at: None };

    /// Reads the file's metadata again, just before a step of the run changes its change time.
    ///
    /// # Errors
    /// `Conflict` if the file was replaced by another one; `Io`.
    pub(crate) fn look_again<D: Disk>(
        &mut self,
        disk: &D,
        parent: &D::Handle,
        path: &RelPath,
    ) -> Result<()> {
        let Some(stat) = self.stat else { return Ok(()) };
        // A missing file is reported by the next step, which fails because of it.
        if let Some(now) =
            disk.stat_at(parent, path.name()).doing(|| format!("inspect `{path}`"))?
        {
            if now.inode != stat.inode {
                return Err(replaced(path));
            }
            if self.changed.is_some_and(|changed| now.changed != changed) {
                self.doubt = Doubt::All;
            }
        }
        Ok(())
    }

    /// Sets the new attributes of the file at the path of `entry`, unless its attributes changed since it was read.
    ///
    /// The attributes are compared first, because a change by another program could not be distinguished from the run's
    /// own change afterwards. The content is compared later, in [`verify`].
    ///
    /// # Errors
    /// `Conflict` if the file was replaced or its attributes changed; `Io`; `Attributes`.
    fn change_in_place<D: Disk>(
        &mut self,
        tree: &Tree<'_, D>,
        parent: &D::Handle,
        entry: &Entry,
    ) -> Result<()> {
        let path = &entry.path;
        let (Some(pre), Some(post)) = (entry.pre.file(), entry.post.file()) else { return Ok(()) };
        let doing = || format!("change the attributes of `{path}`");
        let file = open_content(tree.disk, parent, path.name()).doing(doing)?;
        let xattrs = tree.disk.xattrs(&file).doing(doing)?;
        let now = tree.disk.stat(&file).doing(doing)?;
        if now.inode != pre.inode {
            return Err(replaced(path));
        }
        if self.changed.is_some_and(|changed| now.changed != changed) {
            let Attributes { mode, user, group, xattrs: before } = &pre.attributes;
            if (now.mode, now.user, now.group, &xattrs) != (*mode, *user, *group, before) {
                return Err(altered(path));
            }
            self.doubt = Doubt::All;
        }
        set_attributes_beside(tree.disk, &file, &now, &post.attributes, &xattrs).map_err(
            |(what, source)| {
                Error::from(ErrorKind::Attributes { path: path.clone(), what, source })
            },
        )?;
        self.taken_at = Some(tree.disk.now());
        Ok(())
    }

    /// Records that the run changed the file's change time by adding a hard link at the time `at`. `stat` is the
    /// metadata read after that. A change time later than `at` means that another process touched the file too.
    pub(crate) fn restamped(&mut self, stat: &Stat, at: Time) {
        if stat.changed > at {
            self.doubt = Doubt::All;
        }
        self.changed = self.changed.map(|_| stat.changed);
    }
}

/// Resolves every path again from the root and checks that it is in the state that the run intended.
///
/// # Errors
/// `Conflict` for the first path that another process changed.
pub(crate) fn verify<D: Disk>(
    reached: &Tree<'_, D>,
    again: &Tree<'_, D>,
    stage: &D::Handle,
    run: RunId,
    entries: &[Entry],
    displaced: &[Displaced],
) -> Result<()> {
    let disk = again.disk;
    let mut same_directories = BTreeSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let path = &entry.path;
        let doing = || format!("check `{path}`");
        let parent = match again.parent(path) {
            // This run replaced the parent directory by a file or a link, whose own entry is checked separately.
            Err(error)
                if matches!(entry.post, Image::Absent) && is_under_its_own(&error, entries) =>
            {
                None
            }
            parent => parent?,
        };
        let now = match &parent {
            Some(parent) => {
                if let Some(before) = reached.identity(path)
                    && same_directories.insert(path.parent())
                {
                    let now = disk.stat(parent).doing(doing)?;
                    if before != (now.device, now.inode) {
                        let detail = "its directory was moved";
                        return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
                    }
                }
                disk.stat_at(parent, path.name()).doing(doing)?
            }
            None => None,
        };
        match (&entry.post, now) {
            (Image::File(post), Some(now)) if now.inode == post.inode => {}
            (Image::Directory(_), Some(now)) if now.kind == crate::disk::Kind::Directory => {}
            (Image::Absent, None) => {}
            (Image::File(_) | Image::Directory(_) | Image::Absent, _) => {
                return Err(replaced(path));
            }
        }
        let (Some(pre), Some(known)) = (entry.pre.file(), displaced.get(index)) else {
            continue;
        };
        if entry.only_attributes() {
            if let (Some(parent), Some(post)) = (&parent, entry.post.file()) {
                check_displaced(again, parent, path.name(), path, post, known)?;
            }
            continue;
        }
        let name = match entry.post {
            Image::File(_) => stage_name(run, index),
            Image::Absent | Image::Directory(_) => gone_name(run, index),
        };
        check_displaced(again, stage, &name, path, pre, known)?;
    }
    Ok(())
}

/// Returns true if a path cannot be reached because this run put a file or a symbolic link in place of one of its
/// parents.
pub(crate) fn is_under_its_own(error: &Error, entries: &[Entry]) -> bool {
    let (ErrorKind::UnderAFile { component, .. } | ErrorKind::Component { component, .. }) =
        &error.kind
    else {
        return false;
    };
    let at = entries.binary_search_by(|entry| entry.path.cmp(component));
    at.ok().and_then(|at| entries.get(at)).is_some_and(|entry| entry.post.file().is_some())
}

/// Checks that the file `name` in `directory` is the file that was read from `path`, with unchanged content and with
/// the attributes of `image`.
fn check_displaced<D: Disk>(
    tree: &Tree<'_, D>,
    directory: &D::Handle,
    name: &[u8],
    path: &RelPath,
    image: &FileImage,
    known: &Displaced,
) -> Result<()> {
    let Some(before) = &known.stat else { return Ok(()) };
    let (disk, doing) = (tree.disk, || format!("check the previous version of `{path}`"));
    let found = disk.stat_at(directory, name).doing(doing)?.ok_or_else(|| replaced(path))?;
    if found.inode != image.inode {
        return Err(replaced(path));
    }
    if known.names.is_some_and(|names| found.links > names) {
        let detail = "a hard link to it was created after it was read";
        return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
    }
    let Attributes { mode, user, group, .. } = image.attributes;
    let mut same = (found.size, found.modified) == (before.size, before.modified)
        && (found.mode, found.user, found.group) == (mode, user, group);
    // A process that still had the file open may have changed it after it was displaced.
    let later = known.changed.and(known.taken_at).is_some_and(|taken_at| found.changed > taken_at);
    let doubt = if later { Doubt::All } else { known.doubt };
    if same && doubt > Doubt::None {
        let file = open_content(disk, directory, name).doing(doing)?;
        same = digest_of(disk, &file).doing(doing)? == image.digest;
        if same && doubt == Doubt::All {
            same = tree.attributes(&file, &found).doing(doing)? == image.attributes;
        }
    }
    if same { Ok(()) } else { Err(altered(path)) }
}

fn altered(path: &RelPath) -> Error {
    let detail = "its content or attributes changed after it was read";
    ErrorKind::Conflict { path: path.clone(), detail }.into()
}

fn replaced(path: &RelPath) -> Error {
    let detail = "another file took its place";
    ErrorKind::Conflict { path: path.clone(), detail }.into()
}
