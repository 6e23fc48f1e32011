//! Access of tests to a simulated disk from outside the engine: to set it up, to play a user or an attacker, and to
//! inspect it. Nothing here is counted, fails by plan, or follows a symlink.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use actum_core::FileMode;
use actum_core::path::Quoted;
use actum_workspace::disk::{Kind, Rename, Stat, Time, Xattr};

use super::inode::{Body, Names};
use super::tree::{Ino, ROOT, Tree};
use super::{Errno, SimDisk};

/// Object in a [`SimDisk::snapshot`], with all that must survive a rollback.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory {
        /// Its permission bits.
        mode: FileMode,
    },
    /// A regular file.
    File {
        /// Its permission bits.
        mode: FileMode,
        /// Its owner.
        user: u32,
        /// Its group.
        group: u32,
        /// Its extended attributes, ordered by name.
        xattrs: Vec<Xattr>,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// A symbolic link.
    Symlink {
        /// Its target.
        target: Vec<u8>,
    },
    /// A FIFO.
    Special,
}

impl SimDisk {
    /// Makes a directory and its missing parents.
    ///
    /// # Panics
    /// If one of them is another object. All methods here panic where the kernel would refuse.
    pub fn mkdir_p(&self, path: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| make_directories(tree, path).map(|_| ()));
    }

    /// Writes a file as `>` does: in place if it exists, otherwise a new one, with its parent directories.
    pub fn put(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| put(tree, path, bytes.as_ref()).map(|_| ()));
    }

    /// Writes a file and sets its mode: [`put`](Self::put) and [`chmod`](Self::chmod).
    pub fn put_mode(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>, mode: u32) {
        self.put(path.as_ref(), bytes);
        self.chmod(path, mode);
    }

    /// Changes some bytes of an existing file in place.
    pub fn overwrite(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>, offset: u64) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.write(ino, bytes.as_ref(), offset, u64::MAX)
        });
    }

    /// Replaces the content of a file by renaming a new inode over it, as editors do. The mode remains.
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

    /// Sets the stamp of the content, as `touch -d` and `cp -p` do; the change stamp moves.
    pub fn set_modified(&self, path: impl AsRef<[u8]>, modified: Time) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_modified(ino, modified);
            Ok(())
        });
    }

    /// Returns the content of a file, or `None` if it is missing.
    pub fn get(&self, path: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let machine = self.machine.borrow();
        let ino = find(&machine.tree, path.as_ref()).ok()?;
        (machine.tree.kind(ino) == Kind::File).then(|| content(&machine.tree, ino))
    }

    /// Returns the facts about a path, or `None` if it is missing.
    pub fn stat_of(&self, path: impl AsRef<[u8]>) -> Option<Stat> {
        let machine = self.machine.borrow();
        Some(machine.tree.stat(find(&machine.tree, path.as_ref()).ok()?))
    }

    /// Removes the object at a path, directories with all they hold.
    pub fn remove(&self, path: impl AsRef<[u8]>) {
        self.at(path.as_ref(), remove);
    }

    /// Moves a name, and replaces an existing file.
    pub fn rename_path(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) {
        self.at(from.as_ref(), |tree, from| {
            let (from, to) = (place(tree, from)?, place(tree, to.as_ref())?);
            tree.rename(from, to, Rename::Replace)
        });
    }

    /// Links a file under a second name.
    pub fn hard_link(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) {
        self.at(from.as_ref(), |tree, from| {
            let (from, to) = (place(tree, from)?, place(tree, to.as_ref())?);
            tree.link(from, to)
        });
    }

    /// Makes a symbolic link.
    pub fn symlink(&self, path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) {
        self.make(path.as_ref(), Body::Symlink(target.as_ref().into()));
    }

    /// Turns the inode of the file at `path` into the directory `before`, with its stamps, and leaves that empty. A
    /// power cut without a journal can leave an inode as it was before a file reused it.
    pub fn revert_inode(&self, path: impl AsRef<[u8]>, before: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| {
            let (reused, directory) = (place(tree, path)?, find(tree, before.as_ref())?);
            tree.revert(reused, directory)
        });
    }

    /// Makes a FIFO.
    pub fn fifo(&self, path: impl AsRef<[u8]>) {
        self.make(path.as_ref(), Body::Special);
    }

    /// Makes a directory and all below it another file system; new files in it belong to that one.
    pub fn mount(&self, path: impl AsRef<[u8]>) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            let device = tree.get(ino).device + 1;
            tree.names(ino)?;
            tree.mount(ino, device);
            Ok(())
        });
    }

    /// Sets the permission bits.
    pub fn chmod(&self, path: impl AsRef<[u8]>, mode: u32) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_mode(ino, FileMode::new(mode));
            Ok(())
        });
    }

    /// Sets owner and group.
    pub fn chown(&self, path: impl AsRef<[u8]>, user: u32, group: u32) {
        self.at(path.as_ref(), |tree, path| {
            let ino = find(tree, path)?;
            tree.set_owner(ino, user, group);
            Ok(())
        });
    }

    /// Sets an extended attribute.
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

    /// Returns the whole tree by path, without the root itself.
    pub fn snapshot(&self) -> BTreeMap<String, Node> {
        self.snapshot_where(|_| true)
    }

    /// Returns the tree without the objects at and below `top`, a name in the root directory.
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

/// Returns the directory that holds the last component of a path, and that component.
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

/// Adds the last of `lineage` and all below it. Half a rename can leave a directory below itself, where this stops.
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
    /// Shows one line, with the content as text.
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
