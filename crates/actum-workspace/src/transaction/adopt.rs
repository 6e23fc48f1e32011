//! Adoption of changes that another program has already published, as a run of their own. The state before the run
//! comes from a snapshot, and the state after it is on disk. No file is touched, and a single record both announces and
//! commits the run.

use std::collections::BTreeMap;
use std::sync::Arc;

use actum_core::text::LineCounter;
use actum_core::{Digest, RelPath, RunId};

use crate::baseline::kind_of;
use crate::content::{Bytes, Opened};
use crate::disk::{Disk, Stat, Time};
use crate::error::{Attempt, ErrorKind, Result, ResultExt};
use crate::history::images::Images;
use crate::journal::record::{Body, FileImage, Image, Intent, RunKind, Side};
use crate::snapshot::SnapshotId;
use crate::transaction::Transaction;
use crate::transaction::node::{Content, Counted, New, Node, Post, PostFile, Pre, PreFile};
use crate::tree::{Found, Tree, digest_of, stamp_is_fresh};

/// Facts about a change that is adopted.
pub(crate) struct Adoption {
    pub(crate) id: SnapshotId,
    /// Run id under which the snapshot's contents are stored in the keep directory.
    pub(crate) kept_under: RunId,
    /// Time at which the files were examined.
    pub(crate) looked_at: Time,
    /// Maps each path of the snapshot to its index there and to the metadata of the file now at that path.
    pub(crate) paths: BTreeMap<RelPath, (usize, Option<Stat>)>,
}

