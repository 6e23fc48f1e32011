//! Choices in a simulated power cut: which cells of an inode can end up with different values, and the strategies for
//! choosing among these values.

use std::rc::Rc;

use actum_core::path::Quoted;

use super::cell::Cell;
use super::crash::cut_to_size;
use super::inode::{Attributes, BLOCK_BYTES, Block, Body, Inode, Name, same_block, truncate};
use super::machine::mix;
use super::tree::{Ino, ROOT, Tree};

/// Chosen value of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Choice {
    pub(super) id: u32,
    pub(super) value: u32,
}

/// Identity of a cell: an inode, and for a block or a name also its position in the inode.
pub(super) enum CellId {
    Attributes(Ino),
    Size(Ino),
    Block(Ino, u64),
    Name(Ino, Name),
}

/// Distinct values that a cell may have after a power cut, oldest first.
pub(super) struct Values<T> {
    options: Options,
    values: Vec<T>,
}

/// Indexes of the values among which one is chosen for a cell, without the values themselves.
pub(super) struct Options {
    pub(super) id: u32,
    /// Number of distinct values of the cell.
    pub(super) count: u32,
    /// Index of the current value.
    pub(super) newest: u32,
    /// Number of each change and the index of the value that it set. The durable value has the number 0.
    history: Vec<(u64, u32)>,
}

/// Cells of an inode that have more than one possible value after a power cut.
#[derive(Default)]
pub(super) struct Alternatives {
    attributes: Option<Values<Attributes>>,
    size: Option<Values<u64>>,
    blocks: Vec<(u64, Values<Block>)>,
    names: Vec<(Name, Values<Option<Ino>>)>,
    /// Durable size of the file, which is used if only one size is possible.
    certain_size: u64,
}

/// Source of decisions: picks a value whenever a state of the disk requires a choice.
pub(super) enum Chooser {
    /// Replays a tape of choices, and extends it with the first option when it ends.
    Tape(Tape),
    /// Applies a fixed strategy.
    Directed(Strategy),
}

/// Sequence of choices. Successive tapes enumerate all possible sequences.
#[derive(Default)]
pub(super) struct Tape {
    steps: Vec<Step>,
    at: usize,
}

struct Step {
    taken: u32,
    count: u32,
}

/// Rule that selects a single state of the disk.
#[derive(Clone, Copy)]
pub(super) enum Strategy {
    /// Selects the state after all changes up to the given one.
    Until(u64),
    /// Sets one cell to the given value, and all other cells to their values after the changes up to `others`.
    One { id: u32, value: u32, others: u64 },
    /// Chooses randomly. In about `durable_of_8` of 8 cases, the durable value is chosen.
    Random { state: u64, durable_of_8: u64 },
}

impl<T: Clone> Values<T> {
    /// Collects the distinct values of a cell. Returns `None` if there is only one value.
    fn new(
        cell: &Cell<T>,
        equal: impl Fn(&T, &T) -> bool,
        cells: &mut Vec<CellId>,
        id: impl FnOnce() -> CellId,
    ) -> Option<Self> {
        if cell.is_durable() {
            return None;
        }
        let mut values: Vec<T> = Vec::new();
        let mut history = Vec::new();
        for (change, candidate) in cell.candidates() {
            let known = values.iter().position(|value| equal(value, candidate));
            let index = known.unwrap_or_else(|| {
                values.push(candidate.clone());
                values.len() - 1
            });
            history.push((change, index as u32));
        }
        if values.len() == 1 {
            return None;
        }
        let newest = history.last().map_or(0, |&(_, value)| value);
        let options =
            Options { id: cells.len() as u32, count: values.len() as u32, newest, history };
        cells.push(id());
        Some(Self { options, values })
    }

    /// Chooses a value. If some values are equivalent, `same` maps each value to the first equivalent one.
    fn choose(&self, chooser: &mut Chooser, same: Option<&[u32]>, choices: &mut Vec<Choice>) -> &T {
        let picked = chooser.pick(&self.options, same);
        let value = same.map_or(picked, |same| same[picked as usize]);
        choices.push(Choice { id: self.options.id, value });
        &self.values[value as usize]
    }
}

impl Options {
    /// Returns the numbers of all changes to the cell.
    pub(super) fn changes(&self) -> impl Iterator<Item = u64> {
        self.history.iter().map(|&(change, _)| change)
    }

    fn until(&self, change: u64) -> u32 {
        let made = self.history.iter().take_while(|&&(at, _)| at <= change);
        made.last().map_or(0, |&(_, value)| value)
    }
}

