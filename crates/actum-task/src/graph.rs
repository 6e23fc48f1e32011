//! Execution order of the actions of a plan (EX-8).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::fmt;

use actum_core::suggestion;
use actum_document::{JsonPath, Step};

use super::codes::ErrorCode;
use super::limits::PROBLEMS_MAX;
use super::name::ActionId;

/// Which action waits for which. Actions are known by their places in the plan, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Each action, after all that it waits for.
    order: Vec<usize>,
    /// Of each action, those that it waits for itself, ascending and each once.
    waits_for: Vec<Vec<usize>>,
    /// Of each action, those that wait for it themselves, ascending.
    waited_for_by: Vec<Vec<usize>>,
}

/// An action as far as its place in the order is concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) id: &'a ActionId,
    pub(super) depends_on: &'a [ActionId],
}

/// Which action must be done before which, near and far.
#[derive(Debug, Clone)]
pub struct Reach {
    words: usize,
    /// Of each action a set of all before it, 64 to a word.
    before: Vec<u64>,
}

/// Why the actions of a plan have no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphProblem {
    /// Two actions have one id.
    #[error("two actions have the id `{id}`; give each its own")]
    Duplicate {
        /// The place of the later one.
        action: usize,
        /// The id.
        id: ActionId,
    },
    /// An action waits for one that is not there.
    #[error(
        "the action `{id}` depends on `{dependency}`, which is not in the plan{}",
        Perhaps(nearest.as_ref())
    )]
    Unknown {
        /// The place of the action.
        action: usize,
        /// Which of its dependencies it is, counted from 0.
        index: usize,
        /// The action.
        id: ActionId,
        /// What it waits for.
        dependency: ActionId,
        /// The action that may be meant.
        nearest: Option<ActionId>,
    },
    /// An action waits for itself.
    #[error("the action `{id}` depends on itself, so it could never begin")]
    Itself {
        /// The place of the action.
        action: usize,
        /// Which of its dependencies it is, counted from 0.
        index: usize,
        /// The action.
        id: ActionId,
    },
    /// Actions wait for each other.
    #[error(
        "these actions wait for each other, so none could begin: {}; take one dependency away",
        Cycle(ids)
    )]
    Cycle {
        /// The place of the first of them.
        action: usize,
        /// Their ids; each depends on the next, and the last on the first.
        ids: Vec<ActionId>,
    },
}

/// Everything that keeps the actions of a plan from having an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the actions of the plan have no order: {}", First(problems))]
pub struct GraphError {
    /// Each problem, at most [`PROBLEMS_MAX`]; at least one.
    pub problems: Vec<GraphProblem>,
}

/// How many ids of a cycle a message shows.
const IDS_SHOWN_MAX: usize = 8;

