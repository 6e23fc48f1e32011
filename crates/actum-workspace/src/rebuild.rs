//! Recovery after the file system may have lost something: nothing about the tree can be assumed,
//! so every path of the journal is compared with the image it should hold.
//!
//! The wanted image of a path is its post-image where its last run is committed, else its
//! pre-image. Only what is ours is touched: the path is missing, or its inode is one that a run
//! recorded and nobody wrote to it since. Such a file may hold anything: without a journal ext4
//! writes sizes before bytes and names before inodes, so that a file shows old blocks of the disk
//! and a name leads to an inode that was given away. What is put right then and was recorded
//! nowhere goes to the lost directory. Everything else is someone's work and stays.

use std::collections::{BTreeMap, HashMap};
use std::io;

use actum_core::{FileMode, RelPath};

use crate::content::set_attributes;
use crate::disk::{Barrier, Disk, Kind, Rename, Stat, Time};
use crate::error::{Doing, Error, ErrorKind, Result};
use crate::images::Images;
use crate::node::Bytes;
use crate::publish::set_in_place;
use crate::record::{Attributes, Body, Entry, FileImage, Image, Outcome, Side, stage_name};
use crate::recovery::Told;
use crate::rollback::make_directory;
use crate::tree::{Found, Parent, Tree, digest_of};
use crate::workspace::Workspace;

/// The unit in which file systems lose data, in bytes.
const BLOCK: usize = 4096;
/// How long after its end a run may still remove names of its own in the stage directory, in
/// nanoseconds; that moves the change stamps of the inodes.
const SWEEP_SLACK: i64 = 2_000_000_000;

/// What a rebuild did.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) rewritten: Vec<RelPath>,
    /// Run and entry, as indices, of paths that hold someone else's work.
    pub(crate) foreign: Vec<(usize, usize)>,
}

/// One image in the journal, by indices.
#[derive(Debug, Clone, Copy)]
struct ImageRef {
    run: usize,
    entry: usize,
    side: Side,
}

/// All that the journal says about one path.
struct Fold {
    wanted: ImageRef,
    known: Vec<ImageRef>,
    /// When the last run on the path ended; `None` where nobody ended it.
    ended: Option<Time>,
    /// When the last INTENT on the path was written.
    announced: Time,
}

/// All that the journal says about one inode.
#[derive(Default)]
struct Recorded {
    images: Vec<ImageRef>,
    /// When the INTENT of the last run that recorded it was written.
    announced: Time,
    /// When that run ended; `None` where nobody ended it.
    ended: Option<Time>,
}

/// What must be done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Install,
    /// Only the attributes are not as wanted.
    Adjust,
    /// Someone else's work, which does not stand in the way of anything.
    LaterEdit,
    Foreign,
}

impl<D: Disk> Workspace<D> {
    /// Makes the tree hold what the journal says.
    pub(crate) fn rebuild(&self, told: &[Told]) -> Result<Rebuilt> {
        let rebuilder = Rebuilder {
            workspace: self,
            tree: Tree::new(&self.disk, &self.home.root),
            told,
            recorded: recorded(told),
            changed: changed_directories(told),
            began: self.home.rebuild_began(&self.disk)?,
        };
        rebuilder.run()
    }
}

/// What came of putting an image at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Installed {
    Done,
    /// Someone else's work is there.
    InTheWay,
    /// The bytes are not recorded, or not as recorded.
    NoBytes,
}

struct Rebuilder<'a, D: Disk> {
    workspace: &'a Workspace<D>,
    tree: Tree<'a, D>,
    told: &'a [Told],
    recorded: HashMap<u64, Recorded>,
    /// The directories in which runs changed names, `None` being the root, each with the time when
    /// the last of these runs ended, or `None` where nobody ended it.
    changed: HashMap<Option<RelPath>, Option<Time>>,
    /// When a recovery that was cut off had begun to change things.
    began: Option<Time>,
}

