//! Values to insert into a container: their layout, and the check that the document does not become too large.

use actum_core::json::Value;

use super::layout::{Layout, Style};
use super::tree::{Node, Origin};
use super::{JSON_BYTES_MAX, JsonText, PointerProblem};

/// Value to insert into a document.
pub(in crate::edit) struct Parcel<'t> {
    pub(in crate::edit) node: Node<'t>,
    pub(in crate::edit) from: Source,
}

/// Origin of a value to insert.
pub(in crate::edit) enum Source {
    /// The value is from the patch, so it is laid out like the values around it.
    Patch,
    /// The value is from a line of the file with this indentation. It keeps its layout.
    File(String),
}

/// Number of bytes by which a document may still grow.
#[derive(Debug, Clone, Copy)]
pub(in crate::edit) struct Room(usize);

impl<'t> Parcel<'t> {
    pub(in crate::edit) fn new(value: &'t JsonText) -> Result<Self, PointerProblem> {
        let text = value.as_str();
        let value = Value::read(text.as_bytes())
            .map_err(|error| PointerProblem::Value { problem: error.problem })?;
        Ok(Self { node: Node::from_value(&value, text, Origin::Patch), from: Source::Patch })
    }

    /// Returns the value, laid out for a line that is indented by `indent`.
    pub(in crate::edit) fn open(
        mut self,
        layout: Layout,
        indent: &str,
        style: &Style,
        room: &mut Room,
    ) -> Result<Node<'t>, PointerProblem> {
        self.node.each_piece(&mut |piece| piece.place = None);
        // Check that the blanks alone fit, before memory is allocated for them.
        let mut blanks = *room;
        match (self.from, layout) {
            (Source::Patch, layout) => {
                style.lay_out(&mut self.node, layout, indent, &mut blanks)?
            }
            (Source::File(_), Layout::OneLine) if self.node.lines() > 0 => {
                style.lay_out(&mut self.node, Layout::OneLine, indent, &mut blanks)?;
            }
            (Source::File(from), Layout::OneLine | Layout::Lines) => {
                blanks.take(self.node.lines().saturating_mul(indent.len()))?;
                self.node.indent(&from, indent);
            }
        }
        room.take(self.node.bytes())?;
        Ok(self.node)
    }
}

impl Room {
    /// Returns the number of bytes by which a document of `bytes` bytes may grow.
    pub(in crate::edit) fn beside(bytes: usize) -> Self {
        Self(usize::try_from(JSON_BYTES_MAX).unwrap_or(usize::MAX).saturating_sub(bytes))
    }

    pub(in crate::edit) fn take(&mut self, bytes: usize) -> Result<(), PointerProblem> {
        self.0 = self.0.checked_sub(bytes).ok_or(PointerProblem::TooLarge)?;
        Ok(())
    }

    pub(in crate::edit) fn give_back(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes);
    }
}
