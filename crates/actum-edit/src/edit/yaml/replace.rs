//! Replaces a YAML value by choosing the bytes to cut out and the text to insert.

use actum_core::json::{Content, Value};
use actum_core::place::{Excerpt, Place};

use super::error::YamlError;
use super::find::{Followed, follow};
use super::place::{block_scalar, line_end};
use super::spell::{self, Lines};
use super::tree::{Node, NodeKind, Notation, Stream, Style};
use super::{Piece, YamlUnproven};
use crate::edit::json_path::NodePath;

/// Position of a node in its container: a whole document, a sequence item, or a mapping member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Document,
    Item,
    Member,
}

/// Node to replace, and the context that determines how the new value is written.
struct Spot<'n, 't> {
    text: &'t str,
    node: &'n Node<'t>,
    role: Role,
    /// Whether the node is inside a flow collection, so that the new value must be on one line.
    in_flow: bool,
    /// Column of the collection that contains the node, or 0 for a document.
    column: usize,
    lines: Lines<'static>,
}

/// Computes the replacements that write `value` to the node at `way`.
pub(super) fn pieces(
    text: &str,
    stream: &Stream<'_>,
    document: usize,
    way: &NodePath,
    value: &Value<'_>,
    place: &impl Fn(usize) -> Place,
) -> Result<Vec<Piece>, YamlError> {
    let root = stream.documents.get(document).ok_or(YamlUnproven::Beyond)?;
    let Followed::Node(nodes) = follow(root, way, text, place)? else {
        return Err(YamlUnproven::Beyond.into());
    };
    let node = *nodes.last().ok_or(YamlUnproven::Beyond)?;
    if let Some(tag) = &node.tag {
        let shown = text.get(tag.clone()).unwrap_or_default();
        let (tag, place) = (Excerpt::new(shown.as_bytes()), place(tag.start));
        return Err(YamlError::Tagged { tag, place });
    }
    unanchored(text, &nodes, Within::Look, place)?;
    let around = nodes.len().checked_sub(2).and_then(|parent| nodes.get(parent));
    let is_flow = |node: &&&Node<'_>| match &node.shape {
        NodeKind::Sequence(notation, _) | NodeKind::Mapping(notation, _) => {
            *notation == Notation::Flow
        }
        NodeKind::Scalar(..) | NodeKind::Alias(_) => false,
    };
    let role = match around.map(|parent| &parent.shape) {
        None => Role::Document,
        Some(NodeKind::Sequence(..)) => Role::Item,
        Some(NodeKind::Mapping(..) | NodeKind::Scalar(..) | NodeKind::Alias(_)) => Role::Member,
    };
    let spot = Spot {
        text,
        node,
        role,
        in_flow: nodes.iter().rev().skip(1).any(|node| is_flow(&node)),
        column: around.map_or(0, |parent| column(text, parent.extent.start)),
        lines: Lines { newline: newline(text), unit: unit(text, root) },
    };
    if spot.node.is_empty() && spot.role == Role::Document {
        return Err(YamlError::Empty { place: place(node.extent.start) });
    }
    Ok(spot.pieces(value))
}

impl Spot<'_, '_> {
    fn pieces(&self, value: &Value<'_>) -> Vec<Piece> {
        let extent = self.node.extent;
        if self.in_flow {
            return self.in_line(value);
        }
        match &self.node.shape {
            NodeKind::Scalar(_, Style::Literal | Style::Folded) => self.over_block_scalar(value),
            NodeKind::Sequence(Notation::Block, _) | NodeKind::Mapping(Notation::Block, _) => {
                if spell::is_block(value) {
                    return self.block_over_block(value);
                }
                self.in_line_over_block(value)
            }
            NodeKind::Scalar(..) | NodeKind::Alias(_) if self.opens(value) => {
                let mut text = String::new();
                match self.role {
                    Role::Member => {
                        let column = self.column + self.lines.unit;
                        text.push_str(&format!("{}{}", self.lines.newline, " ".repeat(column)));
                        self.lines.write(value, column, &mut text);
                        vec![(extent.free..extent.end, text)]
                    }
                    Role::Item => {
                        text.push(' ');
                        self.lines.write(value, self.column + 2, &mut text);
                        vec![(extent.slot..extent.end, text)]
                    }
                    Role::Document => {
                        self.lines.write(value, 0, &mut text);
                        vec![(extent.start..extent.end, text)]
                    }
                }
            }
            NodeKind::Scalar(..)
            | NodeKind::Alias(_)
            | NodeKind::Sequence(Notation::Flow, _)
            | NodeKind::Mapping(Notation::Flow, _) => self.in_line(value),
        }
    }

