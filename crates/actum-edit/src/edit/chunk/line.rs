//! Serialization of chunk lines. As in the body of a hunk, each line begins with ` `, `-` or `+`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ChunkLine;
use crate::byte_text;
use crate::hunk::Side;

impl Serialize for ChunkLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sign = match self.side {
            Side::Context => b' ',
            Side::Old => b'-',
            Side::New => b'+',
        };
        byte_text::serialize(&[&[sign], self.bytes.as_slice()].concat(), serializer)
    }
}

impl<'de> Deserialize<'de> for ChunkLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = byte_text::deserialize(deserializer)?;
        let (side, bytes) = match line.split_first() {
            Some((b' ', bytes)) => (Side::Context, bytes),
            Some((b'-', bytes)) => (Side::Old, bytes),
            Some((b'+', bytes)) => (Side::New, bytes),
            Some(_) | None => {
                return Err(D::Error::custom("a line of a chunk must begin with ` `, `-` or `+`"));
            }
        };
        Ok(Self { side, bytes: bytes.to_vec() })
    }
}
