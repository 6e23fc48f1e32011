//! Simulated system calls: the implementation of [`Disk`] for [`SimDisk`].

use std::io;
use std::path::Path;
use std::rc::Rc;

use actum_core::{FileMode, RelPath};
use actum_workspace::disk::{Barrier, Disk, Epoch, Kind, Rename, Stat, Time, Xattr};

use super::inode::{Body, Names, Part, blocks_touched};
use super::machine::{Effect, Fault, FaultKind, Machine, Need, mix};
use super::trace::{Detail, Entry, join};
use super::tree::{Ino, ROOT};
use super::{Access, Errno, SimDisk, SimHandle};

impl Disk for SimDisk {
    type Handle = SimHandle;

    /// Much smaller than on a real disk, because tests recover a journal hundreds of thousands of times.
    const JOURNAL_STEP: u64 = 128 << 10;

    /// Opens the directory at `path`, which is resolved from the root of the simulated disk even if it is relative.
    fn open_root(&self, path: &Path) -> io::Result<SimHandle> {
        let below = path.strip_prefix("/").unwrap_or(path).as_os_str().as_encoded_bytes();
        let names = below.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        let path: Rc<[u8]> = Rc::from(below);
        let ino = self.call(Entry::new("open_root", &path), |machine| {
            let mut ino = ROOT;
            for name in names {
                ino = machine.open(ino, name)?;
                machine.tree.names(ino)?;
            }
            Ok(ino)
        })?;
        Ok(self.handle(ino, Access::Read, path))
    }

    fn open_parent(&self, root: &SimHandle, path: &RelPath) -> io::Result<SimHandle> {
        let entry = Entry::new("open_parent", &root.path).name(path.as_bytes());
        let ino = self.call(entry, |machine| {
            let mut ino = machine.check(root, Need::Any)?;
            for component in path.components() {
                ino = machine.open(ino, component)?;
                machine.tree.names(ino)?;
            }
            Ok(ino)
        })?;
        Ok(self.handle(ino, Access::Path, join(&root.path, path.as_bytes())))
    }

    /// Opens a directory. This is the only call for which the kernel reports a symbolic link as `ENOTDIR`.
    fn open_directory(&self, parent: &SimHandle, name: &[u8]) -> io::Result<SimHandle> {
        let open = |machine: &Machine, directory: Ino| {
            let opened = if name == b"." { Ok(directory) } else { machine.open(directory, name) };
            let ino = opened.map_err(|errno| match errno {
                Errno::LOOP => Errno::NOTDIR,
                other => other,
            })?;
            machine.tree.names(ino).map(|_| ino)
        };
        self.open_name("open_directory", parent, name, Access::Read, open)
    }

    fn open_file(&self, parent: &SimHandle, name: &[u8]) -> io::Result<SimHandle> {
        let open = |machine: &Machine, directory| {
            let ino = machine.open(directory, name)?;
            let is_file = machine.tree.kind(ino) == Kind::File;
            // The simulated process runs as the owner, so the owner's read bit decides.
            if is_file && machine.tree.stat(ino).mode.bits() & 0o400 == 0 {
                return Err(Errno::ACCESS);
            }
            Ok(ino)
        };
        self.open_name("open_file", parent, name, Access::Read, open)
    }

    fn open_link(&self, parent: &SimHandle, name: &[u8]) -> io::Result<SimHandle> {
        let open = |machine: &Machine, directory: Ino| {
            let ino = machine.tree.child((directory, name))?;
            if machine.tree.kind(ino) == Kind::Symlink { Ok(ino) } else { Err(Errno::INVAL) }
        };
        self.open_name("open_link", parent, name, Access::Read, open)
    }

    fn make_link(&self, parent: &SimHandle, name: &[u8], target: &[u8]) -> io::Result<()> {
        self.call(Entry::new("make_link", &parent.path).name(name), |machine| {
            let directory = machine.check(parent, Need::Any)?;
            machine.permit_new_name(directory, name)?;
            let body = Body::Symlink(target.into());
            machine.tree.make((directory, name), body, FileMode::LINK).map(|_| ())
        })
    }

