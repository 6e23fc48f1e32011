//! Undo and redo of past runs. Each is a new run that applies the inverse of the original one.

mod difference;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actum_core::{Digest, RelPath, RunId};
use actum_edit::Splice;

use crate::change::Extent;
use crate::content::{Bytes, Source};
use crate::disk::Disk;
use crate::error::{Attempt, Difference, ErrorKind, PathConflict, Result, ResultExt};
use crate::history::RunRef;
use crate::history::images::Images;
use crate::journal::back::Back;
use crate::journal::record::{Body, Entry, FileImage, Image, Intent, Outcome, RunKind, Side};
use crate::transaction::Transaction;
use crate::transaction::node::{Content, Counted, New, Post, PostFile, Pre};
use crate::tree::{read_pieces, read_whole};
use crate::workspace::{LaterEdits, RunOptions, Workspace};

/// Limit of the work spent on finding the changes of a run in files that were edited since, in file bytes times
/// splices.
const SEARCHED_MAX: u64 = 1 << 30;
/// Free disk space in bytes that must remain after an undo copies a kept file. If there is less, the undo uses the kept
/// file itself.
const FREE_BYTES_MIN: u64 = 64 << 20;

impl<D: Disk> Workspace<D> {
    /// Begins the undo of a run: returns a transaction with its inverse, ready to be examined and committed. Later runs
    /// that changed other files do not prevent an undo.
    ///
    /// # Errors
    /// Same errors as [`Transaction::undo`].
    pub fn begin_undo(&mut self, run: RunId, options: RunOptions) -> Result<Transaction<'_, D>> {
        self.begin(options)?.undo(run)
    }

    /// Begins the undo of the newest change that is in effect, and returns the run to be undone. The change is chosen
    /// under the workspace lock, because a newer one may appear while waiting for another process.
    ///
    /// # Errors
    /// Same errors as [`Transaction::undo_newest`].
    pub fn begin_undo_newest(
        &mut self,
        options: RunOptions,
    ) -> Result<(RunId, Transaction<'_, D>)> {
        self.begin(options)?.undo_newest()
    }

    /// Begins a redo: returns a transaction that undoes an undo, and the id of that undo. `run` is either the run that
    /// was undone or the undo itself.
    ///
    /// # Errors
    /// Same errors as [`Transaction::redo`].
    pub fn begin_redo(
        &mut self,
        run: RunId,
        options: RunOptions,
    ) -> Result<(RunId, Transaction<'_, D>)> {
        self.begin(options)?.redo(run)
    }

    /// Begins the redo of the newest undo that is in effect, chosen under the workspace lock. Returns the undo that
    /// will be reverted.
    ///
    /// # Errors
    /// Same errors as [`Transaction::redo_newest`].
    pub fn begin_redo_newest(
        &mut self,
        options: RunOptions,
    ) -> Result<(RunId, Transaction<'_, D>)> {
        self.begin(options)?.redo_newest()
    }
}

