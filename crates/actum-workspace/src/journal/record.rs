//! Records of the journal and the history, which describe each run and how it ended.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use actum_core::{Digest, FileMode, RelPath, RunId};

use crate::attributes::Attributes;
use crate::change::{Extent, Held, Lines, Renames};
use crate::disk::{Epoch, Time};
use crate::journal::back::Back;
use crate::journal::codec::{DecodeError, Decoder, Encoder};

/// State of a path before or after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// Nothing exists at the path.
    Absent,
    /// A directory exists at the path.
    Directory(Attributes),
    /// A regular file or a symbolic link exists at the path.
    File(FileImage),
}

/// State of a regular file or symbolic link before or after a run. The content of a link is its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileImage {
    /// Owner, mode and extended attributes of the file.
    pub attributes: Attributes,
    /// Size of the content in bytes.
    pub size: u64,
    /// SHA-256 of the content.
    pub digest: Digest,
    /// Number of the inode that holds the content.
    pub inode: u64,
    /// Source from which the content can be read again.
    pub(crate) body: Body,
}

/// Source from which the content of an image can be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// The content is part of the record.
    Inline(Arc<Vec<u8>>),
    /// The content is in the keep directory, under the name [`keep_name`].
    Kept,
    /// The content is the kept pre-image of an entry of another run. That run gives it up when this one commits.
    Taken(RunId, u32),
    /// The content is rebuilt from the other image of the same entry, with the data in `back`.
    Back,
    /// The file was moved, so the content is that of the pre-image of the entry with this index.
    Moved(u32),
    /// The run did not write the content.
    Untouched,
    /// The content is not recorded, because it was only needed until the outcome of the run was settled.
    Unrecorded,
}

/// Effect of a run on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: RelPath,
    /// State of the path before the run.
    pub(crate) pre: Image,
    /// State of the path after the run.
    pub(crate) post: Image,
    /// Reported size of the content change.
    pub(crate) extent: Extent,
    /// Index of the entry from whose path this file was moved, if the run also edited it. For a file that was only
    /// moved, `body` contains the index instead.
    pub(crate) edited_from: Option<u32>,
    /// Data that rebuilds the content of `pre` from that of `post`.
    pub(crate) back: Option<Back>,
    /// Time at which the parent directory was last changed before the run. Only set if the directory existed and the
    /// run changes a name in it.
    pub(crate) directory_changed: Option<Time>,
}

/// Kind of a run, which either applies a change or undoes another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// The run applied a change.
    Apply,
    /// The run undid another run.
    Undo(RunId),
}

/// Run as it is announced by its INTENT record, before any target changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
    pub(crate) time: Time,
    pub(crate) epoch: Epoch,
    pub(crate) label: String,
    pub(crate) entries: Vec<Entry>,
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The changes of the run are published and durable.
    Committed,
    /// The run was rolled back, and the workspace is as it was before.
    RolledBack,
    /// The run was rolled back, except for paths that another process had changed. The user must resolve these paths.
    Failed,
}

/// End of the run that the preceding INTENT record announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) intent: u64,
    pub(crate) digest: Digest,
    pub(crate) outcome: Outcome,
    pub(crate) time: Time,
}

/// Record of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Intent(Intent),
    End(End),
    /// A run whose files were published by another program. This record is both its intent and its commit.
    Adopted(Intent),
}

/// Side of an entry: the image before or after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Pre,
    Post,
}

/// Returns the name of a kept image in the keep directory.
pub(crate) fn keep_name(run: RunId, entry: usize, side: Side) -> Vec<u8> {
    let side = match side {
        Side::Pre => "pre",
        Side::Post => "post",
    };
    format!("{run}.{entry}.{side}").into_bytes()
}

/// Returns the name of a block delta in the keep directory, which rebuilds the pre-image of an entry from its
/// post-image.
pub(crate) fn blocks_name(run: RunId, entry: usize) -> Vec<u8> {
    format!("{run}.{entry}.blocks").into_bytes()
}

/// Returns the name of an entry's inode in the stage directory. Before publication, the name refers to the new inode,
/// and afterwards to the displaced one.
pub(crate) fn stage_name(run: RunId, entry: usize) -> Vec<u8> {
    format!("{run}.{entry}").into_bytes()
}

