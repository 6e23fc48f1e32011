//! Direct access to a simulated disk by path, with which tests set it up, inspect it, or act as a user or an attacker.
//!
//! These methods do not count as system calls, are not subject to planned faults, and do not follow symbolic links.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use actum_core::FileMode;
use actum_core::path::Quoted;
use actum_workspace::disk::{Kind, Rename, Stat, Time, Xattr};

use super::inode::{Body, Names};
use super::tree::{Ino, ROOT, Tree};
use super::{Errno, SimDisk};

/// Object in a [`SimDisk::snapshot`], with every property that a rollback must restore.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory {
        /// Permission bits of the directory.
        mode: FileMode,
    },
    /// A regular file.
    File {
        /// Permission bits of the file.
        mode: FileMode,
        /// User ID of the owner.
        user: u32,
        /// Group ID of the file.
        group: u32,
        /// Extended attributes of the file, ordered by name.
        xattrs: Vec<Xattr>,
        /// Content of the file.
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Symlink {
        /// Target of the symbolic link.
        target: Vec<u8>,
    },
    /// A FIFO.
    Special,
}

impl SimDisk {
    /// Creates a directory and its missing parents.
    ///
    /// # Panics
    /// Panics if one of them exists and is not a directory. All methods in this block panic if the kernel would return
    /// an error.
    pub fn mkdir_p(&self, path: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| make_directories(tree, path).map(|_| ()));
    }

    /// Writes a file like `>` in a shell. An existing file is overwritten in place; otherwise the file and its missing
    /// parent directories are created.
    pub fn put(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| put(tree, path, bytes.as_ref()).map(|_| ()));
    }

    /// Writes a file with [`put`](Self::put) and then sets its mode with [`chmod`](Self::chmod).
    pub fn put_mode(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>, mode: u32) {
        self.put(path.as_ref(), bytes);
        self.chmod(path, mode);
    }

    /// Overwrites bytes of an existing file in place, starting at `offset`.
    pub fn overwrite(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>, offset: u64) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.write(ino, bytes.as_ref(), offset, u64::MAX)
        });
    }

    /// Replaces a file by renaming a new file over it, as editors do. The new file has the mode of the old one.
    pub fn replace(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| {
            let mode = tree.get(find(tree, path)?).attributes.get().mode;
            let temporary = [path, b".swp~"].concat();
            let ino = put(tree, &temporary, bytes.as_ref())?;
            tree.set_mode(ino, mode);
            let (from, to) = (place(tree, &temporary)?, place(tree, path)?);
            tree.rename(from, to, Rename::Replace)
        });
    }

    /// Sets the modification time of a file, as `touch -d` and `cp -p` do. Its change time advances to the current time.
    pub fn set_modified(&self, path: impl AsRef<[u8]>, modified: Time) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_modified(ino, modified);
            Ok(())
        });
    }

    /// Returns the content of a file, or `None` if there is no file at the path.
    pub fn get(&self, path: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let machine = self.machine.borrow();
        let ino = find(&machine.tree, path.as_ref()).ok()?;
        (machine.tree.kind(ino) == Kind::File).then(|| content(&machine.tree, ino))
    }

    /// Returns the metadata of the object at a path, or `None` if the path does not exist.
    pub fn stat_of(&self, path: impl AsRef<[u8]>) -> Option<Stat> {
        let machine = self.machine.borrow();
        Some(machine.tree.stat(find(&machine.tree, path.as_ref()).ok()?))
    }

    /// Removes the object at a path. Directories are removed with all their contents.
    pub fn remove(&self, path: impl AsRef<[u8]>) {
        self.at(path.as_ref(), remove);
    }

    /// Renames a file or directory. An existing file at the new path is replaced.
    pub fn rename_path(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) {
        self.at(from.as_ref(), |tree, from| {
            let (from, to) = (place(tree, from)?, place(tree, to.as_ref())?);
            tree.rename(from, to, Rename::Replace)
        });
    }

    /// Creates a hard link to a file.
    pub fn hard_link(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) {
        self.at(from.as_ref(), |tree, from| {
            let (from, to) = (place(tree, from)?, place(tree, to.as_ref())?);
            tree.link(from, to)
        });
    }

    /// Creates a symbolic link at `path` that points to `target`.
    pub fn symlink(&self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) {
        self.make(path.as_ref(), Body::Symlink(target.as_ref().into()));
    }

    /// Turns the inode of the file at `path` into a copy of the directory `before`, including its times, and empties
    /// `before`. This simulates a power cut without a journal, which can restore the state that an inode had before a
    /// file reused it.
    pub fn revert_inode(&self, path: impl AsRef<[u8]>, before: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| {
            let (reused, directory) = (place(tree, path)?, find(tree, before.as_ref())?);
            tree.revert(reused, directory)
        });
    }

    /// Creates a FIFO at `path`.
    pub fn fifo(&self, path: impl AsRef<[u8]>) {
        self.make(path.as_ref(), Body::Special);
    }

    /// Moves a directory and everything below it to a separate file system. New files in the directory belong to that
    /// file system as well.
    pub fn mount(&self, path: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            let device = tree.get(ino).device + 1;
            tree.names(ino)?;
            tree.mount(ino, device);
            Ok(())
        });
    }

    /// Sets the permission bits of the object at a path.
    pub fn chmod(&self, path: impl AsRef<[u8]>, mode: u32) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_mode(ino, FileMode::new(mode));
            Ok(())
        });
    }

    /// Sets the owner and group of the object at a path.
    pub fn chown(&self, path: impl AsRef<[u8]>, user: u32, group: u32) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_owner(ino, user, group);
            Ok(())
        });
    }

    /// Sets an extended attribute of the object at a path.
    pub fn set_xattr_at(
        &self,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_xattr(ino, name.as_ref(), value.as_ref())
        });
    }

    /// Returns all objects on the disk by path, except the root directory.
    pub fn snapshot(&self) -> BTreeMap<String, Node> {
        self.snapshot_where(|_| true)
    }

    /// Returns all objects on the disk by path, except the root directory and everything at or below `top`, a name in
    /// the root directory.
    pub fn snapshot_without(&self, top: &str) -> BTreeMap<String, Node> {
        self.snapshot_where(|name| name != top.as_bytes())
    }

    fn snapshot_where(&self, is_wanted: impl Fn(&[u8]) -> bool) -> BTreeMap<String, Node> {
        let machine = self.machine.borrow();
        let mut nodes = BTreeMap::new();
        let names = machine.tree.names(ROOT).expect("the root is a directory");
        for (name, cell) in names {
            if let Some(ino) = *cell.get()
                && is_wanted(name)
            {
                collect(&machine.tree, name, &mut vec![ROOT, ino], &mut nodes);
            }
        }
        nodes
    }

    fn make(&self, path: &[u8], body: Body) {
        self.at(path, |tree, path| {
            let place = place(tree, path)?;
            tree.make(place, body, FileMode::REGULAR).map(|_| ())
        });
    }

    fn at(&self, path: &[u8], act: impl FnOnce(&mut Tree, &[u8]) -> Result<(), Errno>) {
        if let Err(errno) = act(&mut self.machine.borrow_mut().tree, path) {
            panic!("`{}`: {errno}", Quoted(path));
        }
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&b| b == b'/').filter(|component| !component.is_empty())
}

