//! Final check of a computed edit: parses the complete result again and compares it with the request.

use std::ops::Range;

use actum_core::json::Value;

use super::error::Unproven;
use super::outline::{Child, Level, Outline};
use super::{Change, File, JsonValueError, Piece, strict};
use crate::edit::json_patch::JsonText;
use crate::edit::json_patch::compare::equal;
use crate::edit::json_patch::tree::{Node, Origin};
use crate::edit::json_path::NodePath;

/// Checks that `pieces` make exactly the requested `change` at the end of `way`, and change nothing else. `old` is the outline of
/// the original file along `way`.
///
/// # Errors
/// Returns [`JsonValueError::Unproven`] if the result is invalid or differs from the request.
pub(super) fn prove(
    file: File<'_>,
    (way, old): (&NodePath, &Outline),
    change: Change<'_>,
    pieces: &[Piece],
) -> Result<(), JsonValueError> {
    let result = made(file.text, pieces).ok_or(Unproven::Beyond)?;
    let strict = strict::strict(&result).map_err(|_| Unproven::Syntax)?;
    let new = Outline::new(&strict, way, change.last()).map_err(|_| Unproven::Place)?;
    let within = |piece: &Piece| old.place.start <= piece.0.start && piece.0.end <= old.place.end;
    if !pieces.iter().all(within) {
        return Err(Unproven::Beyond.into());
    }
    let new_file = File { text: &result, strict: &strict };
    let pair = Pair { old: file, new: new_file };
    let before = (0..old.root.start, 0..new.root.start);
    let after = (old.root.end..file.text.len(), new.root.end..result.len());
    if !pair.same(before) || !pair.same(after) || !pair.way_is_kept(old, &new) {
        return Err(Unproven::Beside.into());
    }
    let is_made = match change {
        Change::Update { value } => pair.holds(&new.place, value),
        Change::Add { key, value } => pair.is_added(old, &new, key, value),
        Change::Remove { key } => pair.is_removed(old, &new, key),
    };
    if is_made { Ok(()) } else { Err(Unproven::Place.into()) }
}

/// Returns the text after the pieces have been replaced, or `None` if their ranges are invalid.
fn made(text: &str, pieces: &[Piece]) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut reached = 0;
    for (range, new) in pieces {
        result.push_str(text.get(reached..range.start)?);
        result.push_str(new);
        reached = range.end;
    }
    result.push_str(text.get(reached..)?);
    Some(result)
}

struct Pair<'t> {
    old: File<'t>,
    new: File<'t>,
}

