//! Enumerates the states in which a power cut can leave a disk. Each cell independently keeps its durable value or a
//! later one.
//!
//! A state is built from the root downwards, and values are chosen only for inodes that are reachable in that state. The
//! content of a file without a name is irrelevant, and so are blocks beyond the chosen size of a file. Therefore, every
//! sequence of choices results in a different state.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::rc::Rc;

use super::SimDisk;
use super::choice::{Alternatives, CellId, Choice, Chooser, Options, Strategy, Tape};
use super::inode::{Body, Inode, truncate};
use super::machine::Machine;
use super::tree::{Ino, ROOT, Tree};

/// Maximum number of states that [`SimDisk::crash_state_count`] counts exactly.
const COUNT_EXACT_MAX: u128 = 1 << 16;
/// Maximum number of consecutive samples without a new state before the sampler gives up.
const SAMPLE_MISSES_MAX: usize = 256;

/// Iterator over disks that a power cut may leave, each in a different state. Returned by [`SimDisk::crash_states`].
pub struct CrashStates {
    plan: Rc<Plan>,
    /// Computer that lost power. Only the settings that survive the power cut are used.
    template: Machine,
    progress: Progress,
}

enum Progress {
    Exhaustive(Option<Tape>),
    Sampled {
        /// Directed strategies that have not been used yet. Random sampling starts after the last one.
        directed: VecDeque<Strategy>,
        seen: HashSet<Vec<Choice>>,
        limit: usize,
        draws: u64,
        /// Number of consecutive samples that did not produce a new state.
        misses: usize,
    },
}

/// All choices that a power cut of a given disk involves.
pub(super) struct Plan {
    /// Alternatives of each inode, indexed by inode number. `None` if the inode is completely durable.
    alternatives: Vec<Option<Alternatives>>,
    /// Inodes with the durable value of every cell, indexed by inode number.
    base: Vec<Option<Rc<Inode>>>,
    cells: Vec<CellId>,
    live: Tree,
}

/// Power cut from which a disk originates, and the values that were chosen for its cells.
#[derive(Clone)]
pub(super) struct Origin {
    plan: Rc<Plan>,
    choices: Rc<[Choice]>,
}

impl CrashStates {
    pub(super) fn new(machine: &Machine, limit: usize) -> Self {
        let plan = Plan::new(&machine.tree);
        let progress = if plan.count_up_to(limit as u128).is_some() {
            Progress::Exhaustive(Some(Tape::default()))
        } else {
            let directed = plan.directed();
            Progress::Sampled { directed, seen: HashSet::new(), limit, draws: 0, misses: 0 }
        };
        let mut template = Machine::new(Tree::bare(ROOT + 1, machine.tree.clock, 0), machine.boot);
        template.ignored.clone_from(&machine.ignored);
        Self { plan: Rc::new(plan), template, progress }
    }

    /// Returns true if the iterator yields all possible states, and false if it yields only a sample.
    pub fn is_exhaustive(&self) -> bool {
        match self.progress {
            Progress::Exhaustive(_) => true,
            Progress::Sampled { .. } => false,
        }
    }

    fn next_sampled(&mut self) -> Option<(Tree, Vec<Choice>)> {
        let Progress::Sampled { directed, seen, limit, draws, misses } = &mut self.progress else {
            return None;
        };
        loop {
            let strategy = match directed.pop_front() {
                Some(strategy) => strategy,
                None if seen.len() >= *limit || *misses > SAMPLE_MISSES_MAX => return None,
                None => {
                    *draws += 1;
                    *misses += 1;
                    Strategy::random(self.plan.live.changes, *draws)
                }
            };
            let (tree, choices) = self.plan.build(&mut Chooser::Directed(strategy));
            if seen.insert(choices.clone()) {
                *misses = 0;
                return Some((tree, choices));
            }
        }
    }
}

impl Iterator for CrashStates {
    type Item = SimDisk;

    fn next(&mut self) -> Option<SimDisk> {
        let (tree, choices) = match &mut self.progress {
            Progress::Exhaustive(progress) => {
                let mut chooser = Chooser::Tape(progress.take()?);
                let built = self.plan.build(&mut chooser);
                *progress = chooser.next_tape();
                built
            }
            Progress::Sampled { .. } => self.next_sampled()?,
        };
        let mut machine = self.template.after_power_cut(tree);
        machine.origin = Some(Origin { plan: Rc::clone(&self.plan), choices: choices.into() });
        Some(SimDisk::from_machine(machine))
    }
}

impl Plan {
    pub(super) fn new(live: &Tree) -> Self {
        let mut cells = Vec::new();
        let mut alternatives = Vec::with_capacity(live.inodes.len());
        let mut base = Vec::with_capacity(live.inodes.len());
        for (ino, inode) in live.inodes.iter().enumerate() {
            match inode {
                Some(inode) if inode.is_dirty => {
                    let found = Alternatives::new(ino, inode, live.vary_times, &mut cells);
                    base.push(Some(Rc::new(found.base(inode))));
                    alternatives.push(Some(found));
                }
                clean => {
                    base.push(clean.clone());
                    alternatives.push(None);
                }
            }
        }
        Self { alternatives, base, cells, live: live.clone() }
    }

    /// Builds one state of the disk, from the root downwards.
    fn build(&self, chooser: &mut Chooser) -> (Tree, Vec<Choice>) {
        let mut tree = Tree::bare(self.base.len(), self.live.clock, self.live.changes);
        tree.vary_times = self.live.vary_times;
        let mut choices = Vec::new();
        self.walk(chooser, &mut choices, |chooser, choices, ino, inode| {
            if let Some(alternatives) = &self.alternatives[ino] {
                alternatives.choose_content(chooser, choices, inode);
            }
            tree.inodes[ino] = Some(Rc::clone(inode));
        });
        for ino in 0..tree.inodes.len() {
            let Some(inode) = tree.inodes[ino].clone() else { continue };
            if let Body::Directory(names) = &inode.body {
                for child in super::inode::live(names) {
                    tree.count_name(ino, child);
                }
            }
        }
        (tree, choices)
    }