impl Alternatives {
    pub(super) fn new(ino: Ino, inode: &Inode, vary_times: bool, cells: &mut Vec<CellId>) -> Self {
        let equal = |a: &Attributes, b: &Attributes| a.equals(b, vary_times);
        let attributes = Values::new(&inode.attributes, equal, cells, || CellId::Attributes(ino));
        let mut found = Self { attributes, ..Self::default() };
        match &inode.body {
            Body::File { size, blocks } => {
                found.certain_size = *size.oldest();
                found.size = Values::new(size, u64::eq, cells, || CellId::Size(ino));
                for (&index, cell) in blocks {
                    let id = || CellId::Block(ino, index);
                    let values = Values::new(cell, same_block, cells, id);
                    found.blocks.extend(values.map(|values| (index, values)));
                }
            }
            Body::Directory(names) => {
                for (name, cell) in names {
                    let id = || CellId::Name(ino, Rc::clone(name));
                    let values = Values::new(cell, Option::eq, cells, id);
                    found.names.extend(values.map(|values| (Rc::clone(name), values)));
                }
            }
            Body::Symlink(_) | Body::Special => {}
        }
        found
    }

    /// Returns a copy of the inode in which every cell has its durable value.
    pub(super) fn base(&self, inode: &Inode) -> Inode {
        fn settle<T: Clone>(cell: &mut Cell<T>) {
            *cell = Cell::durable(cell.oldest().clone());
        }
        let mut base = inode.clone();
        settle(&mut base.attributes);
        match &mut base.body {
            Body::File { size, blocks } => {
                settle(size);
                blocks.values_mut().for_each(settle);
            }
            Body::Directory(names) => {
                names.values_mut().for_each(settle);
                names.retain(|_, cell| cell.get().is_some());
            }
            Body::Symlink(_) | Body::Special => {}
        }
        base.is_dirty = false;
        if self.size.is_none() && self.blocks.is_empty() {
            cut_to_size(&mut base);
        }
        base
    }

    pub(super) fn options(&self) -> impl Iterator<Item = &Options> {
        let attributes = self.attributes.iter().map(|values| &values.options);
        let sizes = self.size.iter().map(|values| &values.options);
        let blocks = self.blocks.iter().map(|(_, values)| &values.options);
        let names = self.names.iter().map(|(_, values)| &values.options);
        attributes.chain(sizes).chain(blocks).chain(names)
    }

    pub(super) fn choose_names(
        &self,
        chooser: &mut Chooser,
        choices: &mut Vec<Choice>,
        inode: &mut Rc<Inode>,
    ) {
        if self.names.is_empty() {
            return;
        }
        let Body::Directory(names) = &mut Rc::make_mut(inode).body else { return };
        for (name, values) in &self.names {
            match *values.choose(chooser, None, choices) {
                Some(ino) => names.insert(Rc::clone(name), Cell::durable(Some(ino))),
                None => names.remove(name),
            };
        }
    }

    /// Chooses the attributes of an inode, then its size, and then its blocks within that size.
    pub(super) fn choose_content(
        &self,
        chooser: &mut Chooser,
        choices: &mut Vec<Choice>,
        inode: &mut Rc<Inode>,
    ) {
        if let Some(values) = &self.attributes {
            let chosen = values.choose(chooser, None, choices).clone();
            Rc::make_mut(inode).attributes = Cell::durable(chosen);
        }
        if self.size.is_none() && self.blocks.is_empty() {
            return;
        }
        let inode = Rc::make_mut(inode);
        let Body::File { size, blocks } = &mut inode.body else { return };
        if let Some(values) = &self.size {
            *size = Cell::durable(*values.choose(chooser, None, choices));
        }
        let bytes = *size.get();
        for (index, values) in &self.blocks {
            let Some(alike) = alike(*index, values, bytes) else { continue };
            let block = values.choose(chooser, alike.same(), choices).clone();
            blocks.insert(*index, Cell::durable(block));
        }
        cut_to_size(inode);
    }

    /// Returns the number of different results of [`Self::choose_content`].
    pub(super) fn content_count(&self) -> u128 {
        let attributes = self.attributes.as_ref().map_or(1, |values| values.values.len() as u128);
        let sizes = self
            .size
            .as_ref()
            .map_or(std::slice::from_ref(&self.certain_size), |values| values.values.as_slice());
        let with_size = |&bytes: &u64| {
            let ways = self.blocks.iter().filter_map(|(index, values)| {
                Some(match alike(*index, values, bytes)? {
                    Alike::None => u128::from(values.options.count),
                    Alike::Some(same) => firsts(&same).count() as u128,
                })
            });
            ways.fold(1u128, u128::saturating_mul)
        };
        sizes.iter().map(with_size).fold(0u128, u128::saturating_add).saturating_mul(attributes)
    }
}

/// Equivalence of the values of a block in a file of a given size: values can differ only in bytes beyond the end.
enum Alike {
    None,
    /// Maps each value to the first value that reads the same.
    Some(Vec<u32>),
}

