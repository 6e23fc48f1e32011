//! Steps that edit the content of a file, either by line hunks or by the other kinds of edit.

use std::sync::Arc;

use actum_core::{Digest, RelPath};
use actum_edit::edit::EDIT_BYTES_MAX;
use actum_edit::hunk::{MovedHunk, Patcher};
use actum_edit::nearest_match::NearestMatch;
use actum_edit::splice::Splicer;
use actum_edit::{Edit, HunkError, LineHunk, Splice};

use crate::change::Lines;
use crate::content::{Bytes, Sink, Written};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind, NeededFor, Quoting, Result, ResultExt};
use crate::transaction::Transaction;
use crate::transaction::cost::cost_of;
use crate::transaction::node::{Content, Counted, New, Post, PostFile};
use crate::workspace::HunkPlaces;

impl<D: Disk> Transaction<'_, D> {
    /// Applies line hunks to a file. If the file is missing or empty, a single hunk at line 0 that also ends the file
    /// creates it.
    ///
    /// # Errors
    /// `Hunk` if a line does not match its hunk; `TooLargeToSearch` if a hunk must be searched for and the file is too
    /// large; `Edit` if the edits so far are too much work; `Expected`, `Missing`, `Exists`, `NotAFile`, `Scope`,
    /// `Blocked`, `Io`.
    pub fn patch(
        &mut self,
        path: &RelPath,
        hunks: &[LineHunk],
        expected: Option<Digest>,
    ) -> Result<()> {
        let makes_a_file =
            matches!(hunks, [LineHunk { old_start: 0, old_lines: 0, at_end: true, .. }]);
        let refused =
            |source, near, quoting| ErrorKind::Hunk { path: path.clone(), source, near, quoting };
        Patcher::new(hunks).map_err(|source| refused(source, None, Quoting::Allowed))?;
        self.in_scope(path)?;
        if makes_a_file && matches!(self.node(path)?.post, Post::Absent) {
            if let Some(expected) = expected {
                let path = path.clone();
                return Err(ErrorKind::Expected {
                    path,
                    expected,
                    found: None,
                    needed_for: NeededFor::Change,
                }
                .into());
            }
            let (content, _) =
                patched(hunks, b"").map_err(|source| refused(source, None, Quoting::Allowed))?;
            return self.create(path, &content, None);
        }
        let file = self.expected_file(path, expected)?;
        // The first pass over a file is free, whatever its size. Only further passes count towards the work limit.
        if !matches!(file.content, Content::Untouched) {
            self.add_work(path, 1, file.size)?;
        }
        if makes_a_file && file.size > 0 {
            // A hunk that creates a file must not be applied as an insertion at the start of an existing one.
            return Err(ErrorKind::Exists { path: path.clone() }.into());
        }
        match self.stream(path, &file, hunks) {
            Ok((written, splices)) => {
                let cost = Lines::new(LineHunk::cost(hunks));
                self.replace(path, file, written, splices, cost)
            }
            Err(Error { kind: ErrorKind::Hunk { source, .. }, .. }) => {
                if source.misplaced().is_some()
                    && self.limits.hunk_places == HunkPlaces::Searched
                    && let Some(placed) = self.placed(path, &file, hunks)?
                {
                    return self.patch_placed(path, file, &placed);
                }
                let near = self.near(path, &file, hunks, &source)?;
                Err(refused(source, near, self.quoting(path, &file)).into())
            }
            Err(other) => Err(other),
        }
    }

    /// Returns the hunks, relocated to the lines that they match, or `None` if they already match where stated.
    fn placed(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        hunks: &[LineHunk],
    ) -> Result<Option<Placed>> {
        let content = self.whole(path, file)?;
        let (hunks, moved) = LineHunk::relocated(hunks, &content).map_err(|source| {
            let quoting = self.quoting_of(path, &content);
            Error::from(ErrorKind::Hunk { path: path.clone(), source, near: None, quoting })
        })?;
        Ok((!moved.is_empty()).then_some(Placed { hunks, moved }))
    }

    fn patch_placed(
        &mut self,
        path: &RelPath,
        file: PostFile<D::Handle>,
        Placed { hunks, moved }: &Placed,
    ) -> Result<()> {
        let (written, splices) = self.stream(path, &file, hunks)?;
        self.moved_hunks.extend(moved.iter().map(|hunk| (path.clone(), *hunk)));
        self.replace(path, file, written, splices, Lines::new(LineHunk::cost(hunks)))
    }

    /// Applies an edit that is located by its content or that covers the whole file.
    ///
    /// # Errors
    /// `Edit` if the edit matches nowhere, matches several times, or requires other content; `TooLargeToSearch` if the
    /// file or the result is too large; `Expected`, `Missing`, `NotAFile`, `Scope`, `Blocked`, `Io`.
    pub fn edit(&mut self, path: &RelPath, edit: &Edit, expected: Option<Digest>) -> Result<()> {
        self.in_scope(path)?;
        let file = self.expected_file(path, expected)?;
        self.add_work(path, edit.searches(), file.size)?;
        let content = self.whole(path, &file)?;
        let splices = edit.splices(&content).map_err(|source| {
            let quoting = self.quoting_of(path, &content);
            ErrorKind::Edit { path: path.clone(), source, quoting }
        })?;
        self.splice(path, file, &content, splices)
    }

    fn add_work(&mut self, path: &RelPath, edits: u64, file_bytes: u64) -> Result<()> {
        let quoting = Quoting::Allowed;
        let refused = |source| ErrorKind::Edit { path: path.clone(), source, quoting };
        Ok(self.edit_work.add(edits, file_bytes).map_err(refused)?)
    }

    /// Applies splices to the file at `path`, whose current content is `content`.
    pub(crate) fn splice(
        &mut self,
        path: &RelPath,
        file: PostFile<D::Handle>,
        content: &[u8],
        splices: Vec<Splice>,
    ) -> Result<()> {
        let grown = splices.iter().fold(file.size, |size, splice| {
            let (old, new) = (splice.old.len() as u64, splice.new.len() as u64);
            size.saturating_sub(old).saturating_add(new)
        });
        if grown > EDIT_BYTES_MAX {
            let (path, bytes) = (path.clone(), grown);
            return Err(ErrorKind::TooLargeToSearch { path, bytes, max: EDIT_BYTES_MAX }.into());
        }
        let name = self.stage_name();
        let mut sink = self.sink(name);
        let mut splicer = Splicer::new(&splices);
        let mut out = |bytes: &[u8]| sink.write(bytes);
        let fits = splicer.feed(content, &mut out).and_then(|()| splicer.finish(&mut out));
        let doing = || format!("stage `{path}`");
        fits.map_err(|error| std::io::Error::other(error.to_string())).doing(doing)?;
        let written = sink.finish().doing(doing)?;
        let cost = cost_of(&splices, content);
        self.replace(path, file, written, splices, cost)
    }

    /// Streams a file through the hunks into a new staged file. Returns the staged file and the resulting splices.
    fn stream(
        &mut self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        hunks: &[LineHunk],
    ) -> Result<(Written<D::Handle>, Vec<Splice>)> {
        let name = self.stage_name();
        // The caller decides whether the error may quote content.
        let quoting = Quoting::Withheld;
        let refused = |source| {
            Error::from(ErrorKind::Hunk { path: path.clone(), source, near: None, quoting })
        };
        let mut patcher = Patcher::new(hunks).map_err(refused)?;
        let mut sink = self.sink(name);
        let mut write = |bytes: &[u8]| sink.write(bytes);
        self.each_piece(path, file, |piece| patcher.feed(piece, &mut write).map_err(refused))?;
        let splices = patcher.finish(&mut write).map_err(refused)?;
        let written = sink.finish().doing(|| format!("stage `{path}`"))?;
        Ok((written, splices))
    }

    /// Sets the new content of an existing file and keeps its attributes.
    fn replace(
        &mut self,
        path: &RelPath,
        file: PostFile<D::Handle>,
        written: Written<D::Handle>,
        splices: Vec<Splice>,
        cost: Lines,
    ) -> Result<()> {
        let origin = file.content.origin(path).cloned();
        // The splices start from the content on disk only if this is the first edit of the file.
        let (splices, counted) = match file.content {
            Content::Untouched => (Some(Arc::new(splices)), Counted::Once(cost)),
            Content::Moved(_) => (None, Counted::Once(cost)),
            Content::New(new) => (None, new.counted.and(cost)),
        };
        let Written { digest, size, lines, text_blocks, store } = written;
        let bytes = store.into_bytes();
        let captured = None;
        let content = Content::New(New { bytes, origin, splices, counted, text_blocks, captured });
        self.set(path, Post::File(PostFile { digest, size, lines, content, ..file }))
    }

    fn sink(&self, name: Vec<u8>) -> Sink<'_, D> {
        Sink::new(&self.workspace.disk, &self.workspace.home.stage, name)
    }

    /// Returns `Allowed` if messages may quote the content of the file. Content that is too large to check is never
    /// quoted.
    fn quoting(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Quoting {
        match self.whole(path, file) {
            Ok(content) => self.quoting_of(path, &content),
            Err(_) => Quoting::Withheld,
        }
    }

    fn quoting_of(&self, path: &RelPath, content: &[u8]) -> Quoting {
        match (self.workspace.withholds)(path, content) {
            true => Quoting::Withheld,
            false => Quoting::Allowed,
        }
    }

    /// Returns the entire content of a file, so that it can be searched.
    pub(crate) fn whole(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Result<Arc<Vec<u8>>> {
        if file.size > EDIT_BYTES_MAX {
            let (path, bytes) = (path.clone(), file.size);
            return Err(ErrorKind::TooLargeToSearch { path, bytes, max: EDIT_BYTES_MAX }.into());
        }
        if let Some(Bytes::Memory(bytes)) = self.bytes(path, file) {
            return Ok(bytes);
        }
        let mut content = Vec::with_capacity(usize::try_from(file.size).unwrap_or(0));
        self.each_piece(path, file, |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Arc::new(content))
    }

    /// Returns the closest match in the file for the hunk that failed, provided that the failure was caused by
    /// mismatching content.
    fn near(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        hunks: &[LineHunk],
        error: &HunkError,
    ) -> Result<Option<NearestMatch>> {
        let refused = error.misplaced().and_then(|number| hunks.get(number - 1));
        match refused {
            // The search may have found the lines of this hunk, but not at the end of the file, so a near match would
            // mislead.
            Some(LineHunk { at_end: true, .. })
                if self.limits.hunk_places == HunkPlaces::Searched =>
            {
                Ok(None)
            }
            Some(hunk) if file.size <= EDIT_BYTES_MAX => {
                let content = self.whole(path, file)?;
                Ok(NearestMatch::find(&hunk.old_text(), &hunk.new_text(), &content))
            }
            Some(_) | None => Ok(None),
        }
    }
}

/// Hunks relocated to the lines that they match.
struct Placed {
    hunks: Vec<LineHunk>,
    moved: Vec<MovedHunk>,
}

/// Applies hunks to content in memory.
fn patched(
    hunks: &[LineHunk],
    content: &[u8],
) -> std::result::Result<(Vec<u8>, Vec<Splice>), HunkError> {
    let mut new = Vec::new();
    let mut patcher = Patcher::new(hunks)?;
    patcher.feed(content, |bytes| new.extend_from_slice(bytes))?;
    let splices = patcher.finish(|bytes| new.extend_from_slice(bytes))?;
    Ok((new, splices))
}
