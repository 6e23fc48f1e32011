//! File contents before and after past runs, reconstructed where possible.
//!
//! A run records what an undo needs: the bytes before the run, either whole or as splices or blocks that rebuild them
//! from the bytes after it. The bytes after a run are found in the pre-image of the next run on the same path, or in
//! the file itself. Every reconstructed content is compared with its recorded digest. If something other than a run
//! changed a file, its content is therefore reported as unknown and never as something wrong.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use actum_core::{Digest, RelPath, RunId};
use actum_edit::Splice;

use crate::blocks;
use crate::disk::Disk;
use crate::error::{ErrorKind, Result, ResultExt};
use crate::history::runs::Runs;
use crate::home::Home;
use crate::journal::back::Back;
use crate::journal::record::{
    Body, Entry, FileImage, Image, Intent, Outcome, RunKind, Side, blocks_name, keep_name,
};
use crate::path_change::{CONTENT_BYTES_MAX, Content, Excerpt, PathChange, State};
use crate::tree::{Found, Tree, read_whole};

/// Maximum size of a content that is read to rebuild an older content from it, in bytes: 64 MiB.
const READ_BYTES_MAX: u64 = 64 << 20;

/// Records of the newest runs, from which past file contents are reconstructed.
pub(crate) struct Contents<'a, D: Disk> {
    disk: &'a D,
    home: &'a Home<D::Handle>,
    /// Runs with their records, oldest first.
    runs: Vec<(RunId, Cow<'a, Intent>)>,
    /// Runs that changed each path, as indices into `runs` and into the entries of that run.
    touched: BTreeMap<RelPath, Vec<(usize, usize)>>,
}

/// Step that rebuilds the bytes before a run from the bytes after it.
enum Link<'a> {
    Splices(&'a [Splice]),
    /// Block delta of the entry of a run, with the size of the file before the run in bytes.
    Blocks(RunId, usize, u64),
}

impl<'a, D: Disk> Contents<'a, D> {
    /// Reads the records of all runs from `first` on, except those that were rolled back, which changed nothing.
    ///
    /// # Errors
    /// `UnknownRun`, `DamagedHistory`, `Io`.
    pub(crate) fn since(
        disk: &'a D,
        home: &'a Home<D::Handle>,
        all: &Runs<'a, D>,
        first: RunId,
    ) -> Result<Self> {
        let known = all.refs();
        let start = known.iter().position(|known| known.run == first);
        let start = start.ok_or(ErrorKind::UnknownRun { run: first })?;
        let (mut runs, mut touched) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        let made = known.get(start..).unwrap_or_default().iter();
        for known in made.filter(|known| known.outcome == Outcome::Committed) {
            let (intent, _) = all.read_found(known)?;
            for (index, entry) in intent.entries.iter().enumerate() {
                touched.entry(entry.path.clone()).or_default().push((runs.len(), index));
            }
            runs.push((known.run, intent));
        }
        Ok(Self { disk, home, runs, touched })
    }

    /// Returns the net changes from before the run `first` to after the run `last`, ordered by path. Unchanged paths
    /// are left out. The result is empty if one of the two runs was rolled back.
    pub(crate) fn changes(&self, first: RunId, last: RunId) -> Result<Vec<PathChange>> {
        let index = |run| self.runs.iter().position(|(known, _)| *known == run);
        let (Some(first), Some(last)) = (index(first), index(last)) else {
            return Ok(Vec::new()); // one of the runs was rolled back
        };
        // Renames are only reported for a single run, never across several runs.
        let intent = self.runs.get(first).filter(|_| first == last).map(|(_, intent)| intent);
        let renames = intent.map(|intent| intent.renames());
        let mut changes = Vec::new();
        for (path, touches) in &self.touched {
            let within = |touch: &&(usize, usize)| (first..=last).contains(&touch.0);
            let mut touches = touches.iter().filter(within);
            let Some(oldest) = touches.next() else { continue };
            let newest = touches.next_back().unwrap_or(oldest);
            let before = self.state(*oldest, Side::Pre)?;
            let after = self.state(*newest, Side::Post)?;
            let renamed_from = renames.as_ref().and_then(|renames| renames.from(newest.1));
            let renamed_from = renamed_from.and_then(|from| self.entry((last, from)));
            let renamed_from = renamed_from.map(|(_, from)| from.path.clone());
            let is_gone = renames.as_ref().is_some_and(|renames| renames.is_gone(newest.1));
            if !before.is_same(&after) || is_gone {
                let is_unknown = before.is_unknown() || after.is_unknown();
                let excerpts =
                    if first == last && is_unknown { self.excerpts(*newest) } else { Vec::new() };
                let path = path.clone();
                changes.push(PathChange { path, renamed_from, before, after, excerpts });
            }
        }
        Ok(changes)
    }

