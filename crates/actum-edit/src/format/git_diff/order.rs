//! Orders the sections of a diff.
//!
//! Each section refers to the tree before the entire diff, but operations are applied one after the other, each to the
//! result of the previous ones.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use actum_core::place::Place;
use actum_core::{Digest, RelPath};

use super::problem::{DiffProblem, Moves};
use super::section::{self, Change, Content, Edit, GitMode, Section};
use crate::format::ParseError;
use crate::{EmptyParents, ModeChange, Operation};

/// Effect of a section on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// The file is copied from this path.
    Read,
    /// The file exists before and after the change.
    Modify,
    /// The file is renamed to another path.
    MoveAway,
    /// The file is deleted.
    Delete,
    /// A new file appears at this path.
    Fill,
}

/// Effect of a specific section on a path.
struct Touch<'a> {
    path: &'a RelPath,
    used: Use,
    /// Index of the section in the diff.
    section: usize,
    /// Line at which the section starts.
    line: u64,
    /// Whether the section creates or deletes a symbolic link.
    is_link: bool,
}

/// Converts all sections into operations in a valid order.
///
/// Copies come first, then edits and new files, then renames, then deletions, unless a section depends on another one. New
/// files come before renames and deletions, so that a directory that is needed later is not removed in between.
pub(super) fn operations(sections: Vec<Section<'_>>) -> Result<Vec<Operation>, ParseError> {
    let order = order(&sections)?;
    let mut sections: Vec<_> = sections.into_iter().map(Some).collect();
    let mut operations = Vec::with_capacity(sections.len());
    for index in order {
        if let Some(section) = sections.get_mut(index).and_then(Option::take) {
            push(section.change, &mut operations);
        }
    }
    Ok(operations)
}

/// Appends the operations of a section.
fn push(change: Change<'_>, operations: &mut Vec<Operation>) {
    let parents = EmptyParents::Remove;
    match change {
        Change::Modify { path, edit } => push_edit(path, edit, operations),
        Change::Create { path, content, mode } => operations.push(match mode {
            GitMode::Link => Operation::Link { path, target: content, expected: None },
            GitMode::Executable => {
                let mode = Some(ModeChange::Executable(true));
                Operation::Create { path, content, mode }
            }
            GitMode::File => Operation::Create { path, content, mode: None },
        }),
        Change::Delete { path, expected, is_link: _ } => {
            operations.push(Operation::Delete { path, expected: Some(expected), parents });
        }
        Change::Rename { from, to, edit } => {
            operations.push(Operation::Rename { from, to: to.clone(), parents });
            push_edit(to, edit, operations);
        }
        Change::Copy { from, to, edit } => {
            operations.push(Operation::Copy { from, to: to.clone() });
            push_edit(to, edit, operations);
        }
    }
}

fn push_edit(path: RelPath, edit: Edit<'_>, operations: &mut Vec<Operation>) {
    match edit.content {
        Content::Lines(hunks) if hunks.is_empty() => {}
        Content::Lines(hunks) => {
            let hunks = section::line_hunks(&hunks, edit.before);
            operations.push(Operation::Patch { path: path.clone(), hunks, expected: None });
        }
        Content::Binary(edit) => {
            let edit = crate::Edit::Binary(edit);
            operations.push(Operation::Edit { path: path.clone(), edit, expected: None });
        }
        Content::Target { old, new } => {
            let (path, expected) = (path.clone(), Some(Digest::of(&old)));
            operations.push(Operation::Link { path, target: new, expected });
        }
    }
    if let Some(executable) = edit.executable {
        operations.push(Operation::Chmod { path, mode: ModeChange::Executable(executable) });
    }
}