fn find(tree: &Tree, path: &[u8]) -> Result<Ino, Errno> {
    components(path).try_fold(ROOT, |ino, component| tree.child((ino, component)))
}

fn split(path: &[u8]) -> Result<(&[u8], &[u8]), Errno> {
    let name = components(path).last().ok_or(Errno::INVAL)?;
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |last| last + 1);
    Ok((&path[..end - name.len()], name))
}

/// Splits a path into the inode of its parent directory and its last component.
fn place<'a>(tree: &Tree, path: &'a [u8]) -> Result<(Ino, &'a [u8]), Errno> {
    let (parent, name) = split(path)?;
    Ok((find(tree, parent)?, name))
}

fn make_directories(tree: &mut Tree, path: &[u8]) -> Result<Ino, Errno> {
    let mut ino = ROOT;
    for component in components(path) {
        ino = match tree.lookup((ino, component))? {
            Some(child) => child,
            None => {
                let body = Body::Directory(Names::new());
                tree.make((ino, component), body, FileMode::EXECUTABLE)?
            }
        };
    }
    tree.names(ino)?;
    Ok(ino)
}

fn put(tree: &mut Tree, path: &[u8], bytes: &[u8]) -> Result<Ino, Errno> {
    let (parent, name) = split(path)?;
    let directory = make_directories(tree, parent)?;
    let ino = match tree.lookup((directory, name))? {
        Some(ino) => {
            tree.set_size(ino, 0)?;
            ino
        }
        None => tree.make((directory, name), Body::empty_file(), FileMode::REGULAR)?,
    };
    if !bytes.is_empty() {
        tree.write(ino, bytes, 0, u64::MAX)?;
    }
    Ok(ino)
}

