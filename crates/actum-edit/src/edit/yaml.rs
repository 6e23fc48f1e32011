//! Edits of one value of a YAML file: all else keeps its bytes.
//!
//! The events of a parser give the byte at which each node begins. The replaced part is cut out there,
//! and only the node at the path is written. A strict reader judges the file before and after, and both
//! readings are compared: they may differ at the place alone.

mod error;
mod find;
mod gate;
pub(super) mod loaded;
mod member;
mod place;
mod problem;
mod replace;
mod spell;
mod tree;

pub use error::{YamlError, YamlUnproven};
pub use problem::YamlProblem;

use std::num::NonZeroU32;
use std::ops::Range;

use actum_core::count;
use actum_core::json::Value;
use actum_core::place::Place;
use serde::{Deserialize, Serialize};

use super::json_patch::{BYTE_ORDER_MARK, JsonText};
use super::json_path::JsonPath;
use crate::Splice;
use find::{Found, Missing};
use loaded::Loaded;
use tree::Stream;

/// The largest YAML file that is edited, and the largest that an edit makes, in bytes: 4 MiB.
pub const YAML_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A value of a YAML file is replaced, or a member is added to a mapping.
///
/// The path is evaluated over all documents of the file, or over the one that is named, and must select exactly one place among
/// them. Of mappings it sees the members whose names are strings. Where a path of names and indices lacks its last name alone, in
/// one mapping among them, the member is added behind the last of that. A new mapping or sequence is written in lines where the
/// old value was, or where the old one was plain and alone in its line; else in one line. Comments inside the replaced part are
/// removed with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YamlUpdate {
    /// The place: a value, or a member that a mapping does not have yet.
    pub path: JsonPath,
    /// The only document that the path is evaluated over, counted from 1; empty documents count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<NonZeroU32>,
    /// Value that replaces it.
    pub value: JsonText,
}

/// A member of a mapping of a YAML file is removed: with its comma, or with its lines and the comments in them. The path is
/// evaluated as that of a [`YamlUpdate`]. A mapping without members is left as `{}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YamlRemove {
    /// The member, which must be there.
    pub path: JsonPath,
    /// The only document that the path is evaluated over, counted from 1; empty documents count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<NonZeroU32>,
}

/// Bytes of the text, and what takes their place.
type Piece = (Range<usize>, String);

/// Change at a place.
#[derive(Clone, Copy)]
enum Change<'v> {
    Replace(&'v Value<'v>),
    Add(&'v Value<'v>),
    Remove,
}

impl YamlUpdate {
    /// The splices that make the change in `content`, ascending.
    ///
    /// # Errors
    /// [`YamlError`] when `content` is not YAML, or could be read in two ways. It is also returned when
    /// the path does not lead to exactly one place, or leads through an alias. The value there must
    /// have no tag, and no anchor that an alias elsewhere refers to. Limits count as well.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, YamlError> {
        let value = Value::read(self.value.as_str().as_bytes()).map_err(|_| YamlError::Value)?;
        splices(content, find::Wanted { path: &self.path, document: self.document }, Some(&value))
    }
}

impl YamlRemove {
    /// The splices that make the change in `content`, ascending.
    ///
    /// # Errors
    /// As [`YamlUpdate::splices`]; when the place is no member of a mapping.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, YamlError> {
        splices(content, find::Wanted { path: &self.path, document: self.document }, None)
    }
}

/// Splices that put `value` at a place, or remove the value there.
fn splices(
    content: &[u8],
    wanted: find::Wanted<'_>,
    value: Option<&Value<'_>>,
) -> Result<Vec<Splice>, YamlError> {
    if count(content.len()) > YAML_BYTES_MAX {
        return Err(YamlError::TooLarge { bytes: count(content.len()) });
    }
    let body = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
    let mark = content.len() - body.len();
    let place = |offset: usize| Place::new(content, mark + offset);
    let text = std::str::from_utf8(body)
        .map_err(|error| YamlError::NotUtf8 { place: place(error.valid_up_to()) })?;
    let before = Loaded::read(text).map_err(|error| error.in_file())?;
    let stream = Stream::read(text, &place)?;
    let missing = if value.is_some() { Missing::Member } else { Missing::Refuse };
    let Found { document, way, is_new } = find::way(&stream, wanted, missing, text, &place)?;
    let at = (document, &way);
    let (change, pieces) = match value {
        Some(value) if is_new => {
            (Change::Add(value), member::added(text, &stream, at, value, &place)?)
        }
        Some(value) => {
            let pieces = replace::pieces(text, &stream, document, &way, value, &place)?;
            (Change::Replace(value), pieces)
        }
        None => (Change::Remove, member::removed(text, &stream, at, &place)?),
    };
    let result = made(text, &pieces).ok_or(YamlUnproven::Beyond)?;
    if count(mark.saturating_add(result.len())) > YAML_BYTES_MAX {
        return Err(YamlError::ResultTooLarge);
    }
    let old = gate::Old { text, loaded: &before, stream: &stream };
    let proven = gate::prove(&old, at, &pieces, &result, change);
    proven.map_err(|error| match (change, pieces.first()) {
        // The extent of the lines of a member is unknown for some spellings.
        (Change::Add(_) | Change::Remove, Some((range, _))) => {
            YamlError::Unclear { place: place(range.start) }
        }
        (Change::Replace(_) | Change::Add(_) | Change::Remove, _) => error,
    })?;
    Ok(pieces.into_iter().filter_map(|piece| splice(text, mark, piece)).collect())
}

/// The text with its pieces replaced.
fn made(text: &str, pieces: &[Piece]) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut reached = 0;
    for (range, new) in pieces {
        result.push_str(text.get(reached..range.start)?);
        result.push_str(new);
        reached = range.end;
    }
    result.push_str(text.get(reached..)?);
    Some(result)
}

/// The smallest splice for a piece; none where it changes nothing.
fn splice(text: &str, mark: usize, (range, new): Piece) -> Option<Splice> {
    let old = text.get(range.clone()).unwrap_or_default();
    let start = count(mark.saturating_add(range.start));
    let smallest = Splice::between(old.as_bytes(), new.as_bytes()).pop()?;
    Some(Splice { offset: start.saturating_add(smallest.offset), ..smallest })
}