/// Returns the indices of the sections in the order in which they must be applied.
fn order(sections: &[Section<'_>]) -> Result<Vec<usize>, ParseError> {
    let pairs = constraints(sections)?;
    let mut waits_for = vec![0usize; sections.len()];
    let mut next = vec![Vec::new(); sections.len()];
    for &(before, after) in &pairs {
        if before == after && matches!(sections.get(after), Some(s) if is_rename(s)) {
            continue; // a rename that turns a directory into a file, or a file into a directory
        }
        if let (Some(waits), Some(next)) = (waits_for.get_mut(after), next.get_mut(before)) {
            *waits += 1;
            next.push(after);
        }
    }
    let ranked = |index: usize| (sections.get(index).map(rank), index);
    let free = waits_for.iter().enumerate().filter(|(_, waits)| **waits == 0);
    let mut ready: BTreeSet<_> = free.map(|(index, _)| ranked(index)).collect();
    let mut order = Vec::with_capacity(sections.len());
    while let Some((_, index)) = ready.pop_first() {
        order.push(index);
        for &after in next.get(index).into_iter().flatten() {
            if let Some(waits) = waits_for.get_mut(after) {
                *waits -= 1;
                if *waits == 0 {
                    ready.insert(ranked(after));
                }
            }
        }
    }
    if order.len() < sections.len() {
        let waiting = |index: usize| waits_for.get(index).is_some_and(|waits| *waits > 0);
        return Err(circular(sections, &pairs, waiting));
    }
    Ok(order)
}

fn is_rename(section: &Section<'_>) -> bool {
    matches!(section.change, Change::Rename { .. })
}

/// Priority of a section if no dependency determines the order.
fn rank(section: &Section<'_>) -> u8 {
    match section.change {
        Change::Copy { .. } => 0,
        Change::Modify { .. } | Change::Create { .. } => 1,
        Change::Rename { .. } => 2,
        Change::Delete { .. } => 3,
    }
}

/// Returns the error for sections that depend on each other in a cycle.
fn circular(
    sections: &[Section<'_>],
    pairs: &[(usize, usize)],
    waiting: impl Fn(usize) -> bool,
) -> ParseError {
    // Every waiting section depends on another waiting section, so following the dependencies leads into a cycle.
    let waits_for: BTreeMap<usize, usize> = pairs
        .iter()
        .filter(|pair| waiting(pair.0))
        .map(|&(before, after)| (after, before))
        .collect();
    let back = |index: &usize| waits_for.get(index).copied();
    let start = waits_for.keys().next().copied();
    let on_circle = std::iter::successors(start, back).nth(sections.len());
    let rest = std::iter::successors(on_circle.as_ref().and_then(back), back);
    let circle: BTreeSet<usize> =
        on_circle.into_iter().chain(rest.take_while(|index| Some(*index) != on_circle)).collect();
    let mut line = None;
    let moves = circle.iter().filter_map(|index| {
        let section = sections.get(*index)?;
        match &section.change {
            Change::Rename { from, to, .. } | Change::Copy { from, to, .. } => {
                line.get_or_insert(section.line);
                Some((from.clone(), to.clone()))
            }
            Change::Modify { .. } | Change::Create { .. } | Change::Delete { .. } => None,
        }
    });
    let moves = Moves(moves.collect());
    let place = Place { line: line.unwrap_or(1), column: 1 };
    ParseError::diff(place, DiffProblem::Circular { moves })
}

/// Returns pairs of section indices. In each pair, the first section must be applied before the second.
fn constraints(sections: &[Section<'_>]) -> Result<Vec<(usize, usize)>, ParseError> {
    let mut touches = touches(sections);
    touches.sort_unstable_by(|a, b| {
        compare(a.path, b.path).then((a.used, a.line).cmp(&(b.used, b.line)))
    });
    let mut pairs = Vec::new();
    // INVARIANT: at most two nodes, because nested paths are rejected if both are files before or both after the diff.
    let mut above: Vec<Node<'_>> = Vec::new();
    for touches in touches.chunk_by(|a, b| a.path == b.path) {
        let Some(path) = touches.first().map(|touch| touch.path) else { continue };
        let node = Node { path, touches };
        node.order_alone(&mut pairs)?;
        while above.last().is_some_and(|outer| !node.path.starts_with(outer.path)) {
            above.pop();
        }
        for outer in &above {
            node.order_below(outer, &mut pairs)?;
        }
        above.push(node);
    }
    Ok(pairs)
}

/// All effects of the diff on a path.
struct Node<'a> {
    path: &'a RelPath,
    /// Effects in ascending order of [`Use`]; never empty.
    touches: &'a [Touch<'a>],
}

impl<'a> Node<'a> {
    /// Orders the sections that affect this path, or returns an error if they contradict each other.
    fn order_alone(&self, pairs: &mut Vec<(usize, usize)>) -> Result<(), ParseError> {
        let reads = self.touches.iter().take_while(|touch| touch.used == Use::Read).count();
        let (reads, changes) = self.touches.split_at(reads);
        match changes {
            [] | [_] => {}
            [away, fill] if (away.used, fill.used) == (Use::MoveAway, Use::Fill) => {
                pairs.push((away.section, fill.section));
            }
            // A file is replaced by a link, or a link by a file.
            [away, fill]
                if (away.used, fill.used) == (Use::Delete, Use::Fill)
                    && away.is_link != fill.is_link =>
            {
                pairs.push((away.section, fill.section));
            }
            [first, second, ..] => {
                let (first, second) = (first.line.min(second.line), first.line.max(second.line));
                let problem = DiffProblem::SamePath { path: self.path.clone(), first };
                return Err(ParseError::diff(Place { line: second, column: 1 }, problem));
            }
        }
        for change in changes.iter().filter(|change| change.used != Use::Fill) {
            pairs.extend(reads.iter().map(|read| (read.section, change.section)));
        }
        Ok(())
    }

    /// Orders the sections of this path and of an `outer` path that contains it, so that a file can become a directory or
    /// a directory a file. Returns an error if both paths would be files at the same time.
    fn order_below(&self, outer: &Self, pairs: &mut Vec<(usize, usize)>) -> Result<(), ParseError> {
        if (outer.is_before() && self.is_before()) || (outer.is_after() && self.is_after()) {
            let line = |node: &Self| node.touches.first().map_or(1, |touch| touch.line);
            let (outer_path, inner) = (outer.path.clone(), self.path.clone());
            let problem = DiffProblem::Nested { outer: outer_path, inner, first: line(outer) };
            return Err(ParseError::diff(Place { line: line(self), column: 1 }, problem));
        }
        for (away, fill) in [(outer, self), (self, outer)] {
            for away in away.touches.iter().filter(|touch| touch.takes_away()) {
                let fills = fill.touches.iter().filter(|touch| touch.used == Use::Fill);
                pairs.extend(fills.map(|fill| (away.section, fill.section)));
            }
        }
        Ok(())
    }

    /// Checks whether the path is a file before the diff is applied.
    fn is_before(&self) -> bool {
        self.touches.iter().any(|touch| touch.used != Use::Fill)
    }

    /// Checks whether the path is a file after the diff is applied.
    fn is_after(&self) -> bool {
        let fills = self.touches.iter().any(|touch| touch.used == Use::Fill);
        fills || !self.touches.iter().any(Touch::takes_away)
    }
}

impl Touch<'_> {
    fn takes_away(&self) -> bool {
        matches!(self.used, Use::MoveAway | Use::Delete)
    }
}