impl Graph {
    /// Orders actions by their dependencies.
    ///
    /// # Errors
    /// [`GraphError`] if two actions share an id, a dependency is not in the plan, or actions depend on each other.
    pub(super) fn new(actions: &[Node<'_>]) -> Result<Self, GraphError> {
        let mut problems = Vec::new();
        let places = places(actions, &mut problems);
        let waits_for = waits_for(actions, &places, &mut problems);
        let mut waited_for_by = vec![Vec::new(); actions.len()];
        for (action, before) in waits_for.iter().enumerate() {
            for &before in before {
                if let Some(after) = waited_for_by.get_mut(before) {
                    after.push(action);
                }
            }
        }
        let order = order(&waits_for, &waited_for_by);
        if order.len() < actions.len() {
            problems.push(cycle(actions, &waits_for, &order));
        }
        problems.truncate(PROBLEMS_MAX);
        if problems.is_empty() {
            return Ok(Self { order, waits_for, waited_for_by });
        }
        Err(GraphError { problems })
    }

    /// Every action after those it waits for, and else in the order of the plan.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The actions that one waits for itself, ascending.
    pub fn waits_for(&self, action: usize) -> &[usize] {
        self.waits_for.get(action).map_or(&[], Vec::as_slice)
    }

    /// The actions that wait for one, near and far, in the order in which they would be carried out: those
    /// that are skipped when it fails.
    pub fn dependents(&self, action: usize) -> Vec<usize> {
        let mut found = BTreeSet::from([action]);
        let mut open = vec![action];
        while let Some(next) = open.pop() {
            for &after in self.waited_for_by.get(next).into_iter().flatten() {
                if found.insert(after) {
                    open.push(after);
                }
            }
        }
        self.order.iter().copied().filter(|at| *at != action && found.contains(at)).collect()
    }

    /// What must be done before what, near and far. It takes one bit for each two actions.
    pub fn reach(&self) -> Reach {
        let words = self.waits_for.len().div_ceil(64);
        let mut before = vec![0u64; words * self.waits_for.len()];
        for &action in &self.order {
            let mut set = vec![0u64; words];
            for &earlier in self.waits_for(action) {
                let start = earlier * words;
                let farther = before.get(start..start + words).unwrap_or_default();
                set.iter_mut().zip(farther).for_each(|(word, others)| *word |= others);
                if let Some(word) = set.get_mut(earlier / 64) {
                    *word |= 1 << (earlier % 64);
                }
            }
            if let Some(place) = before.get_mut(action * words..(action + 1) * words) {
                place.copy_from_slice(&set);
            }
        }
        Reach { words, before }
    }
}

impl Reach {
    /// Whether one action must be done before another.
    pub fn is_before(&self, earlier: usize, later: usize) -> bool {
        let word = self.before.get(later * self.words + earlier / 64);
        earlier / 64 < self.words && word.is_some_and(|word| word & (1 << (earlier % 64)) != 0)
    }
}

/// The first place of each id.
fn places<'a>(
    actions: &[Node<'a>],
    problems: &mut Vec<GraphProblem>,
) -> HashMap<&'a ActionId, usize> {
    let mut places = HashMap::with_capacity(actions.len());
    for (action, &Node { id, .. }) in actions.iter().enumerate() {
        if places.contains_key(id) {
            if problems.len() < PROBLEMS_MAX {
                problems.push(GraphProblem::Duplicate { action, id: id.clone() });
            }
        } else {
            places.insert(id, action);
        }
    }
    places
}

fn waits_for(
    actions: &[Node<'_>],
    places: &HashMap<&ActionId, usize>,
    problems: &mut Vec<GraphProblem>,
) -> Vec<Vec<usize>> {
    let mut all = Vec::with_capacity(actions.len());
    for (action, &Node { id, depends_on }) in actions.iter().enumerate() {
        let mut before = BTreeSet::new();
        for (index, dependency) in depends_on.iter().enumerate() {
            let is_room = problems.len() < PROBLEMS_MAX;
            match places.get(dependency) {
                Some(_) if dependency == id && is_room => {
                    problems.push(GraphProblem::Itself { action, index, id: id.clone() });
                }
                Some(_) if dependency == id => {}
                Some(&place) => drop(before.insert(place)),
                None if is_room => {
                    let known: Vec<&str> = places.keys().map(|id| id.as_str()).collect();
                    let nearest = nearest(dependency, known);
                    let (id, dependency) = (id.clone(), dependency.clone());
                    let problem = GraphProblem::Unknown { action, index, id, dependency, nearest };
                    problems.push(problem);
                }
                None => {}
            }
        }
        all.push(before.into_iter().collect());
    }
    all
}

/// The id that may be meant; of several that are as near, always the same.
fn nearest(meant: &ActionId, mut known: Vec<&str>) -> Option<ActionId> {
    known.sort_unstable();
    suggestion::suggest(meant.as_str(), &known)?.parse().ok()
}

fn free(waiting: &[usize]) -> BinaryHeap<Reverse<usize>> {
    let free = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
    free.map(|(action, _)| Reverse(action)).collect()
}

/// Lets go those that waited for nothing but an action that is done.
fn release(
    done: usize,
    waited_for_by: &[Vec<usize>],
    waiting: &mut [usize],
    ready: &mut BinaryHeap<Reverse<usize>>,
) {
    for &after in waited_for_by.get(done).into_iter().flatten() {
        if let Some(count) = waiting.get_mut(after) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                ready.push(Reverse(after));
            }
        }
    }
}

