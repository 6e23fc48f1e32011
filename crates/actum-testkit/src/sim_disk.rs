//! In-memory disk, [`SimDisk`], that implements the [`Disk`](actum_workspace::disk::Disk) trait of the engine.
//! Tests can make it fail, kill the process or lose power at every system call.
//!
//! Every call operates on the *volatile* view, which corresponds to the page cache. The state below it consists of
//! cells, each of which becomes durable independently of the others. A cell is a name in a directory, a 4,096-byte
//! block of a file, the size of a file, or the attributes of an inode. The attributes are the mode, the owner, the
//! extended attributes and the times. There is no ordering between cells: after a power cut, each cell has its last
//! durable value or any later value, as on ext4 without a journal. A rename changes two cells, so a power cut may lose
//! half of it. A new inode starts with durable initial attributes and without content.
//!
//! The simulation does not model most permission checks, quotas, ACL inheritance, `atime`, or blocks that are only partly
//! written. It also does not model the repair of a file system (`fsck`) after a power cut: a directory may then have
//! two names, and an inode without a name is lost. Blocks of a deleted file are never reused for another file.

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

/// Simulated disk together with the computer that uses it. Clones share the same disk;
/// [`clone_deep`](Self::clone_deep) creates an independent copy.
#[derive(Clone)]
pub struct SimDisk {
    machine: Rc<RefCell<Machine>>,
}

/// Open file or directory of a [`SimDisk`]. Dropping the handle releases its lock.
pub struct SimHandle {
    machine: Rc<RefCell<Machine>>,
    ino: Ino,
    access: Access,
    id: u64,
    life: u64,
    path: Rc<[u8]>,
}