fn touches<'a>(sections: &'a [Section<'_>]) -> Vec<Touch<'a>> {
    let mut touches = Vec::with_capacity(sections.len());
    for (index, section) in sections.iter().enumerate() {
        let is_link = match &section.change {
            Change::Create { mode, .. } => *mode == GitMode::Link,
            Change::Delete { is_link, .. } => *is_link,
            Change::Modify { .. } | Change::Rename { .. } | Change::Copy { .. } => false,
        };
        let mut touch = |path, used| {
            touches.push(Touch { path, used, section: index, line: section.line, is_link });
        };
        match &section.change {
            Change::Modify { path, .. } => touch(path, Use::Modify),
            Change::Create { path, .. } => touch(path, Use::Fill),
            Change::Delete { path, .. } => touch(path, Use::Delete),
            Change::Rename { from, to, .. } => {
                touch(from, Use::MoveAway);
                touch(to, Use::Fill);
            }
            Change::Copy { from, to, .. } => {
                touch(from, Use::Read);
                touch(to, Use::Fill);
            }
        }
    }
    touches
}

/// Compares paths so that all paths below a path directly follow it.
fn compare(a: &RelPath, b: &RelPath) -> Ordering {
    // A path cannot contain NUL, so mapping the slash to 0 sorts it before all other bytes.
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((&a, &b)) => key(a).cmp(&key(b)),
        None => a.len().cmp(&b.len()),
    }
}