impl Pair<'_> {
    fn same(&self, (old, new): (Range<usize>, Range<usize>)) -> bool {
        match (self.old.text.get(old), self.new.text.get(new)) {
            (Some(old), Some(new)) => old == new,
            (None, _) | (_, None) => false,
        }
    }

    /// Checks that each container on the path still has the same children, except for the child on the path itself.
    fn way_is_kept(&self, old: &Outline, new: &Outline) -> bool {
        let on_way = |level: &&Level| level.chosen.is_some();
        let levels = |outline: &Outline| outline.levels.iter().filter(on_way).count();
        let pairs = old.levels.iter().zip(&new.levels).take_while(|(old, _)| on_way(old));
        levels(old) == levels(new)
            && pairs.into_iter().all(|(old, new)| {
                let others = |level: &Level| level.children.len();
                old.brackets == new.brackets
                    && old.chosen == new.chosen
                    && others(old) == others(new)
                    && old.children.iter().zip(&new.children).enumerate().all(|(index, (a, b))| {
                        if old.chosen == Some(index) {
                            self.same((a.name.clone(), b.name.clone()))
                        } else {
                            self.is_same_child(a, b)
                        }
                    })
            })
    }

    fn is_same_child(&self, old: &Child, new: &Child) -> bool {
        self.same((old.name.clone(), new.name.clone()))
            && self.same((old.value.clone(), new.value.clone()))
    }

    fn are_same_children<'c>(
        &self,
        mut old: impl Iterator<Item = &'c Child>,
        mut new: impl Iterator<Item = &'c Child>,
    ) -> bool {
        loop {
            match (old.next(), new.next()) {
                (None, None) => return true,
                (Some(old), Some(new)) if self.is_same_child(old, new) => {}
                (Some(_), _) | (None, Some(_)) => return false,
            }
        }
    }

    fn is_added(&self, old: &Outline, new: &Outline, key: &str, value: &JsonText) -> bool {
        let (Some(old), Some(new)) = (old.object(), new.object()) else { return false };
        let Some((added, others)) = new.children.split_last() else { return false };
        new.index(self.new.strict, key) == Some(others.len())
            && self.holds(&added.value, value)
            && self.are_same_children(old.children.iter(), others.iter())
    }

    fn is_removed(&self, old: &Outline, new: &Outline, key: &str) -> bool {
        let (Some(old), Some(new)) = (old.object(), new.object()) else { return false };
        let Some(removed) = old.index(self.old.strict, key) else { return false };
        let kept = old.children.iter().enumerate().filter(|(index, _)| *index != removed);
        self.are_same_children(kept.map(|(_, child)| child), new.children.iter())
    }

    /// Checks whether the text in `span` of the result is a value equal to `value`.
    fn holds(&self, span: &Range<usize>, value: &JsonText) -> bool {
        let found = self.new.strict.get(span.clone()).unwrap_or_default();
        let read = |text| Value::read(str::as_bytes(text)).ok();
        let (Some(a), Some(b)) = (read(found), read(value.as_str())) else { return false };
        let found = Node::from_value(&a, found, Origin::Patch);
        equal(&found, &Node::from_value(&b, value.as_str(), Origin::Patch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pieces<'p> = &'p [(Range<usize>, &'p str)];

    /// Checks `pieces` against a change that sets `a.x` to 3, adds `a.c` with the value 3, or removes `a.x`.
    fn judged(change: &str, pieces: Pieces<'_>) -> Result<(), JsonValueError> {
        let text = "{\"a\": {\"x\": 1}, \"b\": 2}";
        let value = JsonText::new("3").unwrap();
        let (way, change) = match change {
            "update a.x" => (vec!["a", "x"], Change::Update { value: &value }),
            "add a.c" => (vec!["a"], Change::Add { key: "c", value: &value }),
            _ => (vec!["a"], Change::Remove { key: "x" }),
        };
        let step = |name: &&str| crate::edit::json_path::Step::Name((*name).to_owned());
        let way = NodePath(way.iter().map(step).collect());
        let file = File { text, strict: text };
        let old = Outline::new(text, &way, change.last()).unwrap();
        let pieces: Vec<_> = pieces.iter().map(|(r, new)| (r.clone(), (*new).to_owned())).collect();
        prove(file, (&way, &old), change, &pieces)
    }

    /// EX-10
    #[test]
    fn edit_that_differs_from_the_request_is_discarded() {
        let refused = |problem| Err(JsonValueError::Unproven { problem });
        let cases: [(&str, Pieces<'_>, _); 13] = [
            ("update a.x", &[(12..13, "3")], Ok(())),
            ("update a.x", &[(12..13, "3.0")], Ok(())),
            ("update a.x", &[(12..13, "4")], refused(Unproven::Place)),
            ("update a.x", &[(12..13, "]")], refused(Unproven::Syntax)),
            ("update a.x", &[(12..13, "3, \"y\": 1")], refused(Unproven::Beside)),
            ("update a.x", &[(12..13, "3"), (21..22, "4")], refused(Unproven::Beyond)),
            ("update a.x", &[(12..13, "3"), (5..6, "")], refused(Unproven::Beyond)),
            ("add a.c", &[(13..13, ", \"c\": 3")], Ok(())),
            ("add a.c", &[(13..13, ", \"d\": 3")], refused(Unproven::Place)),
            ("add a.c", &[(12..13, "4, \"c\": 3")], refused(Unproven::Place)),
            ("add a.c", &[(14..14, ", \"c\": 3")], refused(Unproven::Beside)),
            ("remove a.x", &[(7..13, "")], Ok(())),
            ("remove a.x", &[(7..13, "\"y\": 1")], refused(Unproven::Place)),
        ];
        for (change, pieces, expected) in cases {
            let found = judged(change, pieces);
            // Pieces out of order or outside of the text are rejected as well.
            assert_eq!(found, expected, "{change} {pieces:?}");
        }
        assert_eq!(
            judged("update a.x", &[(12..13, "4")]).unwrap_err().to_string(),
            "internal error: the computed edit was discarded because the target does not match the \
             request"
        );
    }
}
