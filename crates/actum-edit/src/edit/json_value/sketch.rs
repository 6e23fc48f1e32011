//! Detects the layout around a place in a file, from a tree of the containers on the path to it. The tree contains only a sample
//! of the other values, to limit the cost for large files.

use std::ops::Range;

use actum_core::json::{Kind, Value};

use super::File;
use super::outline::{Child, Level, Outline};
use crate::edit::json_patch::layout::{Layout, Style};
use crate::edit::json_patch::tree::{Brackets, Container, Item, Name, Node, Origin, Piece};

/// Maximum number of bytes in values beside the path that are searched for layout examples.
const SAMPLE_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of children that are sampled at the start of a container, and also at its end.
const SAMPLE_CHILDREN_MAX: usize = 512;

/// Partial tree of a file, with the containers on the path to a place.
pub(super) struct Sketch<'t> {
    file: File<'t>,
    root: Node<'t>,
    /// Index of the item on the path, for each level of the tree.
    chosen: Vec<Option<usize>>,
    /// Indentation of the first line of the document.
    indent: String,
}

/// Container, layout and style at a place.
pub(super) struct Spot<'s, 't> {
    /// Container around the place, or the object at the place if a member is added or removed. `None` at the root.
    pub(super) container: Option<&'s Container<'t>>,
    pub(super) chosen: Option<usize>,
    /// Layout of the container, or of the document if there is no container.
    pub(super) layout: Layout,
    /// Indentation of the line on which the place is.
    pub(super) indent: String,
    pub(super) style: Style,
}

impl<'t> Sketch<'t> {
    pub(super) fn new(file: File<'t>, outline: &Outline) -> Self {
        let mut chosen = Vec::new();
        let mut artist = Artist { file, room: SAMPLE_BYTES_MAX };
        let root = match outline.levels.as_slice() {
            [] => artist.beside(&outline.place),
            levels => artist.level(levels, &mut chosen),
        };
        let line = file.text.get(..outline.root.start).unwrap_or_default();
        let line = line.rsplit('\n').next().unwrap_or_default();
        let blanks = line.find(|c: char| !matches!(c, ' ' | '\t')).unwrap_or(line.len());
        let indent = line.get(..blanks).unwrap_or_default().to_owned();
        Self { file, root, chosen, indent }
    }

    /// Returns the innermost container on the path, with its layout and style.
    pub(super) fn spot(&self) -> Spot<'_, 't> {
        let style = Style::new(self.file.text, &self.root);
        let empty = if self.file.text.contains('\n') { Layout::Lines } else { Layout::OneLine };
        let mut spot = Spot {
            container: None,
            chosen: None,
            layout: self.root.layout().unwrap_or(empty),
            indent: self.indent.clone(),
            style: style.clone(),
        };
        let mut node = &self.root;
        for chosen in &self.chosen {
            let Node::Container(container) = node else { return spot };
            let outer = spot.layout_of(node, spot.chosen);
            spot.layout = container.layout().unwrap_or(outer);
            spot.container = Some(container);
            spot.chosen = *chosen;
            spot.style = style.inside(container);
            let Some(index) = *chosen else { return spot };
            let indent = container.indent_at(index, &spot.indent).to_owned();
            spot.indent = indent;
            let Some(item) = container.items.get(index) else { return spot };
            node = &item.value;
        }
        spot
    }
}

impl Spot<'_, '_> {
    /// Returns the layout for a new value `node` at the place.
    pub(super) fn layout_of(&self, node: &Node<'_>, replaced: Option<usize>) -> Layout {
        match self.container {
            Some(container) => container.layout_of(node, self.layout, replaced, &self.style),
            None => self.layout,
        }
    }
}

struct Artist<'t> {
    file: File<'t>,
    room: usize,
}

impl<'t> Artist<'t> {
    fn piece(&self, range: Range<usize>) -> Piece<'t> {
        Piece::new(self.file.text.get(range).unwrap_or_default())
    }

    /// Creates the tree of the first of `levels`, which contains the other levels.
    fn level(&mut self, levels: &[Level], way: &mut Vec<Option<usize>>) -> Node<'t> {
        let Some((level, inner)) = levels.split_first() else {
            return Node::Scalar(Kind::Null, Piece::new(""));
        };
        let end = level.span.end.saturating_sub(1);
        let depth = way.len();
        way.push(None);
        let mut items = Vec::new();
        let last = level.children.len().saturating_sub(SAMPLE_CHILDREN_MAX);
        for (index, child) in level.children.iter().enumerate() {
            let is_chosen = level.chosen == Some(index);
            if index >= SAMPLE_CHILDREN_MAX && index < last && !is_chosen {
                continue;
            }
            if is_chosen && let Some(chosen) = way.get_mut(depth) {
                *chosen = Some(items.len());
            }
            let before = match index.checked_sub(1).and_then(|before| level.children.get(before)) {
                None => level.span.start + 1,
                Some(previous) => self.comma(previous, child.name.start) + 1,
            };
            let next = level.children.get(index + 1).map_or(end, |next| next.name.start);
            let value = match (is_chosen, inner) {
                (true, [_, ..]) => self.level(inner, way),
                (true, []) | (false, _) => self.beside(&child.value),
            };
            items.push(Item {
                before: self.piece(before..child.name.start),
                name: (level.brackets == Brackets::Object).then(|| Name {
                    decoded: "".into(),
                    spelled: self.piece(child.name.clone()),
                    colon: self.piece(child.name.end..child.value.start),
                }),
                value,
                after: self.piece(child.value.end..self.comma(child, next)),
            });
        }
        let blank = self.piece(level.span.start + 1..end);
        Node::Container(Container { brackets: level.brackets, items, blank })
    }

    /// Returns the offset of the comma after `child`, or `next` if there is no comma.
    fn comma(&self, child: &Child, next: usize) -> usize {
        let gap = self.file.strict.get(child.value.end..next).unwrap_or_default();
        gap.find(',').map_or(next, |comma| child.value.end + comma)
    }

    /// Creates the node of a value beside the path. The content of a value that exceeds the remaining limit is not parsed.
    fn beside(&mut self, span: &Range<usize>) -> Node<'t> {
        let text = self.file.text.get(span.clone()).unwrap_or_default();
        let strict = self.file.strict.get(span.clone()).unwrap_or_default();
        let brackets = match strict.bytes().next() {
            Some(b'{') => Brackets::Object,
            Some(b'[') => Brackets::Array,
            Some(_) | None => return Node::Scalar(Kind::Null, Piece::new(text)),
        };
        if let Some(room) = self.room.checked_sub(span.len())
            && let Ok(value) = Value::read(strict.as_bytes())
        {
            self.room = room;
            return Node::beside(&value, strict, text, Origin::Patch);
        }
        let blank = Piece::new(text);
        Node::Container(Container { brackets, items: Vec::new(), blank })
    }
}