impl Alike {
    fn same(&self) -> Option<&[u32]> {
        match self {
            Self::None => None,
            Self::Some(same) => Some(same),
        }
    }
}

/// Determines which values of a block are equivalent. Returns `None` if a file of `bytes` bytes does not include the
/// block.
fn alike(index: u64, values: &Values<Block>, bytes: u64) -> Option<Alike> {
    let start = index * BLOCK_BYTES as u64;
    if start >= bytes {
        return None;
    }
    let ends_within = |block: &Block| {
        block.as_ref().is_none_or(|block| {
            let kept = (bytes - start).min(BLOCK_BYTES as u64) as usize;
            block[kept..].iter().all(|&byte| byte == 0)
        })
    };
    if values.values.iter().all(ends_within) {
        return Some(Alike::None);
    }
    let cut: Vec<Block> = values.values.iter().map(|block| truncate(block, index, bytes)).collect();
    let first =
        |block| (0..).zip(&cut).find(|(_, other)| same_block(block, other)).map(|(at, _)| at);
    Some(Alike::Some(cut.iter().filter_map(first).collect()))
}

/// Returns the values that are the first of their equivalent values.
fn firsts(same: &[u32]) -> impl Iterator<Item = u32> {
    (0..).zip(same).filter(|(at, first)| at == *first).map(|(at, _)| at)
}

impl CellId {
    pub(super) fn describe(&self, live: &Tree) -> String {
        match self {
            Self::Attributes(ino) => format!("attributes of {}", path_of(live, *ino)),
            Self::Size(ino) => format!("size of {}", path_of(live, *ino)),
            Self::Block(ino, index) => format!("block {index} of {}", path_of(live, *ino)),
            Self::Name(ino, name) => format!("name `{}` in {}", Quoted(name), path_of(live, *ino)),
        }
    }
}

/// Returns a description of an inode: its first current path and its number, or only the number if it has no name.
fn path_of(live: &Tree, ino: Ino) -> String {
    let mut path = Vec::new();
    let mut at = ino;
    // The loop is bounded because a half-completed rename can leave a directory below itself.
    for _ in 0..live.inodes.len() {
        if at == ROOT {
            break;
        }
        let place = (0..live.inodes.len()).find_map(|parent| {
            let Body::Directory(names) = &live.inodes[parent].as_ref()?.body else { return None };
            let name = names.iter().find(|(_, cell)| *cell.get() == Some(at))?.0;
            Some((parent, name))
        });
        let Some((parent, name)) = place else { return format!("inode {ino} without a name") };
        path.splice(0..0, [b"/", &**name].concat());
        at = parent;
    }
    format!("`{}` (inode {ino})", Quoted(if path.is_empty() { b"/" } else { &path }))
}

impl Chooser {
    /// Picks a value. A tape picks only the first of several equivalent values.
    fn pick(&mut self, options: &Options, same: Option<&[u32]>) -> u32 {
        match self {
            Self::Tape(tape) => {
                if tape.at == tape.steps.len() {
                    let count = same.map_or(options.count, |same| firsts(same).count() as u32);
                    tape.steps.push(Step { taken: 0, count });
                }
                let taken = tape.steps[tape.at].taken;
                tape.at += 1;
                let nth_first = |same| firsts(same).nth(taken as usize);
                same.map_or(Some(taken), nth_first)
                    .expect("choices are always made in the same order")
            }
            Self::Directed(strategy) => strategy.pick(options),
        }
    }

    /// Returns the next tape. Returns `None` after the last tape, or if the chooser does not use a tape.
    pub(super) fn next_tape(self) -> Option<Tape> {
        let Self::Tape(mut tape) = self else { return None };
        while tape.steps.last().is_some_and(|step| step.taken + 1 == step.count) {
            tape.steps.pop();
        }
        tape.steps.last_mut()?.taken += 1;
        tape.at = 0;
        Some(tape)
    }
}

impl Strategy {
    /// Creates the random strategy for sample number `draw` of a seed.
    pub(super) fn random(seed: u64, draw: u64) -> Self {
        let state = mix(seed, draw);
        Self::Random { state, durable_of_8: [1, 4, 7][(state % 3) as usize] }
    }

    fn pick(&mut self, options: &Options) -> u32 {
        match self {
            Self::Until(change) => options.until(*change),
            Self::One { id, value, .. } if *id == options.id => *value,
            Self::One { others, .. } => options.until(*others),
            Self::Random { state, durable_of_8 } => {
                *state = mix(*state, u64::from(options.id));
                if (*state >> 32) % 8 < *durable_of_8 {
                    0
                } else {
                    1 + (*state % u64::from(options.count - 1)) as u32
                }
            }
        }
    }
}