/// Methods that turn a transaction without steps into an undo or redo. A transaction without a label gets the label
/// `undo RUN` or `redo RUN`.
impl<D: Disk> Transaction<'_, D> {
    /// Returns true if this workspace made the run and still has it in its history.
    ///
    /// # Errors
    /// `Io`.
    pub fn knows(&self, run: RunId) -> Result<bool> {
        let known = |known: &RunRef| known.run == run;
        Ok(self.workspace.runs_since(run)?.refs().iter().any(known))
    }

    /// Returns the undo of `run` that is in effect. Returns `None` if the run is not undone, or if the workspace does
    /// not know it.
    ///
    /// # Errors
    /// Errors of reading the history.
    pub fn undone_by(&self, run: RunId) -> Result<Option<RunId>> {
        Ok(self.workspace.runs_since(run)?.undone_by(run))
    }

    /// Provides contents, by digest, that an undo falls back to if the workspace has lost its own copies.
    #[must_use]
    pub fn with_images(mut self, images: BTreeMap<Digest, Vec<u8>>) -> Self {
        self.images = images;
        self
    }

    /// Turns the transaction into the undo of a run.
    ///
    /// # Errors
    /// `UnknownRun`, `AlreadyUndone`, `NothingToUndo`; `ChangedSince` with all paths that differ from the state that
    /// the run left.
    pub fn undo(mut self, run: RunId) -> Result<Self> {
        self.kind = RunKind::Undo(run);
        if self.label.is_empty() {
            self.label = format!("undo {run}");
        }
        self.inverse(run)
    }

    /// Turns the transaction into the undo of the newest change that is in effect, and returns the run to be undone.
    ///
    /// # Errors
    /// `NoRunToUndo`, and any error of [`Transaction::undo`].
    pub fn undo_newest(self) -> Result<(RunId, Self)> {
        let run = self.newest_in_effect()?;
        Ok((run, self.undo(run)?))
    }

    /// Returns the newest change that is in effect.
    ///
    /// # Errors
    /// `NoRunToUndo`, `Io`.
    pub fn newest_in_effect(&self) -> Result<RunId> {
        if let Some(run) = self.workspace.newest_in_effect()? {
            return Ok(run);
        }
        let runs = self.workspace.runs()?.refs().len();
        Err(ErrorKind::NoRunToUndo { runs }.into())
    }

    /// Returns up to `max` changes that are in effect, newest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn runs_in_effect(&self, max: usize) -> Result<Vec<RunId>> {
        Ok(self.workspace.runs()?.in_effect().take(max).collect())
    }

    /// Turns the transaction into a redo, and returns the undo to be reverted. `run` is either the run that was undone
    /// or the undo itself.
    ///
    /// # Errors
    /// `InEffect`, and any error of [`Transaction::undo`], reworded for a redo.
    pub fn redo(self, run: RunId) -> Result<(RunId, Self)> {
        let runs = self.workspace.runs_since(run)?;
        let (intent, _) = runs.read(run)?;
        let (undo, undone) = match (runs.undone_by(run), intent.kind) {
            (Some(by), _) => (by, run),
            (None, RunKind::Undo(undone)) => (run, undone),
            (None, RunKind::Apply) => return Err(ErrorKind::InEffect { run }.into()),
        };
        drop((runs, intent));
        self.redo_of(undo, undone)
    }

    /// Turns the transaction into the redo of the newest undo that is in effect, and returns that undo.
    ///
    /// # Errors
    /// `NoRunToRedo`, and any error of [`Transaction::redo`].
    pub fn redo_newest(self) -> Result<(RunId, Self)> {
        let undo = self.newest_undo_in_effect()?;
        self.redo(undo)
    }

    /// Returns the newest undo that is in effect.
    ///
    /// # Errors
    /// `NoRunToRedo`, `Io`.
    pub fn newest_undo_in_effect(&self) -> Result<RunId> {
        let runs = self.workspace.runs()?;
        let newest = runs.undos_in_effect().next();
        newest.ok_or_else(|| ErrorKind::NoRunToRedo { runs: runs.refs().len() }.into())
    }

    /// Returns up to `max` undos that are in effect, newest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn undos_in_effect(&self, max: usize) -> Result<Vec<RunId>> {
        Ok(self.workspace.runs()?.undos_in_effect().take(max).collect())
    }

    fn redo_of(mut self, undo: RunId, undone: RunId) -> Result<(RunId, Self)> {
        self.kind = RunKind::Undo(undo);
        if self.label.is_empty() {
            self.label = format!("redo {undone}");
        }
        Ok((undo, self.inverse(undo).map_err(|error| error.of_redo(undone))?))
    }

    fn inverse(mut self, run: RunId) -> Result<Self> {
        let runs = self.workspace.runs_since(run)?;
        let (intent, end) = runs.read(run)?;
        if end.outcome != Outcome::Committed {
            return Err(ErrorKind::NothingToUndo { attempt: Attempt::Undo(run) }.into());
        }
        if let Some(by) = runs.undone_by(run) {
            return Err(ErrorKind::AlreadyUndone { attempt: Attempt::Undo(run), by }.into());
        }
        let intent = intent.into_owned();
        self.undoes_change = match intent.kind {
            RunKind::Apply => true,
            RunKind::Undo(_) => self.workspace.runs()?.puts_into_effect(run),
        };
        self.invert(&intent)?;
        Ok(self)
    }
}

