//! Makes staged inodes visible, and checks afterwards that exactly the expected ones were
//! displaced.

use std::collections::BTreeSet;

use actum_core::{RelPath, RunId};

use crate::attributes::{Attributes, set_attributes, set_attributes_beside};
use crate::disk::{Disk, Rename, Stat, Time};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::home::Home;
use crate::journal::record::{Body, Entry, FileImage, Image, Intent, Side, keep_name, stage_name};
use crate::tree::{Tree, digest_of, open_content};

/// Kind of publishing step, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A directory gets attributes with which its owner can change names in it, shallowest first.
    OpenDirectory,
    /// A file is moved out of its place.
    Remove,
    /// An empty directory is removed, deepest first.
    RemoveDirectory,
    /// A staged directory is moved into its place, shallowest first.
    MakeDirectory,
    /// A staged file and the file at its path are exchanged.
    Replace,
    /// A staged file is moved to an unused path.
    Place,
    /// Only the attributes of a file change, in place.
    SetAttributes,
    /// A directory gets attributes with which its owner cannot change names in it, deepest first and after all was
    /// verified.
    CloseDirectory,
}

/// Returns the steps of a run, in the order in which they are taken; a rollback goes the other way.
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
    // Entries are ordered by path, so an index orders parents before children.
    steps.sort_by_key(|&(step, index)| {
        let deepest_first = matches!(step, Step::RemoveDirectory | Step::CloseDirectory);
        (step, if deepest_first { usize::MAX - index } else { index })
    });
    steps
}

/// Returns the name of a removed file in the stage directory.
pub(crate) fn gone_name(run: RunId, entry: usize) -> Vec<u8> {
    [stage_name(run, entry), b".gone".to_vec()].concat()
}

/// Returns the name, in the stage directory, of the file that a rollback exchanges for one that it wrote again.
pub(crate) fn exchanged_name(run: RunId, entry: usize) -> Vec<u8> {
    [stage_name(run, entry), b".exchanged".to_vec()].concat()
}

/// Moves the kept images that a run takes to their names in the stage directory.
///
/// This happens only once the intent is durable: it names the inode, so that recovery knows it whatever its stamps are.
/// The kept name remains until the tree is durable.
///
/// # Errors
/// `Conflict` where a kept image is another file than the intent names; `Io`.
pub(crate) fn take_kept<D: Disk>(disk: &D, home: &Home<D::Handle>, intent: &Intent) -> Result<()> {
    for (index, entry) in intent.entries.iter().enumerate() {
        let Some(FileImage { body: Body::Taken(run, of), inode, .. }) = entry.post.file() else {
            continue;
        };
        let doing = || format!("take the kept `{}`", entry.path);
        let kept = keep_name(*run, usize::try_from(*of).unwrap_or(usize::MAX), Side::Pre);
        let staged = stage_name(intent.run, index);
        disk.link(&home.keep, &kept, &home.stage, &staged).doing(doing)?;
        if disk.stat_at(&home.stage, &staged).doing(doing)?.map(|stat| stat.inode) != Some(*inode) {
            return Err(replaced(&entry.path));
        }
    }
    Ok(())
}

/// Takes one step.
///
/// # Errors
/// `Conflict` where another file took the place of the one that is displaced; `Io`; `Attributes`.
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
        // Already done.
        Step::OpenDirectory | Step::CloseDirectory | Step::SetAttributes => return Ok(()),
    }
    .doing(|| match step {
        Step::Remove => format!("move `{path}` away"),
        Step::RemoveDirectory => format!("remove the directory `{path}`"),
        Step::OpenDirectory
        | Step::CloseDirectory
        | Step::MakeDirectory
        | Step::Replace
        | Step::Place
        | Step::SetAttributes => {
            format!("put the new `{path}` in its place")
        }
    })?;
    if let Some(displaced) = displaced {
        displaced.taken_at = Some(disk.now());
    }
    Ok(())
}

/// Returns true if the owner of a directory can change names in it.
pub(crate) fn is_open(attributes: &Attributes) -> bool {
    const OWNER_WRITES: u32 = 0o300;
    attributes.mode.bits() & OWNER_WRITES == OWNER_WRITES
}

/// Changes the attributes of a directory from those of the first image to those of the second.
///
/// # Errors
/// `Conflict` where another program changed them or put something else there; `Io`; `Attributes`.
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

