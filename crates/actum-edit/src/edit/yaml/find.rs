//! Finds the node of a YAML file that a path selects.

use std::num::NonZeroU32;

use actum_core::place::{Excerpt, Place};
use serde_json::Value;

use super::error::YamlError;
use super::tree::{Node, NodeKind, Stream, Style};
use crate::edit::json_path::{JsonPath, NodePath, PathProblem, Step, Stop, comparable};

/// Maximum number of nodes that a query may visit. Each alias counts as all nodes of its target.
const NODES_MAX: usize = 500_000;

/// Path to search for, and the number of the document to search, or `None` for all documents.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'p> {
    pub(super) path: &'p JsonPath,
    pub(super) document: Option<NonZeroU32>,
}

/// Behavior for a path whose last name is missing from its mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Return the path as that of a member to add.
    Member,
    /// Return an error.
    Refuse,
}

/// Node that a path selects, or member that it could add.
pub(super) struct Found {
    pub(super) document: usize,
    pub(super) way: NodePath,
    /// Whether the last name of the path does not exist yet.
    pub(super) is_new: bool,
}

/// Evaluates the wanted path and returns the document and the node path that it selects.
pub(super) fn way(
    stream: &Stream<'_>,
    Wanted { path, document }: Wanted<'_>,
    missing: Missing,
    text: &str,
    place: &impl Fn(usize) -> Place,
) -> Result<Found, YamlError> {
    let at = |(document, way)| Found { document, way, is_new: false };
    let count = stream.documents.len();
    let (first, searched) = match document {
        None => (0, stream.documents.as_slice()),
        Some(document) => {
            let document = document.get();
            let index = usize::try_from(document - 1).unwrap_or(usize::MAX);
            let only = stream.documents.get(index).map(std::slice::from_ref);
            (index, only.ok_or(YamlError::NoDocument { document, count })?)
        }
    };
    let only_document = searched.len() == 1;
    let shown = |document: &usize, way: &NodePath| {
        if only_document { way.to_string() } else { format!("document {}: {way}", document + 1) }
    };
    if let Some(way) = path.steps() {
        let (mut found, mut new) = (Vec::new(), Vec::new());
        for (index, document) in searched.iter().enumerate() {
            match follow(document, &way, text, place)? {
                Followed::Node(_) => found.push((first + index, way.clone())),
                Followed::Stop { depth, stop: Stop::NoMember { .. } }
                    if missing == Missing::Member && depth + 1 == way.0.len() =>
                {
                    new.push(first + index);
                }
                Followed::Stop { depth, stop } if only_document => {
                    let inside = Excerpt::new(way.first(depth).to_string().as_bytes());
                    let path = path.shown();
                    return Err(PathProblem::Stops { path, inside, stop }.into());
                }
                Followed::Stop { .. } => {}
            }
        }
        if let ([], [document]) = (found.as_slice(), new.as_slice()) {
            return Ok(Found { document: *document, way, is_new: true });
        }
        return Ok(at(path.only(found, shown)?));
    }
    let mut plain =
        Plain { anchors: Vec::new(), room: NODES_MAX, compares: path.compares(), place };
    let documents = searched.iter().map(|document| {
        plain.anchors.clear();
        document.each(&mut |node| plain.anchors.extend(node.anchor.as_ref().map(|a| (a.id, node))));
        plain.value(document, path)
    });
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let places = path.places(&documents)?.into_iter();
    let places = places.map(|(index, way)| (first + index, way)).collect();
    let (document, way) = path.only(places, shown)?;
    if let Some(root) = stream.documents.get(document) {
        // Return an error if the path leads through an alias.
        follow(root, &way, text, place)?;
    }
    Ok(at((document, way)))
}

/// Result of following a node path.
pub(super) enum Followed<'n, 't> {
    /// All nodes along the path, from the root to the target.
    Node(Vec<&'n Node<'t>>),
    /// The step at index `depth` does not exist.
    Stop { depth: usize, stop: Stop },
}