impl<D: Disk> Transaction<'_, D> {
    /// Reads a path and its missing parent directories, so that the next snapshot includes them.
    ///
    /// # Errors
    /// `NotAFile` for a symbolic link, because a program that edits the link would change a different file; errors of
    /// reading the path.
    pub fn look_at(&mut self, path: &RelPath) -> Result<()> {
        self.node(path)?.pre.refuse_link(path)?;
        let mut above = path.parent();
        while let Some(directory) = above {
            if !matches!(self.node(&directory)?.pre, Pre::Absent) {
                break;
            }
            above = directory.parent();
        }
        Ok(())
    }

    /// Turns the transaction into a run that adopts the changes made by another program since the snapshot was taken.
    /// The changes are already visible, and the commit records them without touching any file. If a path changes again
    /// before the commit, the commit fails with a conflict. A successful commit removes the snapshot.
    ///
    /// # Errors
    /// `NoSnapshot`; `LostImage` if the snapshot has lost the content of a file; errors of reading a path.
    pub fn adopt(&mut self, id: SnapshotId) -> Result<()> {
        let found = self.look_at_snapshot(id)?;
        let (snapshot, looked_at) = (found.snapshot, found.looked_at);
        let mut paths = BTreeMap::new();
        for (index, (entry, there)) in snapshot.entries.iter().zip(found.there).enumerate() {
            let pre = self.pre_of(&snapshot, index)?;
            let stat = there.file().map(|file| file.stat);
            let post = adopted(&entry.path, &pre, there);
            self.nodes.insert(entry.path.clone(), Node { pre, post });
            paths.insert(entry.path.clone(), (index, stat));
        }
        // The run separates no hard links, because the other program has already written the files.
        self.broken_links.clear();
        self.adoption = Some(Adoption { id, kept_under: snapshot.run, looked_at, paths });
        Ok(())
    }

    /// Returns the digest of the file that the change leaves at each path, or `None` for a path at which it leaves no
    /// file.
    pub fn files_left(&self) -> BTreeMap<RelPath, Option<Digest>> {
        let left = self.nodes.iter().map(|(path, node)| match &node.post {
            Post::File(file) => (path.clone(), Some(file.digest)),
            Post::Absent | Post::Directory(_) => (path.clone(), None),
        });
        left.collect()
    }

    /// Turns the transaction into a run that restores the state of a snapshot. If the gates refused to adopt a change,
    /// `refused` names that change and the run is recorded as its undo. Otherwise it is an ordinary change. `judged`
    /// has the digests of the files that the gates examined. A file that differs from its digest was saved again by
    /// some process, so it must not be overwritten.
    ///
    /// # Errors
    /// `Conflict` for the first path in `judged` that has changed again; any error of [`adopt`](Self::adopt).
    pub fn restore(
        &mut self,
        id: SnapshotId,
        refused: Option<RunId>,
        judged: &BTreeMap<RelPath, Option<Digest>>,
    ) -> Result<()> {
        if let Some(refused) = refused {
            self.kind = RunKind::Undo(refused);
            self.undoes_change = true;
        }
        let found = self.look_at_snapshot(id)?;
        let snapshot = found.snapshot;
        for (entry, there) in snapshot.entries.iter().zip(&found.there) {
            let now = there.file().map(|file| file.digest);
            if judged.get(&entry.path).is_some_and(|judged| *judged != now) {
                let detail = "it changed after the gates refused the change";
                return Err(ErrorKind::Conflict { path: entry.path.clone(), detail }.into());
            }
        }
        for (entry, there) in snapshot.entries.iter().zip(found.there) {
            let post = there.unchanged();
            self.nodes.insert(entry.path.clone(), Node { pre: there, post });
        }
        for (index, entry) in snapshot.entries.iter().enumerate() {
            let post = match &entry.pre {
                // Keep the directory, because it may contain files that the other program created in the meantime.
                Image::Absent if self.is_directory(&entry.path) => continue,
                Image::Absent => Post::Absent,
                Image::Directory(attributes) => {
                    if !self.is_directory(&entry.path) {
                        self.make_parents(&entry.path)?;
                    }
                    Post::Directory(attributes.clone())
                }
                Image::File(file) => {
                    self.make_parents(&entry.path)?;
                    Post::File(self.restored(&snapshot, index, (&entry.path, file))?)
                }
            };
            self.set(&entry.path, post)?;
        }
        for entry in snapshot.entries.iter().rev() {
            let made = matches!(entry.pre, Image::Absent) && self.is_directory(&entry.path);
            if made && self.is_empty_directory(&entry.path)? {
                self.set(&entry.path, Post::Absent)?;
            }
        }
        self.restored_snapshot = Some(id);
        Ok(())
    }

    fn is_directory(&self, path: &RelPath) -> bool {
        self.nodes.get(path).is_some_and(|node| matches!(node.pre, Pre::Directory(_)))
    }

    /// Reads the current state of every path of a snapshot, before the known state of any of them is replaced.
    fn look_at_snapshot(&mut self, id: SnapshotId) -> Result<LookedAt<D::Handle>> {
        let snapshot = self.workspace.read_snapshot(id)?;
        let looked_at = self.workspace.disk.now();
        let mut there = Vec::with_capacity(snapshot.entries.len());
        for entry in &snapshot.entries {
            self.in_scope(&entry.path)?;
            there.push(self.look(&entry.path, &mut || false)?);
        }
        Ok(LookedAt { snapshot, looked_at, there })
    }

    /// Returns the state of a path at the time of the snapshot.
    fn pre_of(&self, snapshot: &Intent, index: usize) -> Result<Pre<D::Handle>> {
        let Some(entry) = snapshot.entries.get(index) else { return Ok(Pre::Absent) };
        let file = match &entry.pre {
            Image::Absent => return Ok(Pre::Absent),
            Image::Directory(attributes) => return Ok(Pre::Directory(attributes.clone())),
            Image::File(file) => file,
        };
        let bytes = self.bytes_of(snapshot, index, &entry.path)?;
        let lines = self.lines(&bytes)?;
        let attributes = file.attributes.clone();
        let stat = Stat {
            kind: kind_of(&attributes),
            device: 0,
            inode: file.inode,
            links: 1,
            size: file.size,
            mode: attributes.mode,
            user: attributes.user,
            group: attributes.group,
            modified: Time::default(),
            changed: Time::default(),
        };
        let (own_names, digest, read_at) = (0, file.digest, snapshot.time);
        Ok(Pre::File(PreFile { stat, own_names, attributes, digest, lines, bytes, read_at }))
    }

    /// Returns the content that a path had at the time of the snapshot, after checking its digest.
    fn bytes_of(
        &self,
        snapshot: &Intent,
        index: usize,
        path: &RelPath,
    ) -> Result<Bytes<D::Handle>> {
        let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
        let lost = || {
            let attempt = Attempt::Undo(snapshot.run);
            ErrorKind::LostImage { attempt, path: path.clone() }
        };
        Ok(images.bytes(snapshot, index, Side::Pre, None)?.ok_or_else(lost)?)
    }

    /// Returns the target state that restores a file from a snapshot.
    fn restored(
        &mut self,
        snapshot: &Intent,
        index: usize,
        (path, file): (&RelPath, &FileImage),
    ) -> Result<PostFile<D::Handle>> {
        let (attributes, digest, size) = (file.attributes.clone(), file.digest, file.size);
        let there = self.nodes.get(path).and_then(|node| node.pre.file());
        let is_same = |there: &&PreFile<D::Handle>| {
            there.digest == digest && kind_of(&there.attributes) == kind_of(&attributes)
        };
        if let Some(there) = there.filter(is_same) {
            let (lines, content) = (there.lines, Content::Untouched);
            return Ok(PostFile { attributes, digest, size, lines, content });
        }
        let origin = there.map(|_| path.clone());
        let kept = self.bytes_of(snapshot, index, path)?;
        let bytes = match kept.opened(&self.workspace.disk).doing(|| format!("read `{path}`"))? {
            Opened::File(kept) => self.copied(path, &kept, size)?,
            Opened::Memory(bytes) => Bytes::Memory(bytes),
        };
        let lines = self.lines(&bytes)?;
        let (splices, counted, text_blocks, captured) = (None, Counted::Not, None, None);
        let content = Content::New(New { bytes, origin, splices, counted, text_blocks, captured });
        Ok(PostFile { attributes, digest, size, lines, content })
    }

    /// Counts the lines of a content; returns `None` if it is binary.
    pub(crate) fn lines(&self, bytes: &Bytes<D::Handle>) -> Result<Option<u64>> {
        let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
        let mut counter = LineCounter::default();
        let counted = images.each_piece(bytes, |piece| counter.feed(piece));
        counted.doing(|| "count the lines of a recorded image".to_owned())?;
        Ok(counter.finish())
    }

    /// Checks that all adopted paths are unchanged since they were examined.
    ///
    /// # Errors
    /// `Conflict` for the first path that has changed; `Io`.
    pub(crate) fn check_adopted(&self, intent: &Intent, adoption: &Adoption) -> Result<()> {
        let disk = &self.workspace.disk;
        let tree = Tree::new(disk, &self.workspace.home.root);
        for entry in &intent.entries {
            let path = &entry.path;
            let looked = adoption.paths.get(path).and_then(|(_, stat)| *stat);
            let is_same = match (&entry.post, tree.find(path)) {
                (Image::Absent, Ok(Found::Nothing)) => true,
                (Image::Directory(attributes), Ok(Found::Directory)) => {
                    tree.directory_attributes(path)? == *attributes
                }
                (Image::File(file), Ok(Found::File(stat, handle))) => {
                    let same = |looked: Stat| looked == Stat { links: looked.links, ..stat };
                    looked.is_some_and(same)
                        && (!stamp_is_fresh(stat.modified, disk.now())
                            || digest_of(disk, &handle).doing(|| format!("read `{path}`"))?
                                == file.digest)
                }
                (Image::Absent, Err(error)) => error.is_in_the_way(),
                (_, Err(error)) => return Err(error),
                (_, Ok(_)) => false,
            };
            if !is_same {
                let detail = "it changed again while it was being adopted";
                return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
            }
        }
        Ok(())
    }
}

