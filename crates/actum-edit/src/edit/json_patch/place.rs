//! Inserts values into containers and removes them, together with the blanks around them.

use actum_core::place::Excerpt;

use super::layout::{Layout, Style};
use super::parcel::{Parcel, Room};
use super::pointer::Index;
use super::tree::{Brackets, Container, Item, Name, Node, Piece};
use super::{Pointer, PointerProblem};

/// Container with information about its position in the document.
pub(super) struct Inside<'d, 't> {
    pub(super) container: &'d mut Container<'t>,
    /// Indentation of the line on which the container starts.
    pub(super) indent: String,
    pub(super) layout: Layout,
    /// Pointer to the container.
    pub(super) pointer: Pointer,
}

/// Place of an added value in a container.
enum Place {
    /// The value replaces the item with this index.
    Replace(usize),
    /// The value is inserted before the item with this index, or appended if the index is the number of items.
    Insert(usize),
}

impl<'t> Inside<'_, 't> {
    /// Adds a value at `step`, following RFC 6902, section 4.1.
    pub(super) fn add(
        &mut self,
        step: &str,
        parcel: Parcel<'t>,
        style: &Style,
        room: &mut Room,
    ) -> Result<(), PointerProblem> {
        match self.place_for(step)? {
            Place::Replace(index) => self.replace(index, parcel, style, room),
            Place::Insert(index) => self.insert(index, step, parcel, style, room),
        }
    }

    fn place_for(&self, step: &str) -> Result<Place, PointerProblem> {
        let there = self.container.item(step, || self.pointer.clone()).map(|(index, _)| index);
        let length = self.container.items.len();
        match (self.container.brackets, Index::parse(step), there) {
            (Brackets::Object, _, Ok(index)) => Ok(Place::Replace(index)),
            (Brackets::Object, _, Err(PointerProblem::NoMember { .. })) => {
                Ok(Place::Insert(length))
            }
            (Brackets::Array, Index::End, _) => Ok(Place::Insert(length)),
            (Brackets::Array, Index::At(index), _) if index <= length => Ok(Place::Insert(index)),
            (Brackets::Array, _, Ok(index)) => Ok(Place::Insert(index)),
            (Brackets::Array | Brackets::Object, _, Err(problem)) => Err(problem),
        }
    }

    /// Replaces the value of the item at `index`.
    pub(super) fn replace(
        &mut self,
        index: usize,
        parcel: Parcel<'t>,
        style: &Style,
        room: &mut Room,
    ) -> Result<(), PointerProblem> {
        let local = style.inside(self.container);
        let layout = self.container.layout_of(&parcel.node, self.layout, Some(index), &local);
        let indent = self.container.indent_at(index, &self.indent).to_owned();
        let Some(item) = self.container.items.get_mut(index) else { return Ok(()) };
        room.give_back(item.value.bytes());
        item.value = parcel.open(layout, &indent, &local, room)?;
        Ok(())
    }

    fn insert(
        &mut self,
        index: usize,
        step: &str,
        parcel: Parcel<'t>,
        style: &Style,
        room: &mut Room,
    ) -> Result<(), PointerProblem> {
        let local = style.inside(self.container);
        let name = (self.container.brackets == Brackets::Object).then(|| Name {
            decoded: step.to_owned().into(),
            spelled: Piece::new(serde_json::Value::from(step).to_string()),
            colon: Piece::new(local.colon.clone()),
        });
        let layout = self.container.layout_of(&parcel.node, self.layout, None, &local);
        let outer = self.container.indent_at(index.saturating_sub(1), &self.indent).to_owned();
        let (before, after) = self.make_room(index, &local);
        let indent = before.indent().unwrap_or(&outer).to_owned();
        let value = parcel.open(layout, &indent, &local, room)?;
        let named = name.as_ref().map_or(0, |name| name.spelled.text.len() + name.colon.text.len());
        room.take(before.text.len() + named + after.text.len() + ",".len())?;
        self.container.items.insert(index, Item { before, name, value, after });
        Ok(())
    }

    /// Returns the blanks around a new item at `index`, and adjusts the blanks of its neighbors.
    fn make_room(&mut self, index: usize, style: &Style) -> (Piece<'t>, Piece<'t>) {
        let brackets = self.container.brackets;
        let items = &mut self.container.items;
        let is_alone = items.len() == 1;
        let second = items.get(1).map(|item| item.before.again());
        let not_last = items.split_last().and_then(|(_, others)| others.last());
        let after_not_last = not_last.map_or(Piece::new(""), |item| item.after.again());
        let gap = || Piece::new(style.gap.clone());
        if let Some(next) = items.get_mut(index) {
            let before = line_start(&next.before);
            // The previous first item now follows a comma.
            let in_line = second.filter(|second| !second.has_newline());
            if index == 0 && (in_line.is_some() || !next.before.has_newline()) {
                next.before = in_line.unwrap_or_else(gap);
            }
            return (before, after_not_last);
        }
        let Some(last) = items.last_mut() else {
            let inner = format!("{}{}", self.indent, style.unit);
            return match self.layout {
                Layout::Lines => (style.line(&inner), style.line(&self.indent)),
                Layout::OneLine => (style.pad(brackets), style.pad(brackets)),
            };
        };
        let takes_the_line = !is_alone || last.before.has_newline();
        let before = if takes_the_line { line_start(&last.before) } else { gap() };
        (before, std::mem::replace(&mut last.after, after_not_last))
    }
}

