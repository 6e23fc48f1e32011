//! Parses a YAML text into a tree of nodes with their positions in the text.

use std::borrow::Cow;
use std::ops::Range;

use actum_core::place::Place;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, options};

use super::error::YamlError;
use super::{YamlProblem, place};

/// All documents of a YAML text, and the byte ranges of its comments.
#[derive(Debug)]
pub(super) struct Stream<'t> {
    pub(super) documents: Vec<Node<'t>>,
    pub(super) comments: Vec<Range<usize>>,
}

/// YAML node with its positions in the text.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub(super) shape: NodeKind<'t>,
    /// Byte range that the event parser reports for the node.
    pub(super) span: Range<usize>,
    pub(super) anchor: Option<Anchor>,
    pub(super) tag: Option<Range<usize>>,
    pub(super) extent: Extent,
}

/// Byte offsets of a node and its surroundings in the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    /// End of the indicator before the node: `:`, `-`, `[`, `{`, `,` or `---`.
    pub(super) slot: usize,
    /// End of the anchor and tag of the node, or `slot` if it has neither.
    pub(super) free: usize,
    /// First byte of the node itself, after its anchor and tag.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the node is the value of a mapping entry without a colon.
    pub(super) has_no_colon: bool,
}

#[derive(Debug)]
pub(super) struct Anchor {
    pub(super) id: usize,
    pub(super) span: Range<usize>,
}

#[derive(Debug)]
pub(super) enum NodeKind<'t> {
    Scalar(Cow<'t, str>, Style),
    Sequence(Notation, Vec<Node<'t>>),
    Mapping(Notation, Vec<(Node<'t>, Node<'t>)>),
    Alias(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Block,
    Flow,
}

impl<'t> Stream<'t> {
    /// Parses a text that the strict parser has already accepted.
    pub(super) fn read(text: &'t str, place: &impl Fn(usize) -> Place) -> Result<Self, YamlError> {
        // The number of comments between a key and its value is limited only by the length of the text.
        let max_buffered_comment_events = text.len();
        let options = options! {
            emit_anchor_events: true, emit_comments: true,
            max_buffered_comment_events: max_buffered_comment_events
        };
        let mut stream = Self { documents: Vec::new(), comments: Vec::new() };
        let mut builder = Builder::default();
        let mut reached = 0;
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, at) = event.map_err(|error| YamlError::NotYaml {
                line: u64::try_from(error.marker().line()).unwrap_or(0),
                column: u64::try_from(error.marker().col()).unwrap_or(0).saturating_add(1),
                problem: YamlProblem::from_kind(error.kind()),
            })?;
            let unclear = || YamlError::Unclear { place: place(0) };
            let span = bytes(&at).ok_or_else(unclear)?;
            match event {
                Event::Comment(..) => stream.comments.push(span),
                Event::DocumentStart(is_marked, _) => {
                    // A document without `---` starts at the end of the previous one.
                    let slot = if is_marked { span.end } else { reached };
                    builder = Builder { slot, ..Builder::default() };
                }
                Event::Scalar(value, style, _, tag) => {
                    let shape = NodeKind::Scalar(value, Style::new(style));
                    builder.leaf(Node::new(shape, span, tag.is_some(), &at, text));
                }
                Event::Alias(id) => {
                    builder.leaf(Node::new(NodeKind::Alias(id), span, false, &at, text))
                }
                Event::SequenceStart(style, _, tag) => {
                    let shape = NodeKind::Sequence(Notation::new(style), Vec::new());
                    builder.open.push(Open::new(Node::new(shape, span, tag.is_some(), &at, text)));
                }
                Event::MappingStart(style, _, tag) => {
                    let shape = NodeKind::Mapping(Notation::new(style), Vec::new());
                    builder.open.push(Open::new(Node::new(shape, span, tag.is_some(), &at, text)));
                }
                Event::Anchor(id, _) => builder.anchor(Anchor { id, span }),
                Event::SequenceEnd | Event::MappingEnd => builder.close(span),
                Event::DocumentEnd => {
                    let mut root = builder.root.take().ok_or_else(unclear)?;
                    place::settle(&mut root, text, builder.slot)
                        .map_err(|at| YamlError::Unclear { place: place(at) })?;
                    stream.documents.push(root);
                    reached = span.end;
                }
                Event::StreamStart | Event::StreamEnd => {}
                Event::UnresolvedAlias(_) => return Err(unclear()),
                _ => return Err(unclear()),
            }
        }
        Ok(stream)
    }
}

/// Builds the tree of one document from parser events.
#[derive(Default)]
struct Builder<'t> {
    slot: usize,
    open: Vec<Open<'t>>,
    root: Option<Node<'t>>,
}

struct Open<'t> {
    node: Node<'t>,
    key: Option<Node<'t>>,
}

impl<'t> Open<'t> {
    fn new(node: Node<'t>) -> Self {
        Self { node, key: None }
    }