    /// Checks whether a block-style value can replace a scalar. This is the case only if nothing follows the scalar on
    /// its line.
    fn opens(&self, value: &Value<'_>) -> bool {
        let extent = self.node.extent;
        let alone = self.text.get(extent.end..line_end(self.text, extent.end));
        let before = self.text.get(extent.free..extent.start).unwrap_or_default();
        let fits_role = match self.role {
            Role::Document => column(self.text, extent.start) == 0,
            Role::Item => self.node.anchor.is_none(),
            Role::Member => true,
        };
        spell::is_block(value)
            && !extent.has_no_colon
            && alone.is_some_and(|rest| rest.trim_matches([' ', '\t']).is_empty())
            && (self.role == Role::Document || !before.contains(['\n', '\r']))
            && fits_role
    }

    fn style(&self) -> Style {
        match &self.node.shape {
            NodeKind::Scalar(_, style) => *style,
            NodeKind::Sequence(..) | NodeKind::Mapping(..) | NodeKind::Alias(_) => Style::Plain,
        }
    }

    /// Replaces a node that is not in block style with a value on one line.
    fn in_line(&self, value: &Value<'_>) -> Vec<Piece> {
        let extent = self.node.extent;
        let text = spell::inline(value, self.style());
        if !self.node.is_empty() {
            return vec![(extent.start..extent.end, text)];
        }
        if extent.has_no_colon && !self.in_flow {
            // Write the value on its own line after `? key` and its comment.
            let end = line_end(self.text, extent.free);
            let indentation = " ".repeat(self.column);
            return vec![(end..end, format!("{}{indentation}: {text}", self.lines.newline))];
        }
        let colon = if extent.has_no_colon { ":" } else { "" };
        vec![(extent.free..extent.free, format!("{colon} {text}"))]
    }

    /// Replaces a block-style collection with a value in block style.
    fn block_over_block(&self, value: &Value<'_>) -> Vec<Piece> {
        let extent = self.node.extent;
        let here = column(self.text, extent.start);
        let is_mapping = matches!(value.content, Content::Object(_));
        let mut text = String::new();
        // A sequence may have the same column as the mapping that contains it, but a nested mapping may not.
        if self.role == Role::Member && is_mapping && here <= self.column {
            let deeper = self.column + self.lines.unit;
            text.push_str(&" ".repeat(deeper - here));
            self.lines.write(value, deeper, &mut text);
        } else {
            self.lines.write(value, here, &mut text);
        }
        vec![(extent.start..extent.end, text)]
    }

    /// Replaces a block-style collection with a value on one line. Comments before its first line are kept.
    fn in_line_over_block(&self, value: &Value<'_>) -> Vec<Piece> {
        let extent = self.node.extent;
        let text = spell::inline(value, Style::Plain);
        let between = self.text.get(extent.free..extent.start).unwrap_or_default();
        if self.role == Role::Document || !between.contains(['\n', '\r']) {
            return vec![(extent.start..extent.end, text)];
        }
        if between.trim().is_empty() {
            return vec![(extent.free..extent.end, format!(" {text}"))];
        }
        let put = (extent.free..extent.free, format!(" {text}"));
        let rest = self.text.get(extent.end..line_end(self.text, extent.end)).unwrap_or_default();
        let lines = between.trim_end_matches([' ', '\t']);
        let lines = lines.strip_suffix('\n').unwrap_or(lines);
        let lines = lines.strip_suffix('\r').unwrap_or(lines);
        let cut = match rest.trim().is_empty() {
            // Also cut the spaces after the last line, which would otherwise end up after the comment.
            true => extent.free + lines.len()..extent.end + rest.len(),
            // A comment after the last line stays on its own line.
            false => extent.start..extent.end,
        };
        vec![put, (cut, String::new())]
    }

