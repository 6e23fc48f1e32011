//! What the steps of a transaction would change.

use std::rc::Rc;

use actum_core::{RelPath, line_diff};

use crate::disk::Disk;
use crate::error::Result;
use crate::path_change::{CONTENT_BYTES_MAX, Content as Bytes, PathChange, State};
use crate::transaction::Transaction;
use crate::transaction::lines;
use crate::transaction::node::{Bytes as Held, Content, Post, PostFile, Pre, PreFile};
use crate::transaction::stage::moved_sources;

/// What a transaction would do to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: RelPath,
    /// What happens to it.
    pub kind: ChangeKind,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A file appears.
    Created,
    /// A file's bytes change.
    Modified,
    /// Only mode, owner or attributes of a file change.
    Attributes,
    /// A file disappears.
    Deleted,
    /// A directory appears.
    DirectoryCreated,
    /// An empty directory disappears.
    DirectoryRemoved,
}

impl<D: Disk> Transaction<'_, D> {
    /// What the steps so far would change, ordered by path.
    pub fn changes(&mut self) -> Vec<Change> {
        self.count_once();
        let changed = self.nodes.iter().filter(|(_, node)| node.changes());
        let changes = changed.filter_map(|(path, node)| {
            let kind = kind(&node.pre, &node.post)?;
            Some(Change { path: path.clone(), kind, added: node.added, removed: node.removed })
        });
        changes.collect()
    }

    /// Counts the lines of files that several steps changed by comparing the first content with the
    /// last: two edits of one line are one changed line. Files too large for memory keep the sum.
    fn count_once(&mut self) {
        for node in self.nodes.values_mut().filter(|node| node.counted_steps > 1) {
            let Post::File(PostFile { content: Content::New(Held::Memory(new), _), .. }) =
                &node.post
            else {
                continue;
            };
            (node.added, node.removed) = match &node.pre {
                Pre::File(PreFile { bytes: Held::Memory(old), .. }) => line_diff::count(old, new),
                Pre::Absent => (lines(new), 0),
                Pre::File(_) | Pre::Directory(_) => continue,
            };
            node.counted_steps = 1;
        }
    }

    /// The same with the bytes before and after.
    ///
    /// # Errors
    /// `Io` where a large file cannot be read.
    pub fn diff(&self) -> Result<Vec<PathChange>> {
        let moved = moved_sources(&self.nodes);
        let changed =
            self.nodes.iter().filter(|(path, node)| node.changes() || moved.contains(*path));
        changed
            .map(|(path, node)| {
                let before = self.state_of(path, &node.pre.unchanged())?;
                let after = self.state_of(path, &node.post)?;
                let renamed_from = match &node.post {
                    Post::File(PostFile { content: Content::Moved(from), .. }) => {
                        Some(from.clone())
                    }
                    Post::File(_) | Post::Directory(_) | Post::Absent => None,
                };
                let (path, excerpts) = (path.clone(), Vec::new());
                Ok(PathChange { path, renamed_from, before, after, excerpts })
            })
            .collect()
    }

    fn state_of(&self, path: &RelPath, post: &Post<D::Handle>) -> Result<State> {
        Ok(match post {
            Post::Absent => State::Absent,
            Post::Directory(attributes) => State::Directory { mode: attributes.mode },
            Post::File(file) => self.state(path, file)?,
        })
    }

    fn state(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Result<State> {
        let content = if file.size > CONTENT_BYTES_MAX {
            Bytes::TooLarge
        } else {
            let mut bytes = Vec::new();
            self.each_piece(path, file, |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            Bytes::Known(Rc::new(bytes))
        };
        let (mode, size, digest) = (file.attributes.mode, file.size, file.digest);
        Ok(State::File { mode, size, digest, content })
    }
}

fn kind<H>(pre: &Pre<H>, post: &Post<H>) -> Option<ChangeKind> {
    Some(match (pre, post) {
        (Pre::File(pre), Post::File(post)) if pre.digest == post.digest => ChangeKind::Attributes,
        (Pre::File(_), Post::File(_)) => ChangeKind::Modified,
        (Pre::Absent | Pre::Directory(_), Post::File(_)) => ChangeKind::Created,
        (Pre::File(_), Post::Absent | Post::Directory(_)) => ChangeKind::Deleted,
        (Pre::Absent | Pre::Directory(_), Post::Directory(_)) => ChangeKind::DirectoryCreated,
        (Pre::Directory(_), Post::Absent) => ChangeKind::DirectoryRemoved,
        (Pre::Absent, Post::Absent) => return None,
    })
}