    fn entry(&self, (run, entry): (usize, usize)) -> Option<(&Intent, &Entry)> {
        let intent = &self.runs.get(run)?.1;
        Some((intent, intent.entries.get(entry)?))
    }

    fn state(&self, touch: (usize, usize), side: Side) -> Result<State> {
        let Some((_, entry)) = self.entry(touch) else { return Ok(State::Absent) };
        Ok(match image(entry, side) {
            Image::Absent => State::Absent,
            Image::Directory(attributes) => State::Directory { mode: attributes.mode },
            Image::File(file) => State::File {
                mode: file.attributes.mode,
                size: file.size,
                digest: file.digest,
                content: self.content(touch, side, file)?,
            },
        })
    }

    /// Returns the bytes of an image. If its run only recorded how to rebuild them from the bytes after the run, later
    /// runs are searched until complete bytes are found.
    fn content(&self, touch: (usize, usize), side: Side, file: &FileImage) -> Result<Content> {
        if file.size > CONTENT_BYTES_MAX {
            return Ok(Content::TooLarge);
        }
        let mut links: Vec<Link<'_>> = Vec::new();
        let (mut touch, mut side, mut digest) = (touch, side, file.digest);
        let bytes = loop {
            let Some((intent, entry)) = self.entry(touch) else { return Ok(Content::Unknown) };
            let Some(file) = image(entry, side).file() else { return Ok(Content::Unknown) };
            if file.digest != digest {
                return Ok(Content::Unknown); // something other than a run changed the file
            }
            if file.size > READ_BYTES_MAX {
                return Ok(Content::TooLarge);
            }
            match (&file.body, side) {
                (Body::Inline(bytes), _) => break Some(Arc::clone(bytes)),
                (Body::Kept, _) => {
                    if let Some(bytes) = self.kept(intent.run, touch.1, side)? {
                        break Some(Arc::new(bytes));
                    }
                    // An undo may have published the kept file itself, so it is now at the path.
                    if let Some(taker) = self.taker(&entry.path, touch.0, &digest) {
                        (touch, side) = (taker, Side::Post);
                        continue;
                    }
                }
                (
                    Body::Taken(..)
                    | Body::Back
                    | Body::Moved(_)
                    | Body::Untouched
                    | Body::Unrecorded,
                    _,
                ) => {}
            }
            // A kept image that the journal still names may be gone, because another process made a checkpoint since.
            if let (Side::Pre, Body::Back | Body::Kept, Some(back), Some(post)) =
                (side, &file.body, &entry.back, entry.post.file())
            {
                links.push(match back {
                    Back::Splices(back) => Link::Splices(&back.splices),
                    Back::Blocks => Link::Blocks(intent.run, touch.1, file.size),
                });
                (side, digest) = (Side::Post, post.digest);
                continue;
            }
            match (side, self.moved_to(touch)) {
                // The run did not write the bytes, so they are at the path that the file was moved to, or at the same
                // path.
                (Side::Pre, Some(to)) => (touch, side) = (to, Side::Post),
                (Side::Pre, None) if entry.only_attributes() => side = Side::Post,
                (Side::Pre, None) => return Ok(Content::Unknown),
                (Side::Post, _) => match self.next(&entry.path, touch.0) {
                    Some(next) => (touch, side) = (next, Side::Pre),
                    None => break self.present(&entry.path, file.size)?,
                },
            }
        };
        let Some(mut bytes) = bytes else { return Ok(Content::Unknown) };
        if Digest::of(&bytes) != digest {
            return Ok(Content::Unknown);
        }
        for link in links.into_iter().rev() {
            match self.before(&link, bytes)? {
                Some(before) => bytes = before,
                None => return Ok(Content::Unknown),
            }
        }
        let is_it = Digest::of(&bytes) == file.digest;
        Ok(if is_it { Content::Known(bytes) } else { Content::Unknown })
    }