/// Restores the attributes of the directory of `entry` to those before the run, if it has those after the run.
///
/// # Errors
/// Same errors as [`change_directory`].
pub(crate) fn set_directory_back<D: Disk>(tree: &Tree<'_, D>, entry: &Entry) -> Result<()> {
    let parent = tree.existing_parent(&entry.path)?;
    change_directory(tree, &parent, entry, (&entry.post, &entry.pre))
}

/// Sets the attributes of the file of `entry` to those of `image`, if it is still the file from before.
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

/// Part of a displaced file that its stamps do not prove unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// Nothing.
    None,
    /// Its content: it could have changed without its stamps moving.
    Content,
    /// Its content and its extended attributes: its change stamp moved.
    All,
}

/// Facts about a file that is displaced or gets other attributes, beside its image.
///
/// Any process that may write to a file can set its modification stamp, but none can set its change stamp. The move
/// itself sets the change stamp, so it is compared just before.
pub(crate) struct Displaced {
    /// Facts when the file was read; `None` for an entry without a file before.
    pub(crate) stat: Option<Stat>,
    /// Change stamp that proves that no process changed the file since it was read; `None` where names that the run
    /// makes for a file that lives on move it.
    pub(crate) changed: Option<Time>,
    /// Number of its names as long as only the run gives it another; `None` where that does not matter. The owner of
    /// another name could write to the kept image of the file.
    pub(crate) names: Option<u64>,
    /// Part to compare once the file is displaced.
    pub(crate) doubt: Doubt,
    /// Time at which it was displaced.
    pub(crate) taken_at: Option<Time>,
}

impl Displaced {
    /// Knowledge of an entry without a file before.
    pub(crate) const NOTHING: Self =
        Self { stat: None, changed: None, names: None, doubt: Doubt::None, taken_at: None };

    /// Reads the facts about the file once more, just before something moves its change stamp.
    ///
    /// # Errors
    /// `Conflict` where another file took its place; `Io`.
    pub(crate) fn look_again<D: Disk>(
        &mut self,
        disk: &D,
        parent: &D::Handle,
        path: &RelPath,
    ) -> Result<()> {
        let Some(stat) = self.stat else { return Ok(()) };
        // If the path is empty, the next step fails and reports it.
        if let Some(now) =
            disk.stat_at(parent, path.name()).doing(|| format!("look at `{path}`"))?
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
    /// Afterwards a change by another program looks like the run's own, so the attributes are compared before.
    /// [`verify`] compares the content.
    ///
    /// # Errors
    /// `Conflict` where another file took its place, or its attributes changed; `Io`; `Attributes`.
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

    /// Records that the run itself gave the file a name and so moved its change stamp; it was done at `at`, and `stat`
    /// was taken later.
    pub(crate) fn restamped(&mut self, stat: &Stat, at: Time) {
        if stat.changed > at {
            self.doubt = Doubt::All;
        }
        self.changed = self.changed.map(|_| stat.changed);
    }
}

/// Reaches every path again from the root and compares.
///
/// # Errors
/// `Conflict` at the first path that another process had changed.
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
            // Its directory became a file or a link in this run, and that entry is checked on its own.
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
                        let detail = "its directory was moved away";
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

/// Returns true if a path cannot be reached because a file or link of the run is a component of it.
pub(crate) fn is_under_its_own(error: &Error, entries: &[Entry]) -> bool {
    let (ErrorKind::UnderAFile { component, .. } | ErrorKind::Component { component, .. }) =
        &error.kind
    else {
        return false;
    };
    let at = entries.binary_search_by(|entry| entry.path.cmp(component));
    at.ok().and_then(|at| entries.get(at)).is_some_and(|entry| entry.post.file().is_some())
}

/// Compares the file `name` in `directory` with the file that was read from `path`; its attributes must be those of
/// `image`.
fn check_displaced<D: Disk>(
    tree: &Tree<'_, D>,
    directory: &D::Handle,
    name: &[u8],
    path: &RelPath,
    image: &FileImage,
    known: &Displaced,
) -> Result<()> {
    let Some(before) = &known.stat else { return Ok(()) };
    let (disk, doing) = (tree.disk, || format!("check what `{path}` was"));
    let found = disk.stat_at(directory, name).doing(doing)?.ok_or_else(|| replaced(path))?;
    if found.inode != image.inode {
        return Err(replaced(path));
    }
    if known.names.is_some_and(|names| found.links > names) {
        let detail = "it got another name after it was read";
        return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
    }
    let Attributes { mode, user, group, .. } = image.attributes;
    let mut same = (found.size, found.modified) == (before.size, before.modified)
        && (found.mode, found.user, found.group) == (mode, user, group);
    // A process that had it open can have changed it after it was displaced.
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