/// Follows a node path from the root of a document. Returns an error if a node on the path is an alias.
pub(super) fn follow<'n, 't>(
    root: &'n Node<'t>,
    way: &NodePath,
    text: &str,
    place: &impl Fn(usize) -> Place,
) -> Result<Followed<'n, 't>, YamlError> {
    let mut nodes = vec![root];
    let mut node = root;
    for (depth, step) in way.0.iter().enumerate() {
        aliased(node, text, place)?;
        let next = match (step, &node.shape) {
            (Step::Name(name), NodeKind::Mapping(_, entries)) => {
                let mut matching = entries.iter().filter(|(key, _)| key.as_string() == Some(name));
                match (matching.next(), matching.next()) {
                    (Some((_, value)), None) => Ok(value),
                    (Some(_), Some((key, _))) => {
                        let name = Excerpt::new(name.as_bytes());
                        let place = place(key.span.start);
                        return Err(PathProblem::Doubled { name, place }.into());
                    }
                    (None, _) => Err(Stop::NoMember { name: Excerpt::new(name.as_bytes()) }),
                }
            }
            (Step::Index(index), NodeKind::Sequence(_, items)) => {
                let length = items.len();
                items.get(*index).ok_or(Stop::NoElement { index: *index, length })
            }
            (
                Step::Name(name),
                NodeKind::Scalar(..) | NodeKind::Sequence(..) | NodeKind::Alias(_),
            ) => {
                let name = Excerpt::new(name.as_bytes());
                Err(Stop::NoObject { name, found: node.kind() })
            }
            (
                Step::Index(index),
                NodeKind::Scalar(..) | NodeKind::Mapping(..) | NodeKind::Alias(_),
            ) => Err(Stop::NoArray { index: *index, found: node.kind() }),
        };
        match next {
            Ok(next) => node = next,
            Err(stop) => return Ok(Followed::Stop { depth, stop }),
        }
        nodes.push(node);
    }
    aliased(node, text, place)?;
    Ok(Followed::Node(nodes))
}

fn aliased(node: &Node<'_>, text: &str, place: impl Fn(usize) -> Place) -> Result<(), YamlError> {
    let NodeKind::Alias(_) = node.shape else { return Ok(()) };
    let alias = text.get(node.span.clone()).unwrap_or_default();
    let place = place(node.span.start);
    Err(YamlError::Alias { alias: Excerpt::new(alias.as_bytes()), place })
}

/// Converts YAML nodes into the JSON values that a query is evaluated over.
struct Plain<'n, 't, P> {
    anchors: Vec<(usize, &'n Node<'t>)>,
    room: usize,
    compares: bool,
    place: &'n P,
}

impl<P: Fn(usize) -> Place> Plain<'_, '_, P> {
    fn value(&mut self, node: &Node<'_>, path: &JsonPath) -> Result<Value, YamlError> {
        let too_much = || PathProblem::TooMuch { path: path.shown() };
        self.room = self.room.checked_sub(1).ok_or_else(too_much)?;
        match &node.shape {
            NodeKind::Scalar(value, style) => self.scalar(node, value, *style),
            NodeKind::Sequence(_, items) => {
                let items = items.iter().map(|item| self.value(item, path));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            NodeKind::Mapping(_, entries) => {
                let mut members = serde_json::Map::new();
                for (key, value) in entries {
                    let refused = || YamlError::Name { place: (self.place)(key.extent.start) };
                    // The query would see the content of a merge key (`<<`) at two paths.
                    let name = key.as_string().filter(|name| *name != "<<").ok_or_else(refused)?;
                    if members.contains_key(name) {
                        return Err(refused());
                    }
                    let name = name.to_owned();
                    members.insert(name, self.value(value, path)?);
                }
                Ok(Value::Object(members))
            }
            NodeKind::Alias(id) => {
                let target = self.anchors.iter().find(|(anchor, _)| anchor == id);
                match target.map(|(_, node)| *node) {
                    Some(target) => self.value(target, path),
                    None => Err(too_much().into()),
                }
            }
        }
    }

    fn scalar(&self, node: &Node<'_>, value: &str, style: Style) -> Result<Value, YamlError> {
        if let Some(string) = node.as_string() {
            return Ok(string.into());
        }
        let is_plain = style == Style::Plain && node.tag.is_none();
        Ok(match value {
            "" | "~" | "null" | "Null" | "NULL" if is_plain => Value::Null,
            "true" | "True" | "TRUE" if is_plain => true.into(),
            "false" | "False" | "FALSE" if is_plain => false.into(),
            _ => match comparable(value).filter(|_| is_plain) {
                Some(number) => Value::Number(number),
                None if self.compares => {
                    let number = Excerpt::new(value.as_bytes());
                    let place = (self.place)(node.span.start);
                    return Err(PathProblem::Number { number, place }.into());
                }
                None => 0.into(),
            },
        })
    }
}
