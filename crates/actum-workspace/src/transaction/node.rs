//! Facts of a transaction about one path: its state on the disk, and its target state.

use std::collections::BTreeMap;
use std::sync::Arc;

use actum_core::text::TextBlocks;
use actum_core::{Digest, FileMode, RelPath};
use actum_edit::Splice;

use crate::attributes::Attributes;
use crate::change::{Held, Lines};
use crate::content::{Bytes, Source, Written};
use crate::disk::{Stat, Time};
use crate::error::{ErrorKind, NotAFile, Result};
use crate::transaction::take::Captured;

/// Paths of a transaction.
pub(crate) type Nodes<H> = BTreeMap<RelPath, Node<H>>;

/// Path of a transaction.
pub(crate) struct Node<H> {
    pub(crate) pre: Pre<H>,
    pub(crate) post: Post<H>,
}

/// State of a path when the transaction first reads it.
pub(crate) enum Pre<H> {
    Absent,
    Directory(Attributes),
    File(PreFile<H>),
}

/// File or link when the transaction first reads it.
pub(crate) struct PreFile<H> {
    /// Its facts; names that actum gave it are not counted.
    pub(crate) stat: Stat,
    /// Number of its names that actum made and that remain while the run lasts.
    pub(crate) own_names: u64,
    pub(crate) attributes: Attributes,
    pub(crate) digest: Digest,
    /// Number of its lines; `None` where it is binary.
    pub(crate) lines: Option<u64>,
    pub(crate) bytes: Bytes<H>,
    /// Time at which it was read.
    pub(crate) read_at: Time,
}

/// Target state of a path.
#[derive(Clone)]
pub(crate) enum Post<H> {
    Absent,
    Directory(Attributes),
    File(PostFile<H>),
}

impl<H> Post<H> {
    /// Returns the name of its new content in the stage directory.
    pub(crate) fn staged_name(&self) -> Option<&[u8]> {
        let Self::File(PostFile { content: Content::New(new), .. }) = self else { return None };
        match &new.bytes {
            Bytes::File(_, Source::Staged(name)) => Some(name),
            Bytes::File(_, Source::Unnamed | Source::Kept(..))
            | Bytes::Memory(_)
            | Bytes::ByPath(_) => None,
        }
    }
}

/// Target state of a file, or of a symbolic link, whose bytes are its target.
pub(crate) struct PostFile<H> {
    pub(crate) attributes: Attributes,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// Number of its lines; `None` where it is binary.
    pub(crate) lines: Option<u64>,
    pub(crate) content: Content<H>,
}

/// Source of the bytes of a file in the target state.
pub(crate) enum Content<H> {
    /// The current bytes.
    Untouched,
    /// The inode at another path moves here.
    Moved(RelPath),
    /// New bytes.
    New(New<H>),
}

/// New bytes, and the facts about their origin.
pub(crate) struct New<H> {
    pub(crate) bytes: Bytes<H>,
    /// Path, before the steps, of the file that they are an edit of; none for a file that is made.
    pub(crate) origin: Option<RelPath>,
    /// Splices from the current bytes to the new ones, where they are known.
    pub(crate) splices: Option<Arc<Vec<Splice>>>,
    /// The lines in which they differ from the file at the origin.
    pub(crate) counted: Counted,
    /// Blocks that can hold text, where they were looked for.
    pub(crate) text_blocks: Option<Arc<TextBlocks>>,
    /// File of a capture that has the bytes.
    pub(crate) captured: Option<Captured<H>>,
}

/// Method by which the lines of new bytes were counted.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// Not yet: the bytes were written whole.
    Not,
    /// By the one edit that led to them.
    Once(Lines),
    /// By the sum of several edits, which may have changed one line twice. The sum is used if the file is too large to
    /// be compared.
    Sum(Lines),
}

impl<H> Clone for Content<H> {
    fn clone(&self) -> Self {
        match self {
            Self::Untouched => Self::Untouched,
            Self::Moved(from) => Self::Moved(from.clone()),
            Self::New(new) => Self::New(New {
                bytes: new.bytes.clone(),
                origin: new.origin.clone(),
                splices: new.splices.clone(),
                counted: new.counted,
                text_blocks: new.text_blocks.clone(),
                captured: new.captured.clone(),
            }),
        }
    }
}