fn remove(tree: &mut Tree, path: &[u8]) -> Result<(), Errno> {
    let place = place(tree, path)?;
    let ino = tree.child(place)?;
    if tree.kind(ino) != Kind::Directory {
        return tree.unlink(place);
    }
    let live = tree.names(ino)?.iter().filter(|(_, cell)| cell.get().is_some());
    let names: Vec<_> = live.map(|(name, _)| Rc::clone(name)).collect();
    for name in names {
        remove(tree, &[path, b"/", &name].concat())?;
    }
    tree.remove_directory(place)
}

fn content(tree: &Tree, ino: Ino) -> Vec<u8> {
    let inode = tree.get(ino);
    let mut bytes = vec![0; inode.body.size() as usize];
    inode.read(&mut bytes, 0).expect("it is a file");
    bytes
}

/// Adds the last inode of `lineage` and all objects below it to `nodes`. A half-completed rename can leave a directory
/// below itself, so the recursion skips inodes that are already in `lineage`.
fn collect(tree: &Tree, path: &[u8], lineage: &mut Vec<Ino>, nodes: &mut BTreeMap<String, Node>) {
    let ino = lineage[lineage.len() - 1];
    let inode = tree.get(ino);
    let attributes = inode.attributes.get();
    let node = match &inode.body {
        Body::File { .. } => {
            let xattrs = attributes.xattrs.iter();
            Node::File {
                mode: attributes.mode,
                user: attributes.user,
                group: attributes.group,
                xattrs: xattrs.map(|(name, value)| (name.clone(), value.clone())).collect(),
                bytes: content(tree, ino),
            }
        }
        Body::Directory(names) => {
            for (name, cell) in names {
                if let Some(child) = *cell.get()
                    && !lineage.contains(&child)
                {
                    lineage.push(child);
                    collect(tree, &[path, b"/", name].concat(), lineage, nodes);
                    lineage.pop();
                }
            }
            Node::Directory { mode: attributes.mode }
        }
        Body::Symlink(target) => Node::Symlink { target: target.to_vec() },
        Body::Special => Node::Special,
    };
    nodes.insert(Quoted(path).to_string(), node);
}

impl fmt::Debug for Node {
    /// Formats the node on one line, with the beginning of its content as text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_BYTES_MAX: usize = 120;
        match self {
            Self::Directory { mode } => write!(f, "directory {:04o}", mode.bits()),
            Self::File { mode, user, group, xattrs, bytes } => {
                write!(f, "file {:04o} {user}:{group}", mode.bits())?;
                for (name, value) in xattrs {
                    write!(f, " {}={}", Quoted(name), Quoted(value))?;
                }
                let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
                write!(f, " {} bytes `{}`", bytes.len(), Quoted(shown))
            }
            Self::Symlink { target } => write!(f, "symlink to `{}`", Quoted(target)),
            Self::Special => f.write_str("special"),
        }
    }
}
