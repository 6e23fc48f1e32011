//! [`SimDisk`]: a disk in memory, behind the trait that the engine uses, that can fail, be killed and lose power at
//! every system call.
//!
//! Every call sees the *volatile* view, as the page cache shows it. Below it are cells, each of which becomes durable
//! by itself. A cell is a name in a directory, a 4,096-byte block of a file, the size of a file, or the attributes of
//! an inode. Attributes are mode, owner and extended attributes; the times belong to them. Nothing is ordered between
//! cells: after a power cut each has its last durable value or any later one, as on ext4 without a journal. A rename is
//! two cells, and half of it may be lost. A new inode has its first attributes and no content.
//!
//! Not modelled: permissions, quotas, ACL inheritance, `atime`, and blocks torn inside. Nor are file systems that are
//! repaired (`fsck`) after a power cut, so a directory may then have two names, and an inode with no name is gone. Nor
//! are blocks of a deleted file that are given to another one.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use actum_workspace::disk::{Barrier, Time};
use rustix::io::Errno;

use machine::{FaultKind, Machine};
use tree::{Ino, TICK, Tree};

mod by_path;
mod calls;
mod cell;
mod choice;
mod crash;
mod inode;
mod machine;
mod trace;
mod tree;

pub use by_path::Node;
pub use crash::CrashStates;

/// Simulated disk with the computer around it. Clones are the same disk; [`clone_deep`](Self::clone_deep) makes
/// another.
#[derive(Clone)]
pub struct SimDisk {
    machine: Rc<RefCell<Machine>>,
}

/// Open file or directory. Dropping it ends its lock.
pub struct SimHandle {
    machine: Rc<RefCell<Machine>>,
    ino: Ino,
    access: Access,
    id: u64,
    life: u64,
    path: Rc<[u8]>,
}

