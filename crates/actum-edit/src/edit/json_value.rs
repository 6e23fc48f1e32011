//! Edits of a single value in a JSON file that leave every other byte unchanged. The file may contain comments.
//!
//! A JSONPath selects the value. To find it, a copy of the file is parsed as strict JSON in which comments and trailing commas are
//! replaced with blanks, so that all offsets stay the same. The result is parsed again and compared with the request before the
//! splices are returned.

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

/// Change of a single value in a JSON file.
///
/// The file may contain comments (`//` to the end of a line, and `/* */`) wherever blanks are allowed, and trailing commas. New
/// values are laid out like the values around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum JsonValueEdit {
    /// Appends a member to the end of an object.
    AddProperty {
        /// Path to the object.
        path: JsonPath,
        /// Name of the new member, which must not exist yet.
        key: String,
        /// Value of the new member.
        value: JsonText,
    },
    /// Removes a member of an object, including its comma, its line, and the comments inside it. Comments around it are kept.
    RemoveProperty {
        /// Path to the object.
        path: JsonPath,
        /// Name of the member to remove, which must exist.
        key: String,
    },
    /// Replaces a value, including the comments inside it.
    UpdateValue {
        /// Path to the value.
        path: JsonPath,
        /// New value.
        value: JsonText,
    },
}

/// Change to make at the place that the path selects.
#[derive(Debug, Clone, Copy)]
enum Change<'e> {
    Add { key: &'e str, value: &'e JsonText },
    Remove { key: &'e str },
    Update { value: &'e JsonText },
}

/// Text of the edited file, and a strict copy in which comments and trailing commas are replaced with blanks.
#[derive(Clone, Copy)]
struct File<'t> {
    text: &'t str,
    strict: &'t str,
}

/// Byte range of the text, and the new text that replaces it.
type Piece = (Range<usize>, String);

impl JsonValueEdit {
    /// Returns the path to the value that is changed, or to the object whose member is changed.
    pub fn path(&self) -> &JsonPath {
        match self {
            Self::AddProperty { path, .. }
            | Self::RemoveProperty { path, .. }
            | Self::UpdateValue { path, .. } => path,
        }
    }

    /// Returns the splices that apply the change to `content`, in ascending order.
    ///
    /// # Errors
    /// Returns a [`JsonValueError`] in these cases:
    /// - `content` is neither JSON nor JSON with comments.
    /// - The path does not select exactly one place, or the place is not an object as required.
    /// - The member to add already exists, or the member to remove does not.
    /// - A limit is exceeded.
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

    /// Returns the steps to the only place that the path selects.
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
    /// Returns how much of the value at the end of the path must be parsed.
    fn last(self) -> Last {
        match self {
            Self::Add { .. } | Self::Remove { .. } => Last::Members,
            Self::Update { .. } => Last::Whole,
        }
    }
}

/// Returns the object that the path selects, or an error if the value is not an object.
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

/// Checks that a new value inside `around` containers does not exceed the maximum nesting depth.
fn shallow(around: usize, parcel: &Parcel<'_>) -> Result<(), JsonValueError> {
    if around.saturating_add(parcel.node.depth()) > DEPTH_MAX {
        return Err(JsonValueError::TooDeep);
    }
    Ok(())
}

/// Returns the smallest splice for a piece, or `None` if the piece changes nothing.
fn splice(text: &str, mark: usize, (range, new): Piece) -> Option<Splice> {
    let old = text.get(range.clone()).unwrap_or_default();
    let start = count(mark.saturating_add(range.start));
    let smallest = Splice::between(old.as_bytes(), new.as_bytes()).pop()?;
    Some(Splice { offset: start.saturating_add(smallest.offset), ..smallest })
}
