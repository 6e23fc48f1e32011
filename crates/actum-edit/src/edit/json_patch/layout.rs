//! Detects the layout of a JSON file, and lays out new values in the same style.

use super::PointerProblem;
use super::parcel::Room;
use super::tree::{Brackets, Container, Item, Node, Piece};

/// Whether the items of a container are on one line or on several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::edit) enum Layout {
    OneLine,
    Lines,
}

/// Formatting style of a JSON file. Each property is taken from its first example in the file, or has a default value.
#[derive(Debug, Clone)]
pub(in crate::edit) struct Style {
    pub(in crate::edit) newline: &'static str,
    /// Indentation that one nesting level adds.
    pub(in crate::edit) unit: String,
    pub(in crate::edit) colon: String,
    /// Blanks after a comma between items on the same line.
    pub(in crate::edit) gap: String,
    /// Blanks inside the brackets of an object on one line.
    object_pad: String,
    array_pad: String,
    /// Layout of arrays that contain only scalars.
    list: Layout,
}

/// Maximum indentation of one nesting level, in bytes. A larger indentation is not used as an example.
const UNIT_BYTES_MAX: usize = 32;

/// Style properties for which an example has been found.
#[derive(Default)]
struct Examples {
    unit: Option<String>,
    colon: Option<String>,
    gap: Option<String>,
    object_pad: Option<String>,
    array_pad: Option<String>,
    list: Option<Layout>,
}

impl Style {
    pub(in crate::edit) fn new(file: &str, root: &Node<'_>) -> Self {
        let mut found = Examples::default();
        found.look(root, "");
        let crlf =
            file.find('\n').is_some_and(|at| file.get(..at).is_some_and(|s| s.ends_with('\r')));
        let colon = found.colon.unwrap_or_else(|| ": ".to_owned());
        let gap = if colon.ends_with(':') { "" } else { " " };
        Self {
            newline: if crlf { "\r\n" } else { "\n" },
            unit: found.unit.unwrap_or_else(|| "  ".to_owned()),
            gap: found.gap.unwrap_or_else(|| gap.to_owned()),
            colon,
            object_pad: found.object_pad.unwrap_or_default(),
            array_pad: found.array_pad.unwrap_or_default(),
            list: found.list.unwrap_or(Layout::Lines),
        }
    }

    /// Returns the style for the items of `container`. Examples in the container have priority over those in the rest of the file.
    pub(in crate::edit) fn inside(&self, container: &Container<'_>) -> Self {
        let mut found = Examples::default();
        found.look_at(container, "");
        Self {
            newline: self.newline,
            unit: self.unit.clone(),
            colon: found.colon.unwrap_or_else(|| self.colon.clone()),
            gap: found.gap.unwrap_or_else(|| self.gap.clone()),
            object_pad: found.object_pad.unwrap_or_else(|| self.object_pad.clone()),
            array_pad: found.array_pad.unwrap_or_else(|| self.array_pad.clone()),
            list: self.list,
        }
    }

    pub(in crate::edit) fn pad(&self, brackets: Brackets) -> Piece<'static> {
        let pad = match brackets {
            Brackets::Array => &self.array_pad,
            Brackets::Object => &self.object_pad,
        };
        Piece::new(pad.clone())
    }

    /// Returns a line break followed by the indentation of the new line.
    pub(in crate::edit) fn line(&self, indent: &str) -> Piece<'static> {
        Piece::new(format!("{}{indent}", self.newline))
    }

    /// Lays out a value of the patch, whose line is indented by `indent`. The new blanks are deducted from `room`.
    ///
    /// # Errors
    /// Returns an error if the blanks need more bytes than `room` allows.
    pub(in crate::edit) fn lay_out(
        &self,
        node: &mut Node<'_>,
        layout: Layout,
        indent: &str,
        room: &mut Room,
    ) -> Result<(), PointerProblem> {
        let Node::Container(container) = node else { return Ok(()) };
        container.blank = Piece::new("");
        let inner = format!("{indent}{}", self.unit);
        let (first, next, last) = match layout {
            Layout::OneLine => {
                let pad = self.pad(container.brackets);
                (pad.clone(), Piece::new(self.gap.clone()), pad)
            }
            Layout::Lines => (self.line(&inner), self.line(&inner), self.line(indent)),
        };
        let count = container.items.len();
        for (index, item) in container.items.iter_mut().enumerate() {
            item.before = if index == 0 { first.clone() } else { next.clone() };
            item.after = if index + 1 == count { last.clone() } else { Piece::new("") };
            if let Some(name) = &mut item.name {
                name.colon = Piece::new(self.colon.clone());
            }
            room.take(item.before.text.len() + item.after.text.len())?;
            let layout = match layout {
                Layout::OneLine => Layout::OneLine,
                Layout::Lines => self.usual(&item.value),
            };
            self.lay_out(&mut item.value, layout, &inner, room)?;
        }
        Ok(())
    }

    /// Returns the default layout of a value, for which the surrounding items give no example.
    fn usual(&self, node: &Node<'_>) -> Layout {
        let is_list = match node {
            Node::Scalar(..) => false,
            Node::Container(container) => container.is_list(),
        };
        if is_list { self.list } else { Layout::Lines }
    }
}