/// Snapshot, together with the current state of each of its paths.
struct LookedAt<H> {
    snapshot: Intent,
    looked_at: Time,
    there: Vec<Pre<H>>,
}

/// Returns the file or directory that another program left at a path, as the state after the run.
fn adopted<H>(path: &RelPath, pre: &Pre<H>, there: Pre<H>) -> Post<H> {
    let file = match there {
        Pre::Absent => return Post::Absent,
        Pre::Directory(attributes) => return Post::Directory(attributes),
        Pre::File(file) => file,
    };
    let before = pre.file();
    let is_same = |before: &PreFile<H>| {
        before.digest == file.digest && kind_of(&before.attributes) == kind_of(&file.attributes)
    };
    let content = if before.is_some_and(is_same) {
        Content::Untouched
    } else {
        let origin = before.map(|_| path.clone());
        let (bytes, splices) = (file.bytes, None);
        let (counted, text_blocks, captured) = (Counted::Not, None, None);
        Content::New(New { bytes, origin, splices, counted, text_blocks, captured })
    };
    let (attributes, digest, size) = (file.attributes, file.digest, file.stat.size);
    Post::File(PostFile { attributes, digest, size, lines: file.lines, content })
}

impl Adoption {
    /// Returns the inode number of the adopted file at `path`.
    pub(crate) fn inode(&self, path: &RelPath) -> Option<u64> {
        self.paths.get(path)?.1.map(|stat| stat.inode)
    }

    /// Returns where the content of an adopted file is stored: in the record if `fits` is true and the content is in
    /// memory, otherwise only in the workspace file itself.
    pub(crate) fn body<H>(bytes: &Bytes<H>, fits: bool) -> Body {
        match bytes {
            Bytes::Memory(bytes) if fits => Body::Inline(Arc::clone(bytes)),
            Bytes::Memory(_) | Bytes::File(..) | Bytes::ByPath(_) => Body::Unrecorded,
        }
    }
}