/// Mode in which a handle was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// `O_PATH`.
    Path,
    /// `O_RDONLY`.
    Read,
    /// `O_RDWR`.
    ReadWrite,
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimDisk {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::from_machine(Machine::new(Tree::new(), 1))
    }

    fn from_machine(machine: Machine) -> Self {
        Self { machine: Rc::new(RefCell::new(machine)) }
    }

    /// Makes an independent copy of the disk, with pending changes, in the same epoch. Ignored barriers are copied;
    /// handles, locks, faults, hooks, counters and trace are not.
    #[must_use]
    pub fn clone_deep(&self) -> Self {
        let machine = self.machine.borrow();
        let mut copy = Machine::new(machine.tree.clone(), machine.boot);
        copy.draws = machine.draws;
        copy.ignored.clone_from(&machine.ignored);
        copy.origin.clone_from(&machine.origin);
        Self::from_machine(copy)
    }

    // Record of the calls.

    /// Returns the number of calls so far. Every call that can fail counts, until the process is killed; `now` and
    /// `process` do not, nor do the methods that are not part of the trait.
    pub fn calls(&self) -> usize {
        self.machine.borrow().calls
    }

    /// Returns every call so far, with its error: `rename `a` to `b` Exchange: No such file ...`.
    pub fn trace(&self) -> Vec<String> {
        self.machine.borrow().trace.iter().map(ToString::to_string).collect()
    }

    /// Returns the calls that wrote to a file, by their numbers in the trace, and the number of blocks that each
    /// touched.
    pub fn writes(&self) -> Vec<(usize, u64)> {
        self.machine.borrow().writes.clone()
    }

    /// Returns the number of syncs for this barrier, whether ignored or not.
    pub fn syncs(&self, barrier: Barrier) -> usize {
        self.machine.borrow().syncs.get(&barrier).copied().unwrap_or_default()
    }

    // Faults. Calls are counted from the next one, which is 0.

    /// Ignores a barrier: from now on its syncs succeed and do nothing.
    pub fn ignore(&self, barrier: Barrier) {
        self.machine.borrow_mut().ignored.insert(barrier);
    }

    /// Makes one call fail and do nothing. A sync that fails with `EIO` leaves what it should have written pending but
    /// clean: a power cut may lose it even after later syncs succeed, until it is written again.
    pub fn fail_at(&self, call_index: usize, errno: Errno) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Fail(errno), 0);
    }

    /// Makes one call fail; if it is a `write_at`, after it wrote the first blocks that it touches.
    pub fn fail_in_write(&self, call_index: usize, errno: Errno, written_blocks: u64) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Fail(errno), written_blocks);
    }

    /// Makes every call from this one on fail that changes something. For `ENOSPC` and `EDQUOT` these are only those
    /// that need space: `create`, `make_directory`, `link`, a `rename` to a new name, a `write_at` that extends the
    /// file or fills a hole. For `EROFS` the syncs do not fail.
    pub fn fail_from(&self, call_index: usize, errno: Errno) {
        self.machine.borrow_mut().plan_from(call_index, errno);
    }

    /// Sets the space that is reported as free. A write that needs more fails with `ENOSPC`; no write uses any up.
    pub fn set_free_bytes(&self, bytes: u64) {
        self.machine.borrow_mut().free_bytes = bytes;
    }

    /// Kills the process at this call: it and every later one does nothing and fails with an error of kind `Other`,
    /// "killed".
    pub fn kill_at(&self, call_index: usize) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Kill, 0);
    }

    /// Kills the process as [`kill_at`](Self::kill_at) does; if the call is a `write_at`, after it wrote the first
    /// blocks that it touches.
    pub fn kill_in_write(&self, call_index: usize, written_blocks: u64) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Kill, written_blocks);
    }

    /// Returns true if the process was killed and has not been revived.
    pub fn killed(&self) -> bool {
        self.machine.borrow().is_killed
    }

    /// Starts the process again: the disk is unchanged, in the same epoch, and handles and locks of the old process are
    /// gone (`EBADF`). Lasting faults remain.
    pub fn revive(&self) {
        let mut machine = self.machine.borrow_mut();
        machine.is_killed = false;
        machine.life += 1;
        machine.locks.clear();
    }

    /// Forgets every planned fault and hook.
    pub fn clear_faults(&self) {
        self.machine.borrow_mut().clear_faults();
    }

    /// Runs `hook` just before a call, so that another program can act in between. It may use every method; calls of
    /// the trait that it makes are counted after the one that it runs before.
    pub fn before_call(&self, call_index: usize, hook: impl FnOnce(&Self) + 'static) {
        self.machine.borrow_mut().plan_hook(call_index, Box::new(hook));
    }

    // Time.

    /// Moves the clock.
    pub fn advance(&self, milliseconds: u32) {
        self.machine.borrow_mut().tree.clock.0 += i64::from(milliseconds) * TICK;
    }

    /// Returns the clock, which [`Disk::now`](actum_workspace::disk::Disk::now) would move.
    pub fn clock(&self) -> Time {
        self.machine.borrow().tree.clock
    }

    /// Makes a change of times alone losable like any other, from now on. Without this it is durable together with the
    /// last change of the other attributes, or at once if no other changed. That reduces the number of crash states.
    pub fn vary_times(&self) {
        self.machine.borrow_mut().tree.vary_times = true;
    }

    /// Makes everything durable, as long idling does, except what a failed sync left clean.
    pub fn settle(&self) {
        let tree = &mut self.machine.borrow_mut().tree;
        for ino in 0..tree.inodes.len() {
            if tree.inodes[ino].as_ref().is_some_and(|inode| inode.is_dirty) {
                tree.edit(ino).flush(inode::Part::Everything);
            }
        }
    }
}

impl fmt::Debug for SimDisk {
    /// Shows the tree, for the message of a failing test.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.snapshot()).finish()
    }
}

impl fmt::Debug for SimHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimHandle({:?} `{}`)", self.access, actum_core::path::Quoted(&self.path))
    }
}
