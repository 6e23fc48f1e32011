//! Checks the result of an edit before it is returned.
//!
//! The result is parsed twice, for its values and for its notation. Both must match the original file everywhere except
//! at the edited node.

use actum_core::json::{Content, Value};
use actum_core::place::{Excerpt, Place};

use super::error::{YamlError, YamlUnproven};
use super::loaded::Loaded;
use super::tree::{Node, NodeKind, Stream};
use super::{Change, Piece, find};
use crate::edit::json_path::{NodePath, Step};

/// Text of the file before the edit, and both parses of it.
pub(super) struct Old<'o, 't> {
    pub(super) text: &'t str,
    pub(super) loaded: &'o [Loaded],
    pub(super) stream: &'o Stream<'t>,
}

/// Checks that `result` is the old file with only `change` applied at the node path `way`.
///
/// # Errors
/// Returns [`YamlError::Unproven`] if anything else differs.
pub(super) fn prove(
    old: &Old<'_, '_>,
    (document, way): (usize, &NodePath),
    pieces: &[Piece],
    result: &str,
    change: Change<'_>,
) -> Result<(), YamlError> {
    let nowhere = |_| Place::START;
    let loaded = Loaded::read(result).map_err(|_| YamlUnproven::Syntax)?;
    let stream = Stream::read(result, &nowhere).map_err(|_| YamlUnproven::Syntax)?;
    match change {
        Change::Replace(value) => same_values(old.loaded, &loaded, document, way, value)?,
        Change::Add(value) => same_but_member((&loaded, old.loaded), (document, way), Some(value))?,
        Change::Remove => same_but_member((old.loaded, &loaded), (document, way), None)?,
    }
    same_spelling(old, &stream, result, (document, way), change)?;
    // Comments outside the replaced ranges must be unchanged.
    let outside = |comment: &&std::ops::Range<usize>| {
        !pieces.iter().any(|(range, _)| range.start <= comment.start && comment.end <= range.end)
    };
    let kept = old.stream.comments.iter().filter(outside);
    let kept = kept.map(|comment| old.text.get(comment.clone()));
    if !kept.eq(stream.comments.iter().map(|comment| result.get(comment.clone()))) {
        return Err(YamlUnproven::Comment.into());
    }
    Ok(())
}

/// Checks that only the value at `way` differs, and that it equals `value`. The strict parser omits empty documents.
fn same_values(
    old: &[Loaded],
    new: &[Loaded],
    document: usize,
    way: &NodePath,
    value: &Value<'_>,
) -> Result<(), YamlUnproven> {
    let beside =
        |way: &NodePath| YamlUnproven::Beside { way: Excerpt::new(way.to_string().as_bytes()) };
    if way.0.is_empty() {
        return whole_document(old, new, value);
    }
    if old.len() != new.len() {
        return Err(beside(&NodePath::default()));
    }
    let mut places = 0;
    for (index, (old, new)) in old.iter().zip(new).enumerate() {
        // Empty documents are omitted, so the index can only be lower than `document`, never higher.
        let at_place = index <= document
            && old.at(&way.0).is_some()
            && new.at(&way.0).is_some_and(|new| new.is(value))
            && old.differs(new, Some(&way.0), &mut NodePath::default()).is_none();
        let untouched = old == new;
        if !at_place && !untouched {
            let differs = old.differs(new, Some(&way.0), &mut NodePath::default());
            return Err(differs.map_or(YamlUnproven::Place, |way| beside(&way)));
        }
        places += usize::from(at_place);
    }
    if places == 0 { Err(YamlUnproven::Place) } else { Ok(()) }
}

/// Checks that the values of `with` and `without` differ only by the member at `way`, which must equal `value` if given.
fn same_but_member(
    (with, without): (&[Loaded], &[Loaded]),
    (document, way): (usize, &NodePath),
    value: Option<&Value<'_>>,
) -> Result<(), YamlUnproven> {
    let mut places = 0;
    for (index, (with, other)) in with.iter().zip(without).enumerate() {
        if with == other {
            continue;
        }
        // Empty documents are omitted, so the index can only be lower than `document`, never higher.
        let rest = with.without(&way.0).filter(|_| index <= document);
        let is_rest = |(rest, member): (Loaded, Loaded)| {
            rest == *other && value.is_none_or(|value| member.is(value))
        };
        if !rest.is_some_and(is_rest) {
            return Err(YamlUnproven::Place);
        }
        places += 1;
    }
    if places == 1 && with.len() == without.len() { Ok(()) } else { Err(YamlUnproven::Place) }
}

