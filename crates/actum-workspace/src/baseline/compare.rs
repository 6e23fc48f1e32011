//! Compares the workspace with its baseline to find changes that were not made by any run.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use actum_core::{Digest, RelPath, RunId};

use super::contents::{Contents, FILE_BYTES_MAX};
use super::scan::Scan;
use super::{Baseline, Known, KnownFiles, Source, Stamp};
use crate::attributes::Attributes;
use crate::content::Opened;
use crate::disk::{Disk, Kind};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::history::images::Images;
use crate::journal::record::{Image, Outcome, Side};
use crate::tree::{Found, Tree, digest_of_found, read_whole};
use crate::workspace::Workspace;

/// Kind of an undeclared change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndeclaredChange {
    /// The path did not exist before.
    Created,
    /// The content, attributes or kind of the object at the path changed.
    Modified,
    /// The path no longer exists.
    Deleted,
}

/// Change to a path that was not made by any run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undeclared {
    /// Path that changed.
    pub path: RelPath,
    /// Kind of the change.
    pub change: UndeclaredChange,
    /// Kind of the object at the path, or of the deleted object if the path no longer exists.
    pub kind: Kind,
    pub(crate) before: Before,
}

/// Reason why an undeclared change cannot be adopted as a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotAdoptable {
    /// The content before the change is not stored, so the run could not be undone.
    ContentUnknown,
    /// A later run changed the path again, so the change is part of that run.
    ChangedByRun,
    /// The path is or was a device, FIFO or socket, or a directory that was not searched.
    Special,
    /// The path cannot be read, or it changed between a file and a directory.
    InTheWay,
}

impl Undeclared {
    /// Returns true if the change can be adopted as a run. This requires that the earlier state is known and that the
    /// object is not a device, FIFO or socket.
    pub fn is_adoptable(&self) -> bool {
        self.obstacle().is_none()
    }

    /// Returns the reason why the change cannot be adopted, if it is known without reading the earlier content.
    pub(crate) fn obstacle(&self) -> Option<NotAdoptable> {
        let is_small = |image: &Image| image.file().is_none_or(|file| file.size <= FILE_BYTES_MAX);
        match &self.before {
            Before::Other(_) => Some(NotAdoptable::Special),
            Before::Buried => Some(NotAdoptable::ChangedByRun),
            Before::Absent | Before::Directory(_) | Before::File(..) | Before::Run(..)
                if self.kind == Kind::Special =>
            {
                Some(NotAdoptable::Special)
            }
            Before::File(_, Source::Nowhere) => Some(NotAdoptable::ContentUnknown),
            Before::Run(_, _, image) if !is_small(image) => Some(NotAdoptable::ContentUnknown),
            Before::Absent | Before::Directory(_) | Before::File(..) | Before::Run(..) => None,
        }
    }
}

/// State of a path before an undeclared change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    Absent,
    Directory(Stamp),
    /// A file or symbolic link.
    File(Stamp, Source),
    /// The image that a run left at the path: the post-image of the entry with this index.
    Run(RunId, usize, Image),
    /// A device, FIFO or socket, or a directory that was not searched.
    Other(Kind),
    /// A state that differs from the one that a later run found. The undeclared change therefore became a part of that
    /// run.
    Buried,
}

impl Before {
    fn new(known: Option<&Known>) -> Self {
        let Some(known) = known else { return Self::Absent };
        match known.stamp.kind {
            Kind::File | Kind::Symlink => Self::File(known.stamp, known.source),
            Kind::Directory => Self::Directory(known.stamp),
            kind @ Kind::Special => Self::Other(kind),
        }
    }
}

