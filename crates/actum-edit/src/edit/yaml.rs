//! Edits a single value of a YAML file and leaves every other byte unchanged.
//!
//! An event parser reports the byte position of each node, so an edit cuts out the old node and writes only the new
//! one. A strict parser then reads the file before and after the edit, and only the edited node may differ.

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

/// Maximum size of a YAML file before and after an edit, in bytes: 4 MiB.
pub const YAML_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Replaces a value in a YAML file, or adds a member to a mapping.
///
/// The path is evaluated over all documents of the file, or only over `document` if it is given, and must select exactly
/// one node. It can only refer to mapping keys that are strings. If a path of names and indices exists except for its
/// last name, and only one mapping lacks that name, the member is appended to this mapping.
///
/// A new mapping or sequence is written in block style if the old value was in block style. The same applies if the old
/// value was a scalar with nothing after it on its line, unless it was a block scalar. Otherwise, the new value is written on one line. Comments
/// inside the replaced value are removed with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YamlUpdate {
    /// Path of the value to replace, or of the member to add.
    pub path: JsonPath,
    /// Number of the document to edit, counted from 1 and including empty documents. If absent, all documents are searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<NonZeroU32>,
    /// New value, which is written as YAML.
    pub value: JsonText,
}

/// Removes a member from a mapping in a YAML file.
///
/// The path is evaluated like the path of a [`YamlUpdate`]. The comma of the member is removed with it, or its lines and
/// the comments in them. A mapping that loses its last member becomes `{}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YamlRemove {
    /// Path of the member to remove, which must exist.
    pub path: JsonPath,
    /// Number of the document to edit, counted from 1 and including empty documents. If absent, all documents are searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<NonZeroU32>,
}

/// Byte range of the old text, and the text that replaces it.
type Piece = (Range<usize>, String);

/// Change to a single node, for [`gate::prove`] to check.
#[derive(Clone, Copy)]
enum Change<'v> {
    Replace(&'v Value<'v>),
    Add(&'v Value<'v>),
    Remove,
}

impl YamlUpdate {
    /// Returns the splices that apply the update to `content`, in ascending order.
    ///
    /// # Errors
    /// Returns [`YamlError`] in these cases:
    ///
    /// - `content` is not valid YAML, or is ambiguous.
    /// - The path does not select exactly one node, or leads through an alias.
    /// - The old value has a tag, or contains an anchor that an alias outside the value refers to.
    /// - The file or the result is too large.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, YamlError> {
        let value = Value::read(self.value.as_str().as_bytes()).map_err(|_| YamlError::Value)?;
        splices(content, find::Wanted { path: &self.path, document: self.document }, Some(&value))
    }
}

impl YamlRemove {
    /// Returns the splices that remove the member from `content`, in ascending order.
    ///
    /// # Errors
    /// Returns the same errors as [`YamlUpdate::splices`], and [`YamlError::NoMember`] if the path does not select a
    /// member of a mapping.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, YamlError> {
        splices(content, find::Wanted { path: &self.path, document: self.document }, None)
    }
}

/// Computes the splices that write `value` at the wanted path, or remove the member there if `value` is `None`.
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
        // For some notations, it is unclear which lines belong to a member.
        (Change::Add(_) | Change::Remove, Some((range, _))) => {
            YamlError::Unclear { place: place(range.start) }
        }
        (Change::Replace(_) | Change::Add(_) | Change::Remove, _) => error,
    })?;
    Ok(pieces.into_iter().filter_map(|piece| splice(text, mark, piece)).collect())
}

/// Applies `pieces` to `text`. Returns `None` if a piece lies outside the text.
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

/// Returns the smallest splice for a piece, or `None` if the piece changes nothing.
fn splice(text: &str, mark: usize, (range, new): Piece) -> Option<Splice> {
    let old = text.get(range.clone()).unwrap_or_default();
    let start = count(mark.saturating_add(range.start));
    let smallest = Splice::between(old.as_bytes(), new.as_bytes()).pop()?;
    Some(Splice { offset: start.saturating_add(smallest.offset), ..smallest })
}