impl Image {
    pub(crate) fn file(&self) -> Option<&FileImage> {
        match self {
            Self::File(file) => Some(file),
            Self::Absent | Self::Directory(_) => None,
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory(_))
    }

    pub(crate) fn held(&self) -> Held<'_> {
        match self {
            Self::Absent => Held::Nothing,
            Self::Directory(attributes) => Held::Directory(attributes),
            Self::File(file) => Held::File(&file.attributes, file.digest),
        }
    }
}

impl Entry {
    /// Returns true if the run changes only the attributes of the file, which it does in place.
    pub(crate) fn only_attributes(&self) -> bool {
        matches!(&self.post, Image::File(FileImage { body: Body::Untouched, .. }))
    }

    /// Returns true if the image before or after the run is a regular file or link with this digest. The type must
    /// match as well.
    pub(crate) fn has_image_of(&self, (digest, is_link): (Digest, bool)) -> bool {
        let mut files = [&self.pre, &self.post].into_iter().filter_map(Image::file);
        files.any(|file| (file.digest, file.attributes.mode.is_link()) == (digest, is_link))
    }

    /// Returns true if the path is a directory before and after the run, but its attributes change.
    pub(crate) fn changes_directory(&self) -> bool {
        self.pre.is_directory() && self.post.is_directory() && self.pre != self.post
    }

    /// Returns true if the run changes a name in the parent directory of the path.
    pub(crate) fn changes_names(&self) -> bool {
        !(self.only_attributes() || self.pre.is_directory() && self.post.is_directory())
    }

    /// Returns true if the path differs after the run. If it does not, the run has moved its inode to another path.
    pub(crate) fn changes(&self) -> bool {
        self.pre.held() != self.post.held()
    }

    /// Returns the index of the entry from whose path the run moved this file, if it did.
    pub(crate) fn origin(&self) -> Option<usize> {
        let moved = match self.post.file()?.body {
            Body::Moved(from) => Some(from),
            Body::Inline(_)
            | Body::Kept
            | Body::Taken(..)
            | Body::Back
            | Body::Untouched
            | Body::Unrecorded => None,
        };
        usize::try_from(moved.or(self.edited_from)?).ok()
    }
}

impl Intent {
    /// Encodes the part of the INTENT record that its digest covers. Also returns the inline bodies that follow this
    /// part; the digests of their images cover them.
    pub(crate) fn encode(&self) -> (Vec<u8>, Vec<&[u8]>) {
        self.encode_as(3)
    }

    /// Encodes a record that also commits the run ([`Record::Adopted`]). Returns the same two parts as
    /// [`Intent::encode`].
    pub(crate) fn encode_adopted(&self) -> (Vec<u8>, Vec<&[u8]>) {
        self.encode_as(4)
    }

    /// Returns the end that a [`Record::Adopted`] implies. It has the time of the intent, because any later timestamp
    /// comes from a change that another program made after the adoption.
    pub(crate) fn end_of_adopted(&self, sequence: u64) -> End {
        let digest = Self::digest(sequence, &self.encode().0);
        End { intent: sequence, digest, outcome: Outcome::Committed, time: self.time }
    }

    fn encode_as(&self, record: u8) -> (Vec<u8>, Vec<&[u8]>) {
        let mut bodies = Vec::new();
        let mut e = Encoder::default();
        e.u8(record);
        e.u64(self.run.bits());
        match self.kind {
            RunKind::Apply => e.u8(0),
            RunKind::Undo(of) => {
                e.u8(1);
                e.u64(of.bits());
            }
        }
        e.i64(self.time.0);
        e.array(&self.epoch.0);
        e.bytes(self.label.as_bytes());
        e.length(self.entries.len());
        for entry in &self.entries {
            e.bytes(entry.path.as_bytes());
            encode_image(&mut e, &entry.pre, &mut bodies);
            encode_image(&mut e, &entry.post, &mut bodies);
            encode_extent(&mut e, entry.extent);
            match entry.edited_from {
                None => e.u8(0),
                Some(from) => {
                    e.u8(1);
                    e.u32(from);
                }
            }
            Back::encode(entry.back.as_ref(), &mut e);
            match entry.directory_changed {
                None => e.u8(0),
                Some(time) => {
                    e.u8(1);
                    e.i64(time.0);
                }
            }
        }
        (e.finish(), bodies)
    }