impl Examples {
    fn look(&mut self, node: &Node<'_>, indent: &str) {
        let Node::Container(container) = node else { return };
        self.look_at(container, indent);
        for item in &container.items {
            self.look(&item.value, item.before.indent().unwrap_or(indent));
        }
    }

    fn look_at(&mut self, container: &Container<'_>, indent: &str) {
        let [first, others @ ..] = container.items.as_slice() else { return };
        let unit = first.before.indent().and_then(|inner| inner.strip_prefix(indent));
        learn(&mut self.unit, unit.filter(|unit| (1..=UNIT_BYTES_MAX).contains(&unit.len())));
        let colons = container.items.iter().filter_map(|item| item.name.as_ref());
        learn(&mut self.colon, colons.map(|name| &name.colon).find_map(in_line));
        learn(&mut self.gap, others.iter().map(|item| &item.before).find_map(in_line));
        let layout = container.layout();
        if container.is_list() {
            self.list = self.list.or(layout);
        }
        if layout == Some(Layout::OneLine) {
            let pad = match container.brackets {
                Brackets::Array => &mut self.array_pad,
                Brackets::Object => &mut self.object_pad,
            };
            learn(pad, in_line(&first.before));
        }
    }
}

fn in_line<'a>(piece: &'a Piece<'_>) -> Option<&'a str> {
    (!piece.has_newline() && !piece.has_comment()).then_some(&*piece.text)
}

fn learn(known: &mut Option<String>, found: Option<&str>) {
    if known.is_none() {
        *known = found.map(str::to_owned);
    }
}

impl Container<'_> {
    /// Returns the layout of the items, or `None` if the container is empty.
    pub(in crate::edit) fn layout(&self) -> Option<Layout> {
        let last = self.items.last()?;
        let breaks = last.after.has_newline() || self.items.iter().any(|i| i.before.has_newline());
        Some(if breaks { Layout::Lines } else { Layout::OneLine })
    }

    /// Whether the container is an array that contains only scalars.
    fn is_list(&self) -> bool {
        let is_scalar = |item: &Item<'_>| matches!(item.value, Node::Scalar(..));
        self.brackets == Brackets::Array && self.items.iter().all(is_scalar)
    }

    /// Returns the layout for a new item `node` of the container, which itself has the layout `layout`.
    ///
    /// If the container spans several lines, the layout is copied from the item that `node` replaces, or else from the last item of
    /// the same kind. Without an example, the default of `style` is used.
    pub(in crate::edit) fn layout_of(
        &self,
        node: &Node<'_>,
        layout: Layout,
        replaced: Option<usize>,
        style: &Style,
    ) -> Layout {
        let Node::Container(new) = node else { return Layout::OneLine };
        if layout == Layout::OneLine {
            return Layout::OneLine;
        }
        let example = |item: &Item<'_>| match &item.value {
            Node::Container(container) if container.brackets == new.brackets => container.layout(),
            Node::Container(_) | Node::Scalar(..) => None,
        };
        let replaced = replaced.and_then(|index| self.items.get(index));
        replaced
            .and_then(example)
            .or_else(|| self.items.iter().rev().find_map(example))
            .unwrap_or_else(|| style.usual(node))
    }

    /// Returns the indentation of the line on which the item at `index` starts. The container itself is indented by `outer`.
    pub(in crate::edit) fn indent_at<'a>(&'a self, index: usize, outer: &'a str) -> &'a str {
        let upto = self.items.get(..=index).unwrap_or(&self.items);
        upto.iter().rev().find_map(|item| item.before.indent()).unwrap_or(outer)
    }
}

impl Node<'_> {
    /// Returns the layout of the items, or `None` for a scalar or an empty container.
    pub(in crate::edit) fn layout(&self) -> Option<Layout> {
        match self {
            Self::Scalar(..) => None,
            Self::Container(container) => container.layout(),
        }
    }

    /// Replaces the indentation `from` with `to` on all lines that start with it. Any further indentation is kept.
    pub(in crate::edit) fn indent(&mut self, from: &str, to: &str) {
        if from == to {
            return;
        }
        self.each_piece(&mut |piece| {
            if !piece.has_newline() {
                return;
            }
            let lines = piece.text.split('\n').enumerate().map(|(index, line)| {
                match line.strip_prefix(from) {
                    Some(rest) if index > 0 => format!("{to}{rest}"),
                    Some(_) | None => line.to_owned(),
                }
            });
            *piece = Piece::new(lines.collect::<Vec<_>>().join("\n"));
        });
    }

    /// Returns the number of line breaks in the text of the node.
    pub(in crate::edit) fn lines(&self) -> usize {
        let mut lines = 0;
        self.write(&mut |part, _| lines += memchr::memchr_iter(b'\n', part.as_bytes()).count());
        lines
    }
}
