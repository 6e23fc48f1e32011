//! Recovery after the file system may have lost something: nothing about the tree can be assumed,
//! so every path of the journal is compared with the image it should hold.
//!
//! The wanted image of a path is its post-image where its last run is committed, else its
//! pre-image. Only what is provably ours is touched: the path is missing, or its inode is one that
//! a run recorded and its bytes are a recorded image or a torn mixture of such. Everything else is
//! someone's work and stays.

use std::collections::BTreeMap;
use std::io;


use actum_core::RelPath;

use crate::content::set_attributes;
use crate::disk::{Barrier, Disk, Rename, Stat, Time};
use crate::error::{Doing, Error, ErrorKind, Result};
use crate::images::Images;
use crate::node::Bytes;
use crate::publish::set_in_place;
use crate::record::{Attributes, Body, Entry, FileImage, Image, Outcome, Side, stage_name};
use crate::recovery::Told;
use crate::rollback::make_directory;
use crate::tree::{Found, Tree, digest_of};
use crate::workspace::Workspace;

/// The unit in which file systems lose data, in bytes.
const BLOCK: usize = 4096;

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
    /// When the last committed run on the path ended; `None` while it wants a pre-image.
    committed: Option<Time>,
    /// When the last INTENT on the path was written.
    announced: Time,
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
        };
        rebuilder.run()
    }
}