    /// Replaces a block scalar. A comment after its header is kept.
    fn over_block_scalar(&self, value: &Value<'_>) -> Vec<Piece> {
        let extent = self.node.extent;
        let NodeKind::Scalar(old, _) = &self.node.shape else { return Vec::new() };
        let Ok(scalar) = block_scalar(self.text, extent.start, extent.end, old) else {
            return Vec::new();
        };
        let body = self.text.get(scalar.line..extent.end).unwrap_or_default();
        let first = body.split(['\n', '\r']).find(|line| !line.trim().is_empty());
        let indent = first.map(|line| line.len() - line.trim_start_matches(' ').len());
        let column = indent.unwrap_or(self.column + self.lines.unit);
        // If the file ends here without a newline, parsers disagree about whether the last line has one.
        let ends_file = self.text.len() == extent.end.max(scalar.line);
        let literal = match &value.content {
            Content::String(text) if !ends_file && column > 0 => {
                spell::literal(text, self.lines.newline, column)
            }
            Content::String(_)
            | Content::Null
            | Content::Boolean(_)
            | Content::Number(_)
            | Content::Array(_)
            | Content::Object(_) => None,
        };
        let (header, lines) = match literal {
            Some((header, lines)) => (header.to_owned(), lines),
            None => (spell::inline(value, Style::Plain), String::new()),
        };
        let mut pieces = vec![(extent.start..scalar.header, header)];
        if scalar.line < extent.end || !lines.is_empty() {
            pieces.push((scalar.line..extent.end.max(scalar.line), lines));
        }
        pieces
    }
}

/// Whether anchors inside a node are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Look,
    Skip,
}

/// Checks that no alias outside the last of `nodes` refers to it, to one of its ancestors, or to an anchor inside it.
///
/// `nodes` is the path from the root to the node that an edit changes. Anchors inside it are skipped for [`Within::Skip`].
pub(super) fn unanchored(
    text: &str,
    nodes: &[&Node<'_>],
    within: Within,
    place: &impl Fn(usize) -> Place,
) -> Result<(), YamlError> {
    let ([root, ..], [.., node]) = (nodes, nodes) else { return Ok(()) };
    let mut anchors: Vec<_> = nodes.iter().filter_map(|node| node.anchor.as_ref()).collect();
    if within == Within::Look {
        node.each(&mut |inner| anchors.extend(inner.anchor.as_ref()));
    }
    let mut aliases = Vec::new();
    root.each(&mut |other| {
        let is_outside =
            other.extent.start < node.extent.start || other.extent.end > node.extent.end;
        if let NodeKind::Alias(id) = other.shape
            && is_outside
        {
            aliases.push((id, other.span.start));
        }
    });
    let ids: std::collections::HashMap<usize, _> =
        anchors.iter().map(|anchor| (anchor.id, &anchor.span)).collect();
    match aliases.iter().find_map(|(id, at)| ids.get(id).map(|anchor| (*anchor, *at))) {
        None => Ok(()),
        Some((anchor, at)) => Err(YamlError::Anchored {
            anchor: Excerpt::new(text.get(anchor.clone()).unwrap_or_default().as_bytes()),
            place: place(anchor.start),
            alias: place(at),
        }),
    }
}

/// Returns the number of characters between the start of the line and the offset `at`.
pub(super) fn column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit(['\n', '\r']).next().unwrap_or_default().chars().count()
}

/// Returns the line break of the first line, which new lines use as well. Defaults to LF.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find(['\n', '\r']).and_then(|at| text.get(at..)) {
        Some(rest) if rest.starts_with("\r\n") => "\r\n",
        Some(rest) if rest.starts_with('\r') => "\r",
        Some(_) | None => "\n",
    }
}

/// Detects the indentation step from the first block collection that is nested in a block mapping. Defaults to 2.
pub(super) fn unit(text: &str, root: &Node<'_>) -> usize {
    let mut unit = None;
    root.each(&mut |node| {
        let NodeKind::Mapping(Notation::Block, entries) = &node.shape else { return };
        let own = column(text, node.extent.start);
        for (_, value) in entries {
            let is_block = match &value.shape {
                NodeKind::Sequence(notation, _) | NodeKind::Mapping(notation, _) => {
                    *notation == Notation::Block
                }
                NodeKind::Scalar(..) | NodeKind::Alias(_) => false,
            };
            let more = column(text, value.extent.start).saturating_sub(own);
            if unit.is_none() && is_block && (1..=8).contains(&more) {
                unit = Some(more);
            }
        }
    });
    unit.unwrap_or(2)
}