impl<H> Clone for PostFile<H> {
    fn clone(&self) -> Self {
        Self {
            attributes: self.attributes.clone(),
            digest: self.digest,
            size: self.size,
            lines: self.lines,
            content: self.content.clone(),
        }
    }
}

impl<H> PostFile<H> {
    /// Returns a file whose bytes were written whole, in place of those of the file that was at `origin`.
    pub(crate) fn written(
        Written { digest, size, lines, text_blocks, store }: Written<H>,
        attributes: Attributes,
        origin: Option<RelPath>,
    ) -> Self {
        let (bytes, counted) = (store.into_bytes(), Counted::Not);
        let (splices, captured) = (None, None);
        let content = Content::New(New { bytes, origin, splices, counted, text_blocks, captured });
        Self { attributes, digest, size, lines, content }
    }
}

impl<H> Content<H> {
    /// Returns the path, before the steps, of the file that is now at `path`, edited or not.
    pub(crate) fn origin<'a>(&'a self, path: &'a RelPath) -> Option<&'a RelPath> {
        match self {
            Self::Untouched => Some(path),
            Self::Moved(from) => Some(from),
            Self::New(new) => new.origin.as_ref(),
        }
    }
}

impl Counted {
    /// Adds the lines of another edit.
    pub(crate) fn and(self, lines: Lines) -> Self {
        match self {
            Self::Not => Self::Not,
            Self::Once(before) | Self::Sum(before) => Self::Sum(before.and(lines)),
        }
    }
}

impl<H> Post<H> {
    /// Returns the permission bits, if the path has an object.
    pub(crate) fn mode(&self) -> Option<FileMode> {
        match self {
            Self::Absent => None,
            Self::Directory(attributes) => Some(attributes.mode),
            Self::File(file) => Some(file.attributes.mode),
        }
    }

    /// Returns true for a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        self.mode().is_some_and(FileMode::is_link)
    }

    pub(crate) fn file(&self) -> Option<&PostFile<H>> {
        match self {
            Self::File(file) => Some(file),
            Self::Absent | Self::Directory(_) => None,
        }
    }

    /// Returns the bytes of a file that gets new ones.
    pub(crate) fn new_bytes(&self) -> Option<&Bytes<H>> {
        match &self.file()?.content {
            Content::New(new) => Some(&new.bytes),
            Content::Untouched | Content::Moved(_) => None,
        }
    }

    pub(crate) fn held(&self) -> Held<'_> {
        match self {
            Self::Absent => Held::Nothing,
            Self::Directory(attributes) => Held::Directory(attributes),
            Self::File(file) => Held::File(&file.attributes, file.digest),
        }
    }
}

impl<H> Pre<H> {
    /// Returns the permission bits, if the path has an object.
    pub(crate) fn mode(&self) -> Option<FileMode> {
        match self {
            Self::Absent => None,
            Self::Directory(attributes) => Some(attributes.mode),
            Self::File(file) => Some(file.attributes.mode),
        }
    }

    pub(crate) fn file(&self) -> Option<&PreFile<H>> {
        match self {
            Self::File(file) => Some(file),
            Self::Absent | Self::Directory(_) => None,
        }
    }

    pub(crate) fn held(&self) -> Held<'_> {
        match self {
            Self::Absent => Held::Nothing,
            Self::Directory(attributes) => Held::Directory(attributes),
            Self::File(file) => Held::File(&file.attributes, file.digest),
        }
    }

    /// Refuses a symbolic link, which has no content to be read or changed.
    pub(crate) fn refuse_link(&self, path: &RelPath) -> Result<()> {
        if self.mode().is_some_and(FileMode::is_link) {
            let found = NotAFile::Symlink;
            return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
        }
        Ok(())
    }

    /// Returns the state as an unchanged target state.
    pub(crate) fn unchanged(&self) -> Post<H> {
        match self {
            Self::Absent => Post::Absent,
            Self::Directory(attributes) => Post::Directory(attributes.clone()),
            Self::File(file) => Post::File(PostFile {
                attributes: file.attributes.clone(),
                digest: file.digest,
                size: file.stat.size,
                lines: file.lines,
                content: Content::Untouched,
            }),
        }
    }
}

impl<H> Node<H> {
    /// Returns true if the path changes in any way.
    pub(crate) fn changes(&self) -> bool {
        self.pre.held() != self.post.held()
    }
}