    fn take(&mut self, child: Node<'t>) {
        match &mut self.node.shape {
            NodeKind::Sequence(_, items) => items.push(child),
            NodeKind::Mapping(_, entries) => match self.key.take() {
                Some(key) => entries.push((key, child)),
                None => self.key = Some(child),
            },
            NodeKind::Scalar(..) | NodeKind::Alias(_) => {}
        }
    }

    /// Returns the most recent child, or the node itself if it has no children.
    fn last(&mut self) -> Option<&mut Node<'t>> {
        let is_empty = match &self.node.shape {
            NodeKind::Sequence(_, items) => items.is_empty(),
            NodeKind::Mapping(_, entries) => entries.is_empty() && self.key.is_none(),
            NodeKind::Scalar(..) | NodeKind::Alias(_) => true,
        };
        if is_empty {
            return Some(&mut self.node);
        }
        if self.key.is_some() {
            return self.key.as_mut();
        }
        match &mut self.node.shape {
            NodeKind::Sequence(_, items) => items.last_mut(),
            NodeKind::Mapping(_, entries) => entries.last_mut().map(|(_, value)| value),
            NodeKind::Scalar(..) | NodeKind::Alias(_) => None,
        }
    }
}

impl<'t> Builder<'t> {
    fn leaf(&mut self, node: Node<'t>) {
        match self.open.last_mut() {
            Some(open) => open.take(node),
            None => self.root = Some(node),
        }
    }

    fn close(&mut self, span: Range<usize>) {
        let Some(Open { mut node, .. }) = self.open.pop() else { return };
        node.extent.end = span.end;
        self.leaf(node);
    }

    /// Attaches an anchor to the most recent node, because the parser reports the anchor directly after its node.
    fn anchor(&mut self, anchor: Anchor) {
        let node = match self.open.last_mut() {
            Some(open) => open.last(),
            None => self.root.as_mut(),
        };
        if let Some(node) = node {
            node.anchor = Some(anchor);
        }
    }
}

impl<'t> Node<'t> {
    fn new(
        shape: NodeKind<'t>,
        span: Range<usize>,
        is_tagged: bool,
        at: &Span,
        text: &str,
    ) -> Self {
        let tag = at.tag_span().and_then(|span| bytes(&span));
        // If the parser does not report the position of a tag, record an empty range.
        let tag = tag.or(is_tagged.then_some(span.start..span.start));
        debug_assert!(text.get(span.clone()).is_some());
        Self { shape, span, anchor: None, tag, extent: Extent::default() }
    }

    /// Returns the value of the node if it is an untagged scalar that YAML 1.2 resolves to a string.
    pub(super) fn as_string(&self) -> Option<&str> {
        match &self.shape {
            NodeKind::Scalar(value, Style::Plain) if self.tag.is_none() => {
                (!super::spell::is_resolved(value) && !self.is_empty()).then_some(value)
            }
            NodeKind::Scalar(value, _) if self.tag.is_none() => Some(value),
            NodeKind::Scalar(..)
            | NodeKind::Sequence(..)
            | NodeKind::Mapping(..)
            | NodeKind::Alias(_) => None,
        }
    }

    /// Whether the node is an implicit null that takes up no text, as in `key:`.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.shape, NodeKind::Scalar(_, Style::Plain)) && self.span.is_empty()
    }

    /// Returns the kind of the node with an article, for error messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.shape {
            NodeKind::Scalar(..) => "a scalar",
            NodeKind::Sequence(..) => "a sequence",
            NodeKind::Mapping(..) => "a mapping",
            NodeKind::Alias(_) => "an alias",
        }
    }

    /// Calls `visit` for this node and all nodes inside it, parents first.
    pub(super) fn each<'n>(&'n self, visit: &mut impl FnMut(&'n Node<'t>)) {
        visit(self);
        match &self.shape {
            NodeKind::Scalar(..) | NodeKind::Alias(_) => {}
            NodeKind::Sequence(_, items) => items.iter().for_each(|item| item.each(visit)),
            NodeKind::Mapping(_, entries) => entries.iter().for_each(|(key, value)| {
                key.each(visit);
                value.each(visit);
            }),
        }
    }
}

impl Style {
    fn new(style: ScalarStyle) -> Self {
        match style {
            ScalarStyle::Plain => Self::Plain,
            ScalarStyle::SingleQuoted => Self::SingleQuoted,
            ScalarStyle::DoubleQuoted => Self::DoubleQuoted,
            ScalarStyle::Literal => Self::Literal,
            ScalarStyle::Folded => Self::Folded,
        }
    }
}

impl Notation {
    fn new(style: StructureStyle) -> Self {
        match style {
            StructureStyle::Block => Self::Block,
            StructureStyle::Flow => Self::Flow,
        }
    }
}

fn bytes(span: &Span) -> Option<Range<usize>> {
    Some(span.start.byte_offset()?..span.end.byte_offset()?)
}