    fn open_own(&self, parent: &SimHandle, name: &[u8]) -> io::Result<SimHandle> {
        let open = |machine: &Machine, directory: Ino| {
            let ino = machine.open(directory, name)?;
            match machine.tree.kind(ino) {
                Kind::Directory => Err(Errno::ISDIR),
                // A file cannot be opened for writing on a read-only file system.
                Kind::File if machine.permit(Effect::Change) == Err(Errno::ROFS) => {
                    Err(Errno::ROFS)
                }
                Kind::File | Kind::Symlink | Kind::Special => Ok(ino),
            }
        };
        self.open_name("open_own", parent, name, Access::ReadWrite, open)
    }

    fn create(&self, parent: &SimHandle, name: &[u8], mode: FileMode) -> io::Result<SimHandle> {
        let entry = Entry::new("create", &parent.path).name(name);
        let ino = self.call(entry.detail(Detail::Mode(mode.bits())), |machine| {
            let directory = machine.check(parent, Need::Any)?;
            machine.permit_new_name(directory, name)?;
            machine.tree.make((directory, name), Body::empty_file(), mode)
        })?;
        Ok(self.handle(ino, Access::ReadWrite, join(&parent.path, name)))
    }

    fn may_write(&self, directory: &SimHandle) -> io::Result<()> {
        let stat = self.stat(directory)?;
        match stat.mode.bits() & 0o200 {
            0 => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        }
    }

    fn stat(&self, handle: &SimHandle) -> io::Result<Stat> {
        self.call(Entry::new("stat", &handle.path), |machine| {
            Ok(machine.tree.stat(machine.check(handle, Need::Any)?))
        })
    }

    fn born(&self, _: &SimHandle) -> io::Result<Option<Time>> {
        Ok(None) // like a file system that does not record creation times
    }

    fn stat_at(&self, parent: &SimHandle, name: &[u8]) -> io::Result<Option<Stat>> {
        self.call(Entry::new("stat_at", &parent.path).name(name), |machine| {
            let directory = machine.check(parent, Need::Any)?;
            let ino = machine.tree.lookup((directory, name))?;
            Ok(ino.map(|ino| machine.tree.stat(ino)))
        })
    }

    fn list(&self, directory: &SimHandle) -> io::Result<Vec<Vec<u8>>> {
        self.call(Entry::new("list", &directory.path), |machine| {
            let ino = machine.check(directory, Need::Open)?;
            Ok(shuffled(machine.tree.names(ino)?))
        })
    }

    fn read_at(&self, file: &SimHandle, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let range = Detail::Range { offset, length: buffer.len() };
        self.call(Entry::new("read_at", &file.path).detail(range), |machine| {
            let ino = machine.check(file, Need::Open)?;
            machine.tree.get(ino).read(buffer, offset)
        })
    }

    fn write_at(&self, file: &SimHandle, bytes: &[u8], offset: u64) -> io::Result<()> {
        let range = Detail::Range { offset, length: bytes.len() };
        let partly = |machine: &mut Machine, fault: Fault| {
            let ino = machine.check(file, Need::Write).ok();
            let ino = ino.filter(|&ino| machine.tree.kind(ino) == Kind::File);
            if let (Some(ino), 1..) = (ino, fault.blocks) {
                let written = machine.tree.write(ino, bytes, offset, fault.blocks);
                written.expect("a file can be written");
            }
        };
        self.call_or(Entry::new("write_at", &file.path).detail(range), partly, |machine| {
            // An empty write makes no system call, so any handle is accepted.
            if bytes.is_empty() {
                return Ok(());
            }
            // The kernel checks whether the file is seekable before it checks the access mode.
            if machine.tree.kind(machine.check(file, Need::Open)?) == Kind::Special {
                return Err(Errno::SPIPE);
            }
            let ino = machine.check(file, Need::Write)?;
            let allocates = machine.tree.get(ino).would_allocate(bytes.len(), offset);
            machine.permit(if allocates { Effect::Allocate } else { Effect::Change })?;
            if allocates
                && u64::try_from(bytes.len()).is_ok_and(|length| length > machine.free_bytes)
            {
                return Err(Errno::NOSPC);
            }
            machine.writes.push((machine.current, blocks_touched(offset, bytes.len())));
            machine.tree.write(ino, bytes, offset, u64::MAX)
        })
    }

