//! Selection of a subset of a change by path rules.

use std::collections::{HashMap, HashSet};

use actum_core::{PathRule, RelPath};
use actum_edit::Operation;

/// Path rules that select a subset of a change.
#[derive(Debug, Clone, Copy, Default)]
pub struct PathSelection<'r> {
    /// Rules for paths to keep. If the list is empty, every path is kept unless `without` excludes it.
    pub only: &'r [PathRule],
    /// Rules for paths to exclude, which take precedence over `only`.
    pub without: &'r [PathRule],
}

/// Result of a selection: the parts of a change that were kept, and the parts that were left out.
#[derive(Debug)]
pub struct Selected<T> {
    /// Selected parts, in their original order.
    pub kept: Vec<T>,
    /// Remaining parts, in their original order.
    pub left_out: Vec<T>,
}

/// Facts about one part of a change that decide if it is selected.
pub(crate) struct Selectable {
    pub(crate) paths: Vec<RelPath>,
    pub(crate) effect: Effect,
}

/// Effect that one part of a change has on a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Creates a directory at a path where nothing existed.
    MakesDirectory,
    /// Removes a directory without replacing it.
    RemovesDirectory,
    Other,
}

impl PathSelection<'_> {
    /// Splits operations into selected and remaining ones.
    ///
    /// The creation of a directory is also selected if the directory contains a selected operation. The removal of a
    /// directory is selected only if all operations inside it are.
    pub fn operations(&self, operations: Vec<Operation>) -> Selected<Operation> {
        let mut once = HashMap::new();
        for path in operations.iter().flat_map(Operation::paths) {
            once.entry(path.clone()).and_modify(|once| *once = false).or_insert(true);
        }
        // A path with several operations means that the directory replaces another entry, or is replaced by one.
        let is_alone = |path: &RelPath| once.get(path) == Some(&true);
        let effect = |operation: &Operation| {
            if matches!(operation, Operation::MakeDirectory { path, .. } if is_alone(path)) {
                Effect::MakesDirectory
            } else if matches!(operation, Operation::RemoveDirectory { path } if is_alone(path)) {
                Effect::RemovesDirectory
            } else {
                Effect::Other
            }
        };
        let selectable = |operation: &Operation| Selectable {
            paths: operation.paths().cloned().collect(),
            effect: effect(operation),
        };
        self.select(operations, |operation| Some(selectable(operation)))
    }

    /// Splits the parts of a change into selected and remaining ones. `selectable` returns `None` for a part whose path no
    /// rule can match.
    pub(crate) fn select<T>(
        &self,
        parts: Vec<T>,
        selectable: impl Fn(&T) -> Option<Selectable>,
    ) -> Selected<T> {
        if self.only.is_empty() && self.without.is_empty() {
            return Selected { kept: parts, left_out: Vec::new() };
        }
        let facts: Vec<_> = parts.iter().map(selectable).collect();
        let mut is_kept: Vec<bool> = facts.iter().map(|part| self.has(part.as_ref())).collect();
        // Directories that contain a selected part, and directories that contain a remaining one.
        let (mut of_kept, mut of_left) = (HashSet::new(), HashSet::new());
        let mut directories = Vec::new();
        for (index, (part, is_kept)) in facts.iter().zip(&is_kept).enumerate() {
            let Some(part) = part else { continue };
            match (part.effect, part.paths.first()) {
                (Effect::MakesDirectory | Effect::RemovesDirectory, Some(path)) => {
                    directories.push((path, index, part.effect));
                }
                (Effect::Other, _) | (_, None) => {
                    let of = if *is_kept { &mut of_kept } else { &mut of_left };
                    part.paths.iter().for_each(|path| insert_ancestors(of, path));
                }
            }
        }
        // Process the deepest directories first, because the decision on a directory affects its ancestors.
        directories.sort_by_key(|(path, ..)| std::cmp::Reverse(path.components().count()));
        for (path, index, effect) in directories {
            let Some(is_kept) = is_kept.get_mut(index) else { continue };
            let leads_to_kept = of_kept.contains(path);
            *is_kept |= leads_to_kept && !self.leaves_out(path);
            if effect == Effect::RemovesDirectory {
                *is_kept &= !of_left.contains(path);
            }
            insert_ancestors(if *is_kept { &mut of_kept } else { &mut of_left }, path);
        }
        let mut selected = Selected { kept: Vec::new(), left_out: Vec::new() };
        for (part, is_kept) in parts.into_iter().zip(is_kept) {
            if is_kept { &mut selected.kept } else { &mut selected.left_out }.push(part);
        }
        selected
    }

    fn has(&self, part: Option<&Selectable>) -> bool {
        let Some(part) = part else { return self.only.is_empty() };
        part.paths.iter().all(|path| {
            let is_wanted = self.only.is_empty() || self.only.iter().any(|rule| rule.covers(path));
            is_wanted && !self.leaves_out(path)
        })
    }

    fn leaves_out(&self, path: &RelPath) -> bool {
        self.without.iter().any(|rule| rule.covers(path))
    }
}

/// Inserts all ancestors of a path.
fn insert_ancestors(directories: &mut HashSet<RelPath>, path: &RelPath) {
    let mut above = path.parent();
    while let Some(directory) = above {
        above = directory.parent();
        if !directories.insert(directory) {
            return; // its ancestors have been inserted with it
        }
    }
}
