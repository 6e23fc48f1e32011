//! Binary encoding of baselines.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::{Digest, FileMode, RelPath};

use super::{BASELINE_FILES_MAX, Baseline, BlobId, Known, Source, Stamp, Turn};
use crate::disk::{Kind, Time};
use crate::journal::codec::{DecodeError, Decoder, Encoder};

/// Version of the format. A baseline with a different version is treated as missing.
const VERSION: u8 = 1;
/// Estimated number of bytes for a file with a path of typical length.
const FILE_BYTES: usize = 160;

impl Baseline {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Encoder::with_capacity(self.files.len() * FILE_BYTES);
        to.u8(VERSION);
        to.u64(self.sequence);
        to.u8(u8::from(self.is_whole));
        to.length(self.turns.len());
        for turn in &self.turns {
            to.array(turn.session.as_bytes());
            to.u8(u8::from(turn.prompt.is_some()));
            if let Some(prompt) = turn.prompt {
                to.array(prompt.as_bytes());
            }
            to.i64(turn.since.0);
            to.u64(turn.sequence);
            to.u8(u8::from(turn.is_open));
        }
        to.length(self.left_out.len());
        self.left_out.iter().for_each(|path| to.bytes(path.as_bytes()));
        to.length(self.reported.len());
        for (path, stamp) in &self.reported {
            to.bytes(path.as_bytes());
            to.u8(u8::from(stamp.is_some()));
            if let Some(stamp) = stamp {
                encode_stamp(&mut to, stamp);
            }
        }
        to.length(self.files.len());
        for (path, file) in &self.files {
            to.bytes(path.as_bytes());
            encode_stamp(&mut to, &file.stamp);
            to.u8(u8::from(file.is_fresh));
            match file.source {
                Source::Nowhere => to.u8(0),
                Source::Blob(BlobId(id)) => {
                    to.u8(1);
                    to.array(&id);
                }
                Source::Copy(digest) => {
                    to.u8(2);
                    to.array(digest.as_bytes());
                }
            }
        }
        to.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Decoder::new(bytes);
        if from.u8("the version")? != VERSION {
            return Err(DecodeError("the version"));
        }
        let sequence = from.u64("the number of the last run")?;
        let is_whole = decode_flag(&mut from)?;
        let mut turns = Vec::new();
        for _ in 0..from.count("turns")? {
            let session = Digest::from_bytes(from.array("a session")?);
            let has_prompt = decode_flag(&mut from)?;
            let prompt = has_prompt.then(|| from.array("a prompt")).transpose()?;
            turns.push(Turn {
                session,
                prompt: prompt.map(Digest::from_bytes),
                since: Time(from.i64("a time")?),
                sequence: from.u64("the run before a turn")?,
                is_open: decode_flag(&mut from)?,
            });
        }
        let mut left_out = BTreeSet::new();
        for _ in 0..from.count("directories")? {
            left_out.insert(decode_path(&mut from)?);
        }
        let mut reported = BTreeMap::new();
        for _ in 0..from.count("reported paths")? {
            let path = decode_path(&mut from)?;
            let is_there = decode_flag(&mut from)?;
            reported.insert(path, if is_there { Some(decode_stamp(&mut from)?) } else { None });
        }
        let count = from.count("files")?;
        let mut files = Vec::with_capacity(count.min(BASELINE_FILES_MAX));
        for _ in 0..count {
            let path = decode_path(&mut from)?;
            let stamp = decode_stamp(&mut from)?;
            let is_fresh = decode_flag(&mut from)?;
            let source = match from.u8("the source of a file")? {
                0 => Source::Nowhere,
                1 => Source::Blob(BlobId(from.array("a blob")?)),
                2 => Source::Copy(Digest::from_bytes(from.array("a digest")?)),
                _ => return Err(DecodeError("the source of a file")),
            };
            files.push((path, Known { stamp, source, is_fresh }));
        }
        let files = files.into_iter().collect();
        match from.is_empty() {
            true => Ok(Self { sequence, turns, is_whole, files, left_out, reported }),
            false => Err(DecodeError("the end")),
        }
    }
}

fn encode_stamp(to: &mut Encoder, stamp: &Stamp) {
    to.u8(match stamp.kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Special => 3,
    });
    to.u64(stamp.inode);
    to.u64(stamp.size);
    to.u32(stamp.mode.bits());
    to.u32(stamp.user);
    to.u32(stamp.group);
    to.i64(stamp.modified.0);
    to.i64(stamp.changed.0);
}

fn decode_stamp(from: &mut Decoder<'_>) -> Result<Stamp, DecodeError> {
    Ok(Stamp {
        kind: match from.u8("a kind")? {
            0 => Kind::File,
            1 => Kind::Directory,
            2 => Kind::Symlink,
            3 => Kind::Special,
            _ => return Err(DecodeError("a kind")),
        },
        inode: from.u64("an inode")?,
        size: from.u64("a size")?,
        mode: FileMode::from_bits(from.u32("a mode")?),
        user: from.u32("an owner")?,
        group: from.u32("a group")?,
        modified: Time(from.i64("a time")?),
        changed: Time(from.i64("a time")?),
    })
}

fn decode_flag(from: &mut Decoder<'_>) -> Result<bool, DecodeError> {
    match from.u8("a flag")? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(DecodeError("a flag")),
    }
}

fn decode_path(from: &mut Decoder<'_>) -> Result<RelPath, DecodeError> {
    RelPath::new(from.bytes("a path")?).map_err(|_| DecodeError("a path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Baseline {
        let stamp = Stamp {
            kind: Kind::File,
            inode: 7,
            size: 3,
            mode: FileMode::REGULAR,
            user: 1,
            group: 2,
            modified: Time(-5),
            changed: Time(9),
        };
        let path = |path: &str| RelPath::new(path).unwrap();
        let known = |source, is_fresh| Known { stamp, source, is_fresh };
        Baseline {
            sequence: 12,
            is_whole: true,
            turns: vec![Turn {
                session: Digest::of(b"s"),
                prompt: Some(Digest::of(b"p")),
                since: Time(4),
                sequence: 11,
                is_open: true,
            }],
            files: BTreeMap::from([
                (path("a"), known(Source::Copy(Digest::of(b"x")), true)),
                (path("b/c"), known(Source::Blob(BlobId([3; 20])), false)),
                (
                    path("d"),
                    Known {
                        stamp: Stamp { kind: Kind::Symlink, ..stamp },
                        source: Source::Nowhere,
                        is_fresh: false,
                    },
                ),
            ]),
            left_out: BTreeSet::from([path("target")]),
            reported: BTreeMap::from([(path("a"), Some(stamp)), (path("gone"), None)]),
        }
    }

    /// Issue 27
    #[test]
    fn baseline_round_trips_and_damage_never_panics() {
        let sample = sample();
        let bytes = sample.encode();
        assert_eq!(Baseline::decode(&bytes), Ok(sample));
        for end in 0..bytes.len() {
            assert!(Baseline::decode(&bytes[..end]).is_err(), "{end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            drop(Baseline::decode(&changed));
        }
    }
}