/// Returns the last line break of `before` and the indentation after it, so that empty lines are not copied. Blanks without a
/// line break are returned unchanged.
fn line_start<'t>(before: &Piece<'_>) -> Piece<'t> {
    Piece::new(match before.text.rsplit_once('\n') {
        Some((above, indent)) if above.ends_with('\r') => format!("\r\n{indent}"),
        Some((_, indent)) => format!("\n{indent}"),
        None => before.text.to_string(),
    })
}

impl<'t> Node<'t> {
    pub(super) fn container(
        &self,
        inside: impl Fn() -> Pointer,
    ) -> Result<&Container<'t>, PointerProblem> {
        match self {
            Self::Container(container) => Ok(container),
            Self::Scalar(found, _) => {
                Err(PointerProblem::NoContainer { found: *found, inside: inside() })
            }
        }
    }

    pub(super) fn container_mut(
        &mut self,
        inside: impl Fn() -> Pointer,
    ) -> Result<&mut Container<'t>, PointerProblem> {
        match self {
            Self::Container(container) => Ok(container),
            Self::Scalar(found, _) => {
                Err(PointerProblem::NoContainer { found: *found, inside: inside() })
            }
        }
    }
}

impl<'t> Container<'t> {
    /// Returns the existing item to which a step refers, and its index.
    pub(super) fn item(
        &self,
        step: &str,
        inside: impl FnOnce() -> Pointer,
    ) -> Result<(usize, &Item<'t>), PointerProblem> {
        let shown = Excerpt::new(step.as_bytes());
        if self.brackets == Brackets::Object {
            let has_name = |item: &Item<'_>| item.name.as_ref().is_some_and(|n| n.decoded == step);
            let mut matching = self.items.iter().enumerate().filter(|(_, item)| has_name(item));
            return match (matching.next(), matching.next()) {
                (Some(found), None) => Ok(found),
                (Some(_), Some(_)) => {
                    Err(PointerProblem::Doubled { name: shown, inside: inside() })
                }
                (None, _) => Err(PointerProblem::NoMember { name: shown, inside: inside() }),
            };
        }
        let length = self.items.len();
        let index = match Index::parse(step) {
            Index::At(index) => index,
            Index::End => length,
            Index::None => {
                return Err(PointerProblem::NoIndex { step: shown, inside: inside() });
            }
        };
        match self.items.get(index) {
            Some(item) => Ok((index, item)),
            None => Err(PointerProblem::NoElement { step: shown, inside: inside(), length }),
        }
    }

    pub(super) fn item_mut(
        &mut self,
        step: &str,
        inside: impl Fn() -> Pointer,
    ) -> Result<(usize, &mut Item<'t>), PointerProblem> {
        let (index, _) = self.item(step, &inside)?;
        let missing =
            || PointerProblem::NoMember { name: Excerpt::new(step.as_bytes()), inside: inside() };
        Ok((index, self.items.get_mut(index).ok_or_else(missing)?))
    }

    /// Removes the item at `index` with its comma and its line, and returns its value.
    pub(super) fn take(&mut self, index: usize) -> Node<'t> {
        let removed = self.items.remove(index);
        match (index.checked_sub(1), self.items.get_mut(index)) {
            (_, Some(next)) => {
                let started_a_line = removed.before.has_newline() && !next.before.has_newline();
                if index == 0 || started_a_line {
                    next.before = removed.before;
                }
            }
            (Some(previous), None) => {
                if let Some(last) = self.items.get_mut(previous) {
                    last.after = removed.after;
                }
            }
            (None, None) => self.blank = Piece::new(""),
        }
        removed.value
    }
}