    /// Computes the digest of an INTENT record from its sequence number and its encoded part.
    pub(crate) fn digest(sequence: u64, encoded: &[u8]) -> Digest {
        let mut hasher = actum_core::Hasher::new();
        hasher.update(b"actum intent 1\0");
        hasher.update(&sequence.to_le_bytes());
        hasher.update(encoded);
        hasher.finish()
    }

    /// Returns true if an entry has a block delta, which programs that only know format 3 cannot read.
    pub(crate) fn has_blocks(&self) -> bool {
        self.entries.iter().any(|entry| entry.back == Some(Back::Blocks))
    }

    /// Returns true if an entry contains a symbolic link or changes the attributes of a directory. Programs that only
    /// know format 5 would take the link for a file, and would ignore the change of the directory.
    pub(crate) fn needs_format_6(&self) -> bool {
        if self.entries.iter().any(Entry::changes_directory) {
            return true;
        }
        let mut images = self.entries.iter().flat_map(|entry| [&entry.pre, &entry.post]);
        images.any(|image| image.file().is_some_and(|file| file.attributes.mode.is_link()))
    }

    /// Returns the indices of the entries whose inode the run moves to another path.
    pub(crate) fn moved(&self) -> BTreeSet<usize> {
        let moved = self.entries.iter().filter_map(|entry| match entry.post.file()?.body {
            Body::Moved(from) => usize::try_from(from).ok(),
            Body::Inline(_)
            | Body::Kept
            | Body::Taken(..)
            | Body::Back
            | Body::Untouched
            | Body::Unrecorded => None,
        });
        moved.collect()
    }

    /// Returns the moves of the run, from the index of the old path's entry to that of the new path's entry.
    pub(crate) fn moves(&self) -> HashMap<usize, usize> {
        let moved = self.entries.iter().enumerate().filter_map(|(to, entry)| {
            let Body::Moved(from) = entry.post.file()?.body else { return None };
            Some((usize::try_from(from).ok()?, to))
        });
        moved.collect()
    }

    /// Returns the files that are reported as renamed, as indices of their entries.
    pub(crate) fn renames(&self) -> Renames<usize> {
        let moves = self.entries.iter().enumerate();
        let moves = moves.filter_map(|(to, entry)| {
            let from = entry.origin()?;
            self.entries.get(from).filter(|source| source.changes()).map(|_| (to, from))
        });
        let pre = |index: usize| self.entries.get(index).map(|entry| &entry.pre);
        Renames::new(&moves.collect(), |index| matches!(pre(index), Some(Image::File(_))))
    }

    /// Drops the inline bytes of all post-images. After the run has ended, only a recovery in another epoch would need
    /// them.
    pub(crate) fn drop_post_bytes(&mut self) {
        for entry in &mut self.entries {
            if let Image::File(FileImage { body: body @ Body::Inline(_), .. }) = &mut entry.post {
                *body = Body::Unrecorded;
            }
        }
    }

    /// Converts the run to its form in the history, without data that was only needed until its outcome was settled. An
    /// undo only needs the pre-images that cannot be rebuilt from the post-images.
    pub(crate) fn into_history(mut self) -> Self {
        let moved = self.moved();
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let (Image::File(pre), true) = (&mut entry.pre, moved.contains(&index)) {
                pre.body = Body::Unrecorded;
            }
            if let Image::File(post) = &mut entry.post {
                post.body = match post.body {
                    Body::Untouched => Body::Untouched,
                    Body::Moved(from) => Body::Moved(from),
                    Body::Inline(_)
                    | Body::Kept
                    | Body::Taken(..)
                    | Body::Back
                    | Body::Unrecorded => Body::Unrecorded,
                };
            }
            if let (Image::File(pre), Some(_)) = (&mut entry.pre, &entry.back) {
                pre.body = Body::Back;
            }
        }
        self
    }
}

