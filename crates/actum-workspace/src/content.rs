//! Contents of files, which are kept in memory if they are small and in temporary files otherwise.

use std::io;
use std::sync::Arc;

use actum_core::text::{LineCounter, TextBlocks};
use actum_core::{Digest, FileMode, Hasher, RunId};

use crate::disk::Disk;
use crate::file_by_path::FileByPath;

/// Maximum size in bytes of a content that is kept in memory and recorded in the journal.
pub const INLINE_BYTES_MAX: usize = 1 << 20;
/// Size in bytes below which pieces are collected instead of being written individually.
const GATHER: usize = 64 << 10;

/// Content of a file that is available for reading.
pub(crate) enum Bytes<H> {
    Memory(Arc<Vec<u8>>),
    /// The content of an open file.
    File(Arc<H>, Source),
    /// The content of a file that is opened again for each read.
    ByPath(Arc<FileByPath<H>>),
}

/// Content of a file that can be read without opening the file again.
pub(crate) enum Opened<H> {
    Memory(Arc<Vec<u8>>),
    File(Arc<H>),
}

/// Name of an available file, which a transaction can use to publish it without copying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The file has no usable name, so its content must be copied.
    Unnamed,
    /// The file has this name in the stage directory.
    Staged(Vec<u8>),
    /// The file is the kept pre-image of an entry of a past run.
    Kept(RunId, u32),
}

/// Content that has been written completely.
pub(crate) struct Written<H> {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// Number of lines, or `None` if the content is binary.
    pub(crate) lines: Option<u64>,
    /// Blocks of the content that can contain text, if they were determined.
    pub(crate) text_blocks: Option<Arc<TextBlocks>>,
    pub(crate) store: Store<H>,
}

/// Location of content that has been written.
pub(crate) enum Store<H> {
    Memory(Vec<u8>),
    /// The content is in a file with this name in the stage directory.
    Staged(Vec<u8>, H),
}

impl<H> Clone for Bytes<H> {
    fn clone(&self) -> Self {
        match self {
            Self::Memory(bytes) => Self::Memory(Arc::clone(bytes)),
            Self::File(file, source) => Self::File(Arc::clone(file), source.clone()),
            Self::ByPath(file) => Self::ByPath(Arc::clone(file)),
        }
    }
}

impl<H> Bytes<H> {
    /// Returns the size of the content in bytes.
    ///
    /// # Errors
    /// Returns errors of the disk.
    pub(crate) fn size<D: Disk<Handle = H>>(&self, disk: &D) -> io::Result<u64> {
        match self {
            Self::File(file, _) => Ok(disk.stat(file)?.size),
            Self::ByPath(file) => Ok(file.stat.size),
            Self::Memory(memory) => Ok(u64::try_from(memory.len()).unwrap_or(u64::MAX)),
        }
    }

    /// Returns the content in a form that can be read repeatedly, opening the file if necessary.
    ///
    /// # Errors
    /// Returns errors of the disk.
    pub(crate) fn opened<D: Disk<Handle = H>>(&self, disk: &D) -> io::Result<Opened<H>> {
        Ok(match self {
            Self::Memory(bytes) => Opened::Memory(Arc::clone(bytes)),
            Self::File(file, _) => Opened::File(Arc::clone(file)),
            Self::ByPath(file) => Opened::File(Arc::new(file.open(disk)?)),
        })
    }

    /// Reads bytes into `buffer`, starting at `offset`. Returns fewer bytes than fit only at the end of the content.
    ///
    /// # Errors
    /// Returns errors of the disk.
    pub(crate) fn read_at<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        match self {
            Self::File(file, _) => disk.read_at(file, buffer, offset),
            Self::ByPath(file) => disk.read_at(&file.open(disk)?, buffer, offset),
            Self::Memory(memory) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(memory.len());
                let rest = memory.get(start..).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                for (to, from) in buffer.iter_mut().zip(rest) {
                    *to = *from;
                }
                Ok(count)
            }
        }
    }
}

impl<H> Store<H> {
    pub(crate) fn into_bytes(self) -> Bytes<H> {
        match self {
            Self::Memory(bytes) => Bytes::Memory(Arc::new(bytes)),
            Self::Staged(name, file) => Bytes::File(Arc::new(file), Source::Staged(name)),
        }
    }
}

/// Sink that receives and hashes content piece by piece. The first error is reported by [`Sink::finish`].
pub(crate) struct Sink<'a, D: Disk> {
    disk: &'a D,
    stage: &'a D::Handle,
    name: Vec<u8>,
    hasher: Hasher,
    lines: LineCounter,
    size: u64,
    /// All content as long as there is no file, and afterwards the part that has not been written to the file yet.
    gathered: Vec<u8>,
    file: Option<(D::Handle, u64)>,
    failed: Option<io::Error>,
}

impl<'a, D: Disk> Sink<'a, D> {
    /// Creates a sink. If the content becomes too large for memory, the sink creates the file `name` in `stage`.
    pub(crate) fn new(disk: &'a D, stage: &'a D::Handle, name: Vec<u8>) -> Self {
        let (hasher, lines) = (Hasher::new(), LineCounter::default());
        let (gathered, file, failed) = (Vec::new(), None, None);
        Self { disk, stage, name, hasher, lines, size: 0, gathered, file, failed }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.try_write(bytes).err();
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lines.feed(bytes);
        self.size = self.size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let total = self.gathered.len().saturating_add(bytes.len());
        if self.file.is_none() {
            if total <= INLINE_BYTES_MAX {
                self.gathered.extend_from_slice(bytes);
                return Ok(());
            }
            self.hasher.update(&self.gathered);
            let create = || self.disk.create(self.stage, &self.name, FileMode::PRIVATE);
            let file = match create() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.disk.unlink(self.stage, &self.name)?; // left by an earlier attempt
                    create()?
                }
                created => created?,
            };
            self.file = Some((file, 0));
        }
        self.hasher.update(bytes);
        if bytes.len() < GATHER && total <= INLINE_BYTES_MAX {
            self.gathered.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.put(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        self.put(&gathered)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((file, offset)) = &mut self.file {
            self.disk.write_at(file, bytes, *offset)?;
            *offset = offset.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Completes the content and returns its digest, size, line count and location.
    ///
    /// # Errors
    /// Returns the first error of any write.
    pub(crate) fn finish(mut self) -> io::Result<Written<D::Handle>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.file.is_some() {
            self.flush()?;
        } else {
            self.hasher.update(&self.gathered);
        }
        let store = match self.file {
            Some((file, _)) => Store::Staged(self.name, file),
            None => Store::Memory(self.gathered),
        };
        let (digest, lines) = (self.hasher.finish(), self.lines.finish());
        Ok(Written { digest, size: self.size, lines, text_blocks: None, store })
    }
}
