//! Simulated computer that makes system calls on a disk. It counts the calls, lets planned ones fail, and can be killed
//! at any call.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use actum_workspace::disk::{Barrier, Kind};

use super::crash::Origin;
use super::inode::Part;
use super::trace::Entry;
use super::tree::{Ino, TICK, Tree};
use super::{Access, Errno, SimDisk, SimHandle};

pub(super) struct Machine {
    pub(super) tree: Tree,
    /// Number of times the computer has booted.
    pub(super) boot: u64,
    /// Number of random numbers drawn so far.
    pub(super) draws: u64,
    pub(super) ignored: BTreeSet<Barrier>,
    pub(super) syncs: BTreeMap<Barrier, usize>,
    pub(super) trace: Vec<Entry>,
    pub(super) calls: usize,
    /// Index of each call that wrote to a file, and the number of blocks that it touched.
    pub(super) writes: Vec<(usize, u64)>,
    /// Index of the call in progress.
    pub(super) current: usize,
    /// ID of the handle that holds the lock of each locked inode.
    pub(super) locks: BTreeMap<Ino, u64>,
    pub(super) handles: u64,
    /// Number of restarts of the process. Handles from before a restart are invalid.
    pub(super) life: u64,
    pub(super) is_killed: bool,
    /// Reported free space in bytes. A single write that needs more fails with `ENOSPC`.
    pub(super) free_bytes: u64,
    once: Vec<Fault>,
    from: Vec<(usize, Errno)>,
    hooks: BTreeMap<usize, Vec<Hook>>,
    /// Power cut from which the disk originates, if any.
    pub(super) origin: Option<Origin>,
}

pub(super) type Hook = Box<dyn FnOnce(&SimDisk)>;

/// Planned fault that occurs once, at the call with index `at`.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) kind: FaultKind,
    /// Number of blocks that a write completes before the fault occurs.
    pub(super) blocks: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Fail(Errno),
    Kill,
}

/// Effect of a call on the disk, which determines the faults that apply to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The call changes the disk without needing space.
    Change,
    /// The call changes the disk and needs space.
    Allocate,
    /// The call makes changes durable.
    Sync,
}

/// Access that a call requires of its handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Any open handle is sufficient.
    Any,
    /// The handle must not be opened with `O_PATH`.
    Open,
    /// The handle must be opened for writing.
    Write,
}

impl Machine {
    pub(super) fn new(tree: Tree, boot: u64) -> Self {
        Self {
            tree,
            boot,
            draws: 0,
            ignored: BTreeSet::new(),
            syncs: BTreeMap::new(),
            trace: Vec::new(),
            calls: 0,
            writes: Vec::new(),
            current: 0,
            locks: BTreeMap::new(),
            handles: 0,
            life: 0,
            is_killed: false,
            free_bytes: u64::MAX,
            once: Vec::new(),
            from: Vec::new(),
            hooks: BTreeMap::new(),
            origin: None,
        }
    }

    /// Returns the rebooted computer after a power cut that left the disk in the state `tree`.
    pub(super) fn after_power_cut(&self, mut tree: Tree) -> Self {
        tree.clock.0 += 60_000 * TICK;
        let mut machine = Self::new(tree, self.boot + 1);
        machine.ignored.clone_from(&self.ignored);
        machine
    }

    // Planned faults.

    /// Plans a fault at the call with this index, relative to the next call.
    pub(super) fn plan(&mut self, index: usize, kind: FaultKind, blocks: u64) {
        self.once.push(Fault { at: self.calls + index, kind, blocks });
    }

    pub(super) fn plan_from(&mut self, index: usize, errno: Errno) {
        self.from.push((self.calls + index, errno));
    }

    pub(super) fn plan_hook(&mut self, index: usize, hook: Hook) {
        self.hooks.entry(self.calls + index).or_default().push(hook);
    }

    pub(super) fn clear_faults(&mut self) {
        self.once.clear();
        self.from.clear();
        self.hooks.clear();
    }

    // Calls.

    /// Counts a call, and returns its index and the hooks to run before it. Returns `None` if the process was killed.
    pub(super) fn count(&mut self) -> Option<(usize, Vec<Hook>)> {
        if self.is_killed {
            return None;
        }
        let index = self.calls;
        self.calls += 1;
        let hooks = if self.hooks.is_empty() { None } else { self.hooks.remove(&index) };
        Some((index, hooks.unwrap_or_default()))
    }

    /// Records the call with this index in the trace, and returns the fault planned for it, if any.
    pub(super) fn begin(&mut self, index: usize, entry: Entry) -> Option<Fault> {
        self.current = index;
        self.trace.push(entry);
        let strikes = |fault: &Fault| fault.at == index;
        let is_kill = |fault: &&Fault| fault.kind == FaultKind::Kill;
        let mut struck = self.once.iter().filter(|fault| strikes(fault));
        let fault = struck.clone().find(is_kill).or_else(|| struck.next()).copied()?;
        self.once.retain(|fault| !strikes(fault));
        self.is_killed |= fault.kind == FaultKind::Kill;
        Some(fault)
    }