    fn set_size(&self, file: &SimHandle, size: u64) -> io::Result<()> {
        let entry = Entry::new("set_size", &file.path).detail(Detail::Size(size));
        self.call(entry, |machine| {
            // ftruncate(2) fails with `EINVAL` if the file was opened only for reading.
            let ino = machine.check(file, Need::Open)?;
            let ino = machine.check(file, Need::Write).map(|_| ino).map_err(|_| Errno::INVAL)?;
            machine.permit(Effect::Change)?;
            machine.tree.set_size(ino, size)
        })
    }

    fn set_mode(&self, handle: &SimHandle, mode: FileMode) -> io::Result<()> {
        let entry = Entry::new("set_mode", &handle.path).detail(Detail::Mode(mode.bits()));
        self.call(entry, |machine| {
            let ino = machine.check(handle, Need::Open)?;
            machine.permit(Effect::Change)?;
            machine.tree.set_mode(ino, mode);
            Ok(())
        })
    }

    fn set_owner(&self, handle: &SimHandle, user: u32, group: u32) -> io::Result<()> {
        let entry = Entry::new("set_owner", &handle.path).detail(Detail::Owner(user, group));
        self.call(entry, |machine| {
            let ino = machine.check(handle, Need::Open)?;
            machine.permit(Effect::Change)?;
            machine.tree.set_owner(ino, user, group);
            Ok(())
        })
    }

    fn set_modified(&self, handle: &SimHandle, modified: Time) -> io::Result<()> {
        self.call(Entry::new("set_modified", &handle.path), |machine| {
            let ino = machine.check(handle, Need::Open)?;
            machine.permit(Effect::Change)?;
            machine.tree.set_modified(ino, modified);
            Ok(())
        })
    }