fn encode_extent(e: &mut Encoder, extent: Extent) {
    let (kind, first, second) = match extent {
        Extent::Lines(Lines { added, removed }) => (0, added, removed),
        Extent::Bytes { before, after } => (1, before, after),
    };
    e.u8(kind);
    e.u64(first);
    e.u64(second);
}

fn encode_attributes(e: &mut Encoder, attributes: &Attributes) {
    e.u32(attributes.mode.bits());
    e.u32(attributes.user);
    e.u32(attributes.group);
    e.length(attributes.xattrs.len());
    for (name, value) in &attributes.xattrs {
        e.bytes(name);
        e.bytes(value);
    }
}

fn encode_image<'a>(e: &mut Encoder, image: &'a Image, bodies: &mut Vec<&'a [u8]>) {
    match image {
        Image::Absent => e.u8(0),
        Image::Directory(attributes) => {
            e.u8(1);
            encode_attributes(e, attributes);
        }
        Image::File(file) => {
            e.u8(2);
            encode_attributes(e, &file.attributes);
            e.u64(file.size);
            e.array(file.digest.as_bytes());
            e.u64(file.inode);
            match &file.body {
                Body::Inline(bytes) => {
                    e.u8(0);
                    bodies.push(bytes);
                }
                Body::Kept => e.u8(1),
                Body::Back => e.u8(2),
                Body::Moved(entry) => {
                    e.u8(3);
                    e.u32(*entry);
                }
                Body::Untouched => e.u8(4),
                Body::Unrecorded => e.u8(5),
                Body::Taken(run, entry) => {
                    e.u8(6);
                    e.u64(run.bits());
                    e.u32(*entry);
                }
            }
        }
    }
}

impl End {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::default();
        e.u8(2);
        e.u64(self.intent);
        e.array(self.digest.as_bytes());
        e.u8(match self.outcome {
            Outcome::Committed => 0,
            Outcome::RolledBack => 1,
            Outcome::Failed => 2,
        });
        e.i64(self.time.0);
        e.finish()
    }
}

impl Record {
    /// Encodes the length of the encoded part of a record. The length precedes that part and the bodies.
    pub(crate) fn head(encoded: &[u8]) -> [u8; 8] {
        u64::try_from(encoded.len()).unwrap_or(u64::MAX).to_le_bytes()
    }

    /// Decodes a record. Returns an error if any byte is missing, superfluous or not valid.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(bytes);
        let encoded = d.bytes("the record's head")?;
        let mut bodies = d;
        let mut d = Decoder::new(encoded);
        let record = match d.u8("the record's kind")? {
            1 => Self::Intent(decode_intent(&mut d, &mut bodies, Directories::Unrecorded)?),
            3 => Self::Intent(decode_intent(&mut d, &mut bodies, Directories::Recorded)?),
            4 => Self::Adopted(decode_intent(&mut d, &mut bodies, Directories::Recorded)?),
            2 => Self::End(End {
                intent: d.u64("the run's sequence number")?,
                digest: Digest::from_bytes(d.array("the run's digest")?),
                outcome: match d.u8("the outcome")? {
                    0 => Outcome::Committed,
                    1 => Outcome::RolledBack,
                    2 => Outcome::Failed,
                    _ => return Err(DecodeError("the outcome")),
                },
                time: Time(d.i64("the time")?),
            }),
            _ => return Err(DecodeError("the record's kind")),
        };
        if !d.is_empty() || !bodies.is_empty() {
            return Err(DecodeError("the record's end"));
        }
        Ok(record)
    }
}

/// States whether an INTENT record contains the times at which directories were last changed. Formats up to 2 do not
/// record them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directories {
    Unrecorded,
    Recorded,
}

