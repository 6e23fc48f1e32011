//! State of a single path in a transaction: what is on disk, and the target state.

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

/// All paths that a transaction has read or changed.
pub(crate) type Nodes<H> = BTreeMap<RelPath, Node<H>>;

/// State of one path, on disk and after the steps so far.
pub(crate) struct Node<H> {
    pub(crate) pre: Pre<H>,
    pub(crate) post: Post<H>,
}

/// State of a path when the transaction first read it.
pub(crate) enum Pre<H> {
    Absent,
    Directory(Attributes),
    File(PreFile<H>),
}

/// Facts about a file or symbolic link when the transaction first read it.
pub(crate) struct PreFile<H> {
    /// Metadata of the file, without the hard links that actum created.
    pub(crate) stat: Stat,
    /// Number of hard links that actum created and that remain during the run.
    pub(crate) own_names: u64,
    pub(crate) attributes: Attributes,
    pub(crate) digest: Digest,
    /// Number of lines in the file, or `None` if it is binary.
    pub(crate) lines: Option<u64>,
    pub(crate) bytes: Bytes<H>,
    /// Time at which the file was read.
    pub(crate) read_at: Time,
}

/// Target state of a path after the steps so far.
#[derive(Clone)]
pub(crate) enum Post<H> {
    Absent,
    Directory(Attributes),
    File(PostFile<H>),
}

impl<H> Post<H> {
    /// Returns the stage-directory name of the new content, if the content is in a staged file.
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

/// Target state of a file or symbolic link. The content of a link is its target.
pub(crate) struct PostFile<H> {
    pub(crate) attributes: Attributes,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// Number of lines in the file, or `None` if it is binary.
    pub(crate) lines: Option<u64>,
    pub(crate) content: Content<H>,
}

/// Source of the bytes of a file in the target state.
pub(crate) enum Content<H> {
    /// The file keeps its current content.
    Untouched,
    /// The inode at the given path moves to this path.
    Moved(RelPath),
    /// The file gets new content.
    New(New<H>),
}

/// New content of a file, with facts about its origin.
pub(crate) struct New<H> {
    pub(crate) bytes: Bytes<H>,
    /// Original path of the file of which this content is an edit, or `None` if the file is new.
    pub(crate) origin: Option<RelPath>,
    /// Splices from the current content to the new content, if they are known.
    pub(crate) splices: Option<Arc<Vec<Splice>>>,
    /// Number of lines in which the new content differs from the file at the origin.
    pub(crate) counted: Counted,
    /// Blocks that may hold text, if the content was examined for them.
    pub(crate) text_blocks: Option<Arc<TextBlocks>>,
    /// Captured file with this content, if it comes from a capture.
    pub(crate) captured: Option<Captured<H>>,
}

/// Line counts of new content, by the way in which they were determined.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// Not counted yet, because the content was written whole.
    Not,
    /// Counted for the only edit.
    Once(Lines),
    /// Sum over several edits, which may count a line twice if it was edited twice. The sum is used only if the file is
    /// too large to compare.
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
    /// Returns a file whose entire content was written, replacing that of the file originally at `origin`.
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
    /// Returns the original path of the file that is now at `path`, whether it was edited or not.
    pub(crate) fn origin<'a>(&'a self, path: &'a RelPath) -> Option<&'a RelPath> {
        match self {
            Self::Untouched => Some(path),
            Self::Moved(from) => Some(from),
            Self::New(new) => new.origin.as_ref(),
        }
    }
}

impl Counted {
    /// Adds the line counts of another edit.
    pub(crate) fn and(self, lines: Lines) -> Self {
        match self {
            Self::Not => Self::Not,
            Self::Once(before) | Self::Sum(before) => Self::Sum(before.and(lines)),
        }
    }
}

impl<H> Post<H> {
    /// Returns the mode of the target file or directory, or `None` if the path will be absent.
    pub(crate) fn mode(&self) -> Option<FileMode> {
        match self {
            Self::Absent => None,
            Self::Directory(attributes) => Some(attributes.mode),
            Self::File(file) => Some(file.attributes.mode),
        }
    }

    /// Returns true if the target state is a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        self.mode().is_some_and(FileMode::is_link)
    }

    pub(crate) fn file(&self) -> Option<&PostFile<H>> {
        match self {
            Self::File(file) => Some(file),
            Self::Absent | Self::Directory(_) => None,
        }
    }

    /// Returns the new content of the file, or `None` if it gets none.
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
    /// Returns the mode of the current file or directory, or `None` if the path is absent.
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

    /// Returns an error if the path is a symbolic link, which has no content to read or edit.
    pub(crate) fn refuse_link(&self, path: &RelPath) -> Result<()> {
        if self.mode().is_some_and(FileMode::is_link) {
            let found = NotAFile::Symlink;
            return Err(ErrorKind::NotAFile { path: path.clone(), found }.into());
        }
        Ok(())
    }

    /// Converts the current state into a target state without changes.
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
    /// Returns true if the target state differs from the current state.
    pub(crate) fn changes(&self) -> bool {
        self.pre.held() != self.post.held()
    }
}