    fn xattrs(&self, handle: &SimHandle) -> io::Result<Vec<Xattr>> {
        self.call(Entry::new("xattrs", &handle.path), |machine| {
            let ino = machine.check(handle, Need::Open)?;
            let xattrs = &machine.tree.get(ino).attributes.get().xattrs;
            Ok(xattrs.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
        })
    }

    fn set_xattr(&self, handle: &SimHandle, name: &[u8], value: &[u8]) -> io::Result<()> {
        let entry = Entry::new("set_xattr", &handle.path).detail(Detail::Xattr(name.into()));
        self.call(entry, |machine| {
            let ino = machine.check(handle, Need::Open)?;
            machine.permit(Effect::Change)?;
            machine.tree.set_xattr(ino, name, value)
        })
    }

    fn remove_xattr(&self, handle: &SimHandle, name: &[u8]) -> io::Result<()> {
        let entry = Entry::new("remove_xattr", &handle.path).detail(Detail::Xattr(name.into()));
        self.call(entry, |machine| {
            let ino = machine.check(handle, Need::Open)?;
            machine.permit(Effect::Change)?;
            machine.tree.remove_xattr(ino, name)
        })
    }

    fn link(
        &self,
        from_parent: &SimHandle,
        from: &[u8],
        to_parent: &SimHandle,
        to: &[u8],
    ) -> io::Result<()> {
        let entry = Entry::new("link", &from_parent.path).name(from);
        let detail = Detail::To(Rc::clone(&to_parent.path), to.into(), None);
        self.call(entry.detail(detail), |machine| {
            let from_directory = machine.check(from_parent, Need::Any)?;
            let to_directory = machine.check(to_parent, Need::Any)?;
            machine.permit_new_name(to_directory, to)?;
            machine.tree.link((from_directory, from), (to_directory, to))
        })
    }

    fn rename(
        &self,
        from_parent: &SimHandle,
        from: &[u8],
        to_parent: &SimHandle,
        to: &[u8],
        rename: Rename,
    ) -> io::Result<()> {
        let entry = Entry::new("rename", &from_parent.path).name(from);
        let detail = Detail::To(Rc::clone(&to_parent.path), to.into(), Some(rename));
        self.call(entry.detail(detail), |machine| {
            let from_directory = machine.check(from_parent, Need::Any)?;
            let to_directory = machine.check(to_parent, Need::Any)?;
            machine.permit_old_name(from_directory, from)?;
            match rename {
                Rename::Exchange => machine.permit_old_name(to_directory, to)?,
                Rename::NoReplace | Rename::Replace => {
                    machine.permit_new_name(to_directory, to)?;
                }
            }
            machine.tree.rename((from_directory, from), (to_directory, to), rename)
        })
    }

    fn unlink(&self, parent: &SimHandle, name: &[u8]) -> io::Result<()> {
        self.call(Entry::new("unlink", &parent.path).name(name), |machine| {
            let directory = machine.check(parent, Need::Any)?;
            machine.permit_old_name(directory, name)?;
            machine.tree.unlink((directory, name))
        })
    }

    fn make_directory(&self, parent: &SimHandle, name: &[u8], mode: FileMode) -> io::Result<()> {
        let entry = Entry::new("make_directory", &parent.path).name(name);
        self.call(entry.detail(Detail::Mode(mode.bits())), |machine| {
            let directory = machine.check(parent, Need::Any)?;
            machine.permit_new_name(directory, name)?;
            machine.tree.make((directory, name), Body::Directory(Names::new()), mode).map(|_| ())
        })
    }

    fn remove_directory(&self, parent: &SimHandle, name: &[u8]) -> io::Result<()> {
        self.call(Entry::new("remove_directory", &parent.path).name(name), |machine| {
            let directory = machine.check(parent, Need::Any)?;
            machine.permit_old_name(directory, name)?;
            machine.tree.remove_directory((directory, name))
        })
    }

    fn sync_data(&self, file: &SimHandle, barrier: Barrier) -> io::Result<()> {
        self.sync_one("sync_data", file, Part::Data, barrier)
    }

    fn sync(&self, handle: &SimHandle, barrier: Barrier) -> io::Result<()> {
        self.sync_one("sync", handle, Part::Everything, barrier)
    }

    fn sync_all(&self, handle: &SimHandle, barrier: Barrier) -> io::Result<()> {
        self.sync_inodes("sync_all", handle, Part::Everything, barrier, |machine| {
            let ino = machine.check(handle, Need::Open)?;
            Ok(machine.tree.dirty(machine.tree.get(ino).device))
        })
    }

    /// # Panics
    /// Panics if another handle holds the lock and `wait` is set, because nothing could ever release the lock.
    fn lock(&self, file: &SimHandle, wait: bool) -> io::Result<bool> {
        let entry = Entry::new("lock", &file.path).detail(Detail::Wait(wait));
        self.call(entry, |machine| {
            let ino = machine.check(file, Need::Open)?;
            let holder = *machine.locks.entry(ino).or_insert(file.id);
            let is_mine = holder == file.id;
            assert!(is_mine || !wait, "waiting for the lock would block forever");
            Ok(is_mine)
        })
    }

    fn free_bytes(&self, directory: &SimHandle) -> io::Result<u64> {
        self.call(Entry::new("stat", &directory.path), |machine| Ok(machine.free_bytes))
    }

    fn handles_max(&self) -> usize {
        1024
    }

    fn epoch(&self, root: &SimHandle) -> io::Result<Epoch> {
        self.call(Entry::new("epoch", &root.path), |machine| {
            machine.check(root, Need::Any)?;
            Ok(Epoch::new(machine.boot.to_be_bytes(), *b"mounted "))
        })
    }

    fn now(&self) -> Time {
        self.machine.borrow_mut().tree.tick()
    }

    fn umask(&self) -> u32 {
        0o022
    }

    fn identity(&self) -> (u32, u32) {
        (1000, 1000)
    }

    fn can_give_to(&self, _user: u32, _group: u32) -> bool {
        true
    }

    fn process(&self) -> u32 {
        4242
    }

    fn random(&self) -> io::Result<u64> {
        self.call(Entry::new("random", &Rc::from(&b""[..])), |machine| {
            machine.draws += 1;
            Ok(mix(machine.boot, machine.draws))
        })
    }
}

impl Machine {
    /// Checks whether a name may be set in a directory. A name that does not exist yet also needs space.
    fn permit_new_name(&self, directory: Ino, name: &[u8]) -> Result<(), Errno> {
        let is_new = self.tree.lookup((directory, name))?.is_none();
        self.permit(if is_new { Effect::Allocate } else { Effect::Change })?;
        if is_new { self.permit_names(directory) } else { Ok(()) }
    }