struct Rebuilder<'a, D: Disk> {
    workspace: &'a Workspace<D>,
    tree: Tree<'a, D>,
    told: &'a [Told],
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
                    Verdict::Install => self.install(path, fold)?,
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
            let committed =
                told.end.filter(|end| end.outcome == Outcome::Committed).map(|end| end.time);
            for (entry, Entry { path, .. }) in told.intent.entries.iter().enumerate() {
                let image = |side| ImageRef { run, entry, side };
                let wanted = image(if committed.is_some() { Side::Post } else { Side::Pre });
                let fold = folds.entry(path.clone()).or_insert_with(|| Fold {
                    wanted,
                    known: Vec::new(),
                    committed,
                    announced: told.intent.time,
                });
                fold.known.extend([image(Side::Pre), image(Side::Post)]);
                fold.announced = told.intent.time;
                // A run that was taken back leaves the wish of the run before it.
                if committed.is_some() {
                    (fold.wanted, fold.committed) = (wanted, committed);
                }
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
    fn known_files<'s>(&'s self, fold: &'s Fold) -> impl Iterator<Item = (ImageRef, &'s FileImage)> {
        fold.known.iter().filter_map(|&known| Some((known, self.image(known)?.file()?)))
    }

    /// The recorded bytes of an image; one that its run did not write may be known from another.
    fn bytes(&self, fold: &Fold, wanted: ImageRef) -> Result<Option<Bytes<D::Handle>>> {
        let Some(file) = self.image(wanted).and_then(Image::file) else { return Ok(None) };
        let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
        let same = self.known_files(fold).filter(|(_, known)| known.digest == file.digest);
        for image in std::iter::once(wanted).chain(same.map(|(known, _)| known)) {
            let Some(told) = self.told.get(image.run) else { continue };
            if let Some(bytes) = images.bytes(&told.intent, image.entry, image.side, None)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    fn judge(&self, path: &RelPath, fold: &Fold) -> Result<Verdict> {
        let Some(wanted) = self.image(fold.wanted) else { return Ok(Verdict::Right) };
        let found = match self.tree.find(path) {
            Ok(found) => found,
            // Something is on the way that was not there.
            Err(Error { kind: ErrorKind::Io { source, action }, state }) => {
                return Err(Error { kind: ErrorKind::Io { source, action }, state });
            }
            Err(_) => return Ok(Verdict::Foreign),
        };
        Ok(match (wanted, found) {
            (Image::Absent, Found::Nothing) | (Image::Directory(_), Found::Directory) => {
                Verdict::Right
            }
            (Image::File(file), Found::Nothing) => match file.body {
                // Only attributes changed: whoever removed the file, it was not this run.
                Body::Untouched if self.bytes(fold, fold.wanted)?.is_none() => Verdict::LaterEdit,
                _ => Verdict::Install,
            },
            (Image::Directory(_), Found::Nothing) => Verdict::Install,
            (_, Found::Other(_)) => self.not_ours(fold),
            (Image::Absent | Image::File(_), Found::Directory) => {
                if fold.known.iter().any(|&k| self.image(k).is_some_and(Image::is_directory)) {
                    Verdict::Install
                } else {
                    self.not_ours(fold)
                }
            }
            (wanted, Found::File(stat, file)) => self.judge_file(fold, wanted, &stat, &file)?,
        })
    }

    /// Someone else's work is an edit after the run where the run is committed, and needs a person
    /// where the run is to be taken back.
    fn not_ours(&self, fold: &Fold) -> Verdict {
        if fold.committed.is_some() { Verdict::LaterEdit } else { Verdict::Foreign }
    }

    fn judge_file(
        &self,
        fold: &Fold,
        wanted: &Image,
        stat: &Stat,
        file: &D::Handle,
    ) -> Result<Verdict> {
        let doing = || "compare a file with the journal".to_owned();
        let disk = &self.workspace.disk;
        let digest = digest_of(disk, file).doing(doing)?;
        let attributes = self.tree.attributes(file, stat).doing(doing)?;
        let wanted_file = wanted.file();
        if wanted_file.is_some_and(|w| w.digest == digest && w.attributes == attributes) {
            return Ok(Verdict::Right);
        }
        if !self.known_files(fold).any(|(_, known)| known.inode == stat.inode) {
            return Ok(self.not_ours(fold));
        }
        let is_known = self.known_files(fold).any(|(_, known)| known.digest == digest);
        // The commit itself takes away the second name of a moved inode, which moves its stamp.
        let moved = |known: &FileImage| matches!(known.body, Body::Moved(_)) || self.is_moved(known);
        let stamp_may_be_ours = self.known_files(fold).any(|(_, k)| k.inode == stat.inode && moved(k));
        if let Some(committed) = fold.committed
            && stat.changed > committed
            && !(is_known && stamp_may_be_ours)
        {
            return Ok(Verdict::LaterEdit);
        }
        if wanted_file.is_some_and(|wanted| wanted.digest == digest) {
            return Ok(Verdict::Adjust);
        }
        let torn = || Ok::<_, Error>(stat.modified <= fold.announced && self.is_torn(fold, stat, file)?);
        if is_known || torn()? { Ok(Verdict::Install) } else { Ok(self.not_ours(fold)) }
    }

    /// Whether some run moved this inode to another path.
    fn is_moved(&self, file: &FileImage) -> bool {
        let mut posts = self.told.iter().flat_map(|told| &told.intent.entries);
        posts.any(|entry| {
            entry.post.file().is_some_and(|post| {
                matches!(post.body, Body::Moved(_)) && post.inode == file.inode
            })
        })
    }

    /// Whether every block of the file is that of a known image or was never written.
    fn is_torn(&self, fold: &Fold, stat: &Stat, file: &D::Handle) -> Result<bool> {
        let doing = || "compare a file with the journal".to_owned();
        let mut known = Vec::new();
        for (image, _) in self.known_files(fold) {
            known.extend(self.bytes(fold, image)?);
        }
        let longest = self.known_files(fold).map(|(_, file)| file.size).max().unwrap_or(0);
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

    /// Takes away what stands at a path that wants something else; `false` when it cannot be.
    fn clear_the_way(&self, path: &RelPath, fold: &Fold) -> Result<bool> {
        let doing = || format!("put `{path}` right");
        let Some(wanted) = self.image(fold.wanted) else { return Ok(true) };
        let disk = &self.workspace.disk;
        match (wanted, self.tree.find(path)?) {
            (Image::Absent | Image::Directory(_), Found::File(stat, _)) => {
                let parent = self.tree.existing_parent(path)?;
                let name = self.temporary(fold, "gone")?;
                let stage = &self.workspace.home.stage;
                disk.rename(&parent, path.name(), stage, &name, Rename::NoReplace).doing(doing)?;
                let taken = disk.stat_at(stage, &name).doing(doing)?;
                if taken.is_none_or(|taken| taken.inode != stat.inode) {
                    let back = disk.rename(stage, &name, &parent, path.name(), Rename::NoReplace);
                    back.doing(doing)?;
                    return Ok(false);
                }
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

    /// Puts the wanted image at a path; `false` when that is not possible.
    fn install(&self, path: &RelPath, fold: &Fold) -> Result<bool> {
        let doing = || format!("put `{path}` right");
        let (disk, stage) = (&self.workspace.disk, &self.workspace.home.stage);
        let wrong = |(what, source)| -> Error {
            ErrorKind::Attributes { path: path.clone(), what, source }.into()
        };
        let Some(wanted) = self.image(fold.wanted) else { return Ok(true) };
        if matches!(wanted, Image::Absent) {
            return Ok(true);
        }
        let Some(parent) = self.tree.parent(path)? else { return Ok(false) };
        let before = disk.stat_at(&parent, path.name()).doing(doing)?;
        let name = self.temporary(fold, "new")?;
        match wanted {
            Image::Absent => return Ok(true),
            Image::Directory(attributes) => {
                if before.is_some() {
                    return Ok(false);
                }
                make_directory(disk, stage, &name, attributes).map_err(wrong)?;
                let directory = disk.open_directory(stage, &name).doing(doing)?;
                disk.sync(&directory, Barrier::Rebuilt).doing(doing)?;
            }
            Image::File(file) => {
                let Some(bytes) = self.bytes(fold, fold.wanted)? else { return Ok(false) };
                self.build(&name, &bytes, &file.attributes, path)?;
            }
        }
        let Some(before) = before else {
            disk.rename(stage, &name, &parent, path.name(), Rename::NoReplace).doing(doing)?;
            return Ok(true);
        };
        let exchange = || {
            disk.rename(stage, &name, &parent, path.name(), Rename::Exchange).doing(doing)
        };
        exchange()?;
        let displaced = disk.stat_at(stage, &name).doing(doing)?;
        if displaced.is_none_or(|displaced| displaced.inode != before.inode) {
            exchange()?; // someone was faster: theirs stays
            return Ok(false);
        }
        Ok(true)
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

