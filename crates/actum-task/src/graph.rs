//! Dependency graph of the actions of a plan, and their execution order (EX-8).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::fmt;

use actum_core::suggestion;
use actum_document::{JsonPath, Step};

use super::codes::ErrorCode;
use super::limits::PROBLEMS_MAX;
use super::name::ActionId;

/// Dependency graph of the actions of a plan. Each action is identified by its index in the plan, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Actions in execution order, in which every action comes after its dependencies.
    order: Vec<usize>,
    /// For each action, its direct dependencies in ascending order and without duplicates.
    waits_for: Vec<Vec<usize>>,
    /// For each action, its direct dependents in ascending order.
    waited_for_by: Vec<Vec<usize>>,
}

/// Id and dependencies of an action, from which the graph is built.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) id: &'a ActionId,
    pub(super) depends_on: &'a [ActionId],
}

/// Transitive closure of the dependencies of a plan, which answers whether one action must run before another.
#[derive(Debug, Clone)]
pub struct Reach {
    words: usize,
    /// One bit set per action, in words of 64 bits, that contains all actions that must run before it.
    before: Vec<u64>,
}

/// Reason why the actions of a plan cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphProblem {
    /// Two actions have the same id.
    #[error("two actions have the id `{id}`; give each action a unique id")]
    Duplicate {
        /// Index of the second action that has the id.
        action: usize,
        /// Id that both actions have.
        id: ActionId,
    },
    /// An action depends on an id that no action of the plan has.
    #[error(
        "the action `{id}` depends on `{dependency}`, which is not in the plan{}",
        Perhaps(nearest.as_ref())
    )]
    Unknown {
        /// Index of the action that has the unknown dependency.
        action: usize,
        /// Index of the unknown dependency in the `depends_on` list, counted from 0.
        index: usize,
        /// Id of the action that has the unknown dependency.
        id: ActionId,
        /// Id that no action of the plan has.
        dependency: ActionId,
        /// Id of an action with a similar spelling, if there is one.
        nearest: Option<ActionId>,
    },
    /// An action depends on itself.
    #[error("the action `{id}` depends on itself, so it could never start")]
    Itself {
        /// Index of the action that depends on itself.
        action: usize,
        /// Index of the dependency in the `depends_on` list, counted from 0.
        index: usize,
        /// Id of the action that depends on itself.
        id: ActionId,
    },
    /// Several actions depend on each other in a cycle.
    #[error(
        "these actions wait for each other, so none of them could start: {}; remove one of these dependencies",
        Cycle(ids)
    )]
    Cycle {
        /// Index of the action in the cycle that comes first in the plan.
        action: usize,
        /// Ids of the actions in the cycle. Each action depends on the next one, and the last one on the first.
        ids: Vec<ActionId>,
    },
}

/// Error for a plan whose actions cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the actions of the plan cannot be ordered: {}", First(problems))]
pub struct GraphError {
    /// Problems that were found, at least one and at most [`PROBLEMS_MAX`].
    pub problems: Vec<GraphProblem>,
}

/// Maximum number of action ids that an error message lists for a cycle.
const IDS_SHOWN_MAX: usize = 8;

impl Graph {
    /// Builds the dependency graph of `actions` and computes their execution order.
    ///
    /// # Errors
    /// Returns [`GraphError`] if two actions share an id, a dependency is not in the plan, or actions depend on each other in a
    /// cycle.
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

    /// Returns the actions in execution order. An action comes after its dependencies, and the order of the plan is kept where
    /// possible.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the direct dependencies of an action, in ascending order.
    pub fn waits_for(&self, action: usize) -> &[usize] {
        self.waits_for.get(action).map_or(&[], Vec::as_slice)
    }

    /// Returns all actions that depend on `action`, directly or indirectly, in execution order. They are skipped if `action` fails.
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

    /// Computes the transitive closure of the dependencies, which takes one bit of memory for each pair of actions.
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
    /// Returns whether `later` depends on `earlier`, directly or indirectly.
    pub fn is_before(&self, earlier: usize, later: usize) -> bool {
        let word = self.before.get(later * self.words + earlier / 64);
        earlier / 64 < self.words && word.is_some_and(|word| word & (1 << (earlier % 64)) != 0)
    }
}

/// Maps each action id to the index of the first action that has it, and reports duplicates.
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

/// Returns the known id that is spelled most like `unknown`, if any is similar. Sorting the ids makes the result deterministic.
fn nearest(unknown: &ActionId, mut known: Vec<&str>) -> Option<ActionId> {
    known.sort_unstable();
    suggestion::suggest(unknown.as_str(), &known)?.parse().ok()
}

fn free(waiting: &[usize]) -> BinaryHeap<Reverse<usize>> {
    let free = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
    free.map(|(action, _)| Reverse(action)).collect()
}

/// Marks an action as done and queues the dependents that have no other unfinished dependency.
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

/// Orders the actions. If several are ready, the one that comes first in the plan is next. Actions in a cycle are never ready, so
/// they are missing from the result.
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

/// Finds a cycle among the actions that could not be ordered. Each of them depends on another one, so following the dependencies
/// eventually reaches some action a second time.
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
    // Rotate the cycle so that it starts with the action that comes first in the plan.
    let first = way.iter().enumerate().min_by_key(|(_, action)| **action);
    let (start, action) = first.map_or((0, 0), |(start, action)| (start, *action));
    way.rotate_left(start);
    let ids = way.iter().filter_map(|action| actions.get(*action));
    GraphProblem::Cycle { action, ids: ids.map(|action| action.id.clone()).collect() }
}

impl GraphProblem {
    /// Returns the error code of the problem (EX-18).
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } => ErrorCode::DuplicateActionId,
            Self::Unknown { .. } => ErrorCode::UnknownDependency,
            Self::Itself { .. } => ErrorCode::SelfDependency,
            Self::Cycle { .. } => ErrorCode::DependencyCycle,
        }
    }

    /// Returns the index of the action that has the problem.
    pub fn action(&self) -> usize {
        match self {
            Self::Duplicate { action, .. }
            | Self::Unknown { action, .. }
            | Self::Itself { action, .. }
            | Self::Cycle { action, .. } => *action,
        }
    }

    /// Returns the JSON path of the value in the plan that causes the problem.
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
        self.0.map_or(Ok(()), |id| write!(f, " (did you mean `{id}`?)"))
    }
}

struct Cycle<'a>(&'a [ActionId]);

impl fmt::Display for Cycle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, id) in self.0.iter().take(IDS_SHOWN_MAX).enumerate() {
            write!(f, "{}`{id}`", if index == 0 { "" } else { " -> " })?;
        }
        if self.0.len() > IDS_SHOWN_MAX {
            write!(f, " -> ({} more)", self.0.len() - IDS_SHOWN_MAX)?;
        }
        self.0.first().map_or(Ok(()), |first| write!(f, " -> `{first}`"))
    }
}

/// Formats the first problem together with its JSON path, followed by the number of further problems.
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
