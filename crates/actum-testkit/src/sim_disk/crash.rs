//! States that a power cut can leave: every cell has, by itself, its durable value or a later one.
//!
//! A state is built from the root down, so that choices are made only for what a name of that state reaches. The
//! content of a file whose name was lost makes no difference, nor do the blocks beyond the size it was left with. Hence
//! no two choices result in the same state.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::rc::Rc;

use super::SimDisk;
use super::choice::{Alternatives, CellId, Choice, Chooser, Options, Strategy, Tape};
use super::inode::{Body, Inode, truncate};
use super::machine::Machine;
use super::tree::{Ino, ROOT, Tree};

/// Limit up to which [`SimDisk::crash_state_count`] counts exactly.
const COUNT_EXACT_MAX: u128 = 1 << 16;
/// Number of known states that the sampler may hit in a row before it gives up.
const SAMPLE_MISSES_MAX: usize = 256;

/// Disks that may be found after a power cut, each different from all others. [`SimDisk::crash_states`] makes them one
/// at a time.
pub struct CrashStates {
    plan: Rc<Plan>,
    /// Computer that lost power; only what survives in it is read.
    template: Machine,
    progress: Progress,
}

enum Progress {
    Exhaustive(Option<Tape>),
    Sampled {
        /// Strategies that remain before the sampling.
        directed: VecDeque<Strategy>,
        seen: HashSet<Vec<Choice>>,
        limit: usize,
        draws: u64,
        /// Number of samples in a row that were not new.
        misses: usize,
    },
}

/// Possible choices.
pub(super) struct Plan {
    /// By number; `None` if there is nothing to choose.
    alternatives: Vec<Option<Alternatives>>,
    /// By number, with durable values wherever nothing is chosen.
    base: Vec<Option<Rc<Inode>>>,
    cells: Vec<CellId>,
    live: Tree,
}

/// Origin of the disk after a power cut.
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

    /// Returns true if all possible states are made.
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

    /// Builds one state, from the root down.
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

    /// Chooses the names of one state and visits every inode they reach, once.
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
            let base = self.base[ino].as_ref().expect("a name refers to an inode that exists");
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

    /// Returns the number of states, if it is not more than `max`.
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

    /// Returns the states that the sampler never misses.
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
    /// Returns the cells that were left with another value than their newest.
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
    /// Returns the disks that may be found if the power fails now. Each is independent, with nothing pending, in the
    /// next epoch and a minute later, without faults, hooks, locks or trace. Ignored barriers remain ignored.
    ///
    /// If there are at most `limit`, these are all of them. Otherwise they are the newest state, the oldest, and every
    /// prefix of the pending changes in the order they were made. Every cell also has one other value, among the oldest
    /// of all others and among the newest. These are made even if they are more than `limit`; they are about three for
    /// each change. Samples follow up to `limit`, from a generator that is seeded with the number of changes made so
    /// far. So the same history results in the same samples.
    pub fn crash_states(&self, limit: usize) -> CrashStates {
        CrashStates::new(&self.machine.borrow(), limit)
    }

    /// Returns the number of disks that may be found if the power fails now. It is exact up to 65,536. Beyond that it
    /// is the product of the choices of all cells, which is more than the exact number.
    pub fn crash_state_count(&self) -> u128 {
        let plan = Plan::new(&self.machine.borrow().tree);
        plan.count_up_to(COUNT_EXACT_MAX).unwrap_or_else(|| {
            let options = plan.alternatives.iter().flatten().flat_map(Alternatives::options);
            options.fold(1, |product: u128, options| product.saturating_mul(options.count.into()))
        })
    }

    /// Returns the changes that a power cut lost, on the disk that it left, for the message of a failing test.
    pub fn lost(&self) -> Vec<String> {
        self.machine.borrow().origin.as_ref().map(Origin::lost).unwrap_or_default()
    }
}

/// Drops the blocks of a file that are beyond its size, and clears the rest of the last one.
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
