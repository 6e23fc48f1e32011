//! Finds the bytes of recorded images, or rebuilds them from other images.

use std::sync::Arc;

use actum_core::{Digest, FileMode, Hasher};
use actum_edit::splice::Splicer;

use crate::blocks;
use crate::content::{Bytes, Opened, Sink, Source};
use crate::disk::{Barrier, Disk};
use crate::error::{Result, ResultExt};
use crate::home::Home;
use crate::journal::back::Back;
use crate::journal::record::{
    Body, Entry, Image, Intent, Side, blocks_name, keep_name, stage_name,
};
use crate::tree::{digest_of, read_pieces};

/// Bytes that were found, with their digest.
type Found<D> = (Bytes<<D as Disk>::Handle>, Digest);

/// Reads or rebuilds the bytes of recorded images.
pub(crate) struct Images<'a, D: Disk> {
    pub(crate) disk: &'a D,
    pub(crate) home: &'a Home<D::Handle>,
}

impl<D: Disk> Images<'_, D> {
    /// Returns the bytes of one image of a run, or `None` if they are not recorded or do not match the recorded digest.
    /// If `post` is set, a pre-image is rebuilt from it instead of from the recorded post-image.
    pub(crate) fn bytes(
        &self,
        intent: &Intent,
        index: usize,
        side: Side,
        post: Option<&Bytes<D::Handle>>,
    ) -> Result<Option<Bytes<D::Handle>>> {
        let Some(entry) = intent.entries.get(index) else { return Ok(None) };
        let image = match side {
            Side::Pre => &entry.pre,
            Side::Post => &entry.post,
        };
        let Image::File(file) = image else { return Ok(None) };
        let found = match (&file.body, side) {
            (Body::Inline(bytes), _) => Some((Bytes::Memory(Arc::clone(bytes)), Digest::of(bytes))),
            (Body::Kept, _) => {
                let source = match (side, u32::try_from(index)) {
                    (Side::Pre, Ok(index)) => Source::Kept(intent.run, index),
                    (Side::Pre, Err(_)) | (Side::Post, _) => Source::Unnamed,
                };
                self.kept(&keep_name(intent.run, index, side), source)?
            }
            (Body::Taken(run, entry), _) => match usize::try_from(*entry) {
                Ok(entry) => self.kept(&keep_name(*run, entry, Side::Pre), Source::Unnamed)?,
                Err(_) => None,
            },
            (Body::Back, Side::Pre) => {
                let recorded = match post {
                    Some(post) => Some(post.clone()),
                    None => self.bytes(intent, index, Side::Post, None)?,
                };
                match recorded {
                    Some(post) => {
                        self.rebuild_pre_image(intent, index, (entry, file.size), &post)?
                    }
                    None => None,
                }
            }
            (Body::Moved(from), Side::Post) => match usize::try_from(*from) {
                Ok(from) if from != index => return self.bytes(intent, from, Side::Pre, None),
                Ok(_) | Err(_) => None,
            },
            (Body::Back | Body::Moved(_) | Body::Untouched | Body::Unrecorded, _) => None,
        };
        Ok(found.filter(|(_, digest)| *digest == file.digest).map(|(bytes, _)| bytes))
    }

    fn kept(&self, name: &[u8], source: Source) -> Result<Option<Found<D>>> {
        let doing = || "read a kept image".to_owned();
        match self.disk.open_file(&self.home.keep, name) {
            Ok(file) => {
                let digest = digest_of(self.disk, &file).doing(doing)?;
                Ok(Some((Bytes::File(Arc::new(file), source), digest)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing(doing),
        }
    }

    /// Rebuilds a pre-image of `size` bytes from the post-image. Returns `None` if the required data is missing or does
    /// not fit.
    fn rebuild_pre_image(
        &self,
        intent: &Intent,
        index: usize,
        (entry, size): (&Entry, u64),
        post: &Bytes<D::Handle>,
    ) -> Result<Option<Found<D>>> {
        let doing = || format!("rebuild `{}`", entry.path);
        let name = [stage_name(intent.run, index), b".rebuilt".to_vec()].concat();
        let mut sink = Sink::new(self.disk, &self.home.stage, name);
        let fits = match &entry.back {
            None => return Ok(None),
            Some(Back::Splices(back)) => {
                let mut splicer = Splicer::new(&back.splices);
                let mut fits = true;
                self.each_piece(post, |piece| {
                    fits = fits && splicer.feed(piece, |bytes| sink.write(bytes)).is_ok();
                })
                .doing(doing)?;
                fits && splicer.finish(|bytes| sink.write(bytes)).is_ok()
            }
            Some(Back::Blocks) => {
                match self.disk.open_file(&self.home.keep, &blocks_name(intent.run, index)) {
                    Ok(delta) => {
                        blocks::rebuild(self.disk, &delta, post, size, |bytes| sink.write(bytes))
                            .doing(doing)?
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
                    Err(error) => return Err(error).doing(doing),
                }
            }
        };
        let written = sink.finish().doing(doing)?;
        Ok(fits.then(|| (written.store.into_bytes(), written.digest)))
    }

    /// Passes bytes to the callback, in pieces if they are stored in a file.
    pub(crate) fn each_piece(
        &self,
        bytes: &Bytes<D::Handle>,
        mut each: impl FnMut(&[u8]),
    ) -> std::io::Result<()> {
        match bytes.opened(self.disk)? {
            Opened::Memory(bytes) => {
                each(&bytes);
                Ok(())
            }
            Opened::File(file) => read_pieces::<D, std::io::Error>(self.disk, &file, |piece| {
                each(piece);
                Ok(())
            })
            .map(drop),
        }
    }

    /// Creates the file or symbolic link of an image in one of actum's own directories. Returns `None` if the bytes do
    /// not match the digest of the image.
    pub(crate) fn make(
        &self,
        (directory, name): (&D::Handle, &[u8]),
        (mode, digest): (FileMode, Digest),
        bytes: &Bytes<D::Handle>,
    ) -> std::io::Result<Option<D::Handle>> {
        if !mode.is_link() {
            let file = self.disk.create(directory, name, mode)?;
            return Ok(self.write_to(&file, bytes, digest)?.then_some(file));
        }
        let mut target = Vec::new();
        self.each_piece(bytes, |piece| target.extend_from_slice(piece))?;
        if Digest::of(&target) != digest {
            return Ok(None);
        }
        self.disk.make_link(directory, name, &target)?;
        self.disk.open_link(directory, name).map(Some)
    }

    /// Syncs a file or symbolic link that [`make`](Self::make) created. A link cannot be synced on its own, so the
    /// whole file system is synced instead.
    pub(crate) fn sync_made(
        &self,
        made: &D::Handle,
        mode: FileMode,
        barrier: Barrier,
    ) -> std::io::Result<()> {
        match mode.is_link() {
            true => self.disk.sync_all(&self.home.stage, barrier),
            false => self.disk.sync(made, barrier),
        }
    }

    /// Writes bytes to a new file, and returns true if the written bytes match `digest`. They may differ, because a
    /// program that has a kept image open can write to it between two reads.
    pub(crate) fn write_to(
        &self,
        file: &D::Handle,
        bytes: &Bytes<D::Handle>,
        digest: Digest,
    ) -> std::io::Result<bool> {
        let (mut offset, mut failed) = (0u64, None);
        let mut hasher = Hasher::new();
        self.each_piece(bytes, |piece| {
            if failed.is_none() {
                failed = self.disk.write_at(file, piece, offset).err();
            }
            hasher.update(piece);
            offset = offset.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        })?;
        failed.map_or(Ok(hasher.finish() == digest), Err)
    }
}
