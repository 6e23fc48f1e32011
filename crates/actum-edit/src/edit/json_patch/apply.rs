//! Applies the operations of a JSON Patch to the tree of a file.

use actum_core::json::{DEPTH_MAX, Value};
use actum_core::place::Excerpt;

use super::compare::equal;
use super::emit::Emitter;
use super::layout::{Layout, Style};
use super::parcel::{Parcel, Room, Source};
use super::place::Inside;
use super::tree::{Node, Origin, Part, Piece};
use super::{PatchOperation, Pointer, PointerProblem};
use crate::Splice;

/// JSON file to which a patch is being applied.
pub(super) struct Document<'t> {
    file: &'t str,
    lead: Piece<'t>,
    root: Node<'t>,
    trail: Piece<'t>,
    style: Style,
    /// Layout for new containers if the document gives no example.
    empty: Layout,
    room: Room,
}

/// Pointer at which an operation failed, and the reason.
pub(super) type Failed = (Pointer, PointerProblem);

impl<'t> Document<'t> {
    pub(super) fn new(value: &Value<'t>, file: &'t str) -> Self {
        let piece = |from: usize, to: usize| Piece {
            text: file.get(from..to).unwrap_or_default().into(),
            place: Some(from),
        };
        let root = Node::from_value(value, file, Origin::File);
        Self {
            file,
            lead: piece(0, value.span.start),
            style: Style::new(file, &root),
            root,
            trail: piece(value.span.end, file.len()),
            empty: if file.contains('\n') { Layout::Lines } else { Layout::OneLine },
            room: Room::beside(file.len()),
        }
    }

    /// Returns the splices that turn the original file into the edited document.
    pub(super) fn splices(&self) -> Vec<Splice> {
        let mut emitter = Emitter::new(self.file);
        emitter.part(&self.lead.text, Part::Piece(self.lead.place));
        self.root.write(&mut |text, part| emitter.part(text, part));
        emitter.part(&self.trail.text, Part::Piece(self.trail.place));
        emitter.finish()
    }

    pub(super) fn make(&mut self, operation: &'t PatchOperation) -> Result<(), Failed> {
        let at = |path: &Pointer, problem| (path.clone(), problem);
        match operation {
            PatchOperation::Add { path, value } => {
                let parcel = Parcel::new(value).map_err(|problem| at(path, problem))?;
                self.add(path, parcel).map_err(|problem| at(path, problem))
            }
            PatchOperation::Remove { path } => {
                self.remove(path).map(drop).map_err(|problem| at(path, problem))
            }
            PatchOperation::Replace { path, value } => {
                let parcel = Parcel::new(value).map_err(|problem| at(path, problem))?;
                self.replace(path, parcel).map_err(|problem| at(path, problem))
            }
            PatchOperation::Move { from, path } => {
                self.find(from).map_err(|problem| at(from, problem))?;
                if path == from {
                    return Ok(());
                }
                if path.is_inside(from) {
                    return Err(at(from, PointerProblem::IntoItself { to: path.clone() }));
                }
                let parcel = self.remove(from).map_err(|problem| at(from, problem))?;
                self.add(path, parcel).map_err(|problem| at(path, problem))
            }
            PatchOperation::Copy { from, path } => {
                let (node, indent) = self.find(from).map_err(|problem| at(from, problem))?;
                // Check the size limit before memory is allocated for the copy.
                self.room.clone().take(node.bytes()).map_err(|problem| at(path, problem))?;
                let parcel = Parcel { node: node.clone(), from: Source::File(indent) };
                self.add(path, parcel).map_err(|problem| at(path, problem))
            }
            PatchOperation::Test { path, value } => {
                let (node, _) = self.find(path).map_err(|problem| at(path, problem))?;
                let expected = Parcel::new(value).map_err(|problem| at(path, problem))?.node;
                if equal(node, &expected) {
                    return Ok(());
                }
                let found = Excerpt::new(node.text().as_bytes());
                let expected = Excerpt::new(value.as_str().as_bytes());
                Err(at(path, PointerProblem::Differs { found, expected }))
            }
        }
    }

    /// Returns the value at `path`, and the indentation of its line.
    fn find(&self, path: &Pointer) -> Result<(&Node<'t>, String), PointerProblem> {
        let mut node = &self.root;
        let mut indent = self.lead.last_line();
        for (depth, step) in path.steps().iter().enumerate() {
            let inside = || path.first(depth);
            let container = node.container(inside)?;
            let (index, item) = container.item(step, inside)?;
            indent = container.indent_at(index, indent);
            node = &item.value;
        }
        Ok((node, indent.to_owned()))
    }

    /// Returns the container that the last step of `path` refers to, and that step. Returns `None` for the whole document.
    fn around<'p>(
        &mut self,
        path: &'p Pointer,
    ) -> Result<Option<(Inside<'_, 't>, &'p str)>, PointerProblem> {
        let Some((last, way)) = path.steps().split_last() else { return Ok(None) };
        let mut indent = self.lead.last_line().to_owned();
        let mut container = self.root.container_mut(|| path.first(0))?;
        let mut layout = container.layout().unwrap_or(self.empty);
        for (depth, step) in way.iter().enumerate() {
            let inside = || path.first(depth);
            let (index, item) = container.item(step, inside)?;
            let outer = container.layout_of(&item.value, layout, Some(index), &self.style);
            indent = container.indent_at(index, &indent).to_owned();
            let (_, item) = container.item_mut(step, inside)?;
            container = item.value.container_mut(|| path.first(depth + 1))?;
            layout = container.layout().unwrap_or(outer);
        }
        let pointer = path.first(way.len());
        Ok(Some((Inside { container, indent, layout, pointer }, last)))
    }

    fn add(&mut self, path: &Pointer, parcel: Parcel<'t>) -> Result<(), PointerProblem> {
        let (style, mut room) = (self.style.clone(), self.room);
        if let Some((mut inside, last)) = self.around(path)? {
            shallow(path, &parcel)?;
            inside.add(last, parcel, &style, &mut room)?;
            self.room = room;
            return Ok(());
        }
        self.replace(path, parcel)
    }

    fn replace(&mut self, path: &Pointer, parcel: Parcel<'t>) -> Result<(), PointerProblem> {
        let (style, mut room) = (self.style.clone(), self.room);
        if let Some((mut inside, last)) = self.around(path)? {
            shallow(path, &parcel)?;
            let (index, _) = inside.container.item(last, || path.first(path.steps().len() - 1))?;
            inside.replace(index, parcel, &style, &mut room)?;
            self.room = room;
            return Ok(());
        }
        let layout = self.root.layout().unwrap_or(self.empty);
        self.room.give_back(self.root.bytes());
        self.root = parcel.open(layout, self.lead.last_line(), &style, &mut self.room)?;
        Ok(())
    }

    fn remove(&mut self, path: &Pointer) -> Result<Parcel<'t>, PointerProblem> {
        let Some((inside, last)) = self.around(path)? else { return Err(PointerProblem::Root) };
        let Inside { container, indent, pointer, .. } = inside;
        let (index, _) = container.item(last, || pointer)?;
        let indent = container.indent_at(index, &indent).to_owned();
        let node = container.take(index);
        self.room.give_back(node.bytes());
        Ok(Parcel { node, from: Source::File(indent) })
    }
}

/// Checks that adding a value at `path` does not exceed the maximum nesting depth.
fn shallow(path: &Pointer, parcel: &Parcel<'_>) -> Result<(), PointerProblem> {
    if path.steps().len().saturating_add(parcel.node.depth()) > DEPTH_MAX {
        return Err(PointerProblem::TooDeep);
    }
    Ok(())
}