/// Checks the replacement of an entire document. The strict parser omits empty documents, so their number may change.
fn whole_document(old: &[Loaded], new: &[Loaded], value: &Value<'_>) -> Result<(), YamlUnproven> {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = |documents: &'_ [Loaded]| documents.len() - before;
    let behind = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let behind = behind.min(rest(old)).min(rest(new));
    let changed = new.get(before..new.len() - behind).unwrap_or_default();
    let is_value = match changed {
        [] => value.content == Content::Null || old.iter().any(|document| document.is(value)),
        [only] => only.is(value),
        [_, _, ..] => false,
    };
    let is_one = rest(old) - behind <= 1;
    if is_value && is_one { Ok(()) } else { Err(YamlUnproven::Place) }
}

/// Checks that styles, tags, anchors and aliases are unchanged everywhere except at the edited node.
fn same_spelling(
    old: &Old<'_, '_>,
    new: &Stream<'_>,
    result: &str,
    (document, way): (usize, &NodePath),
    change: Change<'_>,
) -> Result<(), YamlUnproven> {
    let beside = || YamlUnproven::Beside { way: Excerpt::new(b"the notation of another node") };
    if old.stream.documents.len() != new.documents.len() {
        return Err(beside());
    }
    let is_of_member = match change {
        Change::Replace(_) => false,
        Change::Add(_) | Change::Remove => true,
    };
    let pair = Pair { old: old.text, new: result, is_of_member };
    for (index, (old, new)) in old.stream.documents.iter().zip(&new.documents).enumerate() {
        let way = (index == document).then_some(way.0.as_slice());
        if !pair.same(old, new, way) {
            return Err(beside());
        }
    }
    let root = new.documents.get(document).ok_or(YamlUnproven::Place)?;
    match (change, find::follow(root, way, result, &|_| Place::START)) {
        (Change::Replace(_) | Change::Add(_), Ok(find::Followed::Node(_)))
        | (Change::Remove, Ok(find::Followed::Stop { .. })) => Ok(()),
        (Change::Replace(_) | Change::Add(_), Ok(find::Followed::Stop { .. }))
        | (Change::Remove, Ok(find::Followed::Node(_)))
        | (_, Err(_)) => Err(YamlUnproven::Place),
    }
}

struct Pair<'t> {
    old: &'t str,
    new: &'t str,
    /// Whether a member was added or removed, so that only one of the texts has it.
    is_of_member: bool,
}