    /// Fails if a fault of [`SimDisk::fail_from`] applies to a call with this effect.
    pub(super) fn permit(&self, effect: Effect) -> Result<(), Errno> {
        for &(from, errno) in &self.from {
            let concerns = match errno {
                Errno::NOSPC | Errno::DQUOT => effect == Effect::Allocate,
                Errno::ROFS => effect != Effect::Sync,
                _ => true,
            };
            if concerns && self.current >= from {
                return Err(errno);
            }
        }
        Ok(())
    }

    /// Returns the inode of a handle. Fails with `EBADF` if the handle does not permit the required access or is from
    /// before a restart.
    pub(super) fn check(&self, handle: &SimHandle, need: Need) -> Result<Ino, Errno> {
        let is_ours = std::ptr::eq(handle.machine.as_ptr(), self);
        assert!(is_ours, "the handle belongs to another disk");
        let is_good = match need {
            Need::Any => true,
            Need::Open => handle.access != Access::Path,
            Need::Write => handle.access == Access::ReadWrite,
        };
        if is_good && handle.life == self.life { Ok(handle.ino) } else { Err(Errno::BADF) }
    }

    /// Returns the inode of `name`. Fails if it is a symbolic link or on a different file system than `parent`.
    pub(super) fn open(&self, parent: Ino, name: &[u8]) -> Result<Ino, Errno> {
        if name == b".." {
            return Err(Errno::XDEV);
        }
        let ino = self.tree.child((parent, name))?;
        if self.tree.kind(ino) == Kind::Symlink {
            return Err(Errno::LOOP);
        }
        if self.tree.get(ino).device != self.tree.get(parent).device {
            return Err(Errno::XDEV);
        }
        Ok(ino)
    }

    // Syncs.

    pub(super) fn sync(&mut self, inos: &[Ino], part: Part, barrier: Barrier) -> Result<(), Errno> {
        *self.syncs.entry(barrier).or_default() += 1;
        if let Err(errno) = self.permit(Effect::Sync) {
            self.fail_sync(inos, part, errno);
            return Err(errno);
        }
        if !self.ignored.contains(&barrier) {
            for &ino in inos {
                if self.tree.get(ino).is_dirty {
                    self.tree.edit(ino).flush(part);
                }
            }
        }
        Ok(())
    }

    /// Applies the effects of a failed sync. After `EIO`, the kernel considers unwritten changes clean.
    pub(super) fn fail_sync(&mut self, inos: &[Ino], part: Part, errno: Errno) {
        if errno == Errno::IO {
            for &ino in inos {
                self.tree.edit(ino).abandon(part);
            }
        }
    }
}

/// Returns the error of every call that a killed process makes.
pub(super) fn killed() -> io::Error {
    io::Error::other("killed")
}

/// Combines two numbers into a hash (splitmix64, by Sebastiano Vigna, public domain).
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(b).wrapping_add(1);
    for _ in 0..2 {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
    }
    z
}

impl Drop for SimHandle {
    /// Closes the handle and releases its lock.
    fn drop(&mut self) {
        // The machine is not borrowed at this point, because no call drops a handle while it is in progress.
        if let Ok(mut machine) = self.machine.try_borrow_mut()
            && machine.locks.get(&self.ino) == Some(&self.id)
        {
            machine.locks.remove(&self.ino);
        }
    }
}

impl SimDisk {
    pub(super) fn handle(&self, ino: Ino, access: Access, path: Rc<[u8]>) -> SimHandle {
        let mut machine = self.machine.borrow_mut();
        machine.handles += 1;
        SimHandle {
            machine: Rc::clone(&self.machine),
            ino,
            access,
            id: machine.handles,
            life: machine.life,
            path,
        }
    }

    /// Makes a call: runs its hooks, and then `act` unless a fault is planned. If there is a fault, runs `struck` instead.
    pub(super) fn call_or<T>(
        &self,
        entry: Entry,
        struck: impl FnOnce(&mut Machine, Fault),
        act: impl FnOnce(&mut Machine) -> Result<T, Errno>,
    ) -> io::Result<T> {
        let counted = self.machine.borrow_mut().count();
        let (index, hooks) = counted.ok_or_else(killed)?;
        for hook in hooks {
            hook(self);
        }
        let mut machine = self.machine.borrow_mut();
        let result = match machine.begin(index, entry) {
            None => act(&mut machine),
            Some(fault) => {
                struck(&mut machine, fault);
                match fault.kind {
                    FaultKind::Fail(errno) => Err(errno),
                    FaultKind::Kill => return Err(killed()),
                }
            }
        };
        if let (Err(errno), Some(entry)) = (&result, machine.trace.last_mut()) {
            entry.error = Some(*errno);
        }
        Ok(result?)
    }

    pub(super) fn call<T>(
        &self,
        entry: Entry,
        act: impl FnOnce(&mut Machine) -> Result<T, Errno>,
    ) -> io::Result<T> {
        self.call_or(entry, |_, _| {}, act)
    }
}