    /// Chooses the directory entries of one state, and visits every reachable inode once.
    fn walk(
        &self,
        chooser: &mut Chooser,
        choices: &mut Vec<Choice>,
        mut visit: impl FnMut(&mut Chooser, &mut Vec<Choice>, Ino, &mut Rc<Inode>),
    ) {
        let mut is_reached = vec![false; self.base.len()];
        is_reached[ROOT] = true;
        let mut queue = vec![ROOT];
        let mut at = 0;
        while let Some(&ino) = queue.get(at) {
            at += 1;
            let base = self.base[ino].as_ref().expect("a name refers to an existing inode");
            let mut inode = Rc::clone(base);
            if let Some(alternatives) = &self.alternatives[ino] {
                alternatives.choose_names(chooser, choices, &mut inode);
            }
            if let Body::Directory(names) = &inode.body {
                for child in super::inode::live(names) {
                    if !std::mem::replace(&mut is_reached[child], true) {
                        queue.push(child);
                    }
                }
            }
            visit(chooser, choices, ino, &mut inode);
        }
    }

    /// Returns the number of states, or `None` if it exceeds `max`.
    fn count_up_to(&self, max: u128) -> Option<u128> {
        let contents: Vec<u128> = self
            .alternatives
            .iter()
            .map(|found| found.as_ref().map_or(1, Alternatives::content_count))
            .collect();
        let mut total = 0u128;
        let mut tape = Some(Tape::default());
        while let Some(next) = tape {
            let mut chooser = Chooser::Tape(next);
            let mut product = 1u128;
            self.walk(&mut chooser, &mut Vec::new(), |_, _, ino, _| {
                product = product.saturating_mul(contents[ino]);
            });
            total = total.saturating_add(product);
            if total > max {
                return None;
            }
            tape = chooser.next_tape();
        }
        Some(total)
    }

    /// Returns the strategies for the states that are always included before random sampling starts.
    fn directed(&self) -> VecDeque<Strategy> {
        let options = || self.alternatives.iter().flatten().flat_map(Alternatives::options);
        let changes: BTreeSet<u64> = options().flat_map(Options::changes).collect();
        let mut directed = VecDeque::from([Strategy::Until(u64::MAX), Strategy::Until(0)]);
        directed.extend(changes.into_iter().map(Strategy::Until));
        for others in [0, u64::MAX] {
            directed.extend(options().flat_map(|options| {
                let id = options.id;
                (0..options.count).map(move |value| Strategy::One { id, value, others })
            }));
        }
        directed
    }
}

impl Origin {
    /// Describes the cells that did not keep their newest value.
    pub(super) fn lost(&self) -> Vec<String> {
        let plan = &self.plan;
        let options: Vec<_> =
            plan.alternatives.iter().flatten().flat_map(Alternatives::options).collect();
        let is_old = |choice: &&Choice| {
            options.iter().any(|o| o.id == choice.id && o.newest != choice.value)
        };
        let describe = |choice: &Choice| {
            let cell = plan.cells[choice.id as usize].describe(&plan.live);
            let count = options.iter().find(|o| o.id == choice.id).map_or(0, |o| o.count);
            format!("{cell}: value {} of {count}", choice.value + 1)
        };
        self.choices.iter().filter(is_old).map(describe).collect()
    }
}

impl SimDisk {
    /// Returns the disks that may be left if the power fails now. Each disk is an independent copy in the next epoch,
    /// one minute later, and has no pending changes, faults, hooks, locks or trace. Ignored barriers stay ignored.
    ///
    /// If there are at most `limit` possible states, the iterator yields all of them. Otherwise it yields:
    ///
    /// - the newest state, the oldest state, and the state after every prefix of the pending changes
    /// - for each value of each cell, the states in which all other cells have their oldest or their newest values
    /// - random samples until `limit` states are reached
    ///
    /// The first two groups have about three states for each change and are not subject to `limit`. The random generator
    /// is seeded with the number of changes made so far, so the same history always results in the same samples.
    pub fn crash_states(&self, limit: usize) -> CrashStates {
        CrashStates::new(&self.machine.borrow(), limit)
    }

    /// Returns the number of states that are possible if the power fails now. The number is exact up to 65,536. Beyond
    /// that, it is the product of the choices of all cells, which is an upper bound.
    pub fn crash_state_count(&self) -> u128 {
        let plan = Plan::new(&self.machine.borrow().tree);
        plan.count_up_to(COUNT_EXACT_MAX).unwrap_or_else(|| {
            let options = plan.alternatives.iter().flatten().flat_map(Alternatives::options);
            options.fold(1, |product: u128, options| product.saturating_mul(options.count.into()))
        })
    }

    /// Describes the changes that were lost in the power cut that produced this disk, for the message of a failed test.
    pub fn lost(&self) -> Vec<String> {
        self.machine.borrow().origin.as_ref().map(Origin::lost).unwrap_or_default()
    }
}

/// Removes the blocks beyond the size of a file, and zeroes the part of its last block that is beyond the size.
pub(super) fn cut_to_size(inode: &mut Inode) {
    let bytes = inode.body.size();
    let Body::File { blocks, .. } = &mut inode.body else { return };
    blocks.retain(|&index, cell| {
        let cut = truncate(cell.get(), index, bytes);
        let is_kept = cut.is_some();
        *cell = super::cell::Cell::durable(cut);
        is_kept
    });
}