impl<D: Disk> Workspace<D> {
    /// Returns the differences from the baseline that were not made by any run.
    ///
    /// # Errors
    /// `Io` if a file cannot be read.
    pub(crate) fn compare(
        &self,
        baseline: &Baseline,
        scan: &Scan,
        known: &mut dyn KnownFiles,
    ) -> Result<Vec<Undeclared>> {
        // Directories that the current scan did not search have unknown contents.
        let is_unseen = |path: &RelPath| {
            let above = std::iter::successors(path.parent(), RelPath::parent);
            std::iter::once(path.clone()).chain(above).any(|it| scan.left_out.contains(&it))
        };
        let mut paths = BTreeSet::new();
        let (mut found, mut known_files) =
            (scan.found.iter().peekable(), baseline.files.iter().peekable());
        loop {
            let order = match (found.peek(), known_files.peek()) {
                (Some((now, _)), Some((was, _))) => now.cmp(was),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let now = found.next_if(|_| order.is_le());
            let was = known_files.next_if(|_| order.is_ge());
            match (now, was) {
                (Some((path, stat)), Some((_, was))) => {
                    if was.is_fresh || was.stamp.differs(&Stamp::from(stat)) {
                        paths.insert(path);
                    }
                }
                (Some((path, _)), None) => drop(paths.insert(path)),
                // The path is missing from the scan, or an unsearched directory has replaced the file.
                (None, Some((path, was)))
                    if !is_unseen(path)
                        || was.stamp.kind != Kind::Directory && scan.left_out.contains(path) =>
                {
                    paths.insert(path);
                }
                (None, _) => {}
            }
        }
        let (runs, buried) = self.left_by_runs(baseline)?;
        // If a path was restored to its state in the baseline after a run changed it, it differs from the result of the
        // run.
        paths.extend(runs.keys().filter(|path| !is_unseen(path)));
        let mut undeclared = Vec::new();
        for path in paths {
            let now = scan.found.get(path).map(Stamp::from);
            let before = match runs.get(path) {
                Some((run, index, image)) => Before::Run(*run, *index, image.clone()),
                // The directory existed at the time of the baseline, but its contents are unknown.
                None if baseline.left_out.contains(path) => Before::Other(Kind::Directory),
                None => Before::new(baseline.files.get(path)),
            };
            undeclared.extend(self.change_of(path, now, before, known)?);
        }
        for path in buried {
            if !undeclared.iter().any(|change| change.path == path) {
                let (change, kind) = (UndeclaredChange::Modified, Kind::File);
                undeclared.push(Undeclared { path, change, kind, before: Before::Buried });
            }
        }
        Ok(undeclared)
    }

    /// Compares the current state of a path with an earlier state. Returns `None` if they are equal.
    pub(crate) fn drifted(
        &self,
        path: &RelPath,
        before: Before,
        known: &mut dyn KnownFiles,
    ) -> Result<Option<Undeclared>> {
        self.change_of(path, self.stamp_at(path)?, before, known)
    }

    /// Returns the stamp of the object at a path, or `None` if the path does not exist or cannot be reached.
    pub(crate) fn stamp_at(&self, path: &RelPath) -> Result<Option<Stamp>> {
        let tree = Tree::new(&self.disk, &self.home.root);
        let Ok(Some(parent)) = tree.parent(path) else { return Ok(None) };
        let stat = self.disk.stat_at(&parent, path.name());
        Ok(stat.doing(|| format!("read the metadata of `{path}`"))?.as_ref().map(Stamp::from))
    }

    /// Returns the change of a path from the state `before` to the stamp `now`, or `None` if it did not change.
    fn change_of(
        &self,
        path: &RelPath,
        now: Option<Stamp>,
        before: Before,
        known: &mut dyn KnownFiles,
    ) -> Result<Option<Undeclared>> {
        if self.is_as_before(path, now.as_ref(), &before, known)? {
            return Ok(None);
        }
        let was = match &before {
            Before::Absent | Before::Run(_, _, Image::Absent) => None,
            Before::Directory(_) | Before::Run(_, _, Image::Directory(_)) => Some(Kind::Directory),
            Before::File(stamp, _) => Some(stamp.kind),
            Before::Run(_, _, Image::File(file)) => Some(kind_of(&file.attributes)),
            Before::Other(kind) => Some(*kind),
            Before::Buried => Some(Kind::File),
        };
        let (change, kind) = match (was, now.map(|now| now.kind)) {
            (None, None) => return Ok(None),
            (None, Some(kind)) => (UndeclaredChange::Created, kind),
            (Some(kind), None) => (UndeclaredChange::Deleted, kind),
            (Some(_), Some(kind)) => (UndeclaredChange::Modified, kind),
        };
        Ok(Some(Undeclared { path: path.clone(), change, kind, before }))
    }

    /// Returns the final images that runs after the baseline left at their paths. Also returns the paths at which a run
    /// did not find the state that the baseline or the previous run would suggest.
    fn left_by_runs(&self, baseline: &Baseline) -> Result<(LeftByRuns, BTreeSet<RelPath>)> {
        let runs = self.runs()?;
        let (mut left, mut buried) = (LeftByRuns::new(), BTreeSet::new());
        let later = runs.refs().iter().filter(|run| run.sequence > baseline.sequence);
        for known in later.filter(|run| run.outcome != Outcome::RolledBack) {
            // Skip damaged records, because their results are unknown.
            let Ok((intent, _)) = runs.read_found(known) else { continue };
            for (index, entry) in intent.entries.iter().enumerate() {
                let is_expected = match left.get(&entry.path) {
                    Some((_, _, image)) => is_same_content(image, &entry.pre),
                    None => baseline.may_have(&entry.path, &entry.pre),
                };
                if !is_expected {
                    buried.insert(entry.path.clone());
                }
                left.insert(entry.path.clone(), (known.run, index, entry.post.clone()));
            }
        }
        Ok((left, buried))
    }

    /// Returns true if a path still has the state `before`. Compares the content if the stamp is inconclusive.
    fn is_as_before(
        &self,
        path: &RelPath,
        now: Option<&Stamp>,
        before: &Before,
        known: &mut dyn KnownFiles,
    ) -> Result<bool> {
        let Some(now) = now else {
            return Ok(matches!(before, Before::Absent | Before::Run(_, _, Image::Absent)));
        };
        let has = |attributes: &Attributes| {
            (attributes.mode, attributes.user, attributes.group) == (now.mode, now.user, now.group)
        };
        Ok(match before {
            Before::Absent
            | Before::Other(_)
            | Before::Buried
            | Before::Run(_, _, Image::Absent) => false,
            Before::Directory(stamp) => !stamp.differs(now),
            Before::Run(_, _, Image::Directory(attributes)) => {
                now.kind == Kind::Directory && has(attributes)
            }
            Before::Run(_, _, Image::File(file)) => {
                now.kind == kind_of(&file.attributes)
                    && now.size == file.size
                    && has(&file.attributes)
                    && self.digest_at(path)? == Some(file.digest)
            }
            Before::File(stamp, source) => {
                let same =
                    |stamp: &Stamp| (stamp.kind, stamp.size, stamp.mode, stamp.user, stamp.group);
                same(stamp) == same(now)
                    && match source {
                        Source::Copy(digest) => self.digest_at(path)? == Some(*digest),
                        Source::Blob(blob) => match known.read(*blob) {
                            Some(bytes) => self.digest_at(path)? == Some(Digest::of(&bytes)),
                            None => stamp == now,
                        },
                        Source::Nowhere => stamp == now,
                    }
            }
        })
    }

    /// Returns the digest of the file at a path, or of the target of a symbolic link. Returns `None` if the path is
    /// neither, or if it cannot be read.
    fn digest_at(&self, path: &RelPath) -> Result<Option<Digest>> {
        let (stat, file) = match Tree::new(&self.disk, &self.home.root).find(path) {
            Ok(Found::File(stat, file)) => (stat, file),
            Ok(Found::Nothing | Found::Directory | Found::Other(_)) => return Ok(None),
            Err(error) if is_permanent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let digest = digest_of_found(&self.disk, &file, &stat);
        digest.doing(|| format!("read `{path}`")).map(Some)
    }

    /// Returns the state of a path before a change in the form of a baseline entry, or `None` if it did not exist.
    pub(super) fn known_before(
        &self,
        change: &Undeclared,
        baseline: &Baseline,
        contents: &mut Contents<D::Handle>,
    ) -> Result<Option<Known>> {
        let Before::Run(run, index, image) = &change.before else {
            let known = baseline.files.get(&change.path).copied();
            if let Some(Known { source: Source::Copy(digest), stamp, .. }) = known {
                contents.has(digest, stamp.size);
            }
            return Ok(known);
        };
        let (kind, size, attributes, inode) = match image {
            Image::Absent => return Ok(None),
            Image::Directory(attributes) => (Kind::Directory, 0, attributes, 0),
            Image::File(file) => {
                (kind_of(&file.attributes), file.size, &file.attributes, file.inode)
            }
        };
        let source = match self.bytes_left(*run, *index, image)? {
            Some(bytes) => Source::Copy(contents.write(&self.disk, &bytes)?),
            None => Source::Nowhere,
        };
        let &Attributes { mode, user, group, .. } = attributes;
        let (modified, changed) = Default::default();
        let stamp = Stamp { kind, inode, size, mode, user, group, modified, changed };
        Ok(Some(Known { stamp, source, is_fresh: true }))
    }

    /// Returns the bytes that a run left at the path of an entry, or `None` if they were not kept.
    fn bytes_left(&self, run: RunId, index: usize, image: &Image) -> Result<Option<Vec<u8>>> {
        let Some(file) = image.file().filter(|file| file.size <= FILE_BYTES_MAX) else {
            return Ok(None);
        };
        if let Some(copy) = self.read_copy(file.digest)? {
            return Ok(Some(copy));
        }
        let runs = self.runs()?;
        let (intent, _): (Cow<'_, _>, _) = runs.read(run)?;
        let images = Images { disk: &self.disk, home: &self.home };
        let doing = || "read a recorded image".to_owned();
        let Some(bytes) = images.bytes(&intent, index, Side::Post, None)? else { return Ok(None) };
        Ok(match bytes.opened(&self.disk).doing(doing)? {
            Opened::Memory(bytes) => Some(bytes.to_vec()),
            Opened::File(file) => {
                let size = self.disk.stat(&file).doing(doing)?.size;
                Some(read_whole(&self.disk, &file, size).doing(doing)?)
            }
        })
    }

    /// Returns the bytes that a path had before a change, if they are known and have the recorded size.
    pub(crate) fn bytes_before(
        &self,
        before: &Before,
        known: &mut dyn KnownFiles,
    ) -> Result<Option<Vec<u8>>> {
        Ok(match before {
            Before::Absent | Before::Directory(_) | Before::Other(_) | Before::Buried => None,
            Before::Run(run, index, image) => self.bytes_left(*run, *index, image)?,
            Before::File(stamp, source) => {
                let bytes = match source {
                    Source::Nowhere => None,
                    Source::Copy(digest) => self.read_copy(*digest)?,
                    Source::Blob(blob) => known.read(*blob),
                };
                bytes.filter(|bytes| u64::try_from(bytes.len()) == Ok(stamp.size))
            }
        })
    }
}

/// For each path, the last run that changed it, the index of its entry in that run, and the resulting image.
type LeftByRuns = BTreeMap<RelPath, (RunId, usize, Image)>;

/// Returns true if two images have the same kind and content, ignoring their attributes.
fn is_same_content(one: &Image, other: &Image) -> bool {
    match (one, other) {
        (Image::Absent, Image::Absent) | (Image::Directory(_), Image::Directory(_)) => true,
        (Image::File(one), Image::File(other)) => one.digest == other.digest,
        (Image::Absent | Image::Directory(_) | Image::File(_), _) => false,
    }
}

impl Baseline {
    /// Returns true if the information in the baseline is consistent with this image at a path.
    fn may_have(&self, path: &RelPath, image: &Image) -> bool {
        let is_left_out = || {
            std::iter::successors(path.parent(), RelPath::parent)
                .any(|it| self.left_out.contains(&it))
        };
        match (self.files.get(path), image) {
            (None, Image::Absent) => true,
            (None, Image::Directory(_) | Image::File(_)) => {
                !self.is_whole || self.left_out.contains(path) || is_left_out()
            }
            (Some(_), Image::Absent) => !self.is_whole,
            (Some(known), Image::Directory(_)) => known.stamp.kind == Kind::Directory,
            (Some(Known { source: Source::Copy(digest), .. }), Image::File(file)) => {
                *digest == file.digest
            }
            (Some(known), Image::File(file)) => {
                known.stamp.kind == kind_of(&file.attributes) && known.stamp.size == file.size
            }
        }
    }
}

/// Returns whether attributes belong to a file or to a symbolic link.
pub(crate) fn kind_of(attributes: &Attributes) -> Kind {
    if attributes.mode.is_link() { Kind::Symlink } else { Kind::File }
}

/// Returns true if the error persists until the workspace changes: the path cannot be reached, or this process lacks
/// the permission to read it.
fn is_permanent(error: &Error) -> bool {
    if let ErrorKind::Io { source, .. } = &error.kind {
        return source.kind() == io::ErrorKind::PermissionDenied;
    }
    true
}