impl Pair<'_> {
    /// Checks whether two nodes have the same notation, except at the node path `way`.
    fn same(&self, old: &Node<'_>, new: &Node<'_>, way: Option<&[Step]>) -> bool {
        let anchor = |node: &Node<'_>| node.anchor.as_ref().map(|anchor| anchor.span.clone());
        let tag = |node: &Node<'_>| node.tag.clone();
        let text = |text: &str, span: Option<std::ops::Range<usize>>| {
            span.map(|span| text.get(span).map(str::to_owned))
        };
        if text(self.old, anchor(old)) != text(self.new, anchor(new)) {
            return false;
        }
        if way.is_some_and(<[Step]>::is_empty) {
            return true;
        }
        let inner = |step: Step| {
            way.and_then(<[Step]>::split_first)
                .and_then(|(first, rest)| (*first == step).then_some(rest))
        };
        let alike = match (&old.shape, &new.shape) {
            (NodeKind::Scalar(a, style), NodeKind::Scalar(b, other)) => a == b && style == other,
            (NodeKind::Alias(a), NodeKind::Alias(b)) => {
                // The id of an alias depends on the number of previous anchors, which the edit may have changed.
                let spelled = (self.old.get(old.span.clone()), self.new.get(new.span.clone()));
                a == b || spelled.0 == spelled.1
            }
            (NodeKind::Sequence(a, items), NodeKind::Sequence(b, others)) => {
                a == b
                    && items.len() == others.len()
                    && items
                        .iter()
                        .zip(others)
                        .enumerate()
                        .all(|(index, (old, new))| self.same(old, new, inner(Step::Index(index))))
            }
            (NodeKind::Mapping(a, entries), NodeKind::Mapping(b, others))
                if let (true, Some([Step::Name(name)])) = (self.is_of_member, way) =>
            {
                let rest = |(key, _): &&(Node<'_>, Node<'_>)| key.as_string() != Some(name);
                let old: Vec<_> = entries.iter().filter(rest).collect();
                let new: Vec<_> = others.iter().filter(rest).collect();
                // An empty mapping can only be in flow style, so its notation may differ.
                (a == b || old.is_empty())
                    && old.len() == new.len()
                    && old.iter().zip(new).all(|((key, old), (other, new))| {
                        self.same(key, other, None) && self.same(old, new, None)
                    })
            }
            (NodeKind::Mapping(a, entries), NodeKind::Mapping(b, others)) => {
                a == b
                    && entries.len() == others.len()
                    && entries.iter().zip(others).all(|((key, old), (other, new))| {
                        let name = key.as_string().map(|name| Step::Name(name.to_owned()));
                        self.same(key, other, None) && self.same(old, new, name.and_then(inner))
                    })
            }
            (
                NodeKind::Scalar(..)
                | NodeKind::Alias(_)
                | NodeKind::Sequence(..)
                | NodeKind::Mapping(..),
                NodeKind::Scalar(..)
                | NodeKind::Alias(_)
                | NodeKind::Sequence(..)
                | NodeKind::Mapping(..),
            ) => false,
        };
        alike && text(self.old, tag(old)) == text(self.new, tag(new))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    type Pieces<'p> = &'p [(Range<usize>, &'p str)];

    /// Checks `pieces` against the request to set `$.a` to 3.
    fn judged(text: &str, pieces: Pieces<'_>) -> Result<(), String> {
        let stream = Stream::read(text, &|_| Place::START).unwrap();
        let Ok(loaded) = Loaded::read(text) else { panic!("{text}") };
        let way = NodePath(vec![Step::Name("a".to_owned())]);
        let value = Value::read(b"3").unwrap();
        let pieces: Vec<_> = pieces.iter().map(|(r, new)| (r.clone(), (*new).to_owned())).collect();
        let result = super::super::made(text, &pieces).unwrap();
        let old = Old { text, loaded: &loaded, stream: &stream };
        prove(&old, (0, &way), &pieces, &result, Change::Replace(&value))
            .map_err(|error| error.to_string())
    }

    /// EX-10
    #[test]
    fn edit_that_differs_from_the_request_is_discarded() {
        let file = "a: 1\nb: [2] # c\n";
        let refused = |problem: &str| {
            Err(format!("internal error: the computed edit was discarded because {problem}"))
        };
        let place = refused("the target does not match the request");
        let spelling = refused("`the notation of another node` would change as well");
        let cases: [(&str, Pieces<'_>, _); 9] = [
            (file, &[(3..4, "3")], Ok(())),
            (file, &[(3..4, "4")], place.clone()),
            (file, &[(3..4, "\"3\"")], place),
            (file, &[(3..4, "[")], refused("the result is not valid YAML")),
            (file, &[(3..4, "3\nc: 4")], refused("`$` would change as well")),
            (file, &[(3..4, "3"), (9..10, "5")], refused("`$['b'][0]` would change as well")),
            (file, &[(3..4, "3 # x")], refused("a comment would change as well")),
            (file, &[(3..4, "3"), (9..10, "&k 2")], spelling),
            ("a: &k 1\nb: *k\n", &[(6..7, "3")], refused("`$['b']` would change as well")),
        ];
        for (text, pieces, expected) in cases {
            assert_eq!(judged(text, pieces), expected, "{pieces:?}");
        }
    }
}