    /// Checks whether a name, if it exists, may be removed from a directory.
    fn permit_old_name(&self, directory: Ino, name: &[u8]) -> Result<(), Errno> {
        self.permit(Effect::Change)?;
        match self.tree.lookup((directory, name))? {
            Some(_) => self.permit_names(directory),
            None => Ok(()),
        }
    }

    /// Fails with `EACCES` if the directory lacks the owner's write permission. The simulated process runs as the owner.
    fn permit_names(&self, directory: Ino) -> Result<(), Errno> {
        match self.tree.stat(directory).mode.bits() & 0o200 {
            0 => Err(Errno::ACCESS),
            _ => Ok(()),
        }
    }
}

impl SimDisk {
    fn open_name(
        &self,
        verb: &'static str,
        parent: &SimHandle,
        name: &[u8],
        access: Access,
        open: impl FnOnce(&Machine, Ino) -> Result<Ino, Errno>,
    ) -> io::Result<SimHandle> {
        let ino = self.call(Entry::new(verb, &parent.path).name(name), |machine| {
            open(machine, machine.check(parent, Need::Any)?)
        })?;
        Ok(self.handle(ino, access, join(&parent.path, name)))
    }

    fn sync_one(
        &self,
        verb: &'static str,
        handle: &SimHandle,
        part: Part,
        barrier: Barrier,
    ) -> io::Result<()> {
        self.sync_inodes(verb, handle, part, barrier, |machine| {
            let ino = machine.check(handle, Need::Open)?;
            match machine.tree.kind(ino) {
                Kind::File | Kind::Directory => Ok(vec![ino]),
                Kind::Symlink | Kind::Special => Err(Errno::INVAL),
            }
        })
    }

    fn sync_inodes(
        &self,
        verb: &'static str,
        handle: &SimHandle,
        part: Part,
        barrier: Barrier,
        inodes: impl Fn(&Machine) -> Result<Vec<Ino>, Errno>,
    ) -> io::Result<()> {
        let entry = Entry::new(verb, &handle.path).detail(Detail::Barrier(barrier));
        let struck = |machine: &mut Machine, fault: Fault| match (fault.kind, inodes(machine)) {
            (FaultKind::Fail(errno), Ok(inodes)) => machine.fail_sync(&inodes, part, errno),
            (FaultKind::Fail(_), Err(_)) | (FaultKind::Kill, _) => {}
        };
        self.call_or(entry, struck, |machine| {
            let inodes = inodes(machine)?;
            machine.sync(&inodes, part, barrier)
        })
    }
}

/// Returns the names in a directory in an arbitrary but deterministic order.
fn shuffled(names: &Names) -> Vec<Vec<u8>> {
    let live = names.iter().filter(|(_, cell)| cell.get().is_some());
    // FNV-1a, by Fowler, Noll and Vo.
    let hash = |name: &[u8]| {
        let step = |hash: u64, &b: &u8| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        mix(name.iter().fold(0xcbf2_9ce4_8422_2325, step), 0)
    };
    let mut keyed: Vec<_> = live.map(|(name, _)| (hash(name), name.to_vec())).collect();
    keyed.sort();
    keyed.into_iter().map(|(_, name)| name).collect()
}