/// Access mode in which a handle was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Opened with `O_PATH`, which permits neither reading nor writing.
    Path,
    /// Opened with `O_RDONLY`.
    Read,
    /// Opened with `O_RDWR`.
    ReadWrite,
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimDisk {
    /// Creates a disk that contains only an empty root directory.
    pub fn new() -> Self {
        Self::from_machine(Machine::new(Tree::new(), 1))
    }

    fn from_machine(machine: Machine) -> Self {
        Self { machine: Rc::new(RefCell::new(machine)) }
    }

    /// Returns an independent copy of the disk in the same epoch, including changes that are not durable yet. Ignored
    /// barriers are copied as well, but not handles, locks, faults, hooks, counters or the trace.
    #[must_use]
    pub fn clone_deep(&self) -> Self {
        let machine = self.machine.borrow();
        let mut copy = Machine::new(machine.tree.clone(), machine.boot);
        copy.draws = machine.draws;
        copy.ignored.clone_from(&machine.ignored);
        copy.origin.clone_from(&machine.origin);
        Self::from_machine(copy)
    }

    // Recorded calls.

    /// Returns the number of system calls made so far. It includes every call that can fail, up to the one that kills
    /// the process. Infallible calls such as `now` and methods outside the `Disk` trait are not counted.
    pub fn calls(&self) -> usize {
        self.machine.borrow().calls
    }

    /// Returns a line for each call made so far, including its error, such as
    /// `rename `a` to `b` Exchange: No such file ...`.
    pub fn trace(&self) -> Vec<String> {
        self.machine.borrow().trace.iter().map(ToString::to_string).collect()
    }

    /// Returns every call that wrote to a file, as its index in the trace and the number of blocks that it touched.
    pub fn writes(&self) -> Vec<(usize, u64)> {
        self.machine.borrow().writes.clone()
    }

    /// Returns the number of syncs made for a barrier, including syncs that were ignored.
    pub fn syncs(&self, barrier: Barrier) -> usize {
        self.machine.borrow().syncs.get(&barrier).copied().unwrap_or_default()
    }

    // Faults. A call index is relative to the next call, which has index 0.

    /// Makes all further syncs for a barrier succeed without having any effect.
    pub fn ignore(&self, barrier: Barrier) {
        self.machine.borrow_mut().ignored.insert(barrier);
    }

    /// Makes one call fail without having any effect. If a sync fails with `EIO`, the changes that it should have
    /// written count as clean. A power cut can then lose them even after a later sync succeeds, unless they are
    /// written again.
    pub fn fail_at(&self, call_index: usize, errno: Errno) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Fail(errno), 0);
    }

    /// Makes one call fail. If the call is a `write_at`, it first writes `written_blocks` of the blocks that it touches.
    pub fn fail_in_write(&self, call_index: usize, errno: Errno, written_blocks: u64) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Fail(errno), written_blocks);
    }

    /// Makes every modifying call and every sync fail, starting with the call at this index.
    ///
    /// `ENOSPC` and `EDQUOT` affect only calls that need space: `create`, `make_directory`, `link`, a `rename` to a new
    /// name, and a `write_at` that extends the file or fills a hole. `EROFS` does not affect syncs.
    pub fn fail_from(&self, call_index: usize, errno: Errno) {
        self.machine.borrow_mut().plan_from(call_index, errno);
    }

    /// Sets the reported free space. A single write that needs more space fails with `ENOSPC`, but writes do not reduce
    /// the free space.
    pub fn set_free_bytes(&self, bytes: u64) {
        self.machine.borrow_mut().free_bytes = bytes;
    }

    /// Kills the process at this call. This call and every later call have no effect and fail with the error "killed",
    /// which has the kind `Other`.
    pub fn kill_at(&self, call_index: usize) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Kill, 0);
    }

    /// Kills the process at this call, like [`kill_at`](Self::kill_at). If the call is a `write_at`, it first writes
    /// `written_blocks` of the blocks that it touches.
    pub fn kill_in_write(&self, call_index: usize, written_blocks: u64) {
        self.machine.borrow_mut().plan(call_index, FaultKind::Kill, written_blocks);
    }

    /// Returns true if the process was killed and has not been [revived](Self::revive) since.
    pub fn killed(&self) -> bool {
        self.machine.borrow().is_killed
    }

    /// Restarts the process after it was killed. The disk and its epoch are unchanged, but locks are released and old
    /// handles fail with `EBADF`. Faults of [`fail_from`](Self::fail_from) stay active.
    pub fn revive(&self) {
        let mut machine = self.machine.borrow_mut();
        machine.is_killed = false;
        machine.life += 1;
        machine.locks.clear();
    }

    /// Removes all planned faults and hooks.
    pub fn clear_faults(&self) {
        self.machine.borrow_mut().clear_faults();
    }

    /// Runs `hook` immediately before a call, to simulate the interference of another program. The hook may use every
    /// method of the disk. The calls that it makes get higher numbers than the call that it precedes.
    pub fn before_call(&self, call_index: usize, hook: impl FnOnce(&Self) + 'static) {
        self.machine.borrow_mut().plan_hook(call_index, Box::new(hook));
    }

    // Time.

    /// Advances the clock of the disk.
    pub fn advance(&self, milliseconds: u32) {
        self.machine.borrow_mut().tree.clock.0 += i64::from(milliseconds) * TICK;
    }

    /// Returns the current time of the disk without advancing it, unlike [`Disk::now`](actum_workspace::disk::Disk::now).
    pub fn clock(&self) -> Time {
        self.machine.borrow().tree.clock
    }

    /// Lets a power cut lose changes that affect only the times of an inode, from now on.
    ///
    /// By default, such a change becomes durable together with the last change of the other attributes, or immediately
    /// if no other attribute has changed. The default reduces the number of crash states.
    pub fn vary_times(&self) {
        self.machine.borrow_mut().tree.vary_times = true;
    }

    /// Makes all changes durable, as if the computer had been idle for a long time. Changes whose sync failed with `EIO`
    /// stay pending.
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
    /// Formats the tree of the disk for the message of a failed test.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.snapshot()).finish()
    }
}

impl fmt::Debug for SimHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimHandle({:?} `{}`)", self.access, actum_core::path::Quoted(&self.path))
    }
}