impl<D: Disk> Transaction<'_, D> {
    fn invert(&mut self, intent: &Intent) -> Result<()> {
        let since = self.check_as_left(intent)?;
        let (moved_to, outcome) = (moved_to(intent), outcome_entries(intent));
        for (index, entry) in intent.entries.iter().enumerate() {
            if let Some(back) = since.edited.get(&index) {
                self.take_out(entry, back.clone())?;
                continue;
            }
            if since.as_before.contains(&index) {
                self.as_before.push(entry.path.clone());
                continue;
            }
            // If the target of the move is already in its old state, the moved file is no longer there.
            let moved_to = moved_to.get(&index).filter(|(to, _)| !since.as_before.contains(to));
            let post = match &entry.pre {
                Image::Absent if entry.post.is_directory() => continue,
                Image::Absent => Post::Absent,
                Image::Directory(attributes) if entry.changes_directory() => {
                    Post::Directory(attributes.clone())
                }
                Image::Directory(attributes) => {
                    if matches!(entry.post, Image::Absent) {
                        self.make_parents(&entry.path)?;
                    }
                    // If another process created the directory again, keep the attributes that it chose.
                    match &self.node(&entry.path)?.pre {
                        Pre::Directory(there) => Post::Directory(there.clone()),
                        Pre::Absent | Pre::File(_) => Post::Directory(attributes.clone()),
                    }
                }
                Image::File(file) => {
                    if matches!(entry.post, Image::Absent) {
                        self.make_parents(&entry.path)?;
                    }
                    let outcome = outcome.get(&index).copied();
                    let (content, lines) = match moved_to {
                        Some((_, to)) => {
                            let content = Content::Moved((*to).clone());
                            (content, self.node(to)?.pre.file().and_then(|moved| moved.lines))
                        }
                        None => self.old_content(intent, index, (entry, file), outcome)?,
                    };
                    let (digest, size) = (file.digest, file.size);
                    let attributes = file.attributes.clone();
                    Post::File(PostFile { attributes, digest, size, lines, content })
                }
            };
            self.set(&entry.path, post)?;
        }
        // Remove directories that the run created, children first, unless they contain anything else.
        for entry in intent.entries.iter().rev() {
            let made = matches!(entry.pre, Image::Absent) && entry.post.is_directory();
            if made && self.is_empty_directory(&entry.path)? {
                self.set(&entry.path, Post::Absent)?;
            }
        }
        Ok(())
    }

    /// Returns an error if any path differs from the state that the run left. A path that is already in its state from
    /// before the run is accepted. If the limits allow it, so is a file that was edited in places that the run did not
    /// change.
    fn check_as_left(&mut self, intent: &Intent) -> Result<Since> {
        let run = intent.run;
        let (mut since, mut conflicts) = (Since::default(), Vec::new());
        let mut as_left = true;
        for (index, entry) in intent.entries.iter().enumerate() {
            self.in_scope(&entry.path)?;
            let Some(mut difference) = self.difference(intent, entry)? else { continue };
            as_left = false;
            // The directory may be missing, because the run replaced it by a file that is now gone.
            let is_between = difference == Difference::Gone && entry.pre.is_directory();
            if is_between {
                continue;
            }
            if self.entry_is_as_before(entry) && self.moved_back(intent, entry) {
                since.as_before.insert(index);
                continue;
            }
            if difference == Difference::Content {
                let keeps = self.limits.later_edits == LaterEdits::Keep;
                difference = match (self.still_there(entry)?, keeps) {
                    (Ok(back), true) => {
                        since.edited.insert(index, back);
                        continue;
                    }
                    (Ok(_), false) => Difference::Elsewhere,
                    (Err(difference), true) => difference,
                    (Err(_), false) => Difference::Content,
                };
            }
            conflicts.push(PathConflict { path: entry.path.clone(), difference, by: None });
        }
        if !as_left && self.is_as_before(intent)? {
            return Err(ErrorKind::AsBefore { attempt: Attempt::Undo(run) }.into());
        }
        if conflicts.is_empty() {
            return Ok(since);
        }
        let nodes = &self.nodes;
        let is_now = |path: &RelPath, left: &Image| match (nodes.get(path).map(|n| &n.pre), left) {
            (Some(Pre::File(now)), Image::File(left)) => {
                now.digest == left.digest && now.attributes == left.attributes
            }
            (Some(Pre::Absent), Image::Absent) => true,
            (Some(Pre::Directory(_)), Image::Directory(_)) => true,
            (_, Image::Absent | Image::Directory(_) | Image::File(_)) => false,
        };
        self.workspace.name_later_runs(run, &mut conflicts, is_now)?;
        Err(ErrorKind::ChangedSince { attempt: Attempt::Undo(run), run, conflicts }.into())
    }

    /// Returns the splices that remove the run's changes from a file that was edited since. Every change of the run
    /// must still be in the file, each at exactly one place. Otherwise the inner error is the difference to report.
    fn still_there(
        &mut self,
        entry: &Entry,
    ) -> Result<std::result::Result<Vec<Splice>, Difference>> {
        let back = entry.back.as_ref().and_then(Back::splices);
        let (Some(back), Image::File(left)) = (back, &entry.post) else {
            return Ok(Err(Difference::Content));
        };
        let file = self.expected_file(&entry.path, None)?;
        let work = file.size.saturating_mul(back.splices.len() as u64);
        if work > SEARCHED_MAX || file.attributes != left.attributes {
            return Ok(Err(Difference::Content));
        }
        if !back.is_unique {
            return Ok(Err(Difference::Around));
        }
        let content = self.whole(&entry.path, &file)?;
        let size = usize::try_from(left.size).unwrap_or(usize::MAX);
        let found: Option<Vec<_>> =
            back.splices.iter().map(|splice| splice.found_in(&content, size)).collect();
        let end = |splice: &Splice| splice.offset.saturating_add(splice.old.len() as u64);
        let in_order = |found: &Vec<Splice>| found.is_sorted_by(|a, b| end(a) <= b.offset);
        Ok(found.filter(in_order).ok_or(Difference::Around))
    }

    /// Removes the run's changes from a file and keeps all later edits.
    fn take_out(&mut self, entry: &Entry, back: Vec<Splice>) -> Result<()> {
        let path = &entry.path;
        let mut file = self.expected_file(path, None)?;
        if let Image::File(before) = &entry.pre {
            file.attributes = before.attributes.clone();
        }
        self.kept_edits.push(path.clone());
        let content = self.whole(path, &file)?;
        self.splice(path, file, &content, back)
    }

    /// Returns true if undoing `entry` cannot lose a file that the run moved to its path. This is so if the run moved
    /// no file there, the file is back at its old path, or its content was provided by the caller.
    fn moved_back(&mut self, intent: &Intent, entry: &Entry) -> bool {
        let Some(moved) = entry.post.file() else { return true };
        let Body::Moved(from) = &moved.body else { return true };
        let from = usize::try_from(*from).ok().and_then(|from| intent.entries.get(from));
        let is_given = self.image(&moved.digest).is_some();
        is_given || from.is_some_and(|from| self.entry_is_as_before(from))
    }

    /// Returns the content with this digest, if the caller provided it.
    fn image(&self, digest: &Digest) -> Option<&Vec<u8>> {
        self.images.get(digest).filter(|bytes| Digest::of(bytes) == *digest)
    }

    /// Returns the content from before the run and its number of lines. `outcome` is the entry that records the outcome of
    /// the file.
    fn old_content(
        &mut self,
        intent: &Intent,
        index: usize,
        (entry, file): (&Entry, &FileImage),
        outcome: Option<&Entry>,
    ) -> Result<(Content<D::Handle>, Option<u64>)> {
        let path = &entry.path;
        let current = self.node(path)?.pre.file();
        if entry.only_attributes() {
            return Ok((Content::Untouched, current.and_then(|current| current.lines)));
        }
        let current = current.map(|current| current.bytes.clone());
        let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
        let mut bytes = images.bytes(intent, index, Side::Pre, current.as_ref())?;
        if bytes.is_none() {
            bytes = self.displaced_again(intent.run, entry, current.as_ref())?;
        }
        let given =
            || self.image(&file.digest).cloned().map(|bytes| Bytes::Memory(Arc::new(bytes)));
        let bytes = bytes.or_else(given);
        let attempt = Attempt::Undo(intent.run);
        let bytes = bytes.ok_or_else(|| ErrorKind::LostImage { attempt, path: path.clone() })?;
        let bytes = self.own(path, bytes, file.size)?;
        let lines = self.lines(&bytes)?;
        let splices = entry.back.as_ref().filter(|_| matches!(file.body, Body::Back));
        let splices = splices.and_then(Back::splices);
        let splices = splices.map(|back| Arc::new(back.splices.clone()));
        let origin = outcome.map(|outcome| outcome.path.clone());
        let counted = match outcome.map(|outcome| outcome.extent) {
            Some(Extent::Lines(lines)) => Counted::Once(lines.reversed()),
            Some(Extent::Bytes { .. }) | None => Counted::Not,
        };
        let (text_blocks, captured) = (None, None);
        let new = New { bytes, origin, splices, counted, text_blocks, captured };
        Ok((Content::New(new), lines))
    }

    /// Returns the content from before the run as recorded by a later run. This is needed after an undo used the kept
    /// image and a redo displaced it again.
    fn displaced_again(
        &self,
        run: RunId,
        entry: &Entry,
        current: Option<&Bytes<D::Handle>>,
    ) -> Result<Option<Bytes<D::Handle>>> {
        let digest = |image: &Image| image.file().map(|file| file.digest);
        let runs = self.workspace.runs_since(run)?;
        let later = runs.refs().iter().rev().take_while(|known| known.run != run);
        for known in later.filter(|known| known.outcome == Outcome::Committed) {
            // Skip damaged records, which cannot provide any content.
            let Ok((intent, _)) = runs.read_found(known) else { continue };
            let same = |later: &Entry| {
                later.path == entry.path && digest(&later.pre) == digest(&entry.pre)
            };
            let Some(index) = intent.entries.iter().position(same) else { continue };
            let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
            let bytes = images.bytes(&intent, index, Side::Pre, current)?;
            if bytes.is_some() {
                return Ok(bytes);
            }
        }
        Ok(None)
    }

    /// Returns content that this run may publish. A kept image is normally copied, so that the history still has it if
    /// the published file is changed later. If the disk is nearly full, the kept file itself is published instead.
    fn own(
        &mut self,
        path: &RelPath,
        bytes: Bytes<D::Handle>,
        size: u64,
    ) -> Result<Bytes<D::Handle>> {
        let doing = || format!("stage `{path}`");
        let Bytes::File(file, source) = bytes else { return Ok(bytes) };
        if matches!(source, Source::Staged(_)) {
            return Ok(Bytes::File(file, source));
        }
        let disk = &self.workspace.disk;
        let is_kept = matches!(source, Source::Kept(..));
        let free = disk.free_bytes(&self.workspace.home.state).doing(doing)?;
        let has_room = free >= size.saturating_add(FREE_BYTES_MIN);
        if is_kept && !has_room && self.is_free(&file)? {
            return Ok(Bytes::File(file, source));
        }
        match self.copied(path, &file, size) {
            // The copy can fail despite enough free space, because that does not reflect quotas.
            Err(error) if is_kept && error.is_disk_full() && self.is_free(&file)? => {
                Ok(Bytes::File(file, source))
            }
            copied => copied,
        }
    }

    /// Returns true if an undo may publish a kept file itself (see [`Workspace::has_one_kept_name`]).
    fn is_free(&self, file: &D::Handle) -> Result<bool> {
        let stat = self.workspace.disk.stat(file).doing(|| "inspect a kept image".to_owned())?;
        self.workspace.has_one_kept_name(&stat)
    }

    /// Copies a file into memory if it is small, and into a staged file otherwise.
    pub(crate) fn copied(
        &mut self,
        path: &RelPath,
        file: &D::Handle,
        size: u64,
    ) -> Result<Bytes<D::Handle>> {
        let doing = || format!("stage `{path}`");
        if size <= crate::content::INLINE_BYTES_MAX as u64 {
            let bytes = read_whole(&self.workspace.disk, file, size).doing(doing)?;
            return Ok(Bytes::Memory(Arc::new(bytes)));
        }
        let name = self.stage_name();
        let disk = &self.workspace.disk;
        let mut sink = crate::content::Sink::new(disk, &self.workspace.home.stage, name);
        read_pieces::<D, std::io::Error>(disk, file, |piece| {
            sink.write(piece);
            Ok(())
        })
        .doing(doing)?;
        Ok(sink.finish().doing(doing)?.store.into_bytes())
    }
}

