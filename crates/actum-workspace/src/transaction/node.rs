//! What a transaction knows of one path: what is there, and what shall be.

use std::rc::Rc;

use actum_core::{Digest, RelPath, Splice};

use crate::disk::{Stat, Time};
use crate::journal::record::Attributes;

/// One path of a transaction.
pub(crate) struct Node<H> {
    pub(crate) pre: Pre<H>,
    pub(crate) post: Post<H>,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    /// How many steps those lines are the sum of.
    pub(crate) counted_steps: u32,
}

/// What is at a path when the transaction first looks.
pub(crate) enum Pre<H> {
    Absent,
    Directory(Attributes),
    File(PreFile<H>),
}

/// A file when the transaction first looks at it.
pub(crate) struct PreFile<H> {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    pub(crate) digest: Digest,
    pub(crate) bytes: Bytes<H>,
    /// When it was looked at.
    pub(crate) read_at: Time,
}

/// What shall be at a path.
#[derive(Clone)]
pub(crate) enum Post<H> {
    Absent,
    Directory(Attributes),
    File(PostFile<H>),
}

/// A file as it shall be.
pub(crate) struct PostFile<H> {
    pub(crate) attributes: Attributes,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) content: Content<H>,
}

/// Where the bytes of a file that shall be come from.
pub(crate) enum Content<H> {
    /// They are those that are there.
    Untouched,
    /// The inode at another path moves here.
    Moved(RelPath),
    /// New bytes; with them, where they are known, the splices that lead to them from what is
    /// there.
    New(Bytes<H>, Option<Rc<Vec<Splice>>>),
}

/// Bytes at hand.
pub(crate) enum Bytes<H> {
    Memory(Rc<Vec<u8>>),
    /// A file; for staged content with its name in the stage directory.
    File(Rc<H>, Option<Vec<u8>>),
}

impl<H> Clone for Bytes<H> {
    fn clone(&self) -> Self {
        match self {
            Self::Memory(bytes) => Self::Memory(Rc::clone(bytes)),
            Self::File(file, name) => Self::File(Rc::clone(file), name.clone()),
        }
    }
}

impl<H> Clone for Content<H> {
    fn clone(&self) -> Self {
        match self {
            Self::Untouched => Self::Untouched,
            Self::Moved(from) => Self::Moved(from.clone()),
            Self::New(bytes, splices) => Self::New(bytes.clone(), splices.clone()),
        }
    }
}

impl<H> Clone for PostFile<H> {
    fn clone(&self) -> Self {
        Self {
            attributes: self.attributes.clone(),
            digest: self.digest,
            size: self.size,
            content: self.content.clone(),
        }
    }
}

impl<H> Pre<H> {
    /// The same state, as something that shall be.
    pub(crate) fn unchanged(&self) -> Post<H> {
        match self {
            Self::Absent => Post::Absent,
            Self::Directory(attributes) => Post::Directory(attributes.clone()),
            Self::File(file) => Post::File(PostFile {
                attributes: file.attributes.clone(),
                digest: file.digest,
                size: file.stat.size,
                content: Content::Untouched,
            }),
        }
    }
}

impl<H> Node<H> {
    /// Whether anything about the path changes.
    pub(crate) fn changes(&self) -> bool {
        match (&self.pre, &self.post) {
            (Pre::Absent, Post::Absent) => false,
            (Pre::Directory(pre), Post::Directory(post)) => pre != post,
            (Pre::File(pre), Post::File(post)) => {
                pre.digest != post.digest || pre.attributes != post.attributes
            }
            (Pre::Absent | Pre::Directory(_) | Pre::File(_), _) => true,
        }
    }
}
