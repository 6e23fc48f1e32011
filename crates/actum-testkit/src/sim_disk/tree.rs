//! Inodes and directory entries of a simulated disk, and all primitive operations that modify them.
//!
//! Operations return the same errors as the kernel and check for them in the same order (rename(2), link(2), unlink(2)).

use std::rc::Rc;

use actum_core::FileMode;
use actum_workspace::disk::{Kind, Rename, Stat, Time};

use super::Errno;
use super::inode::{Attributes, Body, Inode, Name, Names};

/// Inode number, which is also the index into [`Tree::inodes`].
pub(super) type Ino = usize;

/// Inode number of the root directory.
pub(super) const ROOT: Ino = 1;

/// Nanoseconds by which the clock advances at every change: one millisecond.
pub(super) const TICK: i64 = 1_000_000;

/// User ID of new files.
const USER: u32 = 1000;
const GROUP: u32 = 1000;
const UMASK: u32 = 0o022;

/// Directory entry, identified by the inode of the directory and a name.
pub(super) type Place<'a> = (Ino, &'a [u8]);

/// Table of all inodes. A clone shares every inode that neither the clone nor the original has modified.
#[derive(Clone)]
pub(super) struct Tree {
    /// Inodes, indexed by their numbers. Numbers are never reused.
    pub(super) inodes: Vec<Option<Rc<Inode>>>,
    /// Link information of each inode in the volatile view, indexed by inode number.
    links: Vec<Links>,
    /// Time of the last change.
    pub(super) clock: Time,
    /// Number of changes to cells made so far, which defines the global order of changes.
    pub(super) changes: u64,
    /// True if attributes that differ only in their times count as different. See [`super::SimDisk::vary_times`].
    pub(super) vary_times: bool,
}

#[derive(Clone, Copy, Default)]
struct Links {
    names: u32,
    subdirectories: u32,
    /// Parent of a directory.
    parent: Ino,
}

impl Tree {
    /// Creates a file system that contains only an empty root directory.
    pub(super) fn new() -> Self {
        let clock = Time(1_700_000_000 * 1000 * TICK);
        let root = Attributes {
            mode: FileMode::EXECUTABLE,
            user: USER,
            group: GROUP,
            xattrs: Rc::default(),
            modified: clock,
            changed: clock,
        };
        let mut tree = Self::bare(ROOT + 1, clock, 0);
        tree.inodes[ROOT] = Some(Rc::new(Inode::new(Body::Directory(Names::new()), 1, root)));
        tree
    }

    /// Creates a table with space for `len` inodes, without creating any of them.
    pub(super) fn bare(len: usize, clock: Time, changes: u64) -> Self {
        let mut links = vec![Links::default(); len];
        links[ROOT] = Links { names: 1, subdirectories: 0, parent: ROOT };
        Self { inodes: vec![None; len], links, clock, changes, vary_times: false }
    }

    pub(super) fn get(&self, ino: Ino) -> &Inode {
        self.inodes[ino].as_ref().expect("a name or handle refers to an existing inode")
    }

    pub(super) fn edit(&mut self, ino: Ino) -> &mut Inode {
        Rc::make_mut(self.inodes[ino].as_mut().expect("the inode exists"))
    }

    pub(super) fn tick(&mut self) -> Time {
        self.clock.0 += TICK;
        self.clock
    }

