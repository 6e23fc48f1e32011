//! Changes that the steps of a transaction would make, for reports and diffs.

use std::sync::Arc;

use actum_core::{FileMode, RelPath};
use actum_edit::line_diff;
use actum_record::receipt::PathEffect;

use crate::change::{Change, Extent, Held, Lines, Renames, facts};
use crate::content::Bytes;
use crate::disk::Disk;
use crate::error::Result;
use crate::path_change::{CONTENT_BYTES_MAX, Content as Shown, PathChange, State};
use crate::transaction::Transaction;
use crate::transaction::node::{Content, Counted, New, Node, Nodes, Post, PostFile, Pre, PreFile};

/// Maximum number of content bytes in a diff. Further contents are shown as too large, so that memory use stays
/// bounded.
const DIFF_BYTES_MAX: u64 = 64 << 20;

/// Changes and effects of the steps so far, ordered by path. Valid until the next step.
#[derive(Clone)]
pub(crate) struct Outcome {
    changes: Arc<[Change]>,
    effects: Arc<[PathEffect]>,
}

impl<D: Disk> Transaction<'_, D> {
    /// Returns the changes that the steps so far would make, ordered by path.
    pub fn changes(&mut self) -> Arc<[Change]> {
        self.outcome().changes
    }

    /// Returns the effects of the steps so far, with the state of each file before and after, for a record that
    /// outlives the workspace.
    pub fn effects(&mut self) -> Arc<[PathEffect]> {
        self.outcome().effects
    }

    /// Returns the cached outcome, and computes it first if a step was carried out since.
    fn outcome(&mut self) -> Outcome {
        if let Some(outcome) = &self.outcome {
            return outcome.clone();
        }
        let renames = renames(&self.nodes);
        let changes = self.nodes.iter().flat_map(|(path, node)| {
            let before = renames.before(path);
            let pre = before.and_then(|before| self.nodes.get(before)).map(|node| &node.pre);
            let sides = (pre.map_or(Held::Nothing, Pre::held), node.post.held());
            let extent = self.extent(path, before, node);
            Change::all(path, renames.from(path), sides, extent)
        });
        let changes: Arc<[Change]> = changes.collect();
        let effects = changes.iter().map(|change| {
            if !change.kind.is_of_file() {
                return change.effect(None, None);
            }
            let source = renames.before(&change.path).and_then(|before| self.nodes.get(before));
            let before = source.and_then(|node| node.pre.file());
            let before = before.map(|file| facts(file.digest, file.stat.size, &file.attributes));
            let after = self.nodes.get(&change.path).and_then(|node| node.post.file());
            let after = after.map(|file| facts(file.digest, file.size, &file.attributes));
            change.effect(before, after)
        });
        let effects = effects.collect();
        self.outcome.insert(Outcome { changes, effects }).clone()
    }

    /// Returns, in order, the paths that would become writable by every user and were not before.
    pub fn opened_to_all(&self) -> Vec<RelPath> {
        let renames = renames(&self.nodes);
        let is_open = |mode: Option<FileMode>| mode.is_some_and(FileMode::is_world_writable);
        let opened = self.nodes.iter().filter(|(path, node)| {
            let before = renames.before(path).and_then(|before| self.nodes.get(before));
            is_open(node.post.mode()) && !is_open(before.and_then(|before| before.pre.mode()))
        });
        opened.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the permission bits that a path would have, or `None` if the change does not include the path or leaves
    /// nothing there.
    pub fn mode_of(&self, path: &RelPath) -> Option<FileMode> {
        self.nodes.get(path)?.post.mode()
    }

    /// Returns the size of the change from the old file at `before` to the new file at `path`.
    fn extent(&self, path: &RelPath, before: Option<&RelPath>, node: &Node<D::Handle>) -> Extent {
        let old = before.and_then(|before| self.nodes.get(before)?.pre.file());
        let new = node.post.file();
        if old.map(|old| old.digest) == new.map(|new| new.digest) {
            return Extent::NOTHING;
        }
        let removed = old.map_or(Some(0), |old| old.lines);
        let added = new.map_or(Some(0), |new| new.lines);
        let (Some(added), Some(removed)) = (added, removed) else {
            let (before, after) = (old.map(|old| old.stat.size), new.map(|new| new.size));
            return Extent::Bytes { before: before.unwrap_or(0), after: after.unwrap_or(0) };
        };
        let differing = match (old, new) {
            (Some(old), Some(file)) => {
                let counted = match &file.content {
                    Content::New(New { origin, counted, .. }) if before == origin.as_ref() => {
                        *counted
                    }
                    Content::New(_) | Content::Moved(_) | Content::Untouched => Counted::Not,
                };
                let differing = || self.differing_lines(old, path, file);
                match counted {
                    Counted::Once(lines) => Some(lines),
                    // Compare the contents if possible, so that two edits of the same line count once.
                    Counted::Sum(lines) => differing().or(Some(lines)),
                    Counted::Not => differing(),
                }
            }
            (None, _) | (_, None) => None,
        };
        Extent::Lines(differing.unwrap_or(Lines { added, removed }))
    }

    /// Counts the lines in which two text files differ. Returns `None` unless both are text and in memory.
    fn differing_lines(
        &self,
        old: &PreFile<D::Handle>,
        path: &RelPath,
        new: &PostFile<D::Handle>,
    ) -> Option<Lines> {
        old.lines.and(new.lines)?;
        match (&old.bytes, self.bytes(path, new)?) {
            (Bytes::Memory(old), Bytes::Memory(new)) => {
                Some(Lines::new(line_diff::count(old, &new)))
            }
            (Bytes::Memory(_) | Bytes::File(..) | Bytes::ByPath(_), _) => None,
        }
    }

    /// Returns the changes of the steps so far, with up to 64 MiB of old and new contents in total.
    ///
    /// # Errors
    /// `Io` if a large file cannot be read.
    pub fn diff(&self) -> Result<Vec<PathChange>> {
        self.diff_of(|_| true)
    }

    /// Returns the changes at the selected paths, like [`diff`](Self::diff), without reading the contents of other
    /// paths.
    ///
    /// # Errors
    /// `Io` if a large file cannot be read.
    pub fn diff_of(&self, selects: impl Fn(&RelPath) -> bool) -> Result<Vec<PathChange>> {
        let renames = renames(&self.nodes);
        let changed = self.nodes.iter().filter(|(path, node)| node.changes() && selects(path));
        let mut left = DIFF_BYTES_MAX;
        changed
            .map(|(path, node)| {
                let before = self.state_of(path, &node.pre.unchanged(), &mut left)?;
                let after = self.state_of(path, &node.post, &mut left)?;
                let renamed_from = renames.from(path).cloned();
                let (path, excerpts) = (path.clone(), Vec::new());
                Ok(PathChange { path, renamed_from, before, after, excerpts })
            })
            .collect()
    }

    fn state_of(&self, path: &RelPath, post: &Post<D::Handle>, left: &mut u64) -> Result<State> {
        Ok(match post {
            Post::Absent => State::Absent,
            Post::Directory(attributes) => State::Directory { mode: attributes.mode },
            Post::File(file) => self.state(path, file, left)?,
        })
    }

    fn state(&self, path: &RelPath, file: &PostFile<D::Handle>, left: &mut u64) -> Result<State> {
        let content = if file.size > CONTENT_BYTES_MAX.min(*left) {
            Shown::TooLarge
        } else {
            *left -= file.size;
            let mut bytes = Vec::new();
            self.each_piece(path, file, |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            Shown::Known(Arc::new(bytes))
        };
        let (mode, size, digest) = (file.attributes.mode, file.size, file.digest);
        Ok(State::File { mode, size, digest, content })
    }
}

/// Returns the files to report as renamed. A file does not count as renamed if its old path has the same file again.
fn renames<H>(nodes: &Nodes<H>) -> Renames<&RelPath> {
    let moves = nodes.iter().filter_map(|(to, node)| {
        let from = node.post.file()?.content.origin(to).filter(|from| *from != to)?;
        nodes.get(from).filter(|source| source.changes()).map(|_| (to, from))
    });
    let pre = |path: &RelPath| nodes.get(path).map(|node| &node.pre);
    Renames::new(&moves.collect(), |path| matches!(pre(path), Some(Pre::File(_))))
}