/// Acceptable changes to the paths of a run since it was made, by entry index.
#[derive(Default)]
struct Since {
    /// Splices that revert the run in files that were edited since.
    edited: BTreeMap<usize, Vec<Splice>>,
    /// Entries whose path is already in its state from before the run.
    as_before: BTreeSet<usize>,
}

/// Maps the index of each entry that had a file before the run to the entry that records the outcome of that file. This
/// is either the same entry or the one to which the file was renamed.
fn outcome_entries(intent: &Intent) -> BTreeMap<usize, &Entry> {
    let renames = intent.renames();
    let outcome = intent.entries.iter().enumerate();
    outcome.filter_map(|(index, entry)| Some((renames.before(index)?, entry))).collect()
}

/// Maps the index of each entry whose inode the run moved to the index and path of the entry that received the inode.
fn moved_to(intent: &Intent) -> BTreeMap<usize, (usize, &RelPath)> {
    let moved = intent.entries.iter().enumerate();
    let moved = moved.filter_map(|(to, entry)| match entry.post.file()?.body {
        Body::Moved(from) => Some((usize::try_from(from).ok()?, (to, &entry.path))),
        Body::Inline(_)
        | Body::Kept
        | Body::Taken(..)
        | Body::Back
        | Body::Untouched
        | Body::Unrecorded => None,
    });
    moved.collect()
}