impl<D: Disk> Rebuilder<'_, D> {
    fn run(&self) -> Result<Rebuilt> {
        let folds = self.fold();
        let mut rebuilt = Rebuilt::default();
        let mut work: Vec<(&RelPath, &Fold, Verdict)> = Vec::new();
        for (path, fold) in &folds {
            match self.judge(path, fold)? {
                Verdict::Right | Verdict::LaterEdit => {}
                verdict @ (Verdict::Install | Verdict::Adjust) => work.push((path, fold, verdict)),
                Verdict::Foreign => rebuilt.foreign.push((fold.wanted.run, fold.wanted.entry)),
            }
        }
        if !work.is_empty() {
            // From here on stamps may be recovery's own.
            self.workspace.home.begin_rebuild(&self.workspace.disk)?;
        }
        // First whatever is in the way, deepest first; then what is missing, shallowest first.
        let mut blocked = Vec::new();
        for &(path, fold, verdict) in work.iter().rev() {
            if verdict == Verdict::Install && !self.clear_the_way(path, fold)? {
                blocked.push(path);
            }
        }
        for &(path, fold, verdict) in &work {
            let done = !blocked.contains(&path)
                && match verdict {
                    Verdict::Install => match self.install(path, fold)? {
                        // The directory it was in has become something else since.
                        Installed::InTheWay if fold.ended.is_some() => continue,
                        Installed::InTheWay | Installed::NoBytes => false,
                        Installed::Done => true,
                    },
                    Verdict::Adjust => self.adjust(fold)?,
                    Verdict::Right | Verdict::LaterEdit | Verdict::Foreign => true,
                };
            if done {
                rebuilt.rewritten.push(path.clone());
            } else {
                rebuilt.foreign.push((fold.wanted.run, fold.wanted.entry));
            }
        }
        Ok(rebuilt)
    }

    fn fold(&self) -> BTreeMap<RelPath, Fold> {
        let mut folds: BTreeMap<RelPath, Fold> = BTreeMap::new();
        for (run, told) in self.told.iter().enumerate() {
            let ended = told.end.map(|end| end.time);
            let committed = told.end.is_some_and(|end| end.outcome == Outcome::Committed);
            for (entry, Entry { path, .. }) in told.intent.entries.iter().enumerate() {
                let image = |side| ImageRef { run, entry, side };
                // What a run that was taken back found there stands, whoever put it there.
                let wanted = image(if committed { Side::Post } else { Side::Pre });
                let fold = folds.entry(path.clone()).or_insert_with(|| Fold {
                    wanted,
                    known: Vec::new(),
                    ended,
                    announced: told.intent.time,
                });
                fold.known.extend([image(Side::Pre), image(Side::Post)]);
                fold.announced = told.intent.time;
                (fold.wanted, fold.ended) = (wanted, ended);
                if told.end.is_some_and(|end| end.outcome == Outcome::Failed)
                    && self.workspace.blocked.contains_key(path)
                {
                    folds.remove(path);
                }
            }
        }
        folds
    }

    fn entry(&self, image: ImageRef) -> Option<&Entry> {
        self.told.get(image.run)?.intent.entries.get(image.entry)
    }

    fn image(&self, image: ImageRef) -> Option<&Image> {
        let entry = self.entry(image)?;
        Some(match image.side {
            Side::Pre => &entry.pre,
            Side::Post => &entry.post,
        })
    }

    /// The files among the known images of a path.
    fn known_files<'s>(
        &'s self,
        fold: &'s Fold,
    ) -> impl Iterator<Item = (ImageRef, &'s FileImage)> {
        fold.known.iter().filter_map(|&known| Some((known, self.image(known)?.file()?)))
    }

    /// The recorded bytes of an image; one that its run did not write may be another's among
    /// `known`.
    fn bytes(&self, known: &[ImageRef], wanted: ImageRef) -> Result<Option<Bytes<D::Handle>>> {
        let Some(file) = self.image(wanted).and_then(Image::file) else { return Ok(None) };
        let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
        let same = known.iter().copied().filter(|&image| {
            self.image(image).and_then(Image::file).is_some_and(|same| same.digest == file.digest)
        });
        for image in std::iter::once(wanted).chain(same) {
            let Some(told) = self.told.get(image.run) else { continue };
            if let Some(bytes) = images.bytes(&told.intent, image.entry, image.side, None)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// What is at a path. Whatever may stand on the way to it is not at this path.
    fn find(&self, path: &RelPath) -> Result<Found<D::Handle>> {
        match self.tree.find(path) {
            Err(Error {
                kind: ErrorKind::UnderAFile { .. } | ErrorKind::Component { .. }, ..
            }) => Ok(Found::Nothing),
            found => found,
        }
    }

    fn judge(&self, path: &RelPath, fold: &Fold) -> Result<Verdict> {
        let Some(wanted) = self.image(fold.wanted) else { return Ok(Verdict::Right) };
        let found = match self.find(path) {
            Err(Error { kind: ErrorKind::OtherFileSystem { .. }, .. }) => {
                return Ok(self.not_ours(fold));
            }
            found => found?,
        };
        Ok(match (wanted, found) {
            (Image::Absent, Found::Nothing) | (Image::Directory(_), Found::Directory) => {
                Verdict::Right
            }
            (Image::File(_) | Image::Directory(_), Found::Nothing)
                if self.was_changed_around(path, fold)? =>
            {
                Verdict::LaterEdit
            }
            (Image::File(file), Found::Nothing) => match file.body {
                // Only attributes changed: whoever removed the file, it was not this run.
                Body::Untouched if self.bytes(&fold.known, fold.wanted)?.is_none() => {
                    Verdict::LaterEdit
                }
                Body::Inline(_)
                | Body::Kept
                | Body::Back
                | Body::Moved(_)
                | Body::Untouched
                | Body::Unrecorded => Verdict::Install,
            },
            (Image::Directory(_), Found::Nothing) => Verdict::Install,
            (_, Found::Other(_)) => self.not_ours(fold),
            (Image::Absent | Image::File(_), Found::Directory) => {
                let mut known = fold.known.iter().filter_map(|&known| self.image(known));
                let ours = known.any(Image::is_directory) || self.was_a_directory(path)?;
                if ours && !self.was_changed_around(path, fold)? {
                    Verdict::Install
                } else {
                    self.not_ours(fold)
                }
            }
            (wanted, Found::File(stat, file)) => self.judge_file(fold, wanted, &stat, &file)?,
        })
    }

    /// Whether a directory is what the inode of one of our files held before it was ours, which is
    /// all that a power cut left of it.
    fn was_a_directory(&self, path: &RelPath) -> Result<bool> {
        let parent = self.tree.existing_parent(path)?;
        let stat = self.workspace.disk.stat_at(&parent, path.name());
        let stat = stat.doing(|| format!("look at `{path}`"))?;
        Ok(stat.is_some_and(|stat| {
            let recorded = self.recorded.get(&stat.inode);
            recorded.is_some_and(|recorded| stat.modified <= recorded.announced)
        }))
    }

    /// Someone else's work is an edit after the run where the run has ended, and needs a person
    /// where it is still to be taken back.
    fn not_ours(&self, fold: &Fold) -> Verdict {
        if fold.ended.is_some() { Verdict::LaterEdit } else { Verdict::Foreign }
    }

    /// Whether this stamp was set by someone between the end of a run and the first recovery. A
    /// later one may be recovery's own.
    fn is_later(&self, ended: Option<Time>, stamp: Time, slack: i64) -> bool {
        ended.is_some_and(|ended| stamp.0 > ended.0.saturating_add(slack))
            && self.began.is_none_or(|began| stamp < began)
    }

    /// Whether someone changed the directory of a path after the last run in it: then what is
    /// missing was removed, and not lost, and what is there again was made.
    fn was_changed_around(&self, path: &RelPath, fold: &Fold) -> Result<bool> {
        match self.tree.parent(path) {
            Ok(Some(parent)) => {
                let stat = self.workspace.disk.stat(&parent);
                let stat = stat.doing(|| format!("look at the directory of `{path}`"))?;
                let ended = self.changed.get(&path.parent()).copied().unwrap_or(fold.ended);
                Ok(self.is_later(ended, stat.modified, 0))
            }
            Ok(None) => match path.parent() {
                Some(directory) => self.was_changed_around(&directory, fold),
                None => Ok(false),
            },
            // Something else stands in the place of a directory.
            Err(Error {
                kind: ErrorKind::UnderAFile { .. } | ErrorKind::Component { .. }, ..
            }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A file is ours if its inode is one that a run recorded and nobody touched it since.
    fn judge_file(
        &self,
        fold: &Fold,
        wanted: &Image,
        stat: &Stat,
        file: &D::Handle,
    ) -> Result<Verdict> {
        let doing = || "compare a file with the journal".to_owned();
        let digest = digest_of(&self.workspace.disk, file).doing(doing)?;
        let attributes = self.tree.attributes(file, stat).doing(doing)?;
        let known = || self.known_files(fold).filter(|(_, known)| known.inode == stat.inode);
        if let Some(wanted) = wanted.file().filter(|wanted| wanted.digest == digest) {
            let lost = match fold.ended {
                // What was set before the end may be lost; what was set after it is an edit.
                Some(ended) => stat.changed <= ended,
                None => {
                    stat.changed <= fold.announced
                        || self.known_files(fold).any(|(_, known)| known.attributes == attributes)
                }
            };
            return Ok(if wanted.attributes == attributes || known().next().is_none() || !lost {
                Verdict::Right
            } else {
                Verdict::Adjust
            });
        }
        let Some(recorded) = self.recorded.get(&stat.inode) else { return Ok(self.not_ours(fold)) };
        // Only the names of its own path are swept so late.
        let slack = if known().next().is_some() { SWEEP_SLACK } else { 0 };
        if stat.modified > recorded.announced || self.is_later(recorded.ended, stat.changed, slack)
        {
            return Ok(self.not_ours(fold));
        }
        Ok(Verdict::Install)
    }

    /// Whether every block of the file is that of an image recorded for its inode, or was never
    /// written.
    fn is_recorded(&self, stat: &Stat, file: &D::Handle) -> Result<bool> {
        let doing = || "compare a file with the journal".to_owned();
        let Some(recorded) = self.recorded.get(&stat.inode) else { return Ok(false) };
        let (mut longest, mut known) = (0, Vec::new());
        let digest = digest_of(&self.workspace.disk, file).doing(doing)?;
        for &of in &recorded.images {
            let Some(image) = self.image(of).and_then(Image::file) else { continue };
            if image.digest == digest {
                return Ok(true);
            }
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

    /// Keeps a displaced file for a person, if the journal does not know what it holds.
    fn keep_unrecorded(&self, displaced: &[u8], stat: &Stat) -> Result<()> {
        let doing = || "keep what was displaced".to_owned();
        let (disk, home) = (&self.workspace.disk, &self.workspace.home);
        if stat.kind != Kind::File {
            return Ok(());
        }
        let file = disk.open_file(&home.stage, displaced).doing(doing)?;
        if self.is_recorded(stat, &file)? {
            return Ok(());
        }
        disk.rename(&home.stage, displaced, &home.lost, displaced, Rename::NoReplace).doing(doing)
    }

    /// Takes away what stands at a path that wants something else; `false` when it cannot be.
    fn clear_the_way(&self, path: &RelPath, fold: &Fold) -> Result<bool> {
        let doing = || format!("put `{path}` right");
        let Some(wanted) = self.image(fold.wanted) else { return Ok(true) };
        let disk = &self.workspace.disk;
        match (wanted, self.find(path)?) {
            (Image::Absent | Image::Directory(_), Found::File(stat, _)) => {
                let parent = self.tree.existing_parent(path)?;
                let name = self.temporary(fold, "gone")?;
                let stage = &self.workspace.home.stage;
                disk.rename(&parent, path.name(), stage, &name, Rename::NoReplace).doing(doing)?;
                let taken = disk.stat_at(stage, &name).doing(doing)?;
                let Some(taken) = taken.filter(|taken| taken.inode == stat.inode) else {
                    let back = disk.rename(stage, &name, &parent, path.name(), Rename::NoReplace);
                    back.doing(doing)?;
                    return Ok(false);
                };
                self.keep_unrecorded(&name, &taken)?;
                Ok(true)
            }
            (Image::Absent | Image::File(_), Found::Directory) => {
                let parent = self.tree.existing_parent(path)?;
                self.tree.forget(path);
                match disk.remove_directory(&parent, path.name()) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                        // Someone put something into a directory of ours: it is theirs now.
                        Ok(matches!(wanted, Image::Absent))
                    }
                    Err(error) => Err(error).doing(doing),
                }
            }
            (Image::Absent | Image::Directory(_) | Image::File(_), _) => Ok(true),
        }
    }

    /// Puts the wanted image at a path.
    fn install(&self, path: &RelPath, fold: &Fold) -> Result<Installed> {
        let doing = || format!("put `{path}` right");
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let wrong = |(what, source)| -> Error {
            ErrorKind::Attributes { path: path.clone(), what, source }.into()
        };
        let Some(wanted) = self.image(fold.wanted) else { return Ok(Installed::Done) };
        if matches!(wanted, Image::Absent) {
            return Ok(Installed::Done);
        }
        let Some(parent) = self.parent_made(path)? else { return Ok(Installed::InTheWay) };
        let before = disk.stat_at(&parent, path.name()).doing(doing)?;
        let name = self.temporary(fold, "new")?;
        match wanted {
            Image::Absent => return Ok(Installed::Done),
            Image::Directory(attributes) => {
                if before.is_some() {
                    return Ok(Installed::InTheWay);
                }
                make_directory(disk, stage, &name, attributes).map_err(wrong)?;
                let directory = disk.open_directory(stage, &name).doing(doing)?;
                disk.sync(&directory, Barrier::Rebuilt).doing(doing)?;
            }
            Image::File(file) => {
                let Some(bytes) = self.bytes(&fold.known, fold.wanted)? else {
                    return Ok(Installed::NoBytes);
                };
                self.build(&name, &bytes, &file.attributes, path)?;
            }
        }
        let Some(before) = before else {
            disk.rename(stage, &name, &parent, path.name(), Rename::NoReplace).doing(doing)?;
            return Ok(Installed::Done);
        };
        let exchange =
            || disk.rename(stage, &name, &parent, path.name(), Rename::Exchange).doing(doing);
        exchange()?;
        let displaced = disk.stat_at(stage, &name).doing(doing)?;
        let Some(displaced) = displaced.filter(|displaced| displaced.inode == before.inode) else {
            exchange()?; // someone was faster: theirs stays
            return Ok(Installed::InTheWay);
        };
        self.keep_unrecorded(&name, &displaced)?;
        Ok(Installed::Done)
    }

    /// The directory of `path`, made where it is missing: a directory that was there when the run
    /// was committed may be lost with the power. `None` where something else stands in its place.
    fn parent_made(&self, path: &RelPath) -> Result<Option<Parent<'_, D::Handle>>> {
        match self.tree.parent(path) {
            Ok(Some(parent)) => return Ok(Some(parent)),
            Ok(None) => {}
            Err(Error { kind: ErrorKind::Io { source, action }, state }) => {
                return Err(Error { kind: ErrorKind::Io { source, action }, state });
            }
            Err(_) => return Ok(None),
        }
        let Some(directory) = path.parent() else { return Ok(None) };
        let Some(above) = self.parent_made(&directory)? else { return Ok(None) };
        let mode = FileMode::new(0o777 & !self.workspace.disk.umask());
        let made = self.workspace.disk.make_directory(&above, directory.name(), mode);
        made.doing(|| format!("make the directory `{directory}` again"))?;
        self.tree.parent(path)
    }

    fn build(
        &self,
        name: &[u8],
        bytes: &Bytes<D::Handle>,
        attributes: &Attributes,
        path: &RelPath,
    ) -> Result<()> {
        let doing = || format!("put `{path}` right");
        let workspace = self.workspace;
        let images = Images { disk: &workspace.disk, home: &workspace.home };
        let file =
            workspace.disk.create(&workspace.home.stage, name, attributes.mode).doing(doing)?;
        images.write_to(&file, bytes).doing(doing)?;
        set_attributes(&workspace.disk, &file, attributes).map_err(|(what, source)| {
            Error::from(ErrorKind::Attributes { path: path.clone(), what, source })
        })?;
        workspace.disk.sync(&file, Barrier::Rebuilt).doing(doing)
    }

    /// Sets the attributes of a file whose bytes are as wanted.
    fn adjust(&self, fold: &Fold) -> Result<bool> {
        let (Some(entry), Some(wanted)) = (self.entry(fold.wanted), self.image(fold.wanted)) else {
            return Ok(true);
        };
        let parent = self.tree.existing_parent(&entry.path)?;
        let stat = self.workspace.disk.stat_at(&parent, entry.path.name());
        let stat = stat.doing(|| format!("put `{}` right", entry.path))?;
        let mut there = entry.clone();
        if let (Image::File(file), Some(stat)) = (&mut there.pre, stat) {
            file.inode = stat.inode;
        } else if let (Some(file), Some(stat)) = (wanted.file(), stat) {
            there.pre = Image::File(FileImage { inode: stat.inode, ..file.clone() });
        }
        set_in_place(&self.tree, &there, wanted)?;
        Ok(true)
    }

    /// A free name in the stage directory.
    fn temporary(&self, fold: &Fold, word: &str) -> Result<Vec<u8>> {
        let doing = || "put a path right".to_owned();
        let Some(told) = self.told.get(fold.wanted.run) else { return Ok(Vec::new()) };
        let stem = stage_name(told.intent.run, fold.wanted.entry);
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        for attempt in 0u32.. {
            let name = [&stem, format!(".{word}{attempt}").as_bytes()].concat();
            if disk.stat_at(stage, &name).doing(doing)?.is_none() {
                return Ok(name);
            }
        }
        Ok(Vec::new())
    }
}

/// What the journal says about each inode, by its number.
fn recorded(told: &[Told]) -> HashMap<u64, Recorded> {
    let mut all: HashMap<u64, Recorded> = HashMap::new();
    for (run, Told { intent, end, .. }) in told.iter().enumerate() {
        for (index, entry) in intent.entries.iter().enumerate() {
            for (side, image) in [(Side::Pre, &entry.pre), (Side::Post, &entry.post)] {
                let Some(file) = image.file() else { continue };
                let recorded = all.entry(file.inode).or_default();
                recorded.images.push(ImageRef { run, entry: index, side });
                recorded.announced = intent.time;
                recorded.ended = end.map(|end| end.time);
            }
        }
    }
    all
}

fn changed_directories(told: &[Told]) -> HashMap<Option<RelPath>, Option<Time>> {
    let mut changed = HashMap::new();
    for Told { intent, end, .. } in told {
        for entry in &intent.entries {
            changed.insert(entry.path.parent(), end.map(|end| end.time));
        }
    }
    changed
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