/// Of the actions that can begin always the first in the plan; those in a cycle never can.
fn order(waits_for: &[Vec<usize>], waited_for_by: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<usize> = waits_for.iter().map(Vec::len).collect();
    let mut ready = free(&waiting);
    let mut order = Vec::with_capacity(waits_for.len());
    while let Some(Reverse(action)) = ready.pop() {
        order.push(action);
        release(action, waited_for_by, &mut waiting, &mut ready);
    }
    order
}

/// A cycle among the actions that have no place in the order. Each of them waits for another of them, so
/// going on from one to the next comes back at last.
fn cycle(actions: &[Node<'_>], waits_for: &[Vec<usize>], order: &[usize]) -> GraphProblem {
    let placed: BTreeSet<usize> = order.iter().copied().collect();
    let next = |action: usize| {
        let before = waits_for.get(action).into_iter().flatten().copied();
        before.into_iter().find(|before| !placed.contains(before))
    };
    let mut at = (0..actions.len()).find(|action| !placed.contains(action));
    let (mut way, mut seen) = (Vec::new(), HashMap::new());
    while let Some(action) = at {
        if let Some(start) = seen.insert(action, way.len()) {
            way.drain(..start);
            break;
        }
        way.push(action);
        at = next(action);
    }
    // It begins with that of them which stands first in the plan.
    let first = way.iter().enumerate().min_by_key(|(_, action)| **action);
    let (start, action) = first.map_or((0, 0), |(start, action)| (start, *action));
    way.rotate_left(start);
    let ids = way.iter().filter_map(|action| actions.get(*action));
    GraphProblem::Cycle { action, ids: ids.map(|action| action.id.clone()).collect() }
}

impl GraphProblem {
    /// Its code (EX-18).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } => ErrorCode::DuplicateActionId,
            Self::Unknown { .. } => ErrorCode::UnknownDependency,
            Self::Itself { .. } => ErrorCode::SelfDependency,
            Self::Cycle { .. } => ErrorCode::DependencyCycle,
        }
    }

    /// The place in the plan of the action that it is about.
    pub fn action(&self) -> usize {
        match self {
            Self::Duplicate { action, .. }
            | Self::Unknown { action, .. }
            | Self::Itself { action, .. }
            | Self::Cycle { action, .. } => *action,
        }
    }

    /// The value in the plan that is meant.
    pub fn path(&self) -> JsonPath {
        let member = |name: &str| Step::Member(name.to_owned());
        let mut steps = vec![member("action_plan"), Step::Element(self.action())];
        match self {
            Self::Duplicate { .. } => steps.push(member("action_id")),
            Self::Cycle { .. } => steps.push(member("depends_on")),
            Self::Unknown { index, .. } | Self::Itself { index, .. } => {
                steps.extend([member("depends_on"), Step::Element(*index)]);
            }
        }
        JsonPath(steps)
    }
}

struct Perhaps<'a>(Option<&'a ActionId>);

impl fmt::Display for Perhaps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |id| write!(f, "; perhaps `{id}` is meant"))
    }
}

struct Cycle<'a>(&'a [ActionId]);

impl fmt::Display for Cycle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, id) in self.0.iter().take(IDS_SHOWN_MAX).enumerate() {
            write!(f, "{}`{id}`", if index == 0 { "" } else { " on " })?;
        }
        if self.0.len() > IDS_SHOWN_MAX {
            write!(f, " on {} others", self.0.len() - IDS_SHOWN_MAX)?;
        }
        self.0.first().map_or(Ok(()), |first| write!(f, " on `{first}`"))
    }
}

/// The first problem, with its path, and how many there are besides.
struct First<'a>(&'a [GraphProblem]);

impl fmt::Display for First<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.0.split_first() else { return Ok(()) };
        write!(f, "`{}`: {first}", first.path())?;
        match others.len() {
            0 => Ok(()),
            1 => f.write_str(" (and 1 other problem)"),
            count => write!(f, " (and {count} other problems)"),
        }
    }
}
