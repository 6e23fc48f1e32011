//! Edits of one value of a JSON file, which may have comments: all else keeps its bytes.
//!
//! A path leads to the place. Comments, and a comma behind the last value, become blanks in a copy that
//! is judged as strict JSON, and whose places are those of the file. What was made is held against what
//! was asked for before it is given out.

mod add;
mod error;
mod gap;
mod gate;
mod outline;
mod query;
mod remove;
mod sketch;
pub(super) mod strict;

pub use error::{JsonValueError, Unproven};

use std::ops::Range;

use actum_core::count;
use actum_core::json::{self, DEPTH_MAX, SyntaxError};
use actum_core::place::{Excerpt, Place};
use serde::{Deserialize, Serialize};

use super::json_patch::parcel::{Parcel, Room};
use super::json_patch::{BYTE_ORDER_MARK, JSON_BYTES_MAX, JsonText};
use super::json_path::{JsonPath, NodePath};
use crate::Splice;
use outline::{Last, Outline};
use sketch::Sketch;

/// A change of one value in a JSON file.
///
/// Comments (`//` to the end of a line, and `/* */`) may stand wherever blanks may, and a comma behind
/// the last value. What the edit puts in is laid out as what is around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JsonValueEdit {
    /// Adds a member behind the last of an object.
    AddProperty {
        /// The object.
        path: JsonPath,
        /// The name of the member, which must not be there.
        key: String,
        /// Its value.
        value: JsonText,
    },
    /// Removes a member of an object, with its comma and its line, and with the comments inside of it. Those
    /// around it stay.
    RemoveProperty {
        /// The object.
        path: JsonPath,
        /// The name of the member, which must be there.
        key: String,
    },
    /// Replaces a value, with the comments inside of it.
    UpdateValue {
        /// The value.
        path: JsonPath,
        /// New value.
        value: JsonText,
    },
}

/// Change at the place that a path leads to.
#[derive(Debug, Clone, Copy)]
enum Change<'e> {
    Add { key: &'e str, value: &'e JsonText },
    Remove { key: &'e str },
    Update { value: &'e JsonText },
}

/// A file that is edited: its text, and the same with blanks for what JSON does not have.
#[derive(Clone, Copy)]
struct File<'t> {
    text: &'t str,
    strict: &'t str,
}

/// Bytes of the text, and what takes their place.
type Piece = (Range<usize>, String);

impl JsonValueEdit {
    /// The path of what is changed.
    pub fn path(&self) -> &JsonPath {
        match self {
            Self::AddProperty { path, .. }
            | Self::RemoveProperty { path, .. }
            | Self::UpdateValue { path, .. } => path,
        }
    }

    /// The splices that make the change in `content`, ascending.
    ///
    /// # Errors
    /// [`JsonValueError`] when `content` is not JSON, also with comments. It is also returned when the
    /// path does not lead to exactly one place, or to one of another kind. The member to add must be
    /// missing, the one to remove must exist, and limits count as well.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, JsonValueError> {
        if count(content.len()) > JSON_BYTES_MAX {
            return Err(JsonValueError::TooLarge { bytes: count(content.len()) });
        }
        let body = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
        let mark = content.len() - body.len();
        let place = |offset: usize| Place::new(content, mark + offset);
        let refused = |SyntaxError { offset, problem }| JsonValueError::NotJson {
            place: place(offset),
            problem,
        };
        let text = json::text(body).map_err(refused)?;
        let strict = strict::strict(text).map_err(|error| error.at(place))?;
        let file = File { text, strict: &strict };
        let way = self.way(file, place)?;
        let outline = Outline::new(file.strict, &way, self.change().last())
            .map_err(|missed| JsonValueError::missed(missed, self.path(), &way, place))?;
        let pieces = self.pieces(file, &outline, place)?;
        gate::prove(file, (&way, &outline), self.change(), &pieces)?;
        Ok(pieces.into_iter().filter_map(|piece| splice(text, mark, piece)).collect())
    }

    fn change(&self) -> Change<'_> {
        match self {
            Self::AddProperty { key, value, .. } => Change::Add { key, value },
            Self::RemoveProperty { key, .. } => Change::Remove { key },
            Self::UpdateValue { value, .. } => Change::Update { value },
        }
    }

    /// The way to the only place that the path selects.
    fn way(
        &self,
        file: File<'_>,
        place: impl Fn(usize) -> Place,
    ) -> Result<NodePath, JsonValueError> {
        let path = self.path();
        if let Some(way) = path.steps() {
            return Ok(way);
        }
        let document = query::document(file.strict, path.compares(), place)?;
        let places = path.places(&[document])?;
        Ok(path.only(places, |_, way| way.to_string())?.1)
    }

    fn pieces(
        &self,
        file: File<'_>,
        outline: &Outline,
        place: impl Fn(usize) -> Place,
    ) -> Result<Vec<Piece>, JsonValueError> {
        let sketch = Sketch::new(file, outline);
        let mut room = Room::beside(file.text.len());
        match self.change() {
            Change::Update { value } => {
                let parcel = Parcel::new(value)?;
                shallow(outline.levels.len(), &parcel)?;
                let spot = sketch.spot();
                let layout = spot.layout_of(&parcel.node, spot.chosen);
                let old = outline.place.clone();
                room.give_back(old.len());
                let new = parcel.open(layout, &spot.indent, &spot.style, &mut room)?.text();
                Ok(vec![(old, new)])
            }
            Change::Add { key, value } => {
                let object = object(outline, self.path(), &place)?;
                if let Some(there) = object.member(file.strict, key) {
                    let (name, place) = (Excerpt::new(key.as_bytes()), place(there.name.start));
                    return Err(JsonValueError::Exists { name, place });
                }
                let parcel = Parcel::new(value)?;
                shallow(outline.levels.len(), &parcel)?;
                add::pieces(file, object, &sketch.spot(), key, parcel, &mut room)
            }
            Change::Remove { key } => {
                let object = object(outline, self.path(), &place)?;
                let index = object.index(file.strict, key).ok_or_else(|| {
                    let place = place(object.span.start);
                    JsonValueError::Missing { name: Excerpt::new(key.as_bytes()), place }
                })?;
                Ok(remove::pieces(file, object, index))
            }
        }
    }
}

impl Change<'_> {
    /// Returns the part that is read where the path ends.
    fn last(self) -> Last {
        match self {
            Self::Add { .. } | Self::Remove { .. } => Last::Members,
            Self::Update { .. } => Last::Whole,
        }
    }
}

/// The object at the place.
fn object<'o>(
    outline: &'o Outline,
    path: &JsonPath,
    place: impl Fn(usize) -> Place,
) -> Result<&'o outline::Level, JsonValueError> {
    outline.object().ok_or_else(|| JsonValueError::NoObject {
        path: path.shown(),
        found: outline.found,
        place: place(outline.place.start),
    })
}

/// Refuses a value that would make the file too deep.
fn shallow(around: usize, parcel: &Parcel<'_>) -> Result<(), JsonValueError> {
    if around.saturating_add(parcel.node.depth()) > DEPTH_MAX {
        return Err(JsonValueError::TooDeep);
    }
    Ok(())
}

/// The smallest splice for a piece; none where it changes nothing.
fn splice(text: &str, mark: usize, (range, new): Piece) -> Option<Splice> {
    let old = text.get(range.clone()).unwrap_or_default();
    let start = count(mark.saturating_add(range.start));
    let smallest = Splice::between(old.as_bytes(), new.as_bytes()).pop()?;
    Some(Splice { offset: start.saturating_add(smallest.offset), ..smallest })
}