    /// Rebuilds the bytes before a run from those after it. Returns `None` if the block delta is missing or does not
    /// fit.
    fn before(&self, link: &Link<'_>, after: Arc<Vec<u8>>) -> Result<Option<Arc<Vec<u8>>>> {
        let doing = || "read the block delta of a run".to_owned();
        match link {
            Link::Splices(splices) => Ok(Splice::apply(splices, &after).ok().map(Arc::new)),
            Link::Blocks(run, entry, size) => {
                match self.disk.open_file(&self.home.keep, &blocks_name(*run, *entry)) {
                    Ok(delta) => {
                        let mut bytes = Arc::unwrap_or_clone(after);
                        let fits = blocks::apply(self.disk, &delta, &mut bytes, *size);
                        Ok(fits.doing(doing)?.then(|| Arc::new(bytes)))
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error).doing(doing),
                }
            }
        }
    }

    /// Returns the recorded excerpts of a change whose complete content can no longer be found.
    fn excerpts(&self, touch: (usize, usize)) -> Vec<Excerpt> {
        let back = self.entry(touch).and_then(|(_, entry)| entry.back.as_ref()?.splices());
        back.map_or(Vec::new(), Excerpt::all)
    }

    /// Returns the entry to whose path the run moved the file of the entry `from`.
    fn moved_to(&self, (run, from): (usize, usize)) -> Option<(usize, usize)> {
        let entries = &self.runs.get(run)?.1.entries;
        let is_target = |entry: &Entry| match entry.post.file().map(|file| &file.body) {
            Some(Body::Moved(index)) => usize::try_from(*index) == Ok(from),
            Some(_) | None => false,
        };
        Some((run, entries.iter().position(is_target)?))
    }

    /// Returns the next undo after `run` that left this content at `path`.
    fn taker(&self, path: &RelPath, run: usize, digest: &Digest) -> Option<(usize, usize)> {
        self.touched.get(path)?.iter().copied().find(|&touch| {
            let Some((intent, entry)) = self.entry(touch).filter(|_| touch.0 > run) else {
                return false;
            };
            let has_it = entry.post.file().is_some_and(|file| file.digest == *digest);
            has_it && matches!(intent.kind, RunKind::Undo(_))
        })
    }

    /// Returns the next run after `run` that changed `path`, and the index of its entry.
    fn next(&self, path: &RelPath, run: usize) -> Option<(usize, usize)> {
        self.touched.get(path)?.iter().find(|touch| touch.0 > run).copied()
    }

    fn kept(&self, run: RunId, entry: usize, side: Side) -> Result<Option<Vec<u8>>> {
        let doing = || "read a kept image".to_owned();
        match self.disk.open_file(&self.home.keep, &keep_name(run, entry, side)) {
            Ok(file) => {
                let size = self.disk.stat(&file).doing(doing)?.size.min(READ_BYTES_MAX);
                read_whole(self.disk, &file, size).doing(doing).map(Some)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing(doing),
        }
    }

    /// Reads the current file at `path`, or returns `None` if there is no file of the expected size.
    fn present(&self, path: &RelPath, size: u64) -> Result<Option<Arc<Vec<u8>>>> {
        let tree = Tree::new(self.disk, &self.home.root);
        match tree.find(path) {
            Ok(Found::File(stat, file)) if stat.size == size => {
                let bytes = read_whole(self.disk, &file, stat.size);
                bytes.doing(|| format!("read `{path}`")).map(|bytes| Some(Arc::new(bytes)))
            }
            Ok(Found::File(..) | Found::Nothing | Found::Directory | Found::Other(_)) => Ok(None),
            Err(error) if error.is_in_the_way() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn image(entry: &Entry, side: Side) -> &Image {
    match side {
        Side::Pre => &entry.pre,
        Side::Post => &entry.post,
    }
}