fn decode_intent(
    d: &mut Decoder<'_>,
    bodies: &mut Decoder<'_>,
    directories: Directories,
) -> Result<Intent, DecodeError> {
    let run = RunId::from_random(d.u64("the run id")?);
    let kind = match d.u8("the run's kind")? {
        0 => RunKind::Apply,
        1 => RunKind::Undo(RunId::from_random(d.u64("the undone run's id")?)),
        _ => return Err(DecodeError("the run's kind")),
    };
    let time = Time(d.i64("the time")?);
    let epoch = Epoch(d.array("the epoch")?);
    let label = String::from_utf8_lossy(d.bytes("the label")?).into_owned();
    let count = d.count("the number of paths")?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let path = RelPath::new(d.bytes("a path")?).map_err(|_| DecodeError("a path"))?;
        let pre = decode_image(d, bodies)?;
        let post = decode_image(d, bodies)?;
        let extent = decode_extent(d)?;
        let edited_from = match d.u8("a renamed file")? {
            0 => None,
            1 => Some(d.u32("a renamed file")?),
            _ => return Err(DecodeError("a renamed file")),
        };
        let back = Back::decode(d)?;
        let directory_changed = match directories {
            Directories::Unrecorded => None,
            Directories::Recorded => match d.u8("the time of a directory")? {
                0 => None,
                1 => Some(Time(d.i64("the time of a directory")?)),
                _ => return Err(DecodeError("the time of a directory")),
            },
        };
        entries.push(Entry { path, pre, post, extent, edited_from, back, directory_changed });
    }
    if !entries.iter().all(|entry| is_origin_sound(entry, &entries)) {
        return Err(DecodeError("a renamed file"));
    }
    Ok(Intent { run, kind, time, epoch, label, entries })
}

/// Returns true if the entry from which a renamed and edited file was moved contains a file at another path.
fn is_origin_sound(entry: &Entry, entries: &[Entry]) -> bool {
    let Some(from) = entry.edited_from else { return true };
    let from = usize::try_from(from).ok().and_then(|from| entries.get(from));
    let is_moved = matches!(&entry.post, Image::File(FileImage { body: Body::Moved(_), .. }));
    entry.post.file().is_some()
        && !is_moved
        && from.is_some_and(|from| from.pre.file().is_some() && from.path != entry.path)
}

fn decode_extent(d: &mut Decoder<'_>) -> Result<Extent, DecodeError> {
    let kind = d.u8("an extent")?;
    let (first, second) = (d.u64("an extent")?, d.u64("an extent")?);
    match kind {
        0 => Ok(Extent::Lines(Lines { added: first, removed: second })),
        1 => Ok(Extent::Bytes { before: first, after: second }),
        _ => Err(DecodeError("an extent")),
    }
}

fn decode_attributes(d: &mut Decoder<'_>) -> Result<Attributes, DecodeError> {
    let mode = FileMode::from_bits(d.u32("a mode")?);
    let user = d.u32("an owner")?;
    let group = d.u32("a group")?;
    let count = d.count("an attribute list")?;
    let mut xattrs = Vec::with_capacity(count);
    for _ in 0..count {
        let name = d.bytes("an attribute")?.to_vec();
        xattrs.push((name, d.bytes("an attribute")?.to_vec()));
    }
    Ok(Attributes { mode, user, group, xattrs })
}

fn decode_image(d: &mut Decoder<'_>, bodies: &mut Decoder<'_>) -> Result<Image, DecodeError> {
    Ok(match d.u8("an image")? {
        0 => Image::Absent,
        1 => Image::Directory(decode_attributes(d)?),
        2 => {
            let attributes = decode_attributes(d)?;
            let size = d.u64("a size")?;
            let digest = Digest::from_bytes(d.array("a digest")?);
            let inode = d.u64("an inode number")?;
            let body = match d.u8("a body")? {
                0 => {
                    let size = usize::try_from(size).map_err(|_| DecodeError("a size"))?;
                    Body::Inline(Arc::new(bodies.take(size, "a body")?.to_vec()))
                }
                1 => Body::Kept,
                2 => Body::Back,
                3 => Body::Moved(d.u32("a body")?),
                4 => Body::Untouched,
                5 => Body::Unrecorded,
                6 => Body::Taken(RunId::from_random(d.u64("a body")?), d.u32("a body")?),
                _ => return Err(DecodeError("a body")),
            };
            Image::File(FileImage { attributes, size, digest, inode, body })
        }
        _ => return Err(DecodeError("an image")),
    })
}

#[cfg(test)]
mod tests;