    fn next_change(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    // Lookups.

    pub(super) fn names(&self, directory: Ino) -> Result<&Names, Errno> {
        match &self.get(directory).body {
            Body::Directory(names) => Ok(names),
            Body::File { .. } | Body::Symlink(_) | Body::Special => Err(Errno::NOTDIR),
        }
    }

    pub(super) fn lookup(&self, (directory, name): Place<'_>) -> Result<Option<Ino>, Errno> {
        assert!(!name.contains(&b'/'), "a name is one component: {}", name.escape_ascii());
        if name.is_empty() {
            return Err(Errno::NOENT);
        }
        if name.contains(&0) || name == b".." {
            return Err(Errno::INVAL);
        }
        if name.len() > actum_core::path::NAME_BYTES_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        let names = self.names(directory)?;
        if name == b"." {
            return Ok(Some(directory));
        }
        Ok(names.get(name).and_then(|cell| *cell.get()))
    }

    pub(super) fn child(&self, place: Place<'_>) -> Result<Ino, Errno> {
        self.lookup(place)?.ok_or(Errno::NOENT)
    }

    pub(super) fn kind(&self, ino: Ino) -> Kind {
        self.get(ino).body.kind()
    }

    pub(super) fn stat(&self, ino: Ino) -> Stat {
        let inode = self.get(ino);
        let attributes = inode.attributes.get();
        let links = self.links[ino];
        let links = match inode.body.kind() {
            Kind::Directory if links.names > 0 => 2 + links.subdirectories,
            Kind::Directory | Kind::File | Kind::Symlink | Kind::Special => links.names,
        };
        Stat {
            kind: inode.body.kind(),
            device: inode.device,
            inode: ino as u64,
            links: links.into(),
            size: inode.body.size(),
            mode: attributes.mode,
            user: attributes.user,
            group: attributes.group,
            modified: attributes.modified,
            changed: attributes.changed,
        }
    }

    fn is_empty(&self, directory: Ino) -> bool {
        self.names(directory).is_ok_and(|names| names.values().all(|cell| cell.get().is_none()))
    }

    /// Returns true if `ino` is `ancestor` or a descendant of it.
    fn is_within(&self, mut ino: Ino, ancestor: Ino) -> bool {
        // The loop is bounded because a half-completed rename can leave a directory below itself.
        for _ in 0..self.inodes.len() {
            if ino == ancestor || ino == ROOT {
                break;
            }
            ino = self.links[ino].parent;
        }
        ino == ancestor
    }

    fn is_mount_point(&self, directory: Ino, ino: Ino) -> bool {
        self.get(directory).device != self.get(ino).device
    }

    // Changes to directory entries.

    /// Counts a new entry for `ino` in `directory`.
    pub(super) fn count_name(&mut self, directory: Ino, ino: Ino) {
        self.links[ino].names += 1;
        if self.kind(ino) == Kind::Directory {
            self.links[directory].subdirectories += 1;
            self.links[ino].parent = directory;
        }
    }

    fn bind(&mut self, (directory, name): Place<'_>, ino: Option<Ino>) {
        let change = self.next_change();
        let inode = self.edit(directory);
        inode.is_dirty = true;
        let Body::Directory(names) = &mut inode.body else { panic!("only directories have names") };
        let old = match names.get_mut(name) {
            Some(cell) => {
                let old = *cell.get();
                cell.set(change, ino);
                old
            }
            None => {
                let mut cell = super::cell::Cell::durable(None);
                cell.set(change, ino);
                names.insert(Name::from(name), cell);
                None
            }
        };
        if let Some(old) = old {
            self.links[old].names -= 1;
            if self.kind(old) == Kind::Directory {
                self.links[directory].subdirectories -= 1;
            }
            self.touch(old, Touch::Changed);
        }
        if let Some(ino) = ino {
            self.count_name(directory, ino);
        }
        self.touch(directory, Touch::Modified);
    }

    /// Turns the inode of a file into a copy of the directory `before`, and empties `before`.
    pub(super) fn revert(&mut self, file: Place<'_>, before: Ino) -> Result<(), Errno> {
        let ino = self.child(file)?;
        let empty = Body::Directory(Names::default());
        let body = std::mem::replace(&mut self.edit(before).body, empty);
        let attributes = self.get(before).attributes.clone();
        let inode = self.edit(ino);
        (inode.body, inode.attributes) = (body, attributes);
        self.links[file.0].subdirectories += 1;
        self.links[ino].parent = file.0;
        Ok(())
    }

    /// Fails with `ENOENT` for a directory that was removed but is still open, because it accepts no new names.
    fn is_alive(&self, directory: Ino) -> Result<(), Errno> {
        if self.links[directory].names == 0 { Err(Errno::NOENT) } else { Ok(()) }
    }

    pub(super) fn make(
        &mut self,
        place: Place<'_>,
        body: Body,
        mode: FileMode,
    ) -> Result<Ino, Errno> {
        if self.lookup(place)?.is_some() {
            return Err(Errno::EXIST);
        }
        self.is_alive(place.0)?;
        let now = self.tick();
        let parent = self.get(place.0);
        let inherits = parent.attributes.get().mode.bits() & 0o2000 != 0;
        let group = if inherits { parent.attributes.get().group } else { GROUP };
        let mode = match body.kind() {
            Kind::Directory if inherits => mode.bits() & 0o1777 & !UMASK | 0o2000,
            Kind::Directory => mode.bits() & 0o1777 & !UMASK,
            Kind::File | Kind::Special => mode.bits() & !UMASK,
            Kind::Symlink => 0o777,
        };
        let attributes = Attributes {
            mode: if body.kind() == Kind::Symlink { FileMode::LINK } else { FileMode::new(mode) },
            user: USER,
            group,
            xattrs: Rc::default(),
            modified: now,
            changed: now,
        };
        let inode = Inode::new(body, parent.device, attributes);
        let ino = self.inodes.len();
        self.inodes.push(Some(Rc::new(inode)));
        self.links.push(Links::default());
        self.bind(place, Some(ino));
        Ok(ino)
    }

    pub(super) fn link(&mut self, from: Place<'_>, to: Place<'_>) -> Result<(), Errno> {
        let ino = self.child(from)?;
        if self.lookup(to)?.is_some() {
            return Err(Errno::EXIST);
        }
        self.is_alive(to.0)?;
        if self.get(ino).device != self.get(to.0).device {
            return Err(Errno::XDEV);
        }
        if self.kind(ino) == Kind::Directory {
            return Err(Errno::PERM);
        }
        self.tick();
        self.bind(to, Some(ino));
        self.touch(ino, Touch::Changed);
        Ok(())
    }

    /// Renames a file or directory. Changes the cell of the new name first, and then the cell of the old name.
    pub(super) fn rename(
        &mut self,
        from: Place<'_>,
        to: Place<'_>,
        rename: Rename,
    ) -> Result<(), Errno> {
        if self.get(from.0).device != self.get(to.0).device {
            return Err(Errno::XDEV);
        }
        if from.1 == b"." || to.1 == b"." {
            let is_taken = from.1 != b"." && rename == Rename::NoReplace;
            return Err(if is_taken { Errno::EXIST } else { Errno::BUSY });
        }
        let source = self.child(from)?;
        self.is_alive(to.0)?;
        let target = self.lookup(to)?;
        let replaced = match (rename, target) {
            (Rename::NoReplace, Some(_)) => return Err(Errno::EXIST),
            (Rename::Exchange, None) => return Err(Errno::NOENT),
            (Rename::NoReplace | Rename::Replace, None) => None,
            (Rename::Exchange | Rename::Replace, Some(target)) => Some(target),
        };
        if self.is_within(to.0, source) {
            return Err(Errno::INVAL);
        }
        if let Some(target) = replaced
            && self.is_within(from.0, target)
        {
            let is_exchange = rename == Rename::Exchange;
            return Err(if is_exchange { Errno::INVAL } else { Errno::NOTEMPTY });
        }
        if replaced == Some(source) {
            return Ok(());
        }
        if rename == Rename::Replace
            && let Some(target) = replaced
        {
            self.may_replace(source, target)?;
        }
        if self.is_mount_point(from.0, source)
            || replaced.is_some_and(|target| self.is_mount_point(to.0, target))
        {
            return Err(Errno::BUSY);
        }
        self.tick();
        self.bind(to, Some(source));
        self.bind(from, replaced.filter(|_| rename == Rename::Exchange));
        self.touch(source, Touch::Changed);
        if let Some(target) = replaced {
            self.touch(target, Touch::Changed);
        }
        Ok(())
    }

    fn may_replace(&self, source: Ino, target: Ino) -> Result<(), Errno> {
        match (self.kind(source) == Kind::Directory, self.kind(target) == Kind::Directory) {
            (true, false) => Err(Errno::NOTDIR),
            (false, true) => Err(Errno::ISDIR),
            (true, true) if !self.is_empty(target) => Err(Errno::NOTEMPTY),
            (true, true) | (false, false) => Ok(()),
        }
    }

    pub(super) fn unlink(&mut self, place: Place<'_>) -> Result<(), Errno> {
        let ino = self.child(place)?;
        if self.kind(ino) == Kind::Directory {
            return Err(Errno::ISDIR);
        }
        if self.is_mount_point(place.0, ino) {
            return Err(Errno::BUSY);
        }
        self.tick();
        self.bind(place, None);
        Ok(())
    }

    pub(super) fn remove_directory(&mut self, place: Place<'_>) -> Result<(), Errno> {
        if place.1 == b"." {
            return Err(Errno::INVAL);
        }
        let ino = self.child(place)?;
        if self.kind(ino) != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        if self.is_mount_point(place.0, ino) {
            return Err(Errno::BUSY);
        }
        if !self.is_empty(ino) {
            return Err(Errno::NOTEMPTY);
        }
        self.tick();
        self.bind(place, None);
        Ok(())
    }

    // Changes to content and attributes.

    /// Writes `bytes` at `offset`, but at most the first `blocks_max` of the blocks that the write touches.
    pub(super) fn write(
        &mut self,
        ino: Ino,
        bytes: &[u8],
        offset: u64,
        blocks_max: u64,
    ) -> Result<(), Errno> {
        let mut changes = self.changes;
        self.edit(ino).write(bytes, offset, blocks_max, &mut changes)?;
        self.changes = changes;
        self.content_changed(ino);
        Ok(())
    }

    pub(super) fn set_size(&mut self, ino: Ino, size: u64) -> Result<(), Errno> {
        let mut changes = self.changes;
        self.edit(ino).set_size(size, &mut changes)?;
        self.changes = changes;
        self.content_changed(ino);
        Ok(())
    }

    fn content_changed(&mut self, ino: Ino) {
        self.tick();
        self.touch(ino, Touch::Modified);
        self.forget_capability(ino);
    }

    /// Removes the capabilities of a file, as the kernel does when its content or owner changes (capabilities(7)).
    fn forget_capability(&mut self, ino: Ino) {
        const CAPABILITY: &[u8] = b"security.capability";
        if self.get(ino).attributes.get().xattrs.contains_key(CAPABILITY) {
            self.alter(ino, |attributes| {
                Rc::make_mut(&mut attributes.xattrs).remove(CAPABILITY);
            });
        }
    }

    pub(super) fn set_modified(&mut self, ino: Ino, modified: Time) {
        self.tick();
        self.alter(ino, |attributes| attributes.modified = modified);
    }

    pub(super) fn set_mode(&mut self, ino: Ino, mode: FileMode) {
        self.tick();
        self.alter(ino, |attributes| attributes.mode = mode);
    }

    /// Sets the owner and group. For anything except a directory, also clears the set-user-ID bit and, if the file is
    /// executable by its group, the set-group-ID bit (chown(2)).
    pub(super) fn set_owner(&mut self, ino: Ino, user: u32, group: u32) {
        self.tick();
        let is_directory = self.kind(ino) == Kind::Directory;
        self.alter(ino, |attributes| {
            (attributes.user, attributes.group) = (user, group);
            let mode = attributes.mode.bits();
            if !is_directory {
                let set_group = if mode & 0o010 != 0 { 0o2000 } else { 0 };
                attributes.mode = FileMode::new(mode & !0o4000 & !set_group);
            }
        });
        if !is_directory {
            self.forget_capability(ino);
        }
    }

    pub(super) fn set_xattr(&mut self, ino: Ino, name: &[u8], value: &[u8]) -> Result<(), Errno> {
        if ![&b"user."[..], b"security.", b"trusted.", b"system."]
            .iter()
            .any(|space| name.len() > space.len() && name.starts_with(space))
        {
            return Err(Errno::OPNOTSUPP);
        }
        self.tick();
        self.alter(ino, |attributes| {
            Rc::make_mut(&mut attributes.xattrs).insert(name.to_vec(), value.to_vec());
        });
        Ok(())
    }

    pub(super) fn remove_xattr(&mut self, ino: Ino, name: &[u8]) -> Result<(), Errno> {
        if !self.get(ino).attributes.get().xattrs.contains_key(name) {
            return Err(Errno::NODATA);
        }
        self.tick();
        self.alter(ino, |attributes| {
            Rc::make_mut(&mut attributes.xattrs).remove(name);
        });
        Ok(())
    }

    /// Moves `directory` and everything below it to the file system `device`, as a mount does.
    pub(super) fn mount(&mut self, directory: Ino, device: u64) {
        self.edit(directory).device = device;
        let children: Vec<Ino> = self.names(directory).map(super::inode::live).unwrap_or_default();
        for child in children {
            self.mount(child, device);
        }
    }

    fn touch(&mut self, ino: Ino, touch: Touch) {
        self.alter(ino, |attributes| match touch {
            Touch::Changed => {}
            Touch::Modified => attributes.modified = attributes.changed,
        });
    }

    /// Applies `alter` to the attributes of an inode, after setting their change time to the current time.
    fn alter(&mut self, ino: Ino, alter: impl FnOnce(&mut Attributes)) {
        let (now, vary_times) = (self.clock, self.vary_times);
        let change = self.changes + 1;
        let inode = self.edit(ino);
        let old = inode.attributes.get();
        let mut new = old.clone();
        new.changed = now;
        alter(&mut new);
        if new.equals(old, vary_times) {
            let (modified, changed) = (new.modified, new.changed);
            inode.attributes.amend(|newest| {
                (newest.modified, newest.changed) = (modified, changed);
            });
        } else {
            inode.attributes.set(change, new);
            inode.is_dirty = true;
            self.changes = change;
        }
    }

    // Syncs.

    /// Returns all inodes of a file system that have changes to be written.
    pub(super) fn dirty(&self, device: u64) -> Vec<Ino> {
        let is_dirty = |inode: &Option<Rc<Inode>>| matches!(inode, Some(i) if i.is_dirty && i.device == device);
        (0..self.inodes.len()).filter(|&ino| is_dirty(&self.inodes[ino])).collect()
    }
}

/// Times of an inode that a change updates.
#[derive(Clone, Copy)]
enum Touch {
    /// Only the change time (`ctime`).
    Changed,
    /// The change time and the modification time (`mtime`).
    Modified,
}
